"""The HTTP server: MCP over streamable HTTP and the web UI."""
