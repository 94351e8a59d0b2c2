"""Tables of git history in PostgreSQL."""

from __future__ import annotations

from deltos.store.migration import Migration
from deltos.store.postgres.partitions import partitioned_table_sql
from deltos.store.postgres.rows import indexed_prefix

HISTORY_001 = Migration(
    "history-001-commits",
    partitioned_table_sql(
        "past_commit",
        """id bigint NOT NULL,
        hash text COLLATE "C" NOT NULL,
        time bigint NOT NULL,
        author text NOT NULL,
        subject text NOT NULL,
        body text NOT NULL,
        file_count integer NOT NULL,
        is_merge boolean NOT NULL,
        words text NOT NULL,
        PRIMARY KEY (project, id),
        UNIQUE (project, hash)""",
    )
    + "CREATE INDEX past_commit_by_time ON past_commit (project, time);"
    + partitioned_table_sql(
        "past_file",
        """id bigint NOT NULL,
        path text COLLATE "C" NOT NULL,
        changes integer NOT NULL DEFAULT 0,
        last_changed bigint NOT NULL DEFAULT 0,
        words text NOT NULL DEFAULT '',
        is_settled boolean NOT NULL DEFAULT false,
        PRIMARY KEY (project, id)""",
    )
    + f"CREATE INDEX past_file_by_path ON past_file (project, {indexed_prefix('path')});"
    + "CREATE INDEX past_file_unsettled ON past_file (project, id) WHERE NOT is_settled;"
    + partitioned_table_sql(
        "past_touch",
        "file_id bigint NOT NULL, commit_id bigint NOT NULL, PRIMARY KEY (project, file_id, commit_id)",
    )
    + "CREATE INDEX past_touch_by_commit ON past_touch (project, commit_id, file_id);"
    + partitioned_table_sql("past_name", 'before text COLLATE "C" NOT NULL, path text COLLATE "C" NOT NULL')
    + f"CREATE INDEX past_name_by_before ON past_name (project, {indexed_prefix('before')});"
    + partitioned_table_sql(
        "past_vectors",
        """number bigint NOT NULL,
        model text COLLATE "C" NOT NULL,
        ids bytea NOT NULL,
        data bytea NOT NULL,
        PRIMARY KEY (project, model, number)""",
    ),
)
# Vectors are numbered by the database, as in SQLite.
VECTOR_NUMBERS_001 = Migration(
    "vector-numbers-001",
    "".join(
        f"ALTER TABLE {table} ALTER COLUMN number SET DEFAULT nextval('vector_number');"
        for table in ("past_vectors", "chunk_vectors")
    ),
)
