"""Code graph in PostgreSQL: tables of symbols, edges, imports and facts, and all writes. Queries are in `graph_read`.

The ids of paths and symbols do not change when a file is indexed again, so that edges to the file remain valid. Facts
and resolutions of many files are buffered and written together, because writing each file separately would need a dozen
round trips.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from deltos.store.fact_states import change_level, checksum, encode_dependencies, encode_parts, find_added_names
from deltos.store.graph import INTERFACE_CHANGED, FactRecord, PendingFacts, ResolutionRecord, StaleFile
from deltos.store.migration import Migration
from deltos.store.postgres.database import PostgresDatabase
from deltos.store.postgres.partitions import partitioned_table_sql
from deltos.store.postgres.rows import (
    check_text,
    copy_rows,
    indexed_lower_prefix,
    indexed_prefix,
    is_one_of,
    is_one_of_ignoring_case,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from deltos.store.postgres.database import Connection
    from deltos.store.postgres.project_tables import IdAllocator, ProjectTables
    from deltos.store.symbols import Symbol

GRAPH_001 = Migration(
    "graph-001-symbols-and-edges",
    partitioned_table_sql("place", 'id bigint NOT NULL, path text COLLATE "C" NOT NULL, PRIMARY KEY (project, id)')
    + f"CREATE INDEX place_by_path ON place (project, {indexed_prefix('path')});"
    + partitioned_table_sql(
        "node",
        'id bigint NOT NULL, place_id bigint NOT NULL, key text COLLATE "C" NOT NULL, PRIMARY KEY (project, id)',
    )
    + "CREATE INDEX node_by_place ON node (project, place_id);"
    + partitioned_table_sql(
        "symbol",
        """node_id bigint NOT NULL,
        place_id bigint NOT NULL,
        name text COLLATE "C" NOT NULL,
        kind text COLLATE "C" NOT NULL,
        line integer NOT NULL,
        end_line integer NOT NULL,
        signature text NOT NULL,
        doc text NOT NULL,
        PRIMARY KEY (project, node_id)""",
    )
    + f"CREATE INDEX symbol_by_name ON symbol (project, {indexed_lower_prefix('name')});"
    + "CREATE INDEX symbol_by_place ON symbol (project, place_id, line);"
    + partitioned_table_sql(
        "edge",
        """id bigint NOT NULL,
        place_id bigint NOT NULL,
        line integer NOT NULL,
        source_id bigint NOT NULL,
        target_id bigint NOT NULL,
        kind text COLLATE "C" NOT NULL,
        origin text COLLATE "C" NOT NULL,
        certain boolean NOT NULL,
        PRIMARY KEY (project, id)""",
    )
    + "CREATE INDEX edge_by_target ON edge (project, target_id);"
    + "CREATE INDEX edge_by_place ON edge (project, place_id, source_id);"
    + partitioned_table_sql(
        "mention",
        """name text COLLATE "C" NOT NULL,
        place_id bigint NOT NULL,
        line integer NOT NULL,
        source_id bigint NOT NULL,
        kind text COLLATE "C" NOT NULL""",
    )
    + f"CREATE INDEX mention_by_name ON mention (project, {indexed_prefix('name')});"
    + "CREATE INDEX mention_by_place ON mention (project, place_id);"
    + partitioned_table_sql(
        "import",
        """place_id bigint NOT NULL,
        line integer NOT NULL,
        target_place_id bigint NOT NULL,
        mode text COLLATE "C" NOT NULL""",
    )
    + "CREATE INDEX import_by_place ON import (project, place_id);"
    + partitioned_table_sql(
        "fact",
        """place_id bigint NOT NULL,
        language text COLLATE "C" NOT NULL,
        state smallint NOT NULL,
        interface_hash bytea NOT NULL,
        interface bytea NOT NULL,
        body bytea NOT NULL,
        parts bytea NOT NULL,
        dependencies bytea NOT NULL,
        external_imports integer NOT NULL,
        unresolved_imports integer NOT NULL,
        PRIMARY KEY (project, place_id)""",
    )
    + partitioned_table_sql("stale", 'name text COLLATE "C" NOT NULL')
    + "CREATE INDEX stale_by_project ON stale (project);",
)
# Maximum number of files, and maximum number of edges, in the buffer of changes.
_MAX_BUFFERED_FILES = 500
_MAX_BUFFERED_EDGES = 20_000
_NO_DEPENDENCIES = encode_dependencies(())
_FACT_WITH_PATH = "fact JOIN place ON place.project = fact.project AND place.id = place_id"


class _FactRow(NamedTuple):
    """Symbols and facts (see `store.graph.FactRecord`) of one file, to be written."""

    symbols: Sequence[Symbol]
    facts: FactRecord
    parts: bytes


class _StoredFact(NamedTuple):
    """Stored digests and change level of the facts of one file, to be compared with the new facts."""

    interface_hash: bytes
    state: int
    parts: bytes


@dataclass(slots=True)
class _GraphIds:
    """Cache of the ids of paths and symbols that were looked up or created in a transaction."""

    places: dict[str, int] = field(default_factory=dict)
    nodes: dict[int, dict[str, int]] = field(default_factory=dict)


class GraphChanges:
    """Buffered graph changes of a transaction.

    The buffer contains changes of one kind (facts, removals or resolutions). It is written before a change of another
    kind is buffered, so that the order of the changes is kept.
    """

    def __init__(self, tables: ProjectTables, connection: Connection, ids: IdAllocator) -> None:
        self._key = tables.key
        self._connection = connection
        self._new_ids = ids
        self._known = _GraphIds()
        self._facts: dict[str, _FactRow] = {}
        self._removed: dict[str, None] = {}
        self._resolved: dict[str, ResolutionRecord] = {}
        self._buffered_edges = 0

    # --- buffering

    def write_facts(self, path: str, symbols: Sequence[Symbol], facts: FactRecord) -> None:
        """Buffer new symbols and facts of a file."""
        check_text(path, facts.language)
        for s in symbols:
            check_text(s.key, s.name, s.kind, s.signature, s.doc)
        if self._removed or self._resolved or path in self._facts or len(self._facts) >= _MAX_BUFFERED_FILES:
            self.flush()
        self._facts[path] = _FactRow(symbols, facts, encode_parts(facts.parts))

    def remove_file(self, path: str) -> None:
        """Buffer the removal of a file."""
        if self._facts or self._resolved:
            self.flush()
        self._removed[path] = None

    def write_resolution(self, resolution: ResolutionRecord) -> None:
        """Buffer new edges and imports of a file."""
        if (
            self._facts
            or self._removed
            or resolution.path in self._resolved
            or self._buffered_edges >= _MAX_BUFFERED_EDGES
        ):
            self.flush()
        self._resolved[resolution.path] = resolution
        self._buffered_edges += len(resolution.edges) + len(resolution.imports) + 1

    def clear(self) -> None:
        """Discard the buffer and the cached ids, which are invalid after a rollback."""
        self._known = _GraphIds()
        self._clear_buffer()

    def _clear_buffer(self) -> None:
        self._facts.clear()
        self._removed.clear()
        self._resolved.clear()
        self._buffered_edges = 0

    def flush(self) -> None:
        """Write the buffered changes."""
        if self._facts:
            self._flush_facts()
        if self._removed:
            self._flush_removed()
        if self._resolved:
            self._flush_resolved()
        self._clear_buffer()

    # --- ids

    def preload_path_ids(self) -> None:
        """Load the ids of all paths."""
        rows = self._connection.execute("SELECT path, id FROM place WHERE project = %s", (self._key,))
        self._known.places = dict(rows.fetchall())

    def _path_ids(self, paths: Collection[str]) -> dict[str, int]:
        """Return the ids of paths by path. New paths are inserted."""
        known = self._known.places
        wanted = [path for path in dict.fromkeys(paths) if path not in known]
        if wanted:
            named, given = is_one_of("path", wanted)
            sql = f"SELECT path, id FROM place WHERE project = %s AND {named}"
            known.update(self._connection.execute(sql, (self._key, *given)).fetchall())
        fresh = [path for path in wanted if path not in known]
        if fresh:
            first = self._new_ids.allocate("place", len(fresh))
            known.update({path: n for n, path in enumerate(fresh, first)})
            rows = ((self._key, known[path], path) for path in fresh)
            copy_rows(self._connection, "place (project, id, path)", ("int8", "int8", "text"), rows)
        return known

    def _node_ids(self, wanted: Mapping[int, Collection[str]]) -> dict[int, dict[str, int]]:
        """Return the ids of symbols by path id and key. New symbols are inserted."""
        known = self._known.nodes
        unknown = [place_id for place_id in wanted if place_id not in known]
        if unknown:
            known.update({place_id: {} for place_id in unknown})
            sql = "SELECT place_id, key, id FROM node WHERE project = %s AND place_id = ANY(%s)"
            for place_id, key, node_id in self._connection.execute(sql, (self._key, unknown)).fetchall():
                known[place_id][key] = node_id
        fresh = [
            (place_id, key)
            for place_id, keys in wanted.items()
            for key in dict.fromkeys(keys)
            if key not in known[place_id]
        ]
        if fresh:
            first = self._new_ids.allocate("node", len(fresh))
            for n, (place_id, key) in enumerate(fresh, first):
                known[place_id][key] = n
            rows = ((self._key, n, *node) for n, node in enumerate(fresh, first))
            types = ("int8", "int8", "int8", "text")
            copy_rows(self._connection, "node (project, id, place_id, key)", types, rows)
        return known

    # --- facts

    def _flush_facts(self) -> None:
        """Write the buffered facts and symbols. Record changed names, so that files with uses are resolved again."""
        places = self._path_ids(self._facts)
        ids = {path: places[path] for path in self._facts}
        known = self._known_facts(list(ids.values()))
        states, stale, announcing = {}, list[str](), list[str]()
        for path, file in self._facts.items():
            before = known.get(ids[path])
            added = find_added_names(before.parts, file.facts.parts) if before else None
            states[path] = change_level(before, file.facts.interface_hash, only_added=added is not None)
            stale += [name for part in added or () for name in (f"{path}?{part}", f"{path}*")]
            if file.facts.announces_names and states[path] >= INTERFACE_CHANGED:
                announcing.append(path)
                stale += [f"@{symbol.name}" for symbol in file.symbols]
        self._mark_stale([*stale, *self._defined_names([ids[path] for path in announcing])])
        self._write_facts(ids, states, known)
        self._write_symbols(ids)

    def _known_facts(self, place_ids: list[int]) -> dict[int, _StoredFact]:
        rows = self._connection.execute(
            "SELECT place_id, interface_hash, state, parts FROM fact WHERE project = %s AND place_id = ANY(%s)",
            (self._key, place_ids),
            binary=True,
        )
        return {row[0]: _StoredFact(*row[1:]) for row in rows}

    def _write_facts(self, ids: Mapping[str, int], states: Mapping[str, int], known: Mapping[int, _StoredFact]) -> None:
        kept: dict[int, tuple[bytes, int, int]] = {}
        if known:
            for place_id, *rest in self._connection.execute(
                """DELETE FROM fact WHERE project = %s AND place_id = ANY(%s)
                   RETURNING place_id, dependencies, external_imports, unresolved_imports""",
                (self._key, list(known)),
                binary=True,
            ):
                kept[place_id] = (rest[0], rest[1], rest[2])
        none = (_NO_DEPENDENCIES, 0, 0)
        copy_rows(
            self._connection,
            """fact (project, place_id, language, state, interface_hash, interface, body, parts, dependencies,
               external_imports, unresolved_imports)""",
            ("int8", "int8", "text", "int2", *("bytea",) * 5, "int4", "int4"),
            (
                (self._key, place_id, f.language, states[path], f.interface_hash, f.interface, f.body, parts, *rest)
                for path, (_, f, parts) in self._facts.items()
                for place_id, rest in ((ids[path], kept.get(ids[path], none)),)
            ),
        )

    def _write_symbols(self, ids: Mapping[str, int]) -> None:
        self._connection.execute(
            "DELETE FROM symbol WHERE project = %s AND place_id = ANY(%s)", (self._key, list(ids.values()))
        )
        nodes = self._node_ids({ids[path]: [s.key for s in file.symbols] for path, file in self._facts.items()})
        copy_rows(
            self._connection,
            "symbol (project, node_id, place_id, name, kind, line, end_line, signature, doc)",
            ("int8", "int8", "int8", "text", "text", "int4", "int4", "text", "text"),
            (
                (self._key, nodes[ids[path]][s.key], ids[path], s.name, s.kind, s.line, s.end_line, s.signature, s.doc)
                for path, file in self._facts.items()
                for s in file.symbols
            ),
        )

    def _flush_removed(self) -> None:
        """Delete the facts of the removed files, and record that the names defined in these files changed."""
        places = self._path_ids(self._removed)
        ids = [places[path] for path in self._removed]
        self._mark_stale(self._defined_names(ids))
        for table in ("symbol", "edge", "mention", "import", "fact"):
            self._connection.execute(f"DELETE FROM {table} WHERE project = %s AND place_id = ANY(%s)", (self._key, ids))

    def _defined_names(self, place_ids: list[int]) -> list[str]:
        """Return the names defined in files, in the form in which dependencies are stored."""
        rows = self._connection.execute(
            "SELECT DISTINCT name FROM symbol WHERE project = %s AND place_id = ANY(%s)", (self._key, place_ids)
        )
        return [f"@{row[0]}" for row in rows]

    def _mark_stale(self, dependencies: Iterable[str]) -> None:
        rows = [(self._key, name) for name in dict.fromkeys(dependencies)]
        if rows:
            copy_rows(self._connection, "stale (project, name)", ("int8", "text"), rows)

    # --- resolutions

    def _flush_resolved(self) -> None:
        """Write the buffered edges, mentions and imports."""
        every = self._resolved
        places = self._path_ids(
            [
                *every,
                *(edge.target_path for each in every.values() for edge in each.edges if edge.target_path),
                *(target for each in every.values() for _, target, _ in each.imports),
            ]
        )
        ids = [places[path] for path in every]
        for table in ("edge", "mention", "import"):
            self._connection.execute(f"DELETE FROM {table} WHERE project = %s AND place_id = ANY(%s)", (self._key, ids))
        self._write_edges(places)
        copy_rows(
            self._connection,
            "import (project, place_id, line, target_place_id, mode)",
            ("int8", "int8", "int4", "int8", "text"),
            (
                (self._key, places[path], line, places[target], mode)
                for path, each in every.items()
                for line, target, mode in each.imports
            ),
        )
        self._connection.execute(
            """UPDATE fact SET state = 0, dependencies = given.dependencies, external_imports = given.external,
               unresolved_imports = given.unresolved
               FROM unnest(%b::bigint[], %b::bytea[], %b::int[], %b::int[])
               AS given (place_id, dependencies, external, unresolved)
               WHERE fact.project = %s AND fact.place_id = given.place_id""",
            (
                ids,
                [encode_dependencies(each.dependencies) for each in every.values()],
                [each.external_imports for each in every.values()],
                [each.unresolved_imports for each in every.values()],
                self._key,
            ),
        )

    def _write_edges(self, places: Mapping[str, int]) -> None:
        wanted: dict[int, dict[str, None]] = {}
        for path, each in self._resolved.items():
            for edge in each.edges:
                wanted.setdefault(places[path], {})[edge.source_key] = None
                if edge.target_path:
                    wanted.setdefault(places[edge.target_path], {})[edge.target_key] = None
        nodes = self._node_ids(wanted)
        edges, mentions = [], []
        for path, each in self._resolved.items():
            place_id = places[path]
            for edge in each.edges:
                source_id = nodes[place_id][edge.source_key]
                if edge.target_path:
                    target_id = nodes[places[edge.target_path]][edge.target_key]
                    edges.append((place_id, edge.line, source_id, target_id, edge.kind, edge.origin, edge.certain))
                else:
                    mentions.append((self._key, edge.target_key, place_id, edge.line, source_id, edge.kind))
        first = self._new_ids.allocate("edge", len(edges))
        copy_rows(
            self._connection,
            "edge (project, id, place_id, line, source_id, target_id, kind, origin, certain)",
            ("int8", "int8", "int8", "int4", "int8", "int8", "text", "text", "bool"),
            ((self._key, n, *edge) for n, edge in enumerate(edges, first)),
        )
        copy_rows(
            self._connection,
            "mention (project, name, place_id, line, source_id, kind)",
            ("int8", "text", "int8", "int4", "int8", "text"),
            mentions,
        )


class PostgresGraphWriter:
    """Implementation of `store.graph.GraphWriter`."""

    def __init__(self, tables: ProjectTables, connection: Connection, changes: GraphChanges) -> None:
        self._tables = tables
        self._connection = connection
        self._changes = changes

    def preload_path_ids(self) -> None:
        self._changes.flush()
        self._changes.preload_path_ids()

    def write_facts(self, path: str, symbols: Sequence[Symbol], facts: FactRecord) -> None:
        with self._tables.database.errors:
            self._changes.write_facts(path, symbols, facts)

    def remove_file(self, path: str) -> None:
        self._changes.remove_file(path)

    def stale_dependencies(self) -> list[str]:
        sql = "SELECT DISTINCT name FROM stale WHERE project = %s ORDER BY name"
        return [row[0] for row in self._tables.query(sql, (self._tables.key,))]

    def stale_files(self) -> list[StaleFile]:
        sql = f"SELECT path, language, state FROM {_FACT_WITH_PATH} WHERE fact.project = %s AND state > 0 ORDER BY path"
        return [StaleFile(*row) for row in self._tables.query(sql, (self._tables.key,))]

    def languages(self) -> dict[str, str]:
        return languages_of(self._tables)

    def dependants(self, dependencies: Iterable[str]) -> set[str]:
        wanted = set(map(checksum, dependencies))
        if not wanted:
            return set()
        sql = f"SELECT path, dependencies FROM {_FACT_WITH_PATH} WHERE fact.project = %s"
        rows = self._tables.query(sql, (self._tables.key,))
        return {path for path, blob in rows if not wanted.isdisjoint(array("I", blob))}

    def depends_on(self, path: str, dependency: str) -> bool:
        named, given = is_one_of("path", [path])
        sql = f"SELECT dependencies FROM {_FACT_WITH_PATH} WHERE fact.project = %s AND {named}"
        rows = self._tables.query(sql, (self._tables.key, *given))
        return bool(rows) and checksum(dependency) in array("I", rows[0][0])

    def facts(self) -> PostgresFacts:
        self._changes.flush()
        return PostgresFacts(self._tables.database, self._tables.key)

    def fact_source(self) -> PostgresFactSource:
        self._changes.flush()
        return PostgresFactSource(self._tables.database.connection_settings, self._tables.key)

    def pending_facts(self, paths: Iterable[str]) -> PendingFacts:
        pending, given = PendingFacts({}, {}), list(paths)
        named, values = is_one_of("path", given)
        key = self._tables.key
        sql = f"SELECT path, interface, body FROM {_FACT_WITH_PATH} WHERE fact.project = %s AND {named}"
        found = {row[0]: (row[1], row[2]) for row in self._tables.query(sql, (key, *values))}
        pending.facts.update({path: found.get(path, (None, None)) for path in given})
        for name, path, node_key, kind in self._tables.query(
            f"""SELECT symbol.name, path, node.key, symbol.kind FROM symbol
                JOIN node ON node.project = symbol.project AND node.id = symbol.node_id
                JOIN place ON place.project = symbol.project AND place.id = symbol.place_id
                WHERE symbol.project = %s AND {named} ORDER BY path, symbol.line, symbol.node_id""",
            (key, *values),
        ):
            pending.symbols.setdefault(name, []).append((path, node_key, kind))
        return pending

    def write_resolution(self, resolution: ResolutionRecord) -> None:
        with self._tables.database.errors:
            self._changes.write_resolution(resolution)

    def mark_all_resolved(self) -> None:
        self._changes.flush()
        key = (self._tables.key,)
        self._connection.execute("UPDATE fact SET state = 0 WHERE project = %s AND state > 0", key)
        self._connection.execute("DELETE FROM stale WHERE project = %s", key)


def languages_of(tables: ProjectTables) -> dict[str, str]:
    """Return the language of every file in the graph."""
    sql = f"SELECT path, language FROM {_FACT_WITH_PATH} WHERE fact.project = %s ORDER BY place_id"
    return dict(tables.query(sql, (tables.key,)))


def dependants_by_name(tables: ProjectTables, dependencies: Iterable[str]) -> dict[str, list[str]]:
    """Return the files whose resolved references depend on each name. Checksum collisions may add a few other files."""
    wanted: dict[int, list[str]] = {}
    for name in dependencies:
        wanted.setdefault(checksum(name), []).append(name)
    found: dict[str, list[str]] = {}
    sql = f"SELECT path, dependencies FROM {_FACT_WITH_PATH} WHERE fact.project = %s ORDER BY path"
    for path, blob in tables.query(sql, (tables.key,)) if wanted else ():
        for known in wanted.keys() & set(array("I", blob)):
            for name in wanted[known]:
                found.setdefault(name, []).append(path)
    return found


# Number of name lookups after which all names are loaded. One lookup takes a millisecond, mostly for query planning.
# Loading all names takes as long as a few hundred lookups.
_MAX_SINGLE_LOOKUPS = 200
_MAX_PRELOADED_SYMBOLS = 200_000
_SYMBOL_WITH_PATH = """symbol JOIN node ON node.project = symbol.project AND node.id = symbol.node_id
    JOIN place ON place.project = symbol.project AND place.id = symbol.place_id WHERE symbol.project = %s"""
_PATH_ORDER = "ORDER BY place.path, symbol.line, symbol.node_id"


class PostgresFacts:
    """Implementation of `store.graph.FactReader`. The facts must not change while they are read.

    If `preloads_names` is true, all names are loaded into memory after many lookups of single names.
    """

    def __init__(self, database: PostgresDatabase, key: int, *, preloads_names: bool = False) -> None:
        self._database = database
        self._key = key
        self._preloads_names = preloads_names
        self._names_asked = 0
        self._by_name: dict[str, list[tuple[str, str, str]]] | None = None

    def interface(self, path: str) -> bytes | None:
        return self._read_column("interface", path)

    def body(self, path: str) -> bytes | None:
        return self._read_column("body", path)

    def _read_column(self, column: str, path: str) -> bytes | None:
        named, given = is_one_of("path", [path])
        sql = f"SELECT {column} FROM {_FACT_WITH_PATH} WHERE fact.project = %s AND {named}"
        rows = self._database.query(sql, (self._key, *given))
        return rows[0][0] if rows else None

    def symbols_named(self, name: str) -> list[tuple[str, str, str]]:
        self._names_asked += 1
        if self._preloads_names and self._names_asked == _MAX_SINGLE_LOOKUPS:
            self._by_name = self._read_all_names()
        if self._by_name is not None:
            return self._by_name.get(name.replace("\0", "\ufffd"), [])
        named, given = is_one_of_ignoring_case("symbol.name", [name])
        rows = self._database.query(
            f"""SELECT place.path, node.key, symbol.kind FROM {_SYMBOL_WITH_PATH}
                AND {named} AND symbol.name = %s {_PATH_ORDER}""",
            (self._key, *given, name),
        )
        return [(row[0], row[1], row[2]) for row in rows]

    def _read_all_names(self) -> dict[str, list[tuple[str, str, str]]] | None:
        """Return the path, key and kind of all symbols by name, or None if there are too many to keep in memory."""
        # Read the tables separately: the planner has no statistics on new rows and would choose a slow join.
        with self._database.snapshot():
            row_limit = _MAX_PRELOADED_SYMBOLS + 1
            sql = "SELECT name, place_id, line, node_id, kind FROM symbol WHERE project = %s LIMIT %s"
            symbols = self._database.query(sql, (self._key, row_limit))
            if len(symbols) == row_limit:
                return None
            paths = dict(self._database.query("SELECT id, path FROM place WHERE project = %s", (self._key,)))
            keys = dict(self._database.query("SELECT id, key FROM node WHERE project = %s", (self._key,)))
        placed = sorted((paths[place_id], line, node_id, name, kind) for name, place_id, line, node_id, kind in symbols)
        found: dict[str, list[tuple[str, str, str]]] = {}
        for path, _, node_id, name, kind in placed:
            found.setdefault(name, []).append((path, keys[node_id], kind))
        return found


@dataclass(frozen=True, slots=True)
class PostgresFactSource:
    """Implementation of `store.graph.FactSource` with a connection string."""

    # The connection string contains the password, so it is sent to the child process only through a pipe.
    connection_settings: tuple[str, str] = field(repr=False)
    key: int

    def reader(self) -> PostgresFacts:
        url, schema = self.connection_settings
        database = PostgresDatabase(url, migrations=None, schema=schema, pool_size=1)
        return PostgresFacts(database, self.key, preloads_names=True)
