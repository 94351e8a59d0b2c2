"""Read a chunk's lines from disk as they are now, also when the file changed after it was indexed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinakes.domains.code.chunk import chunk_lines
from pinakes.domains.code.index import definitions_of
from pinakes.domains.code.model import CodeHit
from pinakes.workspace.admission import Admitted, admit, as_text
from pinakes.workspace.extract import parse_file
from pinakes.workspace.sync import is_stale
from pinakes.workspace.walk import stamp

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pinakes.languages.table import Language
    from pinakes.store.code import ChunkRow
    from pinakes.store.project import ProjectStore

CONTEXT_LINES = 3
_SEARCHED_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class _Source:
    text: str
    language: Language | None
    unchanged: bool

    def lines(self, first: int, last: int) -> list[str]:
        """Lines by number, both ends included; what lies beyond the end of the file is left out."""
        count = last - first + 1
        return self.text[_line_start(self.text, first) :].split("\n", count)[:count]


def _line_start(text: str, line: int) -> int:
    """Where a line begins. Halves the text, since counting line ends is many times cheaper than splitting there."""
    low, high, missing = 0, len(text), line - 1
    while high - low > _SEARCHED_CHARACTERS:
        middle = (low + high) // 2
        passed = text.count("\n", low, middle)
        if passed >= missing:
            high = middle
        else:
            low, missing = middle, missing - passed
    for _ in range(missing):
        low = text.index("\n", low) + 1
    return low


class SourceReader:
    """Turns chunks into hits; reads each file once."""

    def __init__(self, root: Path, store: ProjectStore) -> None:
        self._root = root
        self._store = store
        self._sources: dict[str, _Source | None] = {}

    def hit(self, chunk: ChunkRow, confidence: float) -> CodeHit | None:
        """The chunk with its current lines; None when neither it nor its successor is on disk any more."""
        source = self._source(chunk.path)
        if source is None:
            return None
        place = (chunk.start_line, chunk.end_line) if source.unchanged else _relocate(chunk, source)
        if place is None:
            return None
        start, end = place
        before = min(CONTEXT_LINES, start - 1)
        lines = source.lines(start - before, end + CONTEXT_LINES)
        return CodeHit(
            chunk.id,
            chunk.path,
            start,
            end,
            chunk.symbol,
            chunk.kind,
            round(confidence, 4),
            _content(chunk, lines[before : before + end - start + 1]),
            "\n".join(lines[:before]),
            "\n".join(lines[before + end - start + 1 :]),
        )

    def _source(self, path: str) -> _Source | None:
        if path not in self._sources:
            self._sources[path] = self._load(path)
        return self._sources[path]

    def _load(self, path: str) -> _Source | None:
        absolute = f"{self._root}/{path}"
        current = stamp(absolute)
        if current is None:
            return None
        known = self._store.file(path)
        if known is not None and not is_stale(known, current):
            return _unchanged(absolute)
        admitted = admit(self._root, path, current.size)
        if isinstance(admitted, str):
            return None
        unchanged = known is not None and hashlib.sha256(admitted.data).digest() == known.hash
        return _Source(admitted.data.decode("utf-8", "replace"), admitted.language, unchanged)


def _unchanged(path: str) -> _Source | None:
    """A file whose stamp is the indexed one; it was admitted then, so nothing about it is judged again."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 (strings: this runs for every hit)
            return _Source(as_text(file.read()), None, unchanged=True)
    except OSError:
        return None


def _relocate(chunk: ChunkRow, source: _Source) -> tuple[int, int] | None:
    """Where the chunk's definition is now: the chunk of the same symbol nearest to where it was."""
    file = parse_file(chunk.path, Admitted(source.text.encode("utf-8"), source.language))
    chunks = chunk_lines(source.text.split("\n"), definitions_of(file))
    same = [now for now in chunks if now.symbol == chunk.symbol]
    if not same:
        return None
    nearest = min(same, key=lambda now: abs(now.start_line - chunk.start_line))
    return nearest.start_line, nearest.end_line


def _content(chunk: ChunkRow, lines: Sequence[str]) -> str:
    """The lines; those from the middle of a long definition keep its header above them."""
    body = "\n".join(lines)
    head = chunk.signature.split("(")[0]
    if chunk.signature and head not in " ".join(body.split()):
        return f"{chunk.signature}\n…\n{body}"
    return body
