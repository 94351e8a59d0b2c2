"""Differences between a git revision and the files on disk.

git lists the files of the revision and compares contents that this module passes to git. The files on disk are read by
this module, so that git settings of the work tree have no effect.
"""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING, NamedTuple

from deltos.errors import FileRefused
from deltos.files import MISSING, FileTree
from deltos.text.counts import counted
from deltos.workspace.git_index import Index, is_current, read_index
from deltos.workspace.walk import walk

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from deltos.workspace.git import Git
    from deltos.workspace.repository import Repository
    from deltos.workspace.walk import Stamp, WalkedFiles

# Limits for reading both versions of changed files.
MAX_FILE_BYTES = 4_000_000
MAX_COMPARED_BYTES = 100_000_000
MAX_COMPARISON_SECONDS = 60.0
_REGULAR_MODES = ("100644", "100755")


class ModifiedFile(NamedTuple):
    """A file that differs from the revision.

    `before` is the git object id in the revision, and `after` is the content on disk.
    """

    path: str
    before: str
    after: bytes


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
        """Return the content of a file, or None if it is unreadable or too large, or the time limit has passed."""
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
