"""Progress that nobody listens to."""

from __future__ import annotations

from deltos.progress import Silent


def test_silence_takes_every_report_and_never_asks_to_stop() -> None:
    silent = Silent()
    silent.report(1, 2, "files")
    assert not silent.cancelled()
