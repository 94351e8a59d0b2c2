"""What is fuzzed: a name, a function of bytes, and where real inputs and words of the format come from."""

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
class Opened:
    """A target that is ready for inputs. `pid` is the process that does the work where it is not ours."""

    run: Run
    pid: int | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """One parser of outside text.

    `open` gets an empty folder and returns what runs an input; imports happen there, so that a child process loads only
    what it needs. A DeltosError is an answer, and so is what `contract` names; every other exception is a crash.
    """

    name: str
    open: Callable[[Path], AbstractContextManager[Opened]]
    seeds: tuple[str, ...] = ()
    """Folders below fuzz/seeds and globs below the repository: few, committed, always the same."""
    suffixes: tuple[str, ...] = ()
    """How the names of further real files end, looked for in installed packages and `--corpus` folders."""
    tokens: tuple[bytes, ...] = ()
    contract: tuple[type[BaseException], ...] = ()
    is_json: bool = False
    is_exposed: bool = False
    is_bounded: bool = False
    """Whether a native parser works here within limits of memory and time that end its process: in the product, a child's."""
    max_bytes: int = MAX_INPUT_BYTES


def opened(make: Callable[[Path], Run]) -> Callable[[Path], AbstractContextManager[Opened]]:
    """`Target.open` for a target that holds nothing open."""

    @contextmanager
    def open_target(scratch: Path) -> Iterator[Opened]:
        yield Opened(make(scratch))

    return open_target
