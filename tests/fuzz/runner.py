"""Run inputs in a child process that may hang or die, and report the findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzz.campaign import ChildProcess, ChildStopped

if TYPE_CHECKING:
    from pathlib import Path

# Far more than any machine needs for a normal input: `make fuzz` measures time, tests do not.
HANG_CPU_SECONDS = 20.0


class Runner:
    """A child process for all targets, replaced whenever it hangs or dies."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._children = 0
        self._child: ChildProcess | None = None

    def findings(self, **request: object) -> list[str]:
        """Return the findings of a request as lines of text."""
        if self._child is None:
            self._children += 1
            scratch = self._folder / str(self._children)
            scratch.mkdir()
            self._child = ChildProcess(scratch, hang_cpu_seconds=HANG_CPU_SECONDS)
        try:
            events = list(self._child.ask(**request))
        except ChildStopped as stopped:
            self.close()
            return [f"{stopped.kind} at {stopped.data!r}"]
        return [
            f"{event['detail']}\n{bytes.fromhex(event.get('data', ''))!r}"
            for event in events
            if event["event"] == "finding"
        ]

    def close(self) -> None:
        """End the child process."""
        if self._child is not None:
            self._child.close()
            self._child = None
