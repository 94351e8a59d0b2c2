"""Facts of files as stored in the code graph: their encoding, and readers for this process and for other processes.

For the facts of a file, see `store.graph.FactRecord`.
"""

from __future__ import annotations

import zlib
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deltos.store.project_rows import Query, RowSource

# Number of lookups of names after which a reader of a remote database loads all names, if there are not too many.
# One lookup takes a millisecond. Loading all names takes as long as a few hundred lookups.
_MAX_SINGLE_LOOKUPS = 200
_MAX_PRELOADED_SYMBOLS = 200_000

_SELECT_SYMBOLS = """SELECT symbol.name, place.path, node.key, symbol.kind FROM symbol
                     JOIN node ON node.id = symbol.node_id JOIN place ON place.id = symbol.place_id"""
_ORDER = "ORDER BY place.path, symbol.line, symbol.node_id"


def checksum(dependency: str) -> int:
    """Return the CRC-32 checksum of a dependency: a file or name that the resolution of references depended on."""
    # A checksum collision only causes a file to be resolved unnecessarily. This costs less than a table of names.
    return zlib.crc32(dependency.encode("utf-8", "surrogateescape"))


def encode_dependencies(dependencies: Iterable[str]) -> bytes:
    """Return the sorted checksums of dependencies as one byte string."""
    return array("I", sorted(map(checksum, dependencies))).tobytes()


def languages_of(query: Query) -> dict[str, str]:
    """Return the language of every file in the graph."""
    return dict(query("SELECT path, language FROM fact JOIN place ON place.id = place_id ORDER BY place_id"))


def dependencies_of_files(query: Query) -> Iterator[tuple[str, set[int]]]:
    """Yield the path of each file, and the checksums of the dependencies of its resolved references."""
    for path, encoded in query("SELECT path, dependencies FROM fact JOIN place ON place.id = place_id ORDER BY path"):
        yield path, set(array("I", encoded))


class StoredFacts:
    """Implementation of `store.graph.FactReader`. The facts must not change while they are read."""

    def __init__(self, query: Query, *, may_preload: bool = False) -> None:
        self._query = query
        self._lookups_left = _MAX_SINGLE_LOOKUPS if may_preload else -1
        self._by_name: dict[str, list[tuple[str, str, str]]] | None = None

    def interface(self, path: str) -> bytes | None:
        """Return the encoded definitions of a file that other files may use, or None for an unknown file."""
        return self._column("interface", path)

    def body(self, path: str) -> bytes | None:
        """Return the encoded facts of a file that other files do not use, or None for an unknown file."""
        return self._column("body", path)

    def _column(self, column: str, path: str) -> bytes | None:
        sql = f"SELECT {column} FROM fact JOIN place ON place.id = place_id WHERE place.path = ?"
        rows = self._query(sql, path)
        return rows[0][0] if rows else None

    def symbols_named(self, name: str) -> list[tuple[str, str, str]]:
        """Return the path, key and kind of every symbol with this name."""
        if self._by_name is None and self._lookups_left:
            self._lookups_left -= 1
            rows = self._query(f"{_SELECT_SYMBOLS} WHERE symbol.name COLLATE NOCASE IN ? {_ORDER}", [name])
            return [(row[1], row[2], row[3]) for row in rows if row[0] == name]
        if self._by_name is None:
            self._by_name = self._read_all_names()
        return self._by_name.get(name.replace("\0", "\ufffd"), [])

    def _read_all_names(self) -> dict[str, list[tuple[str, str, str]]]:
        """Return the path, key and kind of all symbols by name."""
        # Read the tables separately: the planner has no statistics on new rows and would choose a slow join.
        symbols = self._query("SELECT place_id, line, node_id, name, kind FROM symbol")
        paths: dict[int, str] = dict(self._query("SELECT id, path FROM place"))
        keys: dict[int, str] = dict(self._query("SELECT id, key FROM node"))
        found: dict[str, list[tuple[str, str, str]]] = {}
        for place_id, _, node_id, name, kind in sorted(symbols, key=lambda row: (paths[row[0]].encode(), *row[1:3])):
            found.setdefault(name, []).append((paths[place_id], keys[node_id], kind))
        return found


@dataclass(frozen=True, slots=True)
class StoredFactSource:
    """Implementation of `store.graph.FactSource` for the committed facts of a project."""

    rows: RowSource

    def reader(self) -> StoredFacts:
        """Return a reader of the facts for this process."""
        query = self.rows.connect()
        few = self.rows.is_remote and query("SELECT COUNT(*) FROM symbol")[0][0] <= _MAX_PRELOADED_SYMBOLS
        return StoredFacts(query, may_preload=few)
