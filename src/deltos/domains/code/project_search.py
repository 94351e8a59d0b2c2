"""Search several projects as if they were one; projects that cannot be searched are skipped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deltos.domains.code.scope import scope_of
from deltos.domains.code.search import CodeSearch
from deltos.domains.code.selection import SearchedProject
from deltos.errors import Cancelled, DeltosError, NoSuchFolder, NotFound, StoreError
from deltos.workspace.project_lookup import unique_project_name
from deltos.workspace.project_selection import (
    FreshProject,
    FreshSelection,
    UnavailableProject,
    answer_on_fresh,
    unavailable_notes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.domains.code.model import CodeAnswer
    from deltos.progress import Progress
    from deltos.store.code import FileScope
    from deltos.workspace.project_index import Freshness
    from deltos.workspace.project_selection import SelectedProject, Selection


@dataclass(frozen=True, slots=True)
class MultiProjectAnswer:
    """The answer of a search in several projects, with the lists of searched and unavailable projects."""

    answer: CodeAnswer
    fresh: FreshSelection


def search_projects(
    selection: Selection, progress: Progress, run_query: Callable[[CodeSearch], CodeAnswer], *, by_meaning: bool
) -> MultiProjectAnswer:
    """Search all selected projects as if they were one, and report projects that cannot be searched."""

    def search(fresh: FreshSelection) -> MultiProjectAnswer:
        try:
            return MultiProjectAnswer(run_query(open_search(fresh.ready, by_meaning=by_meaning)), fresh)
        except StoreError:
            if selection.single_index is not None:
                raise
            fresh = _drop_failing_projects(fresh, progress, run_query, by_meaning=by_meaning)
        return MultiProjectAnswer(run_query(open_search(fresh.ready, by_meaning=by_meaning)), fresh)

    return answer_on_fresh(selection, progress, search, files_only=True)


def open_search(ready: Sequence[FreshProject], *, by_meaning: bool) -> CodeSearch:
    """Return a code search over projects whose indexes are up to date."""
    projects = [
        SearchedProject(
            each.index.store,
            each.index.project.root,
            each.index.workers,
            each.name,
            unique_project_name(each.index.project.root) if each.name else "",
        )
        for each in ready
    ]
    return CodeSearch.for_projects(projects, by_meaning=by_meaning)


@dataclass(frozen=True, slots=True)
class _TrialSearch:
    """Runs a query in one project to detect whether the project's index is damaged; the answer is discarded."""

    search: CodeSearch
    run_query: Callable[[CodeSearch], CodeAnswer]

    def __call__(self, freshness: Freshness) -> Freshness:
        self.run_query(self.search)
        return freshness


def _drop_failing_projects(
    fresh: FreshSelection, progress: Progress, run_query: Callable[[CodeSearch], CodeAnswer], *, by_meaning: bool
) -> FreshSelection:
    """Run the query in each project and rebuild damaged indexes. Report projects that still fail as unavailable."""
    ready: list[FreshProject] = []
    unavailable = [*fresh.unavailable]
    for each in fresh.ready:
        tried = _TrialSearch(open_search([each], by_meaning=by_meaning), run_query)
        try:
            freshness = each.index.answer(tried, progress=progress, files_only=True)
        except Cancelled:
            raise
        except DeltosError as problem:
            unavailable.append(UnavailableProject(each.name, problem.message))
        else:
            ready.append(replace(each, freshness=freshness))
    if not ready:
        raise NotFound("None of the projects could be searched", hint=" ".join(unavailable_notes(unavailable)))
    return FreshSelection(tuple(ready), tuple(unavailable))


def scope_for_projects(selection: Selection, directory: str, file_type: str) -> tuple[Selection, FileScope]:
    """Select the projects that contain a folder, and return the search scope for the folder.

    If the folder's path begins with the name of a project, only that project is selected.
    """
    folder = directory.strip() if selection.single_index is not None else directory.strip().strip("/")
    if not folder or selection.single_index is not None:
        return selection, scope_of(selection.repositories[0].index.project.root, folder, file_type)
    for repository in selection.repositories:
        inside = folder.removeprefix(repository.name)
        if folder.startswith(repository.name) and inside[:1] in ("", "/"):
            named = scope_of(repository.index.project.root, inside.strip("/"), file_type)
            return replace(selection, repositories=(repository,)), named
    matching_projects: list[SelectedProject] = []
    scope: FileScope | None = None
    problem: NoSuchFolder | None = None
    for repository in selection.repositories:
        try:
            scope = scope_of(repository.index.project.root, folder, file_type)
            matching_projects.append(repository)
        except NoSuchFolder as missing:
            problem = missing
    if scope is None:
        names = ", ".join(repository.name for repository in selection.repositories[:10])
        raise problem or NotFound(f"None of the projects contains the folder '{folder}'", hint=f"Projects: {names}.")
    return replace(selection, repositories=tuple(matching_projects)), scope
