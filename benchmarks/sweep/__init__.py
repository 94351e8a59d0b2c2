"""Checks invariants of the index and the graph on hundreds of real repositories."""
