"""Rank candidate files and select their chunks."""
