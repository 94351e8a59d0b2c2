"""Find files by commits: those whose subjects resemble a question, and the files that they touched.

The vectors of a project's commits are kept in memory; what was written since the last question is read before the next.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from deltos.domains.code.near import vector_of
from deltos.embed.rows import RowsInStep, VectorRows, lengths_of, products
from deltos.embed.static import shared_model
from deltos.store.history import MAX_RELATED_FILES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from deltos.domains.code.features import Weights
    from deltos.embed.protocol import Vectors
    from deltos.store.history import CommitVectors, FileHistory

# All commits are compared in the strongest dimensions, the nearest of them in all dimensions and by their words.
_COARSE_DIMENSIONS = 64
_NEAREST_COMMITS = 150
_SIMILAR_COMMITS = 40  # these speak for the files that they touched
_TELLING_SHARE, _LEAST_FILES = 3, 3  # up to one in three of the project's files, or three


@dataclass(slots=True)
class Spoken:
    """What similar commits say for a file: the similarity of the best one (up to 1), and all of them together."""

    best: float = 0.0
    total: float = 0.0


@dataclass(frozen=True, slots=True)
class _CommitRows(VectorRows):
    """The vectors of commits: whose they are, and their strongest dimensions."""

    ids: npt.NDArray[np.int64]
    coarse: npt.NDArray[np.int8]

    @classmethod
    def of(cls, written: Sequence[CommitVectors], dimensions: int) -> _CommitRows:
        vectors = np.frombuffer(b"".join(each.data for each in written), np.int8).reshape(-1, dimensions)
        numbers = np.array([each.number for each in written for _ in each.ids], np.int64)
        ids = np.array([commit_id for each in written for commit_id in each.ids], np.int64)
        return cls(numbers, vectors, lengths_of(vectors), ids, np.ascontiguousarray(vectors[:, :_COARSE_DIMENSIONS]))

    def nearest(self, vector: Vectors) -> dict[int, float]:
        """The commits that are nearest to a question, with their cosine similarity; none that is far."""
        places: npt.NDArray[np.int64] | slice = slice(None)
        if len(self) > _NEAREST_COMMITS:
            rough = products(self.coarse, vector[:_COARSE_DIMENSIONS]) / self.lengths
            places = np.argpartition(-rough, _NEAREST_COMMITS - 1)[:_NEAREST_COMMITS]
        cosines = products(self.vectors[places], vector) / self.lengths[places]
        pairs = zip(self.ids[places].tolist(), cosines.tolist(), strict=True)
        return {commit_id: cosine for commit_id, cosine in pairs if cosine > 0}


class SimilarCommits:
    """The commits that resemble one question, and what they say for the files that they touched."""

    def __init__(self, history: FileHistory, cosines: dict[int, float]) -> None:
        self._history = history
        self._cosines = cosines
        self._words = history.commit_words(cosines)
        self._spoken: dict[str, Spoken] | None = None

    def spoken(self, weights: Weights, file_count: int) -> dict[str, Spoken]:
        """What they say for each file, by path; the weights are those of the question's words, the files those of the
        project: a commit that touched a good part of them says nothing of any."""
        if self._spoken is None:
            self._spoken = self._say(weights, max(_LEAST_FILES, file_count // _TELLING_SHARE))
        return self._spoken

    def _say(self, weights: Weights, most_files: int) -> dict[str, Spoken]:
        similarity = {
            commit_id: (self._cosines[commit_id] + weights.share(weights.found(f" {words} "))) / 2
            for commit_id, words in self._words.items()
        }
        best = sorted(similarity, key=lambda commit_id: (-similarity[commit_id], -commit_id))[:_SIMILAR_COMMITS]
        spoken: dict[str, Spoken] = {}
        for commit_id, paths in self._history.paths_of(best, limit=MAX_RELATED_FILES).items():
            for path in paths if len(paths) <= most_files else ():
                own = spoken.setdefault(path, Spoken())
                own.best = max(own.best, similarity[commit_id])
                # A commit says the less of each file the more files it touched.
                own.total += similarity[commit_id] ** 2 / len(paths) ** 0.5
        return spoken


_OPEN: WeakKeyDictionary[FileHistory, RowsInStep[_CommitRows]] = WeakKeyDictionary()
_OPENING = threading.Lock()


def commits_like(history: FileHistory, terms: Sequence[str]) -> SimilarCommits | None:
    """The commits that resemble the words of a question; None where none does."""
    model = shared_model()
    with _OPENING:
        kept = _OPEN.setdefault(history, RowsInStep())
    rows = kept.refreshed(
        lambda number: _CommitRows.of(history.vectors_since(model.identity, number), model.dimensions),
        lambda: history.vector_count(model.identity),
        lambda: history.vector_numbers(model.identity),
        history.version(),
    )
    vector = vector_of(" ".join(terms))
    cosines = rows.nearest(vector) if len(rows) and vector.any() else {}
    return SimilarCommits(history, cosines) if cosines else None
