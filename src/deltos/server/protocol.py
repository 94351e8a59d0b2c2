"""MCP in the words of the SDK. Leaves the transport to `stdio` and `http`, and the work to `workbench`."""

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

from deltos.server.access import Level, level_needed
from deltos.server.audience import gets_data
from deltos.server.caller import Caller
from deltos.server.conversation import Conversation
from deltos.server.manifest import SERVER_NAME, SERVER_TITLE
from deltos.server.offers import Offers, register_offers
from deltos.server.reporting import CallProgress
from deltos.server.shares import Shares
from deltos.server.workbench import Workbench
from deltos.tool import Toolbox

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.context import ServerRequestContext

    from deltos.server.manifest import Manifest
    from deltos.server.workbench import Outcome
    from deltos.tool import JsonObject

    Context = ServerRequestContext[Any]
    PageParams = types.PaginatedRequestParams | None
    CallerOf = Callable[[Context], Caller]
    Observer = Callable[[str, Outcome, float], None]

logger = logging.getLogger(__name__)

MAX_CONCURRENT_CALLS = 16  # more threads only compete for the GIL
ROOTS_TIMEOUT_SECONDS = 10.0
ROOTS_PATIENCE_SECONDS = 1.0  # calls wait so long for the first answer, then go on without roots


class Surface:
    """Answers the requests of clients; `receive` tells who a request comes from, `observe` hears of each call.

    Without `follow_roots` clients are not asked for their folders, which may be on another machine.
    """

    def __init__(
        self,
        manifest: Manifest,
        workbench: Workbench,
        receive: CallerOf,
        observe: Observer = lambda _name, _outcome, _seconds: None,
        *,
        follow_roots: bool = True,
    ) -> None:
        self._manifest = manifest
        self._workbench = workbench
        self._receive = receive
        self._observe = observe
        self._follow_roots = follow_roots
        self._shares = Shares(MAX_CONCURRENT_CALLS)
        self._tools_changed = anyio.Event()
        self.bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self.bus)
        self.offers = Offers(workbench, receive, lambda context: _wait_for_roots(receive(context).conversation))

    async def list_tools(self, context: Context, params: PageParams) -> types.ListToolsResult:
        """All tools that the caller may use, on one page."""
        if params and params.cursor is not None:
            raise MCPError(code=types.INVALID_PARAMS, message="Invalid cursor: the list has only one page")
        level = self._receive(context).level
        listings = self._manifest.listings(_client_name(context))
        tools = [types.Tool.model_validate(listing) for listing in listings]
        return types.ListToolsResult(tools=[tool for tool in tools if _may_use(tool, level)])

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Run the tool in a thread; a cancelled call is abandoned at once and told to stop."""
        caller = replace(self._receive(context), client=_client_name(context))
        await _wait_for_roots(caller.conversation)
        progress = CallProgress(asyncio.get_running_loop())
        work = partial(self._workbench.run, params.name, params.arguments or {}, caller, progress)
        started = time.monotonic()
        if "progress_token" in (context.meta or {}):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(progress.forward, context.session.report_progress)
                outcome = await self._finished(caller, work, progress)
        else:
            outcome = await self._finished(caller, work, progress)
        self._observe(params.name, outcome, time.monotonic() - started)
        if outcome.truncated and caller.conversation.hears("warning"):
            await _warn_of_cut(context, params.name, outcome)
        return _call_result(outcome, with_data=gets_data(_client_name(context)))

    async def _finished(self, caller: Caller, work: Callable[[], Outcome], progress: CallProgress) -> Outcome:
        try:
            return await self._shares.run(caller, work)
        finally:
            progress.close()

    async def tell_of_changed_tools(self) -> None:
        """Tell all clients that the tools on offer have changed."""
        changed, self._tools_changed = self._tools_changed, anyio.Event()
        changed.set()
        await self.bus.publish(ToolsListChanged())

    async def attend(self, context: Context, params: types.NotificationParams | None) -> None:
        """After the handshake: learn the client's roots, then tell it of changed tools for as long as it stays."""
        await self.learn_roots(context, params)
        while True:
            await self._tools_changed.wait()
            await context.session.send_tool_list_changed()

    async def set_log_level(self, context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        """Remember which log messages the client wants."""
        self._receive(context).conversation.log_level = params.level
        return types.EmptyResult()

    async def learn_roots(self, context: Context, _: types.NotificationParams | None) -> None:
        """Ask the client for its roots, if it has any; calls wait a moment for the first answer."""
        capabilities = context.session.client_capabilities
        if not self._follow_roots or capabilities is None or capabilities.roots is None:
            return
        conversation = self._receive(context).conversation
        settled = conversation.roots_settled = conversation.roots_settled or anyio.Event()
        try:
            request = types.ListRootsRequest()
            result = await context.session.send_request(request, types.ListRootsResult, ROOTS_TIMEOUT_SECONDS)
        except (MCPError, ValidationError) as error:  # a client that fails to answer is one without roots
            logger.warning("no roots from the client: %s", error)
        else:
            conversation.set_client_roots(str(root.uri) for root in result.roots)
        finally:
            settled.set()


class ChangingServer(Server[Any]):
    """The SDK's server, saying that its list of tools can change."""

    def get_capabilities(self, *_: object, protocol_version: str | None = None) -> types.ServerCapabilities:
        """What this server can do. The SDK asks everybody who starts a server for the options that are fixed here."""
        return super().get_capabilities(NotificationOptions(tools_changed=True), protocol_version=protocol_version)


def build_server(manifest: Manifest, surface: Surface) -> Server[Any]:
    """The SDK's server, wired to `surface`."""
    server = ChangingServer(
        SERVER_NAME,
        version=manifest.version,
        title=SERVER_TITLE,
        instructions=manifest.instructions,
        on_list_tools=surface.list_tools,
        on_call_tool=surface.call_tool,
        on_subscriptions_listen=surface.listen,
        get_tool_input_schema=manifest.input_schema,
    )
    # Logging and roots are deprecated as of 2026-07-28, and what clients of today use. Registered by name,
    # the SDK does not warn; sending a log message does, so that is silenced for this module alone.
    warnings.filterwarnings("ignore", category=MCPDeprecationWarning, module=__name__)
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, surface.set_log_level)
    register_offers(server, surface.offers)
    server.add_notification_handler("notifications/initialized", types.NotificationParams, surface.attend)
    server.add_notification_handler("notifications/roots/list_changed", types.NotificationParams, surface.learn_roots)
    return server


def capabilities(manifest: Manifest) -> tuple[JsonObject, JsonObject]:
    """What a server of ours says that it can do: after a handshake, and without one."""
    nobody = Caller(Conversation(Path()))
    idle = Surface(manifest, Workbench(lambda: Toolbox((), close=lambda: None)), lambda _: nobody)
    server = build_server(manifest, idle)
    offered = (server.get_capabilities(), server.get_capabilities(protocol_version=MODERN_PROTOCOL_VERSIONS[-1]))
    handshake, modern = (one.model_dump(by_alias=True, mode="json", exclude_none=True) for one in offered)
    return handshake, modern


def protocol_versions() -> tuple[list[str], list[str]]:
    """The protocol versions with a handshake and those without, oldest first."""
    return list(HANDSHAKE_PROTOCOL_VERSIONS), list(MODERN_PROTOCOL_VERSIONS)


async def _wait_for_roots(conversation: Conversation) -> None:
    settled = conversation.roots_settled
    if settled and not settled.is_set():
        with anyio.move_on_after(ROOTS_PATIENCE_SECONDS):
            await settled.wait()
        settled.set()


async def _warn_of_cut(context: Context, name: str, outcome: Outcome) -> None:
    text = f"{name}: answer cut to {len(outcome.text)} of {outcome.original_characters} characters"
    await context.session.send_log_message("warning", text, SERVER_NAME, context.request_id)


def _may_use(tool: types.Tool, level: Level) -> bool:
    hints = tool.annotations or types.ToolAnnotations()
    return level >= level_needed(read_only=bool(hints.read_only_hint), destructive=bool(hints.destructive_hint))


def _client_name(context: Context) -> str:
    params = context.session.client_params
    return params.client_info.name if params else ""


def _call_result(outcome: Outcome, *, with_data: bool) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=outcome.text)],
        structured_content=outcome.structured if with_data else None,
        is_error=outcome.is_error,
    )
