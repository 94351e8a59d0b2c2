"""Meaning as vectors: the model in the wheel, or one behind an address."""
