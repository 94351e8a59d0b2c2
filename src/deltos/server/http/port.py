"""Opens the port that a server, or several processes of one, take connections from."""

from __future__ import annotations

import socket
import sys

BACKLOG = 1_024


def open_port(host: str, port: int) -> socket.socket:
    """The listening socket. Raises OSError."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    # With its protocol, by which asyncio knows that small packets are not to be held back (40 ms an answer).
    listening = socket.socket(family, kind, protocol)
    if sys.platform != "win32":  # there it would let a second server take the port
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening
