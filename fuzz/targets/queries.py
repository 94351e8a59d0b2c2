"""Queries for every search, and arguments for every tool."""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from fuzz.target import OpenedTarget, Run, Target, without_cleanup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from fuzz.targets.tool_client import ToolClient

# These tools start work that continues after the call, or use the network.
_NOT_CALLED = frozenset(("add_source", "recrawl_source"))
_QUERY = (
    b"how does ", b"where is ", b"class ", b"def ", b'"', b"'", b"`", b"/", b"\\", b"(", b")", b"[", b"]", b"{", b"}", b"*", b"+", b"?", b"|", b"^", b"$", b".*", b"(?i)", b"(?=a)",
    b"AND", b"OR", b"NOT", b"NEAR(", b"path:", b"file:", b"kind:", b"::", b".", b"_", b"-", b"rounded", b"Ledger.add", b"billing.py:11", b"GET /entries", b"Error: ", b"yesterday",
    b"\n", b"\n```\n", b"\n### Environment\n", b"<!--", b"-->", b'File "billing.py", line 11, in add', b"at add (billing.py:11:3)", b"- [x] ",
)  # fmt: skip
_DATES = (
    b"yesterday", b"today", b"last week", b"two weeks ago", b"on monday", b"in march", b"march 2024", b"2024-02-30", b"2024-13-01", b"0000-00-00", b"9999-12-31", b"99999 years ago",
    b"1000000000000 days ago", b"last ", b"since ", b"between ", b" and ", b"31 february", b"feb 29 2023", b"year 0", b"q1 2024", b"in 2019", b"a month ago", b"10 years",
)  # fmt: skip


def targets() -> Iterator[Target]:
    """Return one target per search, and one for the arguments of all tools."""
    for name, ask in _SEARCHES.items():
        yield Target(f"query-{name}", _with_tools(ask), ("queries",), (), _QUERY, max_bytes=20_000)
    yield Target("dates", without_cleanup(_open_dates), ("dates", "queries"), (), _DATES, max_bytes=20_000)
    yield Target(
        "tool-arguments",
        _with_tools(_call),
        ("tool-arguments",),
        (),
        (b'"query"', b'"limit"', b'"symbol"', b'"maxResults"', b'"ids"', b'"types"', b'"since"'),
        is_json=True,
        max_bytes=50_000,
    )


def _ask_code(client: ToolClient, text: str) -> None:
    client.call("search_code", query=text)


def _ask_graph(client: ToolClient, text: str) -> None:
    for tool in ("find_symbol", "find_references", "get_impact", "get_context"):
        _call_ignoring_errors(client, tool, symbol=text)
    _call_ignoring_errors(client, "find_symbol", symbol="rounded", path=text, kind=text[:40])


def _ask_docs(client: ToolClient, text: str) -> None:
    client.call("search_docs", query=text)
    _call_ignoring_errors(client, "search_docs", query="entry", source=text, version=text)


def _ask_apis(client: ToolClient, text: str) -> None:
    _call_ignoring_errors(client, "search_docs", query=text, api_name="billing")
    _call_ignoring_errors(client, "get_api_endpoints", api_name="billing", path=text, tag=text)
    _call_ignoring_errors(client, "get_api_endpoints", api_name=text)


def _ask_memory(client: ToolClient, text: str) -> None:
    _call_ignoring_errors(client, "search", query=text, scope="memory")
    _call_ignoring_errors(client, "timeline", around=text)
    _call_ignoring_errors(client, "search", query="round", since=text, until=text, tag=text)


def _ask_all(client: ToolClient, text: str) -> None:
    _call_ignoring_errors(client, "search", query=text)
    _call_ignoring_errors(client, "fetch", id=text)


def _call(client: ToolClient, text: str) -> None:
    try:
        call = json.loads(text)
    except (ValueError, RecursionError):
        return
    name, arguments = (call.get("name"), call.get("arguments")) if isinstance(call, dict) else (None, None)
    if isinstance(name, str) and name in client.tools and name not in _NOT_CALLED and isinstance(arguments, dict):
        client.call(name, **{str(key): value for key, value in arguments.items()})


_SEARCHES: dict[str, Callable[[ToolClient, str], None]] = {
    "code": _ask_code, "graph": _ask_graph, "docs": _ask_docs, "apis": _ask_apis, "memory": _ask_memory, "all": _ask_all,
}  # fmt: skip


def _call_ignoring_errors(client: ToolClient, name: str, **arguments: Any) -> None:
    from deltos.errors import DeltosError

    with suppress(DeltosError):  # An expected error does not stop the remaining calls.
        client.call(name, **arguments)


def _with_tools(ask: Callable[[ToolClient, str], None]) -> Callable[[Path], AbstractContextManager[OpenedTarget]]:
    """Open all tools on a small project.

    Access to other folders is refused, so that no argument can cause the whole disk to be indexed.
    """

    @contextmanager
    def open_target(scratch: Path) -> Iterator[OpenedTarget]:
        from deltos.app import App
        from deltos.config import Config
        from deltos.confinement import Confinement, confined
        from fuzz.targets.small_project import write_project
        from fuzz.targets.tool_client import ToolClient

        root = write_project(scratch / "project")
        app = App(Config(home=scratch / "home"))
        client = ToolClient(app.tools(), root)
        client.call("index_repository", repo_path=str(root))
        client.call("remember", text="We decided to round to whole cents in billing.py", kind="decision")
        app.domains.apis.indexer.add((root / "openapi.yaml").as_posix(), "billing")
        app.domains.docs.library  # noqa: B018 (opened before calls are confined)

        def run(data: bytes) -> None:
            with confined(Confinement((root.resolve(),))):
                ask(client, data.decode("utf-8", "replace"))

        yield OpenedTarget(run)
        app.close()

    return open_target


def _open_dates(_scratch: Path) -> Run:
    from datetime import UTC, datetime

    from deltos.federation.intent import intent_of
    from deltos.text.dates import mentioned_spans

    now = datetime(2025, 5, 14, 12, 0, tzinfo=UTC)

    def run(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        mentioned_spans(text, now)
        intent_of(text)

    return run
