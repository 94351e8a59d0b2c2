"""Web page data about index statistics and recent tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.confinement import may_recall_all, visible_location
from deltos.domains.graph.languages import FAMILIES
from deltos.errors import Forbidden
from deltos.store.calls import MAX_CALLS
from deltos.ui import structs

if TYPE_CHECKING:
    from deltos.ui.view_request import ViewRequest

MAX_FAILURES = 200
_RESOLVED_LANGUAGES = frozenset(name for family in FAMILIES for name in family.languages)


def project_health(request: ViewRequest) -> structs.ProjectHealth:
    """Return index statistics of a project: size, languages, references and failures."""
    index = request.index()

    def read(notes: tuple[str, ...]) -> structs.ProjectHealth:
        store, root = index.store, index.project.root
        totals, counts = store.totals(), store.graph.counts()
        failures = store.failures()
        known = next(
            (each for each in request.app.domains.projects.stores.indexed_projects() if each.root == root), None
        )
        project = structs.KnownProject(
            id=index.project.project_id,
            name=root.name,
            root=visible_location(str(root)),
            files=totals.files,
            size_bytes=known.size_bytes if known else 0,
            synced_at=known.synced_at if known else 0.0,
            history=known.history if known else "",
            exists=True,
            failures=[structs.FailedPath(each.path, each.reason) for each in failures[:MAX_FAILURES]],
            failure_count=len(failures),
        )
        languages = [
            structs.LanguageShare(name or "other", files, is_resolved=name in _RESOLVED_LANGUAGES)
            for name, files in sorted(totals.languages.items(), key=lambda item: (-item[1], item[0]))
        ]
        return structs.ProjectHealth(
            project=project,
            lines=totals.lines,
            languages=languages,
            skipped=[structs.Fact(reason, str(count)) for reason, count in totals.skipped.items()],
            symbols=sum(counts.symbols_by_kind.values()),
            edges=sum(counts.edges_by_kind.values()),
            possible_edges=counts.possible,
            imports=counts.imports,
            unresolved_imports=counts.unresolved_imports,
            notes=list(notes),
        )

    return index.answer(lambda freshness: read(freshness.notes))


def last_calls(request: ViewRequest) -> structs.RecentCalls:
    """Return the recent calls of all clients on this machine. Only callers that may read all projects are allowed."""
    if not may_recall_all():
        raise Forbidden(
            "This token does not permit reading the calls of other clients", hint="Use a token for all projects."
        )
    newest = request.app.calls.newest(MAX_CALLS) if request.app.calls else None
    if newest is None:
        return structs.RecentCalls(kept=False, most=MAX_CALLS, calls=[])
    calls = [
        structs.ToolCall(
            at=each.at,
            tool=each.tool,
            client=each.client,
            arguments=each.arguments,
            milliseconds=round(each.seconds * 1000, 1),
            tokens=each.tokens,
            original_tokens=each.original_tokens,
            is_error=each.is_error,
        )
        for each in newest
    ]
    return structs.RecentCalls(kept=True, most=MAX_CALLS, calls=calls)
