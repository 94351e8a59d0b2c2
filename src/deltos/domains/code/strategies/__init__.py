"""Strategies of code search: exact matches, stack traces, error messages, and words."""
