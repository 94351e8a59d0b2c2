"""Opens the port that a server, or several processes of one, take connections from."""

from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltos.server.http.options import HttpOptions

BACKLOG = 1_024


def open_port(options: HttpOptions) -> socket.socket:
    """The listening socket. Raises OSError."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        options.host, options.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
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
