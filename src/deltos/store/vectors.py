"""Vectors beside what they stand for, each with the model that made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A thing without a vector of the wanted model; `words` is empty where its index words are not kept."""

    key: int
    text: str
    words: str


@dataclass(frozen=True, slots=True)
class StoredVector:
    """One vector; `number` grows with every write, so that readers can ask for what is new."""

    number: int
    key: int
    data: bytes


class VectorRecords(Protocol):
    """The vectors of one kind of thing. A thing that goes takes its vector along."""

    def unembedded(self, model: str, *, after: int, limit: int, instead: str = "") -> list[Unembedded]:
        """Things that have no vector of this model, nor of the one `instead`, by key, from the first after that key."""

    def claim(self) -> AbstractContextManager[bool]:
        """Whether this process is the one that makes them now; held until the block ends or the process dies."""

    def write(self, model: str, vectors: Iterable[tuple[int, bytes]]) -> None:
        """Put vectors beside their things; older ones of the same things go, things that are gone get none."""

    def since(self, model: str, number: int) -> list[StoredVector]:
        """The vectors of a model that were written after the one with that number."""

    def count(self, model: str) -> int:
        """How many vectors of a model there are."""

    def numbers(self, model: str) -> set[int]:
        """The numbers of all vectors of a model."""
