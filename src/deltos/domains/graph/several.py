"""Questions to the graphs of several projects: definitions in each, uses across them through declared packages.

What one project answers by itself is written as ever, under its name in brackets; what others refer to follows.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from deltos.budget import CHARACTERS_PER_TOKEN, characters_for
from deltos.domains.graph.across import Definition, Member
from deltos.domains.graph.cycles import find_cycles
from deltos.domains.graph.lines import UseLines, definition_line
from deltos.domains.graph.map import render_map
from deltos.domains.graph.model import ALIAS
from deltos.domains.graph.page import BudgetedLines, Piece, cut_line
from deltos.domains.graph.query import case_note, is_pattern, path_filter
from deltos.domains.graph.render import render_context, render_cycles, render_impact, render_references, render_stats
from deltos.domains.graph.search import GraphSearch
from deltos.domains.graph.unasked import Importers
from deltos.domains.graph.uses import UNDER_ANOTHER_NAME, UseGroup, merged
from deltos.errors import Cancelled, DeltosError, NotFound, NothingToIndex
from deltos.store.symbols import bare_key
from deltos.text.counts import counted
from deltos.tool import Answer
from deltos.workspace.purpose import is_test
from deltos.workspace.selection import Left, left_notes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from deltos.domains.graph.across import Crossings, Crossroads
    from deltos.domains.graph.cycles import Component
    from deltos.domains.graph.model import Surroundings
    from deltos.domains.graph.search import Impact, Target
    from deltos.domains.graph.unasked import Unasked
    from deltos.isolated.process import Workers
    from deltos.store.graph import ReferenceRow
    from deltos.store.project import ProjectStore
    from deltos.store.symbols import Symbol
    from deltos.workspace.selection import FreshSelection

_T = TypeVar("_T")
_MOST_ANSWERED = 5  # definitions that one answer is about
_MOST_CANDIDATES = 30
_CONTEXT_SHOWN = 12
_LEAST_TOKENS = 200
_NAMED = 5


@dataclass(frozen=True, slots=True)
class OpenedProject:
    """A project's graph, brought up to date for one call; `notes` are what a reader should know of it."""

    name: str
    root: Path
    search: GraphSearch
    store: ProjectStore
    workers: Workers | None
    is_complete: bool
    notes: tuple[str, ...] = ()


class Meant(NamedTuple):
    """A definition that may be meant, and the position of its project."""

    project: int
    target: Target


class Affected(NamedTuple):
    """A definition that a change affects, in another project than the one that changes."""

    symbol: Symbol
    distance: int


@dataclass(frozen=True, slots=True)
class UsesElsewhere:
    """The uses of a definition in a project that imports it; `not_resolved` counts importing files that may have
    more."""

    project: OpenedProject
    groups: tuple[UseGroup, ...]
    not_resolved: int


@dataclass(frozen=True, slots=True)
class AffectedElsewhere:
    """What a change affects in a project that imports what changes, nearest first; `not_resolved` as above."""

    project: OpenedProject
    rows: tuple[Affected, ...]
    not_resolved: int


class SeveralGraphs:
    """Answers questions about several projects at once."""

    def __init__(
        self,
        projects: Sequence[OpenedProject],
        left: Sequence[Left],
        crossroads: Crossroads,
        surroundings: Surroundings,
        *,
        token_budget: int,
        unasked: Unasked | None = None,
    ) -> None:
        self._projects = list(projects)
        self._left = list(left)
        self._crossroads = crossroads
        self._surroundings = surroundings
        self._token_budget = token_budget
        self._unasked = unasked
        self._members = [Member.of(each.name, each.store, each.workers) for each in projects]

    @classmethod
    def of(
        cls,
        fresh: FreshSelection,
        crossroads: Crossroads,
        surroundings: Surroundings,
        *,
        token_budget: int,
        unasked: Unasked | None = None,
    ) -> SeveralGraphs:
        """The graphs of projects that were brought up to date."""
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
        return cls(projects, fresh.left, crossroads, surroundings, token_budget=token_budget, unasked=unasked)

    @property
    def left(self) -> Sequence[Left]:
        """The projects that did not answer, so far, and why."""
        return self._left

    def project(self, number: int) -> OpenedProject:
        """The project at a position."""
        return self._projects[number]

    # --- definitions

    def find_symbol(self, symbol: str, *, path: str, kinds: frozenset[str], limit: int) -> Answer:
        """Definitions by name or pattern, each with its project."""
        numbers, rows = self._found(symbol, path=path, kinds=kinds)
        listed = rows[:limit]

        def header(shown: int) -> str:
            if shown < len(rows):
                return cut_line(shown, len(listed), len(rows), "definitions")
            where = counted(len({opened.name for opened, _ in rows}), "project")
            return f"{counted(len(rows), 'definition')} of '{symbol}' in {where}"

        page = self._page(notes=(*self._alias_notes(symbol, numbers), *self._notes(numbers)))

        def pieces(width: int) -> list[Piece]:
            return [Piece(f"[{opened.name}] {definition_line(row, characters=width)}") for opened, row in listed]

        return page.widest(header, pieces)

    def definitions(
        self, symbol: str, *, path: str = "", kinds: frozenset[str] = frozenset()
    ) -> list[tuple[OpenedProject, Symbol]]:
        """Definitions by name or pattern, each with its project; code first."""
        return self._found(symbol, path=path, kinds=kinds)[1]

    def _found(
        self, symbol: str, *, path: str, kinds: frozenset[str]
    ) -> tuple[list[int], list[tuple[OpenedProject, Symbol]]]:
        """The positions of the projects that have definitions, and these."""
        every = self._each(
            lambda opened: opened.search.find(symbol, path=path, kinds=kinds, suggests=False), symbol=symbol
        )
        rows = [(self._projects[number], row) for number, found in every for row in found]
        rows = _as_written(rows, lambda pair: pair[1], symbol)
        rows.sort(key=lambda pair: (is_test(pair[1].path), pair[1].kind == "variable"))
        return [number for number, _ in every], rows

    # --- references

    def find_references(self, symbol: str, *, path: str, with_tests: bool, limit: int) -> Answer:
        """Uses of a definition in its own project and in those that import it."""

        def own(opened: OpenedProject, target: Target, page: BudgetedLines) -> Answer:
            keeps = self._filter(opened, path, with_tests=with_tests)
            found = opened.search.references(target).narrowed(keeps)
            return render_references(
                found,
                opened.search.source,
                limit=limit,
                page=page,
                is_complete=opened.is_complete,
                where=opened.name,
                unasked=self._importing(self._projects.index(opened), [target]).named,
            )

        def across(meant: Meant, page: BudgetedLines) -> Answer | None:
            return self._uses_elsewhere(meant, page, path=path, with_tests=with_tests, limit=limit)

        return self._answered(symbol, own, across)

    def _uses_elsewhere(
        self, meant: Meant, page: BudgetedLines, *, path: str, with_tests: bool, limit: int
    ) -> Answer | None:
        """The uses of a definition in other projects, as one block for each."""
        found = self.uses_elsewhere(meant, path=path, with_tests=with_tests)
        if not found:
            return None
        total = sum(len(group.uses) for each in found for group in each.groups)
        blocks, room = [], limit
        for each in found:
            listed = []
            for group in each.groups:
                listed.append(replace(group, uses=group.uses[: max(0, room)]))
                room -= len(group.uses)
            source = each.project.search.source
            texts = source.lines(use.place for group in listed for use in group.uses)
            lines = UseLines(meant.target.first, texts, source.changed)
            blocks.append((_heading(each), lines, [group for group in listed if group.uses]))

        def pieces(width: int) -> list[Piece]:
            return [piece for heading, lines, groups in blocks for piece in _block(heading, lines, groups, width)]

        def header(shown: int) -> str:
            return cut_line(shown, min(limit, total), total, "references elsewhere") if shown < total else ""

        return page.widest(header, pieces)

    def uses_elsewhere(self, meant: Meant, *, path: str = "", with_tests: bool = True) -> list[UsesElsewhere]:
        """The uses of a definition in each project that imports what its project offers."""
        definitions = self._definitions(meant)
        found = []
        for user, crossings in self._into(meant.project):
            opened = self._projects[user]
            keeps = self._filter(opened, path, with_tests=with_tests)
            groups = [
                replace(each, uses=tuple(use for use in each.uses if keeps(use.path)))
                for each in _groups(crossings, definitions, meant.target)
            ]
            used = tuple(group for group in groups if group.uses)
            found.append(UsesElsewhere(opened, used, crossings.unread))
        return found

    # --- impact

    def get_impact(self, symbol: str, *, limit: int) -> Answer:
        """Transitive dependants in a definition's own project and in those that import it."""
        impacts: dict[Meant, Impact] = {}

        def own(opened: OpenedProject, target: Target, page: BudgetedLines) -> Answer:
            impact = opened.search.impact(target)
            impacts[Meant(self._projects.index(opened), target)] = impact
            together = self._surroundings.changed_with(target.first.path, opened.search.root)
            return render_impact(impact, opened.search.source, together, limit=limit, page=page)

        def across(meant: Meant, page: BudgetedLines) -> Answer | None:
            return self._affected_elsewhere(meant, impacts[meant], page, limit=limit)

        return self._answered(symbol, own, across)

    def _affected_elsewhere(self, meant: Meant, impact: Impact, page: BudgetedLines, *, limit: int) -> Answer | None:
        found = self.affected_elsewhere(meant, impact)
        if not found:
            return None
        affected = [each for each in found if each.rows]
        total = sum(len(each.rows) for each in affected)
        pieces: list[Piece] = []
        room = limit
        for each in affected:
            tests = sum(is_test(row.symbol.path) for row in each.rows)
            files = len({row.symbol.path for row in each.rows})
            heading = f"[{each.project.name}] affects {counted(len(each.rows), 'symbol')} in {counted(files, 'file')}"
            heading += f", {counted(tests, 'test')}" if tests else ""
            pieces += _affected_pieces(heading, each.rows[: max(0, room)])
            room -= len(each.rows)
        for each in found:
            if each.not_resolved:
                files_left = counted(each.not_resolved, "importing file")
                pieces.append(Piece(f"[{each.project.name}] {files_left} not resolved: there may be more", 0))

        def header(shown: int) -> str:
            return cut_line(shown, min(limit, total), total, "dependants elsewhere") if shown < total else ""

        return page.answer(header, pieces)

    def affected_elsewhere(self, meant: Meant, impact: Impact) -> list[AffectedElsewhere]:
        """What a change affects in each project that its own code, or what that passes on, leads to."""
        affected, unread = self._spread(meant, impact)
        users = dict.fromkeys([*affected, *unread])
        return [
            AffectedElsewhere(self._projects[user], tuple(affected.get(user, ())), unread.get(user, 0))
            for user in users
        ]

    def _spread(self, meant: Meant, impact: Impact) -> tuple[dict[int, list[Affected]], dict[int, int]]:
        """What a change affects in other projects, by project and distance; and importing files not resolved."""
        frontier = {meant.project: self._changed(meant, impact)}
        affected: dict[int, list[Affected]] = {}
        unread: dict[int, int] = {}
        seen: set[tuple[int, int]] = set()
        while frontier:
            following: dict[int, dict[Definition, int]] = defaultdict(dict)
            steps = [(user, found, each) for provider, each in frontier.items() for user, found in self._into(provider)]
            for user, crossings, changed in steps:
                if crossings.unread:
                    unread[user] = crossings.unread
                for row, distance in self._closure(user, crossings, changed) if user != meant.project else ():
                    if (user, row.node_id) not in seen:
                        seen.add((user, row.node_id))
                        affected.setdefault(user, []).append(Affected(row, distance))
                        following[user][Definition(row.path, row.key)] = distance
            frontier = following
        return {user: sorted(rows, key=_by_distance) for user, rows in affected.items()}, unread

    def _changed(self, meant: Meant, impact: Impact) -> dict[Definition, int]:
        """What a change affects in its own project, with the distance."""
        changed = dict.fromkeys([*self._definitions(meant), *self._members_of(meant)], 0)
        for row in (row for level in impact.levels for row in level):
            if row.key:
                changed.setdefault(Definition(row.path, row.key), impact.distances[row.node_id])
        return changed

    def _closure(self, user: int, crossings: Crossings, changed: dict[Definition, int]) -> Iterator[tuple[Symbol, int]]:
        """What depends in one project on changed definitions of another, directly and through its own code."""
        if crossings.doubt:
            return
        search = self._projects[user].search
        starts: dict[Definition, int] = {}
        for definition, distance in changed.items():
            for row in crossings.rows.get(definition, ()):
                if row.certain and row.source_key:
                    place = Definition(row.path, row.source_key)
                    starts[place] = min(starts.get(place, distance + 1), distance + 1)
        known: dict[int, int] = {}
        for symbol in search.reader.symbols_at(starts):
            known[symbol.node_id] = starts[Definition(symbol.path, symbol.key)]
            yield symbol, known[symbol.node_id]
        pending = dict(known)
        while pending:
            rows = [row for row in search.reader.references(pending) if row.certain and row.source_id not in known]
            pending = {row.source_id: pending[row.target_id] + 1 for row in rows if row.target_id in pending}
            known |= pending
            for node_id, symbol in search.reader.symbols(pending).items():
                yield symbol, pending[node_id]

    # --- the rest

    def get_context(self, symbol: str) -> Answer:
        """One symbol and its neighbourhood, with its users in other projects; without a symbol, a map of each."""
        if symbol.strip() in ("", ".", "/"):
            return self._in_turn(lambda opened, page: render_map(opened.search, "", page=page))

        def own(opened: OpenedProject, target: Target, page: BudgetedLines) -> Answer:
            first, root = target.first, opened.search.root
            extras = [*self._surroundings.past(first, root), *self._surroundings.mentions(first.name, root)]
            return render_context(opened.search.context(target), opened.search.source, extras, page=page)

        def across(meant: Meant, page: BudgetedLines) -> Answer | None:
            return self._uses_elsewhere(meant, page, path="", with_tests=True, limit=_CONTEXT_SHOWN)

        return self._answered(symbol, own, across)

    def detect_circular(self) -> Answer:
        """Import cycles of each project; those without any are counted."""
        every = self._cycles()
        with_cycles = [(number, cycles) for number, cycles in every if cycles]
        without = len(every) - len(with_cycles)
        if not with_cycles:
            return self._page(notes=self._notes(range(len(self._projects)))).answer(
                lambda _shown: f"No circular imports in {counted(without, 'project')}.", []
            )
        pages = self._page().parted(len(with_cycles), reserved=_LEAST_TOKENS)
        blocks = []
        for (number, cycles), page in zip(with_cycles, pages, strict=True):
            opened = self._projects[number]
            blocks.append(render_cycles(cycles, opened.search.reader.paths(), page=page))
        last = f"No circular imports in {counted(without, 'other project')}." if without else ""
        return self._joined([number for number, _ in with_cycles], blocks, last)

    def cycles(self) -> list[tuple[OpenedProject, list[Component]]]:
        """The import cycles of each project."""
        return [(self._projects[number], found) for number, found in self._cycles()]

    def _cycles(self) -> list[tuple[int, list[Component]]]:
        return self._each(lambda opened: find_cycles(opened.search.reader.imports()))

    def get_stats(self) -> Answer:
        """Sizes and shares of each project."""

        def stats(opened: OpenedProject, page: BudgetedLines) -> Answer:
            state = "index complete and up to date" if opened.is_complete else "index not complete yet"
            return render_stats(opened.search.reader.counts(), state, page=page)

        return self._in_turn(stats)

    # --- what they share

    def of_each(self, ask: Callable[[OpenedProject], _T]) -> list[tuple[OpenedProject, _T]]:
        """What each project answers; those that fail are among the ones that are `left`."""
        return [(self._projects[number], found) for number, found in self._each(ask)]

    def _each(self, ask: Callable[[OpenedProject], _T], *, symbol: str = "") -> list[tuple[int, _T]]:
        """What each project answers, by position. Those that have nothing are left out, those that fail are named;
        where none has anything, the first says so, with names that are like the one that was asked for."""
        found: list[tuple[int, _T]] = []
        missing: list[tuple[OpenedProject, NotFound]] = []
        for number, opened in enumerate(self._projects):
            try:
                found.append((number, ask(opened)))
            except NotFound as problem:
                missing.append((opened, problem))
            except Cancelled:
                raise
            except DeltosError as problem:
                self._left.append(Left(opened.name, problem.message))
        if not found:
            raise self._nothing(missing, symbol)
        return found

    def _nothing(self, missing: Sequence[tuple[OpenedProject, NotFound]], symbol: str) -> DeltosError:
        searched = f"Searched {counted(len(self._projects), 'project')}."
        notes = " ".join(self._notes(range(len(self._projects))))
        if not missing:
            return NothingToIndex("None of the projects could be asked", hint=notes)
        # Looked for only now, and no further than the first: that takes several times as long as the question.
        asked = (opened.search.near_names(symbol) for opened, problem in missing if symbol and not problem.hint)
        near = next(filter(None, asked), "")
        return NotFound(missing[0][1].message, hint=" ".join(filter(None, [near, searched, notes])))

    def _answered(
        self,
        symbol: str,
        own: Callable[[OpenedProject, Target, BudgetedLines], Answer],
        across: Callable[[Meant, BudgetedLines], Answer | None],
    ) -> Answer:
        """The answer for the definitions that are meant, each with what other projects say; or the candidates."""
        every, counts, doubles = self._meant(symbol)
        if len(every) > 1 and not is_pattern(symbol) and len({bare_key(each.target.name) for each in every}) > 1:
            return self._candidates(symbol, every, counts)
        shown, rest = every[:_MOST_ANSWERED], every[_MOST_ANSWERED:]
        answering = {meant.project for meant in shown}
        unasked = self._unasked_notes(shown)
        head = (*doubles, *self._alias_notes(symbol, answering), *unasked, *self._notes(answering))
        if note := case_note(symbol, [meant.target.first.name for meant in every]):
            head = (note, *head)
        if len(every) > 1:
            answered = f", answered for {len(shown)}" if rest else ""
            head = (f"'{symbol}' means {len(every)} definitions{answered}", *head)
        last = ""
        if rest:
            places = [f"[{self._projects[each.project].name}] {each.target.name}" for each in rest[:_MOST_CANDIDATES]]
            last = f"--- also, not answered here: {', '.join(places)} ---"
        characters = characters_for(self._token_budget) - sum(map(len, head)) - len(last)
        part = max(_LEAST_TOKENS, characters // CHARACTERS_PER_TOKEN // len(shown))
        texts, truncated, original = [], bool(rest), 0
        for meant in shown:
            for answer in self._own_and_elsewhere(meant, part, own, across):
                texts.append(answer.text)
                truncated, original = truncated or answer.truncated, original + answer.original_characters
        return Answer("\n".join([*head, *texts, *([last] if last else [])]), None, truncated, original)

    def meant(self, symbol: str) -> list[Meant]:
        """The definitions that a name, a pattern or a place may mean, the most used first."""
        return self._meant(symbol)[0]

    def _meant(self, symbol: str) -> tuple[list[Meant], dict[Meant, int], tuple[str, ...]]:
        """The definitions that may be meant, how often each is used, and notes on those that two projects share."""
        found_in = self._each(lambda opened: opened.search.targets(symbol, suggests=False), symbol=symbol)
        every = [Meant(number, each) for number, found in found_in for each in found]
        every = _as_written(every, lambda meant: meant.target.first, symbol)
        counts = self._counts(every)
        every.sort(key=lambda meant: -counts[meant])
        kept, doubles = self._each_place_once(every)
        return kept, counts, doubles

    def _each_place_once(self, every: Sequence[Meant]) -> tuple[list[Meant], tuple[str, ...]]:
        """Definitions without those that stand in two projects, of which one lies inside the other: the one that most
        refer to is kept, and a note says whose it is."""
        kept: dict[tuple[Path, int, str], Meant] = {}
        inside: dict[tuple[str, str], None] = {}
        for meant in every:
            opened, first = self._projects[meant.project], meant.target.first
            known = kept.setdefault((opened.root / first.path, first.line, first.kind), meant)
            if known is not meant:
                inside.setdefault((opened.name, self._projects[known.project].name))
        notes = (f"Note: [{one}] and [{other}] share files: told of [{other}]." for one, other in inside)
        return [*kept.values()], tuple(notes)

    def _own_and_elsewhere(
        self,
        meant: Meant,
        tokens: int,
        own: Callable[[OpenedProject, Target, BudgetedLines], Answer],
        across: Callable[[Meant, BudgetedLines], Answer | None],
    ) -> Iterator[Answer]:
        """What a definition's own project says, then the others; the first leaves room where others have something."""
        opened = self._projects[meant.project]
        users = [user for user, _ in self._into(meant.project)]
        room = tokens * 2 // 3 if users else tokens
        page = BudgetedLines(token_budget=room, generated=opened.store.generated())
        answer = own(opened, meant.target, page)
        yield replace(answer, text=f"[{opened.name}] {answer.text}")
        left = tokens - len(answer.text) // CHARACTERS_PER_TOKEN
        elsewhere = across(meant, BudgetedLines(token_budget=max(_LEAST_TOKENS, left))) if users else None
        if elsewhere is not None:
            yield replace(elsewhere, text=elsewhere.text.strip("\n"))
            return
        others = counted(len(self._projects) - 1, "other project")
        names = ", ".join(self._projects[user].name for user in users[:_NAMED])
        why = f"only {names} can import {opened.name}" if users else f"none imports a package of {opened.name}"
        yield Answer(f"No use of it is known in {others}: {why}.")

    def _candidates(self, symbol: str, every: Sequence[Meant], counts: dict[Meant, int]) -> Answer:
        """An ambiguous name: what it may mean, most referred to first."""
        lines = [
            Piece(
                f"[{self._projects[each.project].name}] {each.target.name} {each.target.first.path}:"
                f"{each.target.first.line} {each.target.first.kind}, {counted(counts[each], 'reference')}"
            )
            for each in every[:_MOST_CANDIDATES]
        ]

        def header(shown: int) -> str:
            more = f" (showing {shown})" if shown < len(every) else ""
            names = {self._projects[each.project].name for each in every}
            where = f"{counted(len(every), 'definition')} in {counted(len(names), 'project')}"
            return f"'{symbol}' is ambiguous: {where}{more}. Ask again with a qualified name:"

        return self._page(notes=self._notes({each.project for each in every})).answer(header, lines)

    def _counts(self, every: Sequence[Meant]) -> dict[Meant, int]:
        counts = {}
        for meant in every:
            reader = self._projects[meant.project].search.reader
            counts[meant] = sum(reader.reference_counts(meant.target.node_ids).values())
        return counts

    def _in_turn(self, answer: Callable[[OpenedProject, BudgetedLines], Answer]) -> Answer:
        """What each project answers, with an equal part of the budget."""
        pages = self._page().parted(len(self._projects), reserved=_LEAST_TOKENS)
        found = self._each(lambda opened: answer(opened, pages[self._projects.index(opened)]))
        return self._joined([number for number, _ in found], [each for _, each in found])

    def _joined(self, numbers: Sequence[int], answers: Sequence[Answer], last: str = "") -> Answer:
        blocks = [f"[{self._projects[number].name}] {each.text}" for number, each in zip(numbers, answers, strict=True)]
        page = self._page(notes=self._notes(numbers))
        total = len(blocks)

        def header(shown: int) -> str:
            cut = f", showing {shown}: name fewer for the rest" if shown < total else ""
            return f"{counted(total, 'project')}{cut}"

        joined = page.answer(header, [Piece(block) for block in blocks], last=last)
        return replace(joined, truncated=joined.truncated or any(each.truncated for each in answers))

    def _into(self, provider: int) -> list[tuple[int, Crossings]]:
        """The references of other projects to one; the same list however often it is asked for."""
        return list(self._crossroads.into(provider, self._members))

    def _definitions(self, meant: Meant) -> list[Definition]:
        """All definitions of what is meant, by path and key."""
        rows = self._projects[meant.project].search.reader.symbols(meant.target.node_ids).values()
        first = meant.target.first
        return list(
            dict.fromkeys([Definition(first.path, first.key), *(Definition(row.path, row.key) for row in rows)])
        )

    def _members_of(self, meant: Meant) -> list[Definition]:
        """What is defined inside of what is meant: who uses it depends on the whole."""
        first = meant.target.first
        rows = self._projects[meant.project].search.reader.symbols_in(first.path)
        return [Definition(row.path, row.key) for row in rows if row.key.startswith(f"{first.key}.")]

    @staticmethod
    def _filter(opened: OpenedProject, path: str, *, with_tests: bool) -> Callable[[str], bool]:
        is_inside = path_filter(opened.search.root, path)
        return lambda file: is_inside(file) and (with_tests or not is_test(file))

    def _page(self, notes: Sequence[str] = ()) -> BudgetedLines:
        return BudgetedLines(token_budget=self._token_budget, notes=notes)

    def importers_of(self, meant: Meant) -> Importers:
        """Who imports what contains a definition and takes no part in the question."""
        return self._importing(meant.project, [meant.target])

    def _importing(self, number: int, targets: Iterable[Target]) -> Importers:
        """Who imports what contains some definitions and takes no part in the question."""
        if self._unasked is None:
            return Importers()
        return self._unasked.importing(self._members[number], [target.first.path for target in targets])

    def _unasked_notes(self, shown: Sequence[Meant]) -> Iterator[str]:
        for number in dict.fromkeys(meant.project for meant in shown):
            targets = [meant.target for meant in shown if meant.project == number]
            if note := self._importing(number, targets).note(self._projects[number].name):
                yield note

    def _alias_notes(self, symbol: str, numbers: Iterable[int]) -> tuple[str, ...]:
        """What a name means in projects whose imports give it to something."""
        asked = [(self._projects[number].name, self._projects[number].search.alias_note(symbol)) for number in numbers]
        return tuple(f"[{name}] Note: {note}." for name, note in asked if note)

    def _notes(self, numbers: Iterable[int]) -> tuple[str, ...]:
        """What a reader should know of the projects that answer, and which do not."""
        told = [
            f"[{self._projects[number].name}] {note}" for number in numbers for note in self._projects[number].notes
        ]
        return (*told, *left_notes(self._left))


def _as_written(found: list[_T], row_of: Callable[[_T], Symbol], symbol: str) -> list[_T]:
    """Those named in the case that was asked for, where there are some: a project without any has offered others."""
    if is_pattern(symbol):
        return found
    exact = [each for each in found if row_of(each).name and row_of(each).name in symbol]
    return exact or found


def _groups(crossings: Crossings, definitions: Sequence[Definition], target: Target) -> list[UseGroup]:
    """The uses of a definition in another project: certain ones, under another name, possible ones."""
    rows = crossings.references(definitions)
    certain = [row for row in rows if row.certain]
    shown = {(row.path, row.line) for row in certain}
    possible = [row for row in rows if not row.certain and (row.path, row.line) not in shown]
    is_member = "." in target.first.key
    mentions = [
        row
        for row in (crossings.mentions.get(target.first.name, ()) if is_member else ())
        if (row.path, row.line) not in shown and row.kind != "import"
    ]
    return [
        _group("", [row for row in certain if row.origin != ALIAS]),
        _group(UNDER_ANOTHER_NAME, [row for row in certain if row.origin == ALIAS]),
        _group("", possible, crossings.doubt or "ambiguous name"),
        _group("", mentions, "unknown receiver"),
    ]


def _group(title: str, rows: Sequence[ReferenceRow], reason: str = "") -> UseGroup:
    return UseGroup(f"--- possible: {reason} ---" if reason else title, tuple(merged(rows)), reason)


def _heading(found: UsesElsewhere) -> str:
    """How many uses a project has of what another declares."""
    sure = [use for group in found.groups if not group.reason for use in group.uses]
    possible = sum(len(group.uses) for group in found.groups if group.reason)
    text = f"[{found.project.name}] {counted(len(sure), 'reference')}"
    text += f" in {counted(len({use.path for use in sure}), 'file')}" if sure else ""
    text += f", {possible} possible" if possible else ""
    if found.not_resolved:
        text += f"; {counted(found.not_resolved, 'importing file')} not resolved: search for the name there"
    return text


def _block(heading: str, lines: UseLines, groups: Sequence[UseGroup], width: int) -> Iterator[Piece]:
    """The pieces of one project, the first of which begins with its heading."""
    pieces = list(lines.grouped(groups, width))
    if not pieces:
        yield Piece(heading, 0)
    for piece in pieces:
        yield replace_text(piece, f"{heading}\n{piece.text}" if heading else piece.text)
        heading = ""


def replace_text(piece: Piece, text: str) -> Piece:
    """The same piece with another text."""
    return Piece(text, piece.results)


def _affected_pieces(heading: str, rows: Sequence[Affected]) -> Iterator[Piece]:
    """One piece per distance and file."""
    places: dict[tuple[int, str], list[Symbol]] = defaultdict(list)
    for symbol, distance in rows:
        places[distance, symbol.path].append(symbol)
    before = 0
    for (distance, path), symbols in places.items():
        title = [f"--- distance {distance} ---"] if distance != before else []
        before = distance
        named = ", ".join(f"{symbol.line} {symbol.label}" for symbol in symbols)
        yield Piece("\n".join([*([heading] if heading else []), *title, f"{path} {named}"]), len(symbols))
        heading = ""


def _by_distance(row: Affected) -> tuple[int, bool, str, int]:
    return row.distance, is_test(row.symbol.path), row.symbol.path, row.symbol.line
