"""Extraction of facts: one pass over the syntax tree of a file that turns expressions and types into terms."""
