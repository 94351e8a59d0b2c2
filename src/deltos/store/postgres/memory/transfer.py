"""Copy a memory from a PostgreSQL database, or into an empty database."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from deltos.store.postgres.memory.writer import words_of
from deltos.store.transfer import TransferredNotes, TransferredObservation, TransferredSession

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deltos.store.observations import ProjectRow
    from deltos.store.postgres.database import Connection
    from deltos.store.postgres.memory.reader import PostgresObservations

_COLUMNS = ", ".join(TransferredObservation._fields[:20])
_SESSION_COLUMNS = ", ".join(TransferredSession._fields)
_BATCH_SIZE = 500
_MISSING_VECTOR = ("", b"")


class PostgresMemoryTransfer:
    """Reads a complete memory from a PostgreSQL database, or writes it to an empty database."""

    def __init__(self, observations: PostgresObservations) -> None:
        self._observations = observations
        self._database = observations.database

    def is_empty(self) -> bool:
        """Whether the memory has no projects."""
        return not self._database.query("SELECT 1 FROM memory_project LIMIT 1")

    def projects(self) -> list[ProjectRow]:
        """Return all project folders with their keys."""
        return self._observations.projects()

    def sessions(self) -> list[TransferredSession]:
        """Return all sessions with their keys."""
        rows = self._database.query(f"SELECT {_SESSION_COLUMNS} FROM memory_session ORDER BY key")
        return [TransferredSession(*row) for row in rows]

    def observations(self) -> Iterator[TransferredObservation]:
        """Yield all observations in the order of their last changes."""
        columns = ", ".join(f"o.{name}" for name in TransferredObservation._fields[:20])
        query = f"""SELECT {columns}, d.change, v.model, v.data FROM observation_place d
            JOIN observation o ON o.project = d.project AND o.place = d.place
            LEFT JOIN observation_vector v ON v.key = o.place AND v.model <> ''
            WHERE d.change > %s ORDER BY d.change LIMIT {_BATCH_SIZE}"""
        last = 0
        while rows := self._database.query(query, (last,)):
            anchors = self._observations.anchors([row[0] for row in rows])
            for *cells, change, model, data in rows:
                vector = None if model is None else (model, data)
                yield TransferredObservation._make((*cells, change, tuple(anchors.get(cells[0], ())), vector))
            last = rows[-1][20]

    def notes(self) -> TransferredNotes:
        """Return the records of exports, of purges, and of journal records already converted to observations."""
        query = self._database.query
        return TransferredNotes(
            tuple((target, change) for target, change in query("SELECT target, change FROM memory_exported")),
            tuple(key for (key,) in query("SELECT key FROM memory_purged")),
            tuple(key for (key,) in query("SELECT key FROM memory_mined_event")),
        )

    def add(
        self,
        projects: Iterable[ProjectRow],
        sessions: Iterable[TransferredSession],
        observations: Iterable[TransferredObservation],
        notes: TransferredNotes,
    ) -> int:
        """Write all records to an empty memory in one transaction, and return the number of observations."""
        count = 0
        rows = iter(observations)
        with self._database.write() as connection:
            _copy_rows(connection, "memory_project (key, project_id, folder, root, created_at)", projects)
            _copy_rows(connection, f"memory_session ({_SESSION_COLUMNS})", sessions)
            while some := list(islice(rows, _BATCH_SIZE)):
                _add_observations(connection, some)
                count += len(some)
            _copy_rows(connection, "memory_exported (target, change)", notes.exported)
            _copy_rows(connection, "memory_purged (key)", [(key,) for key in notes.purged])
            _copy_rows(connection, "memory_mined_event (key)", [(key,) for key in notes.distilled])
            for table, column, sequence in (
                ("memory_project", "key", "pg_get_serial_sequence('memory_project', 'key')"),
                ("memory_session", "key", "pg_get_serial_sequence('memory_session', 'key')"),
                ("observation_place", "change", "'observation_change'"),
            ):
                connection.execute(
                    f"SELECT setval({sequence}, max({column})) FROM {table} HAVING max({column}) > 0".encode()
                )
        return count


def _add_observations(connection: Connection, rows: Sequence[TransferredObservation]) -> None:
    words = [words_of(row.names, row.text) for row in rows]
    _copy_rows(
        connection,
        f"observation ({_COLUMNS}, words)",
        [(*row[:20], terms) for row, terms in zip(rows, words, strict=True)],
    )
    _copy_rows(
        connection,
        "observation_place (place, project, id, change)",
        [(row.place, row.project, row.id, row.change) for row in rows],
    )
    live = [(row, terms) for row, terms in zip(rows, words, strict=True) if row.deleted_at is None]
    _copy_rows(
        connection,
        "observation_posting (project, term, place)",
        [(row.project, term, row.place) for row, terms in live for term in terms],
    )
    _copy_rows(
        connection,
        "observation_vector (key, model, data)",
        [(row.place, *(row.vector or _MISSING_VECTOR)) for row, _ in live],
    )
    _copy_rows(
        connection,
        "observation_anchor (place, path, symbol, digest)",
        [(row.place, *anchor) for row in rows for anchor in row.anchors],
    )


def _copy_rows(connection: Connection, target: str, rows: Iterable[Sequence[object]]) -> None:
    with connection.cursor() as cursor, cursor.copy(f"COPY {target} FROM STDIN".encode()) as copy:
        for row in rows:
            copy.write_row(row)
