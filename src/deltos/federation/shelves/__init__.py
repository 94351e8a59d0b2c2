"""The domains as shelves of the search over everything, one module each."""
