"""Protocols and row types of the code graph: facts of files, and the edges and imports resolved from the facts.

The facts of a file are the definitions, imports and uses of names that the parser found in the file. They consist of
the interface (definitions that other files may use) and the body (everything else). To resolve a file is to find the
definitions that the file uses, including definitions in other files.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from deltos.store.stored_facts import (
    StoredFacts,
    StoredFactSource,
    checksum,
    dependencies_of_files,
    languages_of,
)
from deltos.store.symbols import Symbol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.project_rows import ProjectRows

# Levels of change of a file since references were last resolved, in ascending order.
UNCHANGED, BODY_CHANGED, INTERFACE_CHANGED, FILE_ADDED = range(4)


@dataclass(frozen=True, slots=True)
class FactRecord:
    """The encoded facts of one file: the interface (definitions that other files may use) and the body.

    `parts` contains a digest of each definition in the interface, by name.
    """

    language: str
    interface_hash: bytes
    interface: bytes
    body: bytes
    parts: Mapping[str, bytes] = field(default_factory=dict)
    # If true, a change of the interface causes all files that use a name defined in this file to be resolved again.
    announces_names: bool = False


class EdgeRecord(Protocol):
    """A resolved reference or a mention.

    A mention is a use of a member, such as `run` in `x.run()`, of a value of unknown type.
    """

    @property
    def line(self) -> int:
        """Line of the reference."""

    @property
    def source_key(self) -> str:
        """Key of the enclosing definition, or an empty string at module level."""

    @property
    def target_path(self) -> str:
        """Path of the file that defines the target, or an empty string for a mention."""

    @property
    def target_key(self) -> str:
        """Key of the target definition, or the member name if this is a mention."""

    @property
    def kind(self) -> str:
        """Kind of reference, such as call, import or inherit."""

    @property
    def origin(self) -> str:
        """Name of the rule that resolved the reference."""

    @property
    def certain(self) -> bool:
        """Whether the reference was resolved with certainty."""


@dataclass(frozen=True, slots=True)
class ResolutionRecord:
    """The references and imports of one file after resolution, and the files and names on which the result depends."""

    path: str
    edges: Sequence[EdgeRecord]
    imports: Sequence[tuple[int, str, str]]
    dependencies: Collection[str]
    external_imports: int
    unresolved_imports: int


@dataclass(frozen=True, slots=True)
class StaleFile:
    """A file whose facts changed since references were last resolved. `state` is a constant such as BODY_CHANGED."""

    path: str
    language: str
    state: int


@dataclass(frozen=True, slots=True)
class PendingFacts:
    """Facts of files that a transaction has not committed yet, to be sent to worker processes.

    `facts` contains the encoded interface and body of each file by path, or None and None for a deleted file. `symbols`
    contains (path, key, kind) by name.
    """

    facts: dict[str, tuple[bytes | None, bytes | None]]
    symbols: dict[str, list[tuple[str, str, str]]]


@dataclass(frozen=True, slots=True)
class ReferenceRow:
    """One reference to a symbol. `source_key` is the key of the enclosing definition, or empty at module level."""

    path: str
    line: int
    source_key: str
    kind: str
    origin: str
    certain: bool
    source_id: int
    target_id: int


@dataclass(frozen=True, slots=True)
class ImportRow:
    """An import of one file by another. `mode` is `runtime`, `type` or `deferred`."""

    path: str
    target: str
    line: int
    mode: str


@dataclass(frozen=True, slots=True)
class Links:
    """Distinct (source, target) pairs of references, with kind and certainty.

    `is_partial` is true if the limit on references was reached, so that pairs may be missing.
    """

    pairs: dict[tuple[int, int], tuple[str, bool]]
    is_partial: bool


@dataclass(frozen=True, slots=True)
class GraphCounts:
    """Numbers of files, symbols, edges and imports in the graph.

    `possible` is the number of uncertain references. `imports` is the number of lines that import files of the project.
    """

    files_by_language: dict[str, tuple[int, int]]
    symbols_by_kind: dict[str, int]
    edges_by_kind: dict[str, int]
    possible: int
    imports: int
    external_imports: int
    unresolved_imports: int


class FactReader(Protocol):
    """Reader of the encoded facts of files, for use in one process. For the facts of a file, see `FactRecord`."""

    def interface(self, path: str) -> bytes | None:
        """Return the encoded definitions of a file that other files may use, or None for an unknown file."""

    def body(self, path: str) -> bytes | None:
        """Return the encoded facts of a file that other files do not use, or None for an unknown file."""

    def symbols_named(self, name: str) -> list[tuple[str, str, str]]:
        """Return the path, key and kind of every symbol with this name."""


class FactSource(Protocol):
    """Location of the committed facts. It can be pickled, so that another process can read the facts."""

    def reader(self) -> FactReader:
        """Return a reader of the facts for this process."""


class FileImports(Protocol):
    """Imports between files."""

    def imports_of(self, paths: Sequence[str]) -> dict[str, set[str]]:
        """Return the project files that each given file imports. Files without imports are omitted."""


# CROSS JOIN fixes the join order: SQLite finds the edges by source or target first, and then reads the rule and the
# source of each edge.
_EDGE_TABLES = "edge_row CROSS JOIN rule ON rule.id = rule_id CROSS JOIN node ON node.id = source_id"
_SYMBOL_TABLES = "symbol JOIN node ON node.id = symbol.node_id JOIN place ON place.id = symbol.place_id"
_SELECT_SYMBOL = f"""SELECT node.key, symbol.name, symbol.kind, symbol.line, symbol.end_line, symbol.signature,
                     symbol.doc, place.path, symbol.node_id FROM {_SYMBOL_TABLES}"""
_SELECT_REFERENCE = f"""SELECT place.path, line, node.key, kind, origin, certain, source_id, target_id
                        FROM {_EDGE_TABLES} CROSS JOIN place ON place.id = node.place_id"""
# `uses` is a JSON list of [source, rule, line, …], one for each source and rule. The query counts the line numbers
# without parsing the JSON: n inner lists with m numbers in total contain n + 1 opening brackets and m - 1 commas.
_COUNT_MENTIONS = """SELECT coalesce(SUM(length(uses) - length(replace(uses, ',', '')) + 1
                     - 2 * (length(uses) - length(replace(uses, '[', '')) - 1)), 0) FROM mention_list"""


class Graph:
    """Queries on the graph of one project: symbols by name or position, references, imports and counts."""

    def __init__(self, rows: ProjectRows) -> None:
        self._rows = rows

    def snapshot(self) -> AbstractContextManager[object]:
        """Return a context manager within which all reads see the same state."""
        return self._rows.snapshot()

    # --- facts

    def languages(self) -> dict[str, str]:
        """Return the language of every file in the graph."""
        return languages_of(self._rows.query)

    def facts(self) -> FactReader:
        """Return a reader of the facts as this thread sees them."""
        return StoredFacts(self._rows.query)

    def fact_source(self) -> FactSource:
        """Return a picklable source of the facts for other processes."""
        return StoredFactSource(self._rows.source())

    def dependants_by_name(self, dependencies: Iterable[str]) -> dict[str, list[str]]:
        """Return the files whose resolved references depend on each name. Names without such files are omitted.

        Checksum collisions may add a few other files.
        """
        wanted: dict[int, list[str]] = {}
        for name in dependencies:
            wanted.setdefault(checksum(name), []).append(name)
        found: dict[str, list[str]] = {}
        for path, known in dependencies_of_files(self._rows.query) if wanted else ():
            for name in chain.from_iterable(wanted[number] for number in wanted.keys() & known):
                found.setdefault(name, []).append(path)
        return found

    # --- symbols

    def symbols_named(self, name: str, *, any_case: bool = False) -> list[Symbol]:
        """Return all definitions with this name."""
        condition = "symbol.name COLLATE NOCASE IN ? ORDER BY place.path, symbol.line, symbol.node_id"
        found = self._symbols(condition, [name])
        return [symbol for symbol in found if any_case or symbol.name == name]

    def symbols_in(self, path: str) -> list[Symbol]:
        """Return all definitions of a file from top to bottom."""
        return self._symbols("place.path = ? ORDER BY symbol.line, symbol.node_id", path)

    def symbols(self, node_ids: Iterable[int]) -> dict[int, Symbol]:
        """Return definitions by node id. Nodes that the project does not define are omitted."""
        found = self._symbols("symbol.node_id IN ? ORDER BY symbol.node_id", _distinct(node_ids))
        return {symbol.node_id: symbol for symbol in found}

    def _symbols(self, condition: str, *values: object) -> list[Symbol]:
        return [Symbol(*row) for row in self._rows.query(f"{_SELECT_SYMBOL} WHERE {condition}", *values)]

    def symbols_at(self, locations: Iterable[tuple[str, str]]) -> list[Symbol]:
        """Return definitions by (path, key). Keys without a definition are omitted."""
        wanted = list(dict.fromkeys(locations))
        sql = """SELECT path, key, node.id FROM place CROSS JOIN node ON node.place_id = place.id
                 WHERE place.path IN ?"""
        ids = {(path, key): node_id for path, key, node_id in self._rows.query(sql, _distinct(p for p, _ in wanted))}
        found = self.symbols(ids[location] for location in wanted if location in ids)
        return [found[ids[location]] for location in wanted if ids.get(location) in found]

    def defined_names(self) -> list[str]:
        """Return every distinct defined name."""
        return [row[0] for row in self._rows.query("SELECT DISTINCT name FROM symbol ORDER BY name")]

    def paths(self) -> list[str]:
        """Return the paths of all files in the graph."""
        sql = "SELECT path FROM fact JOIN place ON place.id = place_id ORDER BY path"
        return [row[0] for row in self._rows.query(sql)]

    def module_node(self, path: str) -> int | None:
        """Return the id of the node that represents a file as a module, or None if the graph has no such node."""
        sql = "SELECT node.id FROM node JOIN place ON place.id = place_id WHERE place.path = ? AND key = ''"
        rows = self._rows.query(sql, path)
        return rows[0][0] if rows else None

    def nodes(self, node_ids: Iterable[int]) -> dict[int, tuple[str, str]]:
        """Return the path and key of each node, including nodes without a definition."""
        # There is no join of both tables, because PostgreSQL without statistics would read the nodes of all files.
        nodes = self._rows.query("SELECT id, place_id, key FROM node WHERE id IN ? ORDER BY id", _distinct(node_ids))
        places = _distinct(place_id for _, place_id, _ in nodes)
        paths: dict[int, str] = dict(self._rows.query("SELECT id, path FROM place WHERE id IN ?", places))
        return {node_id: (paths[place_id], key) for node_id, place_id, key in nodes}

    # --- edges

    def references(self, node_ids: Iterable[int]) -> list[ReferenceRow]:
        """Return every reference to any of the symbols, ordered by file and line."""
        found = self._references("target_id IN ?", _distinct(node_ids))
        return sorted(found, key=lambda row: (row.path, row.line))

    def outgoing_references(self, path: str, node_ids: Sequence[int]) -> list[ReferenceRow]:
        """Return all references within the given definitions of one file."""
        found = self._references("source_id IN ? AND place.path = ?", _distinct(node_ids), path)
        return sorted(found, key=lambda row: row.line)

    def _references(self, condition: str, *values: object) -> list[ReferenceRow]:
        rows = self._rows.query(f"{_SELECT_REFERENCE} WHERE {condition}", *values)
        return [
            ReferenceRow(path, line, key, kind, origin, bool(certain), source_id, target_id)
            for path, line, key, kind, origin, certain, source_id, target_id in rows
        ]

    def overridden_ids(self, node_ids: Iterable[int]) -> set[int]:
        """Return the node ids of the symbols that the definitions override or redeclare."""
        return self._overrides(node_ids, "target_id", "source_id")

    def overriding_ids(self, node_ids: Iterable[int]) -> set[int]:
        """Return the node ids of the symbols that override or redeclare the definitions."""
        return self._overrides(node_ids, "source_id", "target_id")

    def _overrides(self, node_ids: Iterable[int], wanted: str, given: str) -> set[int]:
        """Return the nodes at one end of override or redeclaration edges, given the nodes at the other end."""
        sql = f"""SELECT {wanted} FROM {_EDGE_TABLES} WHERE {given} IN ? AND node.key <> '' AND certain
                  AND origin IN ('override', 'merge')"""
        return {row[0] for row in self._rows.query(sql, _distinct(node_ids))}

    def subclasses(self, node_ids: Iterable[int]) -> set[int]:
        """Return the node ids of the direct subclasses of the definitions. Uncertain subclasses are omitted."""
        sql = """SELECT source_id FROM edge_row CROSS JOIN rule ON rule.id = rule_id
                 WHERE target_id IN ? AND kind = 'inherit' AND certain"""
        return {row[0] for row in self._rows.query(sql, _distinct(node_ids))}

    def redeclared_by_line(self, path: str, line: int) -> list[Symbol]:
        """Return the definitions that a line declares again, such as the function whose overload is on this line."""
        sql = """SELECT target_id FROM place CROSS JOIN node ON node.place_id = place.id
                 CROSS JOIN edge_row ON source_id = node.id CROSS JOIN rule ON rule.id = rule_id
                 WHERE place.path = ? AND edge_row.line = ? AND origin = 'merge'"""
        return list(self.symbols(row[0] for row in self._rows.query(sql, path, line)).values())

    def reference_counts(self, node_ids: Iterable[int]) -> dict[int, int]:
        """Return the number of references to each symbol. Uncertain references are not counted."""
        sql = """SELECT target_id, COUNT(*) FROM edge_row CROSS JOIN rule ON rule.id = rule_id
                 WHERE target_id IN ? AND certain GROUP BY 1"""
        return dict(self._rows.query(sql, _distinct(node_ids)))

    def referring_file_counts(self, *, limit: int, below: str = "") -> dict[int, int]:
        """Return the number of other files that refer to a symbol, for the most widely used symbols, most used first.

        `below` limits the symbols to a file or a folder.
        """
        # "0" is the character after "/", so the range contains exactly the paths below the folder.
        is_below = "AND (place.path IN ? OR place.path >= ? AND place.path < ?)" if below else ""
        sql = f"""SELECT target_id, COUNT(DISTINCT node.place_id) FROM {_EDGE_TABLES}
                  CROSS JOIN node AS target ON target.id = target_id CROSS JOIN place ON place.id = target.place_id
                  WHERE certain AND node.place_id <> target.place_id AND target.key <> '' {is_below}
                  GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?"""
        return dict(self._rows.query(sql, *([[below], f"{below}/", f"{below}0"] if below else []), limit))

    def mentions(self, name: str) -> list[ReferenceRow]:
        """Return the uses of a member with this name, such as `x.name`, where the type of `x` is unknown."""
        sql = """SELECT place.path, uses FROM mentioned_name CROSS JOIN mention_list ON name_id = mentioned_name.id
                 CROSS JOIN place ON place.id = mention_list.place_id WHERE mentioned_name.name = ?"""
        uses = [(path, *use) for path, packed in self._rows.query(sql, name) for use in json.loads(packed)]
        sources = _distinct(source for _, source, *_ in uses)
        keys: dict[int, str] = dict(self._rows.query("SELECT id, key FROM node WHERE id IN ?", sources))
        kinds: dict[int, str] = dict(self._rows.query("SELECT id, kind FROM rule")) if uses else {}
        found = [
            ReferenceRow(path, line, keys[source], kinds[rule], "unknown receiver", False, source, 0)
            for path, source, rule, *lines in uses
            for line in lines
        ]
        return sorted(found, key=lambda row: (row.path, row.line, row.source_id))

    # --- queries on the whole graph

    def imports(self) -> list[ImportRow]:
        """Return every import of one project file by another."""
        sql = """SELECT source.path, target.path, import.line, import.mode FROM import
                 JOIN place AS source ON source.id = import.place_id
                 JOIN place AS target ON target.id = import.target_place_id
                 ORDER BY source.path, import.line, target.path"""
        return [ImportRow(*row) for row in self._rows.query(sql)]

    def imports_of(self, paths: Sequence[str]) -> dict[str, set[str]]:
        """Return the project files that each given file imports. Files without imports are omitted."""
        found: dict[str, set[str]] = {}
        sql = """SELECT source.path, target.path FROM place AS source
                 JOIN import ON import.place_id = source.id
                 JOIN place AS target ON target.id = import.target_place_id
                 WHERE source.path IN ? AND target.id <> source.id ORDER BY source.path"""
        for path, target in self._rows.query(sql, _distinct(paths)):
            found.setdefault(path, set()).add(target)
        return found

    def most_referenced_symbols(self, *, limit: int) -> list[Symbol]:
        """Return the symbols with the most references, most used first, without signature and documentation."""
        sql = f"""SELECT node.key, symbol.name, symbol.kind, symbol.line, symbol.end_line, '', '', place.path, node.id
                  FROM {_SYMBOL_TABLES}
                  LEFT JOIN (SELECT target_id, COUNT(*) AS uses FROM edge_row GROUP BY 1) AS used ON target_id = node.id
                  ORDER BY coalesce(uses, 0) DESC, place.path, symbol.line, node.key LIMIT ?"""
        return [Symbol(*row) for row in self._rows.query(sql, limit)]

    def links(self, *, limit: int) -> Links:
        """Return the distinct (source, target) node pairs among the first `limit` references."""
        pairs: dict[tuple[int, int], tuple[str, bool]] = {}
        sql = """SELECT source_id, target_id, kind, certain FROM edge_row CROSS JOIN rule ON rule.id = rule_id
                 ORDER BY source_id, line, target_id LIMIT ?"""
        rows = self._rows.query(sql, limit + 1)
        for source, target, kind, certain in rows[:limit]:  # grouping in SQL takes twice as long
            if source != target and (certain or (source, target) not in pairs):
                pairs[source, target] = (kind, bool(certain))
        return Links(pairs, is_partial=len(rows) > limit)

    def counts(self) -> GraphCounts:
        """Return the numbers of files, symbols, edges and imports."""
        query = self._rows.query
        with self._rows.snapshot():
            languages = query(
                """SELECT coalesce(nullif(language, ''), 'text'), COUNT(*), SUM(lines) FROM file
                   GROUP BY 1 ORDER BY 3 DESC, 1"""
            )
            ((external, unresolved),) = query(
                "SELECT coalesce(SUM(external_imports), 0), coalesce(SUM(unresolved_imports), 0) FROM fact"
            )
            kinds = "SELECT kind, COUNT(*) FROM symbol GROUP BY kind ORDER BY 2 DESC, 1"
            return GraphCounts(
                files_by_language={row[0]: (row[1], int(row[2])) for row in languages},
                symbols_by_kind=dict(query(kinds)),
                edges_by_kind=self._edges_by_kind("certain"),
                possible=self._number(_COUNT_MENTIONS) + sum(self._edges_by_kind("NOT certain").values()),
                imports=self._number("SELECT COUNT(*) FROM (SELECT DISTINCT place_id, line FROM import) AS lines"),
                external_imports=int(external),
                unresolved_imports=int(unresolved),
            )

    def _edges_by_kind(self, condition: str) -> dict[str, int]:
        sql = f"""SELECT kind, SUM(number) FROM (SELECT rule_id, COUNT(*) AS number FROM edge_row GROUP BY 1) AS counted
                  JOIN rule ON rule.id = rule_id WHERE {condition} GROUP BY 1 ORDER BY 2 DESC, 1"""
        return {kind: int(number) for kind, number in self._rows.query(sql)}

    def symbol_count(self) -> int:
        """Return the number of symbols."""
        return self._number("SELECT COUNT(*) FROM symbol")

    def _number(self, sql: str) -> int:
        return int(self._rows.query(sql)[0][0])


def _distinct(values: Iterable[int | str]) -> list[int | str]:
    return list(dict.fromkeys(values))
