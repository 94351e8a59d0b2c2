"""Protocol of embedding vectors, stored with the model that made them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A record without a vector of the requested model; `words` is empty where index words are not stored."""

    key: int
    text: str
    words: str


@dataclass(frozen=True, slots=True)
class StoredVector:
    """One vector. `number` grows with every write, so that readers can fetch only new vectors."""

    number: int
    key: int
    data: bytes


class VectorRecords(Protocol):
    """The vectors of one kind of record. Deleting a record deletes its vector."""

    def unembedded(self, model: str, *, after: int, limit: int, instead: str = "") -> list[Unembedded]:
        """Return records by key that have a vector neither of `model` nor of `instead`, starting after key `after`."""

    def try_lock(self) -> AbstractContextManager[bool]:
        """Return a context that yields whether this process may embed now; the lock ends with the block or the
        process."""

    def write(self, model: str, vectors: Iterable[tuple[int, bytes]]) -> None:
        """Store vectors by key and replace older ones; keys of deleted records are ignored."""

    def since(self, model: str, number: int) -> list[StoredVector]:
        """Return the vectors of a model with a higher number."""

    def count(self, model: str) -> int:
        """Return the number of vectors of a model."""

    def numbers(self, model: str) -> set[int]:
        """Return the numbers of all vectors of a model."""
