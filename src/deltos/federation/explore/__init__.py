"""The `explore` tool: one answer with the code that answers a question."""
