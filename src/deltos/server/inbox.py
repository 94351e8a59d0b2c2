"""Where the client's lines wait: answered early by the handshake, or kept until the SDK takes over."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.server.handshake import Handshake
    from deltos.server.wire import Wire


class Inbox:
    """Hands each line to exactly one side, in order: filled by a thread, emptied by whoever attaches."""

    def __init__(self, wire: Wire, handshake: Handshake, *, on_idle_end: Callable[[], None]) -> None:
        self._wire = wire
        self._handshake = handshake
        self._on_idle_end = on_idle_end
        self._lock = threading.Lock()
        self._kept: list[bytes] = []
        self._owes_answer = False
        self._ended = False
        self._sink: Callable[[bytes | None], None] | None = None
        self.busy = threading.Event()

    def read_all(self) -> None:
        """Take in what the client sends until it hangs up."""
        with suppress(OSError):  # a broken pipe is a client that hung up
            for line in self._wire.lines():
                self._put(line)
        self.end()

    def end(self) -> None:
        """Nothing more is to come: the client hung up, or we were told to stop."""
        with self._lock:
            self._ended = True
            if self._sink:
                self._sink(None)
            elif not self._owes_answer:
                self._on_idle_end()
        self.busy.set()

    def attach(self, sink: Callable[[bytes | None], None]) -> bytes | None:
        """Pass on to `sink` the opening request, all kept lines, every later line, and None at the end.

        Returns the opening request if it has been answered already: its second answer must not go out.
        """
        with self._lock:
            opening = self._handshake.opening
            for line in [*([opening] if opening else []), *self._kept]:
                sink(line)
            if self._ended:
                sink(None)
            self._kept.clear()
            self._sink = sink
            return opening

    def _put(self, line: bytes) -> None:
        with self._lock:
            if self._ended:
                return
            if self._sink:
                self._sink(line)
            elif not self._answer_early(line):
                self._kept.append(line)
        self.busy.set()

    def _answer_early(self, line: bytes) -> bool:
        if self._owes_answer:
            return False
        message = _parse(line)
        reply = self._handshake.answer(line, message) if isinstance(message, dict) else None
        if reply is not None:
            self._wire.write(reply)
            return True
        self._owes_answer = not _is_notification(message)
        return False


def _parse(line: bytes) -> object:
    try:
        message: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message


def _is_notification(message: object) -> bool:
    return isinstance(message, dict) and "method" in message and "id" not in message
