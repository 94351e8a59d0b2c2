"""Definition of a fuzz target: a name, a function that processes bytes, sample inputs, and words of the format."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

Run: TypeAlias = "Callable[[bytes], object]"
MAX_INPUT_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class OpenedTarget:
    """A target that is ready to run inputs; `pid` is its worker process, if it has one."""

    run: Run
    pid: int | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """One parser of untrusted text.

    `open` receives an empty folder and returns the function that runs an input. `open` also imports the tested modules,
    so that a child process loads only modules that it needs. `DeltosError` and the exceptions in `contract` are
    expected results;
    every other exception is a crash.
    """

    name: str
    open: Callable[[Path], AbstractContextManager[OpenedTarget]]
    seeds: tuple[str, ...] = ()
    """Folders below fuzz/seeds, and globs below the repository root, that select a few committed files."""
    suffixes: tuple[str, ...] = ()
    """Suffixes of further real files, from installed packages and `--corpus` folders."""
    tokens: tuple[bytes, ...] = ()
    contract: tuple[type[BaseException], ...] = ()
    is_json: bool = False
    is_exposed: bool = False
    is_bounded: bool = False
    """Whether a native parser runs under memory and time limits that end its process; Deltos runs it in a child process."""
    max_bytes: int = MAX_INPUT_BYTES


def without_cleanup(make: Callable[[Path], Run]) -> Callable[[Path], AbstractContextManager[OpenedTarget]]:
    """Return a `Target.open` function for a target that has nothing to close."""

    @contextmanager
    def open_target(scratch: Path) -> Iterator[OpenedTarget]:
        yield OpenedTarget(make(scratch))

    return open_target
