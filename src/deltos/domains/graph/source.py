"""Lines of source as they are on disk now: each file is read once, and what it says is made safe and short to show."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

from deltos.errors import FileRefused
from deltos.workspace.admission import admit, read_source, to_utf8
from deltos.workspace.sources import source_tree
from deltos.workspace.sync import is_stale
from deltos.workspace.walk import stamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from deltos.store.project import ProjectFiles
    from deltos.workspace.sources import SourceTree

_LONGEST_LINE = 100_000  # bytes of a line that are looked at; what people write is far shorter
_HEAD_BYTES = 8_192
_NEAR = 8  # characters around a name that tell how it is used
_UNPRINTABLE = "\ufffd"
_MARK = "…"


class Source:
    """Reads lines of a project's files. `changed` are the files that differ from what was indexed: their lines are not
    shown, because the index no longer knows where they are."""

    def __init__(self, root: Path, files: ProjectFiles) -> None:
        self._root = root
        self._files = files
        self.changed: set[str] = set()

    @cached_property
    def generated(self) -> frozenset[str]:
        """The files that a tool wrote."""
        return self._files.generated()

    def lines(self, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], str]:
        """The text of each place (path and line) that can be shown, indentation kept."""
        wanted: defaultdict[str, set[int]] = defaultdict(set)
        for path, number in places:
            wanted[path].add(number)
        found: dict[tuple[str, int], bytes] = {}
        with source_tree(self._root, self._files) as tree:
            for path, numbers in wanted.items():
                # Of a file only these lines are kept: many files may be large.
                lines = self._current(tree, path).split(b"\n")
                found |= {(path, number): lines[number - 1] for number in numbers if 0 < number <= len(lines)}
        texts = {place: printable(_decoded(line)) for place, line in found.items()}
        return {place: text for place, text in texts.items() if text.strip()}

    def block(self, path: str, first: int, last: int) -> list[str]:
        """The lines of a file from `first` to `last`; none when it cannot be shown."""
        with source_tree(self._root, self._files) as tree:
            lines = self._current(tree, path).split(b"\n")[first - 1 : last]
        return [printable(_decoded(line)) for line in lines]

    def text(self, path: str) -> str:
        """The whole of a file; empty when it cannot be shown."""
        with source_tree(self._root, self._files) as tree:
            return self._current(tree, path).decode("utf-8", "replace")

    def heads(self, paths: Iterable[str]) -> dict[str, str]:
        """The first few thousand characters of each file that can be read, whether it changed or not."""
        found: dict[str, str] = {}
        with source_tree(self._root, self._files) as tree:
            for path in paths:
                data = _head(tree, path)
                if data:
                    found[path] = data.decode("utf-8", "replace")
        return found

    def _current(self, tree: SourceTree, path: str) -> bytes:
        """The content of a file that is as it was indexed; the stamp tells, and only in doubt the content itself."""
        now, known = stamp(tree, path), self._files.file(path)
        if now is not None and known is not None:
            if not is_stale(known.stamp, now):
                return to_utf8(read_source(tree, path) or b"")
            admitted = admit(tree, path, now.size, with_generated=True)
            if not isinstance(admitted, str) and hashlib.sha256(admitted.data).digest() == known.hash:
                return admitted.data
        self.changed.add(path)
        return b""


def printable(text: str) -> str:
    """A line without what would act on a reader's screen or hide in it: control characters, overrides, tabs."""
    text = text.replace("\t", " ").rstrip()
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " if char.isspace() else _UNPRINTABLE for char in text)


def around(text: str, at: int, characters: int) -> str:
    """At most so many characters of a line, with what stands at `at` among them; a mark where something is missing."""
    if len(text) <= characters:
        return text
    room = max(1, characters - 2 * len(_MARK))
    start = 0 if at < room * 2 // 3 else min(at - room // 3, len(text) - room)
    end = start + room
    return f"{_MARK if start else ''}{text[start:end].strip()}{_MARK if end < len(text) else ''}"


def occurrences(text: str, name: str) -> list[int]:
    """Where a name stands in a line as a whole word."""
    found = []
    at = text.find(name) if name else -1
    while at >= 0:
        end = at + len(name)
        if not _is_part(text[at - 1 : at]) and not _is_part(text[end : end + 1]):
            found.append(at)
        at = text.find(name, end)
    return found


def used_at(text: str, names: Sequence[str], kind: str, *, is_member: bool) -> list[int]:
    """Where in a line a use of this kind may stand: of several places of the name those that look like it."""
    places = next((found for name in names if (found := occurrences(text, name))), [])
    if len(places) < 2:
        return places
    name = next(name for name in names if occurrences(text, name))
    called = [
        at for at in places if text[(end := at + len(name)) : end + _NEAR].lstrip(" ?!").startswith(("(", "<", "{"))
    ]
    likely = called if kind == "call" and called else places
    members = [at for at in likely if text[max(0, at - _NEAR) : at].rstrip().endswith((".", "->", "::"))]
    return members if is_member and members else likely


def _is_part(char: str) -> bool:
    return char.isalnum() or char in ("_", "$") if char else False


def _decoded(line: bytes) -> str:
    return line[:_LONGEST_LINE].decode("utf-8", "replace")


def _head(tree: SourceTree, path: str) -> bytes:
    try:
        return to_utf8(tree.read_head(path, _HEAD_BYTES))
    except FileRefused:
        return b""
