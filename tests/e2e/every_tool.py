"""A small project, and calls of every tool in it that any client can make."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

from deltos.config import TOOLSETS
from deltos.server.manifest import Manifest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    JsonObject = dict[str, Any]
    Call = Callable[[str, JsonObject], JsonObject]

CODE = '''\
"""Billing."""


class Ledger:
    """Keeps entries."""

    def add(self, amount: int) -> int:
        return rounded(amount)


def rounded(amount: int) -> int:
    """Round to whole cents."""
    return amount


def report() -> int:
    return Ledger().add(3)
'''
GUIDE = "# Ledger guide\n\n## Adding entries\n\nCall add on a ledger to keep an entry.\n"
API = """\
openapi: 3.0.0
info: {title: Billing, version: "1"}
paths:
  /entries:
    get: {operationId: listEntries, summary: List entries, responses: {"200": {description: All entries}}}
"""


def write_project(root: Path) -> Path:
    """Write the files of the project and return its root."""
    (root / "docs").mkdir(parents=True)
    (root / "billing.py").write_text(CODE)
    (root / "docs" / "guide.md").write_text(GUIDE)
    (root / "openapi.yaml").write_text(API)
    return root


def call_every_tool(call: Call, root: Path, keeps_session: bool = True) -> set[str]:
    """Call each tool once and return their names; without a session, a working directory is refused."""
    called: set[str] = set()

    def call_successfully(name: str, /, **arguments: Any) -> JsonObject:
        called.add(name)
        return _succeed(call, name, arguments)

    if keeps_session:
        call_successfully("set_working_directory", directory=str(root))
    else:
        called.add("set_working_directory")
        assert "no session" in _text(call("set_working_directory", {"directory": str(root)}))
    _call_code_and_graph(call_successfully)
    _call_memory(call_successfully)
    _call_docs_and_apis(call_successfully)
    return called


def call_some_tools(call: Call) -> None:
    """Call one tool of each domain successfully."""
    assert "rounded" in _text(_succeed(call, "search_code", {"query": "round to cents"}))
    assert "billing.py" in _text(_succeed(call, "find_references", {"symbol": "rounded"}))
    assert _succeed(call, "remember", {"text": "We round to whole cents"})["structuredContent"]["id"]
    assert "billing" in _text(_succeed(call, "add_source", {"url": "openapi.yaml", "name": "billing"})).lower()


def listed_tools() -> set[str]:
    """Return the tools that the server lists."""
    return {listing["name"] for listing in Manifest.load(TOOLSETS).listings()}


def _call_code_and_graph(call_successfully: Callable[..., JsonObject]) -> None:
    assert call_successfully("index_repository", concise=True)["structuredContent"]["files_indexed"] >= 1
    assert "12\t" in _text(call_successfully("explore", question="how are amounts rounded to cents", budget=500))
    assert "rounded" in _text(call_successfully("search_code", query="round to cents", file_type="py", limit=5))
    assert "def rounded billing.py:11-13 function" in _text(call_successfully("find_symbol", symbol="rounded"))
    assert "billing.py" in _text(call_successfully("find_references", symbol="rounded", tests="exclude"))
    assert "add" in _text(call_successfully("get_impact", symbol="rounded"))
    assert "Ledger" in _text(call_successfully("get_context", symbol="Ledger"))
    call_successfully("detect_circular")
    call_successfully("get_stats")


def _call_memory(call_successfully: Callable[..., JsonObject]) -> None:
    kept = call_successfully("remember", text="We decided to round to whole cents", kind="decision")[
        "structuredContent"
    ]["id"]
    assert "round" in _text(call_successfully("search", query="what did we decide about rounding"))
    assert call_successfully("fetch", id=kept)["structuredContent"]["id"] == kept
    call_successfully("get_observations", ids=[kept])
    call_successfully("timeline", around=kept)
    call_successfully("forget", ids=[kept])


def _wait_for_crawl(call_successfully: Callable[..., JsonObject], source: str) -> None:
    """Wait until the crawl has ended, because a second crawl is refused while one runs."""
    for _ in range(300):
        if not re.search("CRAWLING|WAITING", _text(call_successfully("crawl_status", source=source))):
            return
        time.sleep(0.2)
    raise AssertionError("the crawl does not end")


def _call_docs_and_apis(call_successfully: Callable[..., JsonObject]) -> None:
    call_successfully("add_source", url="docs", name="guide")
    assert "guide" in _text(call_successfully("list_sources"))
    _wait_for_crawl(call_successfully, "guide")
    call_successfully("search_docs", query="add an entry")
    call_successfully("recrawl_source", source="guide")
    call_successfully("remove_source", source="guide")
    call_successfully("add_source", url="openapi.yaml", name="billing")
    assert "/entries" in _text(call_successfully("get_api_endpoints", api_name="billing"))
    assert "billing" in _text(call_successfully("list_apis")).lower()


def _succeed(call: Call, name: str, arguments: JsonObject) -> JsonObject:
    result = call(name, arguments)
    assert not result.get("isError"), (name, result)
    return result


def _text(result: JsonObject) -> str:
    text: str = result["content"][0]["text"]
    return text
