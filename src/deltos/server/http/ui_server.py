"""`deltos ui`: serves the web UI on loopback, with a single-use link for sign-in."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette

from deltos.server.caller import Caller
from deltos.server.conversation import Conversation
from deltos.server.deadline import exit_within
from deltos.server.http.connection import make_connection_class
from deltos.server.http.guard import HostGuard
from deltos.server.http.options import HttpOptions
from deltos.server.http.origin import OriginPolicy
from deltos.server.http.port import open_port
from deltos.server.http.rate_limit import RateLimit
from deltos.server.http.sign_in import OpeningLink, are_equal_secrets
from deltos.server.http.ui_routes import UiRouteOptions, UiRoutes
from deltos.server.tool_runner import ToolRunner

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from pathlib import Path
    from types import FrameType

    from deltos.config import Config
    from deltos.tool import Toolbox

LOOPBACK = "127.0.0.1"
MAX_CONNECTIONS = 256
SHUTDOWN_TIMEOUT_SECONDS = 1
CLOSE_TIMEOUT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class UiOptions:
    """Options of `deltos ui`. Port 0 means any free port."""

    start: Path
    port: int = 0


def serve_ui(
    options: UiOptions,
    config: Config,
    open_toolbox: Callable[[Config], Toolbox],
    announce: Callable[[str], None],
) -> int:
    """Serve the web UI until a signal arrives. `announce` is called with the opening link."""
    listening = open_port(LOOPBACK, options.port)
    port = listening.getsockname()[1]
    link = OpeningLink()
    tool_runner = ToolRunner(lambda: open_toolbox(config))
    threading.Thread(target=tool_runner.warm_up, name="deltos-warm-up", daemon=True).start()
    announce(f"http://{LOOPBACK}:{port}/enter?key={link.key}")
    try:
        asyncio.run(_serve(options, link, tool_runner, listening))
    finally:
        tool_runner.close(CLOSE_TIMEOUT_SECONDS)
    return 0


class UiServer(uvicorn.Server):
    """Server that shuts down cleanly after the first signal and stops immediately after the second one."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's signature
        """Start the shutdown, or stop immediately if it has already started."""
        exit_within(SHUTDOWN_TIMEOUT_SECONDS + CLOSE_TIMEOUT_SECONDS + 1)
        self.force_exit = self.should_exit
        self.should_exit = True


async def _serve(options: UiOptions, link: OpeningLink, tool_runner: ToolRunner, listening: socket.socket) -> None:
    async def authenticate(cookie: str) -> Caller | None:
        if not are_equal_secrets(cookie, link.cookie):
            return None
        return Caller(Conversation(options.start), client="page", name="owner")

    rate = RateLimit(0.0, time.monotonic)
    limits = HttpOptions(LOOPBACK, 0, options.start).limits
    route_options = UiRouteOptions(
        authenticate,
        asks_token=False,
        is_open=False,
        is_secure=False,
        rate=rate,
        body_seconds=limits.body_seconds,
        link=link,
    )
    app = Starlette(routes=UiRoutes(tool_runner, route_options).routes())
    policy = OriginPolicy.from_options(HttpOptions(LOOPBACK, listening.getsockname()[1], options.start))
    config = uvicorn.Config(
        HostGuard(app, policy, lambda _scope, _path, _status, _seconds: None),
        http=make_connection_class(limits.header_seconds),
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_SECONDS,
    )
    await UiServer(config).serve(sockets=[listening])
