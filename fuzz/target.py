"""Definition of a fuzz target: a name, a function of bytes, and sources of real inputs and tokens of the format."""

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
    """A target that is ready for inputs. `pid` is its worker process, if it has one."""

    run: Run
    pid: int | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """One parser of outside text.

    `open` gets an empty folder and returns the function that runs an input. It does the imports, so that a child
    process loads only the modules it needs. A DeltosError and the exceptions in `contract` are normal results;
    every other exception is a crash.
    """

    name: str
    open: Callable[[Path], AbstractContextManager[Opened]]
    seeds: tuple[str, ...] = ()
    """Folders below fuzz/seeds and globs below the repository; few files, all committed."""
    suffixes: tuple[str, ...] = ()
    """Suffixes of more real files, from installed packages and `--corpus` folders."""
    tokens: tuple[bytes, ...] = ()
    contract: tuple[type[BaseException], ...] = ()
    is_json: bool = False
    is_exposed: bool = False
    is_bounded: bool = False
    """Whether a native parser runs under limits of memory and time that end its process; the product uses a child."""
    max_bytes: int = MAX_INPUT_BYTES


def opened(make: Callable[[Path], Run]) -> Callable[[Path], AbstractContextManager[Opened]]:
    """`Target.open` for a target that holds nothing open."""

    @contextmanager
    def open_target(scratch: Path) -> Iterator[Opened]:
        yield Opened(make(scratch))

    return open_target
