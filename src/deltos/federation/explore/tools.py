"""The `explore` tool, which answers a question with source code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltos.domains.code.present.render import render_text
from deltos.domains.code.project_search import open_search, scope_for_projects
from deltos.federation.explore.gather import MAX_HITS, OpenProject, gather
from deltos.federation.explore.pack import DEFAULT_BUDGET, MAX_BUDGET, MIN_BUDGET, compose, render
from deltos.shown_excerpts import nothing_shown
from deltos.tool import Answer, Parameter, Tool
from deltos.workspace.project_selection import answer_on_fresh, select

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.federation.explore.pack import Pack
    from deltos.progress import Progress
    from deltos.shown_excerpts import ShownBefore
    from deltos.store.code import FileScope
    from deltos.store.symbols import Symbol
    from deltos.tool import Call
    from deltos.workspace.project_selection import FreshSelection, Selection
    from deltos.workspace.projects import Projects


Related = Callable[["Symbol", "Path"], "Sequence[str]"]


def _no_related_lines(_symbol: Symbol, _root: Path) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Exploration:
    """A question with the searched folder and the token budget of the answer.

    `related` returns lines from other domains about a symbol: commits, observations and documentation.
    """

    question: str
    path: str = ""
    budget: int = DEFAULT_BUDGET
    known: ShownBefore = field(default_factory=nothing_shown)
    by_meaning: bool = True
    related: Related = _no_related_lines

    def answer(self, selection: Selection, progress: Progress) -> Answer:
        """Update the indexes of the selected projects and return the answer."""
        selection, scope = scope_for_projects(selection, self.path, "")
        return answer_on_fresh(selection, progress, lambda fresh: self._answer_from(fresh, scope))

    def _answer_from(self, fresh: FreshSelection, scope: FileScope) -> Answer:
        """Return the answer from up-to-date projects."""
        ready, notes = fresh.ready, fresh.notes_about("code")
        answer = open_search(ready, by_meaning=self.by_meaning).search(self.question, scope, limit=MAX_HITS)
        if not answer.hits:
            return Answer(render_text(answer.with_notes(notes), query=self.question, concise=False))
        searches = [open_search([each], by_meaning=self.by_meaning) for each in ready]
        gathered = gather(self.question, [OpenProject(each.index, each.name) for each in ready], answer, searches)
        pack = compose(gathered, budget=self.budget, known=self.known)
        related = self._related_lines(pack)
        files = sum(each.index.store.code.file_count(scope) for each in ready)
        self.known.note(pack.shown_code())
        return Answer(
            render(pack, files=files, notes=(*notes, *answer.notes), related=related, budget=self.budget),
            truncated=pack.is_truncated,
        )

    def _related_lines(self, pack: Pack) -> Sequence[str]:
        """Return lines from other domains about the first shown symbol."""
        first = next((each.candidate for each in pack.units if each.candidate.unit.symbol), None)
        if first is None:
            return ()
        project = pack.gathered.projects[first.project]
        symbols = project.symbols(first.unit)[:1]
        return self.related(symbols[0], project.index.project.root) if symbols else ()


def explore_tool(projects: Projects, *, by_meaning: bool = True, related: Related = _no_related_lines) -> Tool:
    """Return the `explore` tool, which belongs to the code toolset."""

    def run(call: Call) -> Answer:
        question = call.text("question")
        known = call.excerpts.answering(question)
        asked = Exploration(question, call.text("path"), call.number("budget"), known, by_meaning, related)
        return asked.answer(select(projects, call.text("project_id"), call.session.project_roots()), call.progress)

    return Tool(
        "explore",
        "code",
        "Explore",
        "Answer a question about the code in one call: the current source that decides it, with line numbers, "
        "its callers, tests, and what does not exist. Use it before searching or opening files; for one known string, "
        "grep is as good.",
        (
            Parameter("question", "string", "Question, task, issue, stack trace or names"),
            Parameter(
                "budget",
                "integer",
                "Maximum tokens of the answer",
                default=DEFAULT_BUDGET,
                minimum=MIN_BUDGET,
                maximum=MAX_BUDGET,
            ),
            Parameter("path", "string", "Only below this folder", default=""),
            Parameter("project_id", "string", "Several: comma-separated, a workspace or *", default=""),
        ),
        run,
        always_loaded=True,
    )
