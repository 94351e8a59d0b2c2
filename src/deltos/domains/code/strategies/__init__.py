"""Ways to answer a query: exact lines, stack frames, error messages, words."""
