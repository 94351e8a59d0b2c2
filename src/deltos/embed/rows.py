"""Vectors in memory as int8: kept in step with where they are stored, compared with a question exactly."""

from __future__ import annotations

import threading
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Generic, Self, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    import numpy.typing as npt

    from deltos.embed.protocol import Vectors

# Rows are converted from int8 to float32 in batches: the whole matrix would be four times as large in memory.
COMPARE_BATCH_ROWS = 1_024
_LARGEST_INT8 = 127


@dataclass(frozen=True, slots=True)
class VectorRows:
    """Vectors, one to a row: the number of the write that each came with, and its length.

    Numbers only grow, and rows of one write stand together. What else is known of a row, a kind of rows adds as an
    array of its own.
    """

    numbers: npt.NDArray[np.int64]
    vectors: npt.NDArray[np.int8]
    lengths: Vectors

    def __len__(self) -> int:
        return len(self.numbers)

    def cosines(self, vector: Vectors) -> Vectors:
        """The cosine similarity of each row to a unit vector."""
        # int8 rows times a unit vector, divided by the rows' lengths, is the cosine: exact search without an index.
        similarities: Vectors = products(self.vectors, vector) / self.lengths
        return similarities

    def kept(self, which: npt.NDArray[np.bool_]) -> Self:
        """Some of them."""
        return type(self)(*(getattr(self, field.name)[which] for field in fields(self)))

    def with_more(self, others: Self) -> Self:
        """These and others behind them."""
        if not len(self) or not len(others):
            return self if len(self) else others
        return type(self)(
            *(np.concatenate([getattr(self, field.name), getattr(others, field.name)]) for field in fields(self))
        )


Rows = TypeVar("Rows", bound=VectorRows)


class RowsInStep(Generic[Rows]):
    """All rows of one model, in step with where they are stored. Any thread may ask; rows that it got never change."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._rows: Rows | None = None
        self._writes = 0
        self._changes = 0
        self._found_in_step = threading.local()

    def refreshed(
        self,
        since: Callable[[int], Rows],
        count: Callable[[], int],
        numbers: Callable[[], Iterable[int]],
        version: Hashable | None = None,
    ) -> Rows:
        """The rows as they are stored now.

        `since` reads those that were written after a number, `count` and `numbers` tell of all writes. Nothing is asked
        where this thread has found the same rows in step with the same `version` of the store.
        """
        with self._guard:
            known = self._rows
            if known is not None and version is not None and self._in_step() == (version, self._changes):
                return known
            new = since(int(known.numbers[-1]) if known is not None and len(known) else 0)
            new_writes = _writes(new)
            # What is new comes after the last one known; a count that differs means that some were deleted.
            if known is not None and count() != self._writes + new_writes:
                known = known.kept(np.isin(known.numbers, np.fromiter(numbers(), np.int64)))
                self._writes = _writes(known)
            rows = new if known is None else known.with_more(new)
            self._changes += rows is not self._rows
            self._rows = rows
            self._writes += new_writes
            self._found_in_step.at = version, self._changes
            return rows

    def _in_step(self) -> object:
        return getattr(self._found_in_step, "at", None)


def _writes(rows: VectorRows) -> int:
    return int(np.count_nonzero(np.diff(rows.numbers))) + 1 if len(rows) else 0


def products(rows: npt.NDArray[np.int8], vector: Vectors) -> Vectors:
    """The dot product of each row with a vector."""
    out = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), COMPARE_BATCH_ROWS):
        out[start : start + COMPARE_BATCH_ROWS] = rows[start : start + COMPARE_BATCH_ROWS].astype(np.float32) @ vector
    return out


def lengths_of(rows: npt.NDArray[np.int8]) -> Vectors:
    """The length of each row; never quite 0, so that one can divide by it."""
    out = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), COMPARE_BATCH_ROWS):
        part = rows[start : start + COMPARE_BATCH_ROWS].astype(np.float32)
        out[start : start + COMPARE_BATCH_ROWS] = np.linalg.norm(part, axis=1)
    return out + np.float32(1e-9)


def quantised(vectors: Vectors) -> npt.NDArray[np.int8]:
    """Each row scaled to int8; cosine similarity depends on its direction alone."""
    largest = np.abs(vectors).max(axis=1, keepdims=True) + np.float32(1e-9)
    rows: npt.NDArray[np.int8] = np.round(vectors / largest * _LARGEST_INT8).astype(np.int8)
    return rows
