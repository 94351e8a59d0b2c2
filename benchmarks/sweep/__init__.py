"""Checks of index and graph invariants on hundreds of real repositories."""
