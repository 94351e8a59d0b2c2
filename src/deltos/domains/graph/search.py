"""Read access to the graph of one project: symbols, references, impact and context."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from deltos.domains.graph.arity import argument_count, parameter_count
from deltos.domains.graph.declared.languages import is_declared, traits_of
from deltos.domains.graph.decorators import Decorator, opaque_decorators
from deltos.domains.graph.exports import dunder_all_locations
from deltos.domains.graph.facts import StoredProjectFacts
from deltos.domains.graph.indirect_names import IndirectNameFinder
from deltos.domains.graph.languages import can_refer_to, is_member, is_resolved, unresolved_files
from deltos.domains.graph.model import ALIAS, THROUGH, UNPARSED, UNPARSED_MACRO
from deltos.domains.graph.overrides import OverrideFinder
from deltos.domains.graph.qualified_names import QualifiedNames, ends_with, module_name, qualified_name
from deltos.domains.graph.source_lines import SourceLines, occurrences
from deltos.domains.graph.symbol_query import (
    SymbolLocation,
    SymbolQuery,
    case_note,
    is_of_kind,
    parse_location,
    parse_query,
    path_filter,
    pattern_matcher,
    relative_path,
)  # fmt: skip
from deltos.domains.graph.text_comparison import NO_UNKNOWN_LINES, TextComparison, code_lines_with, compare_with_text
from deltos.domains.graph.uses import BROKEN_IMPORT, THROUGH_UNKNOWN_TYPE, as_use_groups, merge_by_line
from deltos.errors import BadArgument, NotFound
from deltos.languages.table import detect
from deltos.store.graph import ReferenceRow
from deltos.store.symbols import Symbol
from deltos.text.counts import counted, first_names
from deltos.text.identifiers import dotted
from deltos.text.similar_names import similar_names
from deltos.workspace.file_purpose import is_selected, is_test
from deltos.workspace.identity import path_in_checkout

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from deltos.domains.graph.uses import Use, UseGroup
    from deltos.store.project import ProjectFiles, ProjectStore

_P = ParamSpec("_P")
_T = TypeVar("_T")
_MAX_SUGGESTIONS = 3
_MAX_HINT_CHARACTERS = 200
_MAX_NAMED_LINES = 8
_MAX_MENTIONS_READ = 500  # maximum number of uncertain references whose source lines are read
_MAX_OTHER_USES = 5_000  # maximum number of uses of other definitions with the same name for which the text is compared
# Reasons why a file that may contain uses was not indexed.
_UNREAD_REASONS = frozenset({"too large", "unreadable", "failed"})
_EDGE_INDEXERS = frozenset({"", "graph", "graph/edges"})  # indexers whose failure leaves a file without references
_CALLABLE_KINDS = frozenset({"function", "method", "component"})
_SEPARATOR = re.compile(r"::|->|[.#\\]")
# Edges of these kinds are not uses if they are on the line of a definition.
_DEFINING_EDGE_KINDS = frozenset({"inherit", "write", "import"})


@dataclass(frozen=True, slots=True)
class Target:
    """A symbol with all definitions of the symbol (such as overloads or a property's setter), or a module."""

    first: Symbol
    node_ids: tuple[int, ...]
    locations: frozenset[tuple[str, int]]
    name: str  # qualified name in the notation of the language

    @property
    def path_name(self) -> str:
        """Symbol name qualified by the path of the file, such as `shop.cart.Cart.add`."""
        return qualified_name(self.first)

    @property
    def other_locations(self) -> list[tuple[str, int]]:
        """Locations of the definitions that are in other files than the first definition."""
        return sorted(location for location in self.locations if location[0] != self.first.path)


@dataclass(frozen=True, slots=True)
class Scope:
    """A file or folder of the project; an empty path means the whole project."""

    path: str
    is_file: bool


@dataclass(frozen=True, slots=True)
class Completeness:
    """Reasons why an answer about a target may be incomplete."""

    is_resolved: bool = True  # false if the language is indexed with definitions only, without references
    is_truncated: bool = False  # true if not all definitions with the name were compared
    # Number of files whose references are not resolved, by file extension.
    unresolved_counts: Mapping[str, int] = field(default_factory=dict)
    unread_files: tuple[str, ...] = ()  # files that were not indexed, with the reason
    # Path of the project in its git repository; empty if the project is the whole repository.
    repository_folder: str = ""
    text_comparison: TextComparison = NO_UNKNOWN_LINES
    decorators: tuple[Decorator, ...] = ()  # decorators of the target that may register it with a framework
    dunder_all_locations: tuple[tuple[str, int], ...] = ()  # lines where `__all__` lists the target


@dataclass(frozen=True, slots=True)
class FoundReferences:
    """References to a target, with details about their completeness.

    `certain` references were resolved and use the target's own name; `aliased` references use an alias. `indirect`
    references refer to a related definition, such as a base, an override or a wrapper. `possible` references contain
    the target's name, but the type of the object before the name is unknown.
    """

    target: Target
    certain: tuple[ReferenceRow, ...]
    aliased: tuple[ReferenceRow, ...]
    possible: tuple[ReferenceRow, ...]
    definition_count: int  # number of definitions with the same name, including the target
    indirect: tuple[ReferenceRow, ...] = ()
    # Definitions that override the target or that the target overrides, by node id.
    related_definitions: Mapping[int, Symbol] = field(default_factory=dict)
    base_ids: frozenset[int] = frozenset()  # related definitions that the target implements or overrides
    wrapper_ids: frozenset[int] = frozenset()  # related definitions with the same name that call the target
    other_definitions: tuple[Symbol, ...] = ()  # unrelated definitions with the same name that are used somewhere
    other_definition_use_count: int = 0
    arity_mismatch_count: int = 0  # number of calls that were omitted because of a wrong number of arguments
    excluded_in_tests: int = 0  # number of lines in tests that `filtered` excluded
    excluded_outside_tests: int = 0  # number of lines outside tests that were excluded by `filtered`
    excluded_by_path: int = 0  # number of lines that `filtered` excluded because of their path
    test_file_count: int = 0  # number of test files that were searched, or 0 if any of them contains a use
    # Lines that use or define another definition with the same name.
    shared_lines: frozenset[tuple[str, int]] = frozenset()
    completeness: Completeness = field(default_factory=Completeness)

    @property
    def is_filtered(self) -> bool:
        """Whether `filtered` excluded any line."""
        return bool(self.excluded_in_tests or self.excluded_outside_tests or self.excluded_by_path)

    def paths(self) -> set[str]:
        """Return the files of all references."""
        return {row.path for rows in (self.certain, self.aliased, self.possible, self.indirect) for row in rows}

    def filtered(self, in_path: Callable[[str], bool], *, tests: str) -> FoundReferences:
        """Return a copy that contains only the references in selected files, with the number of excluded lines."""

        def is_wanted(path: str) -> bool:
            return in_path(path) and is_selected(path, tests)

        kinds = (self.certain, self.aliased, self.possible, self.indirect)
        certain, aliased, possible, indirect = (tuple(row for row in rows if is_wanted(row.path)) for rows in kinds)
        excluded = {(row.path, row.line) for rows in kinds for row in rows if not is_wanted(row.path)}
        inside = [path for path, _ in excluded if in_path(path)]
        return replace(
            self,
            certain=certain,
            aliased=aliased,
            possible=possible,
            indirect=indirect,
            excluded_in_tests=0 if tests == "only" else len(inside),
            excluded_outside_tests=len(inside) if tests == "only" else 0,
            excluded_by_path=len(excluded) - len(inside),
        )

    def link_kind(self, row: ReferenceRow) -> str:
        """Return how a resolved reference reaches the target: `direct`, `alias`, `interface` or `override`.

        The value `interface` is also returned for references to base classes of the target.
        """
        if not self.via_label(row):
            return ALIAS if row.origin == ALIAS else "direct"
        return "interface" if row.target_id in self.base_ids else "override"

    def via_label(self, row: ReferenceRow) -> str:
        """Return the label of the related definition to which a reference refers, or an empty string for the target."""
        other = self.related_definitions.get(row.target_id)
        return other.label if other is not None and row.target_id not in self.target.node_ids else ""


@dataclass(frozen=True, slots=True)
class Impact:
    """Symbols that a change of a target may affect."""

    target: Target
    levels: tuple[tuple[Symbol, ...], ...]  # affected symbols outside tests, grouped by distance from the target
    tests: tuple[Symbol, ...]
    lines: Mapping[int, tuple[Use, ...]] = field(default_factory=dict)  # uses of each direct dependant, by node id
    # Direct dependants that refer only to a base or an override of the target.
    indirect_ids: frozenset[int] = frozenset()
    possible: tuple[Use, ...] = ()  # lines that may use the target; their dependants are unknown
    distances: Mapping[int, int] = field(default_factory=dict)  # distance of each dependant, by node id
    completeness: Completeness = field(default_factory=Completeness)


@dataclass(frozen=True, slots=True)
class Context:
    """A symbol with its callers, callees, bases, subclasses and members."""

    target: Target
    callers: tuple[UseGroup, ...]
    other_references: tuple[UseGroup, ...]
    callees: tuple[Symbol, ...]
    overridden: tuple[Symbol, ...]
    bases: tuple[Symbol, ...]
    subclasses: tuple[Symbol, ...]
    implementations: tuple[Symbol, ...]  # types that implement a protocol or interface without naming it
    members: tuple[Symbol, ...]


def _in_one_snapshot(method: Callable[Concatenate[GraphSearch, _P], _T]) -> Callable[Concatenate[GraphSearch, _P], _T]:
    """Run the decorated method in one snapshot of the graph, which concurrent writes do not affect."""

    @wraps(method)
    def read(self: GraphSearch, /, *arguments: _P.args, **named: _P.kwargs) -> _T:
        with self.reader.snapshot():
            return method(self, *arguments, **named)

    return read


class GraphSearch:
    """Answers queries about the graph of one project."""

    def __init__(self, store: ProjectStore, root: Path) -> None:
        self.reader = store.graph
        self.root = root
        self.source = SourceLines(root, store)
        self._files: ProjectFiles = store
        self._code = store.code

    # --- symbols

    @_in_one_snapshot
    def find(
        self, symbol: str, *, path: str = "", kinds: frozenset[str] = frozenset(), suggests: bool = True
    ) -> list[Symbol]:
        """Return the definitions that match a name or pattern, definitions outside tests first.

        Raise NotFound if there are none. If `suggests` is true, the error contains similar names, which take time to
        find.
        """
        in_path = path_filter(self.root, path)
        if place := self._location(symbol):
            found = self._symbols_at(place, symbol)
        else:
            query = parse_query(symbol)
            found = self._find_matching(query)
            if not found:
                raise self._not_found_error(symbol, query, suggests=suggests)
        kept = [row for row in found if in_path(row.path) and is_of_kind(row, kinds)]
        if not kept:
            where = f" below '{path}'" if path.strip() else ""
            what = f" of kind {', '.join(sorted(kinds))}" if kinds else ""
            raise NotFound(
                f"Symbol '{symbol}'{what} not found{where}",
                hint=f"Found {counted(len(found), 'definition')} in other paths or of other kinds.",
            )
        return sorted(kept, key=lambda row: (is_test(row.path), row.kind == "variable", row.path, row.line))

    def _find_matching(self, query: SymbolQuery) -> list[Symbol]:
        """Return the definitions that match a parsed query, in any file."""
        if query.form == "pattern":
            if literal := self._find_literal(query.text):
                return literal
            matches = pattern_matcher(query.text)
            return [
                row for name in self.reader.defined_names() if matches(name) for row in self.reader.symbols_named(name)
            ]
        if query.form == "name":
            return (
                self.reader.symbols_named(query.text)
                or list(self._indirect_names.find(query.text).symbols)
                or self._find_qualified(query.text.replace("$", "."))  # a nested class in Java: `Bill$Line`
                or self.reader.symbols_named(query.text, any_case=True)
            )
        return (
            self._find_qualified(query.text)
            or self._find_qualified(query.text.replace("$", "."))
            or list(self._indirect_names.find(query.text).symbols)
        )

    def _find_qualified(self, name: str) -> list[Symbol]:
        return [row for row in self.reader.symbols_named(name.rpartition(".")[2]) if self.names.matches(row, name)]

    def _find_literal(self, text: str) -> list[Symbol]:
        """Return the definitions of a name that is not an identifier: `save!`, `Cart#total?`, `Cart::operator==`."""
        found = self.reader.symbols_named(text)
        for separator in () if found else _SEPARATOR.finditer(text):
            owner, last = dotted(text[: separator.start()]), text[separator.end() :]
            rows = self.reader.symbols_named(last) if owner and last else []
            found += [row for row in rows if self.names.matches(row, f"{owner}.{last}")]
        return found

    @cached_property
    def _facts(self) -> StoredProjectFacts:
        return StoredProjectFacts(self.reader.facts(), self.reader.languages())

    @cached_property
    def names(self) -> QualifiedNames:
        """Qualified names of all definitions in the project."""
        return QualifiedNames(self._facts)

    @cached_property
    def _indirect_names(self) -> IndirectNameFinder:
        return IndirectNameFinder(self.reader, self._code, self.source, self.names)

    @_in_one_snapshot
    def name_note(self, symbol: str) -> str:
        """Return a note if a symbol was found under another name or in another letter case, or an empty string."""
        if not symbol.strip() or self._location(symbol) is not None:
            return ""
        query = parse_query(symbol)
        if query.form == "name":
            if note := self.import_alias_note(symbol):
                return f"Note: {note}."
            is_written = bool(self.reader.symbols_named(query.text))
            rows = () if is_written else self.reader.symbols_named(query.text, any_case=True)
            return case_note(symbol, [row.name for row in rows])
        if query.form != "dotted":
            return ""
        if any(self.names.matches(row, query.text) for row in self.reader.symbols_named(query.last_part)):
            return ""
        explanation = self._indirect_names.find(query.text).explanation
        return f"Note: {symbol.strip()} is defined elsewhere: {explanation}." if explanation else ""

    @_in_one_snapshot
    def import_alias_note(self, symbol: str) -> str:
        """Return a description of a name that is only an import alias, or an empty string for other names."""
        query = parse_query(symbol) if symbol.strip() else None
        if query is None or query.form != "name" or self.reader.symbols_named(query.text):
            return ""
        explanation = self._indirect_names.find(query.text).explanation
        return f"{query.text} is {explanation}" if explanation else ""

    def _not_found_error(self, symbol: str, query: SymbolQuery, *, suggests: bool) -> NotFound:
        """Return the error for a query without matches, which lists similar names and lines with the name."""
        if _is_file_name(symbol):
            return self._file_name_error(symbol)
        is_pattern = query.form == "pattern"
        message = f"No symbol matches '{symbol}'." if is_pattern else f"Symbol '{symbol}' not found."
        hint = (self.similar_names_hint(symbol) or self._searched_counts()) if suggests else ""
        if suggests and not is_pattern and (places := self.code_lines_with(query.last_part)):
            named = first_names([f"{path}:{line}" for path, line in places], _MAX_NAMED_LINES)
            hint = f"The name occurs on {counted(len(places), 'line')}: {named}. {hint}"
        if folder := self.repository_folder:
            hint = f"{hint} Only {folder} was searched; ask in the repository root to search other folders.".lstrip()
        return NotFound(message, hint=hint)

    def code_lines_with(self, name: str) -> list[tuple[str, int]]:
        """Return the lines of code that contain a name, or no lines if there are too many."""
        return code_lines_with(name, self._code, self.source)

    def _searched_counts(self) -> str:
        """Return a sentence with the numbers of searched symbols and files."""
        symbols, files = self.reader.symbol_count(), len(self.reader.paths())
        return f"Searched {counted(symbols, 'symbol')} in {counted(files, 'file')}."

    @_in_one_snapshot
    def similar_names_hint(self, symbol: str) -> str:
        """Return similar names as a question (`Did you mean: …?`), or an empty string if there are none."""
        query = parse_query(symbol)
        near = self._similar_names(query) if query.form != "pattern" else []
        return f"Did you mean: {', '.join(near)}?" if near else ""

    def _file_name_error(self, path: str) -> NotFound:
        """Return the error for a file name that was given where a symbol name is required."""
        try:
            found = self.file(path)
        except NotFound:
            name = path.strip().rpartition("/")[2]
            named = [each for each in self.reader.paths() if each.rpartition("/")[2] == name][:_MAX_SUGGESTIONS]
            hint = f"Did you mean: {', '.join(named)}?" if named else "It was deleted or renamed, or it is not indexed."
            return NotFound(f"No file '{path}' in the graph.", hint=hint)
        keys = ", ".join(row.label for row in self.reader.symbols_in(found) if "." not in row.key)[
            :_MAX_HINT_CHARACTERS
        ]
        return NotFound(f"'{path}' is a file, not a symbol.", hint=f"It defines {keys or 'nothing'}.")

    def _similar_names(self, query: SymbolQuery) -> list[str]:
        """Return similar names of members of the same type or, if there are none, of any definition."""
        owner = query.text.rpartition(".")[0]
        members = self._indirect_names.members(owner) if owner else {}
        if near_members := similar_names(query.last_part, list(members), limit=_MAX_SUGGESTIONS):
            return [members[name].label for name in near_members]
        return similar_names(query.last_part, list(self.reader.defined_names()), limit=_MAX_SUGGESTIONS)

    @_in_one_snapshot
    def targets(self, symbol: str, *, suggests: bool = True) -> list[Target]:
        """Return the targets to which a name may refer, or the modules with this name if no symbol has it."""
        place = self._location(symbol)
        if _is_file_name(symbol) and (scope := self.scope(symbol)) is not None and scope.is_file:
            return [self.module(scope.path)]
        try:
            if place and place.line:
                return [self._target_at(place)]
            targets = self._group_into_targets(self.find(symbol, suggests=suggests))
            return _without_constructors(_without_fields_of_types(targets, parse_query(symbol)), symbol)
        except NotFound:
            modules = self._modules(parse_query(symbol)) if place is None else []
            if not modules:
                raise
            return modules

    def file(self, path: str) -> str:
        """Return the indexed file with this path or path suffix; raise NotFound unless there is exactly one."""
        wanted = relative_path(self.root, path)
        paths = self.reader.paths()
        found = [wanted] if wanted in paths else [each for each in paths if each.endswith(f"/{wanted}")]
        if len(found) == 1:
            return found[0]
        if not found:
            raise NotFound(f"No file '{path}' in the graph", hint="Give its path relative to the project's root.")
        raise NotFound(
            f"{len(found)} files end with '{path}'", hint=f"For example: {', '.join(found[:_MAX_SUGGESTIONS])}."
        )

    def scope(self, symbol: str) -> Scope | None:
        """Return the folder or file that `symbol` refers to, or None if it refers to neither.

        A symbol takes precedence over a folder with the same name.
        """
        text = symbol.strip()
        if text in ("", ".", "./", "/"):
            return Scope("", is_file=False)
        if parse_location(text) is not None or any(mark in text for mark in "*?[(^$|") or "://" in text:
            return None
        paths = self.reader.paths()
        wanted = relative_path(self.root, text) if "/" in text or "." in text else text
        if wanted in paths:
            return Scope(wanted, is_file=True)
        is_folder = any(path.startswith(f"{wanted}/") for path in paths)
        if is_folder and ("/" in text or not self.reader.symbols_named(wanted)):
            return Scope(wanted, is_file=False)
        ending = [path for path in paths if path.endswith(f"/{wanted}")] if "." in wanted else []
        return Scope(ending[0], is_file=True) if len(ending) == 1 else None

    def _location(self, symbol: str) -> SymbolLocation | None:
        """Parse a symbol as a location, or return None. `a.b::c` is a location only if `a.b` is a file."""
        place = parse_location(symbol)
        if place is None or place.line:
            return place
        try:
            return replace(place, path=self.file(place.path))
        except NotFound:
            return None

    def _symbols_at(self, place: SymbolLocation, symbol: str) -> list[Symbol]:
        """Return the definitions at a location.

        If there are none, raise an error that lists the definitions in the file.
        """
        if place.line:
            return [self._target_at(place).first]
        rows = self.reader.symbols_in(place.path)
        found = [row for row in rows if ends_with(row.key, place.name)]
        if not found:
            near = ", ".join(dict.fromkeys(row.label for row in rows if row.kind != "variable"))[:_MAX_HINT_CHARACTERS]
            raise NotFound(f"Symbol '{symbol}' not found", hint=f"{place.path} defines {near or 'nothing'}.")
        return found

    def _target_at(self, place: SymbolLocation) -> Target:
        """Return the definition that starts on a line, or the innermost definition that contains the line."""
        path = self.file(place.path)
        try:
            return self.target_on_line(f"{path}:{place.line}")
        except NotFound:
            around = [row for row in self.reader.symbols_in(path) if row.line <= place.line <= row.end_line]
            if not around:
                raise
            return self._group_into_targets([max(around, key=lambda row: (row.line, -row.end_line))])[0]

    def _modules(self, query: SymbolQuery) -> list[Target]:
        """Return the modules whose dotted name matches a query."""
        if query.form == "pattern":
            return []
        return [self.module(path) for path in self.reader.paths() if ends_with(module_name(path), query.text)]

    def module(self, path: str) -> Target:
        """Return the target that represents a file as a module."""
        node_id = self.reader.module_node(path)
        row = Symbol("", module_name(path).rpartition(".")[2], "module", 1, 1, path=path, node_id=node_id or 0)
        return Target(row, (node_id,) if node_id else (), frozenset(), module_name(path))

    @_in_one_snapshot
    def target_on_line(self, location: str) -> Target:
        """Return the definition on a line; the location has the form FILE:LINE."""
        path, _, line = location.strip().rpartition(":")
        if not path or not line.isdigit():
            raise BadArgument(f"'{location}' is not FILE:LINE", hint="Give a location such as src/app.py:12.")
        symbols = self.reader.symbols_in(path.removeprefix("./"))
        here = [row for row in symbols if row.line == int(line)] or self.reader.redeclared_by_line(path, int(line))
        if not here:
            raise NotFound(f"No definition on {location}", hint=_nearest_definitions_hint(symbols, int(line)))
        best = min(here, key=lambda row: (row.kind == "variable", row.key.count(".")))
        others = [
            row
            for row in (*self._other_parts(best), *_same_name_definitions(best, symbols))
            if row.node_id != best.node_id
        ]
        locations = {(best.path, int(line)), *[(row.path, row.line) for row in others if row.path == best.path]}
        ids = dict.fromkeys((best.node_id, *[row.node_id for row in others]))
        return Target(replace(best, line=int(line)), tuple(ids), frozenset(locations), self.names.written_name(best))

    def _group_into_targets(self, rows: Sequence[Symbol]) -> list[Target]:
        """Group the definitions of the same symbol (overloads, getters and setters, partial classes) into targets."""
        groups: dict[tuple[str, str, str], dict[int, Symbol]] = defaultdict(dict)
        for row in rows:
            place = "" if _may_have_other_parts(row) else row.path
            sort = _name_group(row) if traits_of(row.path).has_function_names else ""
            groups[(place, re.sub(r"#\d+", "", row.key), sort)][row.node_id] = row
        for group in groups.values():
            first = next(iter(group.values()))
            group.update((row.node_id, row) for row in self._other_parts(first) if row.node_id not in group)
        return [self._target(list(group.values())) for group in groups.values()]

    def target_of(self, row: Symbol) -> Target:
        """Return a target with a single definition."""
        return self._target([row])

    def _target(self, rows: Sequence[Symbol]) -> Target:
        """Return a target that consists of several definitions of one symbol."""
        ids, locations = tuple(row.node_id for row in rows), frozenset((row.path, row.line) for row in rows)
        return Target(rows[0], ids, locations, self.names.written_name(rows[0]))

    def _other_parts(self, symbol: Symbol) -> list[Symbol]:
        """Return the further definitions of the same symbol, such as the other parts of a partial class."""
        if not _may_have_other_parts(symbol):
            return []
        namesakes = self.reader.symbols_named(symbol.name)
        return [
            row
            for row in namesakes
            if row.label == symbol.label and _may_have_other_parts(row) and can_refer_to(row.path, symbol.path)
        ]

    # --- references

    @_in_one_snapshot
    def references(self, target: Target) -> FoundReferences:
        """Return all references to a target, with details about their completeness."""
        found = self.uses(target)
        in_tests = any(map(is_test, found.paths()))
        others = self.same_name_lines(found)
        known = found.completeness
        text = self.compare_text(found, others) if known.is_resolved else TextComparison(is_done=False)
        return replace(
            found,
            shared_lines=frozenset(others or ()),
            test_file_count=self._count_test_files(target) if known.is_resolved and not in_tests else 0,
            completeness=self._completeness(
                target, text, [*found.certain, *found.aliased], is_truncated=known.is_truncated
            ),
        )

    def _completeness(
        self, target: Target, text: TextComparison, uses: Iterable[ReferenceRow], *, is_truncated: bool
    ) -> Completeness:
        """Return the reasons why an answer may be incomplete, given the resolved uses of the target."""
        rows = self.reader.symbols(target.node_ids).values()
        return Completeness(
            is_resolved(target.first.path),
            is_truncated,
            {} if text.is_done else self._unresolved_counts(target),
            self._unread_files(target),
            self.repository_folder,
            text,
            tuple(dict.fromkeys(each for row in rows for each in opaque_decorators(row, self.source))),
            self._dunder_all_locations(target, uses),
        )

    def same_name_lines(self, found: FoundReferences) -> set[tuple[str, int]] | None:
        """Return the lines that define or use other definitions with this name, or None if there are too many."""
        if found.other_definition_use_count > _MAX_OTHER_USES:
            return None
        own = set(found.target.node_ids)
        uses = (
            self.reader.references([row.node_id for row in found.other_definitions]) if found.other_definitions else []
        )
        named = [row for row in self.reader.symbols_named(found.target.first.name) if row.node_id not in own]
        return {(row.path, row.line) for row in uses} | {(row.path, row.line) for row in named}

    def compare_text(self, found: FoundReferences, others: set[tuple[str, int]] | None) -> TextComparison:
        """Compare the lines that contain the target's name with the known uses of the target.

        `others` contains the lines that define or use other definitions with the same name.
        """
        first = found.target.first
        if others is None:
            return TextComparison(is_done=False)
        rows = [*found.certain, *found.aliased, *found.possible, *found.indirect, *self.reader.mentions(first.name)]
        known = {(row.path, row.line) for row in rows} | others | found.target.locations
        return compare_with_text(first, known, self._code, self.source, is_whole_repository=not self.repository_folder)

    def uses(self, target: Target) -> FoundReferences:
        """Return all references to a target, without the details about completeness that `references` adds."""
        # A call of a definition that the target overrides, or of another override of that definition, may run the
        # target.
        above = self._reachable(set(target.node_ids), self.reader.overridden_ids)
        family = self._reachable(above, self.reader.overriding_ids)
        every = [*self.reader.references(family), *(self._override_rows(family) if len(family) > 1 else ())]
        rows = [row for row in _without_redundant_overrides(every) if not _is_own_definition(row, target)]
        relatives = OverrideFinder(self.reader, self._facts)
        implemented = {row.node_id for row in relatives.implemented_members(target.first)} - family
        implementing = {row.node_id for row in relatives.overriding_members(target.first)} - family
        through = [row for row in self.reader.references(implemented | implementing) if row.certain]
        through += self._override_rows(implementing)
        known = family | implemented | implementing
        every_named = self.reader.symbols_named(target.first.name)
        named = [row for row in every_named if can_refer_to(row.path, target.first.path)]
        unrelated = [
            row for row in named if row.node_id not in known and not _is_constructor(row, {target.first.label})
        ]
        callers = {row.source_id for row in rows if row.certain and row.kind == "call"}
        wrappers = {row.node_id for row in unrelated if row.node_id in callers}
        through += [row for row in self.reader.references(wrappers) if row.certain and row.source_id not in known]
        unrelated = [row for row in unrelated if row.node_id not in wrappers]
        uses = self.reader.reference_counts(row.node_id for row in unrelated)
        others = sorted((row for row in named if row.node_id in uses), key=lambda row: -uses[row.node_id])
        mentions = self._mentions(target, relatives)
        alike = self._drop_arity_mismatches(target, mentions)
        return FoundReferences(
            target,
            tuple(row for row in rows if row.certain and row.origin != ALIAS),
            tuple(row for row in rows if row.certain and row.origin == ALIAS),
            (*[row for row in rows if not row.certain], *alike),
            len({qualified_name(row) for row in named}),
            tuple(_without_redundant_overrides(through)),
            self._related_definitions(target, known | wrappers),
            frozenset(above | implemented),
            frozenset(wrappers),
            other_definitions=tuple(others),
            other_definition_use_count=sum(uses.values()),
            arity_mismatch_count=len(mentions) - len(alike),
            completeness=Completeness(is_resolved(target.first.path), relatives.is_truncated),
        )

    def _drop_arity_mismatches(self, target: Target, mentions: list[ReferenceRow]) -> list[ReferenceRow]:
        """Drop the calls whose number of arguments differs from the number of parameters of the target."""
        takes = {parameter_count(row) for row in self.reader.symbols(target.node_ids).values()}
        if not takes or None in takes or len(mentions) > _MAX_MENTIONS_READ:
            return mentions
        texts = self.source.lines((row.path, row.line) for row in mentions if row.kind == "call")
        given = {place: argument_count(text, target.first.name) for place, text in texts.items()}
        return [row for row in mentions if given.get((row.path, row.line)) in (None, *takes)]

    def _related_definitions(self, target: Target, node_ids: set[int]) -> dict[int, Symbol]:
        """Return the definitions with the given node ids, without declarations of the target itself."""
        rows = self.reader.symbols(node_ids - set(target.node_ids))
        return {i: row for i, row in rows.items() if (row.path, row.label) != (target.first.path, target.first.label)}

    @cached_property
    def _paths(self) -> list[str]:
        """All files in the graph, cached because one answer may cover several targets."""
        return self.reader.paths()

    def _count_test_files(self, target: Target) -> int:
        """Return the number of test files that could use the target."""
        path = target.first.path
        return sum(is_test(each) and is_resolved(each) and can_refer_to(each, path) for each in self._paths)

    def _unresolved_counts(self, target: Target) -> dict[str, int]:
        """Return the number of files, by extension, that may use a target but whose references are not resolved."""
        hiding = unresolved_files(self._paths, target.first.path)
        return dict(Counter("." + path.rpartition(".")[2] for path in hiding).most_common())

    def _unread_files(self, target: Target) -> tuple[str, ...]:
        """Return the files that contain a target's name but were not indexed completely, with the reasons."""
        skipped = [
            (each.path, each.reason) for each in self._files.skipped_files().values() if each.reason in _UNREAD_REASONS
        ]
        failed = [
            (each.path, "not resolved" if each.indexer == "graph/edges" else "indexing failed")
            for each in self._files.failures()
            if each.indexer in _EDGE_INDEXERS
        ]
        code = {
            path: reason
            for path, reason in (*failed, *skipped)
            if detect(path) is not None and can_refer_to(path, target.first.path)
        }
        found = self.source.files_with(target.first.name, code)
        return tuple(f"{path} ({code[path]})" for path in sorted(found))

    def _dunder_all_locations(self, target: Target, uses: Iterable[ReferenceRow]) -> tuple[tuple[str, int], ...]:
        """Return the lines where `__all__` lists the target, in its module and in modules that import it."""
        module = self.reader.module_node(target.first.path)
        rows = [*uses, *(self.reader.references([module]) if module else ())]
        paths = {row.path for row in rows if row.kind == "import" and row.certain}
        return tuple(dunder_all_locations(target.first, paths, self.source))

    @cached_property
    def repository_folder(self) -> str:
        """Path of the project in its git repository, or empty if the project is the whole repository."""
        return path_in_checkout(self.root)

    @staticmethod
    def _reachable(start: set[int], step: Callable[[Iterable[int]], set[int]]) -> set[int]:
        """Return `start` and all nodes that can be reached from it by repeated calls of `step`."""
        found = set(start)
        frontier = start
        while frontier:
            frontier = step(frontier) - found
            found |= frontier
        return found

    def _override_rows(self, node_ids: set[int]) -> list[ReferenceRow]:
        """Return the definitions of overriding members in the form of `override` references."""
        rows = self.reader.symbols(node_ids).values()
        return [ReferenceRow(r.path, r.line, r.key, "inherit", "override", True, r.node_id, r.node_id) for r in rows]

    def _mentions(self, target: Target, relatives: OverrideFinder) -> list[ReferenceRow]:
        """Return possible references to a target by name.

        For a member, these are uses on values of unknown type. For a function in a namespace, these are qualified uses
        that were not resolved. For other symbols, these are uses in files that import the name from a module that does
        not define it. Names in macros that could not be parsed and in code with syntax errors are included, too.
        """
        found = [row for row in self.reader.mentions(target.first.name) if can_refer_to(row.path, target.first.path)]
        uses = [row for row in found if row.kind != "import" and not row.kind.startswith(THROUGH)]
        if is_member(target.first):
            external = self._uses_through_external_types(found, target, relatives)
            return [*self._drop_plain_names(uses, target.first.name), *external]
        tokens = [row for row in uses if row.kind in (UNPARSED_MACRO, UNPARSED)]
        uses = [row for row in uses if row.kind not in (UNPARSED_MACRO, UNPARSED)]
        if "." in target.first.key:
            return [*tokens, *self._qualified_uses(uses, target.first.name)]
        imports = [row for row in found if row.kind == "import"]
        files, used = {row.path for row in imports}, {(row.path, row.line) for row in uses}
        broken = [row for row in imports if (row.path, row.line) not in used]
        return [*[replace(row, origin=BROKEN_IMPORT) for row in (*broken, *uses) if row.path in files], *tokens]

    def _uses_through_external_types(
        self, rows: Iterable[ReferenceRow], target: Target, relatives: OverrideFinder
    ) -> Iterator[ReferenceRow]:
        """Yield the calls through types of other packages that the target's type implements or may implement."""
        known: dict[str, bool | None] = {}
        for row in rows:
            if row.kind.startswith(THROUGH):
                name = row.kind.removeprefix(THROUGH)
                if name not in known:
                    known[name] = relatives.may_implement(target.first, name)
                if known[name] is not False:
                    yield replace(row, kind="call", origin=row.kind if known[name] else THROUGH_UNKNOWN_TYPE)

    def _qualified_uses(self, rows: list[ReferenceRow], name: str) -> list[ReferenceRow]:
        """Return the references whose line contains the name after `::`, as in uses of a function in a namespace."""
        texts = self.source.lines((row.path, row.line) for row in rows[:_MAX_MENTIONS_READ])
        return [row for row in rows if f"::{name}" in texts.get((row.path, row.line), "")]

    def _drop_plain_names(self, rows: list[ReferenceRow], name: str) -> list[ReferenceRow]:
        """Drop references in code with syntax errors if the line does not contain the name after a dot."""
        texts = self.source.lines((row.path, row.line) for row in rows if row.kind == UNPARSED)
        plain = {place for place, text in texts.items() if not _follows_dot(text, name)}
        return [row for row in rows if row.kind != UNPARSED or (row.path, row.line) not in plain]

    # --- impact

    @_in_one_snapshot
    def impact(self, target: Target) -> Impact:
        """Return all direct and indirect dependants of a target by distance, each dependant only once."""
        members = [row.node_id for row in self._members(target)]
        seen = {*target.node_ids, *members}
        first = [row for row in self.reader.references(seen) if row.certain]
        relatives = OverrideFinder(self.reader, self._facts)
        through = self._indirect_rows(target, relatives) if target.first.kind in _CALLABLE_KINDS else []
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
            rows = self._symbols_or_files(sources)
            tests.extend(row for row in rows if is_test(row.path))
            level = tuple(row for row in rows if not is_test(row.path))
            if level:
                levels.append(level)
            # A change of top-level code does not affect every file that imports the file.
            frontier = {row.node_id for row in rows if row.key}
            found = [row for row in self.reader.references(frontier) if row.certain and row.source_id not in seen]
        text = NO_UNKNOWN_LINES
        if is_resolved(target.first.path) and (self._unresolved_counts(target) or not (levels or tests)):
            uses = self.uses(target)
            text = self.compare_text(uses, self.same_name_lines(uses))
        return Impact(
            target,
            tuple(map(_without_files, levels)),
            _without_files(tests),
            {source: tuple(merge_by_line(rows)) for source, rows in direct.items()},
            frozenset(direct.keys() - {row.source_id for row in first}),
            tuple(self._possible_uses(target, relatives, () if direct else members)),
            distances,
            self._completeness(target, text, first, is_truncated=relatives.is_truncated),
        )

    def _indirect_rows(self, target: Target, relatives: OverrideFinder) -> list[ReferenceRow]:
        """Return the overrides of a function, and the uses of definitions that it implements or overrides."""
        above = self._reachable(set(target.node_ids), self.reader.overridden_ids) - set(target.node_ids)
        uses = self.reader.references(above | {row.node_id for row in relatives.implemented_members(target.first)})
        below = {row.node_id for row in relatives.overriding_members(target.first)}
        called = [row for row in uses if row.certain and row.kind != "inherit"]
        external = filter(_is_through_implemented_type, self._mentions(target, relatives))
        return [*called, *external, *self._override_rows(below)]

    def _possible_uses(self, target: Target, relatives: OverrideFinder, members: Sequence[int]) -> list[Use]:
        """Return the lines that may use a target or one of the given members."""
        rows = [row for row in self.reader.references([*target.node_ids, *members]) if not row.certain]
        names = {row.name for row in self.reader.symbols(members).values() if row.kind in _CALLABLE_KINDS}
        mentions = [row for name in sorted(names) for row in self.reader.mentions(name)]
        alike = [row for row in mentions if can_refer_to(row.path, target.first.path) and row.kind != "import"]
        own = [row for row in self._mentions(target, relatives) if not _is_through_implemented_type(row)]
        return merge_by_line([*rows, *own, *[row for row in alike if not row.kind.startswith(THROUGH)]])

    def _symbols_or_files(self, node_ids: set[int]) -> list[Symbol]:
        """Return the symbols or files of the given nodes, sorted by location."""
        known = self.reader.symbols(node_ids)
        places = self.reader.nodes(node_ids - known.keys())
        rows = [
            *known.values(),
            *[Symbol("", "", "file", 1, 1, path=path, node_id=i) for i, (path, key) in places.items() if not key],
        ]
        return sorted(rows, key=lambda row: (row.path, row.line))

    # --- context

    @_in_one_snapshot
    def context(self, target: Target) -> Context:
        """Return a symbol with its callers, callees, bases, subclasses and members."""
        references = self.uses(target)
        every = (*references.certain, *references.aliased)
        members = self._members(target)
        inside = [*target.node_ids, *[row.node_id for row in members]]
        paths = dict.fromkeys((target.first.path, *[row.path for row in members]))
        outgoing = [row for path in paths for row in self.reader.outgoing_references(path, inside)]
        own = [row for row in outgoing if row.source_id in target.node_ids]
        through = [
            row for row in references.indirect if row.kind == "call" and row.target_id not in references.wrapper_ids
        ]
        return Context(
            target,
            callers=(
                *as_use_groups("callers", [row for row in every if row.kind == "call"]),
                *as_use_groups("callers through a base or override", through),
            ),
            other_references=as_use_groups(
                "other references", [row for row in every if row.kind != "call" and row.kind != "inherit"]
            ),
            callees=self._certain_targets(outgoing if target.first.kind not in _CALLABLE_KINDS else own, "call"),
            overridden=tuple(row for i, row in references.related_definitions.items() if i in references.base_ids),
            bases=self._certain_targets(own, "inherit"),
            subclasses=tuple(self._subclasses(target, every)),
            implementations=tuple(OverrideFinder(self.reader, self._facts).implementing_types(target.first)),
            members=tuple(members),
        )

    def _subclasses(self, target: Target, rows: Iterable[ReferenceRow]) -> list[Symbol]:
        """Return the symbols that inherit from a target. For a type, methods of unnamed subclasses are omitted."""
        found = self.reader.symbols(row.source_id for row in rows if row.kind == "inherit").values()
        return [row for row in found if (row.kind in _CALLABLE_KINDS) <= (target.first.kind in _CALLABLE_KINDS)]

    def _certain_targets(self, rows: Iterable[ReferenceRow], kind: str) -> tuple[Symbol, ...]:
        """Return the targets of all resolved references of a given kind."""
        wanted = [row.target_id for row in rows if row.kind == kind and row.certain]
        found = self.reader.symbols(wanted)
        return tuple(found[node_id] for node_id in dict.fromkeys(wanted) if node_id in found)

    def _members(self, target: Target) -> list[Symbol]:
        """Return the direct members of a class or module, including members in other files."""
        if target.first.kind in _CALLABLE_KINDS or target.first.kind == "variable":
            return []
        openings = self.reader.symbols(target.node_ids[1:]).values() if _may_have_other_parts(target.first) else ()
        return [row for opening in (target.first, *openings) for row in self._members_in(opening)]

    def _members_in(self, owner: Symbol) -> list[Symbol]:
        """Return the direct members of one definition."""
        prefix = f"{owner.key}." if owner.key else ""
        inside = [row for row in self.reader.symbols_in(owner.path) if row.key.startswith(prefix)]
        return [row for row in inside if "." not in row.key[len(prefix) :]]


def _is_file_name(symbol: str) -> bool:
    """Whether a symbol looks like the name of a file with the extension of a known language."""
    text = symbol.strip()
    return "." in text and "::" not in text and ":" not in text and detect(text) is not None


def _without_redundant_overrides(rows: Iterable[ReferenceRow]) -> list[ReferenceRow]:
    """Sort the references and drop `override` references on lines that have another reference."""
    seen: set[tuple[str, int, str]] = set()
    kept: list[ReferenceRow] = []
    for row in rows:
        place = (row.path, row.line, row.kind)
        if row.kind != "inherit" or place not in seen:
            kept.append(row)
        seen.add(place)
    return sorted(kept, key=lambda row: (row.path, row.line))


def _is_through_implemented_type(row: ReferenceRow) -> bool:
    """Whether a possible use is a call through a type of another package that the target's type implements."""
    return row.origin.startswith(THROUGH) and row.origin != THROUGH_UNKNOWN_TYPE


def _is_own_definition(row: ReferenceRow, target: Target) -> bool:
    """Whether a reference is the target's own definition rather than a use. A call on the defining line is a use."""
    if (row.path, row.line) not in target.locations:
        return False
    return row.kind in _DEFINING_EDGE_KINDS or row.origin in ("override", "merge")


def _follows_dot(text: str, name: str) -> bool:
    """Whether a name follows a dot or is at the beginning of the line, where the previous line may end with the dot."""
    before = [text[:at].rstrip() for at in occurrences(text, name)]
    return any(not each or each.endswith((".", "->", "::")) for each in before)


def _without_files(rows: Iterable[Symbol]) -> tuple[Symbol, ...]:
    """Drop files whose symbols are also listed, because a file imports everything that its symbols use."""
    kept = list(rows)
    named = {row.path for row in kept if row.key}
    return tuple([row for row in kept if row.key or row.path not in named])


def _may_have_other_parts(row: Symbol) -> bool:
    """Whether other files may define the same symbol: a reopened Ruby module, a partial C# class, a C function."""
    traits = traits_of(row.path)
    if traits.reopens_types:
        return row.kind in ("class", "module")
    if traits.splits_types:
        return row.kind in ("class", "interface") and "partial" in row.signature.split()
    return traits.links_by_name and row.kind == "function" and not row.signature.startswith("static ")


def _without_fields_of_types(targets: list[Target], query: SymbolQuery) -> list[Target]:
    """Drop the fields that have the same name as a type, such as `Params Params`, if the query is a plain name."""
    types = [target for target in targets if target.first.kind != "property"]
    return types if query.form == "name" and any(_name_group(each.first) == "type" for each in types) else targets


def _without_constructors(targets: list[Target], symbol: str) -> list[Target]:
    """Drop the constructors of types that are also targets, unless the query contains the constructor's name."""
    types = {target.first.label for target in targets if target.first.kind not in _CALLABLE_KINDS}
    return [
        target
        for target in targets
        if not _is_constructor(target.first, types) or symbol.strip().endswith(target.first.label)
    ]


def _is_constructor(row: Symbol, types: Collection[str]) -> bool:
    owner, _, name = row.label.rpartition(".")
    return row.kind in _CALLABLE_KINDS and owner in types and owner.rpartition(".")[2] == name


def _name_group(row: Symbol) -> str:
    """Return the group of a definition's kind: `function`, `value` or `type`.

    All definitions of one symbol are in the same group.
    """
    return "function" if row.kind in _CALLABLE_KINDS else "value" if row.kind in ("variable", "property") else "type"


def _same_name_definitions(symbol: Symbol, symbols: Iterable[Symbol]) -> list[Symbol]:
    """Return the definitions that references cannot distinguish from `symbol`, such as overloads."""
    if not is_declared(symbol.path):
        return []
    return [row for row in symbols if row.label == symbol.label and _name_group(row) == _name_group(symbol)]


def _nearest_definitions_hint(symbols: Sequence[Symbol], line: int) -> str:
    """Return a hint that lists the definitions nearest to a line."""
    if not symbols:
        return "The file is not indexed or contains no definitions."
    near = sorted(symbols, key=lambda row: abs(row.line - line))[:_MAX_SUGGESTIONS]
    return "Nearest: " + ", ".join(f"{row.label} on line {row.line}" for row in near) + "."
