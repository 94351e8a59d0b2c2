"""Programming languages: the language table, grammars, and queries that find definitions."""
