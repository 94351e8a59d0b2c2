"""Protocol of the library: documentation and API descriptions, shared by all projects of a data folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from deltos.store.documents import Documents

if TYPE_CHECKING:
    from deltos.store.apis import ApiDescriptions
    from deltos.store.unreadable_content import UnreadableContent
    from deltos.store.vectors import VectorRecords


class LibraryStore(Documents, Protocol):
    """Store of documentation and API descriptions."""

    @property
    def apis(self) -> ApiDescriptions:
        """API descriptions."""

    @property
    def api_vectors(self) -> VectorRecords:
        """Embedding vectors of the units of APIs (such as operations), by unit id."""

    @property
    def unreadable_content(self) -> UnreadableContent:
        """Record of the file contents that could not be parsed within the limits, by content digest."""

    def close(self) -> None:
        """Close the store."""
