"""Code search: find code by description, by name or by exact text."""
