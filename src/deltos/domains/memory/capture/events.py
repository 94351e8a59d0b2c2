"""Events of a session in a form that is independent of the agent; hook_events.py reads them from each agent's hook
input.

Named tuples instead of dataclasses: every tool call starts a hook, and their definition is five times as fast.
"""

# No `from __future__ import annotations`: a named tuple would compile each annotation at import, and slow every hook.
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from deltos.store.observations import Clean


class EventType(Enum):
    """Moments of a session that capture handles."""

    SESSION_STARTED = "session started"
    PROMPTED = "prompted"
    TOOL_USED = "tool used"
    ANSWERED = "answered"
    COMPACTING = "compacting"
    COMPACTED = "compacted"
    SESSION_ENDED = "session ended"


class Action(Enum):
    """Actions of tools that memory distinguishes."""

    EDIT = "edit"
    COMMAND = "command"
    FETCH = "fetch"
    WEB_SEARCH = "web search"
    QUESTION = "question"
    PLAN = "plan"
    PULL_REQUEST = "pull request"
    OTHER = "other"


class ToolOutcome(Enum):
    """Outcome of a tool use."""

    SUCCEEDED = "worked"
    FAILED = "failed"
    UNCLEAR = "unclear"  # the input does not show whether it succeeded
    STOPPED = "stopped"  # interrupted or refused by the user, or still running


class ToolUse(NamedTuple):
    """One use of a tool.

    `subject` is the command, URL, query or title. `edits` are pairs of old and new text, `answers` pairs of a question
    and the user's answer.
    """

    name: str
    action: Action
    subject: Clean
    files: tuple[Clean, ...]
    edits: tuple[tuple[Clean, Clean], ...]
    output: Clean
    outcome: ToolOutcome = ToolOutcome.SUCCEEDED
    answers: tuple[tuple[Clean, Clean], ...] = ()


class Event(NamedTuple):
    """One event of a session.

    `text` is the prompt, the answer or the summary; `folder` is the path that the agent sent.
    """

    event_type: EventType
    agent: str
    session_id: Clean
    folder: Path | None
    text: Clean
    tool: ToolUse | None = None
    source: Clean = Clean("")  # reason of a session start: new, resumed or compacted
