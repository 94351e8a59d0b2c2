"""Background work leaves enough CPU time for threads that answer calls."""

from __future__ import annotations

import sys

from deltos.progress import Silent
from deltos.workspace.background import BackgroundRun


def test_the_switch_interval_is_below_a_millisecond() -> None:
    seen: list[float] = []
    run = BackgroundRun(lambda _progress: seen.append(sys.getswitchinterval()))
    run.wait(60, Silent())
    assert 0 < seen[0] <= 0.001
    assert run.failure is None
