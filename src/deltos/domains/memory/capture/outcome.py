"""Determine from the output whether a command succeeded, because some agents report no exit status and pipes hide it.

Texts that indicate failure are listed in outcomes.json and found by substring searches, which take linear time.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from deltos.domains.memory.capture.commands import hides_exit_status, programs_of
from deltos.domains.memory.capture.events import ToolOutcome


class FailureSigns(NamedTuple):
    """Texts in the output of a program that indicate failure.

    `line_starts` are texts at the start of a line, `contains` are texts at any position, and `counted_words` are words
    after a nonzero number (`3 failed`). A text in `success` indicates success and overrides all others.
    """

    line_starts: tuple[str, ...] = ()
    contains: tuple[str, ...] = ()
    counted_words: tuple[str, ...] = ()
    success: tuple[str, ...] = ()


class _OutcomeRules(NamedTuple):
    """The contents of outcomes.json."""

    any_program: FailureSigns
    unknown_program: FailureSigns
    by_program: dict[str, FailureSigns]
    log_levels: tuple[str, ...]
    not_committed: tuple[str, ...]


_LOG_LEVEL_BRACKETS = "[](){}<>:*!|│┃-"
_LOG_HEAD_CHARACTERS = 60
_LOG_HEAD_WORDS = 4
_MAX_LOG_LINES = 2_000
_MAX_WORDS_BEFORE_FAILED = 4  # maximum number of words before `failed`, as in `upload of x failed: reason`
_MAX_TAIL_CHARACTERS = 2_000
_MAX_COMMITTED_LINE_CHARACTERS = 120


@cache
def _rules() -> _OutcomeRules:
    """Return the contents of outcomes.json; cached."""
    data = json.loads(Path(__file__).with_name("outcomes.json").read_text("utf-8"))
    by_program = {program: _read_signs(row) for row in data["programs"] for program in row["programs"].split()}
    levels = tuple(data["log_levels"].split())
    return _OutcomeRules(
        _read_signs(data["any"]), _read_signs(data["unknown"]), by_program, levels, tuple(data["not_committed"])
    )


def _read_signs(row: dict[str, Any]) -> FailureSigns:
    return FailureSigns(**{name: tuple(row.get(name, ())) for name in FailureSigns._fields})


def outcome_of(command: str, output: str, status: int | None) -> ToolOutcome:
    """Return the outcome of a shell command.

    `status` is None if the agent did not report it. Status 0 is trusted only if no part of the command can fail without
    changing the status.
    """
    if status:
        return ToolOutcome.FAILED
    if status == 0 and not hides_exit_status(command):
        return ToolOutcome.SUCCEEDED
    programs = programs_of(command)
    text = _prepare_output(output)
    if _indicates_failure(programs, text):
        return ToolOutcome.FAILED
    if "git commit" in programs:
        return ToolOutcome.SUCCEEDED if _prints_commit_id(text) else _uncommitted_outcome(text)
    return ToolOutcome.SUCCEEDED


def _prepare_output(output: str) -> str:
    r"""Remove colour codes, and add a line break at both ends so that line starts can be searched as `\n` + text."""
    if "\x1b[" in output:
        pieces = output.split("\x1b[")
        output = pieces[0] + "".join(piece.partition("m")[2] if "m" in piece[:12] else piece for piece in pieces[1:])
    return f"\n{output}\n"


def _indicates_failure(programs: tuple[str, ...], text: str) -> bool:
    """Whether the output contains a text that indicates the failure of one of the programs."""
    rules = _rules()
    known = [rules.by_program[name] for name in programs if name in rules.by_program]
    all_known = all(name in rules.by_program or name == "git commit" for name in programs)
    signs = [*known, *(() if all_known else (rules.unknown_program,))]
    if any(sign in text for row in signs for sign in row.success):
        return False
    if any(_matches_signs(row, text) for row in (*signs, rules.any_program)) or _ends_with_exception(text):
        return True
    return not all_known and (_reports_failed_action(text) or _logs_failure(text))


def _logs_failure(text: str) -> bool:
    """Whether a line starts with a log level that means failure, such as `ERROR` or `[FATAL]`."""
    for line in text.splitlines()[:_MAX_LOG_LINES]:
        words = [word.strip(_LOG_LEVEL_BRACKETS) for word in line[:_LOG_HEAD_CHARACTERS].split()[:_LOG_HEAD_WORDS]]
        if any(word in _rules().log_levels for word in words):
            return True
    return False


def _reports_failed_action(text: str) -> bool:
    """Whether a line begins by naming a failed action, such as `upload failed: …` or `Deployment of web failed: …`."""
    at = text.find(" failed: ")
    while at >= 0:
        words = text[text.rfind("\n", 0, at) + 1 : at].split()
        if 0 < len(words) <= _MAX_WORDS_BEFORE_FAILED and not words[-1].strip(",").isdecimal():
            return True
        at = text.find(" failed: ", at + 1)
    return False


def _matches_signs(signs: FailureSigns, text: str) -> bool:
    """Whether a text contains any of the signs of failure."""
    return (
        any(f"\n{sign}" in text for sign in signs.line_starts)
        or any(sign in text for sign in signs.contains)
        or any(_has_nonzero_count(text, word) for word in signs.counted_words)
    )


def _has_nonzero_count(text: str, word: str) -> bool:
    """Whether a number other than zero precedes an occurrence of the word."""
    at = text.find(f" {word}")
    while at >= 0:
        first = at
        while first > 0 and text[first - 1].isdecimal() and at - first < 12:
            first -= 1
        after = text[at + 1 + len(word) : at + 2 + len(word)]
        if text[first:at].strip("0") and not after.isalnum():
            return True
        at = text.find(f" {word}", at + 1)
    return False


def _ends_with_exception(text: str) -> bool:
    """Whether one of the last lines has the form `SomeError: reason`."""
    for line in text[-_MAX_TAIL_CHARACTERS:].splitlines()[-20:]:
        name, colon, _ = line.partition(": ")
        if colon and name.endswith(("Error", "Exception")) and name.replace(".", "").isidentifier():
            return True
    return False


def _prints_commit_id(text: str) -> bool:
    """Whether git printed the id of the new commit: `[main 1a2b3c4] …`."""
    at = text.find("\n[")
    while at >= 0:
        head = text[at + 2 : at + 2 + _MAX_COMMITTED_LINE_CHARACTERS].partition("]")[0].split()
        if len(head) >= 2 and len(head[-1]) >= 6 and all(letter in "0123456789abcdef" for letter in head[-1]):
            return True
        at = text.find("\n[", at + 1)
    return False


def _uncommitted_outcome(text: str) -> ToolOutcome:
    """Return the outcome of a `git commit` whose output contains no commit id."""
    is_refused = any(words in text for words in _rules().not_committed)
    return ToolOutcome.FAILED if is_refused else ToolOutcome.UNCLEAR
