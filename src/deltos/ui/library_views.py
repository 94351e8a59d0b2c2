"""Sources of documentation and API descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from deltos.confinement import told
from deltos.ui import structs

if TYPE_CHECKING:
    from deltos.domains.docs.model import SourceStatus
    from deltos.store.apis import UnitRow
    from deltos.ui.asked import Asked

MOST_FAILURES = 50
MOST_OPERATIONS = 2_000


def list_sources(asked: Asked) -> structs.SourcesPage:
    """Where every source stands."""
    return structs.SourcesPage([_source(status) for status in asked.app.domains.docs.library.statuses()])


def list_apis(asked: Asked) -> structs.ApisPage:
    """All APIs, and the operations of one."""
    library = asked.app.domains.apis.library
    name = asked.text("name")
    units = library.store.units(library.row(name).id, ("operation", "webhook")) if name else []
    return structs.ApisPage(
        apis=[structs.ApiSummary(row.name, row.source_name, row.operations, row.schemas) for row in library.rows()],
        name=name,
        operations=[_operation(name, unit) for unit in units[:MOST_OPERATIONS]],
        total=len(units),
    )


def _source(status: SourceStatus) -> structs.SourceState:
    source = status.source
    return structs.SourceState(
        id=source.id,
        name=source.name,
        kind=source.kind,
        url=told(source.url),
        version=source.version,
        state=status.state,
        reason=status.reason,
        pages=status.pages,
        chunks=status.chunks,
        pages_done=status.pages_done,
        pages_queued=status.pages_queued,
        failures=[structs.FailedPath(told(each.url), each.reason) for each in status.failures[:MOST_FAILURES]],
        failure_count=len(status.failures),
        crawled_at=source.crawled_at,
        seconds_left=status.seconds_left,
        is_open=status.started_at > status.finished_at,
    )


def _operation(api: str, unit: UnitRow) -> structs.ApiOperation:
    return structs.ApiOperation(
        id=f"api:{api}:{unit.key}",
        method=unit.method,
        path=unit.path,
        title=unit.title,
        tags=[str(tag) for tag in msgspec.json.decode(unit.tags)],
        deprecated=unit.deprecated,
    )
