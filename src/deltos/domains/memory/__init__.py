"""Memory: observations that agents and users record, kept between sessions."""
