"""Workers as real processes with a real database."""
