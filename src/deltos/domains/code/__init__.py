"""Code search: find code by meaning, by name or by exact text."""
