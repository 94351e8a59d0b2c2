"""Programming languages: the table of languages, grammars, and queries that find definitions."""
