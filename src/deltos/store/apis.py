"""What is kept of API descriptions. Bodies are opaque bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager


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


class ApiDescriptions(Protocol):
    """API descriptions: their units, and how those are found."""

    def snapshot(self) -> AbstractContextManager[object]:
        """Several reads that see one state, whatever is replaced meanwhile."""

    def replace(self, api: ApiRow, units: Iterable[NewUnit]) -> None:
        """Put an API in place of the one of the same name, all at once."""

    def remove(self, name: str) -> bool:
        """Forget an API; tells whether there was one."""

    def replace_unread(self, source: str, rows: Iterable[UnreadRow]) -> None:
        """Record which documents of a source could not be read, in place of those recorded before."""

    def unread(self) -> list[UnreadRow]:
        """Every document that could not be read, by source."""

    def apis(self) -> list[ApiRow]:
        """All APIs by name."""

    def api(self, name: str) -> ApiRow | None:
        """The API of that name, whatever its case."""

    def of_source(self, source_name: str) -> list[ApiRow]:
        """The APIs that came from one source."""

    def units(self, api_id: int, kinds: Sequence[str]) -> list[UnitRow]:
        """The units of some kinds, in the order of the document."""

    def unit_ids(self, api_id: int) -> list[int]:
        """The ids of all units of an API."""

    def overview_ids(self) -> dict[str, int]:
        """The unit that stands for each API as a whole, by the API's name."""

    def unit(self, api_id: int, key: str) -> UnitRow | None:
        """The unit of that key."""

    def body(self, unit_id: int) -> bytes:
        """What the domain stored with a unit."""

    def bodies(self, api_id: int) -> list[tuple[str, bytes]]:
        """Key and body of everything that can be called, in the order of the document."""

    def target(self, api_id: int, pointer: str) -> bytes | None:
        """The body at the target of a reference: a schema or a fragment."""

    def search(
        self,
        words: tuple[str, ...],
        weights: Sequence[float],
        *,
        api_id: int | None,
        kinds: Sequence[str],
        limit: int,
        without: Sequence[int] = (),
    ) -> list[FoundUnit]:
        """The units that best match any of the words, with a weight per field, `without` those of some APIs."""

    def found(
        self, unit_ids: Sequence[int], *, api_id: int | None, kinds: Sequence[str], without: Sequence[int] = ()
    ) -> list[FoundUnit]:
        """Some units, in that order, as far as they are of that API and of those kinds; their score is 0."""

    def document_frequencies(self, stems: Sequence[str]) -> dict[str, int]:
        """In how many units each stem occurs."""

    def count_searchable(self, api_id: int | None = None) -> int:
        """How many units can be found by words."""
