"""Queries on the code graph in PostgreSQL: symbols by name or position, references, imports and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltos.store.graph import GraphCounts, ImportRow, Links, ReferenceRow
from deltos.store.postgres.graph import PostgresFacts, PostgresFactSource, dependants_by_name, languages_of
from deltos.store.postgres.rows import is_one_of, is_one_of_ignoring_case
from deltos.store.symbols import Symbol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.postgres.project_tables import ProjectTables

_COLUMNS = """node.key, symbol.name, symbol.kind, symbol.line, symbol.end_line, symbol.signature, symbol.doc,
              place.path, symbol.node_id"""
_SYMBOL_TABLES = """symbol JOIN node ON node.project = symbol.project AND node.id = symbol.node_id
              JOIN place ON place.project = symbol.project AND place.id = symbol.place_id"""
_SELECT_SYMBOL = f"SELECT {_COLUMNS} FROM {_SYMBOL_TABLES} WHERE symbol.project = %s"
_SELECT_REFERENCE = """SELECT place.path, edge.line, node.key, edge.kind, edge.origin, edge.certain, edge.source_id,
                edge.target_id FROM edge JOIN place ON place.project = edge.project AND place.id = edge.place_id
                JOIN node ON node.project = edge.project AND node.id = edge.source_id WHERE edge.project = %s"""
_SYMBOL_CACHE_KIND = "symbol"


def _symbol_bytes(symbol: Symbol) -> int:
    return len(symbol.key) + len(symbol.signature) + len(symbol.doc) + len(symbol.path)


class PostgresGraph:
    """Implementation of `store.graph.Graph`."""

    def __init__(self, tables: ProjectTables) -> None:
        self._tables = tables

    def _query_rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self._tables.query(sql, (self._tables.key, *values))

    def snapshot(self) -> AbstractContextManager[object]:
        return self._tables.snapshot()

    # --- facts

    def languages(self) -> dict[str, str]:
        return languages_of(self._tables)

    def facts(self) -> PostgresFacts:
        return PostgresFacts(self._tables.database, self._tables.key)

    def fact_source(self) -> PostgresFactSource:
        return PostgresFactSource(self._tables.database.connection_settings, self._tables.key)

    def dependants_by_name(self, dependencies: Iterable[str]) -> dict[str, list[str]]:
        return dependants_by_name(self._tables, dependencies)

    # --- symbols

    def symbols_named(self, name: str, *, any_case: bool = False) -> list[Symbol]:
        named, given = is_one_of_ignoring_case("symbol.name", [name])
        sql = f"{_SELECT_SYMBOL} AND {named} ORDER BY place.path, symbol.line, symbol.node_id"
        rows = self._query_symbols(sql, *given)
        self._cache_symbols(rows)
        return [row for row in rows if any_case or row.name == name]

    def symbols_in(self, path: str) -> list[Symbol]:
        def read(missing: list[str]) -> dict[str, tuple[Symbol, ...]]:
            named, given = is_one_of("place.path", missing)
            rows = self._query_symbols(f"{_SELECT_SYMBOL} AND {named} ORDER BY symbol.line, symbol.node_id", *given)
            self._cache_symbols(rows)
            return {path: tuple(rows)}

        # Only 8 bytes per symbol are counted, because the size of the symbols is counted in separate cache entries.
        return list(self._tables.cached_rows("symbols in", [path], read, lambda rows: 8 * len(rows))[path])

    def symbols(self, node_ids: Iterable[int]) -> dict[int, Symbol]:
        def read(missing: list[int]) -> dict[int, Symbol]:
            rows = self._query_symbols(f"{_SELECT_SYMBOL} AND symbol.node_id = ANY(%s)", missing)
            return {symbol.node_id: symbol for symbol in rows}

        return dict(sorted(self._tables.cached_rows(_SYMBOL_CACHE_KIND, list(node_ids), read, _symbol_bytes).items()))

    def _cache_symbols(self, rows: Sequence[Symbol]) -> None:
        """Cache symbols that were found, because callers often read them again."""
        if state := self._tables.cached_state():
            state.put(_SYMBOL_CACHE_KIND, {row.node_id: row for row in rows}, _symbol_bytes)

    def symbols_at(self, locations: Iterable[tuple[str, str]]) -> list[Symbol]:
        every = list(dict.fromkeys(locations))
        named, given = is_one_of("place.path", list(dict.fromkeys(path for path, _ in every)))
        rows = self._query_symbols(
            f"{_SELECT_SYMBOL} AND {named} AND node.key = ANY(%s)", *given, [key for _, key in every]
        )
        found = {(row.path, row.key): row for row in rows}
        return [found[location] for location in every if location in found]

    def _query_symbols(self, sql: str, *values: object) -> list[Symbol]:
        return [Symbol(*row) for row in self._query_rows(sql, *values)]

    def defined_names(self) -> list[str]:
        sql = "SELECT DISTINCT name FROM symbol WHERE project = %s ORDER BY name"
        return [row[0] for row in self._query_rows(sql)]

    def paths(self) -> list[str]:
        sql = """SELECT path FROM fact JOIN place ON place.project = fact.project AND place.id = place_id
                 WHERE fact.project = %s ORDER BY path"""
        return [row[0] for row in self._query_rows(sql)]

    def module_node(self, path: str) -> int | None:
        named, given = is_one_of("path", [path])
        sql = f"""SELECT node.id FROM node JOIN place ON place.project = node.project AND place.id = place_id
                  WHERE node.project = %s AND {named} AND key = ''"""
        rows = self._query_rows(sql, *given)
        return rows[0][0] if rows else None

    def nodes(self, node_ids: Iterable[int]) -> dict[int, tuple[str, str]]:
        sql = """SELECT node.id, path, key FROM node JOIN place ON place.project = node.project AND place.id = place_id
                 WHERE node.project = %s AND node.id = ANY(%s) ORDER BY node.id"""
        return {row[0]: (row[1], row[2]) for row in self._query_rows(sql, list(node_ids))}

    # --- edges

    def references(self, node_ids: Iterable[int]) -> list[ReferenceRow]:
        asked = list(node_ids)
        if not asked:
            return []
        found = self._query_references(f"{_SELECT_REFERENCE} AND edge.target_id = ANY(%s) ORDER BY edge.id", asked)
        return sorted(found, key=lambda row: (row.path, row.line))

    def _query_references(self, sql: str, *values: object) -> list[ReferenceRow]:
        return [ReferenceRow(*row) for row in self._query_rows(sql, *values)]

    def overridden_ids(self, node_ids: Iterable[int]) -> set[int]:
        return self._related_ids(node_ids, "edge.target_id", "node.id")

    def overriding_ids(self, node_ids: Iterable[int]) -> set[int]:
        return self._related_ids(node_ids, "node.id", "edge.target_id")

    def _related_ids(self, node_ids: Iterable[int], wanted: str, given: str) -> set[int]:
        """Return the nodes at one end of override or redeclaration edges, given the nodes at the other end."""
        sql = f"""SELECT {wanted} FROM edge JOIN node ON node.project = edge.project AND node.id = edge.source_id
                  AND node.place_id = edge.place_id
                  WHERE edge.project = %s AND {given} = ANY(%s) AND node.key <> '' AND certain
                  AND origin IN ('override', 'merge')"""
        return {row[0] for row in self._query_rows(sql, list(node_ids))}

    def subclasses(self, node_ids: Iterable[int]) -> set[int]:
        sql = """SELECT source_id FROM edge
                 WHERE project = %s AND target_id = ANY(%s) AND kind = 'inherit' AND certain"""
        return {row[0] for row in self._query_rows(sql, list(node_ids))}

    def redeclared_by_line(self, path: str, line: int) -> list[Symbol]:
        named, given = is_one_of("path", [path])
        sql = f"""SELECT target_id FROM edge JOIN place ON place.project = edge.project AND place.id = place_id
                  WHERE edge.project = %s AND {named} AND edge.line = %s AND origin = 'merge'"""
        return list(self.symbols(row[0] for row in self._query_rows(sql, *given, line)).values())

    def outgoing_references(self, path: str, node_ids: Sequence[int]) -> list[ReferenceRow]:
        named, given = is_one_of("place.path", [path])
        sql = f"{_SELECT_REFERENCE} AND {named} AND edge.source_id = ANY(%s) ORDER BY edge.id"
        return sorted(self._query_references(sql, *given, list(node_ids)), key=lambda row: row.line)

    def reference_counts(self, node_ids: Iterable[int]) -> dict[int, int]:
        sql = """SELECT target_id, COUNT(*) FROM edge
                 WHERE project = %s AND target_id = ANY(%s) AND certain GROUP BY 1 ORDER BY 1"""
        asked = list(node_ids)
        return dict(self._query_rows(sql, asked)) if asked else {}

    def referring_file_counts(self, *, limit: int, below: str = "") -> dict[int, int]:
        where = "AND (place.path = %s OR place.path >= %s AND place.path < %s)" if below else ""
        # "0" is the character after "/", so the range contains exactly the paths below the folder.
        given = (below, f"{below}/", f"{below}0") if below else ()
        sql = f"""SELECT edge.target_id, COUNT(DISTINCT edge.place_id) FROM edge
                  JOIN node ON node.project = edge.project AND node.id = edge.target_id
                  JOIN place ON place.project = edge.project AND place.id = node.place_id
                  WHERE edge.project = %s AND edge.certain AND edge.place_id <> node.place_id AND node.key <> '' {where}
                  GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT %s"""
        return dict(self._query_rows(sql, *given, limit))

    def mentions(self, name: str) -> list[ReferenceRow]:
        named, given = is_one_of("mention.name", [name])
        sql = f"""SELECT place.path, mention.line, node.key, mention.kind, 'unknown receiver', false,
                  mention.source_id, 0
                  FROM mention JOIN place ON place.project = mention.project AND place.id = mention.place_id
                  JOIN node ON node.project = mention.project AND node.id = mention.source_id
                  WHERE mention.project = %s AND {named} ORDER BY place.path, mention.line, mention.source_id"""
        return self._query_references(sql, *given)

    # --- queries on the whole graph

    def imports(self) -> list[ImportRow]:
        sql = """SELECT source.path, target.path, import.line, import.mode FROM import
                 JOIN place AS source ON source.project = import.project AND source.id = import.place_id
                 JOIN place AS target ON target.project = import.project AND target.id = import.target_place_id
                 WHERE import.project = %s ORDER BY source.path, import.line, target.path"""
        return [ImportRow(*row) for row in self._query_rows(sql)]

    def imports_of(self, paths: Sequence[str]) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        named, given = is_one_of("source.path", paths)
        sql = f"""SELECT source.path, target.path FROM place AS source
                  JOIN import ON import.project = source.project AND import.place_id = source.id
                  JOIN place AS target ON target.project = source.project AND target.id = import.target_place_id
                  WHERE source.project = %s AND {named} AND target.id <> source.id ORDER BY source.path"""
        for path, target in self._query_rows(sql, *given):
            found.setdefault(path, set()).add(target)
        return found

    def most_referenced_symbols(self, *, limit: int) -> list[Symbol]:
        sql = f"""SELECT node.key, symbol.name, symbol.kind, symbol.line, symbol.end_line, '', '', place.path, node.id
                  FROM {_SYMBOL_TABLES} LEFT JOIN
                  (SELECT project, target_id, COUNT(*) AS uses FROM edge WHERE project = %s GROUP BY 1, 2) AS used
                  ON target_id = node.id AND used.project = symbol.project WHERE symbol.project = %s
                  ORDER BY coalesce(uses, 0) DESC, place.path, symbol.line, node.key LIMIT %s"""
        return self._query_symbols(sql, self._tables.key, limit)

    def links(self, *, limit: int) -> Links:
        pairs: dict[tuple[int, int], tuple[str, bool]] = {}
        sql = "SELECT source_id, target_id, kind, certain FROM edge WHERE project = %s ORDER BY id LIMIT %s"
        rows = self._query_rows(sql, limit + 1)
        for source, target, kind, certain in rows[:limit]:
            if source != target and (certain or (source, target) not in pairs):
                pairs[source, target] = (kind, certain)
        return Links(pairs, is_partial=len(rows) > limit)

    def counts(self) -> GraphCounts:
        with self._tables.snapshot():
            languages = self._query_rows(
                """SELECT coalesce(nullif(language, ''), 'text'), COUNT(*), SUM(lines)::bigint FROM file
                   WHERE project = %s GROUP BY 1 ORDER BY 3 DESC, 1"""
            )
            ((external, unresolved),) = self._query_rows(
                """SELECT coalesce(SUM(external_imports), 0)::bigint, coalesce(SUM(unresolved_imports), 0)::bigint
                   FROM fact WHERE project = %s"""
            )
            return GraphCounts(
                files_by_language={row[0]: (row[1], row[2]) for row in languages},
                symbols_by_kind=self._count_by_kind("symbol", "project = %s"),
                edges_by_kind=self._count_by_kind("edge", "project = %s AND certain"),
                possible=self._count_rows("mention") + self._count_rows("edge", "AND NOT certain"),
                imports=self._count_rows("(SELECT DISTINCT project, place_id, line FROM import) AS import_line"),
                external_imports=external,
                unresolved_imports=unresolved,
            )

    def symbol_count(self) -> int:
        return self._count_rows("symbol")

    def _count_by_kind(self, table: str, condition: str) -> dict[str, int]:
        sql = f"SELECT kind, COUNT(*) FROM {table} WHERE {condition} GROUP BY kind ORDER BY 2 DESC, 1"
        return dict(self._query_rows(sql))

    def _count_rows(self, table: str, condition: str = "") -> int:
        found: int = self._query_rows(f"SELECT COUNT(*) FROM {table} WHERE project = %s {condition}")[0][0]
        return found
