"""All SQL of PostgreSQL, and the only `import psycopg`: one database for a team, in the schema `deltos`."""
