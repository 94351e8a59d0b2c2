"""Resources and prompts in the words of the SDK. Leaves what they say to the toolbox, and the session to `protocol`."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from deltos.errors import NotFound
from deltos.server.reporting import CallProgress
from deltos.server.shares import Shares
from deltos.tool import Answer, Call, check_arguments

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server

    from deltos.progress import Progress
    from deltos.server.caller import Caller
    from deltos.server.workbench import Outcome, Workbench
    from deltos.tool import Prompt, Session, Toolbox

    Context = ServerRequestContext[Any]
    Page = types.PaginatedRequestParams

MAX_CONCURRENT_READS = 8
_SHOWN_CHARACTERS = 80


class Offers:
    """What one client can read and choose, beside calling tools."""

    def __init__(
        self,
        workbench: Workbench,
        receive: Callable[[Context], Caller],
        settle: Callable[[Context], Awaitable[None]],
    ) -> None:
        self._workbench = workbench
        self._receive = receive
        self._settle = settle
        self._shares = Shares(MAX_CONCURRENT_READS)

    async def list_resources(self, context: Context, params: Page) -> types.ListResourcesResult:
        """The resources with an address of their own."""
        toolbox = await self._opened(context, params)
        single = [resource for resource in toolbox.resources if not resource.is_template]
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    name=each.name,
                    title=each.title,
                    uri=each.uri,
                    description=each.description,
                    mime_type=each.media_type,
                )
                for each in single
            ]
        )

    async def list_templates(
        self, context: Context, params: types.PaginatedRequestParams
    ) -> types.ListResourceTemplatesResult:
        """The resources of which there are many."""
        toolbox = await self._opened(context, params)
        many = [resource for resource in toolbox.resources if resource.is_template]
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    name=each.name,
                    title=each.title,
                    uri_template=each.uri,
                    description=each.description,
                    mime_type=each.media_type,
                )
                for each in many
            ]
        )

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """The text behind an address."""
        outcome = await self._run(
            context, lambda toolbox, session, progress: _read(toolbox, params.uri, session, progress)
        )
        contents = types.TextResourceContents(uri=params.uri, mime_type="text/markdown", text=outcome.text)
        return types.ReadResourceResult(contents=[contents])

    async def list_prompts(self, context: Context, params: Page) -> types.ListPromptsResult:
        """All prompts on one page."""
        toolbox = await self._opened(context, params)
        return types.ListPromptsResult(prompts=[_listing(prompt) for prompt in toolbox.prompts])

    async def get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """A prompt written out, as one message of the user."""
        outcome = await self._run(
            context, lambda toolbox, session, progress: _write(toolbox, params, session, progress)
        )
        content = types.TextContent(type="text", text=outcome.text)
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])

    async def _run(self, context: Context, work: Callable[[Toolbox, Session, Progress], Answer]) -> Outcome:
        """Work in a thread; an error is refused as the protocol wants it, since only tools tell errors in words."""
        await self._settle(context)
        caller = self._receive(context)
        progress = CallProgress(asyncio.get_running_loop())
        try:
            attempt = partial(
                self._workbench.attempt, lambda toolbox: work(toolbox, caller.conversation, progress), caller
            )
            outcome = await self._shares.run(caller, attempt)
        finally:
            progress.close()
        if outcome.is_error:
            code = types.INVALID_PARAMS if outcome.is_bad_request else types.INTERNAL_ERROR
            raise MCPError(code=code, message=outcome.text.removeprefix("Error: "))
        return outcome

    async def _opened(self, context: Context, params: Page) -> Toolbox:
        if params.cursor is not None:
            raise MCPError(code=types.INVALID_PARAMS, message="Invalid cursor: the list has only one page")
        return await self._shares.run(self._receive(context), self._workbench.toolbox)


def register_offers(server: Server[Any], offers: Offers) -> None:
    """Answer the requests about resources and prompts."""
    pages = types.PaginatedRequestParams
    server.add_request_handler("resources/list", pages, offers.list_resources)
    server.add_request_handler("resources/templates/list", pages, offers.list_templates)
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, offers.read_resource)
    server.add_request_handler("prompts/list", pages, offers.list_prompts)
    server.add_request_handler("prompts/get", types.GetPromptRequestParams, offers.get_prompt)


def _read(toolbox: Toolbox, uri: str, session: Session, progress: Progress) -> Answer:
    for resource in toolbox.resources:
        if (arguments := resource.arguments(uri)) is not None:
            return Answer(resource.read(Call(arguments, session, progress, repeat=True)))
    known = ", ".join(resource.uri for resource in toolbox.resources)
    raise NotFound(f"No resource {uri[:_SHOWN_CHARACTERS]!r}", hint=f"Known: {known or 'none'}.")


def _write(toolbox: Toolbox, asked: types.GetPromptRequestParams, session: Session, progress: Progress) -> Answer:
    for prompt in toolbox.prompts:
        if prompt.name == asked.name:
            arguments = check_arguments(prompt.parameters, asked.arguments or {})
            return Answer(prompt.write(Call(arguments, session, progress, repeat=True)))
    known = ", ".join(prompt.name for prompt in toolbox.prompts)
    raise NotFound(f"No prompt {asked.name[:_SHOWN_CHARACTERS]!r}", hint=f"Known: {known or 'none'}.")


def _listing(prompt: Prompt) -> types.Prompt:
    arguments = [
        types.PromptArgument(name=each.name, description=each.description, required=each.required)
        for each in prompt.parameters
    ]
    return types.Prompt(name=prompt.name, title=prompt.title, description=prompt.description, arguments=arguments)
