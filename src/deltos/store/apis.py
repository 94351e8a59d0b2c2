"""Protocol and row types of API descriptions. A unit is one operation, webhook, schema or fragment of a description."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager


@dataclass(frozen=True, slots=True)
class ApiRow:
    """One API with its documentation source, an overview, and the numbers of operations, schemas and webhooks."""

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
    projects: str = '["*"]'  # JSON list of the root folders of projects that can use the API; `*` means all projects
    id: int = 0


class UnreadableDocument(NamedTuple):
    """A document of a source that could not be indexed, with the reason."""

    source: str
    document: str
    reason: str


class UnitWords(NamedTuple):
    """Words under which a unit of an API is indexed, by field."""

    names: str = ""
    title: str = ""
    tags: str = ""
    description: str = ""
    details: str = ""


class UnitRow(NamedTuple):
    """A unit of an API: operation, schema, webhook, or a fragment that a `$ref` points to.

    A unit without index words can be found only by its JSON pointer.
    """

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
    """A unit of an API (such as an operation) to store, with its encoded content and index words."""

    row: UnitRow
    body: bytes
    words: UnitWords | None


@dataclass(frozen=True, slots=True)
class UnitMatch:
    """A unit of an API (such as an operation) that matches a query. A higher score is better."""

    row: UnitRow
    api_name: str
    words: UnitWords
    score: float


class ApiDescriptions(Protocol):
    """Store of API descriptions, and search over their units (operations, webhooks and schemas)."""

    def snapshot(self) -> AbstractContextManager[object]:
        """Return a context manager within which all reads see the same state."""

    def replace(self, api: ApiRow, units: Iterable[NewUnit]) -> None:
        """Store an API with all its units. An existing API with the same name is replaced."""

    def remove(self, name: str) -> bool:
        """Delete the API with this name, and return whether it existed."""

    def replace_unreadable(self, source: str, rows: Iterable[UnreadableDocument]) -> None:
        """Replace the recorded list of the documents of a source that could not be indexed."""

    def unreadable_documents(self) -> list[UnreadableDocument]:
        """Return the documents that could not be indexed, ordered by source."""

    def apis(self) -> list[ApiRow]:
        """Return all APIs, ordered by name."""

    def api(self, name: str) -> ApiRow | None:
        """Return the API with this name, ignoring case, or None."""

    def apis_of_source(self, source_name: str) -> list[ApiRow]:
        """Return the APIs of one source."""

    def set_projects(self, source_name: str, projects: str) -> None:
        """Record which projects may use the APIs of a source. `projects` is a JSON list of root folders."""

    def units(self, api_id: int, kinds: Sequence[str]) -> list[UnitRow]:
        """Return the operations, schemas and other units of the given kinds, in document order."""

    def unit_ids(self, api_id: int) -> list[int]:
        """Return the ids of all units (operations, webhooks, schemas and fragments) of an API."""

    def overview_ids(self) -> dict[str, int]:
        """Return the id of the unit that contains the overview of each API, by API name."""

    def unit(self, api_id: int, key: str) -> UnitRow | None:
        """Return the unit (such as an operation or schema) of an API with this key, or None."""

    def body(self, unit_id: int) -> bytes:
        """Return the encoded content of a unit, such as an operation or schema."""

    def target(self, api_id: int, pointer: str) -> bytes | None:
        """Return the encoded content of the schema, message or fragment that a `$ref` points to."""

    def search(
        self,
        words: tuple[str, ...],
        weights: Sequence[float],
        *,
        api_id: int | None,
        kinds: Sequence[str],
        limit: int,
        excluded_apis: Sequence[int] = (),
    ) -> list[UnitMatch]:
        """Return the units (such as operations) that best match any of the words.

        `weights` contains a weight per field; 0 excludes a field. `excluded_apis` contains the ids of APIs to skip.
        """

    def units_by_id(
        self, unit_ids: Sequence[int], *, api_id: int | None, kinds: Sequence[str], excluded_apis: Sequence[int] = ()
    ) -> list[UnitMatch]:
        """Return the units with these ids as matches with score 0, in the given order, filtered as in `search`."""

    def document_frequencies(self, stems: Sequence[str]) -> dict[str, int]:
        """Return the number of units (such as operations) that contain each word stem."""

    def count_searchable(self, api_id: int | None = None) -> int:
        """Return the number of units (such as operations) that have index words."""
