"""Parsers that loop, use all memory, crash or raise an error on marked content, in real child processes."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.isolated.wire import TaskLimits
from deltos.isolated_parser import IsolatedParser, Task

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from deltos.isolated.wire import Reply

TESTS_ROOT = str(Path(__file__).parent.parent)
MARKS = (b"poison-loop", b"poison-devour", b"poison-die", b"poison-raise")


def short_limits(_size_bytes: int) -> TaskLimits:
    """Return limits that are short enough for a test."""
    return TaskLimits(cpu_seconds=1.0, wall_seconds=60.0, memory_bytes=300 << 20)


def misbehave(mark: bytes, path_of_log: str, *_: object) -> None:
    """Log the attempt to a file, then fail in the way that the marker states."""
    with Path(path_of_log).open("ab") as log:
        log.write(mark + b"\n")
    if mark == b"poison-loop":
        while True:
            pass
    if mark == b"poison-devour":
        hoard = [bytearray(1 << 26) for _ in range(10_000)]
        print(len(hoard))
    if mark == b"poison-die":
        os.kill(os.getpid(), signal.SIGSEGV)
    raise RecursionError("too deep")


class PoisonedParser(IsolatedParser):
    """Parser that passes marked content to `misbehave` and other content to the real parser; `log` lists the attempts."""

    log: Path

    def taking_turns(self, turn: AbstractContextManager[object]) -> IsolatedParser:
        parser = super().taking_turns(turn)
        assert isinstance(parser, PoisonedParser)
        parser.log = self.log
        return parser

    def run_all(self, tasks: Sequence[Task]) -> list[Reply]:
        return super().run_all([self._changed(task) for task in tasks])

    def _changed(self, task: Task) -> Task:
        mark = next((mark for mark in MARKS if any(mark in piece for piece in task.content)), b"")
        return Task(misbehave, (mark, str(self.log)), task.content) if mark else task
