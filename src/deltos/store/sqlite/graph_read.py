"""Queries on the code graph in SQLite: symbols by name or position, references, imports and counts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from deltos.store.graph import GraphCounts, ImportRow, Links, ReferenceRow
from deltos.store.sqlite.graph import SqliteFacts, SqliteFactSource, dependants_by_name, languages_of
from deltos.store.symbols import Symbol

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager

    from deltos.store.sqlite.database import SqliteDatabase

# Values are passed as one JSON list, because the number of bound values of a statement is limited.
_GIVEN = "(SELECT value FROM json_each(?))"
_COLUMNS = """node.key, symbol.name, symbol.kind, symbol.line, symbol.end_line, symbol.signature, symbol.doc,
              place.path, symbol.node_id"""
_SELECT_SYMBOL = f"""SELECT {_COLUMNS}
              FROM symbol JOIN node ON node.id = symbol.node_id JOIN place ON place.id = symbol.place_id"""
# CROSS JOIN fixes the join order: first the edges by source or target, then the rule of each edge.
_EDGE_TABLES = "edge_row CROSS JOIN rule ON rule.id = rule_id CROSS JOIN node ON node.id = source_id"
_SELECT_REFERENCE = f"""SELECT place.path, line, node.key, kind, origin, certain, source_id, target_id
                 FROM {_EDGE_TABLES} CROSS JOIN place ON place.id = node.place_id"""


class SqliteGraph:
    """Implementation of `store.graph.Graph` in a project file."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    def _query_rows(self, sql: str, values: Sequence[str | int] = ()) -> sqlite3.Cursor:
        return self._database.read().execute(sql, values)

    def snapshot(self) -> AbstractContextManager[object]:
        return self._database.snapshot()

    # --- facts

    def languages(self) -> dict[str, str]:
        return languages_of(self._database.read())

    def facts(self) -> SqliteFacts:
        return SqliteFacts(self._database.read())

    def fact_source(self) -> SqliteFactSource:
        return SqliteFactSource(self._database.path)

    def dependants_by_name(self, dependencies: Iterable[str]) -> dict[str, list[str]]:
        return dependants_by_name(self._database.read(), dependencies)

    # --- symbols

    def symbols_named(self, name: str, *, any_case: bool = False) -> list[Symbol]:
        rows = self._query_rows(
            f"{_SELECT_SYMBOL} WHERE symbol.name = ? COLLATE NOCASE ORDER BY place.path, symbol.line", (name,)
        )
        return [row for row in map(_symbol_from_row, rows) if any_case or row.name == name]

    def symbols_in(self, path: str) -> list[Symbol]:
        return list(
            map(
                _symbol_from_row,
                self._query_rows(f"{_SELECT_SYMBOL} WHERE place.path = ? ORDER BY symbol.line", (path,)),
            )
        )

    def symbols(self, node_ids: Iterable[int]) -> dict[int, Symbol]:
        rows = self._query_rows(f"{_SELECT_SYMBOL} WHERE symbol.node_id IN {_GIVEN}", (_encode(node_ids),))
        return {symbol.node_id: symbol for symbol in map(_symbol_from_row, rows)}

    def symbols_at(self, locations: Iterable[tuple[str, str]]) -> list[Symbol]:
        wanted = set(locations)
        sql = f"""SELECT path, key, node.id FROM place CROSS JOIN node ON node.place_id = place.id
                  WHERE place.path IN {_GIVEN}"""
        rows = self._query_rows(sql, (_encode(path for path, _ in wanted),))
        return list(self.symbols(node_id for path, key, node_id in rows if (path, key) in wanted).values())

    def defined_names(self) -> list[str]:
        return [row[0] for row in self._query_rows("SELECT DISTINCT name FROM symbol")]

    def paths(self) -> list[str]:
        return [
            row[0] for row in self._query_rows("SELECT path FROM fact JOIN place ON place.id = place_id ORDER BY path")
        ]

    def module_node(self, path: str) -> int | None:
        row = self._query_rows(
            "SELECT node.id FROM node JOIN place ON place.id = place_id WHERE path = ? AND key = ''", (path,)
        ).fetchone()
        return None if row is None else row[0]

    def nodes(self, node_ids: Iterable[int]) -> dict[int, tuple[str, str]]:
        sql = f"SELECT node.id, path, key FROM node JOIN place ON place.id = place_id WHERE node.id IN {_GIVEN}"
        return {row[0]: (row[1], row[2]) for row in self._query_rows(sql, (_encode(node_ids),))}

    # --- edges

    def references(self, node_ids: Iterable[int]) -> list[ReferenceRow]:
        rows = self._query_rows(f"{_SELECT_REFERENCE} WHERE target_id IN {_GIVEN}", (_encode(node_ids),))
        return sorted(map(_reference_from_row, rows), key=lambda row: (row.path, row.line))

    def overridden_ids(self, node_ids: Iterable[int]) -> set[int]:
        return self._related_ids(node_ids, "target_id", "source_id")

    def overriding_ids(self, node_ids: Iterable[int]) -> set[int]:
        return self._related_ids(node_ids, "source_id", "target_id")

    def _related_ids(self, node_ids: Iterable[int], wanted: str, given: str) -> set[int]:
        """Return the nodes at one end of override or redeclaration edges, given the nodes at the other end."""
        sql = f"""SELECT {wanted} FROM {_EDGE_TABLES} WHERE {given} IN {_GIVEN} AND node.key != '' AND certain
                  AND origin IN ('override', 'merge')"""
        return {row[0] for row in self._query_rows(sql, (_encode(node_ids),))}

    def subclasses(self, node_ids: Iterable[int]) -> set[int]:
        sql = f"""SELECT source_id FROM edge_row JOIN rule ON rule.id = rule_id
                  WHERE target_id IN {_GIVEN} AND kind = 'inherit' AND certain"""
        return {row[0] for row in self._query_rows(sql, (_encode(node_ids),))}

    def redeclared_by_line(self, path: str, line: int) -> list[Symbol]:
        sql = f"""{_SELECT_SYMBOL} WHERE symbol.node_id IN
                  (SELECT target_id FROM place CROSS JOIN node ON node.place_id = place.id
                   CROSS JOIN edge_row ON source_id = node.id JOIN rule ON rule.id = rule_id
                   WHERE place.path = ? AND edge_row.line = ? AND origin = 'merge')"""
        return list(map(_symbol_from_row, self._query_rows(sql, (path, line))))

    def outgoing_references(self, path: str, node_ids: Sequence[int]) -> list[ReferenceRow]:
        sql = f"{_SELECT_REFERENCE} WHERE source_id IN {_GIVEN} AND place.path = ?"
        return sorted(
            map(_reference_from_row, self._query_rows(sql, (_encode(node_ids), path))), key=lambda row: row.line
        )

    def reference_counts(self, node_ids: Iterable[int]) -> dict[int, int]:
        sql = f"""SELECT target_id, COUNT(*) FROM edge_row JOIN rule ON rule.id = rule_id
                  WHERE target_id IN {_GIVEN} AND certain GROUP BY 1"""
        return dict(self._query_rows(sql, (_encode(node_ids),)).fetchall())

    def referring_file_counts(self, *, limit: int, below: str = "") -> dict[int, int]:
        where = "AND (place.path = ? OR place.path >= ? AND place.path < ?)" if below else ""
        # "0" is the character after "/", so the range contains exactly the paths below the folder.
        given = (below, f"{below}/", f"{below}0") if below else ()
        sql = f"""SELECT target_id, COUNT(DISTINCT node.place_id) FROM {_EDGE_TABLES}
                 CROSS JOIN node AS target ON target.id = target_id CROSS JOIN place ON place.id = target.place_id
                 WHERE certain AND node.place_id != target.place_id AND target.key != '' {where}
                 GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?"""
        return dict(self._query_rows(sql, (*given, limit)).fetchall())

    def mentions(self, name: str) -> list[ReferenceRow]:
        sql = """SELECT place.path, mention.line, node.key, mention.kind, 'unknown receiver', 0, mention.source_id, 0
                 FROM mention JOIN place ON place.id = mention.place_id JOIN node ON node.id = mention.source_id
                 WHERE mention.name = ? ORDER BY place.path, mention.line"""
        return list(map(_reference_from_row, self._query_rows(sql, (name,))))

    # --- queries on the whole graph

    def imports(self) -> list[ImportRow]:
        sql = """SELECT source.path, target.path, import.line, import.mode FROM import
                 JOIN place AS source ON source.id = import.place_id
                 JOIN place AS target ON target.id = import.target_place_id
                 ORDER BY source.path, import.line"""
        return [ImportRow(*row) for row in self._query_rows(sql)]

    def imports_of(self, paths: Sequence[str]) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        sql = f"""SELECT source.path, target.path FROM place AS source
                  JOIN import ON import.place_id = source.id
                  JOIN place AS target ON target.id = import.target_place_id
                  WHERE source.path IN {_GIVEN} AND target.id <> source.id"""
        for path, target in self._query_rows(sql, (_encode(paths),)):
            found.setdefault(path, set()).add(target)
        return found

    def most_referenced_symbols(self, *, limit: int) -> list[Symbol]:
        sql = """SELECT node.key, symbol.name, symbol.kind, symbol.line, symbol.end_line, '', '', place.path, node.id
                 FROM symbol JOIN node ON node.id = symbol.node_id JOIN place ON place.id = symbol.place_id
                 LEFT JOIN (SELECT target_id, COUNT(*) AS uses FROM edge_row GROUP BY 1) ON target_id = node.id
                 ORDER BY coalesce(uses, 0) DESC, place.path, symbol.line, node.key LIMIT ?"""
        return list(map(_symbol_from_row, self._query_rows(sql, (limit,))))

    def links(self, *, limit: int) -> Links:
        pairs: dict[tuple[int, int], tuple[str, bool]] = {}
        sql = """SELECT source_id, target_id, kind, certain FROM edge_row CROSS JOIN rule ON rule.id = rule_id
                 ORDER BY source_id, line, target_id LIMIT ?"""
        rows = self._query_rows(sql, (limit + 1,)).fetchall()
        for source, target, kind, certain in rows[:limit]:  # grouped here, because SQL takes twice as long
            if source != target and (certain or (source, target) not in pairs):
                pairs[source, target] = (kind, bool(certain))
        return Links(pairs, is_partial=len(rows) > limit)

    def counts(self) -> GraphCounts:
        with self._database.snapshot():
            languages = self._query_rows(
                """SELECT coalesce(nullif(language, ''), 'text'), COUNT(*), SUM(lines) FROM file
                   GROUP BY 1 ORDER BY 3 DESC"""
            ).fetchall()
            external, unresolved = self._query_rows(
                "SELECT coalesce(SUM(external_imports), 0), coalesce(SUM(unresolved_imports), 0) FROM fact"
            ).fetchone()
            return GraphCounts(
                files_by_language={row[0]: (row[1], row[2]) for row in languages},
                symbols_by_kind=dict(
                    self._query_rows("SELECT kind, COUNT(*) FROM symbol GROUP BY kind ORDER BY 2 DESC").fetchall()
                ),
                edges_by_kind=self._edges_by_kind(certain=True),
                possible=self._count_rows("mention") + sum(self._edges_by_kind(certain=False).values()),
                imports=self._count_rows("(SELECT DISTINCT place_id, line FROM import)"),
                external_imports=external,
                unresolved_imports=unresolved,
            )

    def _edges_by_kind(self, *, certain: bool) -> dict[str, int]:
        sql = """SELECT kind, SUM(number) FROM (SELECT rule_id, COUNT(*) AS number FROM edge_row GROUP BY 1)
                 JOIN rule ON rule.id = rule_id WHERE certain = ? GROUP BY 1 ORDER BY 2 DESC"""
        return dict(self._query_rows(sql, (certain,)).fetchall())

    def symbol_count(self) -> int:
        return self._count_rows("symbol")

    def _count_rows(self, what: str) -> int:
        found: int = self._query_rows(f"SELECT COUNT(*) FROM {what}").fetchone()[0]
        return found


def _symbol_from_row(row: tuple[str, str, str, int, int, str, str, str, int]) -> Symbol:
    return Symbol(*row)


def _reference_from_row(row: tuple[str, int, str, str, str, int, int, int]) -> ReferenceRow:
    path, line, source_key, kind, origin, certain, source_id, target_id = row
    return ReferenceRow(path, line, source_key, kind, origin, bool(certain), source_id, target_id)


def _encode(values: Iterable[int | str]) -> str:
    """Encode values as the JSON list that the SQL expression `_GIVEN` reads."""
    return json.dumps(list(dict.fromkeys(values)))
