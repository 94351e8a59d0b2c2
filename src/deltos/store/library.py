"""The library: documentation and API descriptions, which a whole data folder shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from deltos.store.documents import Documents

if TYPE_CHECKING:
    from deltos.store.apis import ApiDescriptions
    from deltos.store.stopped import StoppedReadings
    from deltos.store.vectors import VectorRecords


class LibraryStore(Documents, Protocol):
    """What the documentation and the API domain share."""

    @property
    def apis(self) -> ApiDescriptions:
        """API descriptions."""

    @property
    def api_vectors(self) -> VectorRecords:
        """The vectors of units of APIs, by their ids."""

    @property
    def stopped(self) -> StoppedReadings:
        """What could not be read within its limits."""

    def close(self) -> None:
        """Let go of it."""
