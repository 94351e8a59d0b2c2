"""The code graph: definitions, references, impact and import cycles."""
