"""The six tools of the documentation domain: check arguments, call the library, render."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinakes.domains.docs.library import NewSource
from pinakes.domains.docs.render import (
    render_added,
    render_nothing,
    render_passages,
    render_sources,
    render_status,
)
from pinakes.domains.docs.search import Question
from pinakes.errors import BadArgument
from pinakes.tool import Answer, Parameter, Tool

if TYPE_CHECKING:
    from pathlib import Path

    from pinakes.domains.docs.library import Library
    from pinakes.domains.docs.search import DocsSearch
    from pinakes.tool import Call

TYPES = ("overview", "guide", "endpoint", "schema", "glossary", "use-case", "reference")
_SOURCE_ID = Parameter("source_id", "string", "Id or name of the source, as list_sources shows it.")


@dataclass(frozen=True, slots=True)
class DocsTools:
    """The handlers, with what they need."""

    library: Library
    search: DocsSearch
    token_budget: int
    roots: tuple[Path, ...] = ()

    def search_docs(self, call: Call) -> Answer:
        """Passages that answer the query, quoted and cited."""
        query = call.text("query").strip()
        if not query:
            raise BadArgument("The query is empty", hint="Ask a question or name what you look for.")
        question = Question(
            query=query,
            limit=call.number("max_results"),
            source=call.text("source"),
            version=call.text("version"),
            api_name=call.text("api_name"),
            types=tuple(call.texts("types")),
        )
        found = self.search.search(question)
        if found.searched is not None:
            return Answer(render_nothing(query, found.searched, self.library.statuses()))
        return render_passages(found.passages, project_root=call.session.project_root(), token_budget=self.token_budget)

    def list_sources(self, _call: Call) -> Answer:
        """Every source and where it stands."""
        return render_sources(self.library.statuses(), token_budget=self.token_budget)

    def add_source(self, call: Call) -> Answer:
        """Record a source and start its crawl in the background."""
        root = call.session.project_root()
        added = self.library.add(
            NewSource(
                url=call.text("url"),
                name=call.text("name"),
                project_root=root,
                roots=(root, *self.roots),
                version=call.text("version"),
                include=tuple(call.texts("include")),
                exclude=tuple(call.texts("exclude")),
                max_pages=call.number("max_pages"),
                max_depth=call.number("max_depth"),
            )
        )
        for source in added.sources:
            self.library.crawls.start(source.id)
        return Answer(render_added(added, [self.library.status(source.id) for source in added.sources]))

    def remove_source(self, call: Call) -> Answer:
        """Remove a source; a running crawl of it stops."""
        source, pages, chunks = self.library.remove(call.text("source_id"))
        return Answer(f"Removed {source.name} ({source.url}): {pages} pages, {chunks} chunks.")

    def crawl_status(self, call: Call) -> Answer:
        """How far the crawl of a source is."""
        return render_status(self.library.status(call.text("source_id")), token_budget=self.token_budget)

    def recrawl_source(self, call: Call) -> Answer:
        """Crawl a source again in the background."""
        source = self.library.recrawl(call.text("source_id"), full=call.flag("full"))
        self.library.crawls.start(source.id)
        kind = "full" if call.flag("full") else "incremental"
        return Answer(
            f"Recrawling {source.name} ({source.url}), {kind}. The old index serves until the new one is whole;"
            " crawl_status tells how far it is."
        )


def docs_tools(handlers: DocsTools) -> tuple[Tool, ...]:
    """The documentation toolset."""
    return (
        Tool(
            "search_docs", "docs", "Search documentation",
            "Search the indexed documentation and API descriptions and get the passages that answer, each with a citation"
            " that opens at the right section. Use it before guessing how a library or API works.",
            (
                Parameter("query", "string", "A question or keywords; code names are matched exactly too."),
                Parameter("max_results", "integer", "How many passages at most (1-50).", 10, minimum=1, maximum=50),
                Parameter("source", "string", "Only this source (name or id).", ""),
                Parameter("version", "string", "Only sources of this version.", ""),
                Parameter("api_name", "string", "Only this API's operations and schemas.", ""),
                Parameter("types", "array", "Only these kinds of passages.", [], choices=TYPES),
            ),
            handlers.search_docs,
        ),
        Tool(
            "list_sources", "docs", "List documentation sources",
            "List the documentation sources with status, size, version and time of the last crawl.",
            (),
            handlers.list_sources,
        ),
        Tool(
            "add_source", "docs", "Add a documentation source",
            "Add documentation and index it in the background: a website, a local folder or file, an API description, an"
            " installed package (pypi:NAME, npm:NAME), or deps: for all direct dependencies of the project.",
            (
                Parameter("url", "string", "Address, path, pypi:NAME, npm:NAME or deps:."),
                Parameter("name", "string", "What to call it."),
                Parameter("version", "string", "Version that it documents.", ""),
                Parameter("include", "array", "Globs of addresses to take instead of all below the start.", []),
                Parameter("exclude", "array", "Globs of addresses to leave out.", []),
                Parameter("max_pages", "integer", "Most pages to read.", 500, minimum=1, maximum=100_000),
                Parameter("max_depth", "integer", "Most links away from the start; 0 is any.", 0, minimum=0, maximum=1_000),
            ),
            handlers.add_source, read_only=False, idempotent=False, open_world=True,
        ),
        Tool(
            "remove_source", "docs", "Remove a documentation source",
            "Remove a documentation source and all that is indexed of it; cancels its crawl.",
            (_SOURCE_ID,),
            handlers.remove_source, read_only=False, destructive=True,
        ),
        Tool(
            "crawl_status", "docs", "Crawl status",
            "Tell how far the crawl of a source is: pages done, queued, unchanged and failed with reasons, rate, time left.",
            (_SOURCE_ID,),
            handlers.crawl_status,
        ),
        Tool(
            "recrawl_source", "docs", "Recrawl a source",
            "Bring a source up to date in the background, reading only what changed; pages that vanished are dropped.",
            (_SOURCE_ID, Parameter("full", "boolean", "Read everything again.", False)),
            handlers.recrawl_source, read_only=False, open_world=True,
        ),
    )  # fmt: skip
