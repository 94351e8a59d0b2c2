"""Answer queries about the graphs of several projects: definitions in each, and uses across projects through packages.

The answer of one project is the same as in a query about this project alone, below its name in brackets; uses in other
projects follow.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from deltos.budget import CHARACTERS_PER_TOKEN, characters_for
from deltos.domains.graph.budgeted_lines import BudgetedLines, Piece, truncation_line
from deltos.domains.graph.cross_project import DefinitionKey, ProjectHandle
from deltos.domains.graph.cycles import find_cycles
from deltos.domains.graph.importers import Importers
from deltos.domains.graph.line_format import UseFormatter, definition_line
from deltos.domains.graph.map import render_map
from deltos.domains.graph.model import ALIAS
from deltos.domains.graph.render import render_context, render_cycles, render_impact, render_references, render_stats
from deltos.domains.graph.search import GraphSearch
from deltos.domains.graph.symbol_query import case_note, is_pattern, path_filter
from deltos.domains.graph.uses import AMBIGUOUS_NAME, UNDER_ANOTHER_NAME, UNKNOWN_RECEIVER, UseGroup, merge_by_line
from deltos.errors import Cancelled, DeltosError, NotFound, NothingToIndex
from deltos.store.symbols import bare_key
from deltos.text.counts import counted
from deltos.tool import Answer
from deltos.wording import possible_references, truncated
from deltos.workspace.file_purpose import is_test
from deltos.workspace.project_selection import UnavailableProject, unavailable_notes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from deltos.domains.graph.cross_project import CrossProjectIndex, CrossProjectReferences
    from deltos.domains.graph.cycles import Component
    from deltos.domains.graph.importers import ImporterFinder
    from deltos.domains.graph.model import Surroundings
    from deltos.domains.graph.search import Impact, Target
    from deltos.isolated.process_pool import ProcessPool
    from deltos.store.graph import ReferenceRow
    from deltos.store.project import ProjectStore
    from deltos.store.symbols import Symbol
    from deltos.workspace.project_selection import FreshSelection

_T = TypeVar("_T")
_MAX_ANSWERED = 5  # definitions that one answer covers
_MAX_CANDIDATES = 30
_MAX_CONTEXT_USES = 12
_MIN_TOKENS = 200
_MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class OpenedProject:
    """A project's up-to-date graph; `notes` are for the reader of the answer."""

    name: str
    root: Path
    search: GraphSearch
    store: ProjectStore
    workers: ProcessPool | None
    is_complete: bool
    notes: tuple[str, ...] = ()


class ProjectTarget(NamedTuple):
    """A target, and the position of its project."""

    project: int
    target: Target


class AffectedSymbol(NamedTuple):
    """A symbol that a change in another project affects."""

    symbol: Symbol
    distance: int


@dataclass(frozen=True, slots=True)
class ProjectUses:
    """Uses of a definition in a project that imports it; `not_resolved` counts importing files that may have more."""

    project: OpenedProject
    groups: tuple[UseGroup, ...]
    not_resolved: int


@dataclass(frozen=True, slots=True)
class ProjectImpact:
    """Symbols that a change affects in an importing project, nearest first; `not_resolved` counts unresolved files."""

    project: OpenedProject
    rows: tuple[AffectedSymbol, ...]
    not_resolved: int


class MultiProjectGraph:
    """Answers queries about several projects."""

    def __init__(
        self,
        projects: Sequence[OpenedProject],
        left: Sequence[UnavailableProject],
        cross_project: CrossProjectIndex,
        surroundings: Surroundings,
        *,
        token_budget: int,
        importer_finder: ImporterFinder | None = None,
    ) -> None:
        self._projects = list(projects)
        self._left = list(left)
        self._cross_project = cross_project
        self._surroundings = surroundings
        self._token_budget = token_budget
        self._unasked = importer_finder
        self._members = [ProjectHandle.of(each.name, each.store, each.workers) for each in projects]

    @classmethod
    def of(
        cls,
        fresh: FreshSelection,
        cross_project: CrossProjectIndex,
        surroundings: Surroundings,
        *,
        token_budget: int,
        importer_finder: ImporterFinder | None = None,
    ) -> MultiProjectGraph:
        """Return the graphs of a fresh selection of projects."""
        projects = [
            OpenedProject(
                each.name,
                each.index.project.root,
                GraphSearch(each.index.store, each.index.project.root),
                each.index.store,
                each.index.workers,
                each.freshness.complete and not each.freshness.notes,
                each.freshness.notes_about("graph"),
            )
            for each in fresh.ready
        ]
        return cls(
            projects,
            fresh.unavailable,
            cross_project,
            surroundings,
            token_budget=token_budget,
            importer_finder=importer_finder,
        )

    @property
    def left(self) -> Sequence[UnavailableProject]:
        """The projects that have not answered so far, with the reason."""
        return self._left

    def project(self, number: int) -> OpenedProject:
        """Return the project at a position."""
        return self._projects[number]

    # --- definitions

    def find_symbol(self, symbol: str, *, path: str, kinds: frozenset[str], limit: int) -> Answer:
        """List definitions by name or pattern, each with its project."""
        numbers, rows = self._found(symbol, path=path, kinds=kinds)
        listed = rows[:limit]

        def header(shown: int) -> str:
            if shown < len(rows):
                return truncation_line(shown, len(listed), len(rows), "definitions")
            where = counted(len({opened.name for opened, _ in rows}), "project")
            return f"{counted(len(rows), 'definition')} of '{symbol}' in {where}"

        page = self._page(notes=(*self._import_alias_notes(symbol, numbers), *self._notes(numbers)))

        def pieces(width: int) -> list[Piece]:
            return [Piece(f"[{opened.name}] {definition_line(row, characters=width)}") for opened, row in listed]

        return page.widest(header, pieces)

    def definitions(
        self, symbol: str, *, path: str = "", kinds: frozenset[str] = frozenset()
    ) -> list[tuple[OpenedProject, Symbol]]:
        """Return definitions by name or pattern, each with its project, code before tests."""
        return self._found(symbol, path=path, kinds=kinds)[1]

    def _found(
        self, symbol: str, *, path: str, kinds: frozenset[str]
    ) -> tuple[list[int], list[tuple[OpenedProject, Symbol]]]:
        """Return the positions of the projects that have definitions, and the definitions."""
        every = self._ask_each(
            lambda opened: opened.search.find(symbol, path=path, kinds=kinds, suggests=False), symbol=symbol
        )
        rows = [(self._projects[number], row) for number, found in every for row in found]
        rows = _with_exact_case(rows, lambda pair: pair[1], symbol)
        rows.sort(key=lambda pair: (is_test(pair[1].path), pair[1].kind == "variable"))
        return [number for number, _ in every], rows

    # --- references

    def find_references(self, symbol: str, *, path: str, with_tests: bool, limit: int) -> Answer:
        """List the uses of a definition in its own project and in the projects that import it."""

        def own(opened: OpenedProject, target: Target, page: BudgetedLines) -> Answer:
            in_path = path_filter(opened.search.root, path)
            found = opened.search.references(target).filtered(in_path, with_tests=with_tests)
            return render_references(
                found,
                opened.search.source,
                limit=limit,
                page=page,
                is_complete=opened.is_complete,
                where=opened.name,
                unsearched_importers=self._importing(self._projects.index(opened), [target]).names_text,
            )

        def across(project_target: ProjectTarget, page: BudgetedLines) -> Answer | None:
            return self._uses_elsewhere(project_target, page, path=path, with_tests=with_tests, limit=limit)

        return self._answered(symbol, own, across)

    def _uses_elsewhere(
        self, project_target: ProjectTarget, page: BudgetedLines, *, path: str, with_tests: bool, limit: int
    ) -> Answer | None:
        """List the uses of a definition in other projects, one block per project; None if no project imports it."""
        found = self.uses_in_importers(project_target, path=path, with_tests=with_tests)
        if not found:
            return None
        total = sum(len(group.uses) for each in found for group in each.groups)
        blocks, available = [], limit
        for each in found:
            listed = []
            for group in each.groups:
                listed.append(replace(group, uses=group.uses[: max(0, available)]))
                available -= len(group.uses)
            source = each.project.search.source
            texts = source.lines(use.place for group in listed for use in group.uses)
            lines = UseFormatter(project_target.target.first, texts, source.changed)
            blocks.append((_heading(each), lines, [group for group in listed if group.uses]))

        def pieces(width: int) -> list[Piece]:
            return [piece for heading, lines, groups in blocks for piece in _block(heading, lines, groups, width)]

        def header(shown: int) -> str:
            return truncation_line(shown, min(limit, total), total, "references elsewhere") if shown < total else ""

        return page.widest(header, pieces)

    def uses_in_importers(
        self, project_target: ProjectTarget, *, path: str = "", with_tests: bool = True
    ) -> list[ProjectUses]:
        """Return the uses of a definition in each project that imports its project."""
        definitions = self._definitions(project_target)
        found = []
        for user, cross_references in self._references_to(project_target.project):
            opened = self._projects[user]
            keeps = self._filter(opened, path, with_tests=with_tests)
            groups = [
                replace(each, uses=tuple(use for use in each.uses if keeps(use.path)))
                for each in _groups(cross_references, definitions, project_target.target)
            ]
            used = tuple(group for group in groups if group.uses)
            found.append(ProjectUses(opened, used, cross_references.unresolved_count))
        return found

    # --- impact

    def get_impact(self, symbol: str, *, limit: int) -> Answer:
        """List the transitive dependants of a definition in its own project and in the projects that import it."""
        impacts: dict[ProjectTarget, Impact] = {}

        def own(opened: OpenedProject, target: Target, page: BudgetedLines) -> Answer:
            impact = opened.search.impact(target)
            impacts[ProjectTarget(self._projects.index(opened), target)] = impact
            together = self._surroundings.changed_with(target.first.path, opened.search.root)
            return render_impact(impact, opened.search.source, together, limit=limit, page=page)

        def across(project_target: ProjectTarget, page: BudgetedLines) -> Answer | None:
            return self._affected_elsewhere(project_target, impacts[project_target], page, limit=limit)

        return self._answered(symbol, own, across)

    def _affected_elsewhere(
        self, project_target: ProjectTarget, impact: Impact, page: BudgetedLines, *, limit: int
    ) -> Answer | None:
        """List what a change affects in other projects; None if no project imports the changed one."""
        found = self.impact_in_importers(project_target, impact)
        if not found:
            return None
        affected = [each for each in found if each.rows]
        total = sum(len(each.rows) for each in affected)
        pieces: list[Piece] = []
        available = limit
        for each in affected:
            tests = sum(is_test(row.symbol.path) for row in each.rows)
            files = len({row.symbol.path for row in each.rows})
            heading = f"[{each.project.name}] affects {counted(len(each.rows), 'symbol')} in {counted(files, 'file')}"
            heading += f"; {tests:,} of {len(each.rows):,} in tests" if tests else ""
            pieces += _affected_pieces(heading, each.rows[: max(0, available)])
            available -= len(each.rows)
        for each in found:
            if each.not_resolved:
                count = counted(each.not_resolved, "importing file")
                pieces.append(Piece(f"[{each.project.name}] {count} could not be resolved and may contain more", 0))

        def header(shown: int) -> str:
            return truncation_line(shown, min(limit, total), total, "dependants elsewhere") if shown < total else ""

        return page.answer(header, pieces)

    def impact_in_importers(self, project_target: ProjectTarget, impact: Impact) -> list[ProjectImpact]:
        """Return what a change affects in each project that imports the changed one, directly or through others."""
        affected, unresolved_count = self._propagate_impact(project_target, impact)
        users = dict.fromkeys([*affected, *unresolved_count])
        return [
            ProjectImpact(self._projects[user], tuple(affected.get(user, ())), unresolved_count.get(user, 0))
            for user in users
        ]

    def _propagate_impact(
        self, project_target: ProjectTarget, impact: Impact
    ) -> tuple[dict[int, list[AffectedSymbol]], dict[int, int]]:
        """Return the affected symbols of other projects, and the number of importing files that were not resolved, by
        project."""
        frontier = {project_target.project: self._changed(project_target, impact)}
        affected: dict[int, list[AffectedSymbol]] = {}
        unresolved_count: dict[int, int] = {}
        seen: set[tuple[int, int]] = set()
        while frontier:
            following: dict[int, dict[DefinitionKey, int]] = defaultdict(dict)
            steps = [
                (user, found, each)
                for provider, each in frontier.items()
                for user, found in self._references_to(provider)
            ]
            for user, cross_references, changed in steps:
                if cross_references.unresolved_count:
                    unresolved_count[user] = cross_references.unresolved_count
                for row, distance in (
                    self._closure(user, cross_references, changed) if user != project_target.project else ()
                ):
                    if (user, row.node_id) not in seen:
                        seen.add((user, row.node_id))
                        affected.setdefault(user, []).append(AffectedSymbol(row, distance))
                        following[user][DefinitionKey(row.path, row.key)] = distance
            frontier = following
        return {user: sorted(rows, key=_by_distance) for user, rows in affected.items()}, unresolved_count

    def _changed(self, project_target: ProjectTarget, impact: Impact) -> dict[DefinitionKey, int]:
        """Return the definitions that a change affects in its own project, with their distance."""
        changed = dict.fromkeys([*self._definitions(project_target), *self._members_of(project_target)], 0)
        for row in (row for level in impact.levels for row in level):
            if row.key:
                changed.setdefault(DefinitionKey(row.path, row.key), impact.distances[row.node_id])
        return changed

    def _closure(
        self, user: int, cross_references: CrossProjectReferences, changed: dict[DefinitionKey, int]
    ) -> Iterator[tuple[Symbol, int]]:
        """Yield the symbols of one project that depend on changed definitions of another, directly or through its own
        code."""
        if cross_references.ambiguity:
            return
        search = self._projects[user].search
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

    # --- context, cycles and statistics

    def get_context(self, symbol: str) -> Answer:
        """Show a symbol, its neighbours and its users in other projects; without a symbol, a map of each project."""
        if symbol.strip() in ("", ".", "/"):
            return self._in_turn(lambda opened, page: render_map(opened.search, "", page=page))

        def own(opened: OpenedProject, target: Target, page: BudgetedLines) -> Answer:
            first, root = target.first, opened.search.root
            extras = [*self._surroundings.past(first, root), *self._surroundings.mentions(first.name, root)]
            return render_context(opened.search.context(target), opened.search.source, extras, page=page)

        def across(project_target: ProjectTarget, page: BudgetedLines) -> Answer | None:
            return self._uses_elsewhere(project_target, page, path="", with_tests=True, limit=_MAX_CONTEXT_USES)

        return self._answered(symbol, own, across)

    def detect_circular(self) -> Answer:
        """List the import cycles of each project, and count the projects without any."""
        every = self._cycles()
        with_cycles = [(number, cycles) for number, cycles in every if cycles]
        without = len(every) - len(with_cycles)
        if not with_cycles:
            return self._page(notes=self._notes(range(len(self._projects)))).answer(
                lambda _shown: f"No circular imports in {counted(without, 'project')}.", []
            )
        pages = self._page().split_into(len(with_cycles), reserved=_MIN_TOKENS)
        blocks = []
        for (number, cycles), page in zip(with_cycles, pages, strict=True):
            opened = self._projects[number]
            blocks.append(render_cycles(cycles, opened.search.reader.paths(), page=page))
        last = f"No circular imports in {counted(without, 'other project')}." if without else ""
        return self._joined([number for number, _ in with_cycles], blocks, last)

    def cycles(self) -> list[tuple[OpenedProject, list[Component]]]:
        """Return the import cycles of each project."""
        return [(self._projects[number], found) for number, found in self._cycles()]

    def _cycles(self) -> list[tuple[int, list[Component]]]:
        return self._ask_each(lambda opened: find_cycles(opened.search.reader.imports()))

    def get_stats(self) -> Answer:
        """Show the sizes of each project's graph."""

        def stats(opened: OpenedProject, page: BudgetedLines) -> Answer:
            state = "index complete and up to date" if opened.is_complete else "index not complete yet"
            return render_stats(opened.search.reader.counts(), state, page=page)

        return self._in_turn(stats)

    # --- shared by the tools

    def ask_each(self, compute: Callable[[OpenedProject], _T]) -> list[tuple[OpenedProject, _T]]:
        """Return the result of `compute` for each project; projects that fail are added to `left`."""
        return [(self._projects[number], found) for number, found in self._ask_each(compute)]

    def _ask_each(self, compute: Callable[[OpenedProject], _T], *, symbol: str = "") -> list[tuple[int, _T]]:
        """Return the result of `compute` for each project, with its position.

        Projects without a match are dropped, projects that fail are recorded as unavailable. If no project has a match,
        raise the error of the first one, with names similar to `symbol`.
        """
        found: list[tuple[int, _T]] = []
        missing: list[tuple[OpenedProject, NotFound]] = []
        for number, opened in enumerate(self._projects):
            try:
                found.append((number, compute(opened)))
            except NotFound as problem:
                missing.append((opened, problem))
            except Cancelled:
                raise
            except DeltosError as problem:
                self._left.append(UnavailableProject(opened.name, problem.message))
        if not found:
            raise self._nothing_found(missing, symbol)
        return found

    def _nothing_found(self, missing: Sequence[tuple[OpenedProject, NotFound]], symbol: str) -> DeltosError:
        """Return the error for a query without matches in any project."""
        searched = f"Searched {counted(len(self._projects), 'project')}."
        notes = " ".join(self._notes(range(len(self._projects))))
        if not missing:
            return NothingToIndex("None of the projects could be searched", hint=notes)
        # Similar names take several times as long as the query: they are computed only now, up to the first hit.
        questions = (opened.search.near_names(symbol) for opened, problem in missing if symbol and not problem.hint)
        near = next(filter(None, questions), "")
        return NotFound(missing[0][1].message, hint=" ".join(filter(None, [near, searched, notes])))

    def _answered(
        self,
        symbol: str,
        own: Callable[[OpenedProject, Target, BudgetedLines], Answer],
        across: Callable[[ProjectTarget, BudgetedLines], Answer | None],
    ) -> Answer:
        """Answer for each target of `symbol`: `own` in its project, `across` in the others; or list the candidates."""
        every, counts, duplicate_notes = self._counted_targets(symbol)
        if len(every) > 1 and not is_pattern(symbol) and len({bare_key(each.target.path_name) for each in every}) > 1:
            return self._candidates(symbol, every, counts)
        shown, rest = every[:_MAX_ANSWERED], every[_MAX_ANSWERED:]
        answering = {project_target.project for project_target in shown}
        importer_finder = self._importer_notes(shown)
        head = (
            *duplicate_notes,
            *self._import_alias_notes(symbol, answering),
            *importer_finder,
            *self._notes(answering),
        )
        if note := case_note(symbol, [project_target.target.first.name for project_target in every]):
            head = (note, *head)
        if len(every) > 1:
            answered = f"; answers for the {len(shown)} most used follow" if rest else ""
            head = (f"'{symbol}' matches {len(every)} definitions{answered}", *head)
        last = ""
        if rest:
            places = [f"[{self._projects[each.project].name}] {each.target.name}" for each in rest[:_MAX_CANDIDATES]]
            last = f"--- not answered: {', '.join(places)} ---"
        characters = characters_for(self._token_budget) - sum(map(len, head)) - len(last)
        part = max(_MIN_TOKENS, characters // CHARACTERS_PER_TOKEN // len(shown))
        texts, truncated, original = [], bool(rest), 0
        for project_target in shown:
            for answer in self._answers_for(project_target, part, own, across):
                texts.append(answer.text)
                truncated, original = truncated or answer.truncated, original + answer.original_characters
        return Answer("\n".join([*head, *texts, *([last] if last else [])]), None, truncated, original)

    def targets(self, symbol: str) -> list[ProjectTarget]:
        """Return the targets of a name, pattern or place, most used first."""
        return self._counted_targets(symbol)[0]

    def _counted_targets(self, symbol: str) -> tuple[list[ProjectTarget], dict[ProjectTarget, int], tuple[str, ...]]:
        """Return the targets, their numbers of references, and notes on targets that two projects share."""
        found_in = self._ask_each(lambda opened: opened.search.targets(symbol, suggests=False), symbol=symbol)
        every = [ProjectTarget(number, each) for number, found in found_in for each in found]
        every = _with_exact_case(every, lambda project_target: project_target.target.first, symbol)
        counts = self._counts(every)
        every.sort(key=lambda project_target: -counts[project_target])
        kept, duplicate_notes = self._without_duplicates(every)
        return kept, counts, duplicate_notes

    def _without_duplicates(self, every: Sequence[ProjectTarget]) -> tuple[list[ProjectTarget], tuple[str, ...]]:
        """Drop definitions in files that belong to two projects, one of which contains the other.

        The first target in order of use is kept, and a note names its project.
        """
        kept: dict[tuple[Path, int, str], ProjectTarget] = {}
        pairs: dict[tuple[str, str], None] = {}
        for project_target in every:
            opened, first = self._projects[project_target.project], project_target.target.first
            known = kept.setdefault((opened.root / first.path, first.line, first.kind), project_target)
            if known is not project_target:
                pairs.setdefault((opened.name, self._projects[known.project].name))
        notes = (f"Note: [{one}] and [{other}] share files; [{other}] answers for them." for one, other in pairs)
        return [*kept.values()], tuple(notes)

    def _answers_for(
        self,
        project_target: ProjectTarget,
        tokens: int,
        own: Callable[[OpenedProject, Target, BudgetedLines], Answer],
        across: Callable[[ProjectTarget, BudgetedLines], Answer | None],
    ) -> Iterator[Answer]:
        """Yield the answer of a target's own project, then that of the others; the former leaves a part of the budget
        if needed."""
        opened = self._projects[project_target.project]
        users = [user for user, _ in self._references_to(project_target.project)]
        available = tokens * 2 // 3 if users else tokens
        page = BudgetedLines(token_budget=available, generated=opened.store.generated())
        answer = own(opened, project_target.target, page)
        yield replace(answer, text=f"[{opened.name}] {answer.text}")
        left = tokens - len(answer.text) // CHARACTERS_PER_TOKEN
        elsewhere = across(project_target, BudgetedLines(token_budget=max(_MIN_TOKENS, left))) if users else None
        if elsewhere is not None:
            yield replace(elsewhere, text=elsewhere.text.strip("\n"))
            return
        others = counted(len(self._projects) - 1, "other project")
        names = ", ".join(self._projects[user].name for user in users[:_MAX_NAMED])
        reason = f"only {names} can import {opened.name}" if users else f"none imports a package of {opened.name}"
        yield Answer(f"No use found in {others}: {reason}.")

    def _candidates(self, symbol: str, every: Sequence[ProjectTarget], counts: dict[ProjectTarget, int]) -> Answer:
        """List the definitions that an ambiguous name may refer to, most referenced first."""
        lines = [
            Piece(
                f"[{self._projects[each.project].name}] {each.target.name} {each.target.first.path}:"
                f"{each.target.first.line} {each.target.first.kind}, {counted(counts[each], 'reference')}"
            )
            for each in every[:_MAX_CANDIDATES]
        ]

        def header(shown: int) -> str:
            more = f" (the {shown} most used are listed)" if shown < len(every) else ""
            names = {self._projects[each.project].name for each in every}
            where = f"{counted(len(every), 'definition')} in {counted(len(names), 'project')}"
            return f"'{symbol}' is ambiguous: {where}{more}. Ask again with a qualified name:"

        return self._page(notes=self._notes({each.project for each in every})).answer(header, lines)

    def _counts(self, every: Sequence[ProjectTarget]) -> dict[ProjectTarget, int]:
        counts = {}
        for project_target in every:
            reader = self._projects[project_target.project].search.reader
            counts[project_target] = sum(reader.reference_counts(project_target.target.node_ids).values())
        return counts

    def _in_turn(self, answer: Callable[[OpenedProject, BudgetedLines], Answer]) -> Answer:
        """Join the answers of all projects, each with an equal part of the budget."""
        pages = self._page().split_into(len(self._projects), reserved=_MIN_TOKENS)
        found = self._ask_each(lambda opened: answer(opened, pages[self._projects.index(opened)]))
        return self._joined([number for number, _ in found], [each for _, each in found])

    def _joined(self, numbers: Sequence[int], answers: Sequence[Answer], last: str = "") -> Answer:
        """Join answers below the names of their projects."""
        blocks = [f"[{self._projects[number].name}] {each.text}" for number, each in zip(numbers, answers, strict=True)]
        page = self._page(notes=self._notes(numbers))
        total = len(blocks)

        def header(shown: int) -> str:
            if shown < total:
                return truncated(shown, total, "projects", "name fewer projects for the rest")
            return counted(total, "project")

        joined = page.answer(header, [Piece(block) for block in blocks], last=last)
        return replace(joined, truncated=joined.truncated or any(each.truncated for each in answers))

    def _references_to(self, provider: int) -> list[tuple[int, CrossProjectReferences]]:
        """Return the references of other projects to a provider."""
        return list(self._cross_project.references_to(provider, self._members))

    def _definitions(self, project_target: ProjectTarget) -> list[DefinitionKey]:
        """Return the keys of all definitions of a target."""
        rows = self._projects[project_target.project].search.reader.symbols(project_target.target.node_ids).values()
        first = project_target.target.first
        return list(
            dict.fromkeys([DefinitionKey(first.path, first.key), *(DefinitionKey(row.path, row.key) for row in rows)])
        )

    def _members_of(self, project_target: ProjectTarget) -> list[DefinitionKey]:
        """Return the keys of the definitions inside a target, whose users depend on the target."""
        first = project_target.target.first
        rows = self._projects[project_target.project].search.reader.symbols_in(first.path)
        return [DefinitionKey(row.path, row.key) for row in rows if row.key.startswith(f"{first.key}.")]

    @staticmethod
    def _filter(opened: OpenedProject, path: str, *, with_tests: bool) -> Callable[[str], bool]:
        """Return a test for files in `path` that takes tests only if `with_tests`."""
        is_inside = path_filter(opened.search.root, path)
        return lambda file: is_inside(file) and (with_tests or not is_test(file))

    def _page(self, notes: Sequence[str] = ()) -> BudgetedLines:
        return BudgetedLines(token_budget=self._token_budget, notes=notes)

    def importers_of(self, project_target: ProjectTarget) -> Importers:
        """Return the projects that import a target's package and were not searched."""
        return self._importing(project_target.project, [project_target.target])

    def _importing(self, number: int, targets: Iterable[Target]) -> Importers:
        """Return the projects that import a package with one of the targets and were not searched."""
        if self._unasked is None:
            return Importers()
        return self._unasked.importing(self._members[number], [target.first.path for target in targets])

    def _importer_notes(self, shown: Sequence[ProjectTarget]) -> Iterator[str]:
        """Yield a note per project whose importers were not searched."""
        for number in dict.fromkeys(project_target.project for project_target in shown):
            targets = [project_target.target for project_target in shown if project_target.project == number]
            if note := self._importing(number, targets).note(self._projects[number].name):
                yield note

    def _import_alias_notes(self, symbol: str, numbers: Iterable[int]) -> tuple[str, ...]:
        """Return what a name refers to in the projects whose imports introduce it."""
        projects = [self._projects[number] for number in numbers]
        notes = [(opened.name, opened.search.import_alias_note(symbol)) for opened in projects]
        return tuple(f"[{name}] Note: {note}." for name, note in notes if note)

    def _notes(self, numbers: Iterable[int]) -> tuple[str, ...]:
        """Return the notes of projects, and a note for each unavailable project."""
        notes = [
            f"[{self._projects[number].name}] {note}" for number in numbers for note in self._projects[number].notes
        ]
        return (*notes, *unavailable_notes(self._left))


def _with_exact_case(found: list[_T], row_of: Callable[[_T], Symbol], symbol: str) -> list[_T]:
    """Return the results in the case of the query if there are any: a project without them returns other cases."""
    if is_pattern(symbol):
        return found
    exact = [each for each in found if row_of(each).name and row_of(each).name in symbol]
    return exact or found


def _groups(
    cross_references: CrossProjectReferences, definitions: Sequence[DefinitionKey], target: Target
) -> list[UseGroup]:
    """Group the uses of a definition in another project: certain, by another name, possible."""
    rows = cross_references.references(definitions)
    certain = [row for row in rows if row.certain]
    shown = {(row.path, row.line) for row in certain}
    possible = [row for row in rows if not row.certain and (row.path, row.line) not in shown]
    is_member = "." in target.first.key
    mentions = [
        row
        for row in (cross_references.mentions.get(target.first.name, ()) if is_member else ())
        if (row.path, row.line) not in shown and row.kind != "import"
    ]
    return [
        _group("", [row for row in certain if row.origin != ALIAS]),
        _group(UNDER_ANOTHER_NAME, [row for row in certain if row.origin == ALIAS]),
        _group("", possible, cross_references.ambiguity or AMBIGUOUS_NAME),
        _group("", mentions, UNKNOWN_RECEIVER),
    ]


def _group(title: str, rows: Sequence[ReferenceRow], reason: str = "") -> UseGroup:
    """Return a group of uses; a `reason` makes them possible ones."""
    uses = tuple(merge_by_line(rows))
    return UseGroup(f"--- {possible_references(len(uses), reason)} ---" if reason else title, uses, reason)


def _heading(found: ProjectUses) -> str:
    """Return the numbers of uses in an importing project."""
    sure = [use for group in found.groups if not group.reason for use in group.uses]
    possible = sum(len(group.uses) for group in found.groups if group.reason)
    text = f"[{found.project.name}] {counted(len(sure), 'reference')}"
    text += f" in {counted(len({use.path for use in sure}), 'file')}" if sure else ""
    text += f", {possible} possible" if possible else ""
    if found.not_resolved:
        text += (
            f"; {counted(found.not_resolved, 'importing file')} could not be resolved: search their text for the name"
        )
    return text


def _block(heading: str, lines: UseFormatter, groups: Sequence[UseGroup], width: int) -> Iterator[Piece]:
    """Yield the pieces of one project, the first one below its heading."""
    pieces = list(lines.grouped(groups, width))
    if not pieces:
        yield Piece(heading, 0)
    for piece in pieces:
        yield with_text(piece, f"{heading}\n{piece.text}" if heading else piece.text)
        heading = ""


def with_text(piece: Piece, text: str) -> Piece:
    """Return the piece with another text."""
    return Piece(text, piece.results)


def _affected_pieces(heading: str, rows: Sequence[AffectedSymbol]) -> Iterator[Piece]:
    """Yield one piece per distance and file."""
    places: dict[tuple[int, str], list[Symbol]] = defaultdict(list)
    for symbol, distance in rows:
        places[distance, symbol.path].append(symbol)
    before = 0
    for (distance, path), symbols in places.items():
        title = [f"--- distance {distance} ---"] if distance != before else []
        before = distance
        names_text = ", ".join(f"{symbol.line} {symbol.label}" for symbol in symbols)
        yield Piece("\n".join([*([heading] if heading else []), *title, f"{path} {names_text}"]), len(symbols))
        heading = ""


def _by_distance(row: AffectedSymbol) -> tuple[int, bool, str, int]:
    return row.distance, is_test(row.symbol.path), row.symbol.path, row.symbol.line
