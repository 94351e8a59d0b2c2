"""Queues the client's lines until the SDK is imported. Until then, the handshake answers some of the lines."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.server.handshake import Handshake
    from deltos.server.pipes import ClientPipes


class LineQueue:
    """Queue of lines from the client: a thread reads them, and the attached sink receives each line once, in order."""

    def __init__(self, pipes: ClientPipes, handshake: Handshake, *, on_idle_end: Callable[[], None]) -> None:
        self._pipes = pipes
        self._handshake = handshake
        self._on_idle_end = on_idle_end
        self._lock = threading.Lock()
        self._queued: list[bytes] = []
        self._has_open_request = False
        self._ended = False
        self._sink: Callable[[bytes | None], None] | None = None
        self.busy = threading.Event()

    def read_all(self) -> None:
        """Read the client's lines until it disconnects."""
        with suppress(OSError):  # a broken pipe means that the client disconnected
            for line in self._pipes.lines():
                self._put_line(line)
        self.end()

    def end(self) -> None:
        """Stop accepting lines, because the client disconnected or a signal arrived."""
        with self._lock:
            self._ended = True
            if self._sink:
                self._sink(None)
            elif not self._has_open_request:
                self._on_idle_end()
        self.busy.set()

    def attach(self, sink: Callable[[bytes | None], None]) -> bytes | None:
        """Pass the opening request, all queued lines, all later lines and, at the end, None to `sink`.

        Return the opening request if it was already answered. The sink answers this request again, and the caller must
        drop the second answer.
        """
        with self._lock:
            opening = self._handshake.opening
            for line in [*([opening] if opening else []), *self._queued]:
                sink(line)
            if self._ended:
                sink(None)
            self._queued.clear()
            self._sink = sink
            return opening

    def _put_line(self, line: bytes) -> None:
        with self._lock:
            if self._ended:
                return
            if self._sink:
                self._sink(line)
            elif not self._answer_early(line):
                self._queued.append(line)
        self.busy.set()

    def _answer_early(self, line: bytes) -> bool:
        if self._has_open_request:
            return False
        message = _parse_json(line)
        reply = self._handshake.answer(line, message) if isinstance(message, dict) else None
        if reply is not None:
            self._pipes.write(reply)
            return True
        self._has_open_request = not _is_notification(message)
        return False


def _parse_json(line: bytes) -> object:
    try:
        message: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message


def _is_notification(message: object) -> bool:
    return isinstance(message, dict) and "method" in message and "id" not in message
