"""Tasks for child processes: ordinary, endless, memory-consuming and crashing ones."""

from __future__ import annotations

import mmap
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from deltos.languages.grammar import parse
from deltos.languages.table import language

_RESERVED: list[mmap.mmap] = []


class Unsendable(Exception):
    """An error that does not survive pickling."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")


def double(number: int) -> int:
    """Return a result normally."""
    return number * 2


def double_loudly(number: int) -> int:
    """Return a result normally, but print to the stream used for replies."""
    print("not a reply")
    subprocess.run([sys.executable, "-c", "print('not a reply either')"], check=True)
    return number * 2


def child_environment(_: object) -> tuple[list[str], str, list[str], int]:
    """Return the child's environment."""
    return sys.path, str(Path.cwd()), sorted(os.environ), os.getpid()


def loop(_: object) -> None:
    """Loop forever in Python code."""
    while True:
        pass


def loop_in_c(_: object) -> None:
    """Loop forever in C code that never releases the interpreter lock."""
    re.match(r"(a*)*b", "a" * 60)


def sleep(_: object) -> None:
    """Sleep forever without using the CPU."""
    time.sleep(3600)


def devour(_: object) -> int:
    """Allocate memory until none is left."""
    return len([bytearray(1 << 26) for _ in range(10_000)])


def reserve(_: object) -> None:
    """Reserve address space for the life of the process, as allocators do for threads."""
    _RESERVED.append(mmap.mmap(-1, 800 << 20, prot=0))


def take(size: int) -> int:
    """Allocate some memory."""
    return len(bytearray(size))


def inflate(_: object) -> bytes:
    """Return a result above the size limit."""
    return bytes(100 << 20)


def die(_: object) -> None:
    """Exit the process during the task."""
    os.kill(os.getpid(), signal.SIGKILL)


def fail(what: str) -> None:
    """Raise an ordinary error."""
    raise KeyError(what)


def fail_unsendably(what: str) -> None:
    """Raise an error that cannot be sent."""
    raise Unsendable(what, what)


def one_of_many(base: int, number: int) -> int:
    """Return a result, but kill the process for a few numbers."""
    if number == 7:
        die(None)
    if number == 13:
        loop_in_c(None)
    if number == 14:
        devour(None)
    if number == 15:
        fail("fifteen")
    return base + number


def die_after_others(marker: str) -> int:
    """Die unless this is the first task of the process, like a process whose memory earlier tasks have used up."""
    is_first = not os.environ.get("DELTOS_TEST_USED")
    os.environ["DELTOS_TEST_USED"] = marker
    if not is_first:
        die(None)
    return os.getpid()


def parsed_to(name: str, source: bytes) -> int:
    """Return the position at which the syntax tree of a source ends."""
    known = language(name)
    tree = parse(known, source) if known is not None else None
    return tree.root_node.end_byte if tree is not None else 0
