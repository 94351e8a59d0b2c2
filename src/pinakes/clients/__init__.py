"""The agents and editors that Pinakes installs itself into: where their configuration lives, how it is edited."""
