"""Table of the functions that return data for the web page or apply changes. Results are sent as JSON."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from deltos import __version__
from deltos.budget import estimate_tokens
from deltos.confinement import may_read, may_recall_all, visible_location
from deltos.errors import BadArgument, NotFound
from deltos.federation.filters import parse_filters
from deltos.federation.model import SearchRequest
from deltos.federation.render import fetch_answer, search_answer
from deltos.federation.search import DEFAULT_RESULTS, MAX_RESULTS, NOT_FILTERED
from deltos.progress import Silent
from deltos.ui import structs
from deltos.ui.contract_views import show_contracts
from deltos.ui.explore_view import explore
from deltos.ui.graph_views import draw_symbol, map_modules, map_symbols
from deltos.ui.health_views import last_calls, project_health
from deltos.ui.library_views import list_apis, list_sources
from deltos.ui.memory_views import change_memory, show_memory
from deltos.ui.review_view import review_changes
from deltos.ui.team_views import change_job, list_tokens, show_team
from deltos.ui.view_request import ViewRequest
from deltos.workspace.project_lookup import unique_project_name
from deltos.workspace.project_names import shortest_names

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from deltos.app import App
    from deltos.federation.model import Hit
    from deltos.federation.search import FederatedResults
    from deltos.store.project import KnownIndex
    from deltos.tool import JsonObject, Session
    from deltos.workspace.projects import Projects

MAX_FAILURES = 100
TOKENS = "tokens"  # name of the view that only administrators may open
# Toolsets and kind of results of each search tab.
TABS = {
    "": ((), ""),
    "code": (("code",), ""),
    "doc": (("docs",), ""),
    "api": (("apis",), ""),
    "obs": (("memory",), ""),
    "commit": (("code", "graph"), "commit"),
}


class Views:
    """Handler of the web page's requests for data and changes. The HTTP routes check permissions."""

    def __init__(self, app: App) -> None:
        self._app = app

    def show(self, name: str, given: Mapping[str, str], session: Session) -> bytes:
        """Return the data of the page's view `name` as JSON."""
        return self._answer(_VIEWS, name, given, session)

    def change(self, name: str, given: Mapping[str, str], session: Session) -> bytes:
        """Apply the change `name` and return its confirmation as JSON."""
        return self._answer(_CHANGES, name, given, session)

    def _answer(
        self, views_by_name: Mapping[str, View], name: str, parameters: Mapping[str, str], session: Session
    ) -> bytes:
        if name not in views_by_name:
            raise NotFound(f"There is no view '{name[:100]}'", hint=f"Known: {', '.join(views_by_name)}.")
        view = views_by_name[name]
        if view.toolset and view.toolset not in self._app.config.toolsets:
            raise NotFound(
                f"There is no view '{name}': the toolset '{view.toolset}' is off",
                hint="`deltos toolsets` enables it.",
            )
        return msgspec.json.encode(view.show(ViewRequest(self._app, session, parameters)))


def page_state(request: ViewRequest) -> structs.PageState:
    """Return the initial state of the page. The HTTP routes add the level and the CSRF token."""
    root = request.session.project_root().resolve()
    indexes = [known for known in request.app.domains.projects.stores.indexed_projects() if may_read(known.root)]
    # A project in a parent folder does not count, because requests for this folder do not search it.
    projects = _label_projects(indexes, root, request.app.domains.projects)
    return structs.PageState(
        version=__version__,
        project=projects.get(root) or _unknown_project_entry(root),
        projects=list(projects.values()),
        toolsets=list(request.app.config.toolsets),
        level="",
        csrf="",
        is_shared=bool(request.app.config.database),
    )


def search(request: ViewRequest) -> structs.SearchPage:
    """Return the results and answer text of the `search` tool."""
    started = time.perf_counter()
    tab = request.text("tab")
    if tab not in TABS:
        raise BadArgument(f"There is no tab '{tab[:40]}'", hint=f"Known: {', '.join(TABS)}.")
    scope, kind = TABS[tab]
    config = request.app.config
    enabled = [name for name in scope if name in config.toolsets]
    if scope and not enabled:  # an empty scope would search everything
        raise BadArgument(f"The toolset '{scope[0]}' is off", hint="`deltos toolsets` enables it.")
    search_request = SearchRequest(
        request.text("q"),
        request.session.project_root(),
        Silent(),
        project_id=request.text("project"),
        limit=request.number("limit", DEFAULT_RESULTS, MAX_RESULTS),
        filters=parse_filters(kind=kind, since="", until="", tag="", now=datetime.now(UTC)),
    )
    results = request.app.federation.search(search_request, enabled)
    answer = search_answer(
        search_request.query,
        results,
        limit=search_request.limit,
        token_budget=config.token_budget,
        has_timeline=config.profile != "lean",
    )
    return structs.SearchPage(
        query=search_request.query,
        results=_to_results(answer.structured or {}, results, tab),
        total=results.total,
        total_is_least=results.total_is_least,
        searched=list(results.searched),
        # Notes about filters would be confusing, because the user chose only a tab.
        notes=[note for note in results.notes if not note.startswith(NOT_FILTERED)],
        most_results=MAX_RESULTS,
        agent_text=answer.text,
        tokens=estimate_tokens(answer.text),
        milliseconds=round(1000 * (time.perf_counter() - started)),
    )


def fetch(request: ViewRequest) -> structs.FetchedText:
    """Return the full text of a result, and the excerpt that an agent receives."""
    search_request = SearchRequest("", request.session.project_root(), Silent())
    document = request.app.federation.fetch(request.text("id"), search_request)
    answer = fetch_answer(document, token_budget=request.app.config.token_budget)
    kind = document.id.partition(":")[0]
    path = str(document.metadata.get("path", "")) if kind == "code" else ""
    line = int(document.metadata.get("start_line", 0) or 0)
    return structs.FetchedText(
        id=document.id,
        kind=kind,
        title=document.title,
        url=document.url,
        text=document.text,
        facts=[
            structs.Fact(name, _to_text(value)) for name, value in document.metadata.items() if value not in ("", None)
        ],
        path=path,
        file=_absolute_path(request, str(document.metadata.get("project_id", "")), path) if path else "",
        line=line,
        agent_text=answer.text,
        tokens=estimate_tokens(answer.text),
        truncated=answer.truncated,
    )


def known_project(known: KnownIndex) -> structs.KnownProject:
    """Convert an index to an entry of the project list."""
    return structs.KnownProject(
        id=known.project_id,
        name=known.root.name,
        root=visible_location(str(known.root)),
        files=known.files,
        size_bytes=known.size_bytes,
        synced_at=known.synced_at,
        history=known.history,
        exists=known.root.is_dir(),
        failures=[structs.FailedPath(each.path, each.reason) for each in known.failures[:MAX_FAILURES]],
        failure_count=len(known.failures),
    )


def _label_projects(
    indexes: Sequence[KnownIndex], current: Path, projects: Projects
) -> dict[Path, structs.KnownProject]:
    """Return the projects with unique names and ids, by folder.

    Clones and worktrees of a repository share its project id. Only one of them keeps the id: the `current` folder, or
    the folder that was indexed last.
    """
    names = shortest_names(known.root for known in indexes)
    owners: dict[str, Path] = {}
    for known in indexes:
        if projects.is_available(known.root):
            owners.setdefault(known.project_id, known.root)
    owners |= {own: current for own in owners if projects.has_id(current, own)}
    return {
        known.root: msgspec.structs.replace(
            known_project(known),
            name=names[known.root],
            id=known.project_id if owners.get(known.project_id) == known.root else unique_project_name(known.root),
        )
        for known in indexes
    }


def _unknown_project_entry(root: Path) -> structs.KnownProject:
    return structs.KnownProject("", root.name, visible_location(str(root)), 0, 0, 0.0, "", root.is_dir(), [], 0)


def _to_results(answer: JsonObject, results: FederatedResults, tab: str) -> list[structs.Result]:
    hits = {ranked.hit.id: ranked.hit for ranked in results.ranked}
    listed = [_to_result(line, hits[line["id"]]) for line in answer.get("results", ())]
    return [result for result in listed if result.kind == tab] if tab else listed


def _to_result(line: JsonObject, hit: Hit) -> structs.Result:
    first_line = hit.url.rpartition("#L")[2].partition("-")[0] if hit.kind == "code" else ""
    return structs.Result(
        id=hit.id,
        kind=hit.kind,
        title=line["title"],
        url=line["url"],
        snippet=line["snippet"],
        source=line["source"],
        created_at=line["created_at"] or "",
        score=line["score"],
        path=hit.path if hit.kind == "code" else "",
        line=int(first_line) if first_line.isdecimal() else 0,
    )


def _absolute_path(request: ViewRequest, project_id: str, path: str) -> str:
    """Return the absolute path of a file, or an empty string if the caller may not see local paths."""
    root = request.app.domains.projects.find(project_id, request.session.project_root()).project.root
    return f"{root}/{path}" if visible_location(str(root)) == str(root) and may_recall_all() else ""


def _to_text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)


@dataclass(frozen=True, slots=True)
class View:
    """A view of the web page: the function that returns the data, and the required toolset, if any."""

    show: Callable[[ViewRequest], msgspec.Struct]
    toolset: str = ""


_VIEWS = {
    "state": View(page_state),
    "search": View(search),
    "explore": View(explore, "code"),
    "fetch": View(fetch),
    "health": View(project_health),
    "calls": View(last_calls),
    "team": View(show_team),
    TOKENS: View(list_tokens),
    "memory": View(show_memory, "memory"),
    "sources": View(list_sources, "docs"),
    "apis": View(list_apis, "apis"),
    "modules": View(map_modules, "graph"),
    "graph": View(draw_symbol, "graph"),
    "symbols": View(map_symbols, "graph"),
    "review": View(review_changes, "graph"),
    "contracts": View(show_contracts, "graph"),
}
_CHANGES = {"memory": View(change_memory, "memory"), "job": View(change_job)}
