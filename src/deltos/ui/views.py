"""What the page shows and changes, by name: each view asks what a tool asks, and answers with a struct as JSON."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from deltos import __version__
from deltos.budget import estimate_tokens
from deltos.confinement import may_read, may_recall_all, told
from deltos.errors import BadArgument, NotFound
from deltos.federation.filters import parse_filters
from deltos.federation.model import SearchRequest
from deltos.federation.render import fetch_answer, search_answer
from deltos.federation.search import DEFAULT_RESULTS, MAX_RESULTS, NOT_FILTERED
from deltos.progress import Silent
from deltos.ui import structs
from deltos.ui.asked import Asked
from deltos.ui.graph_views import draw_symbol, map_modules, map_symbols
from deltos.ui.health_views import last_calls, project_health
from deltos.ui.library_views import list_apis, list_sources
from deltos.ui.memory_views import change_memory, show_memory
from deltos.ui.team_views import change_job, list_tokens, show_team
from deltos.workspace.names import names_of
from deltos.workspace.registry import exact_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from deltos.app import App
    from deltos.federation.model import Hit
    from deltos.federation.search import FederatedResults
    from deltos.store.project import KnownIndex
    from deltos.tool import JsonObject, Session
    from deltos.workspace.projects import Projects

MOST_FAILURES = 100
TOKENS = "tokens"  # for those who may make some
# How the tabs of the search narrow it: to toolsets, and to a kind.
TABS = {
    "": ((), ""),
    "code": (("code",), ""),
    "doc": (("docs",), ""),
    "api": (("apis",), ""),
    "obs": (("memory",), ""),
    "commit": (("code", "graph"), "commit"),
}


class Views:
    """Everything that the page can ask for; the surface decides who may."""

    def __init__(self, app: App) -> None:
        self._app = app

    def show(self, name: str, given: Mapping[str, str], session: Session) -> bytes:
        """The view called `name`, as JSON."""
        return self._answer(_VIEWS, name, given, session)

    def change(self, name: str, given: Mapping[str, str], session: Session) -> bytes:
        """Make the change called `name`; what was done, as JSON."""
        return self._answer(_CHANGES, name, given, session)

    def _answer(self, known: Mapping[str, View], name: str, given: Mapping[str, str], session: Session) -> bytes:
        if name not in known:
            raise NotFound(f"There is no view '{name[:100]}'", hint=f"Known: {', '.join(known)}.")
        view = known[name]
        if view.toolset and view.toolset not in self._app.config.toolsets:
            raise NotFound(
                f"There is no view '{name}': the toolset '{view.toolset}' is off",
                hint="`deltos toolsets` switches it on.",
            )
        return msgspec.json.encode(view.show(Asked(self._app, session, given)))


def page_state(asked: Asked) -> structs.PageState:
    """What the page knows from the start. The surface adds who may what."""
    root = asked.session.project_root().resolve()
    indexes = [known for known in asked.app.domains.projects.stores.known() if may_read(known.root)]
    # One around the folder is another project: nothing that is asked about the folder looks there.
    projects = _told_apart(indexes, root, asked.app.domains.projects)
    return structs.PageState(
        version=__version__,
        project=projects.get(root) or _unknown_project(root),
        projects=list(projects.values()),
        toolsets=list(asked.app.config.toolsets),
        level="",
        csrf="",
        is_shared=bool(asked.app.config.database),
    )


def search(asked: Asked) -> structs.SearchPage:
    """What `search` answers, and its text."""
    started = time.perf_counter()
    tab = asked.text("tab")
    if tab not in TABS:
        raise BadArgument(f"There is no tab '{tab[:40]}'", hint=f"Known: {', '.join(TABS)}.")
    scope, kind = TABS[tab]
    config = asked.app.config
    enabled = [name for name in scope if name in config.toolsets]
    if scope and not enabled:  # an empty scope would mean everything
        raise BadArgument(f"The toolset '{scope[0]}' is off", hint="`deltos toolsets` switches it on.")
    request = SearchRequest(
        asked.text("q"),
        asked.session.project_root(),
        Silent(),
        project_id=asked.text("project"),
        limit=asked.number("limit", DEFAULT_RESULTS, MAX_RESULTS),
        filters=parse_filters(kind=kind, since="", until="", tag="", now=datetime.now(UTC)),
    )
    found = asked.app.federation.search(request, enabled)
    answer = search_answer(
        request.query,
        found,
        limit=request.limit,
        token_budget=config.token_budget,
        has_timeline=config.profile != "lean",
    )
    return structs.SearchPage(
        query=request.query,
        results=_results(answer.structured or {}, found, tab),
        total=found.total,
        total_is_least=found.total_is_least,
        searched=list(found.searched),
        # A tab narrows by itself: who chose one asked for no kind, time or tag.
        notes=[note for note in found.notes if not note.startswith(NOT_FILTERED)],
        most_results=MAX_RESULTS,
        agent_text=answer.text,
        tokens=estimate_tokens(answer.text),
        milliseconds=round(1000 * (time.perf_counter() - started)),
    )


def fetch(asked: Asked) -> structs.Document:
    """What `fetch` answers: the whole text, and what of it the agent gets."""
    request = SearchRequest("", asked.session.project_root(), Silent())
    whole = asked.app.federation.fetch(asked.text("id"), request)
    answer = fetch_answer(whole, token_budget=asked.app.config.token_budget)
    kind = whole.id.partition(":")[0]
    path = str(whole.metadata.get("path", "")) if kind == "code" else ""
    line = int(whole.metadata.get("start_line", 0) or 0)
    return structs.Document(
        id=whole.id,
        kind=kind,
        title=whole.title,
        url=whole.url,
        text=whole.text,
        facts=[structs.Fact(name, _spoken(value)) for name, value in whole.metadata.items() if value not in ("", None)],
        path=path,
        file=_absolute(asked, str(whole.metadata.get("project_id", "")), path) if path else "",
        line=line,
        agent_text=answer.text,
        tokens=estimate_tokens(answer.text),
        truncated=answer.truncated,
    )


def known_project(known: KnownIndex) -> structs.KnownProject:
    """A project as lists show it."""
    return structs.KnownProject(
        id=known.project_id,
        name=known.root.name,
        root=told(str(known.root)),
        files=known.files,
        size_bytes=known.size_bytes,
        synced_at=known.synced_at,
        history=known.history,
        exists=known.root.is_dir(),
        failures=[structs.FailedPath(each.path, each.reason) for each in known.failures[:MOST_FAILURES]],
        failure_count=len(known.failures),
    )


def _told_apart(indexes: Sequence[KnownIndex], current: Path, projects: Projects) -> dict[Path, structs.KnownProject]:
    """Projects by their folder, each with a name and an id of its own: clones and worktrees of one repository share
    that of the repository, which means the `current` one of them, or else the one indexed last."""
    names = names_of(known.root for known in indexes)
    owners: dict[str, Path] = {}
    for known in indexes:
        if projects.is_there(known.root):
            owners.setdefault(known.project_id, known.root)
    owners |= {own: current for own in owners if projects.has_id(current, own)}
    return {
        known.root: msgspec.structs.replace(
            known_project(known),
            name=names[known.root],
            id=known.project_id if owners.get(known.project_id) == known.root else exact_name(known.root),
        )
        for known in indexes
    }


def _unknown_project(root: Path) -> structs.KnownProject:
    return structs.KnownProject("", root.name, told(str(root)), 0, 0, 0.0, "", root.is_dir(), [], 0)


def _results(answer: JsonObject, found: FederatedResults, tab: str) -> list[structs.Result]:
    hits = {ranked.hit.id: ranked.hit for ranked in found.ranked}
    listed = [_result(line, hits[line["id"]]) for line in answer.get("results", ())]
    return [result for result in listed if result.kind == tab] if tab else listed


def _result(line: JsonObject, hit: Hit) -> structs.Result:
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


def _absolute(asked: Asked, project_id: str, path: str) -> str:
    """Where a file lies on this machine; empty for callers who learn no folders of it."""
    root = asked.app.domains.projects.find(project_id, asked.session.project_root()).project.root
    return f"{root}/{path}" if told(str(root)) == str(root) and may_recall_all() else ""


def _spoken(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)


@dataclass(frozen=True, slots=True)
class View:
    """What can be asked for, and the toolset that must be on for it; none for what holds for all of them."""

    show: Callable[[Asked], msgspec.Struct]
    toolset: str = ""


_VIEWS = {
    "state": View(page_state),
    "search": View(search),
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
}
_CHANGES = {"memory": View(change_memory, "memory"), "job": View(change_job)}
