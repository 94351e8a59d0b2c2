"""Providers of the search over everything, one module per domain."""
