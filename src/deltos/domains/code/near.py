"""Find chunks by meaning: the vectors of one project's chunks in memory, compared with a question exactly.

Vectors are stored per file while it is indexed; what was written since the last question is read before the next one.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from deltos.domains.code.embedding import is_read
from deltos.domains.code.reading import ReadChunks, WrittenFile, read_question
from deltos.domains.code.usual import usual_of
from deltos.embed.rows import RowsInStep, VectorRows, lengths_of, products
from deltos.embed.static import shared_model

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from deltos.domains.code.usual import Usual
    from deltos.embed.protocol import Vectors
    from deltos.progress import Progress
    from deltos.store.code import Code, FileVectors

# Where there are more chunks, all are compared in the strongest dimensions first, and only the best of them in all.
MOST_COMPARED_WHOLE = 4_000
_COARSE_DIMENSIONS = 64
_KEPT_OF_COARSE = 500
_SAMPLED = 1_000  # chunks that tell what is usual
_CHUNKS_PER_FILE = 2
# Below, a chunk is unrelated: without a bound a word that nothing is about shows every file of a small project,
# and with 0.1 four of 108 answers leave the first ten (benchmarks.near, the part that may be seen).
_LEAST_SIMILARITY = 0.05


@dataclass(frozen=True, slots=True)
class NearFile:
    """A file with those of its chunks that are nearest to the question, and the cosine similarity of the first."""

    file_id: int
    chunk_ids: tuple[int, ...]
    similarity: float


@dataclass(frozen=True, slots=True)
class _ChunkRows(VectorRows):
    """Vectors of chunks: whose they are, and their strongest dimensions once more, side by side."""

    chunk_ids: npt.NDArray[np.int64]
    file_ids: npt.NDArray[np.int64]
    coarse: npt.NDArray[np.int8]

    @classmethod
    def of(cls, files: Sequence[FileVectors], dimensions: int) -> _ChunkRows:
        """The rows of files' chunks, file by file."""
        counts = [len(file.data) // dimensions for file in files]
        vectors = np.frombuffer(b"".join(file.data for file in files), np.int8).reshape(-1, dimensions)
        first = np.repeat(np.array([file.first_chunk for file in files], np.int64), counts)
        starts = np.repeat(np.cumsum([0, *counts[:-1]]), counts) if files else np.zeros(0, np.int64)
        return cls(
            np.repeat(np.array([file.number for file in files], np.int64), counts),
            vectors,
            lengths_of(vectors),
            first + np.arange(len(first)) - starts,
            np.repeat(np.array([file.file_id for file in files], np.int64), counts),
            np.ascontiguousarray(vectors[:, :_COARSE_DIMENSIONS]),
        )

    def spans(self) -> dict[int, slice]:
        """Where the chunks of each file stand: together, as they were written."""
        starts = np.flatnonzero(np.diff(self.file_ids, prepend=-1))
        ends = np.append(starts[1:], len(self.file_ids))
        files = self.file_ids[starts].tolist()
        return dict(zip(files, map(slice, starts.tolist(), ends.tolist()), strict=True))


class ChunkSimilarities:
    """How near every chunk is to one question; values are cosines, rough ones for those far away in large projects."""

    def __init__(self, rows: _ChunkRows, spans: Mapping[int, slice], vector: Vectors) -> None:
        """`spans` tells where the chunks of each file stand."""
        self._rows = rows
        self._spans = spans
        self._vector = vector
        self._is_rough = len(rows) > MOST_COMPARED_WHOLE
        part = rows.coarse if self._is_rough else rows.vectors
        self._values = products(part, vector[: part.shape[1]]) / rows.lengths
        self.nearest = float(self._values.max())
        # What is usual in this project: a similarity says little until it is compared with those of other chunks.
        usual = self._exact(np.arange(0, len(rows), max(1, len(rows) // _SAMPLED))) if self._is_rough else self._values
        self.usual = usual_of(usual, len(rows))

    def highest(self, count: int) -> list[float]:
        """The highest similarities, in any order."""
        most = min(count, len(self._values))
        highest: list[float] = np.partition(self._values, len(self._values) - most)[-most:].tolist()
        return highest

    def nearest_files(
        self, count: int, among: Collection[int] | None = None, at_least: float = -np.inf
    ) -> list[NearFile]:
        """The files with the nearest chunks, best first, none that is far; only those with the ids, if given."""
        values, at_least = self._values, max(at_least, _LEAST_SIMILARITY)
        if among is not None:
            values = np.where(np.isin(self._rows.file_ids, list(among)), values, -np.inf)
        most = min(_KEPT_OF_COARSE, len(values))
        places = np.argpartition(-values, most - 1)[:most]
        # Rough values are not what they are compared with in the end.
        places = places[values[places] >= (-np.finfo(np.float32).max if self._is_rough else at_least)]
        best = self._best_per_file(places) if len(places) else {}
        nearest = sorted(best.values(), key=lambda near: (-near.similarity, near.file_id))[:count]
        return [near for near in nearest if near.similarity >= at_least]

    def of_files(self, file_ids: Iterable[int]) -> dict[int, NearFile]:
        """The nearest chunks of each file that has some."""
        return {file_id: self._nearest_of(file_id) for file_id in file_ids if file_id in self._spans}

    def _nearest_of(self, file_id: int) -> NearFile:
        span = self._spans[file_id]
        values = (self._exact(span) if self._is_rough else self._values[span]).tolist()
        order = sorted(range(len(values)), key=values.__getitem__, reverse=True)[:_CHUNKS_PER_FILE]
        first = int(self._rows.chunk_ids[span.start])  # they count up
        return NearFile(file_id, tuple(first + place for place in order), values[order[0]])

    def deviations_of(self, file_id: int, chunk_ids: Collection[int], usual: Usual) -> dict[int, float]:
        """By how many standard deviations each of a file's chunks is nearer than what is usual."""
        span = self._spans.get(file_id)
        if span is None:
            return {}
        first = int(self._rows.chunk_ids[span.start])  # they count up
        known = [each for each in chunk_ids if 0 <= each - first < span.stop - span.start]
        places = np.array(known, np.int64) - first + span.start
        values = (self._exact(places) - usual.mean) / usual.deviation
        return dict(zip(known, values.tolist(), strict=True))

    def _best_per_file(self, places: npt.NDArray[np.int64]) -> dict[int, NearFile]:
        """The nearest chunks of each file among some places, the nearest file first."""
        values = self._exact(places) if self._is_rough else self._values[places]
        order = np.lexsort((self._rows.chunk_ids[places], -values, self._rows.file_ids[places]))
        files, chunks, values = self._rows.file_ids[places][order], self._rows.chunk_ids[places][order], values[order]
        # Each file's chunks stand together now, its nearest first; a file may have thousands.
        starts = np.flatnonzero(np.diff(files, prepend=-1))
        ends = np.minimum(np.append(starts[1:], len(files)), starts + _CHUNKS_PER_FILE)
        starts, ends = (bounds[np.lexsort((chunks[starts], -values[starts]))].tolist() for bounds in (starts, ends))
        return {
            file_id: NearFile(file_id, tuple(chunks[start:end].tolist()), similarity)
            for file_id, similarity, start, end in zip(
                files[starts].tolist(), values[starts].tolist(), starts, ends, strict=True
            )
        }

    def _exact(self, places: npt.NDArray[np.int64] | slice) -> Vectors:
        """The cosines of some chunks in all dimensions."""
        values: Vectors = products(self._rows.vectors[places], self._vector) / self._rows.lengths[places]
        return values


@lru_cache(maxsize=16)
def vector_of(words: str) -> Vectors:
    """The vector of a question: the same for all projects that it is put to."""
    vector: Vectors = shared_model().of_words([words])[0]
    return vector


class NearChunks:
    """The vectors of one project, kept in step with its store."""

    def __init__(self) -> None:
        self._rows: RowsInStep[_ChunkRows] = RowsInStep()
        self._spans: tuple[_ChunkRows | None, Mapping[int, slice]] = None, {}
        self._read = ReadChunks()
        self._read_rows: tuple[_ChunkRows | None, _ChunkRows | None] = None, None

    def similarities(self, store: Code, terms: Sequence[str], question: str = "") -> ChunkSimilarities | None:
        """How near each chunk is to the words of a question; None where the model knows none of them. With the question
        itself, it is compared with what was read of the chunks, once all are read."""
        vector = vector_of(" ".join(terms))
        rows = self._rows_now(store)
        if not len(rows) or not vector.any():
            return None
        if question and is_read(len(rows)) and (read := self._read_of(rows, store)) is not None:
            return ChunkSimilarities(read, self._spans_of(rows), read_question(question, " ".join(terms)))
        return ChunkSimilarities(rows, self._spans_of(rows), vector)

    def read(self, store: Code, progress: Progress) -> tuple[int, int]:
        """Read chunks now, until that is cancelled: how many are read then, of how many. Of too many none is."""
        rows = self._rows_now(store)
        if not len(rows) or not is_read(len(rows)):
            return 0, len(rows)
        return self._read.read(self._files_of(rows), store, progress), len(rows)

    def _rows_now(self, store: Code) -> _ChunkRows:
        model = shared_model()
        return self._rows.refreshed(
            lambda number: _ChunkRows.of(store.vectors_since(model.identity, number), model.dimensions),
            lambda: store.vector_count(model.identity),
            lambda: store.vector_numbers(model.identity),
            store.version(),
        )

    def _read_of(self, rows: _ChunkRows, store: Code) -> _ChunkRows | None:
        """The same rows with the vectors of what was read."""
        known, read = self._read_rows
        if known is rows:
            return read
        vectors = self._read.of(self._files_of(rows), store)
        if vectors is None:
            return None
        coarse = np.ascontiguousarray(vectors[:, :_COARSE_DIMENSIONS])
        read = replace(rows, vectors=vectors, lengths=lengths_of(vectors), coarse=coarse)
        self._read_rows = rows, read
        return read

    def _files_of(self, rows: _ChunkRows) -> list[WrittenFile]:
        """The files in the order of the rows."""
        spans = self._spans_of(rows).items()
        return [
            WrittenFile(int(rows.numbers[at.start]), file_id, int(rows.chunk_ids[at.start]), at.stop - at.start)
            for file_id, at in spans
        ]

    def _spans_of(self, rows: _ChunkRows) -> Mapping[int, slice]:
        known, spans = self._spans
        if known is not rows:
            spans = rows.spans()
            self._spans = rows, spans
        return spans


_OPEN: WeakKeyDictionary[Code, NearChunks] = WeakKeyDictionary()
_OPENING = threading.Lock()


def near_chunks(store: Code) -> NearChunks:
    """The vectors of an open project; they go when it is closed."""
    with _OPENING:
        return _OPEN.setdefault(store, NearChunks())
