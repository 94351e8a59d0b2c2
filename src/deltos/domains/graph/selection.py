"""Queries on the graphs of one or more projects: definitions in each project, and uses across projects.

Uses across projects are found through the packages that one project provides and another project imports.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from deltos.domains.graph.budgeted_lines import with_notes
from deltos.domains.graph.cross_project import DefinitionKey, ProjectHandle
from deltos.domains.graph.cycles import find_cycles
from deltos.domains.graph.languages import is_member
from deltos.domains.graph.model import ALIAS
from deltos.domains.graph.search import GraphSearch
from deltos.domains.graph.symbol_query import is_pattern, path_filter
from deltos.domains.graph.uses import AMBIGUOUS_NAME, UNDER_ANOTHER_NAME, UNKNOWN_RECEIVER, UseGroup, merge_by_line
from deltos.errors import Cancelled, DeltosError, NotFound, NothingToIndex
from deltos.text.counts import counted
from deltos.wording import possible_references
from deltos.workspace.failure_messages import failure_notes
from deltos.workspace.file_purpose import is_selected, is_test
from deltos.workspace.project_selection import UnavailableProject, unavailable_notes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from deltos.domains.graph.cross_project import CrossProjectIndex, CrossProjectReferences
    from deltos.domains.graph.cycles import Component
    from deltos.domains.graph.importers import ImporterFinder, Importers
    from deltos.domains.graph.search import Impact, Scope, Target
    from deltos.store.graph import ReferenceRow
    from deltos.store.project import FailedFile
    from deltos.store.symbols import Symbol
    from deltos.workspace.project_selection import FreshProject, FreshSelection

_T = TypeVar("_T")
_MAX_FAILURES_READ = 50  # maximum number of files without index data that are searched for a name
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, eq=False)
class OpenedProject:
    """A project's updated graph, with notes for answers. `name` is empty if the query covers only one project."""

    number: int
    name: str
    search: GraphSearch
    handle: ProjectHandle
    is_complete: bool
    notes: tuple[str, ...] = ()
    failures: tuple[FailedFile, ...] = ()

    @classmethod
    def from_fresh(cls, number: int, fresh: FreshProject) -> OpenedProject:
        """Return the opened graph of a project whose index was updated."""
        index, freshness = fresh.index, fresh.freshness
        root = index.project.root
        return cls(
            number,
            fresh.name,
            GraphSearch(index.store, root),
            ProjectHandle.from_store(fresh.name or root.name, index.store, index.workers),
            freshness.complete and not freshness.notes,
            freshness.notes,
            freshness.failures,
        )

    @property
    def label(self) -> str:
        """Prefix of lines about this project, which is empty if the query covers only one project."""
        return f"[{self.name}] " if self.name else ""

    def failure_notes(self, symbol: str) -> tuple[str, ...]:
        """Return notes about files that could not be indexed.

        If a symbol is given, only files that may contain it count.
        """
        failures = self.failures[:_MAX_FAILURES_READ]
        names = _WORD.findall(symbol)
        if names and not is_pattern(symbol):
            containing = self.search.source.files_with(names[-1], {each.path for each in failures})
            failures = tuple(each for each in failures if each.path in containing or each.path in symbol)
        return failure_notes(failures, "graph")


class ProjectTarget(NamedTuple):
    """A target together with the project that contains it."""

    project: OpenedProject
    target: Target

    def definitions(self) -> list[DefinitionKey]:
        """Return the keys of all definitions of the target."""
        rows = self.project.search.reader.symbols(self.target.node_ids).values()
        first = self.target.first
        keys = [DefinitionKey(first.path, first.key), *(DefinitionKey(row.path, row.key) for row in rows)]
        return list(dict.fromkeys(keys))

    def members(self) -> list[DefinitionKey]:
        """Return the keys of the definitions inside the target."""
        first = self.target.first
        rows = self.project.search.reader.symbols_in(first.path)
        return [DefinitionKey(row.path, row.key) for row in rows if row.key.startswith(f"{first.key}.")]


@dataclass(frozen=True, slots=True)
class FoundTargets:
    """The targets of a query, most frequently used first, with reference counts if there are several targets."""

    rows: list[ProjectTarget]
    counts: dict[ProjectTarget, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class AffectedSymbol(NamedTuple):
    """A symbol that a change in another project affects."""

    symbol: Symbol
    distance: int


@dataclass(frozen=True, slots=True)
class ProjectUses:
    """Uses of a definition in a project that imports it.

    `unresolved_count` is the number of importing files whose references were not resolved.
    """

    project: OpenedProject
    groups: tuple[UseGroup, ...]
    unresolved_count: int


@dataclass(frozen=True, slots=True)
class ProjectImpact:
    """Symbols that a change affects in a project that imports the changed project.

    `unresolved_count` is the number of importing files whose references were not resolved.
    """

    project: OpenedProject
    rows: tuple[AffectedSymbol, ...]
    unresolved_count: int


class GraphSelection:
    """Answers queries about a list of projects."""

    def __init__(
        self,
        fresh: FreshSelection,
        cross_project: CrossProjectIndex,
        importer_finder: ImporterFinder,
        *,
        is_new_note: Callable[[str], bool] = lambda _note: True,
    ) -> None:
        """Initialise the selection. `is_new_note` returns whether a note about unindexed files was not shown before."""
        self._is_new_note = is_new_note
        self.projects = [OpenedProject.from_fresh(number, each) for number, each in enumerate(fresh.ready)]
        self.unavailable = [*fresh.unavailable]
        self.is_several = len(self.projects) > 1
        self._cross_project = cross_project
        self._importer_finder = importer_finder

    # --- definitions

    def definitions(
        self, symbol: str, *, path: str = "", kinds: frozenset[str] = frozenset()
    ) -> list[tuple[OpenedProject, Symbol]]:
        """Return definitions by name or pattern, each with its project, definitions outside tests first."""
        found = self.for_each(
            lambda opened: opened.search.find(symbol, path=path, kinds=kinds, suggests=not self.is_several), symbol
        )
        rows = [(opened, row) for opened, rows in found for row in rows]
        rows = _with_exact_case(rows, lambda pair: pair[1], symbol)
        rows.sort(key=lambda pair: (is_test(pair[1].path), pair[1].kind == "variable"))
        return rows

    def targets(self, symbol: str, *, is_location: bool = False) -> FoundTargets:
        """Return the targets that match a name, pattern or location, most frequently used first.

        If `is_location` is true, `symbol` has the form FILE:LINE, and only a definition on that line matches.
        """
        found = self.for_each(
            lambda opened: (
                [opened.search.target_on_line(symbol)]
                if is_location
                else opened.search.targets(symbol, suggests=not self.is_several)
            ),
            symbol,
        )
        every = [ProjectTarget(opened, each) for opened, targets in found for each in targets]
        every = _with_exact_case(every, lambda each: each.target.first, symbol)
        if len(every) < 2:
            return FoundTargets(every)
        counts = {
            each: sum(each.project.search.reader.reference_counts(each.target.node_ids).values()) for each in every
        }
        every.sort(key=lambda each: -counts[each])
        kept, notes = _without_duplicates(every)
        return FoundTargets(kept, counts, notes)

    def scopes(self, symbol: str) -> list[tuple[OpenedProject, Scope]]:
        """Return the folder or file to which `symbol` refers, in each project that contains it.

        If the query covers several projects, a plain name is treated as a folder only if no project defines a symbol
        with this name.
        """
        found = [(opened, scope) for opened in self.projects if (scope := opened.search.scope(symbol)) is not None]
        if len(found) < len(self.projects) and "/" not in symbol:
            defining = (opened.search.reader.symbols_named(symbol.strip()) for opened in self.projects)
            return [] if any(defining) else found
        return found

    # --- uses in other projects

    def uses_in_importers(
        self, project_target: ProjectTarget, *, path: str = "", tests: str = "include"
    ) -> list[ProjectUses]:
        """Return the uses of a definition in each project that imports its project."""
        definitions = project_target.definitions()
        found = []
        for opened, cross_references in self._references_to(project_target.project):
            in_path = path_filter(opened.search.root, path)
            groups = [
                replace(each, uses=tuple(u for u in each.uses if in_path(u.path) and is_selected(u.path, tests)))
                for each in _group_uses(cross_references, definitions, project_target.target)
            ]
            used = tuple(group for group in groups if group.uses)
            found.append(ProjectUses(opened, used, cross_references.unresolved_count))
        return found

    def impact_in_importers(self, project_target: ProjectTarget, impact: Impact) -> list[ProjectImpact]:
        """Return the affected symbols of each project that directly or indirectly imports the changed project."""
        changed = dict.fromkeys([*project_target.definitions(), *project_target.members()], 0)
        for row in (row for level in impact.levels for row in level):
            if row.key:
                changed.setdefault(DefinitionKey(row.path, row.key), impact.distances[row.node_id])
        frontier = {project_target.project: changed}
        affected: dict[OpenedProject, list[AffectedSymbol]] = {}
        unresolved: dict[OpenedProject, int] = {}
        seen: set[tuple[OpenedProject, int]] = set()
        while frontier:
            following: dict[OpenedProject, dict[DefinitionKey, int]] = defaultdict(dict)
            steps = [
                (user, found, each)
                for provider, each in frontier.items()
                for user, found in self._references_to(provider)
            ]
            for user, cross_references, changed_there in steps:
                if cross_references.unresolved_count:
                    unresolved[user] = cross_references.unresolved_count
                if user is project_target.project:
                    continue
                for row, distance in _affected_symbols(user.search, cross_references, changed_there):
                    if (user, row.node_id) not in seen:
                        seen.add((user, row.node_id))
                        affected.setdefault(user, []).append(AffectedSymbol(row, distance))
                        following[user][DefinitionKey(row.path, row.key)] = distance
            frontier = following
        return [
            ProjectImpact(user, tuple(sorted(affected.get(user, ()), key=_distance_key)), unresolved.get(user, 0))
            for user in dict.fromkeys([*affected, *unresolved])
        ]

    def importers_of(self, provider: OpenedProject) -> list[OpenedProject]:
        """Return the projects of the query that import a given project."""
        return [user for user, _ in self._references_to(provider)]

    def unsearched_importers(self, project: OpenedProject, targets: Iterable[Target]) -> Importers:
        """Return the projects outside the query that import a package that contains one of the targets."""
        return self._importer_finder.importers_of(project.handle, {target.first.path for target in targets})

    def _references_to(self, provider: OpenedProject) -> Iterator[tuple[OpenedProject, CrossProjectReferences]]:
        """Yield the references of each project of the query that imports a provider."""
        if self.is_several:
            handles = [each.handle for each in self.projects]
            for number, found in self._cross_project.references_to(provider.number, handles):
                yield self.projects[number], found

    # --- queries of each project

    def cycles(self) -> list[tuple[OpenedProject, list[Component]]]:
        """Return the import cycles of each project."""
        return self.for_each(lambda opened: find_cycles(opened.search.reader.imports()))

    def for_each(self, compute: Callable[[OpenedProject], _T], symbol: str = "") -> list[tuple[OpenedProject, _T]]:
        """Return each project with the result of `compute` for the project.

        Projects without a match are dropped. If there are several projects, a failing project is reported as
        unavailable. If no project has a match, raise an error with names similar to `symbol`.
        """
        found: list[tuple[OpenedProject, _T]] = []
        missing: list[tuple[OpenedProject, NotFound]] = []
        for opened in self.projects:
            try:
                with opened.search.reader.snapshot():
                    found.append((opened, compute(opened)))
            except NotFound as problem:
                missing.append((opened, problem))
            except Cancelled:
                raise
            except DeltosError as problem:
                if not self.is_several:
                    raise
                self.unavailable.append(UnavailableProject(opened.name, problem.message))
        if not found:
            raise self._not_found_error(missing, symbol)
        return found

    def _not_found_error(self, missing: Sequence[tuple[OpenedProject, NotFound]], symbol: str) -> DeltosError:
        """Return the error for a query without matches in any project."""
        notes = self.notes(self.projects, symbol)
        if not missing:
            return NothingToIndex("None of the projects could be searched", hint=" ".join(notes))
        first = missing[0][1]
        if not self.is_several:
            return with_notes(first, notes)
        # Finding similar names takes several times as long as the query, so only the first result is used.
        questions = (
            opened.search.similar_names_hint(symbol) for opened, problem in missing if symbol and not problem.hint
        )
        searched = f"Searched {counted(len(self.projects), 'project')}."
        return with_notes(NotFound(first.message, hint=next(filter(None, questions), "")), (searched, *notes))

    def notes(self, projects: Iterable[OpenedProject], symbol: str = "") -> tuple[str, ...]:
        """Return the project notes that are relevant to a query, and a note for each unavailable project."""
        notes = []
        for opened in projects:
            notes += [f"{opened.label}{note}" for note in opened.notes]
            failed = [f"{opened.label}{note}" for note in opened.failure_notes(symbol)]
            notes += filter(self._is_new_note, failed)
        return (*notes, *unavailable_notes(self.unavailable))


def _without_duplicates(every: Sequence[ProjectTarget]) -> tuple[list[ProjectTarget], tuple[str, ...]]:
    """Drop duplicates of definitions in files that belong to two projects because one project is inside the other.

    The most used target is kept, and a note mentions the project of the target.
    """
    kept: dict[tuple[Path, int, str], ProjectTarget] = {}
    pairs: dict[tuple[str, str], None] = {}
    for each in every:
        first = each.target.first
        known = kept.setdefault((each.project.search.root / first.path, first.line, first.key), each)
        if known is not each:
            pairs.setdefault((each.project.name, known.project.name))
    notes = (f"Note: [{one}] and [{other}] share files; results are listed under [{other}]." for one, other in pairs)
    return [*kept.values()], tuple(notes)


def _with_exact_case(found: list[_T], row_of: Callable[[_T], Symbol], symbol: str) -> list[_T]:
    """Return the results whose names have the same letter case as the query, or all results if there are none."""
    if is_pattern(symbol):
        return found
    exact = [each for each in found if row_of(each).name and row_of(each).name in symbol]
    return exact or found


def _affected_symbols(
    search: GraphSearch, cross_references: CrossProjectReferences, changed: dict[DefinitionKey, int]
) -> Iterator[tuple[Symbol, int]]:
    """Yield the symbols of a project that directly or indirectly depend on changed definitions of another project."""
    if cross_references.ambiguity:
        return
    starts: dict[DefinitionKey, int] = {}
    for definition, distance in changed.items():
        for row in cross_references.rows.get(definition, ()):
            if row.certain and row.source_key:
                place = DefinitionKey(row.path, row.source_key)
                starts[place] = min(starts.get(place, distance + 1), distance + 1)
    known: dict[int, int] = {}
    for symbol in search.reader.symbols_at(starts):
        known[symbol.node_id] = starts[DefinitionKey(symbol.path, symbol.key)]
        yield symbol, known[symbol.node_id]
    pending = dict(known)
    while pending:
        rows = [row for row in search.reader.references(pending) if row.certain and row.source_id not in known]
        pending = {row.source_id: pending[row.target_id] + 1 for row in rows if row.target_id in pending}
        known |= pending
        for node_id, symbol in search.reader.symbols(pending).items():
            yield symbol, pending[node_id]


def _group_uses(
    cross_references: CrossProjectReferences, definitions: Sequence[DefinitionKey], target: Target
) -> list[UseGroup]:
    """Group the uses of a definition in another project into definite uses, uses by another name, and possible uses."""
    rows = cross_references.references(definitions)
    certain = [row for row in rows if row.certain]
    shown = {(row.path, row.line) for row in certain}
    possible = [row for row in rows if not row.certain and (row.path, row.line) not in shown]
    mentions = [
        row
        for row in (cross_references.mentions.get(target.first.name, ()) if is_member(target.first) else ())
        if (row.path, row.line) not in shown and row.kind != "import"
    ]
    return [
        _create_group("", [row for row in certain if row.origin != ALIAS]),
        _create_group(UNDER_ANOTHER_NAME, [row for row in certain if row.origin == ALIAS]),
        _create_group("", possible, cross_references.ambiguity or AMBIGUOUS_NAME),
        _create_group("", mentions, UNKNOWN_RECEIVER),
    ]


def _create_group(title: str, rows: Sequence[ReferenceRow], reason: str = "") -> UseGroup:
    """Return a group of uses. If a `reason` is given, the uses are possible uses, and the reason explains why."""
    uses = tuple(merge_by_line(rows))
    return UseGroup(f"--- {possible_references(len(uses), reason)} ---" if reason else title, uses, reason)


def _distance_key(row: AffectedSymbol) -> tuple[int, bool, str, int]:
    return row.distance, is_test(row.symbol.path), row.symbol.path, row.symbol.line
