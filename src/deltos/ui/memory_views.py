"""Memory as a person sees and mends it: the timeline, what the next session will be shown, and changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.budget import estimate_tokens
from deltos.domains.memory.context import session_context
from deltos.domains.memory.model import shown_id
from deltos.errors import BadArgument, NotFound
from deltos.ui import structs

if TYPE_CHECKING:
    from deltos.domains.memory.memory import Memory, ObservationLookup
    from deltos.store.observations import Observation
    from deltos.ui.asked import Asked

PAGE_ROWS = 60
_MICROSECONDS = 1_000_000
_LATEST = 2**62


def show_memory(asked: Asked) -> structs.MemoryPage:
    """A page of the timeline, newest first, before a moment; and the context of the next session."""
    memory = asked.app.domains.memory
    root = asked.index().project.root
    project = asked.app.domains.remembered_project(root)
    keys = memory.project_keys(project.project_id)
    before = asked.text("before")
    moment = int(before) if before.isdecimal() and len(before) < 19 else _LATEST
    rows = memory.around_time(moment, project.project_id, before=PAGE_ROWS, after=0)
    changed = memory.changed_places(rows, {project.project_id: root})
    context = session_context(memory, keys, root)
    return structs.MemoryPage(
        memos=[_memo(row, changed=row.place in changed) for row in reversed(rows)],
        more_before=float(rows[0].created_at) if len(rows) == PAGE_ROWS else 0.0,
        count=memory.store.count(keys),
        sessions=len({row.session_id for row in rows}),
        context=context,
        context_tokens=estimate_tokens(context),
    )


def change_memory(asked: Asked) -> structs.Changed:
    """Pin, unpin, forget, restore or supersede."""
    memory = asked.app.domains.memory
    project_id = asked.app.domains.remembered_project(asked.index().project.root).project_id
    return structs.Changed(_change(memory, asked, project_id))


def _change(memory: Memory, asked: Asked, project_id: str) -> str:
    wanted, given = asked.text("change"), asked.text("id")
    match wanted:
        case "pin" | "unpin":
            _known(memory.pin([given], unpin=wanted == "unpin", project_id=project_id), given)
            return "Pinned: shown first in the next session." if wanted == "pin" else "No longer pinned."
        case "forget" | "restore":
            _known(memory.forget([given], restore=wanted == "restore", project_id=project_id), given)
            return "Forgotten: no answer shows it." if wanted == "forget" else "Brought back."
        case "supersede":
            older, newer = memory.supersede(given, asked.text("by"), project_id=project_id)
            return f"{shown_id(newer.id)} answers in the place of {shown_id(older.id)}."
    raise BadArgument(f"There is no change '{wanted[:40]}'", hint="Known: pin, unpin, forget, restore, supersede.")


def _known(lookup: ObservationLookup, given: str) -> None:
    if not lookup.found:
        raise NotFound(f"There is no observation '{given[:80]}'", hint="Look at the timeline again.")


def _memo(row: Observation, *, changed: bool) -> structs.Memo:
    return structs.Memo(
        id=shown_id(row.id),
        kind=row.kind,
        text=row.text,
        source=row.source,
        session=row.session_id or "",
        created_at=row.created_at / _MICROSECONDS,
        files=list(row.files),
        pinned=row.pinned_at is not None,
        superseded_by=shown_id(row.superseded_by) if row.superseded_by else "",
        changed=changed,
    )
