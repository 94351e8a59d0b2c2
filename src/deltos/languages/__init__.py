"""Programming languages: one table, their grammars and the queries that find definitions."""
