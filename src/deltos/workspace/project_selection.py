"""Selection of the projects of a call (one, several, a workspace, or all) and update of their indexes.

Projects that the call may not read are never mentioned. Projects that are missing or fail are listed in a note, and the
answer covers the other projects.
"""

from __future__ import annotations

import itertools
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from deltos.confinement import may_read
from deltos.errors import BadArgument, Cancelled, DeltosError, Forbidden, NoSuchFolder, NotFound
from deltos.files import given_path
from deltos.workspace.project_index import FIRST_INDEX_SECONDS
from deltos.workspace.project_lookup import find_project_root
from deltos.workspace.project_names import shortest_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from deltos.progress import Progress
    from deltos.store.workspaces import StoredWorkspace
    from deltos.workspace.project_index import Freshness, ProjectIndex
    from deltos.workspace.projects import Projects

_T = TypeVar("_T")
EVERYTHING = "*"
WORKSPACE_PREFIX = "workspace:"
_MAX_LISTED_NAMES = 10  # maximum number of project names in a note
_MAX_SHOWN_CHARACTERS = 200
# Number of projects that each answer checks for new commits, in rotation. With 100 projects, checking all of them took
# a seventh of the answer time.
_FOLLOWERS_PER_ANSWER = 10
_ANSWER_COUNTER = itertools.count()


@dataclass(frozen=True, slots=True)
class SelectedProject:
    """A project that a call selected.

    `name` is shown in answers, and is empty if the call selected only one project.
    """

    index: ProjectIndex
    name: str = ""


class UnavailableProject(NamedTuple):
    """A project that an answer does not cover, with the reason."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Selection:
    """The projects that a call selected (at least one), and the unavailable projects.

    `name` is the name of a workspace, `*`, or empty.
    """

    repositories: tuple[SelectedProject, ...]
    unavailable: tuple[UnavailableProject, ...] = ()
    name: str = ""

    @property
    def single_index(self) -> ProjectIndex | None:
        """The index of the only selected project, or None if several or unavailable projects were selected."""
        return self.repositories[0].index if len(self.repositories) == 1 and not self.unavailable else None


def select(projects: Projects, text: str, defaults: Sequence[Path], *, folders_first: bool = False) -> Selection:
    """Return the projects selected by `text`: comma-separated ids, names, folders or workspaces, or `*`.

    If `text` is empty, return the session's projects. If `folders_first` is true, folders take precedence over names.
    """
    words = _split_selection(text, defaults[0], folders_first=folders_first)
    if not words:
        return _open_projects(projects, defaults, "", is_explicit=len(defaults) == 1)
    reader = _SelectionParser(projects, defaults, folders_first=folders_first)
    roots = [root for word in words for root in reader.roots(word)]
    name = words[0] if len(words) == 1 and reader.has_group else ""
    return _open_projects(projects, roots, name, is_explicit=not reader.has_group)


def _split_selection(text: str, default: Path, *, folders_first: bool) -> list[str]:
    """Split a selection at commas, unless it is the path of a folder whose name contains a comma."""
    if folders_first and "," in text and is_readable_folder(default, text):
        return [text]
    return list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


class _SelectionParser:
    """Parser of a selection that converts each word to the folders of the selected projects."""

    def __init__(self, projects: Projects, defaults: Sequence[Path], *, folders_first: bool) -> None:
        self._projects = projects
        self._defaults = defaults
        self._folders_first = folders_first
        self.has_group = False

    def roots(self, word: str) -> Sequence[Path]:
        """Return the folders of the projects that a word selects."""
        if word == EVERYTHING:
            self.has_group = True
            return self._all_projects()
        if own := self._session_project(word):
            return [own]
        if workspace := visible_workspace(self._projects, word.removeprefix(WORKSPACE_PREFIX)):
            self.has_group = True
            return [Path(root) for root in workspace.roots]
        return [self._find_project(word)]

    def _all_projects(self) -> Sequence[Path]:
        """Return all available indexed projects, or the session's projects if there are none."""
        known = [index.root for index in self._projects.stores.indexed_projects()]
        return [root for root in known if may_read(root) and self._projects.is_available(root)] or self._defaults

    def _session_project(self, word: str) -> Path | None:
        """Return the folder of the session's project with this path or id, or None for other words."""
        if (self._folders_first or Path(word).is_absolute()) and is_readable_folder(self._defaults[0], word):
            return self._defaults[0] / given_path(word)
        return next((root for root in self._defaults if self._projects.has_id(root, word)), None)

    def _find_project(self, word: str) -> Path:
        """Return the folder of the indexed project with this id or name, or the folder with this path."""
        try:
            return find_project_root(self._projects.stores.indexed_projects(), word, self._projects.is_available)
        except NotFound as problem:
            if self._folders_first or is_readable_folder(self._defaults[0], word):
                # The error is the same whether or not the folder exists, so it does not reveal which folders exist.
                return self._find_folder(word)
            others = _workspaces_hint(self._projects)
            raise NotFound(problem.message, hint=f"{problem.hint} {others}".strip()) from None

    def _find_folder(self, word: str) -> Path:
        """Return the folder with this path. If the word is a name instead, the error lists the existing workspaces."""
        folder = self._defaults[0] / given_path(word)
        try:
            self._projects.index_of(folder)
        except NoSuchFolder as missing:
            if len(Path(word.removeprefix(WORKSPACE_PREFIX)).parts) != 1 or not (
                others := _workspaces_hint(self._projects)
            ):
                raise
            raise NoSuchFolder(missing.message, hint=f"{missing.hint} {others}") from None
        return folder


def is_readable_folder(default: Path, word: str) -> bool:
    """Whether a word is the path of a folder that the call may read."""
    try:
        folder = default / given_path(word)
        return may_read(folder) and folder.is_dir()
    except (
        OSError,
        RuntimeError,
        ValueError,
        BadArgument,
    ):  # the path is too long, has a loop of links, or contains a NUL character
        return False


def visible_workspace(projects: Projects, name: str) -> StoredWorkspace | None:
    """Return a workspace without its unreadable folders, or None if no folder of the workspace is readable."""
    found = projects.workspaces.get(name) if projects.workspaces else None
    return _without_unreadable_folders(found) if found else None


def visible_workspaces(projects: Projects) -> list[StoredWorkspace]:
    """Return the workspaces that the call may read, without their unreadable folders."""
    every = projects.workspaces.all() if projects.workspaces else []
    return [seen for each in every if (seen := _without_unreadable_folders(each))]


@dataclass(frozen=True, slots=True)
class RelatedProject:
    """An indexed project that is related to the projects of a call but is not part of the call.

    `shared_workspace` is the name of a workspace that contains both, or empty if the projects only share a session.
    """

    index: ProjectIndex
    name: str
    shared_workspace: str


def related_projects(
    projects: Projects, requested: AbstractSet[Path], session_roots: Sequence[Path] = ()
) -> list[RelatedProject]:
    """Return other indexed, readable projects that share a workspace or the session with a requested project."""
    workspace_by_root: dict[Path, str] = {}
    for workspace in visible_workspaces(projects):
        roots = [Path(root) for root in workspace.roots]
        if not requested.isdisjoint(roots):
            workspace_by_root = {**dict.fromkeys(roots, workspace.name), **workspace_by_root}
    if len(session_roots) > 1:
        own = [root.resolve() for root in session_roots if may_read(root)]
        if not requested.isdisjoint(own):
            workspace_by_root = {**dict.fromkeys(own, ""), **workspace_by_root}
    others = [root for root in workspace_by_root if root not in requested]
    known = projects.stores.roots_with_store(others) if others else set()
    names = shortest_names([*requested, *others])
    found = []
    for root in others:
        if root in known and projects.is_available(root):
            # The project is skipped here, because a call that selects the project reports the error.
            with suppress(DeltosError):
                index = projects.index_of(root)
                if index.is_complete:
                    found.append(RelatedProject(index, names[root], workspace_by_root[root]))
    return found


def _without_unreadable_folders(workspace: StoredWorkspace) -> StoredWorkspace | None:
    from deltos.store.workspaces import StoredWorkspace  # deferred import: most calls do not name a workspace

    roots = tuple(root for root in workspace.roots if may_read(Path(root)))
    return StoredWorkspace(workspace.name, roots) if roots else None


def _workspaces_hint(projects: Projects) -> str:
    names = [workspace.name for workspace in visible_workspaces(projects)]
    return f"Workspaces: {', '.join(names[:_MAX_LISTED_NAMES])}." if names else ""


def _open_projects(projects: Projects, roots: Sequence[Path], name: str, *, is_explicit: bool) -> Selection:
    """Open the index of each folder once.

    If `is_explicit` is true, raise the error of a folder that cannot be opened.
    """
    found: dict[Path, ProjectIndex] = {}
    problems: dict[Path, DeltosError] = {}
    for root in roots:
        try:
            index = projects.index_of(root)
        except Forbidden:
            if is_explicit:
                raise
        except DeltosError as problem:
            if is_explicit:
                raise
            problems[root] = problem
        else:
            found.setdefault(index.project.root, index)
    if not found:
        raise next(iter(problems.values()), None) or NotFound("None of these projects can be read")
    names = shortest_names([*found, *problems])
    is_several = len(names) > 1
    return Selection(
        tuple(SelectedProject(index, names[root] if is_several else "") for root, index in found.items()),
        tuple(UnavailableProject(names[root], problem.message) for root, problem in problems.items()),
        name,
    )


@dataclass(frozen=True, slots=True)
class FreshProject:
    """A selected project whose index was updated, and the state of the index after the update."""

    repository: SelectedProject
    freshness: Freshness

    @property
    def index(self) -> ProjectIndex:
        """The index of the project."""
        return self.repository.index

    @property
    def name(self) -> str:
        """The name of the project as shown in the answer."""
        return self.repository.name


@dataclass(frozen=True, slots=True)
class FreshSelection:
    """Selected projects whose indexes were updated, and unavailable projects."""

    ready: tuple[FreshProject, ...]
    unavailable: tuple[UnavailableProject, ...]

    def refresh(self, numbers: Sequence[int], progress: Progress) -> FreshSelection:
        """Check the projects at these positions in `ready` for changes again, and return the updated selection."""
        ready = list(self.ready)
        for number in numbers:
            freshness = ready[number].index.freshen(progress=progress, at_once=True)
            ready[number] = FreshProject(ready[number].repository, freshness)
        return FreshSelection(tuple(ready), self.unavailable)

    def notes_about(self, indexer: str) -> tuple[str, ...]:
        """Return the notes of each project, prefixed with the project name if there are several projects."""
        notes = [
            f"[{each.name}] {note}" if each.name else note
            for each in self.ready
            for note in each.freshness.notes_about(indexer)
        ]
        return (*notes, *unavailable_notes(self.unavailable))


def unavailable_notes(unavailable: Sequence[UnavailableProject]) -> Iterator[str]:
    """Yield one note for each reason, which lists the projects that the answer does not cover for this reason."""
    reasons: dict[str, list[str]] = {}
    for each in unavailable:
        reasons.setdefault(each.reason, []).append(each.name)
    for reason, names in reasons.items():
        more = f" and {len(names) - _MAX_LISTED_NAMES} more" if len(names) > _MAX_LISTED_NAMES else ""
        yield f"Note: not searched: {', '.join(names[:_MAX_LISTED_NAMES])}{more}: {reason}"


NOT_INDEXED = "not indexed yet, ask again in a moment"


def answer_on_fresh(
    selection: Selection,
    progress: Progress,
    work: Callable[[FreshSelection], _T],
    *,
    wait_seconds: float | None = None,
    files_only: bool = False,
) -> _T:
    """Return the result of `work` on the updated projects.

    If there is only one project and its index is damaged, the index is rebuilt and `work` is repeated.
    """
    if selection.single_index is None:
        seconds = FIRST_INDEX_SECONDS if wait_seconds is None else wait_seconds
        return work(freshen_all(selection, progress, wait_seconds=seconds, files_only=files_only))
    (repository,) = selection.repositories

    def work_on(freshness: Freshness) -> _T:
        return work(FreshSelection((FreshProject(repository, freshness),), ()))

    return repository.index.answer(work_on, progress=progress, wait_seconds=wait_seconds, files_only=files_only)


def freshen_all(
    selection: Selection,
    progress: Progress,
    *,
    wait_seconds: float = FIRST_INDEX_SECONDS,
    files_only: bool = False,
) -> FreshSelection:
    """Update all selected projects, starting with projects that are already indexed.

    Projects that are indexed for the first time share `wait_seconds`. A project without indexed files after that time
    is unavailable.
    """
    ready: dict[Path, FreshProject] = {}
    unavailable = [*selection.unavailable]
    deadline = time.monotonic() + wait_seconds
    is_complete_by_root = {
        repository.index.project.root: repository.index.is_complete for repository in selection.repositories
    }
    round_count = -(-len(is_complete_by_root) // _FOLLOWERS_PER_ANSWER)
    round_number = next(_ANSWER_COUNTER) % round_count
    sorted_projects = sorted(selection.repositories, key=lambda each: not is_complete_by_root[each.index.project.root])
    for number, repository in enumerate(sorted_projects):
        index = repository.index
        remaining = deadline - time.monotonic()
        if not is_complete_by_root[index.project.root] and remaining <= 0:
            unavailable.append(UnavailableProject(repository.name, NOT_INDEXED))
            continue
        try:
            freshness = index.answer(
                lambda freshness: freshness,
                progress=progress,
                wait_seconds=max(0.0, remaining),
                files_only=files_only,
                follows=number % round_count == round_number,
            )
        except Cancelled:
            raise
        except DeltosError as problem:
            unavailable.append(UnavailableProject(repository.name, problem.message))
            continue
        if freshness.complete or index.store.file_count():
            ready[index.project.root] = FreshProject(repository, freshness)
        else:
            unavailable.append(UnavailableProject(repository.name, NOT_INDEXED))
    if not ready:
        raise NotFound("None of the projects could be searched", hint=" ".join(unavailable_notes(unavailable)))
    order = [each.index.project.root for each in selection.repositories]
    return FreshSelection(tuple(ready[root] for root in order if root in ready), tuple(unavailable))
