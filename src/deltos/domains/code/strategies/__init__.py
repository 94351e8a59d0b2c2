"""Search strategies: exact lines, stack frames, error messages, words."""
