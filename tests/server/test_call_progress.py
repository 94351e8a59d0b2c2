"""Progress notifications from a worker thread to the client."""

from __future__ import annotations

import asyncio

import anyio
import anyio.lowlevel
from hypothesis import given, settings
from hypothesis import strategies as st

from deltos.server.call_progress import MIN_INTERVAL_SECONDS, CallProgress

Notifications = list[tuple[float, float | None, str | None]]


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def notifications_for(steps: list[tuple[float, int, int, str]]) -> Notifications:
    """Return the notifications for steps, each of which follows a pause."""
    received: Notifications = []

    async def listen(progress: float, total: float | None = None, message: str | None = None) -> None:
        received.append((progress, total, message))

    async def scenario() -> None:
        clock = Clock()
        progress = CallProgress(asyncio.get_running_loop(), clock)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(progress.forward, listen)
            for pause, done, total, what in steps:
                clock.now += pause
                await anyio.to_thread.run_sync(progress.report, done, total, what)
            progress.close()

    anyio.run(scenario)
    return received


def test_frequent_progress_steps_are_dropped_except_the_last() -> None:
    steps = [
        (0.0, 1, 4, "files"),
        (0.0, 2, 4, "files"),
        (MIN_INTERVAL_SECONDS, 3, 4, "files"),
        (0.0, 4, 4, "files"),
    ]
    assert notifications_for(steps) == [(1, 4, "files"), (3, 4, "files"), (4, 4, "files")]


def test_reported_progress_increases_from_one_stage_to_the_next() -> None:
    steps = [(1.0, 10, 10, "parsed"), (1.0, 1, 5, "written"), (1.0, 5, 5, "written")]
    assert notifications_for(steps) == [(10, 10, "parsed"), (11, 15, "written"), (15, 15, "written")]


def test_an_unknown_total_is_omitted() -> None:
    assert notifications_for([(1.0, 3, 0, "pages")]) == [(3, None, "pages")]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.just(1.0), st.integers(0, 9), st.integers(0, 9), st.just("x")), max_size=8))
def test_progress_never_decreases(steps: list[tuple[float, int, int, str]]) -> None:
    numbers = [progress for progress, _, _ in notifications_for(steps)]
    assert numbers == sorted(set(numbers))


def test_closing_stops_notifications_and_cancels_work() -> None:
    async def scenario() -> CallProgress:
        progress = CallProgress(asyncio.get_running_loop())
        assert not progress.cancelled()
        progress.report(1, 2, "late")
        progress.close()
        await anyio.lowlevel.checkpoint()
        return progress

    progress = anyio.run(scenario)
    assert progress.cancelled()
    progress.report(2, 2, "later")


def test_a_report_to_a_closed_loop_is_dropped() -> None:
    async def scenario() -> CallProgress:
        return CallProgress(asyncio.get_running_loop())

    anyio.run(scenario).report(1, 1, "too late")
