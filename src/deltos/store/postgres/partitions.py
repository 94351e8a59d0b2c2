"""Tables that all projects share, divided by the project's key: a query that names it looks at one part alone.

Eight parts: the tens or hundreds of projects of a team spread over them, so that vacuuming or rewriting one part leaves
the others alone, and the catalogue that each connection keeps in memory stays small. Their number is fixed: every table
is divided alike, so that rows of one project that belong together are in parts of the same number.
"""

from __future__ import annotations

PARTITIONS = 8


def partitioned(table: str, columns: str) -> str:
    """The statements that make a table with the column `project`, and its parts."""
    parts = "".join(
        f"CREATE TABLE {table}_{number} PARTITION OF {table} "
        f"FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {number});\n"
        for number in range(PARTITIONS)
    )
    return f"CREATE TABLE {table} (project bigint NOT NULL, {columns}) PARTITION BY HASH (project);\n{parts}"
