"""Contents of indexed files, each kept once however many projects have it: so that a server shows lines of files that
are not on its disk.

Whoever indexes a project adds contents at once, on a connection of its own: two that index the same files do not wait
for each other. That nothing is deleted before the rows that refer to it are there is promised by a lock, which writers
of projects share until they commit, and which is held alone by whoever deletes.
"""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

from deltos.confinement import whole_store
from deltos.store.contents import unpack
from deltos.store.postgres.database import Migration
from deltos.store.postgres.rights import SERVER, protected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from deltos.store.postgres.database import Connection, Database

BLOBS_001 = Migration(
    "blobs-001",
    """
    CREATE TABLE blob (digest bytea PRIMARY KEY, content bytea NOT NULL);
    ALTER TABLE blob ALTER COLUMN content SET STORAGE EXTERNAL;
    CREATE INDEX file_by_hash ON file (hash);
    DELETE FROM meta WHERE key = 'indexers';
    """,  # without its indexers an index is read again in full by the next who brings it up to date: then it has blobs
)
BLOB_RULE = f"{SERVER} OR EXISTS (SELECT 1 FROM file WHERE file.hash = blob.digest)"
"""Whoever may read a file may read its content; whoever has a content may keep it."""

BLOBS_002 = Migration("blobs-002-rights", protected("blob", BLOB_RULE, kept="true"))
_AT_ONCE = 500
_TRIES, _PAUSE_SECONDS = 40, 0.25
_LOCK = "blobs"


def protect_blobs(database: Database, connection: Connection) -> None:
    """Until this transaction ends, nobody deletes a blob."""
    connection.execute("SELECT pg_advisory_xact_lock_shared(%s)", (database.number_of_lock(_LOCK),))


def add_blobs(database: Database, contents: Mapping[bytes, bytes]) -> None:
    """Keep packed contents by their digests; those that are there stay."""
    digests = sorted(contents)  # in one order, so that two writers never wait for each other
    with whole_store(), closing(database.connected_apart()) as connection:  # whoever has equal ones
        for start in range(0, len(digests), _AT_ONCE):
            some = digests[start : start + _AT_ONCE]
            there = {row[0] for row in connection.execute("SELECT digest FROM blob WHERE digest = ANY(%s)", (some,))}
            new = [digest for digest in some if digest not in there]
            connection.execute(
                "INSERT INTO blob SELECT * FROM unnest(%s::bytea[], %s::bytea[]) ON CONFLICT DO NOTHING",
                (new, [contents[digest] for digest in new]),
            )


def read_blobs(query: Callable[..., list[tuple[bytes, bytes]]], digests: Sequence[bytes]) -> dict[bytes, bytes]:
    """Contents by their digests, as far as they are kept."""
    rows = query("SELECT digest, content FROM blob WHERE digest = ANY(%s)", (list(set(digests)),))
    return {digest: unpack(content) for digest, content in rows}


@whole_store()
def drop_unused(database: Database, digests: Iterable[bytes], *, tries: int = 1) -> int:
    """Delete those of some blobs that no file refers to; how many. While projects are written to, none."""
    every, dropped = sorted(set(digests)), 0
    for start in range(0, len(every), _AT_ONCE):
        dropped += _drop(database, every[start : start + _AT_ONCE], tries)
    return dropped


@whole_store()
def sweep_blobs(database: Database) -> int:
    """Delete every blob that no file refers to; how many."""
    dropped, last = 0, b""
    while rows := database.query(
        "SELECT digest FROM blob WHERE digest > %s ORDER BY digest LIMIT %s", (last, _AT_ONCE)
    ):
        dropped += _drop(database, [row[0] for row in rows], _TRIES)
        last = rows[-1][0]
    return dropped


def _drop(database: Database, digests: list[bytes], tries: int) -> int:
    for attempt in range(tries):
        if attempt:
            time.sleep(_PAUSE_SECONDS)
        with database.write() as connection:
            lock = connection.execute(
                "SELECT pg_try_advisory_xact_lock(%s)", (database.number_of_lock(_LOCK),)
            ).fetchone()
            if lock and lock[0]:
                return connection.execute(
                    """DELETE FROM blob WHERE digest = ANY(%s)
                       AND NOT EXISTS (SELECT 1 FROM file WHERE file.hash = blob.digest)""",
                    (digests,),
                ).rowcount
    return 0
