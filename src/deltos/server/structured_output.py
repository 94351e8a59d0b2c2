"""Decides which clients receive structured content in addition to text.

Some clients show the model only the structured content of an answer and drop its text, so they receive only text.
docs/clients.md lists the tested versions.
"""

from __future__ import annotations

# Values of `clientInfo.name`.
_CLIENTS_THAT_DROP_TEXT = frozenset({"claude-code", "codex-mcp-client"})


def wants_structured_content(client_name: str) -> bool:
    """Whether to send structured content to the client `client_name` in addition to the text."""
    return client_name not in _CLIENTS_THAT_DROP_TEXT
