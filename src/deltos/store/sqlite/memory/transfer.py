"""Copy a memory from an SQLite file, or into an empty SQLite file."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from deltos.store.observations import Anchor, ProjectRow
from deltos.store.transfer import TransferredNotes, TransferredObservation, TransferredSession

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deltos.store.sqlite.memory.reader import SqliteObservations

_COLUMNS = ", ".join(TransferredObservation._fields[:20])
_SESSION_COLUMNS = ", ".join(TransferredSession._fields)
_BATCH_SIZE = 500


class SqliteMemoryTransfer:
    """Reads a complete memory from an SQLite file, or writes it to an empty file."""

    def __init__(self, observations: SqliteObservations) -> None:
        self._database = observations.database

    def is_empty(self) -> bool:
        """Whether the memory has no projects."""
        return self._database.read().execute("SELECT 1 FROM project LIMIT 1").fetchone() is None

    def projects(self) -> list[ProjectRow]:
        """Return all project folders with their keys."""
        rows = self._database.read().execute(
            "SELECT key, project_id, folder, root, created_at FROM project ORDER BY key"
        )
        return [ProjectRow(*row) for row in rows]

    def sessions(self) -> list[TransferredSession]:
        """Return all sessions with their keys."""
        rows = self._database.read().execute(f"SELECT {_SESSION_COLUMNS} FROM session ORDER BY key")
        return [TransferredSession(*row) for row in rows]

    def observations(self) -> Iterator[TransferredObservation]:
        """Yield all observations in the order of their last changes."""
        connection = self._database.read()
        columns = ", ".join(f"o.{name}" for name in TransferredObservation._fields[:20])
        rows = connection.execute(
            f"""SELECT {columns}, c.number, v.model, v.data FROM observation_change c
                JOIN observation o ON o.place = c.place
                LEFT JOIN observation_vector v ON v.key = o.place AND v.model <> '' ORDER BY c.number"""
        )
        for *cells, change, model, data in rows:
            sql = "SELECT path, symbol, digest FROM anchor WHERE place = ? ORDER BY path, symbol"
            anchors = tuple(Anchor(*row) for row in connection.execute(sql, (cells[0],)))
            vector = None if model is None else (model, data)
            yield TransferredObservation._make((*cells, change, anchors, vector))

    def notes(self) -> TransferredNotes:
        """Return the records of exports, of purges, and of journal records already converted to observations."""
        connection = self._database.read()
        return TransferredNotes(
            tuple(connection.execute("SELECT target, number FROM exported")),
            tuple(key for (key,) in connection.execute("SELECT key FROM purged")),
            tuple(key for (key,) in connection.execute("SELECT key FROM mined_event")),
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
            insert = "INSERT INTO project (key, project_id, folder, root, created_at) VALUES (?, ?, ?, ?, ?)"
            connection.executemany(insert, projects)
            connection.executemany(f"INSERT INTO session ({_SESSION_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", sessions)
            marks = ", ".join("?" * 20)
            while some := list(islice(rows, _BATCH_SIZE)):
                places = [row.place for row in some]
                connection.executemany(
                    f"INSERT INTO observation ({_COLUMNS}) VALUES ({marks})", [row[:20] for row in some]
                )
                connection.executemany(
                    "INSERT INTO anchor (place, path, symbol, digest) VALUES (?, ?, ?, ?)",
                    [(row.place, *anchor) for row in some for anchor in row.anchors],
                )
                # Triggers have numbered the changes and added rows for missing vectors. Both are replaced here.
                connection.executemany("DELETE FROM observation_change WHERE place = ?", [(place,) for place in places])
                connection.executemany(
                    "INSERT INTO observation_change (number, place) VALUES (?, ?)",
                    [(row.change, row.place) for row in some],
                )
                connection.executemany(
                    "UPDATE observation_vector SET model = ?, data = ? WHERE key = ?",
                    [(*row.vector, row.place) for row in some if row.vector is not None],
                )
                count += len(some)
            connection.executemany("INSERT INTO exported VALUES (?, ?)", notes.exported)
            connection.executemany("INSERT INTO purged VALUES (?)", [(key,) for key in notes.purged])
            connection.executemany("INSERT INTO mined_event VALUES (?)", [(key,) for key in notes.distilled])
        return count
