"""Read a chunk's lines from disk as they are now, also when the file changed after it was indexed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pinakes.domains.code.chunk import chunk_lines, lines_of
from pinakes.domains.code.index import definitions_of
from pinakes.domains.code.model import CodeHit
from pinakes.workspace.admission import Admitted, admit, as_text, read_regular
from pinakes.workspace.extract import parse_file
from pinakes.workspace.sync import is_stale
from pinakes.workspace.walk import stamp

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pinakes.domains.code.model import Chunk
    from pinakes.languages.table import Language
    from pinakes.store.code import ChunkRow
    from pinakes.store.project import ProjectStore

CONTEXT_LINES = 3
CONTEXT_CHARACTERS = 200  # of each line
_LOOKED_AT_LINES = 12  # for context, blank ones included
_SEARCHED_CHARACTERS = 2_000


@dataclass(frozen=True)
class _Source:
    """A file as it is now."""

    path: str
    text: str
    language: Language | None
    is_as_indexed: bool

    def lines(self, first: int, last: int) -> list[str]:
        """Lines by number, both ends included; what lies beyond the ends of the file is left out."""
        first = max(1, first)
        count = max(0, last - first + 1)
        return self.text[_line_start(self.text, first) :].split("\n", count)[:count]

    @cached_property
    def chunks(self) -> list[Chunk]:
        data = self.text.encode("utf-8", "replace")
        return chunk_lines(lines_of(data), definitions_of(parse_file(self.path, Admitted(data, self.language))))

    def successor(self, chunk: ChunkRow) -> Chunk | ChunkRow | None:
        """What the chunk is now: the chunk of the same symbol nearest to where it was; None when that is gone."""
        if self.is_as_indexed:
            return chunk
        same = [now for now in self.chunks if now.symbol == chunk.symbol]
        return min(same, key=lambda now: abs(now.start_line - chunk.start_line), default=None)


class SourceReader:
    """Turns chunks into hits; reads each file once."""

    def __init__(self, root: Path, store: ProjectStore) -> None:
        self._root = root
        self._store = store
        self._sources: dict[str, _Source | None] = {}

    def hit(self, chunk: ChunkRow, confidence: float) -> CodeHit | None:
        """The chunk with its current lines; None when neither it nor its successor is on disk any more."""
        source = self._source(chunk.path)
        now = source.successor(chunk) if source else None
        if source is None or now is None:
            return None
        start, end = now.start_line, now.end_line
        before = min(_LOOKED_AT_LINES, start - 1)
        lines = source.lines(start - before, end + _LOOKED_AT_LINES)
        return CodeHit(
            chunk.id,
            chunk.path,
            start,
            end,
            now.symbol,
            now.kind,
            round(confidence, 4),
            _content(now.signature, lines[before : before + end - start + 1]),
            "\n".join(_nearest(lines[:before][::-1])[::-1]),
            "\n".join(_nearest(lines[before + end - start + 1 :])),
        )

    def _source(self, path: str) -> _Source | None:
        if path not in self._sources:
            self._sources[path] = self._load(path)
        return self._sources[path]

    def _load(self, path: str) -> _Source | None:
        absolute = f"{self._root}/{path}"
        current, known = stamp(absolute), self._store.file(path)
        if current is None:
            return None
        # The same stamp means the same content, which was admitted then; only in doubt is all of it looked at.
        if known is not None and not is_stale(known.stamp, current):
            data = read_regular(absolute)
            return None if data is None else _Source(path, _plain_lines(as_text(data)), None, is_as_indexed=True)
        admitted = admit(self._root, path, current.size)
        if isinstance(admitted, str):
            return None
        same = known is not None and hashlib.sha256(admitted.data).digest() == known.hash
        text = _plain_lines(admitted.data.decode("utf-8", "replace"))
        return _Source(path, text, admitted.language, is_as_indexed=same)


def _plain_lines(text: str) -> str:
    return (text.replace("\r\n", "\n") if "\r\n" in text else text).removesuffix("\n")


def _line_start(text: str, line: int) -> int:
    """Where a line begins. Halves the text, since counting line ends is cheaper than splitting there."""
    low, high, missing = 0, len(text), line - 1
    while high - low > _SEARCHED_CHARACTERS:
        middle = (low + high) // 2
        passed = text.count("\n", low, middle)
        if passed >= missing:
            high = middle
        else:
            low, missing = middle, missing - passed
    for _ in range(missing):
        low = text.find("\n", low) + 1 or len(text)
    return low


def _nearest(lines: Sequence[str]) -> Sequence[str]:
    """The first few lines, not counting blank ones before them; long ones shortened."""
    first = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    return [line[:CONTEXT_CHARACTERS] for line in lines[first : first + CONTEXT_LINES]]


def _content(signature: str, lines: Sequence[str]) -> str:
    """The lines; those from the middle of a long definition keep its header above them."""
    body = "\n".join(lines)
    return body if not signature or _holds_header(signature, lines) else f"{signature}\n…\n{body}"


def _holds_header(signature: str, lines: Sequence[str]) -> bool:
    head = signature.split("(")[0].strip()
    if " " in head:
        return head in " ".join(" ".join(lines).split())
    # A bare name, as methods have in some languages, is no header where it is only called.
    return any(line.strip().startswith(head) for line in lines)
