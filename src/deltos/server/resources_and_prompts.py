"""Handlers for MCP resource and prompt requests. The toolbox provides the contents."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from deltos.errors import NotFound
from deltos.server.call_progress import CallProgress
from deltos.server.fair_threads import FairThreadPool
from deltos.tool import Answer, Call, check_arguments

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server

    from deltos.progress import Progress
    from deltos.server.caller import Caller
    from deltos.server.tool_runner import CallOutcome, ToolRunner
    from deltos.tool import Prompt, Session, Toolbox

    Context = ServerRequestContext[Any]
    Page = types.PaginatedRequestParams

MAX_CONCURRENT_READS = 8
_MAX_SHOWN_CHARACTERS = 80


class ResourceAndPromptHandlers:
    """Handlers for the resource and prompt requests of all clients."""

    def __init__(
        self,
        tool_runner: ToolRunner,
        find_caller: Callable[[Context], Caller],
        wait_for_roots: Callable[[Context], Awaitable[None]],
    ) -> None:
        self._tool_runner = tool_runner
        self._find_caller = find_caller
        self._wait_for_roots = wait_for_roots
        self._threads = FairThreadPool(MAX_CONCURRENT_READS)

    async def list_resources(self, context: Context, params: Page) -> types.ListResourcesResult:
        """Return the resources that have a fixed URI."""
        toolbox = await self._toolbox_for_listing(context, params)
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
        """Return the resource templates."""
        toolbox = await self._toolbox_for_listing(context, params)
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
        """Return the text of a resource."""
        outcome = await self._run(
            context, lambda toolbox, session, progress: _read_resource(toolbox, params.uri, session, progress)
        )
        contents = types.TextResourceContents(uri=params.uri, mime_type="text/markdown", text=outcome.text)
        return types.ReadResourceResult(contents=[contents])

    async def list_prompts(self, context: Context, params: Page) -> types.ListPromptsResult:
        """Return all prompts, on one page."""
        toolbox = await self._toolbox_for_listing(context, params)
        return types.ListPromptsResult(prompts=[_prompt_listing(prompt) for prompt in toolbox.prompts])

    async def get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """Return a prompt as one user message."""
        outcome = await self._run(
            context, lambda toolbox, session, progress: _write_prompt(toolbox, params, session, progress)
        )
        content = types.TextContent(type="text", text=outcome.text)
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])

    async def _run(self, context: Context, work: Callable[[Toolbox, Session, Progress], Answer]) -> CallOutcome:
        """Run `work` in a thread. Raise MCPError if it fails, because only tools report errors as text."""
        await self._wait_for_roots(context)
        caller = self._find_caller(context)
        progress = CallProgress(asyncio.get_running_loop())
        try:
            run_work = partial(
                self._tool_runner.run_work, lambda toolbox: work(toolbox, caller.conversation, progress), caller
            )
            outcome = await self._threads.run(caller, run_work)
        finally:
            progress.close()
        if outcome.is_error:
            code = types.INVALID_PARAMS if outcome.is_bad_request else types.INTERNAL_ERROR
            raise MCPError(code=code, message=outcome.text.removeprefix("Error: "))
        return outcome

    async def _toolbox_for_listing(self, context: Context, params: Page) -> Toolbox:
        """Return the toolbox for listing its contents. Raise MCPError if the request has a cursor."""
        if params.cursor is not None:
            raise MCPError(code=types.INVALID_PARAMS, message="Invalid cursor: the list has only one page")
        return await self._threads.run(self._find_caller(context), self._tool_runner.toolbox)


def register_resources_and_prompts(server: Server[Any], resource_handlers: ResourceAndPromptHandlers) -> None:
    """Register the handlers with the SDK's server."""
    pages = types.PaginatedRequestParams
    server.add_request_handler("resources/list", pages, resource_handlers.list_resources)
    server.add_request_handler("resources/templates/list", pages, resource_handlers.list_templates)
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, resource_handlers.read_resource)
    server.add_request_handler("prompts/list", pages, resource_handlers.list_prompts)
    server.add_request_handler("prompts/get", types.GetPromptRequestParams, resource_handlers.get_prompt)


def _read_resource(toolbox: Toolbox, uri: str, session: Session, progress: Progress) -> Answer:
    for resource in toolbox.resources:
        if (arguments := resource.arguments(uri)) is not None:
            return Answer(resource.read(Call(arguments, session, progress, repeat=True)))
    known = ", ".join(resource.uri for resource in toolbox.resources)
    raise NotFound(f"No resource {uri[:_MAX_SHOWN_CHARACTERS]!r}", hint=f"Known: {known or 'none'}.")


def _write_prompt(
    toolbox: Toolbox, request: types.GetPromptRequestParams, session: Session, progress: Progress
) -> Answer:
    for prompt in toolbox.prompts:
        if prompt.name == request.name:
            arguments = check_arguments(prompt.parameters, request.arguments or {})
            return Answer(prompt.write(Call(arguments, session, progress, repeat=True)))
    known = ", ".join(prompt.name for prompt in toolbox.prompts)
    raise NotFound(f"No prompt {request.name[:_MAX_SHOWN_CHARACTERS]!r}", hint=f"Known: {known or 'none'}.")


def _prompt_listing(prompt: Prompt) -> types.Prompt:
    arguments = [
        types.PromptArgument(name=each.name, description=each.description, required=each.required)
        for each in prompt.parameters
    ]
    return types.Prompt(name=prompt.name, title=prompt.title, description=prompt.description, arguments=arguments)
