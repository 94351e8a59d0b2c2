"""Structured logs: a JSON object a line for each request, each call of a tool, and whatever modules log.

No line has an argument of a call, a token, a query string or the text of an exception, which may quote them.
"""

from __future__ import annotations

import json
import logging
import threading
import traceback
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType
    from typing import TextIO

_OWN = "deltos."  # messages of other loggers may quote what came in
_MOST_FRAMES = 20


class EventLog:
    """Writes lines of JSON; any thread may."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._writing = threading.Lock()

    def write(self, event: str, level: str = "info", **facts: object) -> None:
        """One line; who reads it no more is not waited for."""
        line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "level": level, "event": event, **facts}
        try:
            with self._writing:
                self._stream.write(json.dumps(line, default=str) + "\n")
                self._stream.flush()
        except (OSError, ValueError):  # closed: nobody reads
            return

    def take_over_logging(self) -> None:
        """Write what any module logs from now on, warnings and worse."""
        root = logging.getLogger()
        root.addHandler(_Records(self))
        root.setLevel(logging.WARNING)


class _Records(logging.Handler):
    def __init__(self, log: EventLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        facts: dict[str, object] = {"logger": record.name, "at": f"{record.filename}:{record.lineno}"}
        if record.name.startswith(_OWN) and not record.exc_info:
            facts["message"] = record.getMessage()
        if record.exc_info and record.exc_info[0]:
            facts |= {"error": record.exc_info[0].__name__, "frames": _frames(record.exc_info[2])}
        self._log.write("log", record.levelname.lower(), **facts)


def _frames(where: TracebackType | None) -> list[str]:
    """Where an exception came from, innermost last; code, never values."""
    rows = traceback.extract_tb(where)[-_MOST_FRAMES:]
    return [f"{row.filename.rpartition('deltos/')[2]}:{row.lineno} {row.name}" for row in rows]
