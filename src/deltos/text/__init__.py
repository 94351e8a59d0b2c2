"""Text analysis for indexing and search: words, identifiers, scripts, stop words, document frequency.

This module imports no submodules, so that hooks (short processes started by the coding agent) start quickly.
"""
