"""Relate events to earlier observations: detect fixes of failed commands, undone edits, and answers to questions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.domains.memory.capture.commands import Effect, confirms_fix, effect_of
from deltos.domains.memory.capture.error_text import FAILED, MAX_OUTPUT_CHARACTERS, error_excerpt, truncate
from deltos.domains.memory.capture.events import Action, ToolOutcome
from deltos.domains.memory.core.model import FIXED, NOTE, Draft
from deltos.text.language_table import has_marker, starts_with_marker
from deltos.text.sentences import count_words, split_sentences
from deltos.text.unspaced_scripts import UNSPACED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.domains.memory.capture.events import Event, ToolUse
    from deltos.store.observations import NewObservation, Observation

MAX_FINDINGS_CHECKED = 200  # number of newest findings of a project that are searched for a fix
_MAX_COMMAND_CHARACTERS = 300
_MAX_CHANGES_PER_FIX = 3
_MAX_CHANGE_CHARACTERS = 200

CHANGES_PREFIX = "After: "  # prefix of a list of changes; it is a stop word, so that it matches no query
FAILURE_PREFIX = "It had failed with: "
_EDIT_PREFIX = "Edited "
_GIT_STAT_LINE = r" ?\d{1,9} files? changed\b"
_MAX_ANSWER_CHARACTERS = 500
_MIN_ANSWER_WORDS = 3
_MAX_QUESTION_OPENING_WORDS = 6


def may_be_fix(event: Event) -> bool:
    """Whether an event is a successful command that is not read-only and therefore may fix an earlier failure."""
    tool = event.tool
    if tool is None or tool.action is not Action.COMMAND or tool.outcome is not ToolOutcome.SUCCEEDED:
        return False
    return effect_of(tool.subject) is not Effect.READ_ONLY


def find_last_failure(event: Event, errors: Iterable[Observation]) -> Observation | None:
    """Return the latest error observation that the successful command in an event resolves, or None."""
    command = format_command(event.tool.subject if event.tool else "").strip("`")
    same = [error for error in errors if confirms_fix(command, _failed_command(error.text))]
    return max(same, key=lambda error: (error.updated_at, error.place), default=None)


def is_fixed(error: Observation, findings: Iterable[Observation]) -> bool:
    """Whether a later finding says that the failed command in an error observation works again."""
    failed = _failed_command(error.text)
    return any(
        finding.text.startswith(FIXED)
        and finding.updated_at >= error.updated_at
        and confirms_fix(_fixed_command(finding.text), failed)
        for finding in findings
    )


def describe_fix(event: Event, failure: Observation, earlier: Iterable[Observation]) -> Draft:
    """Return a new observation that a failed command works again, with the changes made since and the error message.

    `earlier` lists the observations of the session, newest first.
    """
    command = format_command(event.tool.subject if event.tool else "")
    steps = [row for row in earlier if row.kind == "change" and _is_after_failure(row, failure)]
    files = dict.fromkeys(file for step in reversed(steps) for file in step.files)
    why = failure.text.partition(FAILED)[2].lstrip(": \n")
    printed = _change_output_line(event.tool)
    what = f"Fixed: {command} works now.\n{_format_steps(steps)}{printed}{FAILURE_PREFIX}{why}"
    return Draft(what, kind="finding", files=tuple(files))


def _is_after_failure(step: Observation, failure: Observation) -> bool:
    """Whether a change was made after the last occurrence of a failure; a failure may occur several times."""
    if step.created_at != failure.updated_at or step.session_id != failure.session_id:
        return step.created_at >= failure.updated_at
    return step.place > failure.place


def _change_output_line(tool: ToolUse | None) -> str:
    """Return a line with what a command printed about its effect, such as a URL, version or commit id."""
    if tool is None or effect_of(tool.subject) is not Effect.CHANGES or not tool.output.strip():
        return ""
    return f"It printed: {output_excerpt(tool)}\n"


def output_excerpt(tool: ToolUse) -> str:
    """Return a short excerpt of the output of a command that changed something.

    Git's count of changed lines is omitted, because otherwise every commit would match a query about changes.
    """
    lines = tool.output.splitlines()
    kept = [line for line in lines if not re.match(_GIT_STAT_LINE, line)]
    return error_excerpt("\n".join(kept), characters=MAX_OUTPUT_CHARACTERS // 3)


def _format_steps(steps: Sequence[Observation]) -> str:
    """Return the changes between failure and success; the latest is first, because it is the most probable fix."""
    if not steps:
        return ""
    named = [_format_step(step) for step in steps[:_MAX_CHANGES_PER_FIX]]
    more = f"\nand {len(steps) - _MAX_CHANGES_PER_FIX} changes before" if len(steps) > _MAX_CHANGES_PER_FIX else ""
    return CHANGES_PREFIX + "\nafter: ".join(named) + more + "\n"


def _format_step(step: Observation) -> str:
    """Return a change as one line: an edit with its changed lines, or a command."""
    head, *lines = step.text.splitlines()
    changed = " ".join(line for line in lines if line.startswith(("- ", "+ ")))
    is_edit = head.startswith("Edited ")
    return truncate(f"{head}: {changed}" if is_edit and changed else head.removeprefix("Ran "), _MAX_CHANGE_CHARACTERS)


def _fixed_command(text: str) -> str:
    return text.removeprefix(FIXED).partition("` works now")[0].strip("`")


def _failed_command(text: str) -> str:
    """Return the failed command in the text of an error observation, or an empty string for a failed edit."""
    return text.partition(FAILED)[0].strip("`") if text.startswith("`") else ""


def find_undone_edits(new: NewObservation, older: Iterable[Observation]) -> list[Observation]:
    """Return earlier edits of the same files that a new edit undoes by removing all lines that they added."""
    removed = _marked_lines(new.text, "- ")
    return [
        row
        for row in older
        if row.files == new.files
        and row.pinned_at is None
        and row.text.startswith(_EDIT_PREFIX)
        and "\n… " not in row.text
        and (added := _marked_lines(row.text, "+ "))
        and added <= removed
    ]


def _marked_lines(text: str, prefix: str) -> set[str]:
    return {line.removeprefix(prefix) for line in text.splitlines() if line.startswith(prefix)}


def format_command(command: str) -> str:
    """Format a command for observations: truncated and in backquotes."""
    return f"`{truncate(' '.join(command.split()), _MAX_COMMAND_CHARACTERS)}`"


def answer_to_question(event: Event, earlier: Sequence[Observation]) -> Draft | None:
    """Return a new observation with a short answer to the user's last question, or None if there is no question.

    `earlier` lists the observations of the session, newest first.
    """
    answer = event.text.strip()
    question = earlier[0] if earlier else None
    if question is None or question.source != "user" or question.kind not in ("request", NOTE):
        return None
    if not count_words(answer) >= _MIN_ANSWER_WORDS or len(answer) > _MAX_ANSWER_CHARACTERS:
        return None
    if answer.endswith(("?", "？")) or starts_with_marker("refusal", answer) or not _asks_for_knowledge(question.text):
        return None
    return Draft(answer, NOTE, "agent")


def _asks_for_knowledge(prompt: str) -> bool:
    """Whether a prompt asks for information rather than for work."""
    last = prompt.rstrip().splitlines()[-1].lower()
    if not last.endswith(("?", "？")) and not UNSPACED.search(last):
        return False
    if has_marker("task", last):
        return False
    sentence = split_sentences(last)[-1] if split_sentences(last) else last
    opening = " ".join(re.findall(r"[^\W\d_]+", sentence)[:_MAX_QUESTION_OPENING_WORDS])
    return has_marker("question", opening)
