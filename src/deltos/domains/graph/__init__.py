"""The code graph: definitions, references, impact of changes, and import cycles."""
