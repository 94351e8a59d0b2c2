"""Memory in the web UI: the timeline, the context of the next session, and changes to observations."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from deltos.budget import estimate_tokens
from deltos.confinement import may_recall
from deltos.domains.memory.context import session_context
from deltos.domains.memory.core.model import PERSONAL, format_id
from deltos.errors import BadArgument, NotFound
from deltos.hook_settings import HookSettings
from deltos.redaction.redact import redacted_kinds
from deltos.ui import structs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.domains.memory.core.memory import Memory, ObservationLookup
    from deltos.store.observations import Observation
    from deltos.ui.view_request import ViewRequest

PAGE_ROWS = 60  # number of observations on a page of the timeline
MAX_REDACTED_ROWS = 1_000  # maximum number of observations whose redactions are counted
_MICROSECONDS_PER_SECOND = 1_000_000  # per second
_LATEST_MOMENT = 2**62  # time in microseconds that is later than any stored time


def show_memory(request: ViewRequest) -> structs.MemoryPage:
    """Return a page of the timeline, newest first, and the context of the next session if requested."""
    memory = request.app.domains.memory
    root = request.index().project.root
    project = request.app.domains.project_with_stored_identity(root)
    keys = memory.project_keys(project.project_id)
    shows_hidden, kind, cursor = request.text("show") == "forgotten", request.text("kind"), request.text("before")
    with memory.store.snapshot():
        rows = memory.store.page(
            keys, *_parse_cursor(cursor), limit=PAGE_ROWS, kinds=(kind,) if kind else (), deleted=shows_hidden
        )
        tally = memory.store.counts_by_kind(keys)
    changed = memory.changed_places(rows, {project.project_id: root})
    is_next = request.text("show") == "next"
    context, silence = _next_session_context(request, memory, keys, project.project_id, root) if is_next else ("", "")
    return structs.MemoryPage(
        show=request.text("show"),
        memos=[_to_memo(row, changed=row.place in changed) for row in rows],
        more_before=f"{rows[-1].created_at}.{rows[-1].place}" if len(rows) == PAGE_ROWS else "",
        count=sum(live for live, _ in tally.values()),
        hidden_count=sum(hidden for _, hidden in tally.values()),
        kinds=[name for name, counts in sorted(tally.items()) if counts[shows_hidden]],
        redacted=[] if cursor else _count_redactions(memory, project.project_id),
        context=context,
        context_tokens=estimate_tokens(context),
        context_silence=silence,
    )


def _parse_cursor(cursor: str) -> tuple[int, int]:
    """Parse the cursor of the next page: the time in microseconds and the row number of the last shown observation."""
    moment, _, place = cursor.partition(".")
    numbers = [int(part) if part.isdecimal() and len(part) < 19 else 0 for part in (moment, place)]
    return (numbers[0], numbers[1]) if numbers[0] else (_LATEST_MOMENT, 0)


def _count_redactions(memory: Memory, project_id: str) -> list[structs.Fact]:
    """Return the number of redacted secrets in the newest observations, by kind of secret."""
    places = memory.store.row_numbers_with(["redacted"], at_most=MAX_REDACTED_ROWS)
    rows = [row for row in memory.store.at_row_numbers(places) if row.project_id in (project_id, PERSONAL)]
    seen = [row.text for row in rows if may_recall(row.project_id, row.folder)]
    counts = Counter(kind for text in seen for kind in redacted_kinds(text))
    return [structs.Fact(kind, str(count)) for kind, count in counts.most_common()]


def _next_session_context(
    request: ViewRequest, memory: Memory, keys: Sequence[int], project_id: str, root: Path
) -> tuple[str, str]:
    """Return the context that hooks will add to the next session, or the reason why they will add none."""
    settings = HookSettings.from_environment({**os.environ, "DELTOS_HOME": str(request.app.config.home)})
    if not settings.is_enabled:
        return "", "Hooks add nothing because the memory toolset is off. `deltos toolsets` enables it."
    if settings.is_off(project_id, root):
        return "", "Memory is off for this project. `deltos memory on` enables it."
    if not settings.context_tokens:
        return "", "Sessions start without context because DELTOS_CONTEXT_TOKENS is 0."
    context = session_context(memory, keys, root, tokens=settings.context_tokens)
    return context, "" if context else "Nothing yet."


def change_memory(request: ViewRequest) -> structs.Changed:
    """Pin, unpin, forget, restore or supersede an observation."""
    memory = request.app.domains.memory
    project_id = request.app.domains.project_with_stored_identity(request.index().project.root).project_id
    return structs.Changed(_apply_change(memory, request, project_id))


def _apply_change(memory: Memory, request: ViewRequest, project_id: str) -> str:
    change, observation_id = request.text("change"), request.text("id")
    match change:
        case "pin":
            _require_found(memory.pin_visible([observation_id], project_id=project_id), observation_id)
            return "Pinned. It is shown first in the next session."
        case "unpin":
            _require_found(memory.pin([observation_id], unpin=True, project_id=project_id), observation_id)
            return "No longer pinned."
        case "forget" | "restore":
            _require_found(
                memory.forget([observation_id], restore=change == "restore", project_id=project_id), observation_id
            )
            return "Forgotten. Answers no longer show it." if change == "forget" else "Restored."
        case "supersede":
            older, newer = memory.supersede(observation_id, request.text("by"), project_id=project_id)
            return f"{format_id(newer.id)} supersedes {format_id(older.id)}."
    raise BadArgument(f"Unknown change '{change[:40]}'", hint="Known: pin, unpin, forget, restore, supersede.")


def _require_found(lookup: ObservationLookup, observation_id: str) -> None:
    if not lookup.found:
        raise NotFound(f"There is no observation '{observation_id[:80]}'", hint="Reload the timeline.")


def _to_memo(row: Observation, *, changed: bool) -> structs.Memo:
    return structs.Memo(
        id=format_id(row.id),
        kind=row.kind,
        text=row.text,
        source=row.source,
        session=row.session_id or "",
        created_at=row.created_at / _MICROSECONDS_PER_SECOND,
        files=list(row.files),
        pinned=row.pinned_at is not None,
        superseded_by=format_id(row.superseded_by) if row.superseded_by else "",
        changed=changed,
        redacted=sorted(set(redacted_kinds(row.text))),
    )
