"""What the call that runs now may reach. Set by a surface that serves others; without it, everything.

It travels in a context variable, so that every way to a folder or a memory meets it, whichever tool it came from.
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
    """Folders below `roots`, which are real paths, and the `memories` of projects; None means of every project.

    A project's memories are those made in some folders of its repository, relative to the top; "" means all of them.
    """

    roots: tuple[Path, ...]
    memories: Mapping[str, frozenset[str]] | None = None

    def admits(self, folder: Path) -> bool:
        """Whether `folder` really lies below one of the roots, links followed. It need not exist."""
        try:
            real = folder.resolve()
        except (OSError, RuntimeError, ValueError):  # a loop of links, a zero byte
            return False
        return any(real.is_relative_to(root) for root in self.roots)

    def told(self, path: str) -> str:
        """An absolute path as a caller may know it: from the folder that is served; of others only the end."""
        real = PurePath(path)
        for root in sorted(self.roots, key=lambda root: -len(root.parts)):
            if real.is_relative_to(root):
                return (PurePath(root.name) / real.relative_to(root)).as_posix()
        return f"…/{'/'.join(real.parts[-2:])}" if len(real.parts) > 1 else path

    def veiled(self, text: str) -> str:
        """A message without the folders above those that are served."""
        for root in sorted(self.roots, key=lambda root: -len(root.parts)):
            if root.name:
                text = text.replace(str(root), root.name)
        return text

    def as_data(self) -> dict[str, object]:
        """What another process needs to hold work to the same."""
        memories = self.memories
        told = None if memories is None else {project: sorted(folders) for project, folders in memories.items()}
        return {"roots": [str(root) for root in self.roots], "memories": told}

    @classmethod
    def from_data(cls, data: Any) -> Confinement:
        """The confinement that `as_data` described."""
        memories = data["memories"]
        return cls(
            tuple(Path(root) for root in data["roots"]),
            None if memories is None else {project: frozenset(folders) for project, folders in memories.items()},
        )

    def admits_memory(self, project_id: str, folder: str) -> bool:
        """Whether memories that were made in `folder` of a project's repository may be seen and changed."""
        if self.memories is None:
            return True
        return any(is_inside(folder, top) for top in self.memories.get(project_id, ()))


def is_inside(folder: str, top: str) -> bool:
    """Whether a folder of a repository is another one or lies below it; both are relative to the repository's top."""
    return not top or folder == top or folder.startswith(f"{top}/")


_P = ParamSpec("_P")
_T = TypeVar("_T")
_CURRENT: ContextVar[Confinement | None] = ContextVar("confinement", default=None)
_WHOLE_STORE: ContextVar[bool] = ContextVar("whole_store", default=False)


@contextmanager
def confined(confinement: Confinement | None) -> Iterator[None]:
    """Hold what runs inside to `confinement`."""
    token = _CURRENT.set(confinement)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def with_confinement(work: Callable[_P, _T]) -> Callable[_P, _T]:
    """`work` under the confinement of this call, in whichever thread it runs: a new thread has none of its own."""
    current = _CURRENT.get()

    def run(*arguments: _P.args, **named: _P.kwargs) -> _T:
        with confined(current):
            return work(*arguments, **named)

    return run


def current() -> Confinement | None:
    """What holds the call that runs now, for a store that keeps to it too; None where nothing does, or a block of
    `whole_store` runs."""
    return None if _WHOLE_STORE.get() else _CURRENT.get()


@contextmanager
def whole_store() -> Iterator[None]:
    """Read and write what all callers share, for whichever of them: vectors kept in memory, names that are taken.

    It lifts what a store holds a call to, never the checks of this module.
    """
    token = _WHOLE_STORE.set(True)
    try:
        yield
    finally:
        _WHOLE_STORE.reset(token)


def may_read(folder: Path) -> bool:
    """Whether this call may read below `folder`."""
    current = _CURRENT.get()
    return current is None or current.admits(folder)


def check_folder(folder: Path) -> None:
    """Refuse a folder that this call may not read, in the same words whether it exists or not."""
    if not may_read(folder):
        raise Forbidden(
            "That folder is outside of the folders that this server may read", hint="Name a project that it serves."
        )


def is_confined() -> bool:
    """Whether this call comes from somebody whom a surface serves, not from the user."""
    return _CURRENT.get() is not None


def told(location: str) -> str:
    """A path or an address as this call may be told it: callers over a network learn no folders of this machine."""
    current = _CURRENT.get()
    path, mark, anchor = location.partition("#")
    if current is None or not PurePath(path).is_absolute():
        return location
    return f"{current.told(path)}{mark}{anchor}"


def shown_path(location: str, project_root: Path) -> str:
    """A local path relative to the project where it lies inside; everything else as the caller may be told it.

    A file in a commit of the project itself begins with the project's name: `shop@main/docs/guide.md`.
    """
    root = project_root.as_posix().rstrip("/") + "/"
    if f"{location}/" == root:
        return "."
    if location.startswith(f"{root[:-1]}@"):
        return location.removeprefix(project_root.parent.as_posix().rstrip("/") + "/")
    return location.removeprefix(root) if location.startswith(root) else told(location)


def may_show(place: Path | None) -> bool:
    """Whether what was indexed from files at `place` may be shown to this call; None is what comes from the web.

    Held to what `may_recall_all` is held to: a token for some projects, not everybody who calls over a network.
    """
    current = _CURRENT.get()
    return place is None or current is None or current.memories is None or current.admits(place)


def may_recall_all() -> bool:
    """Whether this call may see the memories of every project."""
    current = _CURRENT.get()
    return current is None or current.memories is None


def may_recall(project_id: str, folder: str) -> bool:
    """Whether this call may see and change the memories made in a folder of a project's repository."""
    current = _CURRENT.get()
    return current is None or current.admits_memory(project_id, folder)
