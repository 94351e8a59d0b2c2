"""Type inference: evaluates the terms in facts to types."""
