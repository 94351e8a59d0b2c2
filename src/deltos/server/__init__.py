"""The MCP surface: list and call tools over stdio."""
