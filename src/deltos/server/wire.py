"""The two pipes to the client, claimed from descriptors 0 and 1 so that nothing else can touch them."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LINE_BYTES = 64 * 1024 * 1024
_KEPT_BYTES = 1024  # of a line that is too long: refused as no JSON, whatever it is


class Wire:
    """Lines from and to the client."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._max_line_bytes = max_line_bytes
        self._writing = threading.Lock()

    def lines(self) -> Iterator[bytes]:
        """What the client sends, until it hangs up. Of a line that is too long only the beginning is kept."""
        while line := self._incoming.readline(self._max_line_bytes):
            if len(line) == self._max_line_bytes and not line.endswith(b"\n"):
                self._skip_line()
                line = line[:_KEPT_BYTES]
            if line.strip():
                yield line

    def write(self, message: bytes) -> None:
        """Send one message. Raises OSError when the client is gone."""
        with self._writing:
            self._outgoing.write(message + b"\n")
            self._outgoing.flush()

    def _skip_line(self) -> None:
        while (part := self._incoming.readline(self._max_line_bytes)) and not part.endswith(b"\n"):
            pass


def claim() -> Wire:
    """Take the client's pipes for ourselves; stray prints, also of C code and children, go to stderr.

    Raises OSError when the process was started without stdin or stdout.
    """
    for descriptor in (0, 1):
        os.fstat(descriptor)  # closed ones would be taken by the duplicates below
    _ensure_stderr()
    incoming, outgoing = os.dup(0), os.dup(1)  # not inherited by programs that we start
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: _close(incoming, outgoing))
    _divert(os.open(os.devnull, os.O_RDONLY), 0)
    _divert(os.dup(2), 1)
    sys.stdout = sys.stderr
    return Wire(os.fdopen(incoming, "rb"), os.fdopen(outgoing, "wb"))


def _ensure_stderr() -> None:
    """Give a process that was started without stderr one that swallows all, lest the wire take its number."""
    try:
        os.fstat(2)
    except OSError:
        _divert(os.open(os.devnull, os.O_WRONLY), 2)
        sys.stderr = os.fdopen(2, "w", closefd=False)


def _divert(source: int, target: int) -> None:
    if source == target:
        os.set_inheritable(target, True)
    else:
        os.dup2(source, target)
        os.close(source)


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        with suppress(OSError):
            os.close(descriptor)
