"""Lowering: one pass over a file's syntax tree that converts code to the intermediate representation (facts)."""
