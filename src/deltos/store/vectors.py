"""Protocol and row types of embedding vectors. Each vector is stored with the name of the embedding model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A record without a vector of the requested embedding model. `words` is empty if no index words are stored."""

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
        """Return up to `limit` records with keys above `after` that have no vector of `model`, ordered by key."""

    def write(self, model: str, vectors: Iterable[tuple[int, bytes]]) -> None:
        """Store vectors by key, replacing older vectors. Keys of deleted records are ignored."""

    def since(self, model: str, number: int) -> list[StoredVector]:
        """Return the vectors of a model that were written after the write with this number."""

    def count(self, model: str) -> int:
        """Return the number of vectors of a model."""

    def numbers(self, model: str) -> set[int]:
        """Return the numbers of all writes of vectors of an embedding model."""
