"""Read the current lines of a chunk, even if the file changed after indexing."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from deltos.domains.code.chunk import chunk_lines, lines_of
from deltos.domains.code.file_header import MAX_HEADER_LINES as HEAD_LINES
from deltos.domains.code.file_header import file_description
from deltos.domains.code.index import chunks_of
from deltos.domains.code.model import CodeHit
from deltos.domains.code.paths import is_prose
from deltos.domains.code.present.excerpt import nearest_lines
from deltos.errors import ParserStopped
from deltos.workspace.admission import admit, read_source, to_utf8
from deltos.workspace.batches import file_limits
from deltos.workspace.source_tree import source_tree
from deltos.workspace.sync import is_stale
from deltos.workspace.walk import stamp

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.domains.code.model import CodeChunk
    from deltos.isolated.process_pool import ProcessPool
    from deltos.store.code import CodeChunkRow
    from deltos.store.project import ProjectFiles
    from deltos.workspace.admission import Admitted

_BLOCK_BYTES = (8192, 256)  # block sizes for counting newlines, which is faster than finding each newline
_MAX_CONTEXT_LINES = 12  # maximum number of lines searched for non-blank context lines


class _UnchangedFile:
    """A file that is unchanged since indexing; only the lines near a chunk are decoded."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def current_chunk(self, chunk: CodeChunkRow) -> CodeChunkRow:
        """Return the stored chunk unchanged."""
        return chunk

    def header_lines(self) -> list[str]:
        """Return the lines that may describe the file."""
        return lines_of(b"\n".join(self._data.split(b"\n", HEAD_LINES)[:HEAD_LINES]) + b"\n")

    def lines_with_context(self, start: int, end: int) -> tuple[list[str], list[str], list[str]]:
        """Return a few lines before `start`, the lines from `start` to `end`, and a few lines after `end`."""
        first = max(0, start - 1 - _MAX_CONTEXT_LINES)
        count = end + _MAX_CONTEXT_LINES - first
        near = lines_of(b"\n".join(self._data[_line_offset(self._data, first) :].split(b"\n", count)[:count]) + b"\n")
        return near[: start - 1 - first], near[start - 1 - first : end - first], near[end - first :]


class _RelocatedFile:
    """A file that may have changed since indexing; stored chunks are matched with chunks of the current content."""

    def __init__(self, lines: list[str], chunks: list[CodeChunk]) -> None:
        self._lines = lines
        self._chunks = chunks

    def current_chunk(self, chunk: CodeChunkRow) -> CodeChunk | None:
        """Return the nearest chunk of the current content with the same symbol, or None if there is none."""
        same = [now for now in self._chunks if now.symbol == chunk.symbol]
        return min(same, key=lambda now: abs(now.start_line - chunk.start_line), default=None)

    def header_lines(self) -> list[str]:
        """Return the lines that may describe the file."""
        return self._lines[:HEAD_LINES]

    def lines_with_context(self, start: int, end: int) -> tuple[list[str], list[str], list[str]]:
        """Return all lines before `start`, the lines from `start` to `end`, and all lines after `end`."""
        return self._lines[: start - 1], self._lines[start - 1 : end], self._lines[end:]


class SourceReader:
    """Context manager that converts chunks to hits and reads each file only once."""

    def __init__(self, root: Path, store: ProjectFiles, workers: ProcessPool | None = None) -> None:
        self._tree = source_tree(root, store)
        self._store = store
        self._workers = workers
        self._sources: dict[str, _UnchangedFile | _RelocatedFile | None] = {}

    def __enter__(self) -> SourceReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._tree.close()

    def hit(self, chunk: CodeChunkRow, confidence: float) -> CodeHit | None:
        """Convert a chunk to a hit with the current lines, or return None if the chunk no longer exists on disk."""
        source = self._source(chunk.path)
        now = source.current_chunk(chunk) if source else None
        if source is None or now is None:
            return None
        before, lines, after = source.lines_with_context(now.start_line, now.end_line)
        return CodeHit(
            chunk.id,
            chunk.path,
            now.start_line,
            now.end_line,
            now.symbol,
            now.kind,
            round(confidence, 4),
            _content_with_header(now.signature, lines),
            "\n".join(nearest_lines(before[::-1])[::-1]),
            "\n".join(nearest_lines(after)),
            about="" if is_prose(chunk.path) else file_description(source.header_lines(), chunk.path),
        )

    def lines(self, path: str) -> list[str] | None:
        """Return all current lines of a file, or None if it cannot be read."""
        current = stamp(self._tree, path)
        admitted = admit(self._tree, path, current.size) if current else ""
        return None if isinstance(admitted, str) else lines_of(admitted.data)

    def _source(self, path: str) -> _UnchangedFile | _RelocatedFile | None:
        if path not in self._sources:
            self._sources[path] = self._load(path)
        return self._sources[path]

    def _load(self, path: str) -> _UnchangedFile | _RelocatedFile | None:
        current, known = stamp(self._tree, path), self._store.file(path)
        if current is None:
            return None
        # A file with the same size and times is unchanged; otherwise, compare the hashes.
        if known is not None and not is_stale(known.stamp, current):
            data = read_source(self._tree, path)
            return _UnchangedFile(to_utf8(data)) if data is not None else None
        admitted = admit(self._tree, path, current.size)
        if isinstance(admitted, str):
            return None
        if known is not None and hashlib.sha256(admitted.data).digest() == known.hash:
            return _UnchangedFile(admitted.data)
        return _RelocatedFile(lines_of(admitted.data), self._chunks(path, admitted))

    def _chunks(self, path: str, admitted: Admitted) -> list[CodeChunk]:
        """Parse a changed file in a worker process and return its chunks; if parsing is aborted, split it by lines."""
        if self._workers is None:
            return chunks_of(path, admitted)
        try:
            return self._workers.run(chunks_of, path, admitted, limits=file_limits(len(admitted.data)))
        except ParserStopped:
            return chunk_lines(lines_of(admitted.data), ())


def _line_offset(data: bytes, lines: int) -> int:
    """Return the byte offset at which the line with the zero-based number `lines` begins."""
    at = 0
    for block in _BLOCK_BYTES:
        while (passed := data.count(b"\n", at, at + block)) < lines and at < len(data):
            lines -= passed
            at += block
    for _ in range(lines):
        at = data.find(b"\n", at) + 1
    return at


def _content_with_header(signature: str, lines: Sequence[str]) -> str:
    """Return the text of the lines; prepend the header of their definition if the lines do not contain it."""
    body = "\n".join(lines)
    return body if not signature or _contains_header(signature, lines) else f"{signature}\n…\n{body}"


def _contains_header(signature: str, lines: Sequence[str]) -> bool:
    """Whether the lines contain the header of a definition."""
    head = signature.split("(")[0].strip()
    if " " in head:
        return head in " ".join(" ".join(lines).split())
    # A header may consist only of a name; such a name inside a line is probably a call, not the header.
    return any(line.strip().startswith(head) for line in lines)
