"""Find code by meaning, name or pattern."""
