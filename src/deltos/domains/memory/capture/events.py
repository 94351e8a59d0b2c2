"""Events of a session, in one format for all agents; hook_events.py creates events from each agent's hook input.

Named tuples are used instead of dataclasses, because every tool call starts a hook process, and defining a dataclass
takes five times as long.
"""

# `from __future__ import annotations` is not used: named tuples would compile each annotation at import, which slows
# hooks.
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from deltos.model import Clean


class EventType(Enum):
    """Types of session events from which observations are captured."""

    SESSION_STARTED = "session started"
    PROMPTED = "prompted"
    TOOL_USED = "tool used"
    ANSWERED = "answered"
    COMPACTING = "compacting"
    COMPACTED = "compacted"
    SESSION_ENDED = "session ended"


class Action(Enum):
    """Kinds of actions of an agent's tools that memory distinguishes."""

    EDIT = "edit"
    COMMAND = "command"
    FETCH = "fetch"
    WEB_SEARCH = "web search"
    QUESTION = "question"
    PLAN = "plan"
    PULL_REQUEST = "pull request"
    STEPS = "steps"
    OTHER = "other"


class ToolOutcome(Enum):
    """The outcome of a tool use."""

    SUCCEEDED = "worked"
    FAILED = "failed"
    UNCLEAR = "unclear"  # hook input does not show whether the tool succeeded
    UNJUDGED = "unjudged"  # the outcome will be determined from the command's output by distill.py
    STOPPED = "stopped"  # the user interrupted or refused the tool, or the tool is still running


class ToolUse(NamedTuple):
    """One use of a tool.

    `subject` is the command, URL, query or title. `edits` contains pairs of old and new text, `answers` pairs of a
    question and the user's answer, `steps` pairs of a status and the text of a step. `status` is the exit status of a
    command, or None if the agent did not report it.
    """

    name: str
    action: Action
    subject: Clean
    files: tuple[Clean, ...]
    edits: tuple[tuple[Clean, Clean], ...]
    output: Clean
    outcome: ToolOutcome = ToolOutcome.SUCCEEDED
    answers: tuple[tuple[Clean, Clean], ...] = ()
    status: int | None = None
    steps: tuple[tuple[Clean, Clean], ...] = ()


class Event(NamedTuple):
    """One event of a session.

    `text` is the prompt, answer or summary; `folder` is the agent's working folder.
    """

    event_type: EventType
    agent: str
    session_id: Clean
    folder: Path | None
    text: Clean
    tool: ToolUse | None = None
    source: Clean = Clean("")  # why a session started: new, resumed or compacted
    may_continue: bool = False  # whether the agent continues its turn if the hook asks it to


def event_to_json(event: Event) -> dict[str, Any]:
    """Convert an event to JSON fields for a journal record."""
    tool = event.tool
    return {
        **event._asdict(),
        "event_type": event.event_type.value,
        "folder": None if event.folder is None else str(event.folder),
        "tool": None
        if tool is None
        else {**tool._asdict(), "action": tool.action.value, "outcome": tool.outcome.value},
    }


def event_from_json(fields: dict[str, Any]) -> Event:
    """Restore an event from the JSON fields of a journal record; the texts in the record are already redacted."""
    tool = fields["tool"]
    return Event(
        EventType(fields["event_type"]),
        agent=fields["agent"],
        session_id=Clean(fields["session_id"]),
        folder=None if fields["folder"] is None else Path(fields["folder"]),
        text=Clean(fields["text"]),
        tool=None if tool is None else _tool_from_json(tool),
        source=Clean(fields["source"]),
        may_continue=fields.get("may_continue", False),
    )


def _tool_from_json(fields: dict[str, Any]) -> ToolUse:
    return ToolUse(
        fields["name"],
        Action(fields["action"]),
        subject=Clean(fields["subject"]),
        files=tuple(map(Clean, fields["files"])),
        edits=tuple((Clean(old), Clean(new)) for old, new in fields["edits"]),
        output=Clean(fields["output"]),
        outcome=ToolOutcome(fields["outcome"]),
        answers=tuple((Clean(question), Clean(answer)) for question, answer in fields["answers"]),
        status=fields["status"],
        steps=tuple((Clean(status), Clean(text)) for status, text in fields.get("steps", ())),
    )
