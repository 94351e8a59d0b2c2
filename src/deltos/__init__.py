"""Deltos: one local index of what a coding agent needs to know, served over MCP."""

__version__ = "0.1.0"
