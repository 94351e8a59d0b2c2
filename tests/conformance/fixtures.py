"""The tools, resources and prompts that conformance scenarios need, added to our own server.

Features that our tools use are implemented with the tool runner; other features (images, requests to the client) are
handled here.
"""

from __future__ import annotations

import json
import threading
import warnings
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import PromptsListChanged
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

from deltos.errors import SourceError
from deltos.server.protocol import build_server
from deltos.tool import Answer, Call, Parameter, Tool
from tests.conformance import schemas

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server

    from deltos.server.manifest import Manifest
    from deltos.server.protocol import McpHandlers

    Context = ServerRequestContext[Any, Any]
    Params = types.CallToolRequestParams
    Result = types.CallToolResult | types.InputRequiredResult
    Handler = Callable[[Context, Params], Awaitable[Result]]

PNG_BASE64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV_BASE64 = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
STATIC_RESOURCES: dict[str, types.TextResourceContents | types.BlobResourceContents] = {
    "test://static-text": types.TextResourceContents(
        uri="test://static-text", mime_type="text/plain", text="This is the content of the static text resource."
    ),
    "test://static-binary": types.BlobResourceContents(
        uri="test://static-binary", mime_type="image/png", blob=PNG_BASE64
    ),
    "test://watched-resource": types.TextResourceContents(
        uri="test://watched-resource", mime_type="text/plain", text="Watched resource content"
    ),
}
TEMPLATE_PREFIX, TEMPLATE_SUFFIX = "test://template/", "/data"


def report_progress(call: Call) -> Answer:
    for done in (0, 50, 100):
        call.progress.report(done, 100, f"Completed step {done} of 100")
        threading.Event().wait(0.11)  # the server combines steps in quicker succession
    return Answer("done")


def raise_source_error(_: Call) -> Answer:
    raise SourceError("This tool intentionally returns an error for testing")


def fail_if_called(_: Call) -> Answer:
    raise AssertionError("this tool is answered by call_tool of the fixture server")


def image_content() -> types.ImageContent:
    return types.ImageContent(type="image", data=PNG_BASE64, mime_type="image/png")


def text_content(words: str) -> types.TextContent:
    return types.TextContent(type="text", text=words)


def embedded_resource(uri: str, words: str, mime_type: str = "text/plain") -> types.EmbeddedResource:
    contents = types.TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    return types.EmbeddedResource(type="resource", resource=contents)


def fixed_answer(*content: types.ContentBlock) -> Handler:
    """Return a tool with a fixed answer."""

    async def answer(_context: Context, _params: Params) -> types.CallToolResult:
        return types.CallToolResult(content=list(content))

    return answer


async def log_three_messages(context: Context, _params: Params) -> types.CallToolResult:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.session.send_log_message("info", words, "fixtures", context.request_id)
    return types.CallToolResult(content=[text_content("Tool with logging executed successfully")])


async def request_sampling(context: Context, params: Params) -> types.CallToolResult:
    asked = types.SamplingMessage(role="user", content=text_content(str((params.arguments or {})["prompt"])))
    result = await context.session.create_message([asked], max_tokens=100, related_request_id=context.request_id)
    text_ = result.content.text if isinstance(result.content, types.TextContent) else "?"
    return types.CallToolResult(content=[text_content(f"LLM response: {text_}")])


def eliciting_tool(schema: dict[str, Any], label: str) -> Handler:
    """Return a tool that asks the user to fill in a form."""

    async def answer(context: Context, params: Params) -> types.CallToolResult:
        message = str((params.arguments or {}).get("message", "Please answer"))
        result = await context.session.elicit_form(message, schema, context.request_id)
        text_ = f"{label}: action={result.action}, content={json.dumps(result.content or {})}"
        return types.CallToolResult(content=[text_content(text_)])

    return answer


async def require_sampling(context: Context, _params: Params) -> types.CallToolResult:
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY, "Sampling is needed", {"requiredCapabilities": {"sampling": {}}}
        )
    return types.CallToolResult(content=[text_content("The client can sample.")])


def elicitation_request(message: str, field: str) -> types.ElicitRequest:
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=message, requested_schema=schemas.single_string_schema(field))
    )


def sampling_request(words: str) -> types.CreateMessageRequest:
    messages = [types.SamplingMessage(role="user", content=text_content(words))]
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=messages, max_tokens=50))


def input_requiring_tool(requests: dict[str, Any], state: str | None = None) -> Handler:
    """Return a tool that needs input from the client before it can answer."""

    async def answer(_context: Context, params: Params) -> Result:
        given = params.input_responses or {}
        if requests.keys() <= given.keys() and params.request_state == state:
            text_ = "; ".join(given[name].model_dump_json(by_alias=True) for name in requests)
            return types.CallToolResult(content=[text_content(f"{state or ''} state-ok, received: {text_}")])
        return types.InputRequiredResult(input_requests=requests, request_state=state)

    return answer


async def ask_in_two_rounds(_context: Context, params: Params) -> Result:
    given, state = params.input_responses or {}, params.request_state
    if state == "round 2" and "step2" in given:
        return types.CallToolResult(content=[text_content("Both answers received.")])
    if state == "round 1" and "step1" in given:
        asked: dict[str, Any] = {"step2": elicitation_request("Step 2: What is your favorite color?", "color")}
        return types.InputRequiredResult(input_requests=asked, request_state="round 2")
    asked = {"step1": elicitation_request("Step 1: What is your name?", "name")}
    return types.InputRequiredResult(input_requests=asked, request_state="round 1")


async def confirm_state(_context: Context, params: Params) -> Result:
    if params.request_state is None:
        asked: dict[str, Any] = {"confirm": elicitation_request("Please confirm", "ok")}
        return types.InputRequiredResult(input_requests=asked, request_state="round 1")
    return types.CallToolResult(content=[text_content(f"state-ok: {params.request_state}")])


async def request_supported_inputs(context: Context, _params: Params) -> Result:
    capabilities = context.session.client_capabilities or types.ClientCapabilities()
    asked: dict[str, Any] = {}
    if capabilities.sampling is not None:
        asked["sample"] = sampling_request("Say hello")
    if capabilities.elicitation is not None:
        asked["ask"] = elicitation_request("What is your name?", "name")
    return types.InputRequiredResult(input_requests=asked, request_state="asked")


NAME_REQUEST = elicitation_request("What is your name?", "name")
RICH_TOOLS: dict[str, Handler] = {
    "test_image_content": fixed_answer(image_content()),
    "test_audio_content": fixed_answer(types.AudioContent(type="audio", data=WAV_BASE64, mime_type="audio/wav")),
    "test_embedded_resource": fixed_answer(
        embedded_resource("test://embedded-resource", "This is an embedded resource content.")
    ),
    "test_multiple_content_types": fixed_answer(
        text_content("Multiple content types test:"),
        image_content(),
        embedded_resource("test://mixed", '{"test": "data"}', "application/json"),
    ),
    "test_tool_with_logging": log_three_messages,
    "test_sampling": request_sampling,
    "test_elicitation": eliciting_tool(schemas.single_string_schema("response"), "User response"),
    "test_elicitation_sep1034_defaults": eliciting_tool(schemas.DEFAULTS_SCHEMA, "Elicitation result"),
    "test_elicitation_sep1330_enums": eliciting_tool(schemas.ENUMS_SCHEMA, "Elicitation completed"),
    "test_missing_capability": require_sampling,
    "test_input_required_result_elicitation": input_requiring_tool({"user_name": NAME_REQUEST}),
    "test_input_required_result_sampling": input_requiring_tool(
        {"capital_question": sampling_request("What is the capital of France?")}
    ),
    "test_input_required_result_list_roots": input_requiring_tool({"client_roots": types.ListRootsRequest()}),
    "test_input_required_result_request_state": input_requiring_tool(
        {"confirm": elicitation_request("Please confirm", "ok")}, "nonce"
    ),
    "test_input_required_result_multiple_inputs": input_requiring_tool(
        {
            "user_name": NAME_REQUEST,
            "greeting": sampling_request("Generate a greeting"),
            "client_roots": types.ListRootsRequest(),
        },
        "all",
    ),
    "test_input_required_result_multi_round": ask_in_two_rounds,
    "test_input_required_result_tampered_state": confirm_state,
    "test_input_required_result_capabilities": request_supported_inputs,
}
CHANGE_TRIGGERS = ("test_trigger_tool_change", "test_trigger_prompt_change")
ARGUMENT_NAMES = {"test_sampling": "prompt", "test_elicitation": "message", "test_x_mcp_header": "region"}


def _tool(name: str, run: Callable[[Call], Answer] = fail_if_called) -> Tool:
    argument = ARGUMENT_NAMES.get(name)
    parameters = (Parameter(argument, "string", "What to ask."),) if argument else ()
    return Tool(name, "code", name, "A fixture.", parameters, run)


TOOLS = (
    _tool("test_simple_text", lambda _: Answer("This is a simple text response for testing.")),
    _tool("test_error_handling", raise_source_error),
    _tool("test_tool_with_progress", report_progress),
    _tool("json_schema_2020_12_tool", lambda _: Answer("json_schema_2020_12_tool")),
    _tool("test_x_mcp_header", lambda call: Answer(f"region={call.text('region')}")),
    *(_tool(name) for name in (*RICH_TOOLS, *CHANGE_TRIGGERS)),
)


def build(manifest: Manifest, surface: McpHandlers) -> Server[Any]:
    """Return our server with the fixtures added."""
    server = build_server(manifest, surface)
    security = RequestStateSecurity.ephemeral()
    server.middleware.append(RequestStateBoundary(security, default_audience="fixtures"))
    warnings.filterwarnings("ignore", category=MCPDeprecationWarning)  # the scenarios test deprecated features

    async def call_tool(context: Context, params: Params) -> Result:
        if params.name == "test_trigger_tool_change":
            await surface.announce_changed_tools()
        elif params.name == "test_trigger_prompt_change":
            await surface.bus.publish(PromptsListChanged())
        elif params.name in RICH_TOOLS:
            return await RICH_TOOLS[params.name](context, params)
        else:
            return await surface.call_tool(context, params)
        return types.CallToolResult(content=[text_content("changed")])

    add = server.add_request_handler
    add("tools/call", types.CallToolRequestParams, call_tool)
    add("resources/list", types.PaginatedRequestParams, list_resources)
    add("resources/templates/list", types.PaginatedRequestParams, list_templates)
    add("resources/read", types.ReadResourceRequestParams, read_resource)
    add("resources/subscribe", types.SubscribeRequestParams, accept_subscription)
    add("resources/unsubscribe", types.UnsubscribeRequestParams, accept_subscription)
    add("prompts/list", types.PaginatedRequestParams, list_prompts)
    add("prompts/get", types.GetPromptRequestParams, get_prompt)
    add("completion/complete", types.CompleteRequestParams, return_no_completions)
    return server


async def accept_subscription(_context: Context, _params: object) -> types.EmptyResult:
    return types.EmptyResult()


async def return_no_completions(_context: Context, _params: object) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=[], total=0, has_more=False))


async def list_resources(_context: Context, _params: object) -> types.ListResourcesResult:
    return types.ListResourcesResult(
        resources=[
            types.Resource(uri=uri, name=uri, mime_type=contents.mime_type)
            for uri, contents in STATIC_RESOURCES.items()
        ]
    )


async def list_templates(_context: Context, _params: object) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(name="template", uri_template=f"{TEMPLATE_PREFIX}{{id}}{TEMPLATE_SUFFIX}")
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(_context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = params.uri
    if uri in STATIC_RESOURCES:
        return types.ReadResourceResult(contents=[STATIC_RESOURCES[uri]])
    if uri.startswith(TEMPLATE_PREFIX) and uri.endswith(TEMPLATE_SUFFIX):
        name = uri[len(TEMPLATE_PREFIX) : -len(TEMPLATE_SUFFIX)]
        data = json.dumps({"id": name, "templateTest": True, "data": f"Data for ID: {name}"})
        contents = types.TextResourceContents(uri=uri, mime_type="application/json", text=data)
        return types.ReadResourceResult(contents=[contents])
    raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})


PROMPTS = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}


async def list_prompts(_context: Context, _params: object) -> types.ListPromptsResult:
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=name,
                description="A fixture.",
                arguments=[types.PromptArgument(name=argument, required=True) for argument in arguments],
            )
            for name, arguments in PROMPTS.items()
        ]
    )


async def get_prompt(
    _context: Context, params: types.GetPromptRequestParams
) -> types.GetPromptResult | types.InputRequiredResult:
    given = params.arguments or {}
    if params.name == "test_input_required_result_prompt" and not params.input_responses:
        asked: dict[str, Any] = {"user_context": elicitation_request("What context should the prompt use?", "context")}
        return types.InputRequiredResult(input_requests=asked)
    text_: dict[str, list[types.ContentBlock]] = {
        "test_simple_prompt": [text_content("This is a simple prompt for testing.")],
        "test_prompt_with_arguments": [
            text_content(f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'")
        ],
        "test_prompt_with_embedded_resource": [
            embedded_resource(given.get("resourceUri", "test://x"), "Embedded resource content for testing."),
            text_content("Please process the embedded resource above."),
        ],
        "test_prompt_with_image": [image_content(), text_content("Please analyze the image above.")],
        "test_input_required_result_prompt": [text_content("Use the given context.")],
    }
    messages = [types.PromptMessage(role="user", content=content) for content in text_[params.name]]
    return types.GetPromptResult(messages=messages)
