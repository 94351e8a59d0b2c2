"""Targets with known faults: what the harness must find to be believed."""

from __future__ import annotations

from deltos.errors import BadArgument
from fuzz.target import Run, Target, opened


def toys() -> dict[str, Target]:
    """The faulty targets by name."""
    faults = {
        "toy-crash": _crash,
        "toy-slow": _slow,
        "toy-hang": _hang,
        "toy-memory": _memory,
        "toy-died": _died,
        "toy-fine": _fine,
    }
    return {name: _toy(name, run) for name, run in faults.items()}


def _toy(name: str, run: Run) -> Target:
    return Target(name, opened(lambda _scratch: run), tokens=(b"BUG",))


def _crash(data: bytes) -> None:
    if b"BUG" in data:
        raise IndexError("toy")


def _slow(data: bytes) -> None:
    if b"BUG" in data:
        sum(range(10_000_000))


def _hang(data: bytes) -> None:
    while b"BUG" in data:
        pass


def _memory(data: bytes) -> None:
    if b"BUG" in data:
        bytearray(200_000_000)[::4096] = b"x" * len(range(0, 200_000_000, 4096))


def _died(data: bytes) -> None:
    if b"BUG" in data:
        import os

        os.abort()


def _fine(data: bytes) -> None:
    if data:
        raise BadArgument("an answer, not a crash")
