"""API domain: read API descriptions, find operations and schemas, and show them within a token budget."""
