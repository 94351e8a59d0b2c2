"""The agents and editors that Deltos installs itself into: where their configuration lives, how it is edited."""
