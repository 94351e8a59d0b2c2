"""Prometheus metrics of the server. Independent of HTTP and MCP; the official client renders the text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deltos.store.pools import PoolUse

    ReadPool = Callable[[], PoolUse | None]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Metrics of one server process."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call] # would add an unused series for each counter
        self._registry = own = CollectorRegistry()
        request, tool = ["path", "method"], ["tool"]
        self._requests = Counter(
            "deltos_http_requests", "HTTP requests by path, method and status.", [*request, "status"], registry=own
        )
        self._first_byte = Histogram(
            "deltos_http_first_byte_seconds",
            "Time until a response began.",
            request,
            registry=own,
            buckets=_BOUNDS_SECONDS,
        )
        self._calls = Counter("deltos_tool_calls", "Tool calls by tool and outcome.", [*tool, "outcome"], registry=own)
        self._seconds = Histogram(
            "deltos_tool_seconds", "Duration of tool calls.", tool, registry=own, buckets=_BOUNDS_SECONDS
        )
        ProcessCollector(registry=own)

    def request(self, path: str, method: str, status: int, seconds: float) -> None:
        """Count a request; `seconds` is the time until its response began."""
        self._requests.labels(path, method, str(status)).inc()
        self._first_byte.labels(path, method).observe(seconds)

    def call(self, tool: str, outcome: str, seconds: float) -> None:
        """Count a tool call."""
        self._calls.labels(tool, outcome).inc()
        self._seconds.labels(tool).observe(seconds)

    def gauge(self, name: str, text: str, read: Callable[[], float]) -> None:
        """Add a gauge whose value `read` returns at scrape time."""
        Gauge(name, text, registry=self._registry).set_function(read)

    def pool(self, read: ReadPool) -> None:
        """Add the use of database connections, which `read` returns at scrape time."""
        self._registry.register(_Pool(read))

    def text(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        return generate_latest(self._registry)


class _Pool(Collector):
    def __init__(self, read: ReadPool) -> None:
        self._read = read

    def collect(self) -> Iterator[GaugeMetricFamily]:
        shown = GaugeMetricFamily("deltos_database_connections", "Connections to the database.", labels=["state"])
        if pool := self._read():
            counts = {"most": pool.most, "open": pool.opened, "idle": pool.idle, "waited_for": pool.waiting}
            for state, count in counts.items():
                shown.add_metric([state], count)
        yield shown
