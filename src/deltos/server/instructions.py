"""What the server tells an agent about itself: which tool answers what. Light, as start-up waits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

_OPENING = (
    "Deltos answers from a local index of this project; ask it before reading files one by one. "
    "Answers fit a token budget; what was shown once is later only named by its id."
)
_BY_TOOLSET = {
    "memory": (
        "Not sure where? `search` covers all of this at once; `fetch` shows the whole behind an id. "
        "Search before deciding again; `remember` decisions, findings and preferences."
    ),
    "code": "Code by meaning, name or pattern: `search_code`.",
    "graph": (
        "A symbol: `find_symbol` (where), `find_references` (who uses it), `get_impact` (what breaks), "
        "`get_context` (everything around it)."
    ),
    "docs": "How-to and reference: `search_docs`, with citations; `add_source` indexes a site, folder or pypi:NAME.",
    "apis": "Endpoints and schemas: `get_api_endpoints`.",
}


def instructions(toolsets: Collection[str]) -> str:
    """The `instructions` of a server that offers `toolsets`."""
    return "\n".join([_OPENING, *(text for name, text in _BY_TOOLSET.items() if name in toolsets)])
