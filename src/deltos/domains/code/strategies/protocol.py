"""The interface of search strategies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from deltos.domains.code.model import CodeAnswer
    from deltos.domains.code.query.parse import CodeQuery
    from deltos.domains.code.selection import SearchSelection


class Strategy(Protocol):
    """A strategy that answers one kind of query."""

    def applies(self, query: CodeQuery) -> bool:
        """Whether the strategy can answer this kind of query."""

    def search(self, query: CodeQuery, selection: SearchSelection) -> CodeAnswer | None:
        """Return the answer, or None if the strategy finds nothing and another one should be tried."""
