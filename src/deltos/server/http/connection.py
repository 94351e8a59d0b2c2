"""uvicorn's HTTP/1.1 connection with stricter parsing and a timeout for request heads (request line and headers).

Request heads that a proxy could parse differently are rejected.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import h11
from h11._receivebuffer import ReceiveBuffer
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

MAX_HEAD_BYTES = 16 * 1024
# These bytes are invalid in a request head, and parsers treat them differently. Rejecting such requests prevents
# request smuggling through a proxy that parses a request differently from this server.
_CONTROL_BYTES = bytes((*range(0x09), *range(0x0A, 0x20), 0x7F))


class HeadTimeoutConnection(H11Protocol):
    """A connection that closes itself if the head of a request takes longer than `header_seconds`."""

    header_seconds = 10.0
    _timer: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn._receive_buffer = StrictBuffer()  # noqa: SLF001 - h11 has no setting for it

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for the first request."""
        super().connection_made(transport)
        self._restart_timer()

    def data_received(self, data: bytes) -> None:
        """Process received bytes. The timer keeps running while the request head is incomplete."""
        super().data_received(data)
        self._restart_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Reject an invalid request and close the connection. Send no response if one has already begun."""
        with suppress(h11.LocalProtocolError):
            super().send_400_response(msg)
        self.transport.close()

    def _restart_timer(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_timer()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.header_seconds, self.transport.close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class StrictBuffer(ReceiveBuffer):
    """h11's receive buffer, which here accepts only CR LF as line ending in a request head."""

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """Return the lines of a complete head, or None. Raise RemoteProtocolError if the head is invalid."""
        if self._data[:2] == b"\r\n":
            self._extract(2)
            return []
        end = self._data.find(b"\r\n\r\n", self._multiple_lines_search)
        if end < 0:
            # Reject an invalid head immediately instead of waiting for the timeout.
            if _has_bare_line_end(self._data, self._multiple_lines_search):
                raise h11.RemoteProtocolError("a line ends without CR LF")
            self._multiple_lines_search = max(0, len(self._data) - 3)
            return None
        if end > MAX_HEAD_BYTES:  # h11 limits only incomplete heads
            raise h11.RemoteProtocolError("the head is too large")
        lines = self._extract(end + 4)[:end].split(b"\r\n")
        if fault := find_head_error(lines):
            raise h11.RemoteProtocolError(fault)
        return lines


def find_head_error(lines: list[bytearray]) -> str:
    """Return why the lines of a head or of trailers are invalid, or an empty string if they are valid."""
    if any(line.translate(None, _CONTROL_BYTES) != line for line in lines):
        return "a control character in the head"
    if any(line.startswith((b" ", b"\t")) for line in lines):
        return "a folded line"
    fields = [line.partition(b":") for line in lines[1:]]
    lengths = [value.strip() for name, _, value in fields if name.lower() == b"content-length"]
    encodings = [value.strip().lower() for name, _, value in fields if name.lower() == b"transfer-encoding"]
    if len(lengths) > 1 or not all(length.isdigit() for length in lengths):
        return "invalid or repeated Content-Length"
    if encodings and (lengths or encodings != [b"chunked"] or lines[0].endswith(b"HTTP/1.0")):
        return "an ambiguous Transfer-Encoding"
    return ""


def _has_bare_line_end(data: bytearray, start: int) -> bool:
    """Whether the data after `start` contains a line feed without a carriage return, or a NUL."""
    at = data.find(b"\n", start)
    while at >= 0:
        if at == 0 or data[at - 1] != 0x0D:
            return True
        at = data.find(b"\n", at + 1)
    return data.find(b"\0", start) >= 0


def make_connection_class(header_seconds: float) -> type[Any]:
    """Return a connection class whose timeout for request heads is `header_seconds`."""
    return type("Connection", (HeadTimeoutConnection,), {"header_seconds": header_seconds})
