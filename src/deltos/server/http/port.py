"""Opens the port of a server."""

from __future__ import annotations

import socket
import sys

BACKLOG = 1_024


def open_port(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raise OSError on failure."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    # asyncio sets TCP_NODELAY only if the protocol is given; without TCP_NODELAY an answer takes 40 ms longer.
    listening = socket.socket(family, kind, protocol)
    if sys.platform != "win32":  # on Windows this option would let a second server take over the port
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening
