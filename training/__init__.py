"""How the search model inside the wheel is made: mine pairs from public packages, train, export. See README.md."""
