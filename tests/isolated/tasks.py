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


class UnpicklableError(Exception):
    """An error that does not survive pickling."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")


def double(number: int) -> int:
    """Return a result normally."""
    return number * 2


def double_and_print(number: int) -> int:
    """Return a result normally, but print to the stream used for replies."""
    print("not a reply")
    subprocess.run([sys.executable, "-c", "print('not a reply either')"], check=True)
    return number * 2


def child_environment(_: object) -> tuple[list[str], str, list[str], int]:
    """Return the child's environment."""
    return sys.path, str(Path.cwd()), sorted(os.environ), os.getpid()


def loop_forever(_: object) -> None:
    """Loop forever in Python code."""
    while True:
        pass


def loop_forever_in_c(_: object) -> None:
    """Loop forever in C code that never releases the interpreter lock."""
    re.match(r"(a*)*b", "a" * 60)


def sleep_forever(_: object) -> None:
    """Sleep forever without using the CPU."""
    time.sleep(3600)


def use_all_memory(_: object) -> int:
    """Allocate memory until none is left."""
    return len([bytearray(1 << 26) for _ in range(10_000)])


def reserve_address_space(_: object) -> None:
    """Reserve address space for the life of the process, as allocators do for threads."""
    _RESERVED.append(mmap.mmap(-1, 800 << 20, prot=0))


def allocate(size: int) -> int:
    """Allocate some memory."""
    return len(bytearray(size))


def return_large_result(_: object) -> bytes:
    """Return a result above the size limit."""
    return bytes(100 << 20)


def exit_process(_: object) -> None:
    """Kill the process during the task."""
    os.kill(os.getpid(), signal.SIGKILL)


def raise_error(what: str) -> None:
    """Raise an ordinary error."""
    raise KeyError(what)


def raise_unpicklable_error(what: str) -> None:
    """Raise an error that cannot be pickled."""
    raise UnpicklableError(what, what)


def exit_for_some_numbers(base: int, number: int) -> int:
    """Return a sum, but crash, loop, use all memory or fail for a few numbers."""
    if number == 7:
        exit_process(None)
    if number == 13:
        loop_forever_in_c(None)
    if number == 14:
        use_all_memory(None)
    if number == 15:
        raise_error("fifteen")
    return base + number


def exit_unless_first_task(marker: str) -> int:
    """Exit unless this is the first task of the process, like a process whose memory earlier tasks have used up."""
    is_first = not os.environ.get("DELTOS_TEST_USED")
    os.environ["DELTOS_TEST_USED"] = marker
    if not is_first:
        exit_process(None)
    return os.getpid()


def parsed_length(name: str, source: bytes) -> int:
    """Return the number of bytes that the syntax tree of a source covers."""
    known = language(name)
    tree = parse(known, source) if known is not None else None
    return tree.root_node.end_byte if tree is not None else 0
