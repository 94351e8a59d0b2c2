"""What an agent said last, out of the session file that its hook names: Copilot CLI's hook of a turn's end does not
tell it. Reads the end of the file alone: hooks run it."""

from __future__ import annotations

import json
from pathlib import Path

from deltos.domains.memory.transcripts.copilot import answer_in
from deltos.errors import FileRefused
from deltos.files import FileTree

_END_BYTES = 131_072
_MOST_LINES = 60  # back from the end of a turn; each is parsed


def last_answer(path: str) -> str:
    """The last words of the main agent at the end of a session file; empty where there are none to be read."""
    file = Path(path)
    if not file.is_absolute() or file.suffix != ".jsonl" or "\0" in path:
        return ""
    try:
        with FileTree(file.parent) as tree:
            end = tree.read_tail(file.name, _END_BYTES)
    except (FileRefused, OSError, ValueError):
        return ""
    for line in reversed(end.split(b"\n")[-_MOST_LINES:]):
        if b'"user.message"' in line:  # nothing was said since
            return ""
        if b'"assistant.message"' in line and (said := _answer(line)):
            return said
    return ""


def _answer(line: bytes) -> str:
    try:
        record = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return ""
    return answer_in(record) if isinstance(record, dict) else ""
