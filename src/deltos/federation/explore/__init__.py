"""The `explore` tool, which returns the code that answers a question."""
