"""What is kept of API descriptions. Bodies are opaque bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class ApiRow:
    """One API."""

    name: str
    source_name: str
    source: str
    citation: str
    overview: bytes
    operations: int
    schemas: int
    webhooks: int
    warnings: bytes
    indexed_at: float
    id: int = 0


class UnreadRow(NamedTuple):
    """A document of a source that is not in the index, and why."""

    source: str
    document: str
    reason: str


class WordsRow(NamedTuple):
    """What a unit is found by; names weigh most."""

    names: str = ""
    title: str = ""
    tags: str = ""
    description: str = ""
    details: str = ""


class UnitRow(NamedTuple):
    """One part of an API as lists show it. Without words it is found by its pointer only."""

    kind: str
    key: str
    pointer: str
    title: str = ""
    grouping: str = ""
    method: str = ""
    path: str = ""
    tags: bytes = b"[]"
    deprecated: bool = False
    id: int = 0


class NewUnit(NamedTuple):
    """A unit on its way into the store."""

    row: UnitRow
    body: bytes
    words: WordsRow | None


@dataclass(frozen=True, slots=True)
class FoundUnit:
    """A unit that shares words with a question; a higher score is better."""

    row: UnitRow
    api_name: str
    words: WordsRow
    score: float
