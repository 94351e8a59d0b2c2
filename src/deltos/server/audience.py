"""Which clients hand the model an answer's data instead of its text: they get the text alone.

docs/clients.md has the versions and how it was learned.
"""

from __future__ import annotations

# The names under which they introduce themselves (`clientInfo`).
_SHOW_DATA_ONLY = frozenset({"claude-code", "codex-mcp-client"})


def gets_data(client_name: str) -> bool:
    """Whether a client gets structured answers beside the text; those that would drop the text for them do not."""
    return client_name not in _SHOW_DATA_ONLY
