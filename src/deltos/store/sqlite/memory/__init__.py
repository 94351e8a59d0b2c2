"""Observations on disk: the schema of `memory.db` and every statement that touches it."""
