"""What happened in an agent's session, the same whatever agent tells it. How each agent tells it: agents.py.

Named tuples, not dataclasses: a hook starts on every tool call, and these are made five times as fast.
"""

# Annotations are evaluated here: as texts, each field of a named tuple would be compiled whenever a hook starts.
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from deltos.store.observations import Clean


class Happening(Enum):
    """The moments of a session that capture knows."""

    SESSION_STARTED = "session started"
    PROMPTED = "prompted"
    TOOL_USED = "tool used"
    ANSWERED = "answered"
    COMPACTING = "compacting"
    COMPACTED = "compacted"
    SESSION_ENDED = "session ended"


class Action(Enum):
    """What a tool did, as far as memory cares."""

    EDIT = "edit"
    COMMAND = "command"
    FETCH = "fetch"
    WEB_SEARCH = "web search"
    QUESTION = "question"
    PLAN = "plan"
    PULL_REQUEST = "pull request"
    OTHER = "other"


class Outcome(Enum):
    """How a use of a tool ended."""

    WORKED = "worked"
    FAILED = "failed"
    UNCLEAR = "unclear"  # nothing that was told says which
    STOPPED = "stopped"  # the user interrupted or refused it, or it still runs


class ToolUse(NamedTuple):
    """One use of a tool. `subject` is the command, the address, the query or the title; `edits` are pairs of old and
    new text, `answers` of a question and what the user chose."""

    name: str
    action: Action
    subject: Clean
    files: tuple[Clean, ...]
    edits: tuple[tuple[Clean, Clean], ...]
    output: Clean
    outcome: Outcome = Outcome.WORKED
    answers: tuple[tuple[Clean, Clean], ...] = ()


class Event(NamedTuple):
    """One thing that happened. `text` is the prompt, the answer or the summary; `folder` is as the agent told it."""

    happening: Happening
    agent: str
    session_id: Clean
    folder: Path | None
    text: Clean
    tool: ToolUse | None = None
    source: Clean = Clean("")  # why a session started: new, resumed or compacted
