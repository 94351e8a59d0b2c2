"""The graph of the code: definitions, references, impact, cycles."""
