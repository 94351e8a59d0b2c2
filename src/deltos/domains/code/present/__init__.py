"""Hits as text and data: current source lines, excerpts, summaries."""
