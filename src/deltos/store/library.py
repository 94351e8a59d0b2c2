"""The library: documentation and API descriptions, which a whole data folder shares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from deltos.store.documents import Documents

if TYPE_CHECKING:
    from deltos.store.apis import ApiDescriptions
    from deltos.store.stopped import StoppedReadings


class LibraryStore(Documents, Protocol):
    """What the documentation and the API domain share."""

    @property
    def apis(self) -> ApiDescriptions:
        """API descriptions."""

    @property
    def stopped(self) -> StoppedReadings:
        """What could not be read within its limits."""

    def close(self) -> None:
        """Let go of it."""
