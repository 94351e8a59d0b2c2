"""Read the agent's list of steps (todo list) from tool input, and describe how much of the work is done."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.domains.memory.core.model import PROGRESS, Draft
from deltos.model import Clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.memory.capture.payload import Payload

DONE, STARTED, OPEN = "done", "started", "open"
# Statuses in the step lists of the agents; steps with another status, such as `cancelled`, are dropped.
_STATUSES = {"completed": DONE, "done": DONE, "in_progress": STARTED, "pending": OPEN, "todo": OPEN}
_LIST_FIELDS = ("todos", "plan")
_TEXT_FIELDS = ("content", "step", "description")
_CHECKBOXES = {"[ ": "todo", "[x": "done", "[X": "done"}  # Copilot CLI sends Markdown
_MAX_RECORDED_STEPS = 40
_MAX_STEP_CHARACTERS = 200
_STEP_COUNTS = r"(\d+) of (\d+) steps done"


def read_steps(tool_input: Payload) -> tuple[tuple[Clean, Clean], ...]:
    """Return the steps in a tool input as pairs of the agent's status and the text."""
    listed = [item for name in _LIST_FIELDS for item in tool_input.parts(name)]
    if not listed and (text := tool_input.text("todos")):
        rows = (line.strip().lstrip("-* ").partition("] ") for line in text.splitlines())
        found = [(_CHECKBOXES[mark], step) for mark, _, step in rows if mark in _CHECKBOXES]
        return tuple((Clean(status), Clean(step)) for status, step in found[:_MAX_RECORDED_STEPS])
    return tuple((item.name("status"), item.text(*_TEXT_FIELDS)) for item in listed[:_MAX_RECORDED_STEPS])


def steps_draft(pairs: Sequence[tuple[str, str]]) -> Draft | None:
    """Return a new observation with the state of the agent's steps, or None if there are no steps."""
    steps = [
        (_STATUSES[status], " ".join(text.split())[:_MAX_STEP_CHARACTERS])
        for status, text in pairs
        if status in _STATUSES and text.strip()
    ]
    if not steps:
        return None
    done, started, waiting = ([text for status, text in steps if status == kind] for kind in (DONE, STARTED, OPEN))
    parts = [f"{len(done)} of {len(steps)} steps done"]
    parts += [f"in progress: {'; '.join(started)}"] if started else []
    parts += [f"next: {waiting[0]}"] if waiting else []
    lines = [f"{', '.join(parts)}."]
    lines += [f"Later: {'; '.join(waiting[1:])}"] if len(waiting) > 1 else []
    lines += [f"Done: {'; '.join(done)}"] if done else []
    return Draft("\n".join(lines), kind=PROGRESS, source="agent")


def is_finished(text: str) -> bool:
    """Whether the text of a progress observation says that every step is done."""
    counts = re.match(_STEP_COUNTS, text)
    return counts is not None and counts[1] == counts[2]
