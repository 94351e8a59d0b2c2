"""Installation of Deltos into agents and editors: location, format and editing of their configuration files."""
