"""Answers of the fast handshake equal the answers of the SDK."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage

from deltos.config import TOOLSETS
from deltos.server.caller import Caller
from deltos.server.conversation import Conversation
from deltos.server.describe import build_manifest
from deltos.server.handshake import Handshake
from deltos.server.manifest import Manifest
from deltos.server.protocol import McpHandlers, build_server, protocol_versions
from deltos.server.tool_runner import ToolRunner
from deltos.tool import Toolbox
from tests.server.raw import initialize_params
from tests.server.toyserver import TOOLS

if TYPE_CHECKING:
    from pathlib import Path

JsonObject = dict[str, Any]
HANDSHAKE_VERSIONS, MODERN_VERSIONS = protocol_versions()
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"


@pytest.fixture(scope="module", params=["toy", "committed"])
def manifest(request: pytest.FixtureRequest) -> Manifest:
    """The manifest of the toy tools and the committed manifest."""
    if request.param == "toy":
        return Manifest(build_manifest(TOOLS, version="1.2.3"), ("code",))
    return Manifest.load(TOOLSETS)


def requests(*pairs: tuple[str, JsonObject | None]) -> list[JsonObject]:
    messages: list[JsonObject] = []
    for number, (method, params) in enumerate(pairs):
        messages.append({"jsonrpc": "2.0", "id": number, "method": method})
        if params is not None:
            messages[-1]["params"] = params
    return messages


def handshake_answers(manifest: Manifest, messages: list[JsonObject]) -> list[JsonObject | None]:
    handshake = Handshake(manifest)
    lines = [json.dumps(message).encode() for message in messages]
    replies = [handshake.answer(line, message) for line, message in zip(lines, messages, strict=True)]
    return [None if reply is None else json.loads(reply) for reply in replies]


def sdk_answers(manifest: Manifest, messages: list[JsonObject], start: Path) -> list[JsonObject]:
    async def exchange_messages() -> list[JsonObject]:
        tool_runner = ToolRunner(lambda: Toolbox(TOOLS, close=lambda: None))
        server = build_server(manifest, McpHandlers(manifest, tool_runner, lambda _: Caller(Conversation(start))))
        to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception]()
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage]()
        answers: list[JsonObject] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.run, from_client, to_client, server.create_initialization_options())
            async with to_server, from_server:
                for message in messages:
                    await to_server.send(SessionMessage(types.jsonrpc_message_adapter.validate_python(message)))
                    answer = (await from_server.receive()).message
                    answers.append(answer.model_dump(mode="json", by_alias=True, exclude_unset=True))
        return answers

    return anyio.run(exchange_messages)


@pytest.mark.parametrize("version", [*HANDSHAKE_VERSIONS, *MODERN_VERSIONS, "1999-01-01"])
def test_a_handshake_gets_the_answers_of_the_sdk(manifest: Manifest, version: str, tmp_path: Path) -> None:
    messages = requests(
        ("initialize", initialize_params(version, {"roots": {"listChanged": True}, "sampling": {}})),
        ("ping", None),
        ("tools/list", None),
        ("tools/list", {}),
        ("tools/list", {"_meta": {"progressToken": 3}}),
    )
    assert handshake_answers(manifest, messages) == sdk_answers(manifest, messages, tmp_path)


@pytest.mark.parametrize("version", MODERN_VERSIONS)
def test_stateless_requests_get_the_answers_of_the_sdk(manifest: Manifest, version: str, tmp_path: Path) -> None:
    bare = {VERSION_KEY: version, CAPABILITIES_KEY: {"elicitation": {"form": {}}}}
    named = {**bare, CLIENT_KEY: {"name": "x", "version": "1"}, "progressToken": "t"}
    messages = requests(
        ("server/discover", {"_meta": bare}),
        ("tools/list", {"_meta": bare}),
        ("server/discover", {"_meta": named}),
        ("tools/list", {"_meta": named}),
    )
    assert handshake_answers(manifest, messages) == sdk_answers(manifest, messages, tmp_path)


@pytest.mark.parametrize(
    "odd",
    [
        {"clientInfo": {"name": "x", "version": "1", "icons": "text"}},
        {"clientInfo": {"name": "x", "version": "1", "websiteUrl": "text"}},
        {"capabilities": {"tasks": {"requests": {"tools": "text"}}}},
        {"capabilities": {"elicitation": {"form": {"x": 1}}}},
    ],
)
def test_unusual_requests_are_passed_to_the_sdk(manifest: Manifest, odd: JsonObject) -> None:
    assert handshake_answers(manifest, requests(("initialize", {**initialize_params(), **odd}))) == [None]


@pytest.mark.parametrize("toolsets", [("code",), ("unserved",), ("code", "unserved"), ()])
def test_only_the_chosen_toolsets_are_listed(toolsets: tuple[str, ...], tmp_path: Path) -> None:
    chosen = Manifest(build_manifest(TOOLS, version="1.2.3"), toolsets)
    messages = requests(("initialize", initialize_params()), ("tools/list", None))
    answers = handshake_answers(chosen, messages)
    assert answers == sdk_answers(chosen, messages, tmp_path)
    assert answers[1]
    listed = [tool["name"] for tool in answers[1]["result"]["tools"]]
    assert listed == [tool.name for tool in TOOLS if tool.toolset in toolsets]


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("2.0"),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["listChanged", "form", "name", "version", "progressToken"]), inner, max_size=3
        )
    ),
    max_leaves=4,
)
META_KEYS = st.sampled_from([VERSION_KEY, CLIENT_KEY, CAPABILITIES_KEY, "progressToken", "x"])
META = st.dictionaries(META_KEYS, JUNK | st.sampled_from([*HANDSHAKE_VERSIONS, *MODERN_VERSIONS]), max_size=4)
CLIENT_INFO = st.fixed_dictionaries(
    {"name": st.text(max_size=3), "version": st.text(max_size=3)}, optional={"title": JUNK, "icons": JUNK}
)
CAPABILITIES = st.dictionaries(
    st.sampled_from(["roots", "sampling", "elicitation", "experimental", "tasks", "x"]),
    JUNK | st.just({}),
    max_size=3,
)
INITIALIZE = st.fixed_dictionaries(
    {
        "protocolVersion": st.sampled_from(HANDSHAKE_VERSIONS) | JUNK,
        "capabilities": CAPABILITIES | JUNK,
        "clientInfo": CLIENT_INFO | JUNK,
    },
    optional={"_meta": META | JUNK, "x": JUNK},
)
MODERN_META = st.fixed_dictionaries(
    {VERSION_KEY: st.sampled_from(MODERN_VERSIONS), CAPABILITIES_KEY: CAPABILITIES},
    optional={CLIENT_KEY: CLIENT_INFO, "progressToken": JUNK},
)
FIRST_MESSAGES = st.one_of(
    st.tuples(st.just("initialize"), INITIALIZE),
    st.tuples(
        st.sampled_from(["server/discover", "tools/list", "ping", "initialize"]),
        st.fixed_dictionaries({"_meta": MODERN_META | META}),
    ),
)
SECOND_MESSAGES = st.tuples(
    st.sampled_from(["tools/list", "ping", "server/discover", "initialize"]),
    st.none() | st.fixed_dictionaries({}, optional={"_meta": META | MODERN_META, "cursor": JUNK}) | INITIALIZE,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first_message=FIRST_MESSAGES, second_message=SECOND_MESSAGES)
def test_every_answer_of_the_handshake_equals_that_of_the_sdk(
    manifest: Manifest,
    tmp_path: Path,
    first_message: tuple[str, JsonObject],
    second_message: tuple[str, JsonObject | None],
) -> None:
    messages = requests(first_message, second_message)
    greeted = handshake_answers(manifest, messages)
    if greeted[0] is None:  # all following requests are passed to the SDK as well
        return
    answers = sdk_answers(manifest, messages, tmp_path)
    assert greeted[0] == answers[0]
    assert greeted[1] in (None, answers[1])
