"""Memory in SQLite: the schema of `memory.db`, and all queries and writes."""
