"""Code graph in SQLite: tables of symbols, edges, imports and facts, and all writes. Queries are in `graph_read`.

The ids of paths and symbols do not change when a file is indexed again, so that edges to the file remain valid.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.store.fact_states import change_level, checksum, encode_dependencies, encode_parts, find_added_names
from deltos.store.graph import INTERFACE_CHANGED, FactRecord, PendingFacts, ResolutionRecord, StaleFile
from deltos.store.migration import Migration
from deltos.store.sqlite.database import SqliteErrorTranslator, connect_read_only

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from deltos.store.symbols import Symbol

GRAPH_001 = Migration(
    "graph-001-symbols-and-edges",
    """
    CREATE TABLE place (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);
    CREATE TABLE node (id INTEGER PRIMARY KEY, place_id INTEGER NOT NULL, key TEXT NOT NULL, UNIQUE (place_id, key));
    CREATE TABLE symbol (
        node_id INTEGER PRIMARY KEY,
        place_id INTEGER NOT NULL,
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        line INTEGER NOT NULL,
        end_line INTEGER NOT NULL,
        signature TEXT NOT NULL,
        doc TEXT NOT NULL
    );
    CREATE INDEX symbol_by_name ON symbol (name COLLATE NOCASE);
    CREATE INDEX symbol_by_place ON symbol (place_id, line);
    CREATE TABLE edge (
        place_id INTEGER NOT NULL,
        line INTEGER NOT NULL,
        source_id INTEGER NOT NULL,
        target_id INTEGER NOT NULL,
        kind TEXT NOT NULL,
        origin TEXT NOT NULL,
        certain INTEGER NOT NULL
    );
    CREATE INDEX edge_by_target ON edge (target_id);
    CREATE INDEX edge_by_place ON edge (place_id, source_id);
    CREATE TABLE mention (
        name TEXT NOT NULL,
        place_id INTEGER NOT NULL,
        line INTEGER NOT NULL,
        source_id INTEGER NOT NULL,
        kind TEXT NOT NULL
    );
    CREATE INDEX mention_by_name ON mention (name);
    CREATE INDEX mention_by_place ON mention (place_id);
    CREATE TABLE import (
        place_id INTEGER NOT NULL,
        line INTEGER NOT NULL,
        target_place_id INTEGER NOT NULL,
        mode TEXT NOT NULL
    );
    CREATE INDEX import_by_place ON import (place_id);
    CREATE TABLE fact (
        place_id INTEGER PRIMARY KEY,
        language TEXT NOT NULL,
        state INTEGER NOT NULL,
        interface_hash BLOB NOT NULL,
        interface BLOB NOT NULL,
        body BLOB NOT NULL,
        parts BLOB NOT NULL,
        dependencies BLOB NOT NULL,
        external_imports INTEGER NOT NULL,
        unresolved_imports INTEGER NOT NULL
    );
    CREATE TABLE stale (name TEXT PRIMARY KEY) WITHOUT ROWID;
    """,
)

# This migration makes the graph compact. An edge is stored as four numbers: the file of an edge is the file of the
# source node, and all edges share a small number of rules. The mentions of a name in a file are one row that contains
# a JSON list of [source, rule, line, …]. The former tables are dropped, and the project is indexed again.
GRAPH_002 = Migration(
    "graph-002-compact",
    """
    DROP TABLE edge;
    DROP TABLE mention;
    DROP TABLE node;
    CREATE TABLE node (id INTEGER PRIMARY KEY, place_id INTEGER NOT NULL, key TEXT NOT NULL);
    CREATE INDEX node_by_place ON node (place_id);
    CREATE TABLE rule (
        id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        origin TEXT NOT NULL,
        certain INTEGER NOT NULL,
        UNIQUE (kind, origin, certain)
    );
    CREATE TABLE edge_row (
        source_id INTEGER NOT NULL,
        line INTEGER NOT NULL,
        target_id INTEGER NOT NULL,
        rule_id INTEGER NOT NULL,
        PRIMARY KEY (source_id, line, target_id, rule_id)
    ) WITHOUT ROWID;
    CREATE INDEX edge_by_target ON edge_row (target_id);
    CREATE VIEW edge AS
        SELECT node.place_id AS place_id, line, source_id, target_id, kind, origin, certain
        FROM edge_row JOIN rule ON rule.id = rule_id JOIN node ON node.id = source_id;
    CREATE TABLE mentioned_name (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE mention_list (
        name_id INTEGER NOT NULL,
        place_id INTEGER NOT NULL,
        uses TEXT NOT NULL,
        PRIMARY KEY (name_id, place_id)
    ) WITHOUT ROWID;
    CREATE INDEX mention_by_place ON mention_list (place_id);
    CREATE VIEW mention AS
        SELECT mentioned_name.name AS name, place_id, lines.value AS line,
               json_extract(uses.value, '$[0]') AS source_id, kind
        FROM mentioned_name CROSS JOIN mention_list ON name_id = mentioned_name.id
        CROSS JOIN json_each(mention_list.uses) AS uses CROSS JOIN json_each(uses.value) AS lines
        CROSS JOIN rule ON rule.id = json_extract(uses.value, '$[1]') WHERE lines.key > 1;
    DELETE FROM symbol;
    DELETE FROM import;
    DELETE FROM fact;
    DELETE FROM stale;
    DELETE FROM place;
    DELETE FROM meta WHERE key = 'complete';
    """,
)
_EDGES_OF_FILE = "source_id IN (SELECT id FROM node WHERE place_id = ?)"


class SqliteGraphWriter:
    """Implementation of `store.graph.GraphWriter` in a transaction of a project file."""

    def __init__(self, connection: sqlite3.Connection, errors: SqliteErrorTranslator, path: Path) -> None:
        self._connection = connection
        self._errors = errors
        self._path = path
        self._places: dict[str, int] = {}
        self._nodes: dict[int, dict[str, int]] = {}
        self._rules: dict[tuple[str, str, bool], int] = {}

    # --- ids

    def preload_path_ids(self) -> None:
        self._places = dict(self._connection.execute("SELECT path, id FROM place"))

    def _path_id(self, path: str) -> int:
        """Return the id of a path. A new path is inserted."""
        found = self._places.get(path)
        if found is None:
            row = self._connection.execute("SELECT id FROM place WHERE path = ?", (path,)).fetchone()
            found = self._places[path] = (
                row[0] if row else self._insert_row("INSERT INTO place (path) VALUES (?)", (path,))
            )
        return found

    def _insert_row(self, sql: str, values: tuple[str | int, ...]) -> int:
        """Insert a row and return its id."""
        return self._connection.execute(sql, values).lastrowid or 0

    def _node_id(self, path: str, key: str) -> int:
        """Return the id of a symbol, which may be only referenced and not defined. A new symbol is inserted."""
        place_id = self._path_id(path)
        nodes = self._nodes.get(place_id)
        if nodes is None:
            rows = self._connection.execute("SELECT key, id FROM node WHERE place_id = ?", (place_id,))
            nodes = self._nodes[place_id] = dict(rows)
        found = nodes.get(key)
        if found is None:
            found = nodes[key] = self._insert_row("INSERT INTO node (place_id, key) VALUES (?, ?)", (place_id, key))
        return found

    def _rule_id(self, kind: str, origin: str = "", *, certain: bool = False) -> int:
        """Return the id of a combination of edge kind, resolution rule and certainty. A new combination is inserted."""
        rule = (kind, origin, certain)
        if rule not in self._rules:
            sql = "SELECT id FROM rule WHERE kind = ? AND origin = ? AND certain = ?"
            row = self._connection.execute(sql, rule).fetchone()
            made = "INSERT INTO rule (kind, origin, certain) VALUES (?, ?, ?)"
            self._rules[rule] = row[0] if row else self._insert_row(made, rule)
        return self._rules[rule]

    def _name_id(self, name: str) -> int:
        """Return the id of a name that is mentioned (used on a value of unknown type). A new name is inserted."""
        row = self._connection.execute("SELECT id FROM mentioned_name WHERE name = ?", (name,)).fetchone()
        return row[0] if row else self._insert_row("INSERT INTO mentioned_name (name) VALUES (?)", (name,))

    # --- facts

    def write_facts(self, path: str, symbols: Sequence[Symbol], facts: FactRecord) -> None:
        with self._errors:
            place_id = self._path_id(path)
            known = self._connection.execute(
                "SELECT interface_hash, state, parts FROM fact WHERE place_id = ?", (place_id,)
            ).fetchone()
            added = find_added_names(known[2], facts.parts) if known is not None else None
            state = change_level(known, facts.interface_hash, only_added=added is not None)
            for name in added or ():
                self._mark_stale([f"{path}?{name}", f"{path}*"])
            self._connection.execute(
                """INSERT INTO fact VALUES (?, ?, ?, ?, ?, ?, ?, x'', 0, 0)
                   ON CONFLICT (place_id) DO UPDATE SET language = excluded.language, state = excluded.state,
                   interface_hash = excluded.interface_hash, interface = excluded.interface, body = excluded.body,
                   parts = excluded.parts""",
                (
                    place_id,
                    facts.language,
                    state,
                    facts.interface_hash,
                    facts.interface,
                    facts.body,
                    encode_parts(facts.parts),
                ),
            )
            if facts.announces_names and state >= INTERFACE_CHANGED:
                self._mark_names_stale(place_id, [symbol.name for symbol in symbols])
            self._replace_rows(
                "symbol",
                "place_id = ?",
                place_id,
                [
                    (self._node_id(path, s.key), place_id, s.name, s.kind, s.line, s.end_line, s.signature, s.doc)
                    for s in symbols
                ],
            )

    def remove_file(self, path: str) -> None:
        place_id = self._path_id(path)
        self._mark_names_stale(place_id, ())
        self._remove_uses(place_id)
        for table in ("symbol", "fact"):
            self._connection.execute(f"DELETE FROM {table} WHERE place_id = ?", (place_id,))

    def _remove_uses(self, place_id: int) -> None:
        """Delete the outgoing edges, mentions and imports of a file."""
        self._connection.execute(f"DELETE FROM edge_row WHERE {_EDGES_OF_FILE}", (place_id,))
        for table in ("mention_list", "import"):
            self._connection.execute(f"DELETE FROM {table} WHERE place_id = ?", (place_id,))

    def _mark_names_stale(self, place_id: int, names: Iterable[str]) -> None:
        """Record that the old and new names of a file changed, so that files that depend on these names are resolved
        again."""
        before = self._connection.execute("SELECT name FROM symbol WHERE place_id = ?", (place_id,))
        self._mark_stale([f"@{name}" for name in {*names, *(row[0] for row in before)}])

    def _mark_stale(self, dependencies: Iterable[str]) -> None:
        self._connection.executemany("INSERT OR IGNORE INTO stale VALUES (?)", [(name,) for name in dependencies])

    def stale_dependencies(self) -> list[str]:
        return [row[0] for row in self._connection.execute("SELECT name FROM stale")]

    def stale_files(self) -> list[StaleFile]:
        rows = self._connection.execute(
            "SELECT path, language, state FROM fact JOIN place ON place.id = place_id WHERE state > 0 ORDER BY path"
        )
        return [StaleFile(*row) for row in rows]

    def languages(self) -> dict[str, str]:
        return languages_of(self._connection)

    def dependants(self, dependencies: Iterable[str]) -> set[str]:
        wanted = set(map(checksum, dependencies))
        if not wanted:
            return set()
        found: set[str] = set()
        for path, blob in self._connection.execute(
            "SELECT path, dependencies FROM fact JOIN place ON place.id = place_id"
        ):
            if not wanted.isdisjoint(array("I", blob)):
                found.add(path)
        return found

    def depends_on(self, path: str, dependency: str) -> bool:
        row = self._connection.execute(
            "SELECT dependencies FROM fact WHERE place_id = ?", (self._path_id(path),)
        ).fetchone()
        return row is not None and checksum(dependency) in array("I", row[0])

    def facts(self) -> SqliteFacts:
        return SqliteFacts(self._connection)

    def fact_source(self) -> SqliteFactSource:
        return SqliteFactSource(self._path)

    def pending_facts(self, paths: Iterable[str]) -> PendingFacts:
        pending, facts = PendingFacts({}, {}), self.facts()
        for path in paths:
            pending.facts[path] = (facts.interface(path), facts.body(path))
            for name, key, kind in self._connection.execute(
                """SELECT symbol.name, node.key, symbol.kind FROM symbol JOIN node ON node.id = symbol.node_id
                   JOIN place ON place.id = symbol.place_id WHERE place.path = ? ORDER BY symbol.line""",
                (path,),
            ):
                pending.symbols.setdefault(name, []).append((path, key, kind))
        return pending

    # --- resolutions

    def write_resolution(self, resolution: ResolutionRecord) -> None:
        place_id = self._path_id(resolution.path)
        self._write_edges(place_id, resolution)
        imports = [(place_id, line, self._path_id(target), mode) for line, target, mode in resolution.imports]
        self._replace_rows("import", "place_id = ?", place_id, imports)
        dependencies = encode_dependencies(resolution.dependencies)
        self._connection.execute(
            """UPDATE fact SET state = 0, dependencies = ?, external_imports = ?, unresolved_imports = ?
               WHERE place_id = ?""",
            (dependencies, resolution.external_imports, resolution.unresolved_imports, place_id),
        )

    def _write_edges(self, place_id: int, resolution: ResolutionRecord) -> None:
        edges: list[tuple[int, int, int, int]] = []
        mentions: defaultdict[str, defaultdict[tuple[int, int], list[int]]] = defaultdict(lambda: defaultdict(list))
        for edge in resolution.edges:
            source_id = self._node_id(resolution.path, edge.source_key)
            if edge.target_path:
                target_id = self._node_id(edge.target_path, edge.target_key)
                rule_id = self._rule_id(edge.kind, edge.origin, certain=edge.certain)
                edges.append((source_id, edge.line, target_id, rule_id))
            else:
                mentions[edge.target_key][source_id, self._rule_id(edge.kind)].append(edge.line)
        self._replace_rows("edge_row", _EDGES_OF_FILE, place_id, sorted(set(edges)))
        lists = [
            (self._name_id(name), place_id, _pack_uses([[*use, *lines] for use, lines in uses.items()]))
            for name, uses in mentions.items()
        ]
        self._replace_rows("mention_list", "place_id = ?", place_id, lists)

    def _replace_rows(self, table: str, condition: str, place_id: int, rows: Sequence[tuple[object, ...]]) -> None:
        """Replace the rows of a file. Equal rows are not written, so that an edit changes few pages of the indexes."""
        cursor = self._connection.execute(f"SELECT * FROM {table} WHERE {condition}", (place_id,))
        columns = [column[0] for column in cursor.description]
        before, after = Counter(cursor.fetchall()), Counter(rows)
        outdated = (before - after).keys()
        is_row = " AND ".join(f"{column} = ?" for column in columns)
        self._connection.executemany(f"DELETE FROM {table} WHERE {is_row}", outdated)
        added = after - Counter({row: number for row, number in before.items() if row not in outdated})
        marks = ", ".join("?" * len(columns))
        self._connection.executemany(f"INSERT INTO {table} VALUES ({marks})", added.elements())

    def mark_all_resolved(self) -> None:
        self._connection.execute("UPDATE fact SET state = 0 WHERE state > 0")
        self._connection.execute("DELETE FROM stale")


def _pack_uses(uses: list[list[int]]) -> str:
    """Encode the uses of a mentioned name in a file as compact JSON."""
    return json.dumps(uses, separators=(",", ":"))


def languages_of(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the language of every file in the graph."""
    return dict(connection.execute("SELECT path, language FROM fact JOIN place ON place.id = place_id"))


def dependants_by_name(connection: sqlite3.Connection, dependencies: Iterable[str]) -> dict[str, list[str]]:
    """Return the files whose resolved references depend on each name. Checksum collisions may add a few other files."""
    wanted: dict[int, list[str]] = {}
    for name in dependencies:
        wanted.setdefault(checksum(name), []).append(name)
    found: dict[str, list[str]] = {}
    rows = connection.execute("SELECT path, dependencies FROM fact JOIN place ON place.id = place_id ORDER BY path")
    for path, blob in rows if wanted else ():
        for known in wanted.keys() & set(array("I", blob)):
            for name in wanted[known]:
                found.setdefault(name, []).append(path)
    return found


class SqliteFacts:
    """Implementation of `store.graph.FactReader` in a project file."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def interface(self, path: str) -> bytes | None:
        return self._read_column("interface", path)

    def body(self, path: str) -> bytes | None:
        return self._read_column("body", path)

    def _read_column(self, column: str, path: str) -> bytes | None:
        sql = f"SELECT {column} FROM fact JOIN place ON place.id = place_id WHERE path = ?"
        row = self._connection.execute(sql, (path,)).fetchone()
        return None if row is None else row[0]

    def symbols_named(self, name: str) -> list[tuple[str, str, str]]:
        return self._connection.execute(
            """SELECT place.path, node.key, symbol.kind FROM symbol JOIN node ON node.id = symbol.node_id
               JOIN place ON place.id = symbol.place_id WHERE symbol.name = ? COLLATE NOCASE AND symbol.name = ?
               ORDER BY place.path, symbol.line""",
            (name, name),
        ).fetchall()


@dataclass(frozen=True, slots=True)
class SqliteFactSource:
    """Implementation of `store.graph.FactSource` for the facts in a project file."""

    path: Path

    def reader(self) -> SqliteFacts:
        return SqliteFacts(connect_read_only(self.path))
