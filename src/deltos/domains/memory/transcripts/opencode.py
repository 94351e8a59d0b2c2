"""Sessions of OpenCode: the tables `session`, `message` and `part` of `~/.local/share/opencode/opencode.db`.

The format was learned from opencode-linux-x64 1.18.33 (CREATE TABLE statements of its binary) and @opencode-ai/sdk
1.19.3: dist/gen/types.gen.d.ts.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

from deltos.domains.memory.transcripts.events import Record, TranscriptEvent, nested, text_field
from deltos.text.times import iso

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_ROWS = 2_000_000  # sessions or messages; larger files are not valid
_MAX_MILLISECOND = 253_402_300_799_000  # end of the year 9999


class OpenCodeTables(Protocol):
    """Access to the tables of an OpenCode database."""

    def rows(self, table: str) -> Iterator[dict[str, object]]:
        """Yield the rows of a table; none if the table does not exist."""


def events_in(tables: OpenCodeTables) -> Iterator[TranscriptEvent]:
    """Yield the events of all sessions in a database, in the order in which they were written."""
    folders = _folders(tables)
    messages = _messages(tables)
    for row in tables.rows("part"):
        message = messages.get(_id(row, "message_id"))
        folder = folders.get(_id(row, "session_id"))
        if message is not None and folder is not None:
            yield from _read_part(row, message, folder)


def _folders(tables: OpenCodeTables) -> dict[str, str]:
    """Return the folder of each session that does not belong to a sub-agent."""
    found: dict[str, str] = {}
    for row in tables.rows("session"):
        if not row.get("parent_id") and len(found) < _MAX_ROWS:
            found[_id(row, "id")] = _id(row, "directory")
    return found


def _messages(tables: OpenCodeTables) -> dict[str, tuple[str, bool]]:
    """Return the role of each message's author, and whether the message is a summary of compacted history."""
    found: dict[str, tuple[str, bool]] = {}
    for row in tables.rows("message"):
        data = _json(row.get("data"))
        if len(found) < _MAX_ROWS:
            found[_id(row, "id")] = (text_field(data, "role"), data.get("summary") is True)
    return found


def _read_part(row: dict[str, object], message: tuple[str, bool], folder: str) -> Iterator[TranscriptEvent]:
    """Yield the event of one part of a message."""
    role, is_summary = message
    data = _json(row.get("data"))
    text = text_field(data, "text")
    match data.get("type"):
        case "text" if text.strip() and not data.get("synthetic") and not data.get("ignored"):
            if role == "user":
                yield _event("chat.message", row, folder, prompt=text)
            elif is_summary:
                yield _event("postCompact", row, folder, summary=text)
            else:
                yield _event("experimental.text.complete", row, folder, text=text)
        case "tool":
            yield from _read_tool(row, data, folder)


def _read_tool(row: dict[str, object], data: Record, folder: str) -> Iterator[TranscriptEvent]:
    state = nested(data, "state")
    tool_fields = {
        "tool": text_field(data, "tool"),
        "callID": text_field(data, "callID"),
        "args": nested(state, "input"),
    }
    match state.get("status"):
        case "completed":
            names = ("title", "output", "metadata")
            yield _event(
                "tool.execute.after", row, folder, **tool_fields, output={name: state.get(name) for name in names}
            )
        case "error":
            error = text_field(state, "error")
            yield _event("tool.execute.after", row, folder, **tool_fields, output={"output": error, "error": error})


def _event(event_name: str, row: dict[str, object], folder: str, **fields: Any) -> TranscriptEvent:
    event_fields = {"sessionID": _id(row, "session_id"), "directory": folder, **fields}
    created = row.get("time_created")
    is_time = isinstance(created, int) and 0 < created < _MAX_MILLISECOND
    at = iso(created * 1_000) if is_time and isinstance(created, int) else ""
    return TranscriptEvent(event_name, event_fields, f"part:{_id(row, 'id')}", at)


def _id(row: dict[str, object], name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _json(value: object) -> Record:
    try:
        data = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
