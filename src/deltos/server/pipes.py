"""Pipes to an MCP client. They use other descriptors than 0 and 1, so that no other code can write to the client."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_LINE_BYTES = 64 * 1024 * 1024
_TRUNCATED_LINE_BYTES = 1024  # length of a truncated line, which the parser rejects


class ClientPipes:
    """Line-based connection to the client over a pair of pipes."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._max_line_bytes = max_line_bytes
        self._writing = threading.Lock()

    def lines(self) -> Iterator[bytes]:
        """Yield the client's lines until the client disconnects. Truncate overlong lines."""
        while line := self._incoming.readline(self._max_line_bytes):
            if len(line) == self._max_line_bytes and not line.endswith(b"\n"):
                self._skip_line()
                line = line[:_TRUNCATED_LINE_BYTES]
            if line.strip():
                yield line

    def write(self, message: bytes) -> None:
        """Send one message. Raise OSError if the client has disconnected."""
        with self._writing:
            self._outgoing.write(message + b"\n")
            self._outgoing.flush()

    def _skip_line(self) -> None:
        while (part := self._incoming.readline(self._max_line_bytes)) and not part.endswith(b"\n"):
            pass


def claim_stdio() -> ClientPipes:
    """Take over stdin and stdout. Later output, including that of C code and child processes, goes to stderr.

    Raise OSError if the process was started without stdin or stdout.
    """
    for descriptor in (0, 1):
        os.fstat(descriptor)  # raises OSError if the descriptor is closed; os.dup below would otherwise reuse it
    _ensure_stderr()
    incoming, outgoing = os.dup(0), os.dup(1)  # os.dup returns descriptors that child programs do not inherit
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: _close_descriptors(incoming, outgoing))
    _redirect(os.open(os.devnull, os.O_RDONLY), 0)
    _redirect(os.dup(2), 1)
    sys.stdout = sys.stderr
    return ClientPipes(os.fdopen(incoming, "rb"), os.fdopen(outgoing, "wb"))


def _ensure_stderr() -> None:
    """Open the null device as stderr if stderr is closed."""
    try:
        os.fstat(2)  # raises OSError if stderr is closed; os.dup would then use descriptor 2 for the client
    except OSError:
        _redirect(os.open(os.devnull, os.O_WRONLY), 2)
        sys.stderr = os.fdopen(2, "w", closefd=False)


def _redirect(source: int, target: int) -> None:
    if source == target:
        os.set_inheritable(target, True)
    else:
        os.dup2(source, target)
        os.close(source)


def _close_descriptors(*descriptors: int) -> None:
    for descriptor in descriptors:
        with suppress(OSError):
            os.close(descriptor)
