"""Code search over several projects: each brought up to date, all searched as one, none able to stop the others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deltos.domains.code.scope import scope_of
from deltos.domains.code.search import CodeSearch, SearchedProject
from deltos.errors import Cancelled, DeltosError, NoSuchFolder, NotFound, StoreError
from deltos.workspace.registry import exact_name
from deltos.workspace.selection import FreshRepository, FreshSelection, Left, freshen_all, left_notes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.domains.code.model import CodeAnswer
    from deltos.progress import Progress
    from deltos.store.code import FileScope
    from deltos.workspace.project_index import Freshness
    from deltos.workspace.selection import Repository, Selection


@dataclass(frozen=True, slots=True)
class FoundTogether:
    """What several projects answer, and which of them did."""

    answer: CodeAnswer
    fresh: FreshSelection


def search_together(
    selection: Selection, progress: Progress, ask: Callable[[CodeSearch], CodeAnswer], *, by_meaning: bool
) -> FoundTogether:
    """The answer of all projects as if they were one; those that cannot answer are named."""
    fresh = freshen_all(selection, progress, files_alone=True)
    try:
        return FoundTogether(ask(searched_together(fresh.ready, by_meaning=by_meaning)), fresh)
    except StoreError:
        fresh = _answering(fresh, progress, ask, by_meaning=by_meaning)
    return FoundTogether(ask(searched_together(fresh.ready, by_meaning=by_meaning)), fresh)


def searched_together(ready: Sequence[FreshRepository], *, by_meaning: bool) -> CodeSearch:
    """A search over projects that are up to date."""
    projects = [
        SearchedProject(
            each.index.store,
            each.index.project.root,
            each.index.workers,
            each.name,
            exact_name(each.index.project.root) if each.name else "",
        )
        for each in ready
    ]
    return CodeSearch.over(projects, by_meaning=by_meaning)


@dataclass(frozen=True, slots=True)
class _Try:
    """Asks one project, and forgets the answer."""

    search: CodeSearch
    ask: Callable[[CodeSearch], CodeAnswer]

    def __call__(self, freshness: Freshness) -> Freshness:
        self.ask(self.search)
        return freshness


def _answering(
    fresh: FreshSelection, progress: Progress, ask: Callable[[CodeSearch], CodeAnswer], *, by_meaning: bool
) -> FreshSelection:
    """The projects that can answer by themselves: one whose index proves damaged is built anew, else left out."""
    ready: list[FreshRepository] = []
    left = [*fresh.left]
    for each in fresh.ready:
        tried = _Try(searched_together([each], by_meaning=by_meaning), ask)
        try:
            freshness = each.index.answer(tried, progress=progress, files_alone=True)
        except Cancelled:
            raise
        except DeltosError as problem:
            left.append(Left(each.name, problem.message))
        else:
            ready.append(replace(each, freshness=freshness))
    if not ready:
        raise NotFound("None of the projects could be searched", hint=" ".join(left_notes(left)))
    return FreshSelection(tuple(ready), tuple(left))


def scope_across(selection: Selection, directory: str, file_type: str) -> tuple[Selection, FileScope]:
    """The projects that have a folder, and the scope in them. A folder may begin with the name of a project: then that
    one alone is meant."""
    where = directory.strip().strip("/")
    if not where:
        return selection, scope_of(selection.repositories[0].index.project.root, "", file_type)
    for repository in selection.repositories:
        inside = where.removeprefix(repository.name)
        if where.startswith(repository.name) and inside[:1] in ("", "/"):
            named = scope_of(repository.index.project.root, inside.strip("/"), file_type)
            return replace(selection, repositories=(repository,)), named
    having: list[Repository] = []
    scope: FileScope | None = None
    problem: NoSuchFolder | None = None
    for repository in selection.repositories:
        try:
            scope = scope_of(repository.index.project.root, where, file_type)
            having.append(repository)
        except NoSuchFolder as missing:
            problem = missing
    if scope is None:
        names = ", ".join(repository.name for repository in selection.repositories[:10])
        raise problem or NotFound(f"None of the projects has '{where}'", hint=f"Projects: {names}.")
    return replace(selection, repositories=tuple(having)), scope
