"""Programming languages: the table of languages, their grammars, and the queries that find definitions."""
