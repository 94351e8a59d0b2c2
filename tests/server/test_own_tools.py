"""The manifest that is committed, and the server of the real tools."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from deltos import __version__
from deltos.budget import estimate_tokens
from deltos.config import TOOLSETS, Config
from deltos.errors import StoreTooNew
from deltos.server import describe
from deltos.server.instructions import instructions
from deltos.server.manifest import MANIFEST_PATH, Manifest
from deltos.server.toolbox import open_toolbox
from deltos.store.sqlite.database import Database, Migration
from deltos.store.sqlite.migrations import LIBRARY
from tests.calling import Desk
from tests.server.raw import RawClient

if TYPE_CHECKING:
    from pathlib import Path

SERVE = "import sys; from deltos.server.front import main; sys.exit(main(sys.argv[1:]))"
ANNOTATIONS = {"title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}


def test_the_committed_manifest_is_that_of_the_tools(tmp_path: Path) -> None:
    """When this fails: `make manifest`."""
    describe.main(tmp_path / "manifest.json")
    assert (tmp_path / "manifest.json").read_text("utf-8") == MANIFEST_PATH.read_text("utf-8")


def test_all_tools_together_list_in_three_thousand_tokens() -> None:
    sent = json.dumps(Manifest.load(TOOLSETS).tools_result(), separators=(",", ":"))
    assert estimate_tokens(sent) <= 3_000


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
def test_a_toolset_alone_lists_exactly_its_tools(tmp_path: Path, toolset: str) -> None:
    toolbox = open_toolbox(Config(tmp_path, toolsets=(toolset,)))
    names = [tool.name for tool in toolbox.tools]
    toolbox.close()
    client = RawClient([sys.executable, "-c", SERVE, "--toolsets", toolset], home=tmp_path)
    assert client.initialize()["result"]["serverInfo"]["version"] == __version__
    listed = client.request("tools/list")["result"]["tools"]
    client.dismiss()
    assert [tool["name"] for tool in listed] == names


def test_a_real_tool_answers_and_misses_in_words(tmp_path: Path) -> None:
    client = RawClient([sys.executable, "-c", SERVE], home=tmp_path / "home", cwd=tmp_path)
    client.initialize()
    missing = client.call("set-working-directory", directory=str(tmp_path / "missing"))
    assert missing["isError"] is True
    assert missing["content"][0]["text"].startswith("Error: ")
    assert client.hang_up() == 0


def test_the_instructions_are_short_and_name_only_what_is_served() -> None:
    assert len(instructions(TOOLSETS).split()) <= 120
    assert "search_code" in instructions(("code",))
    assert "search_code" not in instructions(())


def test_a_library_that_cannot_be_opened_leaves_the_other_tools_working(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "kettle.py").write_text("def boil_water():\n    return 100\n")
    Database(tmp_path / "home" / "library.db", (*LIBRARY, Migration("of-a-later-version", ""))).close()
    toolbox = open_toolbox(Config(tmp_path / "home"))
    try:
        desk = Desk(toolbox.tools, project)
        assert "boil_water" in desk.call("search_code", query="boil water").text
        assert "boil_water" in desk.call("search", query="boil_water").text
        with pytest.raises(StoreTooNew, match="of-a-later-version"):
            desk.call("list_sources")
    finally:
        toolbox.close()
