"""Access to the files of a commit in git's object store.

Nothing is checked out, so links, filters, attributes and file names in a repository cannot affect the disk.
"""

from __future__ import annotations

import stat
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from deltos.clones.fetching import Reference, choose_reference
from deltos.errors import Cancelled, FileRefused, NotFound, SourceError
from deltos.files import LINK, MISSING, NOT_REGULAR, TOO_LARGE, FileTree
from deltos.workspace.git import GitStopped, is_reference_name, open_git
from deltos.workspace.repository import Repository, open_repository

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.workspace.git import Git

MAX_LISTED_BYTES = 64_000_000  # maximum size of the output of `git ls-tree`
MAX_FILES = 200_000  # maximum number of files listed for a commit
SUBMODULE = "a submodule, which is not fetched"
_SUBMODULE_MODE = 0o160000
_MAX_HEAD_BYTES = 1_000  # maximum size of git's HEAD file
_MAX_BATCH_FILES = 64  # maximum number of files read by one git command
_MAX_BATCH_BYTES = 8_000_000  # maximum total size of files read by one git command
_FOLDER_HINT = "Add the URL of one of its folders instead (…/tree/BRANCH/FOLDER)."


class _TooManyFiles(SourceError):
    """Raised if a repository has more files than the limit."""


class TreeFile(NamedTuple):
    """A file in a commit, with mode, object id and size."""

    path: str
    mode: int
    id: str
    size_bytes: int

    @property
    def is_regular(self) -> bool:
        """Whether the entry is a regular file, and not a link or submodule."""
        return stat.S_ISREG(self.mode)


@dataclass(slots=True)
class CommitFiles:
    """Files of a branch or tag of a repository.

    The caller must close this object. It is not thread-safe. If the repository has too many files, only files below
    `folder` are listed.
    """

    repository: Repository
    reference: str
    folder: str = ""
    _files: dict[str, TreeFile] | None = None
    _order: dict[str, int] = field(default_factory=dict)
    _cached_contents: dict[str, bytes] = field(default_factory=dict)
    _git: Git | None = None
    _closing: ExitStack = field(default_factory=ExitStack)
    _is_closed: bool = False

    def files(self) -> dict[str, TreeFile]:
        """Return all files by path, including links and submodules. Raise SourceError if there are too many files."""
        if self._files is None:
            self._files = {file.path: file for file in self._list_files()}
            self._order = {path: at for at, path in enumerate(self._files)}
        return self._files

    def read(self, path: str, max_bytes: int) -> bytes:
        """Return the content of a regular file. Raise FileRefused for missing, special and too large files."""
        file = self.files().get(path)
        if file is None:
            raise FileRefused(path, MISSING)
        if not file.is_regular:
            raise FileRefused(path, skip_reason(file))
        if file.size_bytes > max_bytes:
            raise FileRefused(path, TOO_LARGE, f"It has {file.size_bytes:,} bytes; the limit is {max_bytes:,} bytes.")
        if file.id not in self._cached_contents:
            self._cached_contents = self._read_batch(file, max_bytes)
        return self._cached_contents[file.id]

    def close(self) -> None:
        """Remove git's temporary folder. Later reads raise Cancelled."""
        self._is_closed = True
        self._closing.close()
        self._git = None

    def _open_git(self) -> Git:
        if self._is_closed:
            raise Cancelled("The repository was closed")
        if self._git is None:
            self._git = self._closing.enter_context(open_git(self.repository))
        return self._git

    def _list_files(self) -> list[TreeFile]:
        try:
            return self._list_files_below()  # list files outside `folder` too, because pages may include them
        except _TooManyFiles:
            if not self.folder:
                raise
        return self._list_files_below(f"{self.folder}/")

    def _list_files_below(self, *folders: str) -> list[TreeFile]:
        git = self._open_git()
        words = ("-r", "-l", "-z", "--full-tree", self.reference, "--", *folders)
        try:
            output = git.run("ls-tree", *words, max_bytes=MAX_LISTED_BYTES)
        except GitStopped as exc:
            raise _TooManyFiles(
                f"The repository has too many files to list ({exc.message})", hint=_FOLDER_HINT
            ) from None
        found = parse_listing(output)
        if len(found) > MAX_FILES:
            raise _TooManyFiles(f"The repository has more than {MAX_FILES:,} files", hint=_FOLDER_HINT)
        return [file for file in found if file.path.isprintable()]

    def _read_batch(self, first: TreeFile, max_bytes: int) -> dict[str, bytes]:
        """Return the contents of the file `first` and of the files after it, by object id.

        The caller usually reads these files next.
        """
        wanted = {first.id: first.size_bytes}
        names = list(self.files().values())
        for file in names[self._order[first.path] + 1 : self._order[first.path] + _MAX_BATCH_FILES]:
            if file.is_regular and sum(wanted.values()) + file.size_bytes <= min(max_bytes, _MAX_BATCH_BYTES):
                wanted[file.id] = file.size_bytes
        given = "".join(f"{object_id}\n" for object_id in wanted).encode()
        git = self._open_git()
        output = git.run("cat-file", "--batch", given=given, max_bytes=sum(wanted.values()) + 200 * len(wanted))
        return _parse_contents(output, wanted)


def find_local(path: Path) -> Repository | None:
    """Return the repository at a local path (bare or with a working tree), or None if there is none."""
    if found := open_repository(path):
        return found
    with FileTree(path) as tree:
        is_bare = tree.is_file("HEAD") and tree.is_folder("objects") and tree.is_folder("refs")
    return Repository(path, path, path) if is_bare else None


def local_reference(repository: Repository, wanted: str) -> Reference:
    """Return the branch or tag `wanted` of a local repository, or its current branch if `wanted` is empty."""
    if not wanted:
        with FileTree(repository.git_folder) as tree:
            head = tree.read("HEAD", _MAX_HEAD_BYTES).decode("utf-8", "replace").strip()
        name = head.removeprefix("ref:").strip()
        if not head.startswith("ref:") or not is_reference_name(name):
            raise NotFound(
                "The repository has no current branch", hint="Pass a branch or tag as the repository's version."
            )
        return Reference(name)
    with open_git(repository) as git:
        listed = git.run("for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags")
    return choose_reference(wanted, listed.decode("utf-8", "replace").splitlines())


def skip_reason(file: TreeFile) -> str:
    """Return the reason why a link, submodule or special file is not read."""
    if stat.S_ISLNK(file.mode):
        return LINK
    return SUBMODULE if file.mode == _SUBMODULE_MODE else NOT_REGULAR


def parse_listing(output: bytes) -> list[TreeFile]:
    """Parse the output of `git ls-tree -l -z`."""
    return [_parse_line(line) for line in output.split(b"\0") if line]


def _parse_line(line: bytes) -> TreeFile:
    """Parse a line of `git ls-tree -l`: mode, type, id, size, a tab and the path."""
    facts, _, path = line.partition(b"\t")
    mode, _, object_id, size = facts.split()
    return TreeFile(
        path.decode("utf-8", "replace"), int(mode, 8), object_id.decode("ascii"), int(size) if size.isdigit() else 0
    )


def _parse_contents(output: bytes, wanted: dict[str, int]) -> dict[str, bytes]:
    """Parse the output of `git cat-file --batch`, and return the file contents by object id."""
    # Each object is printed as a line with id, type and size, followed by the content.
    found: dict[str, bytes] = {}
    at = 0
    for object_id in wanted:
        end = output.find(b"\n", at)
        words = output[at:end].split()
        if end < 0 or len(words) != 3 or words[0].decode("ascii", "replace") != object_id:
            raise SourceError("The repository is damaged: one of its files is missing", hint="Recrawl the source.")
        size = int(words[2])
        found[object_id] = output[end + 1 : end + 1 + size]
        at = end + 1 + size + 1
    return found
