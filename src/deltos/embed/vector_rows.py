"""Int8 vectors in memory, which are synchronised with a database and searched exhaustively."""

from __future__ import annotations

import threading
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Generic, Self, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    import numpy.typing as npt

    from deltos.embed.protocol import Vectors

# Number of rows converted from int8 to float32 at once. Converting the entire matrix would need four times its memory.
COMPARE_BATCH_ROWS = 1_024
_MAX_INT8 = 127  # largest value of int8


@dataclass(frozen=True, slots=True)
class VectorRows:
    """Stored vectors, each with its length and the number of the database write that stored it.

    Write numbers are ascending, and the rows of one write are contiguous. Subclasses add further arrays.
    """

    numbers: npt.NDArray[np.int64]
    vectors: npt.NDArray[np.int8]
    lengths: Vectors

    def __len__(self) -> int:
        return len(self.numbers)

    def cosines(self, vector: Vectors) -> Vectors:
        """Return the cosine similarity of each row to a unit vector."""
        # The cosine is the dot product of a row and the unit vector, divided by the length of the row.
        similarities: Vectors = products(self.vectors, vector) / self.lengths
        return similarities

    def selected(self, mask: npt.NDArray[np.bool_]) -> Self:
        """Return the rows for which `mask` is true."""
        return type(self)(*(getattr(self, field.name)[mask] for field in fields(self)))

    def appended(self, others: Self) -> Self:
        """Return these rows followed by `others`."""
        if not len(self) or not len(others):
            return self if len(self) else others
        return type(self)(
            *(np.concatenate([getattr(self, field.name), getattr(others, field.name)]) for field in fields(self))
        )


Rows = TypeVar("Rows", bound=VectorRows)


class SynchronisedRows(Generic[Rows]):
    """Thread-safe copy of the stored vectors of one model. Returned rows are immutable."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: Rows | None = None
        self._writes = 0
        self._changes = 0
        self._synchronised_at = threading.local()

    def refreshed(
        self,
        since: Callable[[int], Rows],
        count: Callable[[], int],
        numbers: Callable[[], Iterable[int]],
        version: Hashable | None = None,
    ) -> Rows:
        """Return the currently stored rows.

        `since` reads the rows after a write number. `numbers` returns all write numbers, and `count` how many there
        are. The database is not queried if this thread has already seen its `version`.
        """
        with self._lock:
            known = self._rows
            if known is not None and version is not None and self._last_synchronised() == (version, self._changes):
                return known
            new = since(int(known.numbers[-1]) if known is not None and len(known) else 0)
            new_writes = _count_writes(new)
            # New rows have higher write numbers than known rows. A different count means that rows were deleted.
            if known is not None and count() != self._writes + new_writes:
                known = known.selected(np.isin(known.numbers, np.fromiter(numbers(), np.int64)))
                self._writes = _count_writes(known)
            rows = new if known is None else known.appended(new)
            self._changes += rows is not self._rows
            self._rows = rows
            self._writes += new_writes
            self._synchronised_at.at = version, self._changes
            return rows

    def _last_synchronised(self) -> object:
        return getattr(self._synchronised_at, "at", None)


def _count_writes(rows: VectorRows) -> int:
    """Return the number of database writes that stored the rows."""
    return int(np.count_nonzero(np.diff(rows.numbers))) + 1 if len(rows) else 0


def products(rows: npt.NDArray[np.int8], vector: Vectors) -> Vectors:
    """Return the dot product of each row with a vector."""
    out = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), COMPARE_BATCH_ROWS):
        out[start : start + COMPARE_BATCH_ROWS] = rows[start : start + COMPARE_BATCH_ROWS].astype(np.float32) @ vector
    return out


def lengths_of(rows: npt.NDArray[np.int8]) -> Vectors:
    """Return the length of each row. A tiny number is added, so that it can be a divisor."""
    out = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), COMPARE_BATCH_ROWS):
        part = rows[start : start + COMPARE_BATCH_ROWS].astype(np.float32)
        out[start : start + COMPARE_BATCH_ROWS] = np.linalg.norm(part, axis=1)
    return out + np.float32(1e-9)


def quantised(vectors: Vectors) -> npt.NDArray[np.int8]:
    """Scale each row to the range of int8. Scaling does not change cosine similarities."""
    largest = np.abs(vectors).max(axis=1, keepdims=True) + np.float32(1e-9)
    rows: npt.NDArray[np.int8] = np.round(vectors / largest * _MAX_INT8).astype(np.int8)
    return rows
