"""Targets with known faults, to test that the fuzzer finds them."""

from __future__ import annotations

import time

from deltos.errors import BadArgument
from deltos.languages.parser_limits import bounded_memory
from fuzz.oracle import slow_limit_seconds
from fuzz.target import Run, Target, without_cleanup


def faulty_targets() -> dict[str, Target]:
    """Return the faulty targets by name."""
    faults = {
        "toy-crash": _crash_on_input,
        "toy-slow": _run_slowly,
        "toy-hang": _hang_on_input,
        "toy-memory": _use_memory,
        "toy-died": _end_process,
        "toy-fine": _accept_input,
        "toy-at-limit": _at_limit,
    }
    return {name: _toy_target(name, run) for name, run in faults.items()}


def _toy_target(name: str, run: Run) -> Target:
    return Target(
        name, without_cleanup(lambda _scratch: run), tokens=(b"BUG",), is_bounded=name in ("toy-crash", "toy-at-limit")
    )


def _crash_on_input(data: bytes) -> None:
    if b"BUG" in data:
        raise IndexError("toy")


def _run_slowly(data: bytes) -> None:
    size = min(len(data), 4_000)  # The input is slow for its size, but it does not count as a hang.
    until = time.process_time() + 1.5 * slow_limit_seconds(size)
    while b"BUG" in data and time.process_time() < until:
        pass


def _hang_on_input(data: bytes) -> None:
    while b"BUG" in data:
        pass


def _use_memory(data: bytes) -> None:
    if b"BUG" in data:
        bytearray(200_000_000)[::4096] = b"x" * len(range(0, 200_000_000, 4096))


def _end_process(data: bytes) -> None:
    if b"BUG" in data:
        import os

        os.abort()


def _at_limit(data: bytes) -> None:
    with bounded_memory(len(data)):
        if b"BUG" in data:
            bytearray(200_000_000)


def _accept_input(data: bytes) -> None:
    if data:
        raise BadArgument("an answer, not a crash")
