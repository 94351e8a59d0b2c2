"""Text analysis shared by indexing and search: words, identifiers, scripts, stop words, document frequency.

Nothing is imported here, because hooks need only two of the modules.
"""
