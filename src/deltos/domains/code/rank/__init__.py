"""Order of candidate files and of their chunks."""
