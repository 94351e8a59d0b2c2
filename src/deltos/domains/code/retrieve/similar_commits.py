"""Find commits similar to a query, and the files that these commits changed.

Vectors of a project's commits are cached in memory and updated before each query.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from deltos.domains.code.retrieve.candidate_file import CommitSupport
from deltos.embed.static import shared_model
from deltos.embed.vector_rows import SynchronisedRows, VectorRows, lengths_of, products
from deltos.store.history import MAX_RELATED_FILES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from deltos.domains.code.retrieve.term_weights import TermWeights
    from deltos.embed.protocol import Vectors
    from deltos.store.history import CommitVectors, FileHistory

# All commits are compared in the first vector dimensions. Only the most similar ones are compared in all dimensions and
# by terms.
_COARSE_DIMENSIONS = 64
_MAX_COMPARED_COMMITS = 150
_MAX_SIMILAR_COMMITS = 40  # number of commits whose files become candidates
# A commit is ignored if it changed more than 3 files and more than a third of all files.
_MAX_COMMIT_FRACTION, _MIN_COMMIT_FILES = 3, 3


@dataclass(frozen=True, slots=True)
class _CommitRows(VectorRows):
    """Vectors of commits with the commit ids, and a copy of the few dimensions used for coarse comparison."""

    ids: npt.NDArray[np.int64]
    coarse: npt.NDArray[np.int8]

    @classmethod
    def from_vectors(cls, written: Sequence[CommitVectors], dimensions: int) -> _CommitRows:
        """Combine the stored vectors of commits."""
        vectors = np.frombuffer(b"".join(each.data for each in written), np.int8).reshape(-1, dimensions)
        numbers = np.array([each.number for each in written for _ in each.ids], np.int64)
        ids = np.array([commit_id for each in written for commit_id in each.ids], np.int64)
        return cls(numbers, vectors, lengths_of(vectors), ids, np.ascontiguousarray(vectors[:, :_COARSE_DIMENSIONS]))

    def most_similar(self, vector: Vectors) -> dict[int, float]:
        """Return the most similar commits as commit ids with cosine similarities, without negative similarities."""
        places: npt.NDArray[np.int64] | slice = slice(None)
        if len(self) > _MAX_COMPARED_COMMITS:
            rough = products(self.coarse, vector[:_COARSE_DIMENSIONS]) / self.lengths
            places = np.argpartition(-rough, _MAX_COMPARED_COMMITS - 1)[:_MAX_COMPARED_COMMITS]
        cosines = products(self.vectors[places], vector) / self.lengths[places]
        pairs = zip(self.ids[places].tolist(), cosines.tolist(), strict=True)
        return {commit_id: cosine for commit_id, cosine in pairs if cosine > 0}


class SimilarCommits:
    """The commits that are similar to one query, and the files that they changed."""

    def __init__(self, history: FileHistory, cosines: dict[int, float]) -> None:
        self._history = history
        self._cosines = cosines
        self._words = history.commit_words(cosines)
        self._support: dict[str, CommitSupport] | None = None

    def support_by_path(self, weights: TermWeights, file_count: int) -> dict[str, CommitSupport]:
        """Return the similarities of the commits that changed each file, by path.

        `weights` are the weights of the query terms. Commits that changed a large part of the project's `file_count`
        files are ignored.
        """
        if self._support is None:
            self._support = self._compute_support(weights, max(_MIN_COMMIT_FILES, file_count // _MAX_COMMIT_FRACTION))
        return self._support

    def _compute_support(self, weights: TermWeights, max_files: int) -> dict[str, CommitSupport]:
        """Compute the similarities of the commits that changed each file, by path."""
        similarity = {
            commit_id: (self._cosines[commit_id] + weights.share(weights.mask_of_text(f" {words} "))) / 2
            for commit_id, words in self._words.items()
        }
        best = sorted(similarity, key=lambda commit_id: (-similarity[commit_id], -commit_id))[:_MAX_SIMILAR_COMMITS]
        support: dict[str, CommitSupport] = {}
        for commit_id, paths in self._history.paths_of(best, limit=MAX_RELATED_FILES).items():
            for path in paths if len(paths) <= max_files else ():
                support_of_path = support.setdefault(path, CommitSupport())
                support_of_path.best = max(support_of_path.best, similarity[commit_id])
                # A commit that changed many files says less about each of these files, so its similarity is divided.
                support_of_path.total += similarity[commit_id] ** 2 / len(paths) ** 0.5
        return support


_VECTORS: WeakKeyDictionary[FileHistory, SynchronisedRows[_CommitRows]] = WeakKeyDictionary()
_VECTORS_LOCK = threading.Lock()


def find_similar_commits(history: FileHistory, terms: Sequence[str]) -> SimilarCommits | None:
    """Return the commits similar to the terms of a query, or None if there are none."""
    model = shared_model()
    with _VECTORS_LOCK:
        vectors = _VECTORS.setdefault(history, SynchronisedRows())
    rows = vectors.refreshed(
        lambda number: _CommitRows.from_vectors(history.vectors_since(model.identity, number), model.dimensions),
        lambda: history.vector_count(model.identity),
        lambda: history.vector_numbers(model.identity),
        history.version(),
    )
    vector = model.of_words([" ".join(terms)])[0]
    cosines = rows.most_similar(vector) if len(rows) and vector.any() else {}
    return SimilarCommits(history, cosines) if cosines else None
