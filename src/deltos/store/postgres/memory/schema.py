"""Schema of memory in PostgreSQL. Observations and index words are partitioned by project.

The table `observation_place` lists all observations by row number (`place`), with the project, the id and the number
of the last change. Comments call it the directory of observations.
"""

from __future__ import annotations

from deltos.store.migration import Migration
from deltos.store.postgres.partitions import partitioned_table_sql
from deltos.store.postgres.vectors import OBSERVATIONS

_OBSERVATION_COLUMNS = """
    place bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    kind text NOT NULL,
    source text NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint,
    deleted_at bigint,
    files text NOT NULL,
    symbols text NOT NULL,
    embedding bytea,
    embedding_model text,
    pinned_at bigint,
    superseded_by text,
    score double precision,
    restored_at bigint,
    unpinned_at bigint,
    superseded_at bigint,
    names text NOT NULL,
    text text NOT NULL,
    words text[] NOT NULL,
    PRIMARY KEY (project, place)
"""
_POSTING_COLUMNS = 'place bigint NOT NULL, term text COLLATE "C" NOT NULL, PRIMARY KEY (project, term, place)'

MEMORY_001 = Migration(
    "memory-001",
    f"""
    CREATE TABLE memory_project (
        key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        project_id text COLLATE "C" NOT NULL,
        folder text COLLATE "C" NOT NULL DEFAULT '',
        root text COLLATE "C" NOT NULL DEFAULT '',
        created_at bigint NOT NULL
    );
    CREATE UNIQUE INDEX memory_project_by_id ON memory_project (md5(project_id), md5(folder));
    CREATE INDEX memory_project_by_root ON memory_project (md5(root));
    CREATE TABLE memory_session (
        key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        project bigint NOT NULL,
        session_id text COLLATE "C",
        agent text COLLATE "C" NOT NULL DEFAULT '',
        started_at bigint NOT NULL,
        ended_at bigint,
        shown_at bigint
    );
    CREATE UNIQUE INDEX memory_session_by_project ON memory_session (project, md5(session_id));
    CREATE INDEX memory_session_by_id ON memory_session (md5(session_id));
    {partitioned_table_sql("observation", _OBSERVATION_COLUMNS)}
    CREATE UNIQUE INDEX observation_by_id ON observation (project, id);
    CREATE INDEX observation_by_time ON observation (project, created_at, place);
    CREATE INDEX observation_by_kind ON observation (project, kind, created_at, place);
    CREATE INDEX observation_by_pin ON observation (project, pinned_at) WHERE pinned_at IS NOT NULL;
    CREATE INDEX observation_by_deletion ON observation (deleted_at) WHERE deleted_at IS NOT NULL;
    {partitioned_table_sql("observation_posting", _POSTING_COLUMNS)}
    CREATE SEQUENCE observation_change AS bigint;
    CREATE TABLE observation_place (
        place bigint PRIMARY KEY,
        project bigint NOT NULL,
        id text COLLATE "C" NOT NULL,
        change bigint NOT NULL
    );
    CREATE INDEX observation_place_by_id ON observation_place (id);
    CREATE INDEX observation_place_by_change ON observation_place (change);
    CREATE TABLE observation_anchor (
        place bigint NOT NULL,
        path text COLLATE "C" NOT NULL,
        symbol text COLLATE "C" NOT NULL,
        digest bytea NOT NULL
    );
    CREATE UNIQUE INDEX observation_anchor_by_place ON observation_anchor (place, md5(path), md5(symbol));
    {OBSERVATIONS.create_sql}
    CREATE TABLE memory_exported (target bytea PRIMARY KEY, change bigint NOT NULL);
    CREATE TABLE memory_purged (key bytea PRIMARY KEY);
    CREATE TABLE memory_mined_event (key bytea PRIMARY KEY);
    CREATE TABLE memory_mined_file (
        key bytea PRIMARY KEY, size_bytes bigint NOT NULL, mtime_ns bigint NOT NULL, since bigint NOT NULL
    );
    CREATE TABLE memory_snapshot (day text COLLATE "C" PRIMARY KEY, made_at double precision NOT NULL);
    CREATE TABLE memory_snapshot_part (
        day text COLLATE "C" NOT NULL REFERENCES memory_snapshot (day) ON DELETE CASCADE,
        part integer NOT NULL,
        data bytea NOT NULL,
        PRIMARY KEY (day, part)
    );
    """,
)
