"""The files of one commit, read out of the store of objects: no checkout, so no link, filter, attribute or name of a
repository ever meets the disk."""

from __future__ import annotations

import stat
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from deltos.clones.fetching import Reference, choose_reference
from deltos.errors import Cancelled, FileRefused, NotFound, SourceError
from deltos.files import LINK, MISSING, NOT_REGULAR, TOO_LARGE, FileTree
from deltos.workspace.git import GitStopped, is_reference_name, reading
from deltos.workspace.repository import Repository, open_repository

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.workspace.git import Git

MAX_LISTED_BYTES = 64_000_000
MAX_FILES = 200_000
SUBMODULE = "a submodule, which is not fetched"
_SUBMODULE_MODE = 0o160000
_MAX_HEAD_BYTES = 1_000
_TOGETHER_FILES = 64
_TOGETHER_BYTES = 8_000_000
_ADD_A_FOLDER = "Add a folder of it instead, by its address (…/tree/BRANCH/FOLDER)."


class _TooManyFiles(SourceError):
    """More files than are listed."""


class TreeFile(NamedTuple):
    """A file of a commit: what it is, the id of its content, how large that is."""

    path: str
    mode: int
    id: str
    size_bytes: int

    @property
    def is_regular(self) -> bool:
        """Whether it has a content of its own."""
        return stat.S_ISREG(self.mode)


@dataclass(slots=True)
class CommitFiles:
    """What a branch or tag of a repository holds. Belongs to one thread at a time; close it.

    Where the names of all files are too many, those below `folder` are listed, if one is wanted.
    """

    repository: Repository
    reference: str
    folder: str = ""
    _files: dict[str, TreeFile] | None = None
    _order: dict[str, int] = field(default_factory=dict)
    _contents: dict[str, bytes] = field(default_factory=dict)
    _git: Git | None = None
    _closing: ExitStack = field(default_factory=ExitStack)
    _is_closed: bool = False

    def files(self) -> dict[str, TreeFile]:
        """Every file by its path, links and submodules among them; raises when they are too many."""
        if self._files is None:
            self._files = {file.path: file for file in self._listed()}
            self._order = {path: at for at, path in enumerate(self._files)}
        return self._files

    def read(self, path: str, max_bytes: int) -> bytes:
        """The content of a regular file of at most `max_bytes`; raises FileRefused for everything else."""
        file = self.files().get(path)
        if file is None:
            raise FileRefused(path, MISSING)
        if not file.is_regular:
            raise FileRefused(path, why_unread(file))
        if file.size_bytes > max_bytes:
            raise FileRefused(path, TOO_LARGE, f"It has {file.size_bytes:,} bytes; at most {max_bytes:,} are read.")
        if file.id not in self._contents:
            self._contents = self._read_together(file, max_bytes)
        return self._contents[file.id]

    def close(self) -> None:
        """Remove the temporary folder that git sees; none is made after it."""
        self._is_closed = True
        self._closing.close()
        self._git = None

    def _opened(self) -> Git:
        if self._is_closed:
            raise Cancelled("The repository was closed")
        if self._git is None:
            self._git = self._closing.enter_context(reading(self.repository))
        return self._git

    def _listed(self) -> list[TreeFile]:
        try:
            return self._listed_below()  # also what lies beside the folder: pages include it
        except _TooManyFiles:
            if not self.folder:
                raise
        return self._listed_below(f"{self.folder}/")

    def _listed_below(self, *folders: str) -> list[TreeFile]:
        git = self._opened()
        words = ("-r", "-l", "-z", "--full-tree", self.reference, "--", *folders)
        try:
            output = git.run("ls-tree", *words, max_bytes=MAX_LISTED_BYTES)
        except GitStopped as exc:
            raise _TooManyFiles(
                f"The names of the repository's files alone are too many ({exc.message})", hint=_ADD_A_FOLDER
            ) from None
        found = parse_listing(output)
        if len(found) > MAX_FILES:
            raise _TooManyFiles(f"The repository has more than {MAX_FILES:,} files", hint=_ADD_A_FOLDER)
        return [file for file in found if file.path.isprintable()]

    def _read_together(self, first: TreeFile, max_bytes: int) -> dict[str, bytes]:
        """The content of a file and of those that are listed after it: whoever reads one reads the next."""
        wanted = {first.id: first.size_bytes}
        names = list(self.files().values())
        for file in names[self._order[first.path] + 1 : self._order[first.path] + _TOGETHER_FILES]:
            if file.is_regular and sum(wanted.values()) + file.size_bytes <= min(max_bytes, _TOGETHER_BYTES):
                wanted[file.id] = file.size_bytes
        given = "".join(f"{object_id}\n" for object_id in wanted).encode()
        git = self._opened()
        output = git.run("cat-file", "--batch", given=given, max_bytes=sum(wanted.values()) + 200 * len(wanted))
        return _contents(output, wanted)


def find_local(path: Path) -> Repository | None:
    """The repository at a path of this machine, a work tree or a bare one; None when there is none."""
    if found := open_repository(path):
        return found
    with FileTree(path) as tree:
        is_bare = tree.is_file("HEAD") and tree.is_folder("objects") and tree.is_folder("refs")
    return Repository(path, path, path) if is_bare else None


def local_reference(repository: Repository, wanted: str) -> Reference:
    """The branch or tag of a local repository that is called `wanted`, or the branch that it is at."""
    if not wanted:
        with FileTree(repository.git_folder) as tree:
            head = tree.read("HEAD", _MAX_HEAD_BYTES).decode("utf-8", "replace").strip()
        name = head.removeprefix("ref:").strip()
        if not head.startswith("ref:") or not is_reference_name(name):
            raise NotFound("The repository is at no branch", hint="Name a branch or tag as its version.")
        return Reference(name)
    with reading(repository) as git:
        listed = git.run("for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags")
    return choose_reference(wanted, listed.decode("utf-8", "replace").splitlines())


def why_unread(file: TreeFile) -> str:
    """Why something of a commit that is no regular file is not read."""
    if stat.S_ISLNK(file.mode):
        return LINK
    return SUBMODULE if file.mode == _SUBMODULE_MODE else NOT_REGULAR


def parse_listing(output: bytes) -> list[TreeFile]:
    """What `ls-tree -l -z` printed."""
    return [_parsed(line) for line in output.split(b"\0") if line]


def _parsed(line: bytes) -> TreeFile:
    """One line of `ls-tree -l`: mode, kind, id, size, a tab and the path."""
    facts, _, path = line.partition(b"\t")
    mode, _, object_id, size = facts.split()
    return TreeFile(
        path.decode("utf-8", "replace"), int(mode, 8), object_id.decode("ascii"), int(size) if size.isdigit() else 0
    )


def _contents(output: bytes, wanted: dict[str, int]) -> dict[str, bytes]:
    """What `cat-file --batch` printed: a line with id, kind and size, then so many bytes and a newline."""
    found: dict[str, bytes] = {}
    at = 0
    for object_id in wanted:
        end = output.find(b"\n", at)
        words = output[at:end].split()
        if end < 0 or len(words) != 3 or words[0].decode("ascii", "replace") != object_id:
            raise SourceError("The repository is damaged: a file of it is missing", hint="Recrawl it.")
        size = int(words[2])
        found[object_id] = output[end + 1 : end + 1 + size]
        at = end + 1 + size + 1
    return found
