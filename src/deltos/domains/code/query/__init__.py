"""Parse queries into kind, terms, names, stack frames and error messages."""
