"""Counts what the server does and writes it as Prometheus text. Knows no HTTP and no MCP."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

Labels = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Histogram:
    """How long something took, in fixed steps."""

    steps: list[int] = field(default_factory=lambda: [0] * (len(_BOUNDS_SECONDS) + 1))
    total_seconds: float = 0.0

    def observe(self, seconds: float) -> None:
        """Count one duration."""
        self.steps[bisect_left(_BOUNDS_SECONDS, seconds)] += 1
        self.total_seconds += seconds


class Metrics:
    """Counters, durations and gauges by name and labels."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._help: dict[str, str] = {}
        self._counters: Counter[tuple[str, Labels]] = Counter()
        self._histograms: dict[tuple[str, Labels], Histogram] = {}
        self._gauges: dict[str, Callable[[], float]] = {}

    def describe(self, name: str, text: str) -> None:
        """Say what a metric means."""
        self._help[name] = text

    def count(self, name: str, /, **labels: str) -> None:
        """One more."""
        with self._lock:
            self._counters[name, tuple(labels.items())] += 1

    def observe(self, name: str, seconds: float, /, **labels: str) -> None:
        """One more, which took so long."""
        with self._lock:
            self._histograms.setdefault((name, tuple(labels.items())), Histogram()).observe(seconds)

    def gauge(self, name: str, read: Callable[[], float]) -> None:
        """A value that is read when somebody asks."""
        self._gauges[name] = read

    def text(self) -> str:
        """Everything, as Prometheus reads it."""
        with self._lock:
            return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        for name in sorted({name for name, _ in self._counters}):
            yield from self._head(name, "counter")
            for (other, labels), value in sorted(self._counters.items()):
                if other == name:
                    yield f"{name}{_shown(labels)} {value}"
        for name in sorted({name for name, _ in self._histograms}):
            yield from self._head(name, "histogram")
            for (other, labels), histogram in sorted(self._histograms.items(), key=lambda item: item[0]):
                if other == name:
                    yield from _histogram_lines(name, labels, histogram)
        for name, read in sorted(self._gauges.items()):
            yield from self._head(name, "gauge")
            yield f"{name} {read():g}"

    def _head(self, name: str, kind: str) -> Iterator[str]:
        if text := self._help.get(name):
            yield f"# HELP {name} {text}"
        yield f"# TYPE {name} {kind}"


def _histogram_lines(name: str, labels: Labels, histogram: Histogram) -> Iterator[str]:
    seen = 0
    for bound, step in zip((*map(str, _BOUNDS_SECONDS), "+Inf"), histogram.steps, strict=True):
        seen += step
        yield f"{name}_bucket{_shown((*labels, ('le', bound)))} {seen}"
    yield f"{name}_sum{_shown(labels)} {histogram.total_seconds:.6f}"
    yield f"{name}_count{_shown(labels)} {seen}"


def _shown(labels: Labels) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels) + "}" if labels else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
