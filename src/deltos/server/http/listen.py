"""`deltos mcp --http`: opens the port, serves until a signal arrives, and lets running calls finish."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import uvicorn

from deltos.config import Config
from deltos.errors import BadArgument, DeltosError
from deltos.open_stores import open_tokens, open_workspaces
from deltos.server.access import Tokens, is_valid
from deltos.server.deadline import exit_within
from deltos.server.http.app import build_app
from deltos.server.http.connection import make_connection_class
from deltos.server.http.event_log import EventLog
from deltos.server.http.options import MCP_PATH, SHUTDOWN_SECONDS_AFTER_GRACE
from deltos.server.http.port import open_port
from deltos.server.http.token_verifier import OAuthTokens, Verifier
from deltos.server.manifest import Manifest
from deltos.server.protocol import build_server
from deltos.server.tool_runner import ToolRunner
from deltos.server.toolset_watcher import ToolsetWatcher
from deltos.text.counts import counted

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from pathlib import Path
    from types import FrameType

    from deltos.server.http.app import BuildServer, HttpApp
    from deltos.server.http.options import HttpOptions
    from deltos.tool import Toolbox

logger = logging.getLogger(__name__)

DRAIN_TIMEOUT_SECONDS = 0.25
STREAM_CLOSE_TIMEOUT_SECONDS = 1
CLOSE_TIMEOUT_SECONDS = 1.0


def serve(
    options: HttpOptions,
    open_toolbox: Callable[[Config], Toolbox],
    manifest_path: Path,
    build: BuildServer = build_server,
    log: EventLog | None = None,
) -> int:
    """Serve over HTTP until a signal arrives, and return the exit code.

    The exit code is 1 if the port cannot be opened, and 2 for invalid options. `log` is the structured log, or None if
    messages are plain text.
    """
    try:
        config = Config.from_environment(
            toolsets=options.toolsets, profile=options.profile, log_format=options.log_format
        )
        verifier = _open_verifier(options, config.home, config.database)
    except DeltosError as error:
        logger.critical("deltos mcp: %s", error)
        return 2
    try:
        listening = open_port(options.host, options.port)
    except OSError as error:
        logger.critical("deltos mcp: cannot listen on %s:%s: %s", options.host, options.port, error.strerror or error)
        return 1
    manifest = Manifest.load(config.toolsets, manifest_path, lean=config.profile == "lean")
    tool_runner = ToolRunner(lambda: open_toolbox(config))
    threading.Thread(target=tool_runner.warm_up, name="deltos-warm-up", daemon=True).start()
    _raise_file_limit(options.limits.connections)
    _announce_url(options, listening, log, tool_count=len(manifest.listings()))
    watcher = ToolsetWatcher(config, manifest, tool_runner, open_toolbox)
    asyncio.run(_serve(options, lambda: build_app(options, watcher, verifier, build, log), listening))
    closing = threading.Thread(target=tool_runner.close, args=(DRAIN_TIMEOUT_SECONDS,), daemon=True)
    closing.start()
    closing.join(CLOSE_TIMEOUT_SECONDS)
    return 0


class DrainingServer(uvicorn.Server):
    """Server that finishes running requests after the first signal and stops immediately after the second one."""

    def __init__(self, config: uvicorn.Config, app: HttpApp, grace_seconds: float) -> None:
        super().__init__(config)
        self._app = app
        self._grace_seconds = grace_seconds
        self._loop = asyncio.get_running_loop()
        self._draining: asyncio.Task[None] | None = None
        self._is_stopping = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's signature
        """Schedule the shutdown after a signal."""
        # A signal handler can interrupt any instruction of the main thread, so it only schedules `_stop`.
        if not self._is_stopping:
            exit_within(self._grace_seconds + SHUTDOWN_SECONDS_AFTER_GRACE)
        self._is_stopping = True
        with suppress(RuntimeError):  # the event loop is closed, so the process is already ending
            self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        if self._draining is None:
            self._draining = self._loop.create_task(self._drain())
        else:
            self.should_exit = self.force_exit = True

    async def _drain(self) -> None:
        await self._app.request_guard.drain(self._grace_seconds)
        self.should_exit = True


async def _serve(options: HttpOptions, make_app: Callable[[], HttpApp], listening: socket.socket) -> None:
    app = make_app()  # created inside the event loop, because it contains objects that belong to that loop
    tls: dict[str, Any] = {}
    if options.tls_certificate:
        tls = {"ssl_certfile": options.tls_certificate, "ssl_keyfile": options.tls_key}
    config = uvicorn.Config(
        app.asgi,
        http=make_connection_class(options.limits.header_seconds),
        ws="none",
        log_config=None,  # uvicorn logs to the same handlers as Deltos
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=options.limits.connections,
        timeout_graceful_shutdown=STREAM_CLOSE_TIMEOUT_SECONDS,
        **tls,
    )
    await DrainingServer(config, app, options.limits.grace_seconds).serve(sockets=[listening])


def _open_verifier(options: HttpOptions, home: Path, database: str) -> Verifier | None:
    """Return the token verifier, or None if no token is required."""
    if not options.requires_token:
        return None
    store = open_tokens(home, database)
    now = time.time()
    if options.oauth is None and not any(is_valid(token, now) for token in store.all()):
        raise BadArgument(
            "a token is required, but no valid token exists",
            hint="Create one with `deltos token create NAME`, or serve on loopback.",
        )
    workspaces = open_workspaces(home, database)
    return Verifier(Tokens(store, time.time, workspaces), OAuthTokens(options.oauth) if options.oauth else None)


def _raise_file_limit(wanted: int) -> None:
    """Raise this process's limit on open files as far as the system allows."""
    if sys.platform == "win32":
        return
    import resource  # imported here, because Windows does not have this module

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = 2 * wanted if hard == resource.RLIM_INFINITY else min(2 * wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))


def _announce_url(options: HttpOptions, listening: socket.socket, log: EventLog | None, *, tool_count: int) -> None:
    host = f"[{options.host}]" if ":" in options.host else options.host
    url = f"{options.scheme}://{host}:{listening.getsockname()[1]}{MCP_PATH}"
    tokens = "bearer token required" if options.requires_token else "no token required on this machine"
    if log:
        EventLog(sys.stdout).write("serving", tools=tool_count, url=url, tokens=tokens)
    else:
        sys.stdout.write(f"deltos mcp: serving {counted(tool_count, 'tool')} at {url} ({tokens})\n")
        sys.stdout.flush()
    if options.requires_token and options.scheme == "http":
        logger.warning("deltos mcp: tokens are sent without encryption; use --tls-cert or a TLS proxy")
