"""Contents of indexed files, stored once per digest. With them, a server without the checkout can show source lines.

Indexers add contents on a separate connection and commit immediately, so that two processes that index the same files
do not wait for each other. An advisory lock prevents the deletion of blobs before the rows that refer to them are
committed: writers hold a shared lock, and a deletion needs an exclusive lock.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

from deltos.confinement import whole_store
from deltos.store.content_compression import unpack
from deltos.store.migration import Migration
from deltos.store.postgres.row_security import SERVER, row_security_sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from deltos.store.postgres.database import Connection, PostgresDatabase

BLOBS_001 = Migration(
    "blobs-001",
    """
    CREATE TABLE blob (digest bytea PRIMARY KEY, content bytea NOT NULL);
    ALTER TABLE blob ALTER COLUMN content SET STORAGE EXTERNAL;
    CREATE INDEX file_by_hash ON file (hash);
    DELETE FROM meta WHERE key = 'indexers';
    """,  # deleting `indexers` causes complete indexing, which adds the blobs
)
BLOB_RULE = f"{SERVER} OR EXISTS (SELECT 1 FROM file WHERE file.hash = blob.digest)"
"""Policy: a caller who may read a file may read its content. Every caller may add contents."""

BLOBS_002 = Migration("blobs-002-rights", row_security_sql("blob", BLOB_RULE, write_rule="true"))
_BATCH_SIZE = 500
_MAX_TRIES, _PAUSE_SECONDS = 40, 0.25  # attempts to lock the blobs, and the pause between attempts
_LOCK_KEY = "blobs"


def protect_blobs(database: PostgresDatabase, connection: Connection) -> None:
    """Prevent the deletion of blobs until this transaction ends."""
    connection.execute("SELECT pg_advisory_xact_lock_shared(%s)", (database.lock_number(_LOCK_KEY),))


def add_blobs(database: PostgresDatabase, contents: Mapping[bytes, bytes]) -> None:
    """Store compressed contents by digest. Existing contents are not changed."""
    digests = sorted(contents)  # a fixed order prevents deadlocks between writers
    with whole_store(), closing(database.open_connection()) as connection:  # any project may contain the same content
        for start in range(0, len(digests), _BATCH_SIZE):
            some = digests[start : start + _BATCH_SIZE]
            known = {row[0] for row in connection.execute("SELECT digest FROM blob WHERE digest = ANY(%s)", (some,))}
            new = [digest for digest in some if digest not in known]
            connection.execute(
                "INSERT INTO blob SELECT * FROM unnest(%s::bytea[], %s::bytea[]) ON CONFLICT DO NOTHING",
                (new, [contents[digest] for digest in new]),
            )


def read_blobs(query: Callable[..., list[tuple[bytes, bytes]]], digests: Sequence[bytes]) -> dict[bytes, bytes]:
    """Return the decompressed contents with the given digests, by digest."""
    rows = query("SELECT digest, content FROM blob WHERE digest = ANY(%s)", (list(set(digests)),))
    return {digest: unpack(content) for digest, content in rows}


@whole_store()
def delete_unused_blobs(database: PostgresDatabase, digests: Iterable[bytes], *, tries: int = 1) -> int:
    """Delete the given blobs unless a file refers to them, and return the number of deleted blobs.

    Nothing is deleted while a project is being written.
    """
    every, dropped = sorted(set(digests)), 0
    for start in range(0, len(every), _BATCH_SIZE):
        dropped += _delete_unused_batch(database, every[start : start + _BATCH_SIZE], tries)
    return dropped


@whole_store()
def delete_all_unused_blobs(database: PostgresDatabase) -> int:
    """Delete all blobs that no file refers to, and return the number of deleted blobs."""
    dropped, last = 0, b""
    while rows := database.query(
        "SELECT digest FROM blob WHERE digest > %s ORDER BY digest LIMIT %s", (last, _BATCH_SIZE)
    ):
        dropped += _delete_unused_batch(database, [row[0] for row in rows], _MAX_TRIES)
        last = rows[-1][0]
    return dropped


def _delete_unused_batch(database: PostgresDatabase, digests: list[bytes], tries: int) -> int:
    for attempt in range(tries):
        if attempt:
            time.sleep(_PAUSE_SECONDS)
        with database.write() as connection:
            lock = connection.execute(
                "SELECT pg_try_advisory_xact_lock(%s)", (database.lock_number(_LOCK_KEY),)
            ).fetchone()
            if lock and lock[0]:
                return connection.execute(
                    """DELETE FROM blob WHERE digest = ANY(%s)
                       AND NOT EXISTS (SELECT 1 FROM file WHERE file.hash = blob.digest)""",
                    (digests,),
                ).rowcount
    return 0
