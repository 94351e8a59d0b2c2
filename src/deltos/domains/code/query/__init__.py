"""Parse queries: detect their kind, terms, names, stack frames and error messages."""
