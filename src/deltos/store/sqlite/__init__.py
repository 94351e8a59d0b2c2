"""SQLite files: opening, migrating and querying them. The only package that writes SQL."""
