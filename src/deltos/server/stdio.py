"""Serves one client over stdin and stdout: moves messages between the line queue, the SDK and the pipes."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.shared.message import SessionMessage

from deltos.server.caller import Caller
from deltos.server.conversation import Conversation
from deltos.server.messages import InvalidMessage, Message, answered_id, read_message, write_message
from deltos.server.protocol import McpHandlers, build_server
from deltos.server.tool_runner import ToolRunner
from deltos.server.toolset_watcher import ToolsetWatcher

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from deltos.config import Config
    from deltos.server.line_queue import LineQueue
    from deltos.server.manifest import Manifest
    from deltos.server.pipes import ClientPipes
    from deltos.tool import Toolbox

GRACE_SECONDS = 1.25  # GRACE_SECONDS + DRAIN_TIMEOUT_SECONDS must stay below the 2 s after which clients kill a server
DRAIN_TIMEOUT_SECONDS = 0.5
CLOSE_TIMEOUT_SECONDS = 2.0


def run(
    manifest: Manifest,
    start: Path,
    config: Config,
    open_toolbox: Callable[[Config], Toolbox],
    line_queue: LineQueue,
    pipes: ClientPipes,
) -> None:
    """Serve with the SDK from the end of the handshake until the client disconnects."""
    tool_runner = ToolRunner(lambda: open_toolbox(config))
    threading.Thread(target=tool_runner.warm_up, name="deltos-warm-up", daemon=True).start()
    watcher = ToolsetWatcher(config, manifest, tool_runner, open_toolbox)
    anyio.run(_serve, watcher, start, line_queue, pipes)
    closing = threading.Thread(target=tool_runner.close, args=(DRAIN_TIMEOUT_SECONDS,), daemon=True)
    closing.start()
    closing.join(CLOSE_TIMEOUT_SECONDS)


async def _serve(watcher: ToolsetWatcher, start: Path, line_queue: LineQueue, pipes: ClientPipes) -> None:
    caller = Caller(Conversation(start))
    handlers = McpHandlers(watcher.manifest, watcher.tool_runner, lambda _: caller)
    server = build_server(watcher.manifest, handlers)
    exchange = StdioConnection(line_queue, pipes)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watcher.watch, handlers)
        tasks.start_soon(exchange.receive)
        tasks.start_soon(exchange.send, tasks.cancel_scope)
        await server.run(exchange.from_client, exchange.to_client, server.create_initialization_options())
        with anyio.move_on_after(DRAIN_TIMEOUT_SECONDS):
            await exchange.sent.wait()
        tasks.cancel_scope.cancel()


class StdioConnection:
    """Connection to the client, in both directions."""

    def __init__(self, line_queue: LineQueue, pipes: ClientPipes) -> None:
        self._inbox = line_queue
        self._pipes = pipes
        self._queue, self._lines = anyio.create_memory_object_stream[bytes](math.inf)
        self._to_server, self.from_client = anyio.create_memory_object_stream[SessionMessage | Exception]()
        self.to_client, self._from_server = anyio.create_memory_object_stream[SessionMessage]()
        self._refusals = self.to_client.clone()
        self._unanswered = PendingRequests()
        self._answered_id: types.RequestId | None = None
        self._ending = False
        self._grace = anyio.CancelScope()
        self.sent = anyio.Event()

    async def receive(self) -> None:
        """Pass the client's messages to the server. At the end, wait up to `GRACE_SECONDS` for answers."""
        loop = asyncio.get_running_loop()

        def enqueue_from_thread(line: bytes | None) -> None:
            with suppress(RuntimeError):  # the event loop is closed
                loop.call_soon_threadsafe(self._enqueue_line, line)

        if opening := self._inbox.attach(enqueue_from_thread):
            self._answered_id = json.loads(opening)["id"]
        async with self._to_server, self._refusals:
            async for line in self._lines:
                await self._forward(line)
            with self._grace, anyio.move_on_after(GRACE_SECONDS):
                await self._unanswered.wait_until_empty()

    async def send(self, connection: anyio.CancelScope) -> None:
        """Write the server's messages to the client in a thread, because the client may read slowly."""
        async for item in self._from_server:
            message = item.message
            if self._answered_id is not None and answered_id(message) == self._answered_id:
                self._answered_id = None  # the handshake has already answered this request
            else:
                line = write_message(message)
                try:
                    await anyio.to_thread.run_sync(self._pipes.write, line, abandon_on_cancel=True)
                except OSError:  # the client has disconnected
                    connection.cancel()
            self._unanswered.note_answer(message)
        self.sent.set()

    def _enqueue_line(self, line: bytes | None) -> None:
        if line is not None:
            self._queue.send_nowait(line)
        elif not self._ending:
            self._ending = True
            self._queue.close()
        else:  # after a second signal, the server ends without waiting for answers
            self._grace.cancel()

    async def _forward(self, line: bytes) -> None:
        try:
            message = read_message(line)
        except InvalidMessage as error:
            await self._refusals.send(SessionMessage(error.answer))
        else:
            self._unanswered.note_request(message)
            await self._to_server.send(SessionMessage(message))


class PendingRequests:
    """Ids of the requests whose answers have not been written yet."""

    def __init__(self) -> None:
        self._ids: set[types.RequestId] = set()
        self._changed = anyio.Event()

    def note_request(self, message: Message) -> None:
        """Record an incoming message: a request becomes pending, and a cancelled request is no longer pending."""
        if isinstance(message, types.JSONRPCRequest):
            self._ids.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._remove((message.params or {}).get("requestId"))

    def note_answer(self, message: Message) -> None:
        """Record an outgoing message: the request that it answers is no longer pending."""
        self._remove(answered_id(message))

    async def wait_until_empty(self) -> None:
        """Wait until every request is answered."""
        while self._ids:
            self._changed = anyio.Event()
            await self._changed.wait()

    def _remove(self, request_id: object) -> None:
        if isinstance(request_id, int | str):
            self._ids.discard(request_id)
            self._changed.set()
