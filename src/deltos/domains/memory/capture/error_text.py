"""Shorten the output of failed commands to the lines that show the cause."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_OUTPUT_CHARACTERS = 1_200
FAILED = "` failed"  # text after the command in an error observation
_MAX_LINE_CHARACTERS = 160
# Lines that state the cause of an error are truncated only if they would fill most of the observation.
_MAX_CAUSE_CHARACTERS = 1_000
_MIN_COMMAND_CHARACTERS = 50  # minimum length of the command that is shown before a long cause
_ERROR_LINE = (
    r"(?i)\b(?:error|exception|traceback|fail(?:ed|ure|s)?|fatal|panic(?:ked)?|denied|cannot|could not|"
    r"not found|undefined|unresolved|segmentation fault|assert\w*|warning: unused)\b|^E\s|npm ERR!|^\s*\^+"
)
_CAUSE_PATTERN = r"(?:Error|Exception): |^E  |\berror(?:\[\w{1,12}\])?: |\bfatal: |panicked at|^panic: |error TS\d"
_TRACEBACK_HEADER = "Traceback (most recent call last)"
_COMPILER_LOCATION = (
    r"\s{0,8}[^\s:]{1,200}:\d{1,6}(?::\d{1,6})?:? \S"  # location in compiler output: `file:line:`, `file:line:column:`
)
_FAILED_TEST = "--- FAIL: "  # failed Go test; the next line has location and message
_RUST_NUMBERED_ERROR = "error["  # rustc error; later errors without a number are only summaries


def truncate(text: str, characters: int) -> str:
    """Return a text truncated to at most `characters`."""
    return text if len(text) <= characters else text[: characters - 1].rstrip() + "…"


def error_excerpt(output: str, *, characters: int = MAX_OUTPUT_CHARACTERS) -> str:
    """Return at most `characters` of an output: first the cause of the error, then last lines and other errors."""
    full = [line.rstrip() for line in output.splitlines() if line.strip()]
    error_lines = _error_lines(full)
    causes = _cause_lines(full, error_lines)
    lines = [
        truncate(line, _MAX_CAUSE_CHARACTERS if at in causes else _MAX_LINE_CHARACTERS) for at, line in enumerate(full)
    ]
    if sum(map(len, lines)) + len(lines) <= characters:
        return "\n".join(lines)
    # Causes come first, then the end of the output, usually a summary. Among other errors, later errors are usually
    # closer to the cause.
    wanted: set[int] = set()
    remaining = characters
    for number in causes:
        if not wanted or remaining > len(lines[number]) + 3:
            wanted.add(number)
            remaining -= len(lines[number]) + 3
    neighbours = (near for number in reversed(error_lines) for near in (number, number + 1, number - 1))
    for number in (len(lines) - 1, len(lines) - 2, *neighbours):
        if 0 <= number < len(lines) and number not in wanted and remaining > len(lines[number]) + 3:
            wanted.add(number)
            remaining -= len(lines[number]) + 3
    return _join_with_gaps(lines, sorted(wanted))


def summarize_error(text: str, *, characters: int) -> str:
    """Return the failed command and the cause of its failure as one line of about `characters`."""
    head, *lines = text.splitlines() or [""]
    # The last lines of pytest contain both the test and the cause.
    named = next((line for line in lines if line.startswith("FAILED ") and "::" in line), None)
    cause = named or main_cause(lines)
    if not cause:
        return text
    cause = cause.strip()
    if len(head) + 1 + len(cause) > characters and FAILED in head:
        command, failed, rest = head.partition(FAILED)
        remaining = max(_MIN_COMMAND_CHARACTERS, characters - len(failed) - len(rest) - 1 - len(cause))
        head = f"{truncate(command, remaining)}{failed}{rest}"
    return f"{head} {cause}"


def main_cause(lines: Sequence[str]) -> str:
    """Return the line with the cause of an error: the exception of the last traceback, or the first compiler error."""
    at = _exception_line(lines)
    failed_test = next((number for number, line in enumerate(lines[:-1]) if _FAILED_TEST in line), None)
    if failed_test is not None:
        return f"{lines[failed_test].strip()} {lines[failed_test + 1].strip()}"
    if at is None:
        error_lines = _error_lines(lines)
        strong = [number for number in error_lines if re.search(_CAUSE_PATTERN, lines[number][:_MAX_CAUSE_CHARACTERS])]
        numbered = [number for number in strong if _RUST_NUMBERED_ERROR in lines[number]]
        errors = [
            number for number in error_lines if re.search(r"(?i)\berror\b", lines[number][:_MAX_CAUSE_CHARACTERS])
        ]
        placed = [
            number for number, line in enumerate(lines) if re.match(_COMPILER_LOCATION, line[:_MAX_CAUSE_CHARACTERS])
        ]
        at = next(iter((*numbered, *strong, *placed, *errors, *error_lines[-1:])), None)
    if at is None:
        return ""
    line = lines[at].rstrip()
    return f"{line} {lines[at + 1].strip()}" if line.endswith(":") and at + 1 < len(lines) else line


def _exception_line(lines: Sequence[str]) -> int | None:
    """Return the index of the line with the exception that ends the last Python traceback, or None if there is none."""
    starts = [number for number, line in enumerate(lines) if _TRACEBACK_HEADER in line]
    if not starts:
        return None
    before = lines[starts[-1]].partition(_TRACEBACK_HEADER)[0]  # prefix that a container log adds to all lines
    for number in range(starts[-1] + 1, len(lines)):
        line = lines[number].removeprefix(before)
        if line[:1] not in ("", " ", "\t", "…") and lines[number].startswith(before.rstrip()):
            return number
    return None


def _error_lines(lines: Sequence[str]) -> list[int]:
    """Return the indexes of the lines that mention an error."""
    return [
        number
        for number, line in enumerate(lines)
        if re.search(_ERROR_LINE, line[:_MAX_CAUSE_CHARACTERS])
        or re.search(_CAUSE_PATTERN, line[:_MAX_CAUSE_CHARACTERS])
    ]


def _cause_lines(lines: Sequence[str], error_lines: Sequence[int]) -> tuple[int, ...]:
    """Return the indexes of the lines that state causes: the exception, the last error and the first error."""
    strong = [number for number in error_lines if re.search(_CAUSE_PATTERN, lines[number][:_MAX_CAUSE_CHARACTERS])]
    found = strong or error_lines
    exception_at = _exception_line(lines)
    ends = (() if exception_at is None else (exception_at,), found[-1:], found[:1])
    return tuple(dict.fromkeys(number for end in ends for number in end))


def _join_with_gaps(lines: Sequence[str], numbers: Sequence[int]) -> str:
    """Join the lines with the given indexes, with `…` where lines are omitted."""
    kept: list[str] = []
    last = -1
    for number in numbers:
        if number != last + 1:
            kept.append("…")
        kept.append(lines[number])
        last = number
    return "\n".join(kept)
