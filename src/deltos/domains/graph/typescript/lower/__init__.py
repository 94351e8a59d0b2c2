"""Extract facts in one pass over a file's syntax tree, which converts expressions and types to terms."""
