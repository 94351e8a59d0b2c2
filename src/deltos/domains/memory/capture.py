"""From a hook's input to memory: read the event, keep what is worth keeping in one write, answer what the
agent may know."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from deltos.domains.memory.admit import (
    FINDINGS_LOOKED_AT,
    admit,
    answer_to,
    fix_of,
    is_fixed,
    last_failure,
    may_answer,
    may_fix,
)
from deltos.domains.memory.agents import read_event
from deltos.domains.memory.anchors import relative_files
from deltos.domains.memory.events import Action, Happening
from deltos.domains.memory.model import ObservationOrigin
from deltos.domains.memory.payload import Payload
from deltos.errors import BadArgument, StoreUnwritable
from deltos.hook_settings import CONTEXT_TOKENS
from deltos.text.times import micros
from deltos.workspace.identity import folder_in_checkout

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from deltos.domains.memory.events import Event
    from deltos.domains.memory.memory import Memory, PreparedDraft
    from deltos.domains.memory.model import Draft, Remembered
    from deltos.hook_settings import HookSettings
    from deltos.store.observations import ObservationsWriter

_GOING_ON = ("resume", "compact")
_SMALL_MEMORY_BYTES = 8_000_000  # copied in some 20 ms; a larger one is left to servers and commands
_EARLIER = 60  # observations of the session among which is looked for what fixed a command
_ERRORS_LOOKED_AT = 40  # of the project, for the failure of a command that works now


def capture(
    memory: Memory,
    event_name: str,
    raw: bytes,
    *,
    folder: Path,
    identify: Callable[[Path], str],
    settings: HookSettings | None = None,
) -> str:
    """Handle one hook call and answer what to print; empty for nothing. `folder` is used when the input names none."""
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
    """The same with a memory that is opened only when there is something to keep: most calls of tools only look.

    It is told whether one that can only be read will do.
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
    if event.happening is Happening.SESSION_STARTED:
        tokens = CONTEXT_TOKENS if settings is None else settings.context_tokens
        return _with_context(event, _told_at_start(open_memory(True), event, origin, tokens))
    _keep(open_memory, relative_to(root, event), origin)
    return ""


def _told_at_start(memory: Memory, event: Event, origin: ObservationOrigin, tokens: int) -> str:
    """What a session is told; one that goes on, only what it does not know yet."""
    from deltos.domains.memory.context import News, session_context  # deferred: only the start of a session needs it

    try:
        with memory.store.writing() as writer:
            project, session = memory.origin_keys(writer, origin)
            shown_at = writer.note_shown(session, micros(memory.clock()))
    except StoreUnwritable:
        # What a session that goes on was told before is not known then: it is told nothing twice.
        tokens = 0 if event.source in _GOING_ON else tokens
        known = memory.store.known_identity(origin.project_id, str(origin.root)) or origin.project_id
        return session_context(memory, memory.project_keys(known), origin.root, tokens=tokens)
    news = News(shown_at, session) if shown_at is not None and event.source in _GOING_ON else None
    return session_context(memory, memory.keys_around(project), origin.root, tokens=tokens, news=news)


def is_folder(path: Path) -> bool:
    """Whether a path, whatever it looks like, is a folder."""
    try:
        return path.is_dir()
    except (OSError, ValueError):  # a name that no file system takes
        return False


def project_root(folder: Path) -> Path:
    """The folder that paths are relative to: the checkout that contains `folder`, or the folder itself."""
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), folder)


def relative_to(root: Path, event: Event) -> Event:
    """An event whose files are relative to the root of its project."""
    if event.tool is None or not event.tool.files:
        return event
    return event._replace(tool=event.tool._replace(files=relative_files(event.tool.files, root)))


def _keep(open_memory: Callable[[bool], Memory], event: Event, origin: ObservationOrigin) -> None:
    """One write: the observation if there is one, or the end of the session."""
    draft = admit(event)
    may_matter = may_fix(event) or may_answer(event) or event.happening is Happening.SESSION_ENDED
    if draft is None and not may_matter:
        return
    memory = open_memory(False)
    prepared = None if draft is None else prepare_draft(memory, draft, origin)
    with memory.store.writing() as writer:
        keep_event(memory, writer, event, origin, prepared)
        if event.happening is Happening.SESSION_ENDED:
            writer.end_session(memory.origin_keys(writer, origin)[1], micros(memory.clock()))
    if event.happening is Happening.SESSION_ENDED:
        memory.keep_snapshot(most_bytes=_SMALL_MEMORY_BYTES)


def keep_event(
    memory: Memory,
    writer: ObservationsWriter,
    event: Event,
    origin: ObservationOrigin,
    prepared: PreparedDraft | None,
) -> Remembered | None:
    """Keep what was prepared of an event, or what it fixed; None when that is nothing."""
    project, session = memory.origin_keys(writer, origin)
    if may_fix(event) and (fix := _fix(memory, writer, event, project, session)):
        prepared = prepare_draft(memory, fix, origin)
    if prepared is None and may_answer(event):
        answer = answer_to(event, memory.earlier_in(writer, session, limit=1))
        prepared = None if answer is None else prepare_draft(memory, answer, origin)
    if prepared is None:
        return None
    added = memory.add(writer, project, session, prepared)
    if event.tool is not None and event.tool.action is Action.EDIT:
        memory.tie_to_statement(writer, session, prepared.new)
    return added


def _fix(memory: Memory, writer: ObservationsWriter, event: Event, project: int, session: int) -> Draft | None:
    """That a command works which had failed in this session or in another one; None where it was not open."""
    failure = last_failure(event, memory.latest_of(writer, project, "error", limit=_ERRORS_LOOKED_AT))
    if failure is None or is_fixed(failure, memory.latest_of(writer, project, "finding", limit=FINDINGS_LOOKED_AT)):
        return None
    return fix_of(event, failure, memory.earlier_in(writer, session, limit=_EARLIER))


def prepare_draft(memory: Memory, draft: Draft, origin: ObservationOrigin) -> PreparedDraft | None:
    """A draft that is safe to keep; None where nothing is left of it."""
    try:
        return memory.prepare(draft, origin.root)
    except BadArgument:
        return None  # nothing is left of it once private passages are out


def _with_context(event: Event, context: str) -> str:
    """What the agent should read at the start, in the form that it expects."""
    if not context:
        return ""
    if event.agent == "cursor":
        return json.dumps({"additional_context": context}, ensure_ascii=False)
    if event.agent in ("copilot", "opencode"):
        return json.dumps({"additionalContext": context}, ensure_ascii=False)
    answer = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": context}}
    return json.dumps(answer, ensure_ascii=False)
