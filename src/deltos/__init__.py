"""Deltos: a local index of documentation, APIs, code and memory for coding agents, served over MCP."""

__version__ = "0.1.0"
