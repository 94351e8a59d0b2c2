"""Count the pairs of consecutively executed source lines ("edges") in Deltos. A higher count means new behaviour."""

from __future__ import annotations

import sys
from typing import Any, Protocol

from fuzz.oracle import SOURCE


class Edges(Protocol):
    """Protocol of an edge recorder, which accumulates the edges executed between `start` and `stop`."""

    def start(self) -> None:
        """Start recording."""

    def stop(self) -> None:
        """Stop recording."""

    def count(self) -> int:
        """Return the number of distinct edges so far."""


def edge_recorder() -> Edges:
    """Return the fastest recorder that this Python version supports."""
    return MonitoredEdges() if sys.version_info >= (3, 12) else TracedEdges()


class TracedEdges:
    """Records edges with coverage.py's C tracer, which doubles the run time."""

    def __init__(self) -> None:
        from coverage.tracer import CFileDisposition, CTracer  # a development dependency with a private interface

        self._edges: dict[str, set[Any]] = {}
        self._dispositions: dict[str, Any] = {}
        self._new_disposition: Any = CFileDisposition
        self._tracer: Any = CTracer()
        self._tracer.data = self._edges
        self._tracer.trace_arcs = True
        self._tracer.should_trace = self._should_trace
        self._tracer.should_trace_cache = self._dispositions
        self._tracer.should_start_context = None
        self._tracer.switch_context = None
        self._tracer.lock_data = self._tracer.unlock_data = lambda: None
        self._tracer.warn = lambda *_args, **_more: None
        self._tracer.concur_id_func = None
        self._tracer.disable_plugin = lambda *_args: None
        self._former: Any = None

    def start(self) -> None:
        """Start recording."""
        self._former = sys.gettrace()
        self._tracer.start()

    def stop(self) -> None:
        """Stop recording and restore the previous tracer."""
        self._tracer.stop()
        # Otherwise, the return from this function would call the tracer, and Python would then switch off all tracing.
        del sys._getframe().f_trace  # noqa: SLF001
        sys.settrace(self._former)

    def count(self) -> int:
        """Return the number of distinct edges so far."""
        return sum(map(len, self._edges.values()))

    def _should_trace(self, filename: str, _frame: object) -> Any:
        disposition = self._new_disposition()
        disposition.original_filename = disposition.canonical_filename = disposition.source_filename = filename
        disposition.trace = filename.startswith(SOURCE)
        disposition.reason = ""
        disposition.file_tracer = None
        disposition.has_dynamic_filename = False
        return disposition


class MonitoredEdges:
    """Records executed lines and branches with `sys.monitoring`.

    Each line or branch is reported only once, so it has no cost afterwards.
    """

    _TOOL = 4

    def __init__(self) -> None:
        self._monitoring: Any = getattr(sys, "monitoring")  # noqa: B009 (Python 3.12; the checker knows 3.11)
        self._seen = 0
        events = self._monitoring.events
        self._events = events.LINE | events.BRANCH
        self._monitoring.use_tool_id(self._TOOL, "fuzz")
        self._monitoring.register_callback(self._TOOL, events.LINE, self._record_line)
        self._monitoring.register_callback(self._TOOL, events.BRANCH, self._record_branch)
        self._branches: set[tuple[Any, int, int]] = set()

    def start(self) -> None:
        """Start recording."""
        self._monitoring.set_events(self._TOOL, self._events)

    def stop(self) -> None:
        """Stop recording."""
        self._monitoring.set_events(self._TOOL, 0)

    def count(self) -> int:
        """Return the number of distinct edges so far."""
        return self._seen + len(self._branches)

    def _record_line(self, code: Any, _line: int) -> Any:
        self._seen += code.co_filename.startswith(SOURCE)
        return self._monitoring.DISABLE

    def _record_branch(self, code: Any, start: int, end: int) -> Any:
        if not code.co_filename.startswith(SOURCE):
            return self._monitoring.DISABLE
        self._branches.add((code, start, end))
        return None
