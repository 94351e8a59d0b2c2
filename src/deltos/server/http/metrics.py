"""Prometheus metrics of the server, rendered by the official client library."""

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

    from deltos.store.pools import PoolStatistics

    ReadPool = Callable[[], PoolStatistics | None]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BUCKET_BOUNDS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


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
            "Time until the start of the response.",
            request,
            registry=own,
            buckets=_BUCKET_BOUNDS_SECONDS,
        )
        self._calls = Counter("deltos_tool_calls", "Tool calls by tool and outcome.", [*tool, "outcome"], registry=own)
        self._seconds = Histogram(
            "deltos_tool_seconds", "Duration of tool calls.", tool, registry=own, buckets=_BUCKET_BOUNDS_SECONDS
        )
        ProcessCollector(registry=own)

    def count_request(self, path: str, method: str, status: int, seconds: float) -> None:
        """Count a request. `seconds` is the time until the response started."""
        self._requests.labels(path, method, str(status)).inc()
        self._first_byte.labels(path, method).observe(seconds)

    def count_call(self, tool: str, outcome: str, seconds: float) -> None:
        """Record a tool call with outcome and duration."""
        self._calls.labels(tool, outcome).inc()
        self._seconds.labels(tool).observe(seconds)

    def add_gauge(self, name: str, text: str, read: Callable[[], float]) -> None:
        """Add a gauge whose value is the result of `read` at scrape time."""
        Gauge(name, text, registry=self._registry).set_function(read)

    def add_pool(self, read: ReadPool) -> None:
        """Add gauges for the database connections. `read` returns the counts at scrape time."""
        self._registry.register(_PoolCollector(read))

    def render(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        return generate_latest(self._registry)


class _PoolCollector(Collector):
    def __init__(self, read: ReadPool) -> None:
        self._read = read

    def collect(self) -> Iterator[GaugeMetricFamily]:
        shown = GaugeMetricFamily("deltos_database_connections", "Connections to the database.", labels=["state"])
        if pool := self._read():
            counts = {
                "most": pool.max_connections,
                "open": pool.open_connections,
                "idle": pool.idle_connections,
                "waited_for": pool.waiting_requests,
            }
            for state, count in counts.items():
                shown.add_metric([state], count)
        yield shown
