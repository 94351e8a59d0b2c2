"""Observations: their tables and every statement that touches them."""
