"""The MCP server: protocol handling, tool calls, and the stdio and HTTP transports."""
