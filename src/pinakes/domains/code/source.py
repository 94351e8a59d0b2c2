"""Read a chunk's lines from disk as they are now, also when the file changed after it was indexed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinakes.domains.code.chunk import chunk_lines
from pinakes.domains.code.index import definitions_of
from pinakes.domains.code.model import CodeHit
from pinakes.workspace.admission import Admitted, admit
from pinakes.workspace.extract import parse_file

if TYPE_CHECKING:
    from pathlib import Path

    from pinakes.store.code import ChunkRow, CodeStore

CONTEXT_LINES = 3


@dataclass(frozen=True, slots=True)
class _Source:
    admitted: Admitted
    lines: list[str]
    unchanged: bool


class SourceReader:
    """Turns chunks into hits; reads each file once."""

    def __init__(self, root: Path, store: CodeStore) -> None:
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
        return CodeHit(
            chunk.id,
            chunk.path,
            start,
            end,
            chunk.symbol,
            chunk.kind,
            round(confidence, 4),
            _content(chunk, source.lines, start, end),
            "\n".join(source.lines[max(0, start - 1 - CONTEXT_LINES) : start - 1]),
            "\n".join(source.lines[end : end + CONTEXT_LINES]),
        )

    def _source(self, path: str) -> _Source | None:
        if path not in self._sources:
            self._sources[path] = self._load(path)
        return self._sources[path]

    def _load(self, path: str) -> _Source | None:
        try:
            size = (self._root / path).stat().st_size
        except OSError:
            return None
        admitted = admit(self._root, path, size)
        if isinstance(admitted, str):
            return None
        unchanged = hashlib.sha256(admitted.data).digest() == self._store.hash_of_file(path)
        return _Source(admitted, admitted.data.decode("utf-8", "replace").split("\n"), unchanged)


def _relocate(chunk: ChunkRow, source: _Source) -> tuple[int, int] | None:
    """Where the chunk's definition is now: the chunk of the same symbol nearest to where it was."""
    file = parse_file(chunk.path, source.admitted)
    same = [now for now in chunk_lines(source.lines, definitions_of(file)) if now.symbol == chunk.symbol]
    if not same:
        return None
    nearest = min(same, key=lambda now: abs(now.start_line - chunk.start_line))
    return nearest.start_line, nearest.end_line


def _content(chunk: ChunkRow, lines: list[str], start: int, end: int) -> str:
    """The lines; those from the middle of a long definition keep its header above them."""
    body = "\n".join(lines[start - 1 : end])
    head = chunk.signature.split("(")[0]
    if chunk.signature and head not in " ".join(body.split()):
        return f"{chunk.signature}\n…\n{body}"
    return body
