"""`deltos ui`: the page for people on loopback, for the owner of the data folder, opened by a link that works once."""

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
from deltos.server.deadline import end_within
from deltos.server.http.connection import with_head_timeout
from deltos.server.http.guard import HostGuard
from deltos.server.http.options import HttpOptions
from deltos.server.http.origin import OriginPolicy
from deltos.server.http.page import Page, PageOptions
from deltos.server.http.page_sessions import PageSessions
from deltos.server.http.port import open_port
from deltos.server.http.rate import RateLimit
from deltos.server.workbench import Workbench

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from pathlib import Path
    from types import FrameType

    from deltos.config import Config
    from deltos.tool import Toolbox

LOOPBACK = "127.0.0.1"
CONNECTIONS = 256
END_SECONDS = 1
CLOSE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class UiOptions:
    """What was asked for; port 0 is any that is free."""

    start: Path
    port: int = 0


def serve_ui(
    options: UiOptions,
    config: Config,
    open_toolbox: Callable[[Config], Toolbox],
    announce: Callable[[str], None],
) -> int:
    """Serve the page until a signal ends it; `announce` hears the link that opens it."""
    listening = open_port(LOOPBACK, options.port)
    port = listening.getsockname()[1]
    sessions = PageSessions(time.monotonic)
    workbench = Workbench(lambda: open_toolbox(config))
    threading.Thread(target=workbench.warm_up, name="deltos-warm-up", daemon=True).start()
    announce(f"http://{LOOPBACK}:{port}/enter?key={sessions.new_key()}")
    try:
        asyncio.run(_serve(options, sessions, workbench, listening))
    finally:
        workbench.close(CLOSE_SECONDS)
    return 0


class PageServer(uvicorn.Server):
    """Ends by itself after a signal, so that files are closed; a second signal ends at once."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's signature
        """Answer a signal."""
        end_within(END_SECONDS + CLOSE_SECONDS + 1)
        self.force_exit = self.should_exit
        self.should_exit = True


async def _serve(options: UiOptions, sessions: PageSessions, workbench: Workbench, listening: socket.socket) -> None:
    async def admit(_token: str) -> Caller:
        return Caller(Conversation(options.start), client="page", name="owner")

    rate = RateLimit(0.0, time.monotonic)
    limits = HttpOptions(LOOPBACK, 0, options.start).limits
    page = PageOptions(
        sessions,
        admit,
        asks_token=False,
        is_open=False,
        is_secure=False,
        rate=rate,
        body_seconds=limits.body_seconds,
    )
    app = Starlette(routes=Page(workbench, page).routes())
    policy = OriginPolicy.of(HttpOptions(LOOPBACK, listening.getsockname()[1], options.start))
    config = uvicorn.Config(
        HostGuard(app, policy, lambda _scope, _path, _status, _seconds: None),
        http=with_head_timeout(limits.header_seconds),
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=END_SECONDS,
    )
    await PageServer(config).serve(sockets=[listening])
