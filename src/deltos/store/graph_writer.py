"""Writes to the code graph within one transaction.

The ids of paths and symbols do not change when a file is indexed again, so that edges to the file remain valid. Facts
and resolutions of many files are buffered and written together, because PostgreSQL would need a dozen round trips for
each file.
"""

from __future__ import annotations

import json
from array import array
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from deltos.store.graph import (
    BODY_CHANGED,
    FILE_ADDED,
    INTERFACE_CHANGED,
    PendingFacts,
    StaleFile,
)
from deltos.store.stored_facts import (
    StoredFacts,
    StoredFactSource,
    checksum,
    dependencies_of_files,
    encode_dependencies,
    languages_of,
)
from deltos.store.valid_text import check_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from deltos.store.graph import EdgeRecord, FactReader, FactRecord, FactSource, ResolutionRecord
    from deltos.store.project_rows import ProjectRows
    from deltos.store.symbols import Symbol

# Maximum number of files, and maximum number of edges, in the buffer of changes.
_MAX_BUFFERED_FILES = 500
_MAX_BUFFERED_EDGES = 20_000
_DIGEST_BYTES = 8
_SYMBOL_COLUMNS = ("node_id", "place_id", "name", "kind", "line", "end_line", "signature", "doc")
_FACT_COLUMNS = ("language", "state", "interface_hash", "interface", "body", "parts")
_RESULT_COLUMNS = ("dependencies", "external_imports", "unresolved_imports")
_NO_RESULT = (encode_dependencies(()), 0, 0)
_OF_FILES = "place_id IN ?"
_EDGES_OF_FILES = "source_id IN (SELECT id FROM node WHERE place_id IN ?)"

_Rule = tuple[str, str, bool]  # kind of an edge, rule that resolved it, and certainty


class _KnownFacts(NamedTuple):
    """Stored facts of one file, for comparison with the new facts."""

    interface_hash: bytes
    state: int
    parts: bytes


@dataclass(slots=True)
class _KnownIds:
    """Cache of the ids and stale dependencies that were read or written in a transaction."""

    places: dict[str, int] = field(default_factory=dict)
    nodes: dict[int, dict[str, int]] = field(default_factory=dict)
    rules: dict[_Rule, int] = field(default_factory=dict)
    stale: set[str] | None = None


class GraphWriter:
    """Buffered changes of the code graph.

    The buffer contains changes of one kind (facts, removals or resolutions). It is written before a change of another
    kind is buffered, so that the order of the changes is kept.
    """

    def __init__(self, rows: ProjectRows) -> None:
        self.rows = rows
        self._ids = _KnownIds()
        self._facts: dict[str, tuple[Sequence[Symbol], FactRecord]] = {}
        self._removed: dict[str, None] = {}
        self._resolved: dict[str, ResolutionRecord] = {}
        self._buffered_edges = 0

    # --- buffer

    def write_facts(self, path: str, symbols: Sequence[Symbol], facts: FactRecord) -> None:
        """Replace the symbols and facts of a file, and record changed names on which other files depend."""
        with self.rows.translating_errors():
            check_text(path, facts.language, *facts.parts)
            for s in symbols:
                check_text(s.key, s.name, s.kind, s.signature, s.doc)
            if self._removed or self._resolved or path in self._facts or len(self._facts) >= _MAX_BUFFERED_FILES:
                self.rows.flush()
            self._facts[path] = symbols, facts

    def remove_file(self, path: str) -> None:
        """Delete all facts of a file. Edges from other files remain until those files are resolved again."""
        if self._facts or self._resolved:
            self.rows.flush()
        self._removed[path] = None

    def write_resolution(self, resolution: ResolutionRecord) -> None:
        """Replace the edges and imports of one file."""
        is_full = self._buffered_edges >= _MAX_BUFFERED_EDGES
        if self._facts or self._removed or resolution.path in self._resolved or is_full:
            with self.rows.translating_errors():
                self.rows.flush()
        self._resolved[resolution.path] = resolution
        self._buffered_edges += len(resolution.edges) + len(resolution.imports) + 1

    def discard(self) -> None:
        """Discard the buffer and the cached ids, which are invalid after a rollback."""
        self._ids = _KnownIds()
        self._clear_buffer()

    def _clear_buffer(self) -> None:
        self._facts, self._removed, self._resolved = {}, {}, {}
        self._buffered_edges = 0

    def flush(self) -> None:
        """Write the buffered changes."""
        if self._facts:
            self._write_buffered_facts()
        if self._removed:
            self._delete_removed()
        if self._resolved:
            self._write_buffered_resolutions()
        self._clear_buffer()

    # --- reading

    def preload_path_ids(self) -> None:
        """Preload the ids of all paths. This is faster than single lookups if most paths are needed."""
        self._ids.places = dict(self.rows.query("SELECT path, id FROM place"))

    def stale_dependencies(self) -> list[str]:
        """Return the names and files that changed since references were last resolved."""
        return [row[0] for row in self.rows.query("SELECT DISTINCT name FROM stale ORDER BY name")]

    def stale_files(self) -> list[StaleFile]:
        """Return the files whose facts changed since references were last resolved."""
        sql = "SELECT path, language, state FROM fact JOIN place ON place.id = place_id WHERE state > 0 ORDER BY path"
        return [StaleFile(*row) for row in self.rows.query(sql)]

    def languages(self) -> dict[str, str]:
        """Return the language of every file in the graph."""
        return languages_of(self.rows.query)

    def dependants(self, dependencies: Iterable[str]) -> set[str]:
        """Return the files whose resolved references depend on any of the given files or names.

        Checksum collisions may add a few other files.
        """
        wanted = set(map(checksum, dependencies))
        every = dependencies_of_files(self.rows.query) if wanted else ()
        return {path for path, known in every if not wanted.isdisjoint(known)}

    def depends_on(self, path: str, dependency: str) -> bool:
        """Whether the resolved references of a file depend on a name. Checksum collisions may cause false positives."""
        sql = "SELECT dependencies FROM fact JOIN place ON place.id = place_id WHERE place.path = ?"
        rows = self.rows.query(sql, path)
        return bool(rows) and checksum(dependency) in array("I", rows[0][0])

    def facts(self) -> FactReader:
        """Return a reader of the facts as this transaction sees them."""
        return StoredFacts(self.rows.query)

    def fact_source(self) -> FactSource:
        """Return a picklable source of the committed facts for other processes."""
        return StoredFactSource(self.rows.source())

    def pending_facts(self, paths: Iterable[str]) -> PendingFacts:
        """Return the uncommitted facts of the given files for worker processes."""
        wanted = list(paths)
        pending = PendingFacts(dict.fromkeys(wanted, (None, None)), {})
        sql = "SELECT path, interface, body FROM fact JOIN place ON place.id = place_id WHERE place.path IN ?"
        pending.facts.update({path: (interface, body) for path, interface, body in self.rows.query(sql, wanted)})
        sql = """SELECT symbol.name, path, node.key, symbol.kind FROM place
                 CROSS JOIN symbol ON symbol.place_id = place.id CROSS JOIN node ON node.id = symbol.node_id
                 WHERE place.path IN ? ORDER BY path, symbol.line, symbol.node_id"""
        for name, *symbol in self.rows.query(sql, wanted):
            pending.symbols.setdefault(name, []).append((symbol[0], symbol[1], symbol[2]))
        return pending

    # --- ids

    def _place_ids(self, paths: Iterable[str]) -> dict[str, int]:
        """Return the row id of each path. New paths are inserted first."""
        known = self._ids.places
        wanted = [path for path in dict.fromkeys(paths) if path not in known]
        if wanted:
            known.update(self.rows.query("SELECT path, id FROM place WHERE place.path IN ?", wanted))
        fresh = [path for path in wanted if path not in known]
        if fresh:
            known.update({path: n for n, path in enumerate(fresh, self.rows.allocate_ids("place", len(fresh)))})
            self.rows.insert("place", ("id", "path"), [(known[path], path) for path in fresh])
        return known

    def _node_ids(self, wanted: Mapping[int, Collection[str]]) -> dict[int, dict[str, int]]:
        """Return the ids of symbols by path id and key. New symbols are inserted."""
        known = self._ids.nodes
        unknown = [place_id for place_id in wanted if place_id not in known]
        if unknown:
            known.update({place_id: {} for place_id in unknown})
            for place_id, key, node_id in self.rows.query(
                "SELECT place_id, key, id FROM node WHERE place_id IN ?", unknown
            ):
                known[place_id][key] = node_id
        fresh = [
            (place_id, key)
            for place_id, keys in wanted.items()
            for key in dict.fromkeys(keys)
            if key not in known[place_id]
        ]
        if fresh:
            rows = [(n, *node) for n, node in enumerate(fresh, self.rows.allocate_ids("node", len(fresh)))]
            for node_id, place_id, key in rows:
                known[place_id][key] = node_id
            self.rows.insert("node", ("id", "place_id", "key"), rows)
        return known

    def _rule_ids(self, wanted: Iterable[_Rule]) -> dict[_Rule, int]:
        """Return the ids of combinations of edge kind, resolution rule and certainty. New combinations are inserted."""
        known = self._ids.rules
        if not known:
            rows = self.rows.query("SELECT kind, origin, certain, id FROM rule")
            known.update({(kind, origin, bool(certain)): rule_id for kind, origin, certain, rule_id in rows})
        fresh = [rule for rule in dict.fromkeys(wanted) if rule not in known]
        if fresh:
            known.update({rule: n for n, rule in enumerate(fresh, self.rows.allocate_ids("rule", len(fresh)))})
            rows = [(known[rule], *rule) for rule in fresh]
            self.rows.insert("rule", ("id", "kind", "origin", "certain"), rows)
        return known

    def _name_ids(self, names: Collection[str]) -> dict[str, int]:
        """Return the ids of names that are mentioned (used on a value of unknown type). New names are inserted."""
        sql = "SELECT name, id FROM mentioned_name WHERE mentioned_name.name IN ?"
        known: dict[str, int] = dict(self.rows.query(sql, list(names)))
        fresh = [name for name in names if name not in known]
        if fresh:
            known.update(
                {name: n for n, name in enumerate(fresh, self.rows.allocate_ids("mentioned_name", len(fresh)))}
            )
            self.rows.insert("mentioned_name", ("id", "name"), [(known[name], name) for name in fresh])
        return known

    # --- facts

    def _write_buffered_facts(self) -> None:
        """Write the buffered facts and symbols. Record changed names, so that files with uses are resolved again."""
        places = self._place_ids(self._facts)
        ids = {path: places[path] for path in self._facts}
        known = self._known_facts(list(ids.values()))
        states, stale, announcing = {}, list[str](), list[int]()
        for path, (symbols, facts) in self._facts.items():
            before = known.get(ids[path])
            added = find_added_names(before.parts, facts.parts) if before else None
            states[path] = change_level(before, facts.interface_hash, only_added=added is not None)
            stale += [name for part in added or () for name in (f"{path}?{part}", f"{path}*")]
            if facts.announces_names and states[path] >= INTERFACE_CHANGED:
                announcing.append(ids[path])
                stale += [f"@{symbol.name}" for symbol in symbols]
        self._mark_stale([*stale, *self._defined_names(announcing)])
        rows = [
            (ids[path], f.language, states[path], f.interface_hash, f.interface, f.body, encode_parts(f.parts))
            for path, (_, f) in self._facts.items()
        ]
        self.rows.update("fact", "place_id", _FACT_COLUMNS, [row for row in rows if row[0] in known])
        new = [(*row, *_NO_RESULT) for row in rows if row[0] not in known]
        self.rows.insert("fact", ("place_id", *_FACT_COLUMNS, *_RESULT_COLUMNS), new)
        nodes = self._node_ids({ids[path]: [s.key for s in symbols] for path, (symbols, _) in self._facts.items()})
        symbol_rows = [
            (nodes[ids[path]][s.key], ids[path], s.name, s.kind, s.line, s.end_line, s.signature, s.doc)
            for path, (symbols, _) in self._facts.items()
            for s in symbols
        ]
        self.rows.replace_rows("symbol", _SYMBOL_COLUMNS, _OF_FILES, list(ids.values()), symbol_rows)

    def _known_facts(self, place_ids: list[int]) -> dict[int, _KnownFacts]:
        sql = "SELECT place_id, interface_hash, state, parts FROM fact WHERE place_id IN ?"
        return {row[0]: _KnownFacts(*row[1:]) for row in self.rows.query(sql, place_ids)}

    def _delete_removed(self) -> None:
        """Delete the facts of the removed files, and record that the names defined in these files changed."""
        places = self._place_ids(self._removed)
        ids = [places[path] for path in self._removed]
        self._mark_stale(self._defined_names(ids))
        self.rows.execute(f"DELETE FROM edge_row WHERE {_EDGES_OF_FILES}", ids)
        for table in ("symbol", "mention_list", "import", "fact"):
            self.rows.execute(f"DELETE FROM {table} WHERE {_OF_FILES}", ids)

    def _defined_names(self, place_ids: list[int]) -> list[str]:
        """Return the names defined in files as dependencies, which begin with `@`."""
        rows = self.rows.query("SELECT DISTINCT name FROM symbol WHERE place_id IN ?", place_ids)
        return [f"@{row[0]}" for row in rows]

    def _mark_stale(self, dependencies: Iterable[str]) -> None:
        if self._ids.stale is None:
            self._ids.stale = {row[0] for row in self.rows.query("SELECT name FROM stale")}
        new = [name for name in dict.fromkeys(dependencies) if name not in self._ids.stale]
        self._ids.stale.update(new)
        self.rows.insert("stale", ("name",), [(name,) for name in new])

    # --- resolutions

    def _write_buffered_resolutions(self) -> None:
        """Write the buffered edges, mentions and imports."""
        every = self._resolved
        targets = [
            path
            for each in every.values()
            for path in (*(edge.target_path for edge in each.edges), *(target for _, target, _ in each.imports))
            if path
        ]
        places = self._place_ids([*every, *targets])
        ids = [places[path] for path in every]
        self._write_edges(places, ids)
        imports = [
            (places[path], line, places[target], mode)
            for path, each in every.items()
            for line, target, mode in each.imports
        ]
        self.rows.replace_rows("import", ("place_id", "line", "target_place_id", "mode"), _OF_FILES, ids, imports)
        results = [
            (places[path], 0, encode_dependencies(each.dependencies), each.external_imports, each.unresolved_imports)
            for path, each in every.items()
        ]
        self.rows.update("fact", "place_id", ("state", *_RESULT_COLUMNS), results)

    def _write_edges(self, places: Mapping[str, int], place_ids: Sequence[int]) -> None:
        wanted: dict[int, dict[str, None]] = {}
        rules: set[_Rule] = set()
        for path, each in self._resolved.items():
            for edge in each.edges:
                wanted.setdefault(places[path], {})[edge.source_key] = None
                if edge.target_path:
                    wanted.setdefault(places[edge.target_path], {})[edge.target_key] = None
                rules.add(_rule_of(edge))
        nodes, rule_ids = self._node_ids(wanted), self._rule_ids(sorted(rules))
        edges: set[tuple[int, int, int, int]] = set()
        mentions: defaultdict[tuple[str, int], defaultdict[tuple[int, int], list[int]]]
        mentions = defaultdict(lambda: defaultdict(list))
        for path, each in self._resolved.items():
            place_id = places[path]
            for edge in each.edges:
                source_id, rule_id = nodes[place_id][edge.source_key], rule_ids[_rule_of(edge)]
                if edge.target_path:
                    edges.add((source_id, edge.line, nodes[places[edge.target_path]][edge.target_key], rule_id))
                else:
                    mentions[edge.target_key, place_id][source_id, rule_id].append(edge.line)
        columns = ("source_id", "line", "target_id", "rule_id")
        self.rows.replace_rows("edge_row", columns, _EDGES_OF_FILES, place_ids, sorted(edges))
        names = self._name_ids(list(dict.fromkeys(name for name, _ in mentions)))
        lists = [
            (names[name], place_id, _pack_uses([[*use, *lines] for use, lines in uses.items()]))
            for (name, place_id), uses in mentions.items()
        ]
        self.rows.replace_rows("mention_list", ("name_id", "place_id", "uses"), _OF_FILES, place_ids, lists)

    def mark_all_resolved(self) -> None:
        """Mark every file as resolved, including files in languages whose references cannot be resolved."""
        self.rows.flush()
        self.rows.execute("UPDATE fact SET state = 0 WHERE state > 0")
        self.rows.execute("DELETE FROM stale WHERE TRUE")
        self._ids.stale = set()


def _rule_of(edge: EdgeRecord) -> _Rule:
    return (edge.kind, edge.origin, edge.certain) if edge.target_path else (edge.kind, "", False)


def _pack_uses(uses: list[list[int]]) -> str:
    """Encode the uses of a mentioned name in a file as compact JSON."""
    return json.dumps(uses, separators=(",", ":"))


def change_level(known: _KnownFacts | None, interface_hash: bytes, *, only_added: bool) -> int:
    """Return how much a file's facts changed since references were last resolved, as a constant such as BODY_CHANGED.

    `known` contains the stored facts, or None for a new file. `only_added` is true if definitions were added to the
    interface, but none was changed or removed.
    """
    if known is None:
        return FILE_ADDED
    changed = BODY_CHANGED if known.interface_hash == interface_hash or only_added else INTERFACE_CHANGED
    return max(changed, known.state)


def encode_parts(parts: Mapping[str, bytes]) -> bytes:
    """Encode names with digests of their definitions as one value: first all names, then all digests in that order."""
    return "\n".join(parts).encode() + b"\0" + b"".join(parts.values())


def find_added_names(stored: bytes, parts: Mapping[str, bytes]) -> list[str] | None:
    """Return the names that a file defines in addition to the stored names.

    Return None if the definition of a stored name was changed or removed, or if no names are stored.
    """
    names, _, digests = stored.partition(b"\0")
    if not names or not parts:
        return None
    before = {
        name: digests[position * _DIGEST_BYTES : (position + 1) * _DIGEST_BYTES]
        for position, name in enumerate(names.decode().split("\n"))
    }
    if any(parts.get(name) != digest for name, digest in before.items()):
        return None
    return [name for name in parts if name not in before]
