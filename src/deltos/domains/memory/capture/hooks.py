"""Handle hook calls: redact the event, append it to the journal, and return context at the start of a session.

distill.py later converts the journal records to observations.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from deltos.domains.memory.capture.events import Action, EventType, ToolOutcome
from deltos.domains.memory.capture.hook_events import read_event
from deltos.domains.memory.capture.journal import JournalRecord
from deltos.domains.memory.capture.payload import Payload
from deltos.domains.memory.core.model import ObservationOrigin
from deltos.errors import StoreUnwritable
from deltos.redaction.secret_files import is_secret_file, mentions_secret_file
from deltos.workspace.identity import path_in_checkout

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from deltos.domains.memory.capture.events import Event, ToolUse
    from deltos.domains.memory.capture.journal import Journal
    from deltos.domains.memory.core.memory import Memory
    from deltos.hook_settings import HookSettings

_CONTINUED_SOURCES = ("resume", "compact")
_OWN_TOOL_PREFIX = "deltos"
_MAX_DISTILL_SECONDS = 3.0  # time limit at the start of a session, because the agent waits


def read_call(
    event_name: str,
    raw: bytes,
    at: int,
    *,
    folder: Path,
    identify: Callable[[Path], str],
    settings: HookSettings | None = None,
) -> JournalRecord | None:
    """Return the redacted journal record of a hook call, or None if the call must not be recorded.

    `folder` is used if the input names no working folder.
    """
    event = read_event(event_name, Payload.parse(raw))
    if event is None or (event.tool is not None and not _is_recorded_tool(event.tool)):
        return None
    folder = (event.folder if event.folder and is_folder(event.folder) else folder).resolve()
    root = project_root(folder)
    project_id = identify(root)
    if settings is not None and settings.is_off(project_id, root):
        return None
    origin = ObservationOrigin(project_id, root, event.session_id or None, event.agent, path_in_checkout(folder))
    return JournalRecord(event, origin, at)


def record_call(
    journal: Journal,
    open_memory: Callable[[], Memory],
    event_name: str,
    raw: bytes,
    at: int,
    *,
    folder: Path,
    identify: Callable[[Path], str],
    settings: HookSettings,
) -> str:
    """Append a hook call to the journal and return the text to print: the context at session start, a question to the
    agent, or an empty string."""
    record = read_call(event_name, raw, at, folder=folder, identify=identify, settings=settings)
    if record is None:
        return ""
    if record.event.event_type is not EventType.SESSION_STARTED:
        if has_content(record.event):
            journal.append(record)
        return _question(record.event, settings.home) if settings.asks_agent else ""
    from deltos.domains.memory.capture.distill import distill  # imported late: only the start of a session needs it

    memory = open_memory()
    distill(memory, journal, max_seconds=_MAX_DISTILL_SECONDS)
    return start_context(memory, record, settings.context_tokens)


def _question(event: Event, home: Path) -> str:
    """Return the question to the agent, in the agent's format, or an empty string if nothing is to be asked now."""
    from deltos.domains.memory.capture.ask import ask  # imported late: off by default

    question = ask(home, event)
    is_turn_end = event.event_type is EventType.ANSWERED
    return json.dumps({"decision": "block", "reason": question}) if question and is_turn_end else question


def start_context(memory: Memory, record: JournalRecord, tokens: int) -> str:
    """Return the context for the start of a session; a resumed session gets only observations that are new to it."""
    from deltos.domains.memory.context import (  # imported late: only the start of a session needs it
        UnseenFilter,
        session_context,
    )

    event, origin = record.event, record.origin
    is_continued = event.source in _CONTINUED_SOURCES
    try:
        with memory.store.writing() as writer:
            project, session = memory.origin_keys(writer, origin)
            shown_at = writer.record_shown(session, record.at)
    except StoreUnwritable:
        # The time of the last context is unknown, so a resumed session gets no context, because it would be repeated.
        keys = memory.project_keys(memory.known_identity(origin.project_id, str(origin.root)))
        return _format_context(event, session_context(memory, keys, origin.root, tokens=0 if is_continued else tokens))
    unseen = UnseenFilter(shown_at, session) if shown_at is not None and is_continued else None
    keys = memory.keys_of_all_folders(project)
    return _format_context(event, session_context(memory, keys, origin.root, tokens=tokens, unseen=unseen))


def is_folder(path: Path) -> bool:
    """Whether a path is a folder; False for names that the file system rejects."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def project_root(folder: Path) -> Path:
    """Return the folder to which stored paths are relative: the checkout that contains `folder`, or `folder` itself."""
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), folder)


def has_content(event: Event) -> bool:
    """Whether an event contains a text or a tool use, or ends the session."""
    return bool(event.text.strip()) or event.tool is not None or event.event_type is EventType.SESSION_ENDED


def _is_recorded_tool(tool: ToolUse) -> bool:
    """Whether a tool use is recorded. Reads, stopped tools, Deltos's own tools and secret files are excluded."""
    if tool.action is Action.OTHER or tool.outcome is ToolOutcome.STOPPED or _OWN_TOOL_PREFIX in tool.name.lower():
        return False
    if tool.action is Action.COMMAND:
        return bool(tool.subject.strip()) and not mentions_secret_file(tool.subject)
    return not any(map(is_secret_file, tool.files))


def _format_context(event: Event, context: str) -> str:
    """Format the context as the agent expects it from the hook at the start of a session."""
    if not context:
        return ""
    if event.agent == "cursor":
        return json.dumps({"additional_context": context}, ensure_ascii=False)
    if event.agent in ("copilot", "opencode"):
        return json.dumps({"additionalContext": context}, ensure_ascii=False)
    answer = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": context}}
    return json.dumps(answer, ensure_ascii=False)
