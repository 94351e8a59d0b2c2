"""API descriptions: read any real one, find the operation that is needed, show it within a budget."""
