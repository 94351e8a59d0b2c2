"""Restriction of the current tool call to certain folders and memories, called confinement.

An unconfined call may access everything. The confinement is stored in a context variable, which every function that
opens a folder or memory checks.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

from deltos.errors import Forbidden

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class Confinement(NamedTuple):
    """Folders and memories that a tool call may access.

    `roots` are the resolved paths of the allowed folders. `memories` maps each project id to the folders whose memories
    are allowed, relative to the repository root. The folder "" allows all memories of the project. If `memories` is
    None, all memories are allowed. `new_projects` are the folders that the call may add to the index (None: any folder
    below the roots).
    """

    roots: tuple[Path, ...]
    memories: Mapping[str, frozenset[str]] | None = None
    new_projects: frozenset[Path] | None = None

    def admits(self, folder: Path) -> bool:
        """Whether the resolved path of `folder`, which need not exist, is below one of the allowed folders."""
        try:
            real = folder.resolve()
        except (OSError, RuntimeError, ValueError):  # a symlink loop or a NUL byte
            return False
        return any(real.is_relative_to(root) for root in self.roots)

    def visible_path(self, path: str) -> str:
        """Return a path relative to its allowed root folder, or only the last two parts of a path outside all roots."""
        real = PurePath(path)
        for root in sorted(self.roots, key=lambda root: -len(root.parts)):
            if real.is_relative_to(root):
                return (PurePath(root.name) / real.relative_to(root)).as_posix()
        return f"…/{'/'.join(real.parts[-2:])}" if len(real.parts) > 1 else path

    def hide_parent_folders(self, text: str) -> str:
        """Remove the paths of the root folders' parents from a message."""
        for root in sorted(self.roots, key=lambda root: -len(root.parts)):
            if root.name:
                text = text.replace(str(root), root.name)
        return text

    def as_data(self) -> dict[str, object]:
        """Return the confinement as JSON-compatible data, for another process."""
        memories = self.memories
        encoded = None if memories is None else {project: sorted(folders) for project, folders in memories.items()}
        return {"roots": [str(root) for root in self.roots], "memories": encoded}

    @classmethod
    def from_data(cls, data: Any) -> Confinement:
        """Create a confinement from the result of `as_data`."""
        memories = data["memories"]
        return cls(
            tuple(Path(root) for root in data["roots"]),
            None if memories is None else {project: frozenset(folders) for project, folders in memories.items()},
        )

    def admits_memory(self, project_id: str, folder: str) -> bool:
        """Whether the memories of a folder in a project's repository may be accessed."""
        if self.memories is None:
            return True
        return any(is_inside(folder, top) for top in self.memories.get(project_id, ()))


def is_inside(folder: str, top: str) -> bool:
    """Whether `folder` is `top` or a subfolder. Both are relative to the repository root."""
    return not top or folder == top or folder.startswith(f"{top}/")


_P = ParamSpec("_P")
_T = TypeVar("_T")
_CURRENT_CONFINEMENT: ContextVar[Confinement | None] = ContextVar("confinement", default=None)
_WHOLE_STORE: ContextVar[bool] = ContextVar("whole_store", default=False)


@contextmanager
def confined(confinement: Confinement | None) -> Iterator[None]:
    """Apply `confinement` in the `with` block."""
    token = _CURRENT_CONFINEMENT.set(confinement)
    try:
        yield
    finally:
        _CURRENT_CONFINEMENT.reset(token)


def with_confinement(work: Callable[_P, _T]) -> Callable[_P, _T]:
    """Wrap `work` so that it keeps the current confinement when it runs in another thread."""
    current = _CURRENT_CONFINEMENT.get()

    def run(*arguments: _P.args, **named: _P.kwargs) -> _T:
        with confined(current):
            return work(*arguments, **named)

    return run


def current() -> Confinement | None:
    """Return the confinement that stores must apply. Return None for an unconfined call and inside `whole_store`."""
    return None if _WHOLE_STORE.get() else _CURRENT_CONFINEMENT.get()


@contextmanager
def whole_store() -> Iterator[None]:
    """Suspend the confinement of stores in the `with` block, to access shared data such as cached vectors.

    The checks of this module are not suspended.
    """
    token = _WHOLE_STORE.set(True)
    try:
        yield
    finally:
        _WHOLE_STORE.reset(token)


def may_read(folder: Path) -> bool:
    """Whether this call may read files in `folder`."""
    current = _CURRENT_CONFINEMENT.get()
    return current is None or current.admits(folder)


def check_folder(folder: Path) -> None:
    """Raise Forbidden if this call may not read `folder`. The message does not reveal whether the folder exists."""
    if not may_read(folder):
        raise Forbidden(
            "That folder is outside the folders that this server may read", hint="Pass a project of this server."
        )


def may_add_project(root: Path) -> bool:
    """Whether this call may index a folder that is not indexed yet."""
    current = _CURRENT_CONFINEMENT.get()
    return current is None or current.new_projects is None or root in current.new_projects


def is_confined() -> bool:
    """Whether this call comes from a client with limited access, not from the local user."""
    return _CURRENT_CONFINEMENT.get() is not None


def visible_location(location: str) -> str:
    """Shorten a path for a confined caller, who must not learn folder names of this machine. URLs are unchanged."""
    current = _CURRENT_CONFINEMENT.get()
    path, mark, anchor = location.partition("#")
    if current is None or not PurePath(path).is_absolute():
        return location
    return f"{current.visible_path(path)}{mark}{anchor}"


def display_path(location: str, project_root: Path) -> str:
    """Return a path relative to the project root, or the `visible_location` of any other path or URL.

    The path of a file in a commit begins with the name of the project: `shop@main/docs/guide.md`.
    """
    root = project_root.as_posix().rstrip("/") + "/"
    if f"{location}/" == root:
        return "."
    if location.startswith(f"{root[:-1]}@"):
        return location.removeprefix(project_root.parent.as_posix().rstrip("/") + "/")
    return location.removeprefix(root) if location.startswith(root) else visible_location(location)


def may_show(path: Path | None) -> bool:
    """Whether this call may see content that was indexed from `path` (None for content from the web).

    Only callers whose token is limited to certain projects are restricted, as in `may_recall_all`.
    """
    current = _CURRENT_CONFINEMENT.get()
    return path is None or current is None or current.memories is None or current.admits(path)


def may_recall_all() -> bool:
    """Whether this call may read the memories of all projects."""
    current = _CURRENT_CONFINEMENT.get()
    return current is None or current.memories is None


def may_recall(project_id: str, folder: str) -> bool:
    """Whether this call may access the memories of a folder in a project's repository."""
    current = _CURRENT_CONFINEMENT.get()
    return current is None or current.admits_memory(project_id, folder)
