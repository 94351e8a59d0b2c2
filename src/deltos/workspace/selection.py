"""Which projects a call means: one, several, a workspace by its name, or all; and bringing several up to date.

A project that the call may not read is neither named nor counted. One that is gone, or that cannot be brought up to
date, is named, and the others answer.
"""

from __future__ import annotations

import itertools
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from deltos.confinement import may_read
from deltos.errors import BadArgument, Cancelled, DeltosError, Forbidden, NoSuchFolder, NotFound, StoreError
from deltos.files import given_path
from deltos.workspace.names import names_of
from deltos.workspace.project_index import FIRST_INDEX_SECONDS
from deltos.workspace.registry import root_of_project

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from deltos.progress import Progress
    from deltos.store.workspaces import StoredWorkspace
    from deltos.workspace.project_index import Freshness, ProjectIndex
    from deltos.workspace.projects import Projects

EVERYTHING = "*"
WORKSPACE_PREFIX = "workspace:"
_MOST_NAMED = 10
_SHOWN_CHARACTERS = 200
# Whether a repository has new commits is asked of so many at a time, in turns: of 100 it took a seventh of the answer.
_FOLLOWED_AT_ONCE = 10
_QUESTIONS = itertools.count()


@dataclass(frozen=True, slots=True)
class Repository:
    """A project among those that a call means, and what it is called there; alone it needs no name."""

    index: ProjectIndex
    name: str = ""


class Left(NamedTuple):
    """A project that does not take part in an answer, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Selection:
    """What a call means: at least one project, and those that cannot be opened. `name` is a workspace's or `*`."""

    repositories: tuple[Repository, ...]
    left: tuple[Left, ...] = ()
    name: str = ""

    @property
    def alone(self) -> ProjectIndex | None:
        """The project, where no other was meant."""
        return self.repositories[0].index if len(self.repositories) == 1 and not self.left else None


def select(projects: Projects, text: str, defaults: Sequence[Path], *, folders_first: bool = False) -> Selection:
    """The projects that `text` means: ids, names, folders and names of workspaces, comma-separated, or `*`; without any
    those of the session. `folders_first`: a word that is a folder and a name means the folder."""
    words = _words(text, defaults[0], folders_first=folders_first)
    if not words:
        return _opened(projects, defaults, "", is_explicit=len(defaults) == 1)
    reader = _Words(projects, defaults, folders_first=folders_first)
    roots = [root for word in words for root in reader.roots(word)]
    name = words[0] if len(words) == 1 and reader.has_met_sets else ""
    return _opened(projects, roots, name, is_explicit=not reader.has_met_sets)


def _words(text: str, default: Path, *, folders_first: bool) -> list[str]:
    """The comma-separated words; a folder whose name has a comma is one."""
    if folders_first and "," in text and is_readable_folder(default, text):
        return [text]
    return list(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


class _Words:
    """Reads single words of a selection."""

    def __init__(self, projects: Projects, defaults: Sequence[Path], *, folders_first: bool) -> None:
        self._projects = projects
        self._defaults = defaults
        self._folders_first = folders_first
        self.has_met_sets = False

    def roots(self, word: str) -> Sequence[Path]:
        """The folders that a word means."""
        if word == EVERYTHING:
            self.has_met_sets = True
            return self._everything()
        if own := self._own(word):
            return [own]
        if workspace := visible_workspace(self._projects, word.removeprefix(WORKSPACE_PREFIX)):
            self.has_met_sets = True
            return [Path(root) for root in workspace.roots]
        return [self._project(word)]

    def _everything(self) -> Sequence[Path]:
        """Every indexed project that is still there; those of the session where none is."""
        known = [index.root for index in self._projects.stores.known()]
        return [root for root in known if may_read(root) and self._projects.is_there(root)] or self._defaults

    def _own(self, word: str) -> Path | None:
        """What a word means to the session: a folder, where those come first or it is a whole path, or the id of one of
        its projects."""
        if (self._folders_first or Path(word).is_absolute()) and is_readable_folder(self._defaults[0], word):
            return self._defaults[0] / given_path(word)
        return next((root for root in self._defaults if self._projects.has_id(root, word)), None)

    def _project(self, word: str) -> Path:
        """The folder of an indexed project by its id or name, or a folder."""
        try:
            return root_of_project(self._projects.stores.known(), word, self._projects.is_there)
        except NotFound as problem:
            if self._folders_first or is_readable_folder(self._defaults[0], word):
                # What is no folder is told in the words of whoever looks for one, the same whether it exists or not.
                return self._folder(word)
            others = _workspaces_hint(self._projects)
            raise NotFound(problem.message, hint=f"{problem.hint} {others}".strip()) from None

    def _folder(self, word: str) -> Path:
        """A folder; where there is none, a word that may have been meant for a workspace is told which there are."""
        folder = self._defaults[0] / given_path(word)
        try:
            self._projects.at(folder)
        except NoSuchFolder as missing:
            if len(Path(word.removeprefix(WORKSPACE_PREFIX)).parts) != 1 or not (
                others := _workspaces_hint(self._projects)
            ):
                raise
            raise NoSuchFolder(missing.message, hint=f"{missing.hint} {others}") from None
        return folder


def is_readable_folder(default: Path, word: str) -> bool:
    """Whether a word is a folder that the call may read."""
    try:
        folder = default / given_path(word)
        return may_read(folder) and folder.is_dir()
    except (OSError, RuntimeError, ValueError, BadArgument):  # too long, a loop of links, a zero byte
        return False


def visible_workspace(projects: Projects, name: str) -> StoredWorkspace | None:
    """A workspace with those of its folders that the call may read; None where it may read none of them."""
    found = projects.workspaces.get(name) if projects.workspaces else None
    return _visible(found) if found else None


def visible_workspaces(projects: Projects) -> list[StoredWorkspace]:
    """The workspaces of which the call may read a folder, with the folders that it may read."""
    every = projects.workspaces.all() if projects.workspaces else []
    return [seen for each in every if (seen := _visible(each))]


@dataclass(frozen=True, slots=True)
class Beside:
    """An indexed project beside those that a call is about; `asked_by` is the workspace that it shares with one of
    them, empty where it is only a folder of the same session."""

    index: ProjectIndex
    name: str
    asked_by: str


def projects_beside(projects: Projects, asked: AbstractSet[Path], session_roots: Sequence[Path] = ()) -> list[Beside]:
    """The indexed projects of the same workspaces and the same session that a call leaves out and may read."""
    together: dict[Path, str] = {}
    for workspace in visible_workspaces(projects):
        roots = [Path(root) for root in workspace.roots]
        if not asked.isdisjoint(roots):
            together = {**dict.fromkeys(roots, workspace.name), **together}
    if len(session_roots) > 1:
        own = [root.resolve() for root in session_roots if may_read(root)]
        if not asked.isdisjoint(own):
            together = {**dict.fromkeys(own, ""), **together}
    others = [root for root in together if root not in asked]
    known = projects.stores.having(others) if others else set()
    names = names_of([*asked, *others])
    found = []
    for root in others:
        if root in known and projects.is_there(root):
            with suppress(DeltosError):  # a call that asks it is told why it cannot be
                index = projects.at(root)
                if index.is_complete:
                    found.append(Beside(index, names[root], together[root]))
    return found


def _visible(workspace: StoredWorkspace) -> StoredWorkspace | None:
    from deltos.store.workspaces import StoredWorkspace  # deferred: most calls name no workspace

    roots = tuple(root for root in workspace.roots if may_read(Path(root)))
    return StoredWorkspace(workspace.name, roots) if roots else None


def _workspaces_hint(projects: Projects) -> str:
    names = [workspace.name for workspace in visible_workspaces(projects)]
    return f"Workspaces: {', '.join(names[:_MOST_NAMED])}." if names else ""


def _opened(projects: Projects, roots: Sequence[Path], name: str, *, is_explicit: bool) -> Selection:
    """The indexes at some folders, each once; a folder that a caller named itself has to be there."""
    found: dict[Path, ProjectIndex] = {}
    problems: dict[Path, DeltosError] = {}
    for root in roots:
        try:
            index = projects.at(root)
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
    names = names_of([*found, *problems])
    is_several = len(names) > 1
    return Selection(
        tuple(Repository(index, names[root] if is_several else "") for root, index in found.items()),
        tuple(Left(names[root], problem.message) for root, problem in problems.items()),
        name,
    )


@dataclass(frozen=True, slots=True)
class FreshRepository:
    """A project that is up to date, as far as its freshness says."""

    repository: Repository
    freshness: Freshness

    @property
    def index(self) -> ProjectIndex:
        """Its index."""
        return self.repository.index

    @property
    def name(self) -> str:
        """What it is called among the others."""
        return self.repository.name


@dataclass(frozen=True, slots=True)
class FreshSelection:
    """The projects that answer, and those that cannot."""

    ready: tuple[FreshRepository, ...]
    left: tuple[Left, ...]

    def notes_about(self, indexer: str) -> tuple[str, ...]:
        """What a reader should know of each project, by its name."""
        notes = [f"[{each.name}] {note}" for each in self.ready for note in each.freshness.notes_about(indexer)]
        return (*notes, *left_notes(self.left))


def left_notes(left: Sequence[Left]) -> Iterator[str]:
    """Which projects take no part in an answer, one line for each reason."""
    reasons: dict[str, list[str]] = {}
    for each in left:
        reasons.setdefault(each.reason, []).append(each.name)
    for reason, names in reasons.items():
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        yield f"Note: not searched: {', '.join(names[:_MOST_NAMED])}{more}: {reason}"


NOT_INDEXED = "not indexed yet, ask again in a moment"


def freshen_all(
    selection: Selection,
    progress: Progress,
    *,
    wait_seconds: float = FIRST_INDEX_SECONDS,
    files_alone: bool = False,
) -> FreshSelection:
    """All projects brought up to date, those that are indexed first. Those that are not share the time that a first
    index may take; what has no file by then is left out."""
    ready: dict[Path, FreshRepository] = {}
    left = [*selection.left]
    deadline = time.monotonic() + wait_seconds
    stores = [repository.index.store for repository in selection.repositories]
    if len(stores) > 1:
        with suppress(StoreError):  # each says itself why it cannot be asked
            stores[0].look_ahead(stores[1:])
    complete = {repository.index.project.root: repository.index.is_complete for repository in selection.repositories}
    turns = -(-len(complete) // _FOLLOWED_AT_ONCE)
    turn = next(_QUESTIONS) % turns
    in_order = sorted(selection.repositories, key=lambda each: not complete[each.index.project.root])
    for number, repository in enumerate(in_order):
        index = repository.index
        remaining = deadline - time.monotonic()
        if not complete[index.project.root] and remaining <= 0:
            left.append(Left(repository.name, NOT_INDEXED))
            continue
        try:
            freshness = index.answer(
                lambda freshness: freshness,
                progress=progress,
                wait_seconds=max(0.0, remaining),
                files_alone=files_alone,
                follows=number % turns == turn,
            )
        except Cancelled:
            raise
        except DeltosError as problem:
            left.append(Left(repository.name, problem.message))
            continue
        if freshness.complete or index.store.file_count():
            ready[index.project.root] = FreshRepository(repository, freshness)
        else:
            left.append(Left(repository.name, NOT_INDEXED))
    if not ready:
        raise NotFound("None of the projects could be searched", hint=" ".join(left_notes(left)))
    order = [each.index.project.root for each in selection.repositories]
    return FreshSelection(tuple(ready[root] for root in order if root in ready), tuple(left))
