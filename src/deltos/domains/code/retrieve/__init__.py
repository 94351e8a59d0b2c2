"""Find the files that may answer a query: by terms, similarity, commits, mentioned files and exact matches."""
