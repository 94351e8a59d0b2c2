"""Memory: observations of agents and users that are kept between sessions."""
