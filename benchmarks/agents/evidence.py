"""Detect whether command output contains the right answer, so that scripted policies can stop."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from benchmarks.agents.look_log import Look
    from benchmarks.agents.tasks import Task

MAX_DISTANCE_CHARACTERS = 1_500  # maximum distance between the names in an answer
_PATH = r"[\w.-]+(?:/[\w.-]+)*\.(?:py|pyi|go|rs|ts|tsx|java|js)\b"
_READ = re.compile(rf"sed -n (\d+),(\d+)p (?:\./)?({_PATH})")
_RANGE = re.compile(rf"({_PATH}):(\d+)-(\d+)")
_JSON_RANGE = re.compile(rf'"file_path":"({_PATH})","start_line":(\d+),"end_line":(\d+)')


def is_visible(task: Task, looks: Sequence[Look]) -> bool:
    """Return whether the right answer can be derived from the output of all commands."""
    shown = [look.shown for look in looks]
    if task.form == "lines":
        return set(task.answer) <= places_in(looks, task.answer)
    if task.form == "line":
        return bool(places_in(looks, [*task.answer, *task.also]))
    if task.form == "files":
        return all(any(path in text for text in shown) for path in task.answer)
    if task.form == "call":
        return any(_shows_call(text, task.answer) for text in shown)
    return any(are_close_together(f"{look.command}\n{look.shown}", task.answer) for look in looks)


def places_in(looks: Iterable[Look], places: Iterable[str]) -> set[str]:
    """Return the target locations that occur in command outputs: a path with a line number, or a printed range."""
    wanted = [(path, int(line)) for path, _, line in (place.rpartition(":") for place in places)]
    found: set[str] = set()
    for look in looks:
        numbered = set(_numbers_after_paths(look.shown))
        ranges = [*_shown_ranges(look)]
        for path, line in wanted:
            if (path, line) in numbered or any(
                path == shown and first <= line <= last for shown, first, last in ranges
            ):
                found.add(f"{path}:{line}")
    return found


def _numbers_after_paths(text: str) -> Iterator[tuple[str, int]]:
    """Yield each number in a text with the path that precedes it."""
    parts = re.split(rf"({_PATH})", text)
    for path, after in zip(parts[1::2], parts[2::2], strict=True):
        for number in re.findall(r"(?<![\w.])\d+", after):
            yield path.removeprefix("./"), int(number)


def _shown_ranges(look: Look) -> Iterator[tuple[str, int, int]]:
    """Return the file and line range of each command that prints lines of a file."""
    for first, last, path in _READ.findall(look.command):
        yield path, int(first), int(last)
    for path, first, last in (*_RANGE.findall(look.shown), *_JSON_RANGE.findall(look.shown)):
        yield path, int(first), int(last)


def are_close_together(text: str, names: Sequence[str]) -> bool:
    """Return whether all names (or one of each name's alternatives) occur close together in a text."""
    lowered = text.lower()
    first, *others = sorted(names, key=lambda name: min(len(_positions(lowered, choice)) for choice in name.split("|")))
    for choice in first.split("|"):
        for at in _positions(lowered, choice):
            near = lowered[max(0, at - MAX_DISTANCE_CHARACTERS) : at + MAX_DISTANCE_CHARACTERS]
            if all(any(_positions(near, one) for one in other.split("|")) for other in others):
                return True
    return False


def _positions(text: str, name: str) -> list[int]:
    return [found.start() for found in re.finditer(rf"(?<![\w]){re.escape(name.lower())}(?![\w])", text)]


def _shows_call(text: str, call: dict[str, object]) -> bool:
    names = [str(call["template"])]
    for part in ("query", "body"):
        given = call.get(part, {})
        names += list(given) if isinstance(given, dict) else []
    return all(name in text for name in names)
