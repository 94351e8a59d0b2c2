"""Distillation: turns the records of the journal into observations.

Runs when memory is read: in a server, in a command, and at the start of a session. Which records were distilled is
recorded in the same transaction as their observations, so that an interrupted run can be repeated.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from deltos.digest import sha256
from deltos.domains.memory.capture.drafts import extract_draft
from deltos.domains.memory.capture.events import Action, EventType, ToolOutcome
from deltos.domains.memory.capture.fixes import (
    MAX_FINDINGS_CHECKED,
    answer_to_question,
    describe_fix,
    find_last_failure,
    find_undone_edits,
    is_fixed,
    may_be_fix,
)
from deltos.domains.memory.capture.journal import batches
from deltos.domains.memory.capture.outcome import outcome_of
from deltos.domains.memory.core.anchors import relative_files
from deltos.errors import BadArgument, StoreUnwritable

if TYPE_CHECKING:
    from deltos.domains.memory.capture.events import Event
    from deltos.domains.memory.capture.journal import Journal, JournalRecord
    from deltos.domains.memory.core.memory import Memory, PreparedDraft
    from deltos.domains.memory.core.model import Draft, ObservationOrigin, RememberResult
    from deltos.store.observations import Observation, ObservationsWriter

_BATCH_RECORDS = 40  # short enough that no other writer waits long
_MAX_EARLIER_CHECKED = 60  # observations of the session that are searched for the changes that fixed a command
_MAX_ERRORS_CHECKED = 40  # errors of the project that are searched for the failure of a command
_MAX_EDITS_CHECKED = 100  # edits of the project that a new edit may undo
_KEY_BYTES = 16


def distill(memory: Memory, journal: Journal, *, max_seconds: float = float("inf")) -> int:
    """Store the observations of the recorded events, oldest first, and return the number of records that remain."""
    names = journal.names()
    deadline = time.monotonic() + max_seconds
    done = 0
    for batch in batches(names, _BATCH_RECORDS):
        if time.monotonic() > deadline:
            break
        try:
            _distill_batch(memory, journal, batch)
        except StoreUnwritable:  # the records wait until memory can be written
            break
        done += len(batch)
    return len(names) - done


def _distill_batch(memory: Memory, journal: Journal, names: list[str]) -> None:
    records = {name: record for name in names if (record := journal.read(name)) is not None}
    keys = {name: sha256(name.encode()).digest()[:_KEY_BYTES] for name in records}
    with memory.store.writing() as writer:
        # Checked inside the transaction: two processes may distill the same records.
        known = memory.store.distilled(list(keys.values()))
        for name, record in records.items():
            if keys[name] not in known:
                store_record(memory, writer, record)
        writer.note_distilled(keys.values())
    journal.remove(list(records))


def store_record(memory: Memory, writer: ObservationsWriter, record: JournalRecord) -> RememberResult | None:
    """Store the observation of a record, or mark the end of its session; None if there is nothing to store."""
    memory = memory.at(record.at)
    origin = record.origin
    event = _judged(record.event, origin)
    if event.event_type is EventType.SESSION_ENDED:
        writer.end_session(memory.origin_keys(writer, origin)[1], record.at)
        return None
    draft = extract_draft(event)
    if draft is None and not may_be_fix(event) and event.event_type is not EventType.ANSWERED:
        return None
    project, session = memory.origin_keys(writer, origin)
    if may_be_fix(event) and (fix := _fix_draft(writer, event, project, session)):
        draft = fix
    if draft is None and event.event_type is EventType.ANSWERED:
        draft = answer_to_question(event, writer.in_session(session, limit=1))
    prepared = None if draft is None else _prepare(memory, draft, origin)
    if prepared is None:
        return None
    is_edit = event.tool is not None and event.tool.action is Action.EDIT
    undone = find_undone_edits(prepared.new, _recent_edits(writer, project)) if is_edit else []
    added = memory.add(writer, project, session, prepared)
    for row in undone:
        writer.mark_superseded(row.place, added.id, record.at)
    if is_edit:
        memory.anchor_statement(writer, session, prepared.new)
    return added


def _judged(event: Event, origin: ObservationOrigin) -> Event:
    """Return the event with the outcome of its command, and with paths relative to the project root."""
    tool = event.tool
    if tool is None:
        return event
    if tool.outcome is ToolOutcome.UNJUDGED:
        tool = tool._replace(outcome=outcome_of(tool.subject, tool.output, tool.status))
    return event._replace(tool=tool._replace(files=relative_files(tool.files, origin.root)))


def _recent_edits(writer: ObservationsWriter, project: int) -> list[Observation]:
    return writer.recent(project, limit=_MAX_EDITS_CHECKED, kinds=("change",))


def _fix_draft(writer: ObservationsWriter, event: Event, project: int, session: int) -> Draft | None:
    """Return the draft that a previously failed command works now; None if no failure of it is open."""
    failure = find_last_failure(event, writer.recent(project, limit=_MAX_ERRORS_CHECKED, kinds=("error",)))
    findings = writer.recent(project, limit=MAX_FINDINGS_CHECKED, kinds=("finding",)) if failure else []
    if failure is None or is_fixed(failure, findings):
        return None
    return describe_fix(event, failure, writer.in_session(session, limit=_MAX_EARLIER_CHECKED))


def _prepare(memory: Memory, draft: Draft, origin: ObservationOrigin) -> PreparedDraft | None:
    """Return a redacted draft; None if nothing is left of it."""
    try:
        return memory.prepare(draft, origin.root)
    except BadArgument:
        return None  # the text consisted of private passages only
