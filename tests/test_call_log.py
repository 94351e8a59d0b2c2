"""Calls are logged after they are answered: no call waits for its log entry, and no entry is lost."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from deltos.call_log import MAX_QUEUED_RECORDS, CallRecorder
from deltos.open_stores import open_calls
from deltos.tool import CallNote

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.store.calls import CallRecords

NOTES = [CallNote(f"tool_{number}", "test", {}, 0.1, 400, 400, is_error=False) for number in range(MAX_QUEUED_RECORDS)]


def test_a_call_does_not_wait_for_its_log_entry_and_readers_see_it(tmp_path: Path) -> None:
    released = threading.Event()
    was_released: list[bool] = []

    def open_slowly() -> CallRecords:
        was_released.append(released.wait(10))
        return open_calls(tmp_path)

    log = CallRecorder(open_slowly)
    for note in NOTES[:3]:
        log.note(note)
    released.set()
    newest = log.newest(10)
    assert was_released == [True]
    assert newest is not None
    assert [each.tool for each in newest] == ["tool_2", "tool_1", "tool_0"]
    log.close()


def test_pending_entries_are_written_at_exit_and_when_the_queue_is_full(tmp_path: Path) -> None:
    log = CallRecorder(lambda: open_calls(tmp_path))
    for note in 2 * NOTES:
        log.note(note)
    log.close()
    log.note(NOTES[0])  # this call was made after the log was closed
    records = open_calls(tmp_path)
    assert len(records.newest(1_000)) == 2 * MAX_QUEUED_RECORDS
    records.close()


def test_a_call_log_that_cannot_be_opened_causes_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    log = CallRecorder(lambda: open_calls(tmp_path / "file"))
    log.note(NOTES[0])
    assert log.newest(10) is None
    log.close()
