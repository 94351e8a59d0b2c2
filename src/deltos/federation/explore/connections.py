"""Code related to the code blocks in an answer: implementations, callees, callers and tests, from the code graph."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.graph.source_lines import shorten_around
from deltos.federation.explore.units import CALLABLE_KINDS, Unit
from deltos.text.counts import counted
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.domains.graph.search import GraphSearch
    from deltos.federation.explore.gather import OpenProject
    from deltos.store.graph import ReferenceRow
    from deltos.store.symbols import Symbol

_MAX_CALLERS = 4  # maximum number of caller lines per symbol
_MAX_TESTS = 4  # maximum number of tests per symbol
_MAX_SAME_NAMED = 4  # names with more definitions are common and are ignored
_MAX_CHAIN_CALLS = 4  # maximum number of calls in a call chain
_MAX_VISITED_FUNCTIONS = 200  # maximum number of functions visited while looking for a call chain
_MAX_LINE_CHARACTERS = 120
_MAX_WRAPPER_STATEMENTS = 4  # maximum number of statements in a wrapper function
_MAX_CALLED_NAMES = 40  # maximum number of called names to look up for each code block
_CALLED_NAME = re.compile(r"\b([A-Za-z_]\w{2,80})\(")
_STUB_PREFIXES = ("raise NotImplementedError", "pass", "...", "unimplemented!", "todo!", "throw new NotImplemented")


@dataclass(frozen=True, slots=True)
class Callers:
    """Callers of one symbol as source lines, tests that call the symbol, and the number of omitted lines."""

    symbol: str
    lines: tuple[str, ...]
    tests: tuple[str, ...]
    omitted_count: int = 0


def implementations(project: OpenProject, unit: Unit) -> list[Unit]:
    """Return the code blocks that implement a code block.

    They are the overrides of a stub or another short function, or the single function that a wrapper calls.
    """
    rows = [row for row in project.symbols(unit) if row.kind in CALLABLE_KINDS]
    lines = project.lines(unit.path)
    bodies = {row.node_id: _body_statements(lines[row.line : row.end_line]) for row in rows}
    short = [row for row in rows if len(bodies[row.node_id]) <= _MAX_WRAPPER_STATEMENTS]
    stubs = [row for row in short if not (body := bodies[row.node_id]) or body[-1].startswith(_STUB_PREFIXES)]
    if found := _overrides(project, short) or _same_named(project, stubs):
        return _units_of_symbols(project, sorted(found, key=lambda row: (row.path, row.line)))
    if len(rows) != 1 or len(bodies[rows[0].node_id]) > _MAX_WRAPPER_STATEMENTS:
        return []
    callees = _callees(project, rows[0])
    return _units_of_symbols(project, callees) if len(callees) == 1 else []


def _overrides(project: OpenProject, rows: Sequence[Symbol]) -> list[Symbol]:
    reader = project.graph.reader
    return list(reader.symbols(reader.overriding_ids(row.node_id for row in rows)).values()) if rows else []


def _same_named(project: OpenProject, rows: Sequence[Symbol]) -> list[Symbol]:
    """Return the other functions with the names of `rows`, except names with many definitions."""
    same = [_rare_functions(project, row.name) for row in rows]
    known = {row.node_id for row in rows}
    return [each for found in same for each in found if each.node_id not in known]


def _rare_functions(project: OpenProject, name: str) -> list[Symbol]:
    rows = project.graph.reader.symbols_named(name)
    found = [row for row in rows if row.kind in CALLABLE_KINDS and not is_test(row.path)]
    return found if len(found) <= _MAX_SAME_NAMED else []


def call_edges(project: OpenProject, units: Sequence[Unit]) -> Iterator[tuple[Unit, tuple[str, int], bool]]:
    """Yield the definite calls to and from code blocks.

    Each item has the code block, the location of the other function, and whether the other function is called.
    """
    reader = project.graph.reader
    unit_by_id = {row.node_id: unit for unit in units for row in project.symbols(unit)}
    outgoing = [
        row
        for path in dict.fromkeys(unit.path for unit in unit_by_id.values())
        for row in reader.outgoing_references(path, [key for key, unit in unit_by_id.items() if unit.path == path])
    ]
    edges = {(row.source_id, row.target_id, True) for row in outgoing if row.kind == "call" and row.certain}
    incoming = reader.references(unit_by_id)
    edges |= {(row.target_id, row.source_id, False) for row in incoming if row.kind == "call" and row.certain}
    known = reader.symbols(other for _, other, _ in edges)
    for own, other, is_called in sorted(edges):
        if own in unit_by_id and other in known and own != other:
            yield unit_by_id[own], (known[other].path, known[other].line), is_called


def called_units(project: OpenProject, unit: Unit) -> list[Unit]:
    """Return the functions that a code block definitely calls, and other functions whose rare names it calls."""
    rows = [each for row in project.symbols(unit) if row.kind in CALLABLE_KINDS for each in _callees(project, row)]
    lines = project.lines(unit.path)[unit.start - 1 : unit.end]
    names = dict.fromkeys(name for line in lines for name in _CALLED_NAME.findall(line))
    for name in list(names)[:_MAX_CALLED_NAMES]:
        rows += _rare_functions(project, name)
    return [each for each in _units_of_symbols(project, rows) if each != unit]


def _body_statements(lines: Sequence[str]) -> list[str]:
    """Return the lines of a function body without blank lines, comments and the docstring."""
    kept: list[str] = []
    in_doc = False
    for line in map(str.strip, lines):
        quotes = line.count('"""') + line.count("'''")
        if in_doc or quotes:
            in_doc = in_doc != (quotes == 1)
        elif line and not line.startswith(("#", "//", "*", "/*", ")", "}")):
            kept.append(line)
    return kept


def _callees(project: OpenProject, row: Symbol) -> list[Symbol]:
    """Return the functions of the project that a function definitely calls."""
    reader = project.graph.reader
    outgoing = [
        each for each in reader.outgoing_references(row.path, [row.node_id]) if each.kind == "call" and each.certain
    ]
    found = reader.symbols(each.target_id for each in outgoing).values()
    return [each for each in found if each.kind in CALLABLE_KINDS]


def _units_of_symbols(project: OpenProject, rows: Sequence[Symbol]) -> list[Unit]:
    found = (project.unit_at(row.path, row.line) for row in rows if not is_test(row.path))
    return list(dict.fromkeys(unit for unit in found if unit))


def callers(project: OpenProject, unit: Unit) -> Callers | None:
    """Return the callers of the first symbol in a code block, or None if there is no symbol or no caller."""
    rows = project.symbols(unit)[:1]
    if not rows:
        return None
    graph = project.graph
    references = [row for row in _certain_uses(graph, rows[0]) if not (row.path == unit.path and _is_inside(row, unit))]
    own = [row for row in references if not is_test(row.path)]
    # Callers in other files first, because their code is less likely to be in the answer.
    own.sort(key=lambda row: row.path == unit.path)
    if not references:
        return None
    shown = list({(row.path, row.line): row for row in own}.values())[:_MAX_CALLERS]
    texts = graph.source.lines([(row.path, row.line) for row in shown])
    lines = [
        f"{row.path}:{row.line}  {_shorten_line(texts.get((row.path, row.line), ''), rows[0].name)}" for row in shown
    ]
    testing = dict.fromkeys(
        f"{row.path}:{row.line} {row.source_key}".rstrip() for row in references if is_test(row.path)
    )
    more = len({(row.path, row.line) for row in own}) - len(shown)
    return Callers(rows[0].label, tuple(lines), tuple(testing)[:_MAX_TESTS], more)


def _certain_uses(graph: GraphSearch, row: Symbol) -> list[ReferenceRow]:
    """Return the definite references, except imports, to a symbol and to the definitions that the symbol overrides."""
    ids = {row.node_id, *graph.reader.overridden_ids([row.node_id])}
    return [each for each in graph.reader.references(ids) if each.certain and each.kind not in ("import", "inherit")]


def _is_inside(row: ReferenceRow, unit: Unit) -> bool:
    return unit.start <= row.line <= unit.end


def _shorten_line(text: str, name: str) -> str:
    return shorten_around(text.strip(), max(0, text.strip().find(name)), _MAX_LINE_CHARACTERS)


def shortest_call_chain(project: OpenProject, unit: Unit) -> str:
    """Return the shortest call chain from an entry point to a code block, or an empty string if there is none."""
    reader = project.graph.reader
    start = [row.node_id for row in project.symbols(unit)[:1]]
    chains: dict[int, tuple[int, ...]] = {node_id: (node_id,) for node_id in start}
    frontier = start
    for _ in range(_MAX_CHAIN_CALLS if start else 0):
        uses = [row for row in reader.references(frontier) if row.certain and row.kind == "call"]
        following: list[int] = []
        for row in uses:
            if row.source_id not in chains and row.source_key and not is_test(row.path):
                chains[row.source_id] = (row.source_id, *chains[row.target_id])
                following.append(row.source_id)
        called = {row.target_id for row in uses if not is_test(row.path)}
        ends = [node_id for node_id in frontier if node_id not in called and node_id not in start]
        if ends:
            known = reader.symbols(chains[ends[0]])
            steps = [known[node_id] for node_id in chains[ends[0]] if node_id in known]
            return " → ".join(f"{row.label} ({row.path}:{row.line})" for row in steps[:-1])
        frontier = following
        if not frontier or len(chains) > _MAX_VISITED_FUNCTIONS:
            break
    return ""


def caller_lines(found: Sequence[Callers]) -> Iterator[str]:
    """Yield the callers of each symbol, one source line per caller."""
    for each in found:
        if each.lines:
            yield f"{each.symbol} is used by:"
            yield from (f"  {line}" for line in each.lines)
            if each.omitted_count:
                yield f"  {counted(each.omitted_count, 'more line')}"
