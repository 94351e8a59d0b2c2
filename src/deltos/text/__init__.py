"""Text analysis shared by indexing and search: words, identifiers, scripts, stop words, document frequency.

Imports nothing, because hooks need only two of the modules.
"""
