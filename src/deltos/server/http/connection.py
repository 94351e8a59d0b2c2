"""uvicorn's HTTP/1.1 connection, stricter and less patient: heads that two readers could take differently are refused,
and a connection that never finishes a request's head is closed."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import h11
from h11._receivebuffer import ReceiveBuffer
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

MAX_HEAD_BYTES = 16 * 1024
# A proxy in front of us must see the same requests as we do. These bytes have no place in a head, and readers differ in
# what they make of them.
_CONTROLS = bytes((*range(0x09), *range(0x0A, 0x20), 0x7F))


class HeadTimeoutConnection(H11Protocol):
    """Closes itself when the head of a request takes longer than `header_seconds`."""

    header_seconds = 10.0
    _timer: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn._receive_buffer = StrictBuffer()  # noqa: SLF001 - h11 has no setting for it

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take in bytes; wait on while they are only part of a request's head."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_timer()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP and hang up; where an answer has begun already, only hang up."""
        with suppress(h11.LocalProtocolError):
            super().send_400_response(msg)
        self.transport.close()

    def _watch(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.header_seconds, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class StrictBuffer(ReceiveBuffer):
    """h11's buffer of what came in, for which only CR LF ends a line of a head."""

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """The lines up to the first empty one, once it is there; raises when they must not be believed."""
        if self._data[:2] == b"\r\n":
            self._extract(2)
            return []
        end = self._data.find(b"\r\n\r\n", self._multiple_lines_search)
        if end < 0:
            # What already proves the head wrong is refused at once, not when a time limit ends the wait.
            if _has_bare_line_end(self._data, self._multiple_lines_search):
                raise h11.RemoteProtocolError("a line ends without CR LF")
            self._multiple_lines_search = max(0, len(self._data) - 3)
            return None
        if end > MAX_HEAD_BYTES:  # h11 counts only what is not whole yet
            raise h11.RemoteProtocolError("the head is too large")
        lines = self._extract(end + 4)[:end].split(b"\r\n")
        if fault := head_fault(lines):
            raise h11.RemoteProtocolError(fault)
        return lines


def head_fault(lines: list[bytearray]) -> str:
    """Why the lines of a request's head, or of its trailers, must not be believed; empty when they may."""
    if any(line.translate(None, _CONTROLS) != line for line in lines):
        return "a control character in the head"
    if any(line.startswith((b" ", b"\t")) for line in lines):
        return "a folded line"
    fields = [line.partition(b":") for line in lines[1:]]
    lengths = [value.strip() for name, _, value in fields if name.lower() == b"content-length"]
    encodings = [value.strip().lower() for name, _, value in fields if name.lower() == b"transfer-encoding"]
    if len(lengths) > 1 or not all(length.isdigit() for length in lengths):
        return "not one Content-Length"
    if encodings and (lengths or encodings != [b"chunked"] or lines[0].endswith(b"HTTP/1.0")):
        return "a Transfer-Encoding that leaves doubt about the length"
    return ""


def _has_bare_line_end(data: bytearray, start: int) -> bool:
    """Whether a line feed without a carriage return, or a NUL, came in since `start`."""
    at = data.find(b"\n", start)
    while at >= 0:
        if at == 0 or data[at - 1] != 0x0D:
            return True
        at = data.find(b"\n", at + 1)
    return data.find(b"\0", start) >= 0


def with_head_timeout(header_seconds: float) -> type[Any]:
    """A connection class with that time limit for the head of a request."""
    return type("Connection", (HeadTimeoutConnection,), {"header_seconds": header_seconds})
