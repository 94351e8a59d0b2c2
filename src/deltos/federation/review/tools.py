"""Review of changes for the tool `get_impact`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.errors import BadArgument
from deltos.federation.review.render_text import DEFAULT_TOKENS, render_text
from deltos.federation.review.reviewer import Reviewer
from deltos.tool import Answer
from deltos.workspace.project_selection import answer_on_fresh, select

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from deltos.tool import Call
    from deltos.workspace.project_selection import FreshSelection
    from deltos.workspace.projects import Projects


def change_reviewer(
    projects: Projects, observations: Callable[[str, Path], Iterable[str]], *, token_budget: int
) -> Callable[[Call], Answer]:
    """Return a handler that reviews the `changes` of a call in one project."""

    def run(call: Call) -> Answer:
        roots = call.session.project_roots()
        selection = select(projects, call.text("project_path"), roots, folders_first=True)
        if len(selection.repositories) != 1:
            raise BadArgument("Only changes of one project can be reviewed", hint="Pass one project as `project_path`.")

        Reviewer(selection.repositories[0].index).check(call.text("changes"))

        def review_fresh(fresh: FreshSelection) -> Answer:
            (ready,) = fresh.ready
            review = Reviewer(ready.index, observations).review(call.text("changes"), ready.freshness)
            return Answer(render_text(review, token_budget=min(token_budget, DEFAULT_TOKENS)))

        return answer_on_fresh(selection, call.progress, review_fresh)

    return run
