"""SQLite storage engine: opens, migrates and queries its files."""
