"""The six documentation tools: validate arguments, search or change the sources, and format answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.confinement import display_path
from deltos.domains.docs.granted_folders import granted_folders
from deltos.domains.docs.library import NewSource
from deltos.domains.docs.render import (
    render_added,
    render_nothing,
    render_other_projects,
    render_passages,
    render_removed,
    render_sources,
    render_status,
)
from deltos.domains.docs.search import DocsRequest
from deltos.domains.docs.versions import label_source
from deltos.errors import BadArgument, DeltosError
from deltos.tool import Answer, Parameter, Tool

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from deltos.domains.docs.domain import Docs
    from deltos.domains.docs.library import Library
    from deltos.store.documents import SourceRow
    from deltos.tool import Call

TYPES = ("overview", "guide", "endpoint", "schema", "glossary", "use-case", "reference")
_SOURCE = Parameter("source", "string", "Id or name", aliases=("source_id",))
_VERSION = Parameter("version", "string", "A version, latest or all", "")
_PAGE_TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class DocsTools:
    """Handlers of the documentation tools, and the objects that they need."""

    docs: Docs
    token_budget: int
    roots: tuple[Path, ...] = ()

    @property
    def _library(self) -> Library:
        return self.docs.library

    def search_docs(self, call: Call) -> Answer:
        """Answer a query with quoted passages from the documentation, and their URLs."""
        query = call.text("query").strip()
        if not query:
            raise BadArgument("The query is empty", hint="Give a question or a name.")
        root = call.session.project_root()
        question = DocsRequest(
            query=query,
            limit=call.number("max_results"),
            source=self._library.add_installed_package(call.text("source"), root, call.text("version")),
            version=call.text("version"),
            api_name=call.text("api_name"),
            types=tuple(call.texts("types")),
            roots=tuple(call.session.project_roots()),
        )
        found = self.docs.search.search(question)
        if found.searched is not None:
            apis = self.docs.search.searched_apis(question)
            statuses, note = self._library.statuses(found.excluded_ids), found.full_note
            return Answer(
                render_nothing(query, found.searched, statuses, apis, note=note, searched_ids=found.searched_ids)
            )
        return render_passages(
            found.passages,
            project_root=root,
            token_budget=self.token_budget,
            shown_before=call.excerpts.answering(query),
            note=found.full_note,
            total=found.total,
            total_is_least=found.total_is_least,
        )

    def list_sources(self, call: Call) -> Answer:
        """List every source with its status, then the API descriptions."""
        root = call.session.project_root()
        start = f"({root.as_posix().rstrip('/')}/"
        roots = call.session.project_roots()
        apis = [f"- {line.replace(start, '(', 1)}" for line in self.docs.apis.description_lines(roots).values()]
        statuses = self._library.statuses({source.id for source in self._library.sources_of_other_projects(roots)})
        lines = [*apis, *filter(None, [render_other_projects(self.docs.names_of_other_projects(roots))])]
        return render_sources(statuses, lines, project_root=root, token_budget=self.token_budget)

    def add_source(self, call: Call) -> Answer:
        """Add a source and start its crawl in the background; wait for it only if the source has a single page."""
        root = call.session.project_root()
        added = self._library.add(
            NewSource(
                url=call.text("url"),
                name=call.text("name"),
                project_root=root,
                roots=granted_folders(call.session, self.roots),
                version=call.text("version"),
                include=tuple(call.texts("include")),
                exclude=tuple(call.texts("exclude")),
                max_pages=call.number("max_pages"),
                max_depth=call.number("max_depth"),
                auth=call.text("auth"),
                shared=call.flag("shared"),
            )
        )
        notes = [note for source in added.sources if (note := self._library.crawls.start(source.id))]
        for source in added.sources:
            self._library.crawls.wait(source.id, _PAGE_TIMEOUT_SECONDS if source.max_pages == 1 else 0.0)
        statuses = [self._library.status(source.id) for source in added.sources]
        return Answer("\n".join((render_added(added, statuses, project_root=root), *notes)))

    def remove_source(self, call: Call) -> Answer:
        """Remove one or all versions of a source, and cancel its crawl."""
        name, version = call.text("source"), call.text("version")
        if api := self.docs.find_api_name(name):
            return Answer(self.docs.apis.remove(api))
        removed = self._library.remove(name, version)
        left = [known for known in self._library.sources() if known.name == removed[0].source.name]
        return Answer(render_removed(removed, left, project_root=call.session.project_root()))

    def crawl_status(self, call: Call) -> Answer:
        """Report the crawl progress of one or all versions of a source."""
        name, version = call.text("source"), call.text("version")
        if api := self.docs.find_api_name(name):
            return Answer(f"{self.docs.apis.description_lines()[api]}. API descriptions are not crawled.")
        sources = self._library.matching_sources(name, version)
        root = call.session.project_root()
        answers = [
            render_status(
                self._library.status(source.id), project_root=root, token_budget=self.token_budget // len(sources)
            )
            for source in sources
        ]
        return Answer("\n\n".join(each.text for each in answers), truncated=any(each.truncated for each in answers))

    def recrawl_source(self, call: Call) -> Answer:
        """Recrawl one or all versions of a source in the background."""
        name, version = call.text("source"), call.text("version")
        if api := self.docs.find_api_name(name):
            return Answer(self.docs.apis.refresh(api))
        sources = self._library.matching_sources(name, version)
        lines = [self._start_recrawl(source, call, is_only=len(sources) == 1) for source in sources]
        return Answer("\n".join((*lines, "crawl_status shows the progress.")))

    def _start_recrawl(self, source: SourceRow, call: Call, *, is_only: bool) -> str:
        """Start a recrawl and return a line for the user. Among several recrawls, errors are returned as text."""
        try:
            recrawl = self._library.recrawl(source.id, full=call.flag("full"))
        except DeltosError as exc:
            if is_only:
                raise
            return f"Not recrawled: {label_source(source)} ({exc.message})."
        source = recrawl.source
        shown = f"{label_source(source)} ({display_path(source.url, call.session.project_root())})"
        note = self._library.crawls.start(source.id)
        suffix = "" if not note else f" {note}"
        if recrawl.is_continued:
            return f"Continuing the crawl of {shown}.{suffix}"
        kind = "full" if call.flag("full") else "incremental"
        return f"Recrawling {shown} ({kind}). The old index is used until the crawl is complete.{suffix}"


def docs_tools(open_tools: Callable[[], DocsTools]) -> tuple[Tool, ...]:
    """Return the documentation tools; the first call of a tool opens the database."""
    return (
        Tool(
            "search_docs", "docs", "Docs",
            "Search added documentation and APIs, with citations; not for this project's code.",
            (
                Parameter("query", "string", "Question or names"),
                Parameter("source", "string", "Name or id, or pypi:NAME", "", aliases=("source_id",)),
                Parameter("max_results", "integer", "How many (1-50)", 10, minimum=1, maximum=50),
                Parameter("version", "string", "Only this version, or latest", ""),
                Parameter("api_name", "string", "Only this API", ""),
                Parameter("types", "array", "Only these kinds", [], choices=TYPES, takes_text=True),
            ),
            lambda call: open_tools().search_docs(call), always_loaded=True,
        ),
        Tool(
            "list_sources", "docs", "Sources",
            "List documentation sources.",
            (),
            lambda call: open_tools().list_sources(call),
        ),
        Tool(
            "add_source", "docs", "Add source",
            "Add a website, git repo, folder, file, API, pypi:NAME, npm:NAME or deps: (all).",
            (
                Parameter("url", "string", "Address", aliases=("source",)),
                Parameter("name", "string", "Its name", ""),
                Parameter("version", "string", "Its version", ""),
                Parameter("include", "array", "Globs to include; default: below the start", []),
                Parameter("exclude", "array", "Globs to exclude", []),
                Parameter(
                    "max_pages", "integer", "Page limit; 0: 500 of a website", 0, maximum=100_000
                ),
                Parameter(
                    "max_depth", "integer", "Link depth limit; 0: none", 0, minimum=0, maximum=1_000
                ),
                Parameter("auth", "string", "Variable DELTOS_AUTH_… with the login, or netrc", ""),
                Parameter("shared", "boolean", "Visible to all projects", False),
            ),
            lambda call: open_tools().add_source(call), read_only=False, idempotent=False, open_world=True,
        ),
        Tool(
            "remove_source", "docs", "Remove source",
            "Remove a source.",
            (_SOURCE, _VERSION),
            lambda call: open_tools().remove_source(call), read_only=False, destructive=True,
        ),
        Tool(
            "crawl_status", "docs", "Crawl",
            "Show a crawl's progress and failures.",
            (_SOURCE, _VERSION),
            lambda call: open_tools().crawl_status(call),
        ),
        Tool(
            "recrawl_source", "docs", "Recrawl",
            "Update changed pages.",
            (_SOURCE, _VERSION, Parameter("full", "boolean", "Read all pages again", False)),
            lambda call: open_tools().recrawl_source(call), read_only=False, open_world=True,
        ),
    )  # fmt: skip
