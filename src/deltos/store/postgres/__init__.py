"""PostgreSQL storage engine: one database for all projects, documentation, memory and jobs."""
