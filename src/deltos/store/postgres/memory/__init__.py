"""Memory in PostgreSQL: schema, queries, writes, snapshots and transfer."""
