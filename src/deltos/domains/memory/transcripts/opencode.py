"""OpenCode's sessions: the tables `session`, `message` and `part` of `~/.local/share/opencode/opencode.db`. Learned
from opencode-linux-x64 1.18.33 (its binary's CREATE TABLE) and @opencode-ai/sdk 1.19.3: dist/gen/types.gen.d.ts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

from deltos.domains.memory.transcripts.told import Record, Told, inside, word
from deltos.text.times import iso

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_ROWS = 2_000_000  # sessions or messages; a file with more is none of OpenCode's
_LAST_MILLISECOND = 253_402_300_799_000  # of the year 9999


class Tables(Protocol):
    """Gives the rows of tables by name."""

    def rows(self, table: str) -> Iterator[dict[str, object]]:
        """The rows of a table; none where there is no such table."""


def events_in(tables: Tables) -> Iterator[Told]:
    """What the sessions of a database tell, in the order in which it was written."""
    folders = _folders(tables)
    messages = _messages(tables)
    for row in tables.rows("part"):
        message = messages.get(_id(row, "message_id"))
        folder = folders.get(_id(row, "session_id"))
        if message is not None and folder is not None:
            yield from _read_part(row, message, folder)


def _folders(tables: Tables) -> dict[str, str]:
    """The folder of each session that is no sub-agent's."""
    found: dict[str, str] = {}
    for row in tables.rows("session"):
        if not row.get("parent_id") and len(found) < _MOST_ROWS:
            found[_id(row, "id")] = _id(row, "directory")
    return found


def _messages(tables: Tables) -> dict[str, tuple[str, bool]]:
    """Who wrote each message, and whether it sums up what was compacted."""
    found: dict[str, tuple[str, bool]] = {}
    for row in tables.rows("message"):
        data = _json(row.get("data"))
        if len(found) < _MOST_ROWS:
            found[_id(row, "id")] = (word(data, "role"), data.get("summary") is True)
    return found


def _read_part(row: dict[str, object], message: tuple[str, bool], folder: str) -> Iterator[Told]:
    role, is_summary = message
    data = _json(row.get("data"))
    said = word(data, "text")
    match data.get("type"):
        case "text" if said.strip() and not data.get("synthetic") and not data.get("ignored"):
            if role == "user":
                yield _told("chat.message", row, folder, prompt=said)
            elif is_summary:
                yield _told("postCompact", row, folder, summary=said)
            else:
                yield _told("experimental.text.complete", row, folder, text=said)
        case "tool":
            yield from _read_tool(row, data, folder)


def _read_tool(row: dict[str, object], data: Record, folder: str) -> Iterator[Told]:
    state = inside(data, "state")
    used = {"tool": word(data, "tool"), "callID": word(data, "callID"), "args": inside(state, "input")}
    match state.get("status"):
        case "completed":
            names = ("title", "output", "metadata")
            yield _told("tool.execute.after", row, folder, **used, output={name: state.get(name) for name in names})
        case "error":
            error = word(state, "error")
            yield _told("tool.execute.after", row, folder, **used, output={"output": error, "error": error})


def _told(event_name: str, row: dict[str, object], folder: str, **fields: Any) -> Told:
    told = {"sessionID": _id(row, "session_id"), "directory": folder, **fields}
    created = row.get("time_created")
    is_time = isinstance(created, int) and 0 < created < _LAST_MILLISECOND
    at = iso(created * 1_000) if is_time and isinstance(created, int) else ""
    return Told(event_name, told, f"part:{_id(row, 'id')}", at)


def _id(row: dict[str, object], name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _json(value: object) -> Record:
    try:
        data = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
