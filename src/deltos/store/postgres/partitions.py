"""Tables that all projects share, partitioned by project key, so that a query on one project reads one partition.

Eight partitions are enough for the tens or hundreds of projects of a team: vacuuming or rewriting one partition does
not affect the others, and the catalogue cache of each connection remains small. The number of partitions never changes,
so that a project has the same partition number in all tables.
"""

from __future__ import annotations

from deltos.store.migration import Migration

PARTITIONS = 8

# This migration disables statistics on the column `project`. With statistics, the planner assumes that a project added
# since the last ANALYZE has no rows, and joins all files with all symbols in nested loops. Without statistics, it
# assumes that a project has 1/200 of the rows, and uses the other columns of an index.
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


def without_statistics(*tables: str) -> str:
    """Return SQL that disables statistics on the column `project` of new tables, as `PARTITIONS_001` does."""
    return "".join(f"ALTER TABLE {table} ALTER COLUMN project SET STATISTICS 0;" for table in tables)


def partitioned_table_sql(table: str, columns: str) -> str:
    """Return SQL that creates a table with the column `project`, and the partitions of the table."""
    parts = "".join(
        f"CREATE TABLE {table}_{number} PARTITION OF {table} "
        f"FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {number});\n"
        for number in range(PARTITIONS)
    )
    return f"CREATE TABLE {table} (project bigint NOT NULL, {columns}) PARTITION BY HASH (project);\n{parts}"
