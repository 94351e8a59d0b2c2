"""Web page data about documentation sources and API descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from deltos.confinement import visible_location
from deltos.ui import structs

if TYPE_CHECKING:
    from deltos.domains.docs.model import SourceStatus
    from deltos.store.apis import ApiRow, UnitRow, UnreadableDocument
    from deltos.ui.view_request import ViewRequest

MAX_FAILURES = 50
MAX_OPERATIONS = 2_000
MAX_SCHEMAS = 2_000


def list_sources(request: ViewRequest) -> structs.SourcesPage:
    """Return the state of all sources, with API descriptions last."""
    apis = request.app.domains.apis.library
    unread = apis.unread_documents()
    described = [
        _api_to_source_state(row, [each for each in unread if each.source == row.source]) for row in apis.rows()
    ]
    return structs.SourcesPage([*map(_to_source_state, request.app.domains.docs.library.statuses()), *described])


def list_apis(request: ViewRequest) -> structs.ApisPage:
    """Return all APIs, with the operations and schemas of the requested API."""
    library = request.app.domains.apis.library
    name = request.text("name")
    row = library.row(name) if name else None
    units = library.store.units(row.id, ("operation", "webhook")) if row else []
    schemas = library.store.units(row.id, ("schema", "message")) if row else []
    return structs.ApisPage(
        apis=[structs.ApiSummary(row.name, row.source_name, row.operations, row.schemas) for row in library.rows()],
        name=name,
        operations=[_to_api_operation(name, unit) for unit in units[:MAX_OPERATIONS]],
        total=len(units),
        schemas=[structs.ApiSchema(f"api:{name}:{unit.key}", unit.title) for unit in schemas[:MAX_SCHEMAS]],
        schema_total=len(schemas),
    )


def _to_source_state(status: SourceStatus) -> structs.SourceState:
    source = status.source
    return structs.SourceState(
        id=source.id,
        name=source.name,
        kind=source.kind,
        url=visible_location(source.url),
        version=source.version,
        state=status.state,
        reason=status.reason,
        pages=status.pages,
        chunks=status.chunks,
        pages_done=status.pages_done,
        pages_queued=status.pages_queued,
        failures=[
            structs.FailedPath(visible_location(each.url), each.reason) for each in status.failures[:MAX_FAILURES]
        ],
        failure_count=len(status.failures),
        crawled_at=source.crawled_at,
        seconds_left=status.seconds_left,
        is_open=status.started_at > status.finished_at,
    )


def _api_to_source_state(row: ApiRow, unread: list[UnreadableDocument]) -> structs.SourceState:
    return structs.SourceState(
        id=row.name,
        name=row.name,
        kind="api",
        url=visible_location(row.source),
        version="",
        state="READY",
        reason="",
        pages=0,
        chunks=0,
        pages_done=0,
        pages_queued=0,
        failures=[structs.FailedPath(visible_location(each.document), each.reason) for each in unread[:MAX_FAILURES]],
        failure_count=len(unread),
        crawled_at=row.indexed_at,
        seconds_left=None,
        is_open=False,
        operations=row.operations,
        schemas=row.schemas,
    )


def _to_api_operation(api: str, unit: UnitRow) -> structs.ApiOperation:
    return structs.ApiOperation(
        id=f"api:{api}:{unit.key}",
        method=unit.method,
        path=unit.path,
        title=unit.title,
        tags=[str(tag) for tag in msgspec.json.decode(unit.tags)],
        deprecated=bool(unit.deprecated),
    )
