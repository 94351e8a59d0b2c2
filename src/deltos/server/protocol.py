"""Handlers for MCP requests, built on the SDK. `stdio` and `http` are the transports; `tool_runner` runs the tools."""

from __future__ import annotations

import asyncio
import logging
import time
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from deltos.server.access import Level, required_level
from deltos.server.call_progress import CallProgress
from deltos.server.caller import Caller
from deltos.server.conversation import Conversation
from deltos.server.fair_threads import FairThreadPool
from deltos.server.manifest import SERVER_NAME, SERVER_TITLE
from deltos.server.structured_output import wants_structured_content
from deltos.server.tool_runner import ToolRunner
from deltos.tool import Toolbox

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.context import ServerRequestContext

    from deltos.server.manifest import Manifest
    from deltos.server.tool_runner import CallOutcome
    from deltos.tool import JsonObject

    Context = ServerRequestContext[Any]
    PageParams = types.PaginatedRequestParams | None
    FindCaller = Callable[[Context], Caller]
    Observer = Callable[[str, CallOutcome, float], None]

logger = logging.getLogger(__name__)

MAX_CONCURRENT_CALLS = 16  # a higher number is not faster, because threads compete for the GIL
ROOTS_TIMEOUT_SECONDS = 10.0
_MAX_LOG_CHARACTERS = 1_000
ROOTS_WAIT_SECONDS = 1.0  # how long a call waits for the client's roots before it continues without them


class McpHandlers:
    """Handlers for the requests of all clients.

    `find_caller` returns the caller of a request. `observe` is called after each tool call. If `follow_roots` is false,
    clients are not asked for their roots (the folders that a client lists in MCP), which may be on another machine.
    """

    def __init__(
        self,
        manifest: Manifest,
        tool_runner: ToolRunner,
        find_caller: FindCaller,
        observe: Observer = lambda _name, _outcome, _seconds: None,
        *,
        follow_roots: bool = True,
    ) -> None:
        self._manifest = manifest
        self._tool_runner = tool_runner
        self._find_caller = find_caller
        self._observe = observe
        self._follow_roots = follow_roots
        self._threads = FairThreadPool(MAX_CONCURRENT_CALLS)
        self._tools_changed = anyio.Event()
        self.bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self.bus)

    async def list_tools(self, context: Context, params: PageParams) -> types.ListToolsResult:
        """Return all tools that the caller may use, on one page."""
        if params and params.cursor is not None:
            raise MCPError(code=types.INVALID_PARAMS, message="Invalid cursor: the list has only one page")
        level = self._find_caller(context).level
        listings = self._manifest.listings(_client_name(context))
        tools = [types.Tool.model_validate(listing) for listing in listings]
        return types.ListToolsResult(tools=[tool for tool in tools if _is_permitted(tool, level)])

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Run a tool in a thread. A cancelled call is abandoned immediately, and the tool is asked to stop."""
        caller = replace(self._find_caller(context), client=_client_name(context))
        await _wait_for_roots(caller.conversation)
        progress = CallProgress(asyncio.get_running_loop())
        work = partial(self._tool_runner.run, params.name, params.arguments or {}, caller, progress)
        started = time.monotonic()
        if "progress_token" in (context.meta or {}):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(progress.forward, context.session.report_progress)
                outcome = await self._run_call(caller, work, progress)
        else:
            outcome = await self._run_call(caller, work, progress)
        self._observe(params.name, outcome, time.monotonic() - started)
        if outcome.truncated and caller.conversation.wants_log_level("warning"):
            await _warn_about_truncation(context, params.name, outcome)
        return _call_result(outcome, with_data=wants_structured_content(_client_name(context)))

    async def _run_call(self, caller: Caller, work: Callable[[], CallOutcome], progress: CallProgress) -> CallOutcome:
        try:
            return await self._threads.run(caller, work)
        finally:
            progress.close()

    async def announce_changed_tools(self) -> None:
        """Notify all clients that the list of tools has changed."""
        changed, self._tools_changed = self._tools_changed, anyio.Event()
        changed.set()
        await self.bus.publish(ToolsListChanged())

    async def on_initialized(self, context: Context, params: types.NotificationParams | None) -> None:
        """Request the client's roots (folders), then notify the client of changed tools until it disconnects."""
        await self.request_roots(context, params)
        while True:
            await self._tools_changed.wait()
            await context.session.send_tool_list_changed()

    async def set_log_level(self, context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        """Set the minimum level of the log messages that the client wants."""
        self._find_caller(context).conversation.log_level = params.level
        return types.EmptyResult()

    async def request_roots(self, context: Context, _: types.NotificationParams | None) -> None:
        """Ask the client for its roots if it supports them. Calls wait briefly for the first answer."""
        capabilities = context.session.client_capabilities
        if not self._follow_roots or capabilities is None or capabilities.roots is None:
            return
        conversation = self._find_caller(context).conversation
        settled = conversation.roots_settled = conversation.roots_settled or anyio.Event()
        try:
            request = types.ListRootsRequest()
            result = await context.session.send_request(request, types.ListRootsResult, ROOTS_TIMEOUT_SECONDS)
        except (MCPError, ValidationError) as error:  # a client that does not answer is treated as having no roots
            logger.warning("The client did not report its roots: %s", error)
        else:
            if missing := conversation.set_client_roots(str(root.uri) for root in result.roots):
                text = f"Client roots that are not folders on this machine: {', '.join(missing)[:_MAX_LOG_CHARACTERS]}"
                logger.warning("%s", text)
                if conversation.wants_log_level("warning"):
                    await context.session.send_log_message("warning", text, SERVER_NAME, context.request_id)
        finally:
            settled.set()


class NotifyingServer(Server[Any]):
    """The SDK's server, with the capability to announce changes of the tool list."""

    def get_capabilities(self, *_: object, protocol_version: str | None = None) -> types.ServerCapabilities:
        """Return the capabilities, including notifications of tool changes, which the SDK omits."""
        return super().get_capabilities(NotificationOptions(tools_changed=True), protocol_version=protocol_version)


def build_server(manifest: Manifest, handlers: McpHandlers) -> Server[Any]:
    """Return the SDK's server with all handlers registered."""
    server = NotifyingServer(
        SERVER_NAME,
        version=manifest.version,
        title=SERVER_TITLE,
        instructions=manifest.instructions,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_subscriptions_listen=handlers.listen,
        get_tool_input_schema=manifest.input_schema,
    )
    # Logging and roots are deprecated as of 2026-07-28, but current clients use them. The SDK does not warn about
    # handlers that are registered by name. It warns about each sent log message; ignore that warning in this module.
    warnings.filterwarnings("ignore", category=MCPDeprecationWarning, module=__name__)
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, handlers.set_log_level)
    server.add_notification_handler("notifications/initialized", types.NotificationParams, handlers.on_initialized)
    server.add_notification_handler(
        "notifications/roots/list_changed", types.NotificationParams, handlers.request_roots
    )
    return server


def capabilities(manifest: Manifest) -> tuple[JsonObject, JsonObject]:
    """Return the server's capabilities for clients with a handshake and for clients without one."""
    nobody = Caller(Conversation(Path()))
    idle = McpHandlers(manifest, ToolRunner(lambda: Toolbox((), close=lambda: None)), lambda _: nobody)
    server = build_server(manifest, idle)
    offered = (server.get_capabilities(), server.get_capabilities(protocol_version=MODERN_PROTOCOL_VERSIONS[-1]))
    handshake, modern = (one.model_dump(by_alias=True, mode="json", exclude_none=True) for one in offered)
    return handshake, modern


def protocol_versions() -> tuple[list[str], list[str]]:
    """Return the protocol versions with a handshake and the versions without one, each with the oldest first."""
    return list(HANDSHAKE_PROTOCOL_VERSIONS), list(MODERN_PROTOCOL_VERSIONS)


async def _wait_for_roots(conversation: Conversation) -> None:
    settled = conversation.roots_settled
    if settled and not settled.is_set():
        with anyio.move_on_after(ROOTS_WAIT_SECONDS):
            await settled.wait()
        settled.set()


async def _warn_about_truncation(context: Context, name: str, outcome: CallOutcome) -> None:
    text = f"{name}: answer truncated to {len(outcome.text):,} of {outcome.original_characters:,} characters"
    await context.session.send_log_message("warning", text, SERVER_NAME, context.request_id)


def _is_permitted(tool: types.Tool, level: Level) -> bool:
    hints = tool.annotations or types.ToolAnnotations()
    return level >= required_level(read_only=bool(hints.read_only_hint), destructive=bool(hints.destructive_hint))


def _client_name(context: Context) -> str:
    params = context.session.client_params
    return params.client_info.name if params else ""


def _call_result(outcome: CallOutcome, *, with_data: bool) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=outcome.text)],
        structured_content=outcome.structured if with_data else None,
        is_error=outcome.is_error,
    )
