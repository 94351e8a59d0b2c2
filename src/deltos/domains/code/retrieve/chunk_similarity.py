"""Similarity of a project's chunks to a query, computed from vectors in memory.

Indexing stores the vectors of each file; new vectors are loaded before each query.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from deltos.domains.code.retrieve.similarity_statistics import sample_statistics
from deltos.embed.embedders import code_embedder
from deltos.embed.protocol import TextToEmbed
from deltos.embed.vector_rows import SynchronisedRows, VectorRows, lengths_of, products

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from deltos.domains.code.retrieve.similarity_statistics import SimilarityStatistics
    from deltos.embed.protocol import Vectors
    from deltos.store.code import Code, FileVectors

# In a project with more chunks, all chunks are compared in a few dimensions, and only the best in all dimensions.
MAX_EXACT_COMPARISONS = 4_000
_COARSE_DIMENSIONS = 128
_MAX_COARSE_CANDIDATES = 500
_STATISTICS_SAMPLE = 1_000  # number of chunks sampled to estimate mean and standard deviation
_CHUNKS_PER_FILE = 2  # number of most similar chunks returned per file

# Minimum similarity of a result to the query. Without this minimum, an unrelated query returns every file of a small
# project. With a minimum of 0.1, four of 108 correct results are no longer among the first ten.
_MIN_SIMILARITY = 0.05


@dataclass(frozen=True, slots=True)
class SimilarFile:
    """A file with its most similar chunks, and the cosine similarity of the best one."""

    file_id: int
    chunk_ids: tuple[int, ...]
    similarity: float


@dataclass(frozen=True, slots=True)
class _ChunkRows(VectorRows):
    """Vectors of chunks with the chunk ids, and a copy of the few dimensions used for coarse comparison."""

    chunk_ids: npt.NDArray[np.int64]
    file_ids: npt.NDArray[np.int64]
    coarse: npt.NDArray[np.int8]

    @classmethod
    def from_files(cls, files: Sequence[FileVectors], dimensions: int) -> _ChunkRows:
        """Return the vectors of all chunks of the given files. The chunks of a file are consecutive."""
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
        """Return the range of vector rows that belongs to each file."""
        starts = np.flatnonzero(np.diff(self.file_ids, prepend=-1))
        ends = np.append(starts[1:], len(self.file_ids))
        files = self.file_ids[starts].tolist()
        return dict(zip(files, map(slice, starts.tolist(), ends.tolist()), strict=True))


class CodeSimilarities:
    """Cosine similarities of a project's chunks to one query. In large projects, low similarities are approximate."""

    def __init__(self, rows: _ChunkRows, spans: Mapping[int, slice], vector: Vectors) -> None:
        """Compare the query vector with all vector rows; `spans` maps each file id to a range of rows."""
        self._rows = rows
        self._spans = spans
        self._vector = vector
        self._is_approximate = len(rows) > MAX_EXACT_COMPARISONS
        part = rows.coarse if self._is_approximate else rows.vectors
        self._values = products(part, vector[: part.shape[1]]) / rows.lengths
        self._exact_values = np.full(len(rows), np.nan, np.float32) if self._is_approximate else self._values
        self.best = float(self._values.max())
        # A similarity has a meaning only in comparison with other chunks, so mean and standard deviation are needed.
        step = max(1, len(rows) // _STATISTICS_SAMPLE) if self._is_approximate else 1
        sampled = self._exact(np.arange(0, len(rows), step))
        self.statistics = sample_statistics(sampled, len(rows))

    def highest(self, count: int) -> list[float]:
        """Return the `count` highest similarities, in any order."""
        count_limit = min(count, len(self._values))
        highest: list[float] = np.partition(self._values, len(self._values) - count_limit)[-count_limit:].tolist()
        return highest

    def most_similar_files(
        self, count: int, file_ids: Collection[int] | None = None, at_least: float = -np.inf
    ) -> list[SimilarFile]:
        """Return at most `count` files (of `file_ids`, if given) with similarity `at_least`, most similar first."""
        values, at_least = self._values, max(at_least, _MIN_SIMILARITY)
        if file_ids is not None:
            values = np.where(np.isin(self._rows.file_ids, list(file_ids)), values, -np.inf)
        count_limit = min(_MAX_COARSE_CANDIDATES, len(values))
        indices = np.argpartition(-values, count_limit - 1)[:count_limit]
        # Only exact similarities are compared with the threshold.
        indices = indices[values[indices] >= (-np.finfo(np.float32).max if self._is_approximate else at_least)]
        best = self._best_per_file(indices, count) if len(indices) else []
        return [similar for similar in best if similar.similarity >= at_least]

    def most_similar_chunks(self, file_ids: Iterable[int]) -> dict[int, SimilarFile]:
        """Return the most similar chunks of each given file that has chunks."""
        known = [file_id for file_id in file_ids if file_id in self._spans]
        if known:  # one matrix product for all files is faster than one for each file
            self._exact(np.concatenate([np.arange(self._spans[each].start, self._spans[each].stop) for each in known]))
        return {file_id: self._similar_chunks_of(file_id) for file_id in known}

    def _similar_chunks_of(self, file_id: int) -> SimilarFile:
        """Return the most similar chunks of one file."""
        span = self._spans[file_id]
        values = self._exact_values[span].tolist()
        order = sorted(range(len(values)), key=values.__getitem__, reverse=True)[:_CHUNKS_PER_FILE]
        first = int(self._rows.chunk_ids[span.start])  # ids of a file's chunks are consecutive
        return SimilarFile(file_id, tuple(first + place for place in order), values[order[0]])

    def deviations_of(
        self, file_id: int, chunk_ids: Collection[int], statistics: SimilarityStatistics
    ) -> dict[int, float]:
        """Return the similarity of each chunk of a file, in standard deviations above the mean of all chunks."""
        span = self._spans.get(file_id)
        if span is None:
            return {}
        first = int(self._rows.chunk_ids[span.start])  # ids of a file's chunks are consecutive
        known = [each for each in chunk_ids if 0 <= each - first < span.stop - span.start]
        indices = np.array(known, np.int64) - first + span.start
        values = (self._exact(indices) - statistics.mean) / statistics.deviation
        return dict(zip(known, values.tolist(), strict=True))

    def _best_per_file(self, indices: npt.NDArray[np.int64], count: int) -> list[SimilarFile]:
        """Return the `count` most similar files with chunks in the given rows, best first, with their best chunks."""
        values = self._exact(indices)
        order = np.lexsort((self._rows.chunk_ids[indices], -values, self._rows.file_ids[indices]))
        files, chunks, values = self._rows.file_ids[indices][order], self._rows.chunk_ids[indices][order], values[order]
        # The chunks of a file are consecutive in the sorted array, most similar first.
        starts = np.flatnonzero(np.diff(files, prepend=-1))
        ends = np.minimum(np.append(starts[1:], len(files)), starts + _CHUNKS_PER_FILE)
        best = np.lexsort((files[starts], -values[starts]))[:count]
        starts, ends = starts[best], ends[best]
        return [
            SimilarFile(file_id, tuple(chunks[start:end].tolist()), similarity)
            for file_id, similarity, start, end in zip(
                files[starts].tolist(), values[starts].tolist(), starts.tolist(), ends.tolist(), strict=True
            )
        ]

    def _exact(self, indices: npt.NDArray[np.int64]) -> Vectors:
        """Return the exact cosine similarities of the given rows, and cache them."""
        missing = indices[np.isnan(self._exact_values[indices])]
        if len(missing):
            self._exact_values[missing] = (
                products(self._rows.vectors[missing], self._vector) / self._rows.lengths[missing]
            )
        values: Vectors = self._exact_values[indices]
        return values


@lru_cache(maxsize=16)
def query_vector(question: str, words: str) -> Vectors:
    """Return the vector of a query. It is cached, because it is the same for all projects."""
    return code_embedder().question(TextToEmbed(question, words))


class ProjectVectors:
    """In-memory vectors of one project's chunks, kept up to date with the project's store."""

    def __init__(self) -> None:
        self._rows: SynchronisedRows[_ChunkRows] = SynchronisedRows()
        self._spans: tuple[_ChunkRows | None, Mapping[int, slice]] = None, {}

    def similarities(self, store: Code, terms: Sequence[str], question: str) -> CodeSimilarities | None:
        """Return the similarities of all chunks to a question, or None if there are no vectors."""
        rows = self._current_rows(store)
        if not len(rows):
            return None
        vector = query_vector(question, " ".join(terms))
        return CodeSimilarities(rows, self._spans_of(rows), vector) if vector.any() else None

    def _current_rows(self, store: Code) -> _ChunkRows:
        """Return the vectors of the project's chunks, after loading changes from the store."""
        model = code_embedder()
        return self._rows.refreshed(
            lambda number: _ChunkRows.from_files(store.vectors_since(model.identity, number), model.dimensions),
            lambda: store.vector_count(model.identity),
            lambda: store.vector_numbers(model.identity),
            store.version(),
        )

    def _spans_of(self, rows: _ChunkRows) -> Mapping[int, slice]:
        known, spans = self._spans
        if known is not rows:
            spans = rows.spans()
            self._spans = rows, spans
        return spans


_PROJECT_VECTORS: WeakKeyDictionary[Code, ProjectVectors] = WeakKeyDictionary()
_PROJECT_VECTORS_LOCK = threading.Lock()


def project_vectors(store: Code) -> ProjectVectors:
    """Return the in-memory vectors of an open project; closing the project frees the vectors."""
    with _PROJECT_VECTORS_LOCK:
        return _PROJECT_VECTORS.setdefault(store, ProjectVectors())
