"""The MCP surface over streamable HTTP: one process that serves many clients."""
