"""Handles a hook call: reads the event, stores an observation in one transaction, and returns the context for the
agent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from deltos.domains.memory.capture.events import Action, EventType
from deltos.domains.memory.capture.extract import (
    MAX_FINDINGS_CHECKED,
    describe_fix,
    extract_answer,
    extract_draft,
    find_last_failure,
    is_fixed,
    may_be_answer,
    may_be_fix,
)
from deltos.domains.memory.capture.hook_events import read_event
from deltos.domains.memory.capture.payload import Payload
from deltos.domains.memory.core.anchors import relative_files
from deltos.domains.memory.core.model import ObservationOrigin
from deltos.errors import BadArgument, StoreUnwritable
from deltos.hook_settings import CONTEXT_TOKENS
from deltos.text.times import micros
from deltos.workspace.identity import folder_in_checkout

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from deltos.domains.memory.capture.events import Event
    from deltos.domains.memory.core.memory import Memory, PreparedDraft
    from deltos.domains.memory.core.model import Draft, RememberResult
    from deltos.hook_settings import HookSettings
    from deltos.store.observations import ObservationsWriter

_CONTINUED_SOURCES = ("resume", "compact")
_MAX_SNAPSHOT_BYTES = 8_000_000  # copied in about 20 ms; servers and commands make snapshots of larger files
_MAX_EARLIER_CHECKED = 60  # observations of the session that are searched for the changes that fixed a command
_MAX_ERRORS_CHECKED = 40  # errors of the project that are searched for the failure of a command


def capture(
    memory: Memory,
    event_name: str,
    raw: bytes,
    *,
    folder: Path,
    identify: Callable[[Path], str],
    settings: HookSettings | None = None,
) -> str:
    """Handle one hook call and return the text to print, if any; `folder` is used if the input names none."""
    return capture_into(lambda _: memory, event_name, raw, folder=folder, identify=identify, settings=settings)


def capture_into(
    open_memory: Callable[[bool], Memory],
    event_name: str,
    raw: bytes,
    *,
    folder: Path,
    identify: Callable[[Path], str],
    settings: HookSettings | None = None,
) -> str:
    """Handle one hook call with a memory that is opened only if there is something to store, because most tool uses
    only read.

    `open_memory` receives whether read-only access is sufficient.
    """
    event = read_event(event_name, Payload.parse(raw))
    if event is None:
        return ""
    folder = (event.folder if event.folder and is_folder(event.folder) else folder).resolve()
    root = project_root(folder)
    project_id = identify(root)
    if settings is not None and settings.is_off(project_id, root):
        return ""
    origin = ObservationOrigin(project_id, root, event.session_id or None, event.agent, folder_in_checkout(folder))
    if event.event_type is EventType.SESSION_STARTED:
        tokens = CONTEXT_TOKENS if settings is None else settings.context_tokens
        return _format_context(event, _start_context(open_memory(True), event, origin, tokens))
    _store_event(open_memory, with_relative_files(root, event), origin)
    return ""


def _start_context(memory: Memory, event: Event, origin: ObservationOrigin, tokens: int) -> str:
    """Return the context for the start of a session; a resumed session gets only observations that it has not seen."""
    from deltos.domains.memory.context import (  # deferred: only the start of a session needs it
        UnseenFilter,
        session_context,
    )

    try:
        with memory.store.writing() as writer:
            project, session = memory.origin_keys(writer, origin)
            shown_at = writer.note_shown(session, micros(memory.clock()))
    except StoreUnwritable:
        # Without write access, it is unknown what a resumed session has seen. Return nothing rather than repeat it.
        tokens = 0 if event.source in _CONTINUED_SOURCES else tokens
        known = memory.store.known_identity(origin.project_id, str(origin.root)) or origin.project_id
        return session_context(memory, memory.project_keys(known), origin.root, tokens=tokens)
    unseen = UnseenFilter(shown_at, session) if shown_at is not None and event.source in _CONTINUED_SOURCES else None
    return session_context(memory, memory.keys_of_all_folders(project), origin.root, tokens=tokens, unseen=unseen)


def is_folder(path: Path) -> bool:
    """Whether a path is a folder; False for names that the file system rejects."""
    try:
        return path.is_dir()
    except (OSError, ValueError):  # a name that the file system rejects
        return False


def project_root(folder: Path) -> Path:
    """Return the folder that stored paths are relative to: the checkout that contains `folder`, or `folder` itself."""
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), folder)


def with_relative_files(root: Path, event: Event) -> Event:
    """Return the event with file paths relative to the project root."""
    if event.tool is None or not event.tool.files:
        return event
    return event._replace(tool=event.tool._replace(files=relative_files(event.tool.files, root)))


def _store_event(open_memory: Callable[[bool], Memory], event: Event, origin: ObservationOrigin) -> None:
    """Store the observation of an event, if any, in one transaction; mark the session as ended if it ended."""
    draft = extract_draft(event)
    may_matter = may_be_fix(event) or may_be_answer(event) or event.event_type is EventType.SESSION_ENDED
    if draft is None and not may_matter:
        return
    memory = open_memory(False)
    prepared = None if draft is None else prepare_draft(memory, draft, origin)
    with memory.store.writing() as writer:
        store_event(memory, writer, event, origin, prepared)
        if event.event_type is EventType.SESSION_ENDED:
            writer.end_session(memory.origin_keys(writer, origin)[1], micros(memory.clock()))
    if event.event_type is EventType.SESSION_ENDED:
        memory.keep_snapshot(max_bytes=_MAX_SNAPSHOT_BYTES)


def store_event(
    memory: Memory,
    writer: ObservationsWriter,
    event: Event,
    origin: ObservationOrigin,
    prepared: PreparedDraft | None,
) -> RememberResult | None:
    """Store the prepared observation of an event, or the fix or answer that the event turns out to be; None if there is
    nothing to store."""
    project, session = memory.origin_keys(writer, origin)
    if may_be_fix(event) and (fix := _fix_draft(memory, writer, event, project, session)):
        prepared = prepare_draft(memory, fix, origin)
    if prepared is None and may_be_answer(event):
        answer = extract_answer(event, memory.earlier_in(writer, session, limit=1))
        prepared = None if answer is None else prepare_draft(memory, answer, origin)
    if prepared is None:
        return None
    added = memory.add(writer, project, session, prepared)
    if event.tool is not None and event.tool.action is Action.EDIT:
        memory.anchor_statement(writer, session, prepared.new)
    return added


def _fix_draft(memory: Memory, writer: ObservationsWriter, event: Event, project: int, session: int) -> Draft | None:
    """Return the draft that a previously failed command works now; None if no failure of it is open."""
    failure = find_last_failure(event, memory.latest_of(writer, project, "error", limit=_MAX_ERRORS_CHECKED))
    if failure is None or is_fixed(failure, memory.latest_of(writer, project, "finding", limit=MAX_FINDINGS_CHECKED)):
        return None
    return describe_fix(event, failure, memory.earlier_in(writer, session, limit=_MAX_EARLIER_CHECKED))


def prepare_draft(memory: Memory, draft: Draft, origin: ObservationOrigin) -> PreparedDraft | None:
    """Return a redacted draft; None if nothing is left of it."""
    try:
        return memory.prepare(draft, origin.root)
    except BadArgument:
        return None  # the text consisted of private passages only


def _format_context(event: Event, context: str) -> str:
    """Return the context in the format that the agent expects at the start of a session."""
    if not context:
        return ""
    if event.agent == "cursor":
        return json.dumps({"additional_context": context}, ensure_ascii=False)
    if event.agent in ("copilot", "opencode"):
        return json.dumps({"additionalContext": context}, ensure_ascii=False)
    answer = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": context}}
    return json.dumps(answer, ensure_ascii=False)
