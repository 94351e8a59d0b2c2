"""Text analysis shared by indexing and search: words, identifiers, scripts, stop words, document frequency.

This module imports no submodules, because hooks (short processes that the coding agent starts) need only two.
"""
