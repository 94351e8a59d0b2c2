"""Vectors beside what they stand for, each with the model that made it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A thing without a vector of the wanted model."""

    key: int
    text: str
    words: str


@dataclass(frozen=True, slots=True)
class StoredVector:
    """One vector; `number` grows with every write, so that readers can ask for what is new."""

    number: int
    key: int
    data: bytes
