"""Python in the code graph: facts out of a syntax tree, and references resolved with types, scopes and imports."""
