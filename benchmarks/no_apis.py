"""A catalog without API descriptions, for benchmarks that measure only documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.domains.docs.model import FoundDescription, Passage


class NoApis:
    """Implements `ApiCatalog` without any APIs."""

    is_behind = False

    def recognises(self, _data: bytes, /) -> bool:
        """Return False."""
        return False

    def add(self, _description: FoundDescription, /) -> str:
        """Ignore the description."""
        return ""

    def search(self, _query: str, /, **_: object) -> list[Passage]:
        """Return an empty list."""
        return []

    def mentioned_apis(self, _question: str, _roots: Sequence[Path], /) -> tuple[str, ...]:
        """Return no APIs."""
        return ()

    def freshen(self, _api_name: str, /) -> tuple[str, ...]:
        """Return an empty list: there are no notes."""
        return ()

    def description_lines(self, _roots: Sequence[Path] = (), /) -> dict[str, str]:
        """Return no APIs."""
        return {}

    def share(self, _source_id: str, _projects: Sequence[str], /) -> None:
        """Do nothing."""

    def versions(self) -> dict[str, str]:
        """Return an empty result: there are no versions."""
        return {}

    def refresh(self, _name: str, /) -> str:
        """Return an empty text."""
        return ""

    def remove(self, _name: str, /) -> str:
        """Return an empty text."""
        return ""

    def apis_of_source(self, _source_id: str, /) -> tuple[str, ...]:
        """Return no APIs."""
        return ()

    def remove_apis_of_source(self, _source_id: str, /) -> None:
        """Do nothing."""
