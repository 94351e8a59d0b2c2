"""Read the last message of Copilot CLI from the session file, because its end-of-turn hook does not send the message.

Only the end of the file is read, because the agent waits for the hook. The format of
`~/.copilot/session-state/SESSION/events.jsonl` is defined by schemas/session-events.schema.json in @github/copilot
1.0.40.
"""

from __future__ import annotations

import json
from pathlib import Path

from deltos.errors import FileRefused
from deltos.files import FileTree

_MAX_TAIL_BYTES = 131_072
_MAX_PARSED_LINES = 60  # maximum number of lines parsed, from the end of the file


def last_answer(path: str) -> str:
    """Return the last message of the main agent in a session file, or an empty string if there is none."""
    file = Path(path)
    if not file.is_absolute() or file.suffix != ".jsonl" or "\0" in path:
        return ""
    try:
        with FileTree(file.parent) as tree:
            end = tree.read_tail(file.name, _MAX_TAIL_BYTES)
    except (FileRefused, OSError, ValueError):
        return ""
    for line in reversed(end.split(b"\n")[-_MAX_PARSED_LINES:]):
        if b'"user.message"' in line:  # the agent has not answered this prompt yet
            return ""
        if b'"assistant.message"' in line and (text := _message_in(line)):
            return text
    return ""


def _message_in(line: bytes) -> str:
    """Return the message of the main agent in a line of the session file, or an empty string."""
    try:
        record = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return ""
    data = record.get("data") if isinstance(record, dict) else None
    if not isinstance(data, dict) or record.get("type") != "assistant.message":
        return ""
    content = data.get("content")
    is_of_sub_agent = record.get("agentId") or data.get("parentToolCallId")
    return content.strip() if isinstance(content, str) and not is_of_sub_agent else ""
