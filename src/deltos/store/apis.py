"""Store and row types of API descriptions. A unit is one operation, webhook, schema or fragment of a description."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from deltos.store.valid_text import ascii_lower

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.statements import Statements, WriteConnection


@dataclass(frozen=True, slots=True)
class ApiRow:
    """One API with its documentation source, an overview, and the numbers of operations, schemas and webhooks."""

    name: str
    source_name: str
    source: str
    citation: str
    overview: bytes
    operations: int
    schemas: int
    webhooks: int
    warnings: bytes
    indexed_at: float
    projects: str = '["*"]'  # JSON list of the root folders of projects that can use the API; `*` means all projects
    id: int = 0


class UnreadableDocument(NamedTuple):
    """A document of a documentation source that could not be indexed, with the reason."""

    source: str
    document: str
    reason: str


class UnitWords(NamedTuple):
    """Words under which a unit of an API is indexed, by field."""

    names: str = ""
    title: str = ""
    tags: str = ""
    description: str = ""
    details: str = ""


class UnitRow(NamedTuple):
    """A unit of an API: operation, schema, webhook, or a fragment that a `$ref` points to.

    A unit without index words can be found only by its JSON pointer.
    """

    kind: str
    key: str
    pointer: str
    title: str = ""
    grouping: str = ""
    method: str = ""
    path: str = ""
    tags: bytes = b"[]"
    deprecated: bool = False
    id: int = 0


class NewUnit(NamedTuple):
    """A unit of an API (such as an operation) to store, with its encoded content and index words."""

    row: UnitRow
    body: bytes
    words: UnitWords | None


@dataclass(frozen=True, slots=True)
class UnitMatch:
    """A unit of an API (such as an operation) that matches a query. A higher score is better."""

    row: UnitRow
    api_name: str
    words: UnitWords
    score: float


UNIT_COLUMNS = "kind, key, pointer, title, grouping, method, path, tags, deprecated, id"
_CALLABLE_KINDS = "('operation', 'webhook')"
_API_FIELDS = tuple(field.name for field in fields(ApiRow) if field.name != "id")
_API_COLUMNS = ", ".join(_API_FIELDS)
_SELECT_API = f"SELECT {_API_COLUMNS}, id FROM api"


class ApiDescriptions(ABC):
    """Store of API descriptions, and search over their units (operations, webhooks and schemas)."""

    def __init__(self, statements: Statements) -> None:
        self._statements = statements

    @abstractmethod
    def _lock(self, connection: WriteConnection) -> None:
        """Prevent other writers from changing API descriptions until the transaction ends."""

    @abstractmethod
    def _delete_units(self, connection: WriteConnection, api_id: int) -> None:
        """Delete the units of an API with their index words and vectors."""

    @abstractmethod
    def _insert_units(self, connection: WriteConnection, api_id: int, units: Sequence[NewUnit]) -> None:
        """Insert the units of an API with their index words."""

    def snapshot(self) -> AbstractContextManager[object]:
        """Return a context manager within which all reads see the same state."""
        return self._statements.snapshot()

    def replace(self, api: ApiRow, units: Iterable[NewUnit]) -> None:
        """Store an API with all its units. An existing API with the same name is replaced."""
        with self._statements.write() as connection:
            self._lock(connection)
            self._delete(connection, api.name)
            marks = ", ".join("?" * len(_API_FIELDS))
            values = [getattr(api, name) for name in _API_FIELDS]
            sql = f"INSERT INTO api ({_API_COLUMNS}) VALUES ({marks}) RETURNING id"
            (api_id,) = connection.execute(sql, values).fetchone()
            self._insert_units(connection, api_id, list(units))

    def remove(self, name: str) -> bool:
        """Delete the API with this name, and return whether it existed."""
        with self._statements.write() as connection:
            self._lock(connection)
            removed = self._delete(connection, name)
            connection.execute("DELETE FROM api_unread WHERE source NOT IN (SELECT source FROM api)")
            return removed

    def _delete(self, connection: WriteConnection, name: str) -> bool:
        row = connection.execute("SELECT id FROM api WHERE lower(name) = ?", (ascii_lower(name),)).fetchone()
        if row is None:
            return False
        self._delete_units(connection, row[0])
        # The API is deleted last, because row-level security hides the units of a deleted API.
        connection.execute("DELETE FROM api WHERE id = ?", row)
        return True

    def replace_unreadable(self, source: str, rows: Iterable[UnreadableDocument]) -> None:
        """Replace the list of documents of a source that could not be indexed."""
        unread = {(row.source, row.document): row for row in rows}
        with self._statements.write() as connection:
            self._lock(connection)
            connection.execute("DELETE FROM api_unread WHERE source = ?", (source,))
            connection.executemany("DELETE FROM api_unread WHERE source = ? AND document = ?", list(unread))
            sql = "INSERT INTO api_unread (source, document, reason) VALUES (?, ?, ?)"
            connection.executemany(sql, list(unread.values()))

    def unreadable_documents(self) -> list[UnreadableDocument]:
        """Return the documents that could not be indexed, ordered by source."""
        return list(map(UnreadableDocument._make, self._statements.query(SELECT_UNREADABLE)))

    def apis(self) -> list[ApiRow]:
        """Return all APIs, ordered by name."""
        return [ApiRow(*row) for row in self._statements.query(f"{_SELECT_API} ORDER BY lower(name)")]

    def api(self, name: str) -> ApiRow | None:
        """Return the API with this name, ignoring case, or None."""
        rows = self._statements.query(f"{_SELECT_API} WHERE lower(name) = ?", (ascii_lower(name),))
        return ApiRow(*rows[0]) if rows else None

    def apis_of_source(self, source_name: str) -> list[ApiRow]:
        """Return the APIs of one source."""
        sql = f"{_SELECT_API} WHERE lower(source_name) = ? ORDER BY lower(name)"
        return [ApiRow(*row) for row in self._statements.query(sql, (ascii_lower(source_name),))]

    def set_projects(self, source_name: str, projects: str) -> None:
        """Record which projects may use the APIs of a source. `projects` is a JSON list of root folders."""
        sql = "UPDATE api SET projects = ? WHERE lower(source_name) = ?"
        with self._statements.write() as connection:
            connection.execute(sql, (projects, ascii_lower(source_name)))

    def units(self, api_id: int, kinds: Sequence[str]) -> list[UnitRow]:
        """Return the units of an API that have one of the given kinds, such as operation, in document order."""
        marks = ", ".join("?" * len(kinds))
        sql = f"SELECT {UNIT_COLUMNS} FROM api_unit WHERE api_id = ? AND kind IN ({marks}) ORDER BY id"
        return [UnitRow(*row) for row in self._statements.query(sql, (api_id, *kinds))]

    def unit_ids(self, api_id: int) -> list[int]:
        """Return the ids of all units (operations, webhooks, schemas and fragments) of an API."""
        return [row[0] for row in self._statements.query("SELECT id FROM api_unit WHERE api_id = ?", (api_id,))]

    def overview_ids(self) -> dict[str, int]:
        """Return the id of the unit that contains the overview of each API, by API name."""
        sql = """SELECT api.name, unit.id FROM api
                 JOIN api_unit AS unit ON unit.api_id = api.id AND unit.pointer = '#' AND unit.kind = 'overview'"""
        return dict(self._statements.query(sql))

    def unit(self, api_id: int, key: str) -> UnitRow | None:
        """Return the unit of an API (such as an operation or schema) that has this key, or None."""
        sql = f"""SELECT {UNIT_COLUMNS} FROM api_unit
                  WHERE api_id = ? AND key = ? AND kind <> 'fragment' ORDER BY id LIMIT 1"""
        rows = self._statements.query(sql, (api_id, key))
        return UnitRow(*rows[0]) if rows else None

    @abstractmethod
    def body(self, unit_id: int) -> bytes:
        """Return the encoded content of a unit, such as an operation or schema."""

    def bodies(self, api_id: int) -> list[tuple[str, bytes]]:
        """Return the key and encoded content of every operation and webhook of an API, in document order."""
        sql = f"SELECT key, body FROM api_unit WHERE api_id = ? AND kind IN {_CALLABLE_KINDS} ORDER BY id"
        return [(key, body) for key, body in self._statements.query(sql, (api_id,))]

    def target(self, api_id: int, pointer: str) -> bytes | None:
        """Return the encoded content of the schema, message or fragment that a `$ref` points to."""
        sql = """SELECT body FROM api_unit WHERE api_id = ? AND pointer = ?
                 AND kind IN ('schema', 'message', 'fragment') ORDER BY id LIMIT 1"""
        rows = self._statements.query(sql, (api_id, pointer))
        return bytes(rows[0][0]) if rows else None

    @abstractmethod
    def search(
        self,
        words: tuple[str, ...],
        weights: Sequence[float],
        *,
        api_id: int | None,
        kinds: Sequence[str],
        limit: int,
        excluded_apis: Sequence[int] = (),
    ) -> list[UnitMatch]:
        """Return the units (such as operations) that best match any of the words.

        `weights` contains a weight per field; 0 excludes a field. `excluded_apis` contains the ids of APIs to skip.
        """

    @abstractmethod
    def units_by_id(
        self, unit_ids: Sequence[int], *, api_id: int | None, kinds: Sequence[str], excluded_apis: Sequence[int] = ()
    ) -> list[UnitMatch]:
        """Return the units with these ids as matches with score 0, in the given order, filtered as in `search`."""

    @abstractmethod
    def document_frequencies(self, stems: Sequence[str]) -> dict[str, int]:
        """Return the number of units (such as operations) that contain each word stem."""

    def count_searchable(self, api_id: int | None = None) -> int:
        """Return the number of units (such as operations) that have index words."""
        if api_id is None:
            return self._count_indexed()
        sql = "SELECT COUNT(*) FROM api_unit WHERE kind <> 'fragment' AND api_id = ?"
        return int(self._statements.query(sql, (api_id,))[0][0])

    @abstractmethod
    def _count_indexed(self) -> int:
        """Return the number of units of all APIs that have index words."""


SELECT_UNREADABLE = "SELECT source, document, reason FROM api_unread ORDER BY source, document"


def unit_match(row: Sequence[Any], score: float) -> UnitMatch:
    """Create a match from a row with the columns of a unit, the name of the API and the index words."""
    return UnitMatch(UnitRow(*row[:10]), row[10], UnitWords(*row[11:16]), score)
