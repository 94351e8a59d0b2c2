"""Lowering: one pass over a file's syntax tree that converts the code to facts."""
