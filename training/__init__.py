"""Build the search models in the wheel: mine pairs from public packages, train, export. See README.md."""
