"""The committed manifest and a server with the real tools."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from deltos import __version__
from deltos.budget import estimate_tokens
from deltos.config import TOOLSETS, Config
from deltos.errors import StoreTooNew
from deltos.server import describe
from deltos.server.instructions import instructions
from deltos.server.manifest import MANIFEST_PATH, Manifest
from deltos.server.toolbox import open_toolbox
from deltos.store.migration import Migration
from deltos.store.sqlite.database import SqliteDatabase
from deltos.store.sqlite.migrations import LIBRARY
from deltos.tool import compact_json
from tests.calling import ToolClient
from tests.server.raw import RawClient

REPOSITORY = Path(__file__).parents[2]
SERVER_SCRIPT = "import sys; from deltos.server.startup import main; sys.exit(main(sys.argv[1:]))"
ANNOTATIONS = {"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}


def test_the_committed_manifest_matches_the_tools(tmp_path: Path) -> None:
    """Run `make manifest` if this fails."""
    describe.main(tmp_path / "manifest.json")
    assert (tmp_path / "manifest.json").read_text("utf-8") == MANIFEST_PATH.read_text("utf-8")


@pytest.mark.parametrize(("lean", "tokens"), [(False, 4_500), (True, 1_600)])
def test_the_tool_list_is_within_its_token_limit(lean: bool, tokens: int) -> None:
    sent = json.dumps(Manifest.load(TOOLSETS, lean=lean).tools_result(), separators=(",", ":"))
    assert estimate_tokens(sent) <= tokens


def test_the_benchmark_results_state_the_size_of_the_tool_list() -> None:
    """Run `python -m benchmarks.tool_list_tokens` if this fails."""
    full, lean = (
        estimate_tokens(compact_json(Manifest.load(TOOLSETS, lean=is_lean).tools_result())) for is_lean in (False, True)
    )
    text = (REPOSITORY / "benchmarks/RESULTS.md").read_text("utf-8")
    for row in (f"| deltos | 24 | {full:,} |", f"| deltos --profile lean | 7 | {lean:,} |"):
        assert row in text


def test_the_lean_profile_lists_the_search_and_memory_tools() -> None:
    names = {listing["name"] for listing in Manifest.load(TOOLSETS, lean=True).listings()}
    assert names == {"explore", "search", "search_code", "find_references", "get_context", "fetch", "remember"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("explore", ["grep is as good"]),
        ("search_code", ["grep is as good", "Class.method"]),
        ("search", ["search_code"]),
        ("find_references", ["grep is as good"]),
        ("get_context", ["read the file"]),
        ("fetch", ["read it"]),
        ("remember", ["not what code or git already says"]),
        ("search_docs", ["not for this project's code"]),
        ("index_repository", ["searches do so themselves"]),
    ],
)
def test_descriptions_state_when_another_tool_is_equally_good(name: str, words: list[str]) -> None:
    [listing] = [each for each in Manifest.load(TOOLSETS).listings() if each["name"] == name]
    assert all(word in listing["description"] for word in words)


@pytest.mark.parametrize("name", ["find_references", "get_context"])
def test_descriptions_mention_methods_and_line_numbers(name: str) -> None:
    [listing] = [each for each in Manifest.load(TOOLSETS).listings() if each["name"] == name]
    assert "Class.method, file:line" in listing["inputSchema"]["properties"]["symbol"]["description"]


def test_tools_with_structured_answers_have_an_output_schema() -> None:
    declared = {listing["name"] for listing in Manifest.load(TOOLSETS).listings() if "outputSchema" in listing}
    assert declared == {"index_repository", "search_code", "search", "fetch", "remember"}


@pytest.mark.parametrize("client", ["claude-code", "codex-mcp-client"])
def test_clients_that_drop_the_text_get_no_output_schema(client: str) -> None:
    listings = Manifest.load(TOOLSETS).listings(client)
    assert len(listings) == 24
    assert not any("outputSchema" in listing for listing in listings)


@pytest.mark.parametrize(("client", "has_data"), [("claude-code", False), ("codex-mcp-client", False), ("x", True)])
def test_clients_that_drop_the_text_get_only_text(tmp_path: Path, client: str, has_data: bool) -> None:
    (tmp_path / "kettle.py").write_text("def boil_water():\n    return 100\n")
    server = RawClient([sys.executable, "-c", SERVER_SCRIPT], home=tmp_path / "home", cwd=tmp_path)
    server.initialize(name=client)
    [listing] = [each for each in server.request("tools/list")["result"]["tools"] if each["name"] == "search_code"]
    assert ("outputSchema" in listing) is has_data
    result = server.call("search_code", query="boil water")
    assert "def boil_water():" in result["content"][0]["text"]
    assert ("structuredContent" in result) is has_data
    server.shut_down()


@pytest.mark.parametrize(("argument", "variable"), [("lean", ""), ("", "lean"), ("lean", "full")])
def test_a_profile_is_chosen_by_a_flag_or_the_environment(tmp_path: Path, argument: str, variable: str) -> None:
    flags = ["--profile", argument] if argument else []
    client = RawClient([sys.executable, "-c", SERVER_SCRIPT, *flags], home=tmp_path, DELTOS_PROFILE=variable)
    assert "search_docs" not in client.initialize()["result"]["instructions"]
    assert len(client.request("tools/list")["result"]["tools"]) == 7
    client.shut_down()


@pytest.mark.parametrize("listing", Manifest.load(TOOLSETS).listings(), ids=lambda listing: listing["name"])
def test_every_tool_is_described_in_brief_and_annotated(listing: dict[str, dict[str, object]]) -> None:
    description = str(listing["description"])
    assert len(description) <= 400
    assert len(description.split()) < 75
    assert set(listing["annotations"]) == ANNOTATIONS
    properties = listing["inputSchema"]["properties"]
    assert isinstance(properties, dict)
    assert all(schema["description"] for schema in properties.values())


@pytest.mark.parametrize("toolset", TOOLSETS)
def test_a_single_toolset_lists_exactly_its_tools(tmp_path: Path, toolset: str) -> None:
    toolbox = open_toolbox(Config(tmp_path, toolsets=(toolset,)))
    names = [tool.name for tool in toolbox.tools]
    toolbox.close()
    client = RawClient([sys.executable, "-c", SERVER_SCRIPT, "--toolsets", toolset], home=tmp_path)
    assert client.initialize()["result"]["serverInfo"]["version"] == __version__
    listed = client.request("tools/list")["result"]["tools"]
    client.shut_down()
    assert [tool["name"] for tool in listed] == names


def test_a_real_tool_answers_and_reports_missing_symbols(tmp_path: Path) -> None:
    client = RawClient([sys.executable, "-c", SERVER_SCRIPT], home=tmp_path / "home", cwd=tmp_path)
    client.initialize()
    missing = client.call("set-working-directory", directory=str(tmp_path / "missing"))
    assert missing["isError"] is True
    assert missing["content"][0]["text"].startswith("Error: ")
    assert client.disconnect() == 0


def test_the_instructions_are_short_and_name_only_offered_tools() -> None:
    assert len(instructions(TOOLSETS).split()) <= 60
    assert "search_code" in instructions(("code",))
    assert "search_code" not in instructions(())


def test_a_library_that_cannot_be_opened_leaves_the_other_tools_working(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "kettle.py").write_text("def boil_water():\n    return 100\n")
    SqliteDatabase(tmp_path / "home" / "library.db", (*LIBRARY, Migration("of-a-later-version", ""))).close()
    toolbox = open_toolbox(Config(tmp_path / "home"))
    try:
        client = ToolClient(toolbox.tools, project)
        assert "boil_water" in client.call("search_code", query="boil water").text
        assert "boil_water" in client.call("search", query="boil_water").text
        with pytest.raises(StoreTooNew, match="of-a-later-version"):
            client.call("list_sources")
    finally:
        toolbox.close()
