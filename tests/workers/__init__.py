"""Workers as real processes over a real database."""
