"""What the server tells an agent about itself: which tool answers what. Light, as start-up waits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

_OPENING = (
    "Pinakes answers from a local index of this project. Ask it before reading files one by one: "
    "answers are ranked, fit a token budget, and name paths relative to the project root."
)
_BY_TOOLSET = {
    "docs": (
        "docs: search_docs finds the passage of documentation that answers, with its citation; add_source indexes a "
        "website, a folder, or installed packages (pypi:NAME, npm:NAME, deps:)."
    ),
    "apis": "apis: get_api_endpoints shows an API's operations, whole when few are left; list_apis names the APIs.",
    "code": (
        "code: search_code finds code by meaning, name or pattern and indexes on first use; "
        "set_working_directory switches project; index_repository re-indexes on demand."
    ),
    "memory": (
        "memory: search what earlier sessions learned before you decide again, then get_observations or timeline; "
        "remember decisions, findings and preferences."
    ),
}


def instructions(toolsets: Collection[str]) -> str:
    """The `instructions` of a server that offers `toolsets`."""
    return "\n".join([_OPENING, *(text for name, text in _BY_TOOLSET.items() if name in toolsets)])
