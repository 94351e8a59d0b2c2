"""The read path of the graph: from what the caller names to symbols, their references, their neighbourhood."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from deltos.domains.graph.arity import argument_count, parameter_count
from deltos.domains.graph.decorators import Decorator, handing_on
from deltos.domains.graph.exports import listed_in_all
from deltos.domains.graph.implementing import Relatives
from deltos.domains.graph.languages import hiding_uses, is_declared, is_resolved, is_same_world
from deltos.domains.graph.model import ALIAS, UNPARSED, UNREAD
from deltos.domains.graph.query import (
    Place,
    SymbolQuery,
    case_note,
    ends_with,
    inside,
    is_called,
    is_of_kind,
    module_name,
    parse_place,
    parse_query,
    path_filter,
    pattern_matcher,
    qualified_name,
)  # fmt: skip
from deltos.domains.graph.reached import ReachedNames
from deltos.domains.graph.source import Source, occurrences
from deltos.domains.graph.unlisted import COMPLETE, TextComparison, compare_with_text, lines_with
from deltos.domains.graph.uses import BROKEN_IMPORT, as_group, merged
from deltos.errors import BadArgument, NotFound
from deltos.languages.table import detect
from deltos.store.graph import ReferenceRow
from deltos.store.symbols import Symbol
from deltos.text.counts import counted
from deltos.text.near_names import names_like
from deltos.workspace.identity import folder_in_checkout
from deltos.workspace.purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from deltos.domains.graph.uses import Use, UseGroup
    from deltos.store.project import ProjectFiles, ProjectStore

_P = ParamSpec("_P")
_T = TypeVar("_T")
_SUGGESTIONS = 3
_HINT_CHARACTERS = 200
_LINES_NAMED = 8
_MOST_COUNTED = 500  # mentions whose lines are read to see how many arguments they give
_MOST_COMPARED = 5_000  # uses of other definitions of a name: with more, the text is not compared with them
_NOT_READ = frozenset({"too large", "unreadable", "failed"})  # reasons of skipping a file that may be code
_CALLABLE = frozenset({"function", "method", "component"})
_LINKED = (".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh")
_SEPARATE_NAMES = (".java", ".php")  # languages in which a field, a method and a type may share a name
_DEFINING_KINDS = frozenset({"inherit", "write", "import"})  # what the line of a definition does to its own name


@dataclass(frozen=True, slots=True)
class Target:
    """One thing that may be meant: a symbol with all its definitions (overloads, a property's setter), or a module."""

    first: Symbol
    node_ids: tuple[int, ...]
    places: frozenset[tuple[str, int]]

    @property
    def name(self) -> str:
        """Its name with its module."""
        return qualified_name(self.first)

    @property
    def elsewhere(self) -> list[tuple[str, int]]:
        """The files that define it as well, each with the line."""
        return sorted(place for place in self.places if place[0] != self.first.path)


@dataclass(frozen=True, slots=True)
class Scope:
    """A file or folder of the project; the empty path is the project."""

    path: str
    is_file: bool


@dataclass(frozen=True, slots=True)
class FoundReferences:
    """Places that refer to a target: surely, surely but under another name, through what it implements or what
    implements it, and perhaps.

    `others` are the definitions that a place may name instead of the target: bases that it overrides, and overrides.
    `sharing` counts the definitions of the name; `namesakes` are the others that are used, `elsewhere` counts their
    uses, `unlike` calls that give another number of arguments, `outside` what a filter left out. `is_resolved` is
    false where only definitions of the language are known; `is_cut`: the name has more definitions than are compared,
    so that some through which the target is used may be missing. `test_files`: how many files of tests were looked at,
    counted where none of them has a use. `unresolved` counts the files that may have uses and are not resolved, by
    extension, `unread` are those that were not read at all. `within` is the folder of the repository that is the
    project, where that is not the whole of it. `shared` are lines on which another definition of the name is used or
    defined, too. `decorators` are those of the target that may hand it on to what calls it, `listed` the places where
    modules of Python list it in `__all__`.
    """

    target: Target
    certain: tuple[ReferenceRow, ...]
    aliased: tuple[ReferenceRow, ...]
    possible: tuple[ReferenceRow, ...]
    sharing: int
    through: tuple[ReferenceRow, ...] = ()
    others: Mapping[int, Symbol] = field(default_factory=dict)
    bases: frozenset[int] = frozenset()
    namesakes: tuple[Symbol, ...] = ()
    elsewhere: int = 0
    unlike: int = 0
    outside: int = 0
    is_resolved: bool = True
    is_cut: bool = False
    test_files: int = 0
    unresolved: Mapping[str, int] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    within: str = ""
    shared: frozenset[tuple[str, int]] = frozenset()
    text: TextComparison = COMPLETE
    decorators: tuple[Decorator, ...] = ()
    listed: tuple[tuple[str, int], ...] = ()

    def paths(self) -> set[str]:
        """The files of all places."""
        return {row.path for rows in (self.certain, self.aliased, self.possible, self.through) for row in rows}

    def narrowed(self, keeps: Callable[[str], bool]) -> FoundReferences:
        """Those in the files that are kept; the others are counted."""
        kinds = (self.certain, self.aliased, self.possible, self.through)
        certain, aliased, possible, through = (tuple(row for row in rows if keeps(row.path)) for rows in kinds)
        outside = {(row.path, row.line) for rows in kinds for row in rows if not keeps(row.path)}
        return replace(self, certain=certain, aliased=aliased, possible=possible, through=through, outside=len(outside))

    def way(self, row: ReferenceRow) -> str:
        """How a certain row reaches the target: `direct`, under an `alias`, through an `interface` or base that it
        implements, or through an `override` of it."""
        if not self.via(row):
            return ALIAS if row.origin == ALIAS else "direct"
        return "interface" if row.target_id in self.bases else "override"

    def via(self, row: ReferenceRow) -> str:
        """The definition that a place names, where that is another than the target; else empty."""
        other = self.others.get(row.target_id)
        return other.label if other is not None and row.target_id not in self.target.node_ids else ""


@dataclass(frozen=True, slots=True)
class Impact:
    """Who is affected by a change of a target: by distance, tests apart. `lines`: where direct dependants use it;
    `through`: those that use what it implements or overrides, or that override it; `possible`: lines that may use it,
    which are not followed. `distances`: how many steps away each symbol is, tests too, by its node."""

    target: Target
    levels: tuple[tuple[Symbol, ...], ...]
    tests: tuple[Symbol, ...]
    lines: Mapping[int, tuple[Use, ...]] = field(default_factory=dict)
    through: frozenset[int] = frozenset()
    possible: tuple[Use, ...] = ()
    is_resolved: bool = True
    is_cut: bool = False
    unresolved: Mapping[str, int] = field(default_factory=dict)
    distances: Mapping[int, int] = field(default_factory=dict)
    unread: tuple[str, ...] = ()
    within: str = ""
    text: TextComparison = COMPLETE
    decorators: tuple[Decorator, ...] = ()
    listed: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """A symbol and its neighbourhood."""

    target: Target
    callers: tuple[UseGroup, ...]
    other_references: tuple[UseGroup, ...]
    callees: tuple[Symbol, ...]
    overridden: tuple[Symbol, ...]
    bases: tuple[Symbol, ...]
    subclasses: tuple[Symbol, ...]
    members: tuple[Symbol, ...]


def _reading_one_state(
    method: Callable[Concatenate[GraphSearch, _P], _T],
) -> Callable[Concatenate[GraphSearch, _P], _T]:
    """The method sees one state of the graph, whatever is written meanwhile; a store with standbys may ask one."""

    @wraps(method)
    def read(self: GraphSearch, /, *arguments: _P.args, **named: _P.kwargs) -> _T:
        with self.reader.snapshot():
            return method(self, *arguments, **named)

    return read


class GraphSearch:
    """Answers questions about one project's graph."""

    def __init__(self, store: ProjectStore, root: Path) -> None:
        self.reader = store.graph
        self.root = root
        self.source = Source(root, store)
        self._files: ProjectFiles = store
        self._code = store.code

    # --- symbols

    @_reading_one_state
    def find(
        self, symbol: str, *, path: str = "", kinds: frozenset[str] = frozenset(), suggests: bool = True
    ) -> list[Symbol]:
        """Definitions of a name or matching a pattern, best first; NotFound when there are none, with suggestions where
        they are wanted: finding them takes longer than finding a symbol."""
        in_path = path_filter(self.root, path)
        if place := self._place(symbol):
            found = self._symbols_at(place, symbol)
        else:
            query = parse_query(symbol)
            found = self._matching(query)
            if not found:
                raise self._not_found(symbol, query, suggests=suggests)
        kept = [row for row in found if in_path(row.path) and is_of_kind(row, kinds)]
        if not kept:
            where = f" below '{path}'" if path.strip() else ""
            what = f" of kind {', '.join(sorted(kinds))}" if kinds else ""
            raise NotFound(
                f"Symbol '{symbol}'{what} not found{where}",
                hint=f"It has {counted(len(found), 'definition')} elsewhere or of other kinds.",
            )
        return sorted(kept, key=lambda row: (is_test(row.path), row.kind == "variable", row.path, row.line))

    def _matching(self, query: SymbolQuery) -> list[Symbol]:
        if query.form == "pattern":
            if literal := self.reader.symbols_named(query.text):  # `my-element`, `save!`, `operator==`
                return literal
            matches = pattern_matcher(query.text)
            return [row for name in self.reader.names() if matches(name) for row in self.reader.symbols_named(name)]
        if query.form == "name":
            return (
                self.reader.symbols_named(query.text)
                or list(self._reached_names.find(query.text).symbols)
                or self.reader.symbols_named(query.text, any_case=True)
            )
        candidates = self.reader.symbols_named(query.last)
        named = [row for row in candidates if is_called(row, query.text)]
        parts = query.text.split(".")
        while query.form == "namespaced" and not named and len(parts) > 1:  # folders rarely repeat a whole namespace
            parts = parts[1:]
            named = [row for row in candidates if row.path.endswith(".php") and is_called(row, ".".join(parts))]
        return named or list(self._reached_names.find(query.text).symbols)

    @cached_property
    def _reached_names(self) -> ReachedNames:
        return ReachedNames(self.reader, self._code, self.source)

    @_reading_one_state
    def note_on(self, symbol: str) -> str:
        """Through what a name means something that is defined elsewhere or by another name, or that a plain one is
        found in other case only; empty where it is defined as it is written."""
        if not symbol.strip() or self._place(symbol) is not None:
            return ""
        query = parse_query(symbol)
        if query.form == "name":
            if note := self.alias_note(symbol):
                return f"Note: {note}."
            is_written = bool(self.reader.symbols_named(query.text))
            rows = () if is_written else self.reader.symbols_named(query.text, any_case=True)
            return case_note(symbol, [row.name for row in rows])
        if query.form != "dotted":
            return ""
        if any(is_called(row, query.text) for row in self.reader.symbols_named(query.last)):
            return ""
        through = self._reached_names.find(query.text).through
        return f"Note: {symbol.strip()} is defined elsewhere: {through}." if through else ""

    @_reading_one_state
    def alias_note(self, symbol: str) -> str:
        """What a plain name means that nothing is defined by and that imports give to something; else empty."""
        query = parse_query(symbol) if symbol.strip() else None
        if query is None or query.form != "name" or self.reader.symbols_named(query.text):
            return ""
        through = self._reached_names.find(query.text).through
        return f"{query.text} is {through}" if through else ""

    def _not_found(self, symbol: str, query: SymbolQuery, *, suggests: bool) -> NotFound:
        if _is_file_name(symbol):
            return self._no_such_file(symbol)
        is_pattern = query.form == "pattern"
        message = f"No symbol matches '{symbol}'." if is_pattern else f"Symbol '{symbol}' not found."
        hint = (self.near_names(symbol) or self._searched()) if suggests else ""
        if suggests and not is_pattern and (places := lines_with(query.last, self._code, self.source)):
            named = ", ".join(f"{path}:{line}" for path, line in places[:_LINES_NAMED])
            more = f" and {len(places) - _LINES_NAMED} more" if len(places) > _LINES_NAMED else ""
            hint = f"{counted(len(places), 'line')} with the name: {named}{more}. {hint}"
        if self.within:
            hint = f"{hint} Only {self.within} was looked at: ask in the root of its repository for the rest.".lstrip()
        return NotFound(message, hint=hint)

    def _searched(self) -> str:
        symbols, files = self.reader.symbol_count(), len(self.reader.paths())
        return f"Searched {counted(symbols, 'symbol')} in {counted(files, 'file')}."

    @_reading_one_state
    def near_names(self, symbol: str) -> str:
        """What may have been meant by a name that no symbol has, as a question; empty where nothing is like it."""
        query = parse_query(symbol)
        near = self._suggestions(query) if query.form != "pattern" else []
        return f"Did you mean: {', '.join(near)}?" if near else ""

    def _no_such_file(self, path: str) -> NotFound:
        """A file was given in place of a symbol."""
        try:
            found = self.file(path)
        except NotFound:
            name = path.strip().rpartition("/")[2]
            named = [each for each in self.reader.paths() if each.rpartition("/")[2] == name][:_SUGGESTIONS]
            hint = f"There is {', '.join(named)}." if named else "It is gone, renamed, or not indexed."
            return NotFound(f"No file '{path}' in the graph.", hint=hint)
        keys = ", ".join(row.label for row in self.reader.symbols_in(found) if "." not in row.key)[:_HINT_CHARACTERS]
        return NotFound(f"'{path}' is a file, not a symbol.", hint=f"It defines {keys or 'nothing'}.")

    def _suggestions(self, query: SymbolQuery) -> list[str]:
        owner = query.text.rpartition(".")[0]
        members = self._reached_names.members(owner) if owner else {}
        if near_members := names_like(query.last, list(members), limit=_SUGGESTIONS):
            return [members[name].label for name in near_members]
        return names_like(query.last, list(self.reader.names()), limit=_SUGGESTIONS)

    @_reading_one_state
    def targets(self, symbol: str, *, suggests: bool = True) -> list[Target]:
        """The things that a name may mean, each with all its definitions; modules when no symbol has the name."""
        place = self._place(symbol)
        if _is_file_name(symbol) and (scope := self.scope(symbol)) is not None and scope.is_file:
            return [self.module(scope.path)]
        try:
            if place and place.line:
                return [self._target_at(place)]
            return _without_constructors(self._grouped(self.find(symbol, suggests=suggests)), symbol)
        except NotFound:
            modules = self._modules(parse_query(symbol)) if place is None else []
            if not modules:
                raise
            return modules

    def file(self, path: str) -> str:
        """The file of the graph that a path means, also one that only ends with it; NotFound unless there is one."""
        wanted = inside(self.root, path)
        paths = self.reader.paths()
        found = [wanted] if wanted in paths else [each for each in paths if each.endswith(f"/{wanted}")]
        if len(found) == 1:
            return found[0]
        if not found:
            raise NotFound(f"No file '{path}' in the graph", hint="Give its path below the project's root.")
        raise NotFound(f"{len(found)} files end with '{path}'", hint=f"Such as {', '.join(found[:_SUGGESTIONS])}.")

    def scope(self, symbol: str) -> Scope | None:
        """The folder or file that is meant in place of a symbol; a name that a symbol has is never a folder."""
        text = symbol.strip()
        if text in ("", ".", "./", "/"):
            return Scope("", is_file=False)
        if parse_place(text) is not None or any(mark in text for mark in "*?[(^$|") or "://" in text:
            return None
        paths = self.reader.paths()
        wanted = inside(self.root, text) if "/" in text or "." in text else text
        if wanted in paths:
            return Scope(wanted, is_file=True)
        is_folder = any(path.startswith(f"{wanted}/") for path in paths)
        if is_folder and ("/" in text or not self.reader.symbols_named(wanted)):
            return Scope(wanted, is_file=False)
        ending = [path for path in paths if path.endswith(f"/{wanted}")] if "." in wanted else []
        return Scope(ending[0], is_file=True) if len(ending) == 1 else None

    def _place(self, symbol: str) -> Place | None:
        """The place that a symbol is given by; `a.b::c` is one only where `a.b` is a file."""
        place = parse_place(symbol)
        if place is None or place.line:
            return place
        try:
            return replace(place, path=self.file(place.path))
        except NotFound:
            return None

    def _symbols_at(self, place: Place, symbol: str) -> list[Symbol]:
        if place.line:
            return [self._target_at(place).first]
        rows = self.reader.symbols_in(place.path)
        found = [row for row in rows if ends_with(row.key, place.name)]
        if not found:
            near = ", ".join(dict.fromkeys(row.label for row in rows if row.kind != "variable"))[:_HINT_CHARACTERS]
            raise NotFound(f"Symbol '{symbol}' not found", hint=f"{place.path} defines {near or 'nothing'}.")
        return found

    def _target_at(self, place: Place) -> Target:
        """The definition on a line, else the innermost one around it."""
        path = self.file(place.path)
        try:
            return self.at(f"{path}:{place.line}")
        except NotFound:
            around = [row for row in self.reader.symbols_in(path) if row.line <= place.line <= row.end_line]
            if not around:
                raise
            return self._grouped([max(around, key=lambda row: (row.line, -row.end_line))])[0]

    def _modules(self, query: SymbolQuery) -> list[Target]:
        if query.form == "pattern":
            return []
        return [self.module(path) for path in self.reader.paths() if ends_with(module_name(path), query.text)]

    def module(self, path: str) -> Target:
        """A file as a whole."""
        node_id = self.reader.module_node(path)
        row = Symbol("", module_name(path).rpartition(".")[2], "module", 1, 1, path=path, node_id=node_id or 0)
        return Target(row, (node_id,) if node_id else (), frozenset())

    @_reading_one_state
    def at(self, place: str) -> Target:
        """The definition on a line, given as FILE:LINE."""
        path, _, line = place.strip().rpartition(":")
        if not path or not line.isdigit():
            raise BadArgument(f"'{place}' is not FILE:LINE", hint="Such as src/app.py:12.")
        symbols = self.reader.symbols_in(path.removeprefix("./"))
        here = [row for row in symbols if row.line == int(line)] or self.reader.declared_again(path, int(line))
        if not here:
            raise NotFound(f"No definition on {place}", hint=_nearest(symbols, int(line)))
        best = min(here, key=lambda row: (row.kind == "variable", row.key.count(".")))
        others = [row for row in (*self._openings(best), *_overloads(best, symbols)) if row.node_id != best.node_id]
        places = {(best.path, int(line)), *[(row.path, row.line) for row in others if row.path == best.path]}
        ids = dict.fromkeys((best.node_id, *[row.node_id for row in others]))
        return Target(replace(best, line=int(line)), tuple(ids), frozenset(places))

    def _grouped(self, rows: Sequence[Symbol]) -> list[Target]:
        """Definitions of the same name in the same place as one target: overloads, a getter and its setter, and what
        is defined in several places, with all of them."""
        groups: dict[tuple[str, str, str], dict[int, Symbol]] = defaultdict(dict)
        for row in rows:
            place = "" if _is_opening(row) else row.path
            sort = _sort_of(row) if row.path.endswith(_SEPARATE_NAMES) else ""
            groups[(place, re.sub(r"#\d+", "", row.key), sort)][row.node_id] = row
        for group in groups.values():
            first = next(iter(group.values()))
            group.update((row.node_id, row) for row in self._openings(first) if row.node_id not in group)
        return [
            Target(next(iter(group.values())), tuple(group), frozenset((row.path, row.line) for row in group.values()))
            for group in groups.values()
        ]

    def _openings(self, symbol: Symbol) -> list[Symbol]:
        """Where else the same thing is defined, or goes on."""
        if not _is_opening(symbol):
            return []
        namesakes = self.reader.symbols_named(symbol.name)
        return [
            row
            for row in namesakes
            if row.label == symbol.label and _is_opening(row) and is_same_world(row.path, symbol.path)
        ]

    # --- references

    @_reading_one_state
    def references(self, target: Target) -> FoundReferences:
        """All places that refer to a target, and where there may be others; its own definition is none."""
        found = self.uses(target)
        in_tests = any(map(is_test, found.paths()))
        others = self.lines_of_namesakes(found)
        text = self.compared_with_text(found, others) if found.is_resolved else TextComparison(is_done=False)
        return replace(
            found,
            shared=frozenset(others or ()),
            test_files=self._test_files(target) if found.is_resolved and not in_tests else 0,
            unresolved={} if text.is_done else self._unresolved(target),
            unread=self._unread(target),
            within=self.within,
            text=text,
            decorators=self._decorators(target),
            listed=self._listed(target, [*found.certain, *found.aliased]),
        )

    def lines_of_namesakes(self, found: FoundReferences) -> set[tuple[str, int]] | None:
        """Where the other definitions of a target's name are, and where they are used; None where they are too many."""
        if found.elsewhere > _MOST_COMPARED:
            return None
        own = set(found.target.node_ids)
        uses = self.reader.references([row.node_id for row in found.namesakes]) if found.namesakes else []
        named = [row for row in self.reader.symbols_named(found.target.first.name) if row.node_id not in own]
        return {(row.path, row.line) for row in uses} | {(row.path, row.line) for row in named}

    def compared_with_text(self, found: FoundReferences, others: set[tuple[str, int]] | None) -> TextComparison:
        """What the text has of a target's name beside all that is known of it and of its namesakes (`others`)."""
        first = found.target.first
        if others is None:
            return TextComparison(is_done=False)
        rows = [*found.certain, *found.aliased, *found.possible, *found.through, *self.reader.mentions(first.name)]
        known = {(row.path, row.line) for row in rows} | others | found.target.places
        return compare_with_text(first, known, self._code, self.source, is_whole=not self.within)

    def uses(self, target: Target) -> FoundReferences:
        """All places that refer to a target; `references` also tells which files were not looked into."""
        # The target, what it overrides or adds to, and what overrides or adds to that: a call may mean any of them.
        above = self._closure(set(target.node_ids), self.reader.overridden)
        family = self._closure(above, self.reader.overriding)
        every = [*self.reader.references(family), *(self._definitions(family) if len(family) > 1 else ())]
        rows = [row for row in _once_per_line(every) if not _is_own_definition(row, target)]
        relatives = Relatives(self.reader)
        implemented = {row.node_id for row in relatives.implemented_by(target.first)} - family
        implementing = {row.node_id for row in relatives.implementations_of(target.first)} - family
        through = [row for row in self.reader.references(implemented | implementing) if row.certain]
        through += self._definitions(implementing)
        known = family | implemented | implementing
        every_named = self.reader.symbols_named(target.first.name)
        named = [row for row in every_named if is_same_world(row.path, target.first.path)]
        apart = [row for row in named if row.node_id not in known and not _is_constructor(row, {target.first.label})]
        uses = self.reader.reference_counts(row.node_id for row in apart)
        others = sorted((row for row in named if row.node_id in uses), key=lambda row: -uses[row.node_id])
        mentions = self._mentions(target)
        alike = self._alike(target, mentions)
        return FoundReferences(
            target,
            tuple(row for row in rows if row.certain and row.origin != ALIAS),
            tuple(row for row in rows if row.certain and row.origin == ALIAS),
            (*[row for row in rows if not row.certain], *alike),
            len({qualified_name(row) for row in named}),
            tuple(_once_per_line(through)),
            self._others(target, known),
            frozenset(above | implemented),
            namesakes=tuple(others),
            elsewhere=sum(uses.values()),
            unlike=len(mentions) - len(alike),
            is_resolved=is_resolved(target.first.path),
            is_cut=relatives.is_cut,
        )

    def _alike(self, target: Target, mentions: list[ReferenceRow]) -> list[ReferenceRow]:
        """Mentions without the calls that give another number of arguments than the target takes."""
        takes = {parameter_count(row) for row in self.reader.symbols(target.node_ids).values()}
        if not takes or None in takes or len(mentions) > _MOST_COUNTED:
            return mentions
        texts = self.source.lines((row.path, row.line) for row in mentions if row.kind == "call")
        given = {place: argument_count(text, target.first.name) for place, text in texts.items()}
        return [row for row in mentions if given.get((row.path, row.line)) in (None, *takes)]

    def _others(self, target: Target, node_ids: set[int]) -> dict[int, Symbol]:
        """Definitions that a place may name instead of the target; one declared again under its name is none."""
        rows = self.reader.symbols(node_ids - set(target.node_ids))
        return {i: row for i, row in rows.items() if (row.path, row.label) != (target.first.path, target.first.label)}

    @cached_property
    def _paths(self) -> list[str]:
        """Every file of the graph: read once for all targets of an answer."""
        return self.reader.paths()

    def _test_files(self, target: Target) -> int:
        """How many files of tests were looked at for uses of a target."""
        path = target.first.path
        return sum(is_test(each) and is_resolved(each) and is_same_world(each, path) for each in self._paths)

    def _unresolved(self, target: Target) -> dict[str, int]:
        """How many files may use a target and are not resolved, by their extensions."""
        hiding = hiding_uses(self._paths, target.first.path)
        return dict(Counter("." + path.rpartition(".")[2] for path in hiding).most_common())

    def _unread(self, target: Target) -> tuple[str, ...]:
        """The files that may use a target and were not read, or not to their end, each with the reason."""
        skipped = [(each.path, each.reason) for each in self._files.skipped().values() if each.reason in _NOT_READ]
        failed = [(each.path, "not read to its end") for each in self._files.failures() if each.indexer == "graph"]
        found = {path: reason for path, reason in (*failed, *skipped) if _is_code_of(path, target.first.path)}
        return tuple(f"{path} ({reason})" for path, reason in sorted(found.items()))

    def _decorators(self, target: Target) -> tuple[Decorator, ...]:
        """What may hand a target on to something that calls it."""
        rows = self.reader.symbols(target.node_ids).values()
        return tuple(dict.fromkeys(each for row in rows for each in handing_on(row, self.source)))

    def _listed(self, target: Target, uses: Iterable[ReferenceRow]) -> tuple[tuple[str, int], ...]:
        """Where a target is listed in `__all__`: of its module, and of those that import it or the whole module."""
        module = self.reader.module_node(target.first.path)
        rows = [*uses, *(self.reader.references([module]) if module else ())]
        paths = {row.path for row in rows if row.kind == "import" and row.certain}
        return tuple(listed_in_all(target.first, paths, self.source))

    @cached_property
    def within(self) -> str:
        """The folder of the repository that the project is; empty where it is the whole of it."""
        return folder_in_checkout(self.root)

    @staticmethod
    def _closure(start: set[int], step: Callable[[Iterable[int]], set[int]]) -> set[int]:
        found = set(start)
        frontier = start
        while frontier:
            frontier = step(frontier) - found
            found |= frontier
        return found

    def _definitions(self, node_ids: set[int]) -> list[ReferenceRow]:
        """Where members are defined, as uses of what they override."""
        rows = self.reader.symbols(node_ids).values()
        return [ReferenceRow(r.path, r.line, r.key, "inherit", "override", True, r.node_id, r.node_id) for r in rows]

    def _mentions(self, target: Target) -> list[ReferenceRow]:
        """Uses of the name that may mean a target: of a member those on values of unknown type, of anything else those
        in files that import the name from where it is not, in macros that are not read as code, and beside syntax
        errors."""
        found = [row for row in self.reader.mentions(target.first.name) if is_same_world(row.path, target.first.path)]
        uses = [row for row in found if row.kind != "import"]
        if "." in target.first.key:
            return self._as_members(uses, target.first.name)
        tokens = [row for row in uses if row.kind in (UNREAD, UNPARSED)]
        uses = [row for row in uses if row.kind not in (UNREAD, UNPARSED)]
        imports = [row for row in found if row.kind == "import"]
        files, used = {row.path for row in imports}, {(row.path, row.line) for row in uses}
        broken = [row for row in imports if (row.path, row.line) not in used]
        return [*[replace(row, origin=BROKEN_IMPORT) for row in (*broken, *uses) if row.path in files], *tokens]

    def _as_members(self, rows: list[ReferenceRow], name: str) -> list[ReferenceRow]:
        """Rows without those in code that cannot be parsed whose line has the name nowhere after a dot."""
        texts = self.source.lines((row.path, row.line) for row in rows if row.kind == UNPARSED)
        plain = {place for place, text in texts.items() if not _is_member_in(text, name)}
        return [row for row in rows if row.kind != UNPARSED or (row.path, row.line) not in plain]

    # --- impact

    @_reading_one_state
    def impact(self, target: Target) -> Impact:
        """Everything that depends on a target, step by step; circles are entered once."""
        members = [row.node_id for row in self._members(target)]
        seen = {*target.node_ids, *members}
        first = [row for row in self.reader.references(seen) if row.certain]
        relatives = Relatives(self.reader)
        through = self._through(target, relatives) if target.first.kind in _CALLABLE else []
        found = [row for row in (*first, *through) if row.source_id not in seen]
        direct: dict[int, list[ReferenceRow]] = defaultdict(list)
        for row in found:
            direct[row.source_id].append(row)
        levels: list[tuple[Symbol, ...]] = []
        tests: list[Symbol] = []
        distances: dict[int, int] = {}
        distance = 0
        while found:
            sources = {row.source_id for row in found}
            seen |= sources
            distance += 1
            distances |= dict.fromkeys(sources, distance)
            rows = self._described(sources)
            tests.extend(row for row in rows if is_test(row.path))
            level = tuple(row for row in rows if not is_test(row.path))
            if level:
                levels.append(level)
            # What stands at the top of a file runs on import: that reaches the file, not everybody who imports it.
            frontier = {row.node_id for row in rows if row.key}
            found = [row for row in self.reader.references(frontier) if row.certain and row.source_id not in seen]
        unresolved = self._unresolved(target)
        text = COMPLETE
        if is_resolved(target.first.path) and (unresolved or not (levels or tests)):
            uses = self.uses(target)
            text = self.compared_with_text(uses, self.lines_of_namesakes(uses))
        return Impact(
            target,
            tuple(map(_without_files, levels)),
            _without_files(tests),
            {source: tuple(merged(rows)) for source, rows in direct.items()},
            frozenset(direct.keys() - {row.source_id for row in first}),
            tuple(self._unsure(target, () if direct else members)),
            is_resolved(target.first.path),
            relatives.is_cut,
            {} if text.is_done else unresolved,
            distances,
            self._unread(target),
            self.within,
            text,
            self._decorators(target),
            self._listed(target, first),
        )

    def _through(self, target: Target, relatives: Relatives) -> list[ReferenceRow]:
        """Uses of what a function implements or overrides, which may run it, and where it is overridden."""
        above = self._closure(set(target.node_ids), self.reader.overridden) - set(target.node_ids)
        uses = self.reader.references(above | {row.node_id for row in relatives.implemented_by(target.first)})
        below = {row.node_id for row in relatives.implementations_of(target.first)}
        called = [row for row in uses if row.certain and row.kind != "inherit"]
        return [*called, *self._definitions(below)]

    def _unsure(self, target: Target, members: Sequence[int]) -> list[Use]:
        """Lines that may use a target; of a class that nothing surely uses, also those that may use its members."""
        rows = [row for row in self.reader.references([*target.node_ids, *members]) if not row.certain]
        names = {row.name for row in self.reader.symbols(members).values() if row.kind in _CALLABLE}
        mentions = [row for name in sorted(names) for row in self.reader.mentions(name)]
        alike = [row for row in mentions if is_same_world(row.path, target.first.path) and row.kind != "import"]
        return merged([*rows, *self._mentions(target), *alike])

    def _described(self, node_ids: set[int]) -> list[Symbol]:
        known = self.reader.symbols(node_ids)
        places = self.reader.nodes(node_ids - known.keys())
        rows = [
            *known.values(),
            *[Symbol("", "", "file", 1, 1, path=path, node_id=i) for i, (path, key) in places.items() if not key],
        ]
        return sorted(rows, key=lambda row: (row.path, row.line))

    # --- context

    @_reading_one_state
    def context(self, target: Target) -> Context:
        """A symbol's definition and neighbourhood."""
        references = self.uses(target)
        every = (*references.certain, *references.aliased)
        members = self._members(target)
        inside = [*target.node_ids, *[row.node_id for row in members]]
        paths = dict.fromkeys((target.first.path, *[row.path for row in members]))
        outgoing = [row for path in paths for row in self.reader.outgoing(path, inside)]
        own = [row for row in outgoing if row.source_id in target.node_ids]
        through = [row for row in references.through if row.kind == "call"]
        return Context(
            target,
            callers=(
                *as_group("callers", [row for row in every if row.kind == "call"]),
                *as_group("callers through what it implements or overrides", through),
            ),
            other_references=as_group(
                "other references", [row for row in every if row.kind != "call" and row.kind != "inherit"]
            ),
            callees=self._targets_of(outgoing if target.first.kind not in _CALLABLE else own, "call"),
            overridden=tuple(row for i, row in references.others.items() if i in references.bases),
            bases=self._targets_of(own, "inherit"),
            subclasses=tuple(self._heirs(target, every)),
            members=tuple(members),
        )

    def _heirs(self, target: Target, rows: Iterable[ReferenceRow]) -> list[Symbol]:
        """What inherits from a target; a class without a name is left out, which its methods would stand for."""
        found = self.reader.symbols(row.source_id for row in rows if row.kind == "inherit").values()
        return [row for row in found if (row.kind in _CALLABLE) <= (target.first.kind in _CALLABLE)]

    def _targets_of(self, rows: Iterable[ReferenceRow], kind: str) -> tuple[Symbol, ...]:
        wanted = [row.target_id for row in rows if row.kind == kind and row.certain]
        found = self.reader.symbols(wanted)
        return tuple(found[node_id] for node_id in dict.fromkeys(wanted) if node_id in found)

    def _members(self, target: Target) -> list[Symbol]:
        """The direct members of a class or module."""
        if target.first.kind in _CALLABLE or target.first.kind == "variable":
            return []
        openings = self.reader.symbols(target.node_ids[1:]).values() if _is_opening(target.first) else ()
        return [row for opening in (target.first, *openings) for row in self._members_in(opening)]

    def _members_in(self, owner: Symbol) -> list[Symbol]:
        prefix = f"{owner.key}." if owner.key else ""
        inside = [row for row in self.reader.symbols_in(owner.path) if row.key.startswith(prefix)]
        return [row for row in inside if "." not in row.key[len(prefix) :]]


def _is_file_name(symbol: str) -> bool:
    """Whether a symbol is written like a file: its ending is that of a language."""
    text = symbol.strip()
    return "." in text and "::" not in text and ":" not in text and detect(text) is not None


def _is_code_of(path: str, of: str) -> bool:
    """Whether a file is of a language, as far as its name tells, that may use what another defines."""
    return detect(path) is not None and is_same_world(path, of)


def _once_per_line(rows: Iterable[ReferenceRow]) -> list[ReferenceRow]:
    """Rows in order, without a definition's own line where an edge already stands on it."""
    seen: set[tuple[str, int, str]] = set()
    kept: list[ReferenceRow] = []
    for row in rows:
        place = (row.path, row.line, row.kind)
        if row.kind != "inherit" or place not in seen:
            kept.append(row)
        seen.add(place)
    return sorted(kept, key=lambda row: (row.path, row.line))


def _is_own_definition(row: ReferenceRow, target: Target) -> bool:
    """Whether a row is no use but the line that defines the target; a call on that line is a use."""
    if (row.path, row.line) not in target.places:
        return False
    return row.kind in _DEFINING_KINDS or row.origin in ("override", "merge")


def _is_member_in(text: str, name: str) -> bool:
    """Whether a name stands after a dot in a line, or begins it: the dot may end the line before."""
    before = [text[:at].rstrip() for at in occurrences(text, name)]
    return any(not each or each.endswith((".", "->", "::")) for each in before)


def _without_files(rows: Iterable[Symbol]) -> tuple[Symbol, ...]:
    """Symbols, without the files that they stand in: that a file imports what it uses goes without saying."""
    kept = list(rows)
    named = {row.path for row in kept if row.key}
    return tuple([row for row in kept if row.key or row.path not in named])


def _is_opening(row: Symbol) -> bool:
    """Whether a definition may be one of several that are one: a module that Ruby opens again, a part of a class of C#,
    a function of C that another file may define for another platform."""
    if row.path.endswith(".rb"):
        return row.kind in ("class", "module")
    if row.path.endswith(".cs"):
        return row.kind in ("class", "interface") and "partial" in row.signature.split()
    return row.path.endswith(_LINKED) and row.kind == "function" and not row.signature.startswith("static ")


def _without_constructors(targets: list[Target], symbol: str) -> list[Target]:
    """Targets but for the constructors of types among them, whose uses are uses of the types, unless asked for."""
    types = {target.first.label for target in targets if target.first.kind not in _CALLABLE}
    return [
        target
        for target in targets
        if not _is_constructor(target.first, types) or symbol.strip().endswith(target.first.label)
    ]


def _is_constructor(row: Symbol, types: Collection[str]) -> bool:
    owner, _, name = row.label.rpartition(".")
    return row.kind in _CALLABLE and owner in types and owner.rpartition(".")[2] == name


def _sort_of(row: Symbol) -> str:
    """What tells a function from a variable or a type of its name."""
    return "function" if row.kind in _CALLABLE else "value" if row.kind in ("variable", "property") else "type"


def _overloads(symbol: Symbol, symbols: Iterable[Symbol]) -> list[Symbol]:
    """The other definitions of a function or type in the same file, where uses are not told apart: overloads, and
    `typedef struct node node;` before the node."""
    if not is_declared(symbol.path):
        return []
    return [row for row in symbols if row.label == symbol.label and _sort_of(row) == _sort_of(symbol)]


def _nearest(symbols: Sequence[Symbol], line: int) -> str:
    if not symbols:
        return "The file is not indexed, or defines nothing."
    near = sorted(symbols, key=lambda row: abs(row.line - line))[:_SUGGESTIONS]
    return "Nearest: " + ", ".join(f"{row.label} on line {row.line}" for row in near) + "."
