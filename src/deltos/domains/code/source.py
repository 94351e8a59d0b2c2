"""Read a chunk's lines as they are now, also when the file changed after it was indexed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from deltos.domains.code.chunk import chunk_lines, lines_of
from deltos.domains.code.excerpt import nearest_lines
from deltos.domains.code.head import MOST_LINES as HEAD_LINES
from deltos.domains.code.head import about_file
from deltos.domains.code.index import chunks_of
from deltos.domains.code.model import CodeHit
from deltos.domains.code.paths import is_prose
from deltos.errors import ReadingStopped
from deltos.workspace.admission import admit, read_source, to_utf8
from deltos.workspace.batches import limits_of
from deltos.workspace.sources import source_tree
from deltos.workspace.sync import is_stale
from deltos.workspace.walk import stamp

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.domains.code.model import CodeChunk
    from deltos.isolated.process import Workers
    from deltos.store.code import CodeChunkRow
    from deltos.store.project import ProjectFiles
    from deltos.workspace.admission import Admitted

_BLOCKS = (8192, 256)  # bytes skipped at a time: counting newlines in a block beats finding each
_NEAR_LINES = 12  # searched for context lines that are not blank


class _Unchanged:
    """A file that is as it was indexed: chunks are where they were, and only lines near them are taken apart."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def successor(self, chunk: CodeChunkRow) -> CodeChunkRow:
        """The chunk itself."""
        return chunk

    def beginning(self) -> list[str]:
        """The lines where the file says what it is about."""
        return lines_of(b"\n".join(self._data.split(b"\n", HEAD_LINES)[:HEAD_LINES]) + b"\n")

    def around(self, start: int, end: int) -> tuple[list[str], list[str], list[str]]:
        """The lines before, from `start` to `end`, and after; of the others as many as may be shown."""
        first = max(0, start - 1 - _NEAR_LINES)
        count = end + _NEAR_LINES - first
        near = lines_of(b"\n".join(self._data[_offset(self._data, first) :].split(b"\n", count)[:count]) + b"\n")
        return near[: start - 1 - first], near[start - 1 - first : end - first], near[end - first :]


class _Changed:
    """A file that changed after it was indexed, or may have: chunks are looked for anew."""

    def __init__(self, lines: list[str], chunks: list[CodeChunk]) -> None:
        self._lines = lines
        self._chunks = chunks

    def successor(self, chunk: CodeChunkRow) -> CodeChunk | None:
        """What the chunk is now: the chunk of the same symbol nearest to where it was; None when that is gone."""
        same = [now for now in self._chunks if now.symbol == chunk.symbol]
        return min(same, key=lambda now: abs(now.start_line - chunk.start_line), default=None)

    def beginning(self) -> list[str]:
        """The lines where the file says what it is about."""
        return self._lines[:HEAD_LINES]

    def around(self, start: int, end: int) -> tuple[list[str], list[str], list[str]]:
        """The lines before, from `start` to `end`, and after."""
        return self._lines[: start - 1], self._lines[start - 1 : end], self._lines[end:]


class SourceReader:
    """Turns chunks into hits; reads each file once. Its `with` block closes what it holds open."""

    def __init__(self, root: Path, store: ProjectFiles, workers: Workers | None = None) -> None:
        self._tree = source_tree(root, store)
        self._store = store
        self._workers = workers
        self._sources: dict[str, _Unchanged | _Changed | None] = {}

    def __enter__(self) -> SourceReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._tree.close()

    def hit(self, chunk: CodeChunkRow, confidence: float) -> CodeHit | None:
        """The chunk with its current lines; None when neither it nor its successor is on disk any more."""
        source = self._source(chunk.path)
        now = source.successor(chunk) if source else None
        if source is None or now is None:
            return None
        before, lines, after = source.around(now.start_line, now.end_line)
        return CodeHit(
            chunk.id,
            chunk.path,
            now.start_line,
            now.end_line,
            now.symbol,
            now.kind,
            round(confidence, 4),
            _content(now.signature, lines),
            "\n".join(nearest_lines(before[::-1])[::-1]),
            "\n".join(nearest_lines(after)),
            about="" if is_prose(chunk.path) else about_file(source.beginning(), chunk.path),
        )

    def lines(self, path: str) -> list[str] | None:
        """All lines of a file as they are now; None when it cannot be shown."""
        current = stamp(self._tree, path)
        admitted = admit(self._tree, path, current.size) if current else ""
        return None if isinstance(admitted, str) else lines_of(admitted.data)

    def _source(self, path: str) -> _Unchanged | _Changed | None:
        if path not in self._sources:
            self._sources[path] = self._load(path)
        return self._sources[path]

    def _load(self, path: str) -> _Unchanged | _Changed | None:
        current, known = stamp(self._tree, path), self._store.file(path)
        if current is None:
            return None
        # The same stamp means the same content; only in doubt is all of it looked at.
        if known is not None and not is_stale(known.stamp, current):
            data = read_source(self._tree, path)
            return _Unchanged(to_utf8(data)) if data is not None else None
        admitted = admit(self._tree, path, current.size)
        if isinstance(admitted, str):
            return None
        if known is not None and hashlib.sha256(admitted.data).digest() == known.hash:
            return _Unchanged(admitted.data)
        return _Changed(lines_of(admitted.data), self._chunks(path, admitted))

    def _chunks(self, path: str, admitted: Admitted) -> list[CodeChunk]:
        """The chunks of a changed file: parsed where that can be stopped, and by lines alone if it has to be."""
        if self._workers is None:
            return chunks_of(path, admitted)
        try:
            return self._workers.run(chunks_of, path, admitted, limits=limits_of(len(admitted.data)))
        except ReadingStopped:
            return chunk_lines(lines_of(admitted.data), ())


def _offset(data: bytes, lines: int) -> int:
    """The byte offset of the line after `lines` others."""
    at = 0
    for block in _BLOCKS:
        while (passed := data.count(b"\n", at, at + block)) < lines and at < len(data):
            lines -= passed
            at += block
    for _ in range(lines):
        at = data.find(b"\n", at) + 1
    return at


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
