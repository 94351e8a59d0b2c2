"""Reader of source lines, which reads each file only once and makes lines short and safe to display."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

from deltos.errors import FileRefused
from deltos.workspace.admission import MAX_CODE_BYTES, admit, read_source, to_utf8
from deltos.workspace.source_tree import source_tree
from deltos.workspace.sync import is_stale
from deltos.workspace.walk import stamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from deltos.store.project import ProjectFiles
    from deltos.workspace.source_tree import SourceTree

_MAX_LINE_BYTES = 100_000  # maximum number of bytes of a line; the rest of the line is ignored
_HEAD_BYTES = 8_192
_CONTEXT_CHARACTERS = 8  # maximum number of characters between a name and a `.` before it or a `(` after it
_UNPRINTABLE = "\ufffd"
_ELLIPSIS = "…"


class SourceLines:
    """Reader of lines of a project's files.

    `changed` contains the files that differ from the index. Their lines are not shown, because line numbers may be
    wrong.
    """

    def __init__(self, root: Path, files: ProjectFiles) -> None:
        self._root = root
        self._files = files
        self.changed: set[str] = set()

    @cached_property
    def generated(self) -> frozenset[str]:
        """The generated files of the project."""
        return self._files.generated_paths()

    def lines(self, locations: Iterable[tuple[str, int]]) -> dict[tuple[str, int], str]:
        """Return the text of the given lines (path and line number). Lines that cannot be shown are omitted."""
        wanted: defaultdict[str, set[int]] = defaultdict(set)
        for path, number in locations:
            wanted[path].add(number)
        found: dict[tuple[str, int], bytes] = {}
        with source_tree(self._root, self._files) as tree:
            for path, numbers in wanted.items():
                # Keep only the requested lines of a file, because files may be large.
                lines = self._read_if_current(tree, path).split(b"\n")
                found |= {(path, number): lines[number - 1] for number in numbers if 0 < number <= len(lines)}
        texts = {place: printable(_decode_line(line)) for place, line in found.items()}
        return {place: text for place, text in texts.items() if text.strip()}

    def block(self, path: str, first: int, last: int) -> list[str]:
        """Return the lines of a file from `first` to `last`, or no lines if the file cannot be shown."""
        with source_tree(self._root, self._files) as tree:
            lines = self._read_if_current(tree, path).split(b"\n")[first - 1 : last]
        return [printable(_decode_line(line)) for line in lines]

    def text(self, path: str) -> str:
        """Return the text of a file, or an empty string if it cannot be shown."""
        with source_tree(self._root, self._files) as tree:
            return self._read_if_current(tree, path).decode("utf-8", "replace")

    def heads(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the first 8 KiB of each file that can be read, even if the file has changed since it was indexed."""
        found: dict[str, str] = {}
        with source_tree(self._root, self._files) as tree:
            for path in paths:
                data = _read_head(tree, path)
                if data:
                    found[path] = data.decode("utf-8", "replace")
        return found

    def files_with(self, name: str, paths: Iterable[str]) -> list[str]:
        """Return the files that contain a name or cannot be read completely, whether they changed or not."""
        wanted = name.encode("utf-8")
        with source_tree(self._root, self._files) as tree:
            contents = {path: read_source(tree, path) for path in paths}
        return [
            path
            for path, data in contents.items()
            if data is None or len(data) > MAX_CODE_BYTES or wanted in to_utf8(data)
        ]

    def _read_if_current(self, tree: SourceTree, path: str) -> bytes:
        """Return the content of a file, or empty content if the file differs from the indexed content."""
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
    """Replace tabs and characters that could hide text in a terminal, such as control characters."""
    text = text.replace("\t", " ").rstrip()
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " if char.isspace() else _UNPRINTABLE for char in text)


def shorten_around(text: str, at: int, characters: int) -> str:
    """Shorten a line to `characters` characters around the offset `at`, with an ellipsis where text was removed."""
    if len(text) <= characters:
        return text
    available = max(1, characters - 2 * len(_ELLIPSIS))
    start = 0 if at < available * 2 // 3 else min(at - available // 3, len(text) - available)
    end = start + available
    return f"{_ELLIPSIS if start else ''}{text[start:end].strip()}{_ELLIPSIS if end < len(text) else ''}"


def occurrences(text: str, name: str) -> list[int]:
    """Return the offsets at which a name occurs in a line as a whole word."""
    found = []
    at = text.find(name) if name else -1
    while at >= 0:
        end = at + len(name)
        if not _is_identifier_character(text[at - 1 : at]) and not _is_identifier_character(text[end : end + 1]):
            found.append(at)
        at = text.find(name, end)
    return found


def use_offsets(text: str, names: Sequence[str], kind: str, *, is_member: bool) -> list[int]:
    """Return the offsets at which one of the names may be used, preferring offsets that fit the kind of the use."""
    places = next((found for name in names if (found := occurrences(text, name))), [])
    if len(places) < 2:
        return places
    name = next(name for name in names if occurrences(text, name))
    called = [
        at
        for at in places
        if text[(end := at + len(name)) : end + _CONTEXT_CHARACTERS].lstrip(" ?!").startswith(("(", "<", "{"))
    ]
    candidates = called if kind == "call" and called else places
    members = [
        at for at in candidates if text[max(0, at - _CONTEXT_CHARACTERS) : at].rstrip().endswith((".", "->", "::"))
    ]
    return members if is_member and members else candidates


def _is_identifier_character(char: str) -> bool:
    return char.isalnum() or char in ("_", "$") if char else False


def _decode_line(line: bytes) -> str:
    return line[:_MAX_LINE_BYTES].decode("utf-8", "replace")


def _read_head(tree: SourceTree, path: str) -> bytes:
    """Return the first bytes of a file converted to UTF-8, or no bytes if the file cannot be read."""
    try:
        head = tree.read_head(path, _HEAD_BYTES)
    except FileRefused:
        return b""
    # The text ends at a line break, because a split multi-byte character would cause a wrong encoding to be detected.
    end = head.rfind(b"\n") + 1 if len(head) == _HEAD_BYTES else 0
    return to_utf8(head[: end or len(head)])
