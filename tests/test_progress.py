"""Progress reports without a listener."""

from __future__ import annotations

from deltos.progress import Silent


def test_a_silent_listener_ignores_reports_and_never_cancels() -> None:
    silent = Silent()
    silent.report(1, 2, "files")
    assert not silent.cancelled()
