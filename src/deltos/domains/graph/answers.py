"""Build answers about one or more projects.

An answer contains the results from the project that defines the symbol, followed by results from projects that import
it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from deltos.budget import CHARACTERS_PER_TOKEN
from deltos.domains.graph.budgeted_lines import LINE_WIDTHS, BudgetedLines, Piece, mark_generated, truncation_line
from deltos.domains.graph.line_format import UseFormatter, definition_line, doc_suffix
from deltos.domains.graph.map import render_file_map, render_map
from deltos.domains.graph.render import (
    render_context,
    render_cycles,
    render_external_symbol,
    render_impact,
    render_references,
    render_stats,
)
from deltos.domains.graph.search import Scope
from deltos.domains.graph.symbol_query import is_pattern, path_filter
from deltos.errors import NotFound
from deltos.store.symbols import bare_key
from deltos.text.counts import counted, first_names
from deltos.tool import Answer
from deltos.wording import truncated
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from deltos.domains.graph.model import Surroundings
    from deltos.domains.graph.search import Impact, Target
    from deltos.domains.graph.selection import (
        AffectedSymbol,
        FoundTargets,
        GraphSelection,
        OpenedProject,
        ProjectTarget,
        ProjectUses,
    )
    from deltos.domains.graph.uses import UseGroup
    from deltos.store.symbols import Symbol

    AnswerInProject = Callable[[OpenedProject, Target, BudgetedLines], Answer]
    AnswerInImporters = Callable[[ProjectTarget, BudgetedLines], Answer | None]

_MAX_ANSWERED_DEFINITIONS = 5  # maximum number of definitions that one answer covers
_MAX_CANDIDATES = 30
_MAX_CONTEXT_USES = 12  # maximum number of uses in other projects that the tool get_context shows
_MAX_DETAILED_DEFINITIONS = 6  # maximum number of definitions in a list that shows signatures and docstrings
_MIN_SECTION_TOKENS = 200
_MAX_LISTED_PROJECTS = 5


class GraphAnswers:
    """Answers of the graph tools and the graph commands of the command line."""

    def __init__(self, graphs: GraphSelection, surroundings: Surroundings, *, token_budget: int) -> None:
        self.graphs = graphs
        self._surroundings = surroundings
        self._token_budget = token_budget

    def find_symbol(self, symbol: str, *, path: str, kinds: frozenset[str], limit: int) -> Answer:
        """List definitions by name or pattern, one line each: location, kind, signature and first docstring
        sentence."""
        rows = self.graphs.definitions(symbol, path=path, kinds=kinds)
        found_in = list(dict.fromkeys(opened for opened, _ in rows))
        listed = rows[:limit]

        def header(shown: int) -> str:
            if shown < len(rows):
                return truncation_line(shown, len(listed), len(rows), "definitions")
            return f"{counted(len(rows), 'definition')} of '{symbol}'{self._project_count_suffix(found_in)}"

        # In a long list, short lines are enough to choose a definition.
        max_width = LINE_WIDTHS[0] if len(listed) <= _MAX_DETAILED_DEFINITIONS else LINE_WIDTHS[2]

        def pieces(width: int) -> list[Piece]:
            return [
                _labelled_piece(opened, definition_line(row, characters=min(width, max_width)))
                for opened, row in listed
            ]

        return self._answer_builder(found_in, self._name_notes(symbol, found_in), symbol).answer_with_widest_lines(
            header, pieces
        )

    def find_references(self, symbol: str, *, path: str, tests: str, limit: int, is_location: bool = False) -> Answer:
        """List the uses of one symbol, or the definitions to choose from if the name is ambiguous."""

        def answer_in_project(opened: OpenedProject, target: Target, page: BudgetedLines) -> Answer:
            search = opened.search
            return render_references(
                search.references(target).filtered(path_filter(search.root, path), tests=tests),
                search.source,
                limit=limit,
                page=page,
                is_complete=opened.is_complete,
                where=opened.name or "code",
                unsearched_importers=self.graphs.unsearched_importers(opened, [target]).names_text,
            )

        def answer_in_importers(project_target: ProjectTarget, page: BudgetedLines) -> Answer | None:
            found = self.graphs.uses_in_importers(project_target, path=path, tests=tests)
            return _render_uses(project_target, found, page, limit=limit)

        return self._answer_for_targets(
            symbol, answer_in_project, answer_in_importers, is_location=is_location, names_importers=True
        )

    def get_impact(self, symbol: str, *, limit: int) -> Answer:
        """List the direct and indirect dependants of one symbol, or the definitions of an ambiguous name."""
        impacts: dict[Target, Impact] = {}

        def answer_in_project(opened: OpenedProject, target: Target, page: BudgetedLines) -> Answer:
            impact = impacts[target] = opened.search.impact(target)
            together = self._surroundings.files_changed_with(target.first.path, opened.search.root)
            return render_impact(impact, opened.search.source, together, limit=limit, page=page)

        def answer_in_importers(project_target: ProjectTarget, page: BudgetedLines) -> Answer | None:
            return self._render_impact_in_importers(project_target, impacts[project_target.target], page, limit=limit)

        return self._answer_for_targets(symbol, answer_in_project, answer_in_importers, names_importers=True)

    def get_context(self, symbol: str) -> Answer:
        """Show one symbol with its callers, callees, bases and members, or the map of a file or folder."""
        if scopes := dict(self.graphs.scopes(symbol)):
            return self._answer_for_projects(
                list(scopes), lambda opened, page: self._render_scope_map(opened, scopes[opened], page)
            )

        def answer_in_project(opened: OpenedProject, target: Target, page: BudgetedLines) -> Answer:
            first, root = target.first, opened.search.root
            if first.kind == "module" and not first.key:
                return self._render_scope_map(opened, Scope(first.path, is_file=True), page)
            extras = [
                *self._surroundings.recent_commits(first, root),
                *self._surroundings.mention_sections(first.name, root),
            ]
            return render_context(opened.search.context(target), opened.search.source, extras, page=page)

        def answer_in_importers(project_target: ProjectTarget, page: BudgetedLines) -> Answer | None:
            return _render_uses(
                project_target, self.graphs.uses_in_importers(project_target), page, limit=_MAX_CONTEXT_USES
            )

        return self._answer_for_targets(symbol, answer_in_project, answer_in_importers)

    def _render_scope_map(self, opened: OpenedProject, scope: Scope, page: BudgetedLines) -> Answer:
        if not scope.is_file:
            return render_map(opened.search, scope.path, page=page)
        extras = self._surroundings.mention_sections(scope.path.rpartition("/")[2], opened.search.root)
        return render_file_map(opened.search, scope.path, extras, page=page)

    def detect_circular(self) -> Answer:
        """List the import cycles of each project and count the projects without cycles."""
        cycles = dict(self.graphs.cycles())
        shown = [opened for opened, found in cycles.items() if found or not self.graphs.is_several]
        without = len(cycles) - len(shown)
        if not shown:
            return self._answer_builder(self.graphs.projects).answer(
                lambda _shown: f"No circular imports in {counted(without, 'project')}.", []
            )
        last = f"No circular imports in {counted(without, 'other project')}." if without else ""
        return self._answer_for_projects(
            shown, lambda opened, page: render_cycles(cycles[opened], opened.search.reader.paths(), page=page), last
        )

    def get_stats(self) -> Answer:
        """Show statistics of each project's graph."""

        def render_project_stats(opened: OpenedProject, page: BudgetedLines) -> Answer:
            state = "index complete and up to date" if opened.is_complete else "index not complete yet"
            return render_stats(opened.search.reader.counts(), state, page=page)

        return self._answer_for_projects(self.graphs.projects, render_project_stats)

    # --- answers for several targets and projects

    def _answer_for_targets(
        self,
        symbol: str,
        answer_in_project: AnswerInProject,
        answer_in_importers: AnswerInImporters,
        *,
        is_location: bool = False,
        names_importers: bool = False,
    ) -> Answer:
        """Answer for each definition that `symbol` matches, or list the definitions if the name is ambiguous.

        A symbol that no project defines may belong to an installed package; in this case the package's documentation is
        shown. If `names_importers` is true, notes list the projects that import the target but were not searched.
        """
        try:
            found = self.graphs.targets(symbol, is_location=is_location)
        except NotFound:
            for opened in self.graphs.projects:
                if sections := self._surroundings.package_sections(symbol, opened.search.root):
                    page = self._answer_builder(self.graphs.projects, symbol=symbol)
                    return render_external_symbol(symbol, sections, page=page, is_complete=opened.is_complete)
            raise
        every = found.rows
        if len({bare_key(each.target.path_name) for each in every}) > 1 and not is_pattern(symbol):
            return self._list_candidates(symbol, found)
        shown, rest = every[:_MAX_ANSWERED_DEFINITIONS], every[_MAX_ANSWERED_DEFINITIONS:]
        projects = list(dict.fromkeys(each.project for each in shown))
        notes = [*found.notes, *self._name_notes(symbol, projects)]
        if names_importers:
            for opened in projects:
                targets = [each.target for each in shown if each.project is opened]
                notes.append(self.graphs.unsearched_importers(opened, targets).note(opened.name or "this project"))
        header = f"'{symbol}' matches {len(every)} definitions" if len(every) > 1 else ""
        header += f"; answers for the {len(shown)} most used follow" if rest else ""
        last = f"--- not shown: {self._format_target_locations(rest)} ---" if rest else ""
        pages = self._answer_builder(projects, notes, symbol).split_into(len(shown), reserved=len(header) + len(last))
        answers = [
            list(self._project_answers(each, page, answer_in_project, answer_in_importers))
            for each, page in zip(shown, pages, strict=True)
        ]
        blocks = ["\n".join(answer.text for answer in block) for block in answers]
        return Answer(
            "\n\n".join(filter(None, [header, *blocks, last])),
            None,
            bool(rest) or any(answer.truncated for block in answers for answer in block),
            sum(answer.original_characters for block in answers for answer in block),
        )

    def _project_answers(
        self,
        project_target: ProjectTarget,
        page: BudgetedLines,
        answer_in_project: AnswerInProject,
        answer_in_importers: AnswerInImporters,
    ) -> Iterator[Answer]:
        """Yield the answer for the target's project and, if the budget allows, for the projects that import it."""
        opened = project_target.project
        users = self.graphs.importers_of(opened)
        tokens = page.tokens
        own_page = page.with_generated_files(opened.search.source.generated)
        answer = answer_in_project(
            opened, project_target.target, own_page.with_max_tokens(tokens * 2 // 3) if users else own_page
        )
        yield replace(answer, text=f"{opened.label}{answer.text}")
        if not self.graphs.is_several:
            return
        left = max(_MIN_SECTION_TOKENS, tokens - len(answer.text) // CHARACTERS_PER_TOKEN)
        elsewhere = answer_in_importers(project_target, BudgetedLines(token_budget=left)) if users else None
        if elsewhere is not None:
            yield replace(elsewhere, text=elsewhere.text.strip("\n"))
            return
        others = counted(len(self.graphs.projects) - 1, "other project")
        names = ", ".join(user.name for user in users[:_MAX_LISTED_PROJECTS])
        reason = f"only {names} can import {opened.name}" if users else f"none of them imports {opened.name}"
        yield Answer(f"No use found in {others}: {reason}.")

    def _list_candidates(self, symbol: str, found: FoundTargets) -> Answer:
        """List the definitions that an ambiguous name may refer to, most frequently referenced first."""
        every = found.rows
        projects = list(dict.fromkeys(each.project for each in every))
        first = every[0].target.first
        names_differ = len({each.target.name for each in every}) == len(every)
        how = "a qualified name" if names_differ else f"its location, such as {first.path}:{first.line}"
        lines = [
            _labelled_piece(
                each.project,
                f"{each.target.name} {_location_and_kind(each.target.first)}, "
                f"{counted(found.counts[each], 'reference')}{doc_suffix(each.target.first)}",
            )
            for each in every[:_MAX_CANDIDATES]
        ]

        def header(shown: int) -> str:
            more = f" (the {shown} most used are listed)" if shown < len(every) else ""
            where = self._project_count_suffix(projects)
            return f"'{symbol}' is ambiguous: {len(every)} definitions{where}{more}. Ask again with {how}:"

        return self._answer_builder(projects, [*found.notes, *self._name_notes(symbol, projects)], symbol).answer(
            header, lines
        )

    def _format_target_locations(self, rest: Sequence[ProjectTarget]) -> str:
        """Format the names and locations of the targets for which no answer is shown."""
        named = [f"{each.project.label}{each.target.name} {_location_and_kind(each.target.first)}" for each in rest]
        return first_names(named, _MAX_CANDIDATES)

    def _answer_for_projects(
        self,
        projects: Sequence[OpenedProject],
        answer: Callable[[OpenedProject, BudgetedLines], Answer],
        last: str = "",
    ) -> Answer:
        """Return the answer for one project, or joined answers for several projects, which share the token budget."""
        if not self.graphs.is_several:
            return answer(
                projects[0], self._answer_builder(projects).with_generated_files(projects[0].search.source.generated)
            )
        parts = self._answer_builder().split_into(len(projects), reserved=_MIN_SECTION_TOKENS)
        pages = dict(zip(projects, parts, strict=True))
        found = self.graphs.for_each(
            lambda opened: (
                answer(opened, pages[opened].with_generated_files(opened.search.source.generated))
                if opened in pages
                else None
            )
        )
        answers = [(opened, each) for opened, each in found if each is not None]
        blocks = [Piece(f"{opened.label}{each.text}") for opened, each in answers]
        total = len(blocks)

        def header(shown: int) -> str:
            if shown < total:
                return truncated(shown, total, "projects", "select fewer projects to see the others")
            return counted(total, "project")

        joined = self._answer_builder([opened for opened, _ in answers]).answer(header, blocks, last=last)
        return replace(joined, truncated=joined.truncated or any(each.truncated for _, each in answers))

    def _render_impact_in_importers(
        self, project_target: ProjectTarget, impact: Impact, page: BudgetedLines, *, limit: int
    ) -> Answer | None:
        """List the symbols that a change affects in other projects, or return None if no project imports the target."""
        found = self.graphs.impact_in_importers(project_target, impact)
        if not found:
            return None
        total = sum(len(each.rows) for each in found)
        pieces: list[Piece] = []
        available = limit
        for each in found:
            if each.rows:
                tests = sum(is_test(row.symbol.path) for row in each.rows)
                files = len({row.symbol.path for row in each.rows})
                heading = f"{each.project.label}affects {counted(len(each.rows), 'symbol')} in {counted(files, 'file')}"
                heading += f"; {tests:,} of {len(each.rows):,} in tests" if tests else ""
                pieces += _affected_pieces(heading, each.rows[: max(0, available)])
                available -= len(each.rows)
        for each in found:
            if each.unresolved_count:
                count = counted(each.unresolved_count, "importing file")
                pieces.append(
                    Piece(f"{each.project.label}{count} could not be resolved and may contain more dependants", 0)
                )

        def header(shown: int) -> str:
            return truncation_line(shown, min(limit, total), total, "dependants elsewhere") if shown < total else ""

        return page.answer(header, pieces)

    def _project_count_suffix(self, projects: Sequence[OpenedProject]) -> str:
        """Return the number of projects as a suffix, or an empty string if the query covers only one project."""
        return f" in {counted(len(projects), 'project')}" if self.graphs.is_several else ""

    def _name_notes(self, symbol: str, projects: Sequence[OpenedProject]) -> list[str]:
        """Return a note for each project in which `symbol` was found under another name or letter case."""
        return [f"{opened.label}{note}" for opened in projects if (note := opened.search.name_note(symbol))]

    def _answer_builder(
        self, projects: Sequence[OpenedProject] = (), notes: Sequence[str] = (), symbol: str = ""
    ) -> BudgetedLines:
        """Return an answer builder with the given notes and the project notes that are relevant to the symbol."""
        every = (*filter(None, notes), *(self.graphs.notes(projects, symbol) if projects else ()))
        return BudgetedLines(token_budget=self._token_budget, notes=every)


def _labelled_piece(opened: OpenedProject, text: str) -> Piece:
    """Return a line about a definition, prefixed with the project name and marked if the file is generated."""
    return Piece(f"{opened.label}{mark_generated(text, opened.search.source.generated)}")


def _location_and_kind(row: Symbol) -> str:
    return f"{row.path}:{row.line} {row.kind}"


def _render_uses(
    project_target: ProjectTarget, found: Sequence[ProjectUses], page: BudgetedLines, *, limit: int
) -> Answer | None:
    """List the uses of a definition in other projects, one block per project, or return None if no project imports
    it."""
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
        texts = source.lines(use.location for group in listed for use in group.uses)
        lines = UseFormatter(project_target.target.first, texts, source.changed)
        blocks.append((_use_counts(each), lines, [group for group in listed if group.uses]))

    def pieces(width: int) -> list[Piece]:
        return [piece for heading, lines, groups in blocks for piece in _project_pieces(heading, lines, groups, width)]

    def header(shown: int) -> str:
        return truncation_line(shown, min(limit, total), total, "references elsewhere") if shown < total else ""

    return page.answer_with_widest_lines(header, pieces)


def _use_counts(found: ProjectUses) -> str:
    """Format the number of uses in a project that imports the definition."""
    certain = [use for group in found.groups if not group.reason for use in group.uses]
    possible = sum(len(group.uses) for group in found.groups if group.reason)
    text = f"{found.project.label}{counted(len(certain), 'reference')}"
    text += f" in {counted(len({use.path for use in certain}), 'file')}" if certain else ""
    text += f", {possible} possible" if possible else ""
    if found.unresolved_count:
        files = counted(found.unresolved_count, "importing file")
        text += f"; {files} could not be resolved; search their text for the name"
    return text


def _project_pieces(heading: str, lines: UseFormatter, groups: Sequence[UseGroup], width: int) -> Iterator[Piece]:
    """Yield the uses in one project as blocks of text, which are never split.

    The first block includes the heading.
    """
    pieces = list(lines.format_groups(groups, width))
    if not pieces:
        yield Piece(heading, 0)
    for piece in pieces:
        yield piece._replace(text=f"{heading}\n{piece.text}" if heading else piece.text)
        heading = ""


def _affected_pieces(heading: str, rows: Sequence[AffectedSymbol]) -> Iterator[Piece]:
    """Yield the affected symbols as one block of text per distance and file.

    The first block includes the heading.
    """
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
