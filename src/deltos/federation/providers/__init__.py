"""Providers for the search across all domains, one module per domain."""
