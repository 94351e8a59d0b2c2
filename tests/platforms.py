"""Features that are missing on some platforms. No test is skipped on Linux, where `make test` installs all programs."""

from __future__ import annotations

import inspect
import shutil
import sys
from types import CodeType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Signals, named pipes, pseudo-terminals and numeric users: Windows has no equivalent.
_POSIX_NAMES = frozenset(
    {
        "SIGKILL",
        "SIGSTOP",
        "geteuid",
        "getuid",
        "max_file_bytes",
        "mkfifo",
        "openpty",
        "preexec_fn",
        "send_signal",
        "setrlimit",
        "terminate",
    }
)


def is_missing(program: str) -> bool:
    """Return whether a program is missing on a platform where it is optional."""
    return sys.platform != "linux" and shutil.which(program) is None


def posix_names(test: Callable[..., object]) -> list[str]:
    """Return the names used in a test or its inner functions that exist only on POSIX systems."""
    return sorted(_POSIX_NAMES.intersection(_names(inspect.unwrap(test).__code__)))


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
        elif isinstance(constant, tuple):  # names of keyword arguments
            yield from (name for name in constant if isinstance(name, str))
