"""Measure the tokens of answers: text, structured data, and what each client passes to the model.

    python -m benchmarks.answer_tokens [FOLDER …]

Calls the tools over this repository and one other, with arguments as agents send them. docs/clients.md lists which
client passes text and which passes structured data.
"""

from __future__ import annotations

import argparse
import statistics
from collections import defaultdict
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from deltos.app import App
from deltos.budget import estimate_tokens
from deltos.config import Config
from deltos.progress import Silent
from deltos.server.structured_output import wants_structured_content
from deltos.shown_excerpts import ShownExcerpts
from deltos.tool import Answer, compact_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FLASK_FOLDER = Path("/tmp/deltos-bench/code/labelled/flask")
# For each client, named as in `clientInfo`: whether it passes structured data to the model.
CLIENTS = {"claude-code": True, "codex-mcp-client": True, "opencode": False, "gemini-cli-mcp-client": False}
Calls = list[tuple[str, dict[str, Any]]]
COMMON_CALLS: Calls = [
    ("index_repository", {}),
    ("index_repository", {"concise": True}),
    ("set_working_directory", {"directory": "."}),
    ("get_stats", {}),
    ("detect_circular", {}),
    ("remember", {"text": "We keep answers short: every token is paid for twice", "kind": "decision"}),
    ("list_sources", {}),
    ("list_apis", {}),
    ("search_code", {"query": "/zzzz_nothing_has_this/"}),
    ("search", {"query": "zzzzqq vvvvxx"}),
]
DELTOS_CALLS: Calls = [
    *(
        (name, {"query": query})
        for name in ("search_code", "search")
        for query in (
            "what limits how quickly pages of one host are requested",
            "when an editor's settings file is changed, how do the user's remarks in it survive",
            "Database.write",
            "where are secrets taken out before something is stored",
            "why are worker processes spawned and not forked",
        )
    ),
    ("search_code", {"query": "what limits how quickly pages of one host are requested", "concise": True}),
    *((name, {"symbol": "Answer"}) for name in ("find_symbol", "find_references", "get_impact", "get_context")),
]
FLASK_CALLS: Calls = [
    *(
        (name, {"query": query})
        for name in ("search_code", "search")
        for query in (
            "how is a session cookie signed",
            "where are url rules matched to view functions",
            "Flask.dispatch_request",
            "which exception is raised when a template is missing",
            "run the development server from the command line",
        )
    ),
    ("search_code", {"query": "how is a session cookie signed", "concise": True}),
    *((name, {"symbol": "Flask.dispatch_request"}) for name in ("find_references", "get_impact", "get_context")),
    ("find_symbol", {"symbol": "dispatch_request"}),
]


class ToolClient:
    """Calls tools in one session of a project. Excerpts that were already shown are repeated in full."""

    def __init__(self, app: App, root: Path) -> None:
        self._tools = {tool.name: tool for tool in app.tools()}
        self._root = root
        self.excerpts = ShownExcerpts()

    def project_root(self) -> Path:
        """Return the root of the project."""
        return self._root

    def set_project_root(self, root: Path) -> None:
        """Do nothing: the project of a benchmark session is fixed."""

    def project_roots(self) -> tuple[Path, ...]:
        """Return a list that contains only the root of the project."""
        return (self._root,)

    def set_project_roots(self, roots: Sequence[Path]) -> None:
        """Do nothing: the project of a benchmark session is fixed."""

    def granted_roots(self) -> tuple[Path, ...]:
        """Return the project as the only granted folder."""
        return (self._root,)

    def call(self, name: str, arguments: dict[str, Any]) -> Answer:
        """Call a tool and return its answer."""
        return self._tools[name].answer(arguments, self, Silent(), repeat=True)


def visible_answer(client: str, answer: Answer, *, as_sent: bool = True) -> str:
    """Return the part of an answer that a client passes to the model.

    With `as_sent=False`, return this part as if Deltos sent structured data to every client.
    """
    sent = answer.structured if wants_structured_content(client) or not as_sent else None
    return compact_json(sent) if sent is not None and CLIENTS[client] else answer.text


def call_tools(root: Path, calls: Calls) -> Iterator[tuple[str, Answer]]:
    """Yield the name and the answer of each called tool. The first result of `search` is also fetched."""
    with TemporaryDirectory() as home, closing(App(Config(Path(home)))) as app:
        app.domains.projects.index_of(root).index()
        client = ToolClient(app, root)
        for name, arguments in [*COMMON_CALLS, *calls]:
            answer = client.call(name, arguments)
            yield name + (" (concise)" if arguments.get("concise") else ""), answer
            if name == "search" and answer.structured and answer.structured["results"]:
                yield "fetch", client.call("fetch", {"id": answer.structured["results"][0]["id"]})


def print_table(root: Path, calls: Calls) -> None:
    """Print the median tokens by tool, and the total tokens by client."""
    by_tool: dict[str, list[Answer]] = defaultdict(list)
    for name, answer in call_tools(root, calls):
        by_tool[name].append(answer)
    print(f"\n{root.name}\n\n| tool | answers | text | data | data / text |\n|---|--:|--:|--:|--:|")
    for name, found in by_tool.items():
        text = statistics.median(estimate_tokens(each.text) for each in found)
        with_data = [each for each in found if each.structured is not None]
        data = statistics.median(_count_data_tokens(each) for each in with_data) if with_data else 0
        row = [name, str(len(found)), f"{text:,.0f}", "–", "–"]
        if with_data:
            total = sum(estimate_tokens(each.text) for each in with_data)
            row[3:] = [f"{data:,.0f}", f"{sum(map(_count_data_tokens, with_data)) / total:.2f}"]
        print(f"| {' | '.join(row)} |")
    every = [answer for found in by_tool.values() for answer in found]
    print("\n| client | passes | tokens with data for all | tokens as sent |\n|---|---|--:|--:|")
    for client, shows_data in CLIENTS.items():
        before, now = (
            sum(estimate_tokens(visible_answer(client, each, as_sent=sent)) for each in every) for sent in (False, True)
        )
        print(f"| {client} | {'data' if shows_data else 'text'} | {before:,} | {now:,} |")


def _count_data_tokens(answer: Answer) -> int:
    return estimate_tokens(compact_json(answer.structured or {}))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="*", type=Path, help="projects for the second list of calls (default: flask)")
    here = Path(__file__).resolve().parent.parent
    print_table(here, DELTOS_CALLS)
    for folder in parser.parse_args().folders or [FLASK_FOLDER]:
        print_table(folder.resolve(), FLASK_CALLS)


if __name__ == "__main__":
    main()
