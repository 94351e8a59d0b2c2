"""Distillation: convert the hook events recorded in the journal to observations.

Distillation runs whenever memory is read: in a server, in a command, and at the start of a session. Converted records
are marked in the same transaction that stores the observations, so that an interrupted run can be repeated.
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
from deltos.domains.memory.core.model import PROGRESS, RememberResult
from deltos.errors import BadArgument, StoreUnwritable

if TYPE_CHECKING:
    from deltos.domains.memory.capture.events import Event
    from deltos.domains.memory.capture.journal import Journal, JournalRecord
    from deltos.domains.memory.core.memory import Memory, PreparedDraft
    from deltos.domains.memory.core.model import Draft, ObservationOrigin
    from deltos.store.observations import Observation, ObservationsWriter

_BATCH_RECORDS = 40  # records per transaction; few, so that other writers do not wait long
_MAX_EARLIER_OBSERVATIONS = 60  # number of latest observations of a session that are searched for a fix
_MAX_ERRORS_CHECKED = 40  # number of latest errors of a project that are searched for a failed command
_MAX_EDITS_CHECKED = 100  # number of latest edits of a project that are searched for undone edits
_RECORD_KEY_BYTES = 16


def distill(memory: Memory, journal: Journal, *, max_seconds: float = float("inf")) -> int:
    """Convert recorded events to observations, oldest first; return the number of records that remain."""
    names = journal.names()
    deadline = time.monotonic() + max_seconds
    done = 0
    for batch in batches(names, _BATCH_RECORDS):
        if time.monotonic() > deadline:
            break
        try:
            _distill_batch(memory, journal, batch)
        except StoreUnwritable:  # a later run converts the remaining records
            break
        done += len(batch)
    return len(names) - done


def _distill_batch(memory: Memory, journal: Journal, names: list[str]) -> None:
    """Store the observations from a batch of records, and remove these records from the journal."""
    records = {name: record for name in names if (record := journal.read(name)) is not None}
    keys = {name: sha256(name.encode()).digest()[:_RECORD_KEY_BYTES] for name in records}
    with memory.store.writing() as writer:
        # Checked inside the transaction, because another process may distill the same records.
        known = memory.store.distilled_keys(list(keys.values()))
        for name, record in records.items():
            if keys[name] not in known:
                store_record(memory, writer, record)
        writer.record_distilled(keys.values())
    journal.remove(list(records))


def store_record(memory: Memory, writer: ObservationsWriter, record: JournalRecord) -> RememberResult | None:
    """Store the observation from a record, or record the end of a session; return None if nothing was stored."""
    memory = memory.with_clock_at(record.at)
    origin = record.origin
    event = _add_outcome(record.event, origin)
    if event.event_type is EventType.SESSION_ENDED:
        session = memory.origin_keys(writer, origin)[1]
        writer.update_session(session, agent="", started_at=record.at, ended_at=record.at)
        return None
    draft = extract_draft(event)
    if draft is None and not may_be_fix(event) and event.event_type is not EventType.ANSWERED:
        return None
    project, session = memory.origin_keys(writer, origin)
    if may_be_fix(event) and (fix := _fix_draft(memory, event, project, session)):
        draft = fix
    if draft is None and event.event_type is EventType.ANSWERED:
        draft = answer_to_question(event, memory.store.latest_in_session(session, limit=1))
    prepared = None if draft is None else _prepare(memory, draft, origin)
    if prepared is None:
        return None
    if previous := _previous_progress(memory, session, prepared):
        memory.rewrite(writer, previous, text=prepared.new.text, created_at=record.at)
        return RememberResult(previous.id, merged=True, redacted=prepared.redacted)
    is_edit = event.tool is not None and event.tool.action is Action.EDIT
    undone = find_undone_edits(prepared.new, _recent_edits(memory, project)) if is_edit else []
    added = memory.add(writer, project, session, prepared)
    for row in undone:
        writer.update(row.place, superseded_by=added.id, superseded_at=record.at)
    if is_edit:
        memory.anchor_statement(writer, session, prepared.new)
    return added


def _add_outcome(event: Event, origin: ObservationOrigin) -> Event:
    """Return an event with the outcome of the command that it contains, and with paths relative to the project root."""
    tool = event.tool
    if tool is None:
        return event
    if tool.outcome is ToolOutcome.UNJUDGED:
        tool = tool._replace(outcome=outcome_of(tool.subject, tool.output, tool.status))
    return event._replace(tool=tool._replace(files=relative_files(tool.files, origin.root)))


def _previous_progress(memory: Memory, session: int, prepared: PreparedDraft) -> Observation | None:
    """Return the session's stored list of steps if the new observation is also a list of steps, or None."""
    if prepared.new.kind != PROGRESS:
        return None
    rows = memory.store.latest_in_session(session, limit=_MAX_EARLIER_OBSERVATIONS)
    return next((row for row in rows if row.kind == PROGRESS), None)


def _recent_edits(memory: Memory, project: int) -> list[Observation]:
    return memory.store.recent_observations([project], limit=_MAX_EDITS_CHECKED, kinds=("change",))


def _fix_draft(memory: Memory, event: Event, project: int, session: int) -> Draft | None:
    """Return a new observation that a command works again, or None if the command has no unresolved failure."""
    recent = memory.store.recent_observations
    failure = find_last_failure(event, recent([project], limit=_MAX_ERRORS_CHECKED, kinds=("error",)))
    findings = recent([project], limit=MAX_FINDINGS_CHECKED, kinds=("finding",)) if failure else []
    if failure is None or is_fixed(failure, findings):
        return None
    return describe_fix(event, failure, memory.store.latest_in_session(session, limit=_MAX_EARLIER_OBSERVATIONS))


def _prepare(memory: Memory, draft: Draft, origin: ObservationOrigin) -> PreparedDraft | None:
    """Redact a new observation; return the result, ready to be stored, or None if no text remains."""
    try:
        return memory.prepare(draft, origin.root)
    except BadArgument:
        return None  # the text contained only passages marked as private
