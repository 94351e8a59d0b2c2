"""Read a chunk's lines from disk as they are now, also when the file changed after it was indexed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pinakes.domains.code.chunk import chunk_lines, lines_of
from pinakes.domains.code.index import definitions_of
from pinakes.domains.code.model import CodeHit
from pinakes.workspace.admission import Admitted, admit
from pinakes.workspace.extract import parse_file
from pinakes.workspace.sync import is_stale
from pinakes.workspace.walk import stamp

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pinakes.domains.code.model import Chunk
    from pinakes.store.code import ChunkRow
    from pinakes.store.project import ProjectStore

CONTEXT_LINES = 3
CONTEXT_CHARACTERS = 200  # of each line


@dataclass(frozen=True)
class _Source:
    """A file as it is now."""

    path: str
    admitted: Admitted
    is_as_indexed: bool

    @cached_property
    def lines(self) -> list[str]:
        return lines_of(self.admitted.data)

    @cached_property
    def chunks(self) -> list[Chunk]:
        return chunk_lines(self.lines, definitions_of(parse_file(self.path, self.admitted)))

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
        lines, start, end = source.lines, now.start_line, now.end_line
        return CodeHit(
            chunk.id,
            chunk.path,
            start,
            end,
            now.symbol,
            now.kind,
            round(confidence, 4),
            _content(now.signature, lines[start - 1 : end]),
            "\n".join(_nearest(lines[: start - 1][::-1])[::-1]),
            "\n".join(_nearest(lines[end:])),
        )

    def lines(self, path: str) -> list[str] | None:
        """A file's lines as they are now; None when it cannot be shown."""
        source = self._source(path)
        return source.lines if source else None

    def _source(self, path: str) -> _Source | None:
        if path not in self._sources:
            self._sources[path] = self._load(path)
        return self._sources[path]

    def _load(self, path: str) -> _Source | None:
        current, known = stamp(f"{self._root}/{path}"), self._store.file(path)
        admitted = admit(self._root, path, current.size) if current else "vanished"
        if current is None or isinstance(admitted, str):
            return None
        # The same stamp means the same content; only in doubt is all of it looked at.
        same_stamp = known is not None and not is_stale(known.stamp, current)
        same = same_stamp or (known is not None and hashlib.sha256(admitted.data).digest() == known.hash)
        return _Source(path, admitted, is_as_indexed=same)


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
