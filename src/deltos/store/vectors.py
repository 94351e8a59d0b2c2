"""Protocol and row types of embedding vectors, which are stored with their model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A record without a vector of the requested model. `words` is empty if no index words are stored."""

    key: int
    text: str
    words: str


@dataclass(frozen=True, slots=True)
class StoredVector:
    """One vector. `number` increases with every write, so that readers can fetch only new vectors."""

    number: int
    key: int
    data: bytes


class VectorRecords(Protocol):
    """Embedding vectors of one kind of record. Deleting a record deletes the vector."""

    def unembedded(self, model: str, *, after: int, limit: int) -> list[Unembedded]:
        """Return records after key `after` that have no vector of `model`, ordered by key."""

    def write(self, model: str, vectors: Iterable[tuple[int, bytes]]) -> None:
        """Store vectors by key, replacing older vectors. Keys of deleted records are ignored."""

    def since(self, model: str, number: int) -> list[StoredVector]:
        """Return the vectors of a model that were written after write number `number`."""

    def count(self, model: str) -> int:
        """Return the number of vectors of a model."""

    def numbers(self, model: str) -> set[int]:
        """Return the write numbers of all vectors of a model."""
