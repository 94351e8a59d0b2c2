"""Read the current lines of a chunk, even if the file changed after indexing."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.code.chunk import chunk_lines, lines_of
from deltos.domains.code.index import chunks_of
from deltos.domains.code.model import CodeHit
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


@dataclass(frozen=True, slots=True)
class _SourceFile:
    """The current lines of a file; `chunks` are its current chunks if it may have changed since indexing."""

    lines: list[str]
    chunks: list[CodeChunk] | None = None

    def current_chunk(self, chunk: CodeChunkRow) -> CodeChunkRow | CodeChunk | None:
        """Return the current version of an indexed chunk: the nearest chunk with the same symbol, or None."""
        if self.chunks is None:
            return chunk
        same = [now for now in self.chunks if now.symbol == chunk.symbol]
        return min(same, key=lambda now: abs(now.start_line - chunk.start_line), default=None)


_MAX_CONTEXT_LINES = 12  # maximum number of lines searched for non-blank context lines


class SourceReader:
    """Context manager that converts chunks to hits and reads each file only once."""

    def __init__(self, root: Path, store: ProjectFiles, workers: ProcessPool | None = None) -> None:
        self._tree = source_tree(root, store)
        self._store = store
        self._workers = workers
        self._sources: dict[str, _SourceFile | None] = {}

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
        lines = source.lines[now.start_line - 1 : now.end_line]
        before = source.lines[max(0, now.start_line - 1 - _MAX_CONTEXT_LINES) : now.start_line - 1]
        after = source.lines[now.end_line : now.end_line + _MAX_CONTEXT_LINES]
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
        )

    def lines(self, path: str) -> list[str] | None:
        """Return all current lines of a file, or None if it cannot be read."""
        current = stamp(self._tree, path)
        admitted = admit(self._tree, path, current.size) if current else ""
        return None if isinstance(admitted, str) else lines_of(admitted.data)

    def _source(self, path: str) -> _SourceFile | None:
        if path not in self._sources:
            self._sources[path] = self._load(path)
        return self._sources[path]

    def _load(self, path: str) -> _SourceFile | None:
        current, known = stamp(self._tree, path), self._store.file(path)
        if current is None:
            return None
        # A file with the same size and timestamps is unchanged. Otherwise, the hashes are compared.
        if known is not None and not is_stale(known.stamp, current):
            data = read_source(self._tree, path)
            return _SourceFile(lines_of(to_utf8(data))) if data is not None else None
        admitted = admit(self._tree, path, current.size)
        if isinstance(admitted, str):
            return None
        if known is not None and hashlib.sha256(admitted.data).digest() == known.hash:
            return _SourceFile(lines_of(admitted.data))
        return _SourceFile(lines_of(admitted.data), self._chunks(path, admitted))

    def _chunks(self, path: str, admitted: Admitted) -> list[CodeChunk]:
        """Parse a changed file in a worker process and return its chunks. If parsing fails, split by lines."""
        if self._workers is None:
            return chunks_of(path, admitted)
        try:
            return self._workers.run(chunks_of, path, admitted, limits=file_limits(len(admitted.data)))
        except ParserStopped:
            return chunk_lines(lines_of(admitted.data), ())


def _content_with_header(signature: str, lines: Sequence[str]) -> str:
    """Return the lines as text, and insert the header of their definition before them if they do not contain it."""
    body = "\n".join(lines)
    return body if not signature or _contains_header(signature, lines) else f"{signature}\n…\n{body}"


def _contains_header(signature: str, lines: Sequence[str]) -> bool:
    """Whether the lines contain the header of a definition."""
    head = signature.split("(")[0].strip()
    if " " in head:
        return head in " ".join(" ".join(lines).split())
    # The header of a definition may be a single name. That name in the middle of a line is probably a call.
    return any(line.strip().startswith(head) for line in lines)
