"""The tools `search` and `fetch`, which cover all enabled domains and belong to the memory toolset."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from deltos.config import TOOLSETS
from deltos.federation.filters import KNOWN_KINDS, parse_filters
from deltos.federation.model import SearchRequest
from deltos.federation.render import fetch_answer, search_answer
from deltos.federation.search import DEFAULT_RESULTS, MAX_RESULTS
from deltos.tool import ANY_OBJECT, Answer, Parameter, Tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.federation.search import Federation
    from deltos.tool import Call

_PROJECT_ID_HELP = "Default: the session's. Several: comma-separated, a workspace or *; memories of every project: all"


def federation_tools(federation: Federation, *, token_budget: int, has_timeline: bool = True) -> tuple[Tool, ...]:
    """Return the tools `search` and `fetch`. `has_timeline` is true if the `timeline` tool is also listed."""

    def search(call: Call) -> Answer:
        asked = SearchRequest(
            call.text("query"),
            call.session.project_root(),
            call.progress,
            project_id=call.text("project_id"),
            limit=call.number("limit"),
            filters=parse_filters(
                kind=",".join(call.texts("kind")),
                since=call.text("since"),
                until=call.text("until"),
                tag=call.text("tag"),
                now=datetime.now(UTC),
            ),
            roots=call.session.project_roots(),
        )
        found = federation.search(asked, call.texts("scope"))
        return search_answer(
            call.text("query"), found, limit=asked.limit, token_budget=token_budget, has_timeline=has_timeline
        )

    def fetch(call: Call) -> Answer:
        asked = SearchRequest("", call.session.project_root(), call.progress)
        return fetch_answer(federation.fetch(call.text("id"), asked), token_budget=token_budget)

    return (_search_tool(search), _fetch_tool(fetch))


def _search_tool(run: Callable[[Call], Answer]) -> Tool:
    return Tool(
        "search",
        "memory",
        "Search everything",
        "Search code, docs, APIs, commits and memory at once, one line each: for why, when, how to use; "
        "code alone: search_code.",
        (
            Parameter("query", "string", "A question, a name or METHOD /path"),
            Parameter("limit", "integer", "1-20", default=DEFAULT_RESULTS, minimum=1, maximum=MAX_RESULTS),
            Parameter("scope", "array", "Only these", default=[], choices=TOOLSETS, takes_text=True),
            Parameter("kind", "array", "Only these kinds", default=[], choices=KNOWN_KINDS, takes_text=True),
            Parameter("since", "string", "A day, a moment or '2 weeks ago'", default=""),
            Parameter("until", "string", "As since", default=""),
            Parameter("tag", "string", "Only with this #tag", default=""),
            Parameter("project_id", "string", _PROJECT_ID_HELP, default=""),
        ),
        run,
        output_schema=ANY_OBJECT,
    )


def _fetch_tool(run: Callable[[Call], Answer]) -> Tool:
    return Tool(
        "fetch",
        "memory",
        "Fetch",
        "Show the full text behind an id of search; a commit with its diff. A known file: read it.",
        (Parameter("id", "string", "From search"),),
        run,
        output_schema=ANY_OBJECT,
    )
