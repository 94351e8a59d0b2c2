"""Run our functions on hostile input in a process that is killed after 20 seconds of CPU time.

Inputs are so large that parsing takes a second or two if it is linear, and minutes or hours if it is not.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from deltos.errors import DeltosError
from deltos.isolated.process_pool import ProcessPool
from deltos.isolated.wire import TaskLimits

if TYPE_CHECKING:
    from collections.abc import Callable

LIMITS = TaskLimits(cpu_seconds=20.0, wall_seconds=600.0, memory_bytes=3 << 30)


class LimitedProcess:
    """Child process with limits that runs functions on hostile input; reused, because starting a process is slow."""

    def __init__(self) -> None:
        self._workers = ProcessPool(importable_from=(str(Path(__file__).parents[1]),))

    def check_completes(self, function: Callable[..., object], *arguments: Any, **keyword_arguments: Any) -> None:
        """Fail unless the function returns, or raises a DeltosError, within the limits."""
        self._workers.run(_call_function, function, keyword_arguments, arguments, limits=LIMITS)

    def close(self) -> None:
        """End the child process."""
        self._workers.close()


def run_target(name: str, data: bytes) -> None:
    """Run a fuzz target on an input in the child process."""
    from fuzz.targets import all_targets  # imported here because only this child process needs it

    with TemporaryDirectory() as scratch, all_targets()[name].open(Path(scratch)) as target:
        target.run(data)


def _call_function(
    function: Callable[..., object], keyword_arguments: dict[str, Any], arguments: tuple[Any, ...]
) -> None:
    with suppress(DeltosError):
        function(*arguments, **keyword_arguments)
