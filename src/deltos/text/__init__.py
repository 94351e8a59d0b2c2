"""One vocabulary for indexing and asking: words, names of code, scripts, stop words, rarity. Knows text alone.

Nothing is imported here: hooks need two of the modules and wait for none of the others.
"""
