"""The `instructions` that the server sends to agents: which tool answers which question.

This module has no slow imports, because it is needed for the first answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

_OPENING_SENTENCE = "A local index."
_SENTENCES_BY_TOOLSET = {
    "code": "How, where, why in code: `explore`: current source; shown code is later only named. "
    "Only places: `search_code`.",
    "graph": "All uses of a name: `find_references`; a symbol with its callers: `get_context`.",
    "memory": "Why, when, or not sure where: `search`, then `fetch`. `remember` what later sessions need.",
    "docs": "A library's use: `search_docs`.",
    "apis": "Endpoints: `get_api_endpoints`.",
}
_CLOSING_SENTENCE = "One known string: grep."
_LEAN_TOOLSETS = ("code", "graph", "memory")


def instructions(toolsets: Collection[str], *, lean: bool = False) -> str:
    """Return the `instructions` of a server with `toolsets`. If `lean` is true, describe only the lean profile."""
    described = [name for name in _SENTENCES_BY_TOOLSET if name in toolsets and (not lean or name in _LEAN_TOOLSETS)]
    closing = [_CLOSING_SENTENCE] if "code" in toolsets else []
    return " ".join([_OPENING_SENTENCE, *(_SENTENCES_BY_TOOLSET[name] for name in described), *closing])
