"""Search across all domains, links between domains, and MCP resources and prompts."""
