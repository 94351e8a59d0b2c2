"""Memory as a person sees and mends it: the timeline, what the next session will be shown, and changes."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from deltos.budget import estimate_tokens
from deltos.confinement import may_recall
from deltos.domains.memory.context import session_context
from deltos.domains.memory.model import PERSONAL, shown_id
from deltos.domains.memory.redact import redacted_kinds
from deltos.errors import BadArgument, NotFound
from deltos.hook_settings import HookSettings
from deltos.ui import structs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.domains.memory.memory import Memory, ObservationLookup
    from deltos.store.observations import Observation
    from deltos.ui.asked import Asked

PAGE_ROWS = 60
MOST_REDACTED_ROWS = 1_000  # of the newest that name a redaction, for the counts by kind
_MICROSECONDS = 1_000_000
_LATEST = 2**62


def show_memory(asked: Asked) -> structs.MemoryPage:
    """A page of the timeline, newest first: what is live, or what was forgotten; or the next session's context."""
    memory = asked.app.domains.memory
    root = asked.index().project.root
    project = asked.app.domains.remembered_project(root)
    keys = memory.project_keys(project.project_id)
    forgotten, kind, cursor = asked.text("show") == "forgotten", asked.text("kind"), asked.text("before")
    with memory.store.snapshot():
        rows = memory.store.page(
            keys, *_moment(cursor), limit=PAGE_ROWS, kinds=(kind,) if kind else (), forgotten=forgotten
        )
        tally = memory.store.tally(keys)
    changed = memory.changed_places(rows, {project.project_id: root})
    is_next = asked.text("show") == "next"
    context, silence = _next_context(asked, memory, keys, project.project_id, root) if is_next else ("", "")
    return structs.MemoryPage(
        show=asked.text("show"),
        memos=[_memo(row, changed=row.place in changed) for row in rows],
        more_before=f"{rows[-1].created_at}.{rows[-1].place}" if len(rows) == PAGE_ROWS else "",
        count=sum(live for live, _ in tally.values()),
        forgotten=sum(hidden for _, hidden in tally.values()),
        kinds=[name for name, counts in sorted(tally.items()) if counts[forgotten]],
        redacted=[] if cursor else _redacted(memory, project.project_id),
        context=context,
        context_tokens=estimate_tokens(context),
        context_silence=silence,
    )


def _moment(cursor: str) -> tuple[int, int]:
    """The moment that a cursor names, in microseconds or with the place of an observation: pages end before it."""
    moment, _, place = cursor.partition(".")
    numbers = [int(part) if part.isdecimal() and len(part) < 19 else 0 for part in (moment, place)]
    return (numbers[0], numbers[1]) if numbers[0] else (_LATEST, 0)


def _redacted(memory: Memory, project_id: str) -> list[structs.Fact]:
    """What was redacted in the newest observations that name it, by kind."""
    places = memory.store.places_with(["redacted"], at_most=MOST_REDACTED_ROWS)
    rows = [row for row in memory.store.at_places(places) if row.project_id in (project_id, PERSONAL)]
    seen = [row.text for row in rows if may_recall(row.project_id, row.folder)]
    counts = Counter(kind for text in seen for kind in redacted_kinds(text))
    return [structs.Fact(kind, str(count)) for kind, count in counts.most_common()]


def _next_context(asked: Asked, memory: Memory, keys: Sequence[int], project_id: str, root: Path) -> tuple[str, str]:
    """What hooks tell the next session by the settings that they go by, or why they tell nothing."""
    settings = HookSettings.from_environment({**os.environ, "DELTOS_HOME": str(asked.app.config.home)})
    if not settings.speaks:
        return "", "Hooks are silent: the toolset of memory is off."
    if settings.is_off(project_id, root):
        return "", "Memory is off for this project: `deltos memory on` lets hooks keep and tell again."
    if not settings.context_tokens:
        return "", "DELTOS_CONTEXT_TOKENS=0: sessions are told nothing when they start."
    context = session_context(memory, keys, root, tokens=settings.context_tokens)
    return context, "" if context else "Nothing yet."


def change_memory(asked: Asked) -> structs.Changed:
    """Pin, unpin, forget, restore or supersede."""
    memory = asked.app.domains.memory
    project_id = asked.app.domains.remembered_project(asked.index().project.root).project_id
    return structs.Changed(_change(memory, asked, project_id))


def _change(memory: Memory, asked: Asked, project_id: str) -> str:
    wanted, given = asked.text("change"), asked.text("id")
    match wanted:
        case "pin":
            _known(memory.pin_shown([given], project_id=project_id), given)
            return "Pinned: shown first in the next session."
        case "unpin":
            _known(memory.pin([given], unpin=True, project_id=project_id), given)
            return "No longer pinned."
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
        redacted=sorted(set(redacted_kinds(row.text))),
    )
