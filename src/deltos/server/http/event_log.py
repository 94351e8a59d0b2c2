"""Structured log: one JSON object per line for each request, tool call and log record.

Lines never contain call arguments, tokens or query strings, or exception texts that may quote them. Messages of
the connection pool contain the database's address and user, but not the password.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import traceback
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType
    from typing import TextIO

_TRUSTED_LOGGERS = ("deltos.", "psycopg.pool")  # messages of other loggers may quote requests
_MESSAGE_PREFIX = "deltos mcp: "
_MAX_FRAMES = 20


class EventLog:
    """Thread-safe writer of JSON lines."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._writing = threading.Lock()

    def write(self, event: str, level: str = "info", **facts: object) -> None:
        """Write one line. Do nothing if the stream is closed."""
        line = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "level": level, "event": event, **facts}
        try:
            with self._writing:
                self._stream.write(json.dumps(line, default=str) + "\n")
                self._stream.flush()
        except (OSError, ValueError):  # the stream is closed
            return

    def capture_logging(self) -> None:
        """Write warnings and errors from all loggers, and uncaught exceptions, to this log."""
        root = logging.getLogger()
        root.addHandler(_LogHandler(self))
        root.setLevel(logging.WARNING)
        logging.captureWarnings(True)
        sys.excepthook = _log_uncaught
        threading.excepthook = lambda hook: _log_uncaught(hook.exc_type, hook.exc_value, hook.exc_traceback)


def open_event_log(log_format: str) -> EventLog | None:
    """Return a logger that writes the messages of all loggers to standard error, or None if the format is `text`."""
    if log_format != "json":
        return None
    log = EventLog(sys.stderr)
    log.capture_logging()
    return log


def _log_uncaught(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    logging.getLogger("deltos.server").error("uncaught error", exc_info=(kind, error or kind(), trace))


class _LogHandler(logging.Handler):
    def __init__(self, log: EventLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        facts: dict[str, object] = {"logger": record.name, "at": f"{record.filename}:{record.lineno}"}
        if record.name.startswith(_TRUSTED_LOGGERS) and not record.exc_info:
            facts["message"] = record.getMessage().removeprefix(_MESSAGE_PREFIX)
        if record.exc_info and record.exc_info[0]:
            facts |= {"error": record.exc_info[0].__name__, "frames": _code_locations(record.exc_info[2])}
        self._log.write("log", record.levelname.lower(), **facts)


def _code_locations(trace: TracebackType | None) -> list[str]:
    """Return the code locations in a traceback, innermost last, without source lines or values."""
    rows = traceback.extract_tb(trace)[-_MAX_FRAMES:]
    return [f"{row.filename.rpartition('deltos/')[2]}:{row.lineno} {row.name}" for row in rows]
