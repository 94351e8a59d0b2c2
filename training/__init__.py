"""Build the search models in the wheel: mine training pairs from public packages, train and export. See README.md."""
