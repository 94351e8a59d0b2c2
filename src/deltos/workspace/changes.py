"""Differences between a git revision and the files on disk.

git lists the files of the revision and compares contents that this module passes to git. The files on disk are read by
this module, so that git settings of the work tree have no effect.
"""

from __future__ import annotations

import hashlib
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from deltos.errors import FileRefused
from deltos.files import MISSING, FileTree
from deltos.text.counts import counted
from deltos.workspace.git import GitFailed, open_git
from deltos.workspace.git_index import Index, is_current, read_index
from deltos.workspace.repository import find_repository
from deltos.workspace.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from deltos.workspace.git import Git
    from deltos.workspace.repository import Repository
    from deltos.workspace.walk import Stamp, WalkedFiles

# Limits for comparing files line by line. If a limit is exceeded, all lines of a file count as changed.
MAX_FILE_BYTES = 4_000_000
MAX_COMPARED_FILES = 2_000
MAX_COMPARED_BYTES = 100_000_000
MAX_COMPARISON_SECONDS = 60.0
_HUNK = re.compile(r"^@@ -\d{1,9}(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_REGULAR_MODES = ("100644", "100755")


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A changed file.

    `lines` contains the changed lines of the current content, or is None if all lines count as changed.
    """

    path: str
    lines: frozenset[int] | None


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """All changed files that still exist. `notes` report files that could not be compared."""

    files: tuple[ChangedFile, ...]
    notes: tuple[str, ...] = ()


class ModifiedFile(NamedTuple):
    """A file that differs from the revision.

    `before` is the git object id in the revision, and `after` is the content on disk.
    """

    path: str
    before: str
    after: bytes


@dataclass(slots=True)
class _DiffReader:
    """Parser of a diff that contains no context lines."""

    found: dict[str, set[int]] = field(default_factory=dict)
    _path: str = ""
    _number: int = 0
    _added_left: int = 0
    _removed_left: int = 0

    def read(self, line: str) -> None:
        """Process one line of the diff."""
        # The lines of each hunk are counted, so that content is never mistaken for a header.
        if self._removed_left and line.startswith("-"):
            self._removed_left -= 1
        elif self._added_left and line.startswith("+"):
            self.found[self._path].add(self._number)
            self._number += 1
            self._added_left -= 1
        elif line.startswith("+++ "):
            self._begin_file(line[4:])
        elif self._path and (hunk := _HUNK.match(line)):
            self._begin_hunk(hunk)

    def _begin_file(self, name: str) -> None:
        self._path = "" if name.endswith("/dev/null") else name.rstrip("\t").removeprefix("b/")
        if self._path:
            self.found.setdefault(self._path, set())

    def _begin_hunk(self, hunk: re.Match[str]) -> None:
        self._removed_left, self._number, self._added_left = int(hunk[1] or 1), int(hunk[2]), int(hunk[3] or 1)
        if not self._added_left:  # the hunk only deletes lines, so the change is after this line
            self.found[self._path].add(self._number)


def read_diff(lines: Iterable[str]) -> list[ChangedFile]:
    """Return the changed lines of each file, given the lines of a diff without context lines."""
    reader = _DiffReader()
    for line in lines:
        reader.read(line)
    return [ChangedFile(path, frozenset(numbers)) for path, numbers in reader.found.items()]


def changes_since(root: Path, revision: str, found: WalkedFiles | None = None) -> ChangedFiles:
    """Return the files below `root` that differ from `revision`, including untracked files.

    `found` contains the current files; if it is None, the files on disk are listed first. Raise GitFailed if git fails.
    """
    repository = find_repository(root)
    if repository is None:
        raise GitFailed("This is not a git repository")
    with open_git(repository) as git, FileTree(root) as tree:
        return RevisionComparison(root, repository, git, tree).run(revision, found)


class RevisionComparison:
    """Comparison of the files in one git revision with the files on disk."""

    def __init__(self, root: Path, repository: Repository, git: Git, tree: FileTree) -> None:
        self._prefix = "".join(f"{step}/" for step in root.relative_to(repository.top).parts)
        self._root = root
        self._repository = repository
        self._git = git
        self._tree = tree
        self._deadline = time.monotonic() + MAX_COMPARISON_SECONDS
        self.notes: list[str] = []

    def run(self, revision: str, found: WalkedFiles | None) -> ChangedFiles:
        """Return the files that differ from the revision."""
        before = self.object_ids_in(revision)
        now = self.files_on_disk(found)
        new = [ChangedFile(path, None) for path in now if path not in before]
        modified = self.modified_files({path: stamp for path, stamp in now.items() if path in before}, before)
        return ChangedFiles((*self._changed_lines(modified), *new), tuple(self.notes))

    def files_on_disk(self, found: WalkedFiles | None) -> dict[str, Stamp]:
        """Return the stamp (size and times) of each current file outside nested repositories, by path."""
        found = found or walk(self._root)
        self.notes += found.notes
        nested = tuple(f"{folder}/" for folder in found.repositories)
        return {path: stamp for path, stamp in found.files.items() if not path.startswith(nested)}

    def is_missing(self, path: str) -> bool:
        """Whether no file exists at a path below the root."""
        try:
            self._tree.status(path)
        except FileRefused as refused:
            return refused.reason == MISSING
        return False

    def object_ids_in(self, revision: str) -> dict[str, str]:
        """Return the git object id of each file below the root in a revision, by path."""
        requested = ["--", self._prefix] if self._prefix else []
        output = self._git.run("ls-tree", "-r", "-z", "--full-tree", revision, *requested)
        found = {}
        for entry in output.decode("utf-8", "surrogateescape").split("\0"):
            facts, _, path = entry.partition("\t")
            mode, _, rest = facts.partition(" ")
            if mode in _REGULAR_MODES:
                found[path.removeprefix(self._prefix)] = rest.rpartition(" ")[2]
        return found

    def modified_files(self, now: Mapping[str, Stamp], before: Mapping[str, str]) -> list[ModifiedFile]:
        """Return the files that differ from the revision. Files that git's index shows to be unchanged are not read."""
        index = self._read_index()
        tracked = {file.path.removeprefix(self._prefix): file for file in index.files}
        found, unread = [], 0
        for path, stamp in now.items():
            file = tracked.get(path)
            if file and file.object_id == before[path] and is_current(file, stamp.size, stamp.mtime_ns, index):
                continue
            data = self.read_content(path)
            if data is None:
                unread += 1
            elif before[path] not in self._possible_object_ids(data):
                found.append(ModifiedFile(path, before[path], data))
        if unread:
            self.notes.append(
                f"Note: {counted(unread, 'file')} could not be compared: unreadable, too large, or out of time."
            )
        return found

    def _read_index(self) -> Index:
        try:
            return read_index(self._repository)
        except FileRefused:
            return Index([])

    def read_content(self, path: str) -> bytes | None:
        """Return the content of a file, or None if the file is unreadable or too large, or the time is over."""
        if time.monotonic() > self._deadline:
            return None
        try:
            return self._tree.read(path, MAX_FILE_BYTES)
        except FileRefused:
            return None

    def _possible_object_ids(self, data: bytes) -> set[str]:
        """Return the possible git object ids of a file: for the unchanged content, and for normalised line endings."""
        texts = (data, data.replace(b"\r\n", b"\n")) if b"\r\n" in data else (data,)
        return {self._object_id(text) for text in texts}

    def _object_id(self, data: bytes) -> str:
        kind = "sha256" if self._repository.hash_bytes == 32 else "sha1"
        return hashlib.new(kind, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()

    def _changed_lines(self, modified: list[ModifiedFile]) -> list[ChangedFile]:
        """Return the changed lines of each modified file."""
        if not modified:
            return []
        texts = self.read_blobs({file.before for file in modified[:MAX_COMPARED_FILES]})
        compared = [file for file in modified if file.before in texts]
        if whole := len(modified) - len(compared):
            self.notes.append(
                f"Note: {whole} changed files were not compared by line; all of their lines count as changed."
            )
        lines = self._compare_contents(compared, texts)
        known = {file.path for file in compared}
        return [
            ChangedFile(file.path, lines.get(file.path) if file.path in known else None)
            for file in modified
            if file.path not in known or file.path in lines
        ]

    def read_blobs(self, ids: set[str]) -> dict[str, bytes]:
        """Return the contents of git blobs by object id, within the size limits."""
        request = "".join(f"{each}\n" for each in sorted(ids)).encode()
        requested, total_bytes = [], 0
        for line in self._git.run("cat-file", "--batch-check", given=request).decode("ascii", "replace").splitlines():
            object_id, _, facts = line.partition(" ")
            kind, _, size = facts.partition(" ")
            size_bytes = int(size) if kind == "blob" else MAX_FILE_BYTES + 1
            if size_bytes <= MAX_FILE_BYTES and total_bytes + size_bytes <= MAX_COMPARED_BYTES:
                total_bytes += size_bytes
                requested.append((object_id, size_bytes))
        given = "".join(f"{object_id}\n" for object_id, _ in requested).encode()
        output = self._git.run("cat-file", "--batch", given=given, max_bytes=2 * MAX_COMPARED_BYTES)
        texts, offset = {}, 0
        for object_id, size_bytes in requested:
            offset = output.index(b"\n", offset) + 1
            texts[object_id] = output[offset : offset + size_bytes]
            offset += size_bytes + 1
        return texts

    def _compare_contents(self, files: list[ModifiedFile], texts: Mapping[str, bytes]) -> dict[str, frozenset[int]]:
        """Return the changed lines of each text file. git compares copies whose file names are numbers."""
        for name in ("a", "b"):
            (self._git.folder / name).mkdir()
        for number, file in enumerate(files):
            (self._git.folder / "a" / str(number)).write_bytes(texts[file.before])
            (self._git.folder / "b" / str(number)).write_bytes(file.after)
        output = self._git.run(
            "diff", "--no-index", "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames",
            "--ignore-cr-at-eol", "--src-prefix=", "--dst-prefix=", "a", "b",
            accepted=(0, 1),
        )  # fmt: skip
        changed = read_diff(output.decode("utf-8", "replace").split("\n"))
        return {files[int(change.path)].path: change.lines or frozenset() for change in changed}
