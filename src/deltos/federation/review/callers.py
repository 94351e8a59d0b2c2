"""Search for calls that are invalid for a changed signature, and for remaining uses of removed definitions."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.graph.search import Target
from deltos.federation.review.binding import misfit_reason
from deltos.federation.review.calls import read_calls
from deltos.federation.review.model import REMOVED, SIGNATURE, BrokenCaller
from deltos.languages.table import detect
from deltos.store.symbols import Symbol, bare_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.domains.graph.search import GraphSearch
    from deltos.federation.review.binding import Parameters
    from deltos.federation.review.model import SymbolChange
    from deltos.federation.review.signature import ArgumentList
    from deltos.isolated.process_pool import ProcessPool
    from deltos.store.graph import ReferenceRow

MAX_CALLS = 5_000
CONSTRUCTORS = frozenset({"__init__", "__new__", "constructor", "__construct", "initialize", "init"})
_CONSTRUCTOR_KEYWORDS = ("super", "base", "this", "self", "new")
_CHECKED_USE_KINDS = frozenset({"call", "import", "inherit", "type", "decorate", "read"})


@dataclass(frozen=True, slots=True)
class _Overloads:
    """All signatures of a qualified name in one file, before and after the change."""

    change: SymbolChange
    before: tuple[Parameters, ...]
    after: tuple[Parameters, ...]

    @property
    def called_names(self) -> frozenset[str]:
        """Names by which the definition may be called. A constructor is called by the class name."""
        name, owner = self.change.name, self.change.label.rpartition(".")[0].rpartition(".")[2]
        is_constructor = name in CONSTRUCTORS or name == owner
        return frozenset((name, owner, *_CONSTRUCTOR_KEYWORDS)) if is_constructor else frozenset((name,))


def find_broken_callers(
    search: GraphSearch, changes: Sequence[SymbolChange], workers: ProcessPool | None
) -> list[BrokenCaller]:
    """Return the callers that were valid before the change but no longer are, definite callers first."""
    found = [*_find_misfits(search, _changed_overloads(changes), workers), *_uses_of_removed(search, changes)]
    unique = {(each.path, each.line, each.callee): each for each in reversed(found)}
    return sorted(unique.values(), key=lambda each: (not each.is_certain, each.path, each.line))


def _changed_overloads(changes: Sequence[SymbolChange]) -> list[_Overloads]:
    """Group the changes of signatures by file and qualified name."""
    groups: defaultdict[tuple[str, str], list[SymbolChange]] = defaultdict(list)
    for each in changes:
        groups[(each.path, each.label)].append(each)
    found = []
    for group in groups.values():
        changed = [each for each in group if each.kind == SIGNATURE]
        before = tuple(
            each.before.parameters for each in group if each.before is not None and each.before.parameters is not None
        )
        after = tuple(
            each.after.parameters for each in group if each.after is not None and each.after.parameters is not None
        )
        if changed and before and after and before != after:
            found.append(_Overloads(changed[0], before, after))
    return found


def _find_misfits(
    search: GraphSearch, overloads: Sequence[_Overloads], workers: ProcessPool | None
) -> list[BrokenCaller]:
    """Return the calls of changed functions that are invalid for the new signatures."""
    rows = {id(each): _calls_of(search, each) for each in overloads}
    wanted: defaultdict[str, defaultdict[int, frozenset[str]]] = defaultdict(lambda: defaultdict(frozenset))
    for each in overloads:
        for row in rows[id(each)]:
            wanted[row.path][row.line] |= each.called_names
    calls = read_calls(search.root, wanted, workers)
    return [
        _broken_caller(row, each.change.label, reason)
        for each in overloads
        for row in rows[id(each)]
        if (reason := _misfit_on_line(each, row, calls))
    ]


def _misfit_on_line(
    overloads: _Overloads, row: ReferenceRow, calls: dict[tuple[str, int, str], list[ArgumentList]]
) -> str:
    """Return why a call on a line is invalid for the new signatures, or an empty string if all calls are valid."""
    for name in sorted(overloads.called_names):
        for call in calls.get((row.path, row.line, name), ()):
            if reason := misfit_reason(call, overloads.before, overloads.after):
                return reason
    return ""


def _calls_of(search: GraphSearch, overloads: _Overloads) -> list[ReferenceRow]:
    """Return the definite and possible calls of a changed function. Calls of a class count for the constructor."""
    change = overloads.change
    symbols = search.reader.symbols_in(change.path)
    ids = {row.node_id for row in symbols if row.label == change.label}
    if len(overloads.called_names) > 1:
        ids |= _constructed_classes(search, symbols, change)
        mentions: list[ReferenceRow] = []
    else:
        mentions = [row for row in search.reader.mentions(change.name) if row.kind == "call"]
    every = [row for row in search.reader.references(ids) if row.kind in ("call", "decorate")]
    return [*every, *mentions][:MAX_CALLS]


def _constructed_classes(search: GraphSearch, symbols: Iterable[Symbol], change: SymbolChange) -> set[int]:
    """Return the node ids of a constructor's class and of the subclasses that inherit the constructor."""
    owner = change.label.rpartition(".")[0]
    found = {row.node_id for row in symbols if row.label == owner}
    frontier = set(found)
    while frontier:
        below = search.reader.symbols(search.reader.subclasses(frontier) - found)
        frontier = {
            node_id
            for node_id, row in below.items()
            if not any(_is_constructor_of(row, each) for each in search.reader.symbols_in(row.path))
        }
        found |= frontier
    return found


def _is_constructor_of(owner: Symbol, symbol: Symbol) -> bool:
    """Whether a symbol is a constructor of the given class."""
    container, _, name = symbol.label.rpartition(".")
    return container == owner.label and (name in CONSTRUCTORS or name == owner.name)


def _uses_of_removed(search: GraphSearch, changes: Sequence[SymbolChange]) -> list[BrokenCaller]:
    """Return the remaining uses of removed definitions, found by name."""
    found: list[BrokenCaller] = []
    for change in changes:
        if change.kind != REMOVED or change.before is None or _is_still_defined(search, change):
            continue
        row = Symbol(
            change.label, change.name, change.before.kind, change.line, change.before.end_line, path=change.path_before
        )
        uses = search.uses(Target(row, (), frozenset(), change.label))
        reason = f"removed{f', now at {change.moved_to}' if change.moved_to else ''}"
        is_certain = not change.before.container
        used = [use for use in uses.possible if use.kind in _CHECKED_USE_KINDS]
        found += [_broken_caller(use, change.label, reason, is_certain=is_certain) for use in used]
        if not search.reader.symbols_named(change.name):
            found += _undefined_names(search, change, reason, {(use.path, use.line) for use in used})
    return found


def _undefined_names(
    search: GraphSearch, change: SymbolChange, reason: str, known: set[tuple[str, int]]
) -> list[BrokenCaller]:
    """Return the lines of code that contain the name of a removed definition, if no other definition has this name.

    Text is searched because, in some languages, the graph contains no reference to a name without a definition. A line
    certainly fails if the name is unqualified, and is the name of a removed function, type or constant.
    """
    places = [place for place in search.code_lines_with(change.name) if place not in known]
    texts = search.source.lines(places)
    found = []
    for path, line in places:
        language = detect(path)
        if language is None or language.name != change.language:
            continue
        before = texts.get((path, line), "").partition(change.name)[0].rstrip()
        is_certain = change.before is not None and not change.before.container and not before.endswith((".", ":", ">"))
        caller = _enclosing_label(search.reader.symbols_in(path), line)
        found.append(BrokenCaller(path, line, caller, change.label, reason, is_certain))
    return found


def _enclosing_label(symbols: Iterable[Symbol], line: int) -> str:
    """Return the label of the innermost definition that contains a line, or an empty string."""
    around = [each for each in symbols if each.line <= line <= each.end_line]
    return min(around, key=lambda each: each.end_line - each.line).label if around else ""


def _is_still_defined(search: GraphSearch, change: SymbolChange) -> bool:
    """Whether a removed name is still defined in the same file or, for a member, in any file."""
    named = search.reader.symbols_named(change.name)
    if change.before is not None and change.before.container:
        return bool(named)
    return any(row.path == change.path and row.label == change.label for row in named)


def _broken_caller(row: ReferenceRow, callee: str, reason: str, *, is_certain: bool | None = None) -> BrokenCaller:
    certain = row.certain if is_certain is None else is_certain
    return BrokenCaller(row.path, row.line, bare_key(row.source_key), callee, reason, certain)
