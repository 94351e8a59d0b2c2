"""Tables that all projects share, divided by the project's key: a query that names it looks at one part alone.

Eight parts: the tens or hundreds of projects of a team spread over them, so that vacuuming or rewriting one part leaves
the others alone, and the catalogue that each connection keeps in memory stays small. Their number is fixed: every table
is divided alike, so that rows of one project that belong together are in parts of the same number.
"""

from __future__ import annotations

from deltos.store.postgres.migration import Migration

PARTITIONS = 8

# The server counts how many rows each project has, and believes that one which came since has none: it would join all
# rows of its files with all rows of its symbols, time and again, until the tables are analysed. Without these counts it
# takes a two-hundredth of a table for what one project has, and goes by the other columns of an index.
PARTITIONS_001 = Migration(
    "partitions-001-statistics",
    """
    DO $$
    DECLARE divided record;
    BEGIN
        FOR divided IN
            SELECT partrelid::regclass AS name, attname FROM pg_partitioned_table
            JOIN pg_class ON pg_class.oid = partrelid
            JOIN pg_attribute ON attrelid = partrelid AND attnum = partattrs[0]
            WHERE relnamespace = current_schema()::regnamespace
        LOOP
            EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS 0', divided.name, divided.attname);
        END LOOP;
        IF current_setting('server_version_num')::integer >= 180000 THEN  -- before, what was counted stays
            PERFORM pg_clear_attribute_stats(current_schema()::text, relname::text, attname::text, false)
            FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
            WHERE relnamespace = current_schema()::regnamespace AND attstattarget = 0;
        END IF;
    END $$;
    """,
)


def partitioned(table: str, columns: str) -> str:
    """The statements that make a table with the column `project`, and its parts."""
    parts = "".join(
        f"CREATE TABLE {table}_{number} PARTITION OF {table} "
        f"FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {number});\n"
        for number in range(PARTITIONS)
    )
    return f"CREATE TABLE {table} (project bigint NOT NULL, {columns}) PARTITION BY HASH (project);\n{parts}"
