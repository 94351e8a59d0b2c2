"""Find the candidates of a query: by terms, similarity, commits, mentioned files and exact lines."""
