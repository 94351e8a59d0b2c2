"""Check 7: answers about references, callees, impact and cycles do not contradict each other."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from benchmarks.sweep.checks import LINE_OF_USE, used_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.sweep.checks import Result
    from benchmarks.sweep.client import Server
    from benchmarks.sweep.names import Definition

MAX_SYMBOLS = 6
MAX_CALLERS = 3
MAX_CYCLES = 10
MAX_PATH_CHARACTERS = 250
_HEADER = re.compile(r"^def (\S+) (.+?):(\d+)-(\d+) (\S+)")
_CALLEE = re.compile(r"^ (\d+) ")
_TITLE = re.compile(r"^--- (\w+)(.*) ---$")
_PLACE_IN_LIST = re.compile(r"(?:^| )(\d+) \S")


@dataclass(frozen=True, slots=True)
class ShownDefinition:
    """A definition as it appears in an answer of Deltos."""

    label: str
    path: str
    line: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class Call:
    """A line that uses a definition, and the definition that contains the line."""

    path: str
    line: int
    kind: str


def check_symmetry(result: Result, server: Server, root: Path, sample: list[Definition]) -> None:
    """Check 7: callers list their callees, impact contains callers of callers, and cycles consist of imports."""
    for each in sample[:MAX_SYMBOLS]:
        target, calls = _direct_uses(server, f"{each.path}:{each.line}", root)
        if target is None or target.line > each.line or each.line > target.end:
            continue
        callers: list[ShownDefinition] = []
        for call in calls:
            if call.kind != "call" or len(callers) == MAX_CALLERS:
                continue
            caller = _check_callees(result, server, root, target, call)
            if caller is not None:
                callers.append(caller)
        _check_impact(result, server, root, target, callers)
    _check_cycles(result, server, root)


def _direct_uses(server: Server, symbol: str, root: Path) -> tuple[ShownDefinition | None, list[Call]]:
    """Return the definition of a symbol, and its certain direct uses."""
    text, _, is_error = server.call("find_references", symbol=symbol, limit=200, tests=True)
    lines = text.splitlines()
    target = None if is_error else next(filter(None, map(_parse_definition, lines[:3])), None)
    return target, list(_parse_calls(lines, root)) if target else []


def _parse_definition(line: str) -> ShownDefinition | None:
    match = _HEADER.match(line)
    return ShownDefinition(match[1], match[2], int(match[3]), int(match[4]), match[5]) if match else None


def _parse_calls(lines: list[str], root: Path) -> Iterator[Call]:
    path = ""
    for line in lines:
        match = LINE_OF_USE.match(line)
        if _TITLE.match(line):
            return  # The other uses are indirect or only possible.
        if match and path:
            for number in used_lines(match[1]):
                yield Call(path, number, match[2])
        elif _is_file(root, line):
            path = line


def _is_file(root: Path, text: str) -> bool:
    return len(text) < MAX_PATH_CHARACTERS and (root / text).is_file()


def _check_callees(
    result: Result, server: Server, root: Path, target: ShownDefinition, call: Call
) -> ShownDefinition | None:
    """Check that the definition around a call lists the target as a callee, and return this definition."""
    place = f"{call.path}:{call.line}"
    text, _, is_error = server.call("get_context", symbol=place)
    caller = None if is_error else _parse_definition(text.partition("\n")[0])
    is_around = caller is not None and caller.path == call.path and caller.line <= call.line <= caller.end
    is_callable = caller is not None and caller.kind in {"function", "method"}
    if caller is None or not is_around or not is_callable or _is_within(caller, target) or _is_within(target, caller):
        return None
    callees, is_whole = _parse_callees(text, root)
    if is_whole:
        holds = any(path == target.path and target.line <= line <= target.end for path, line in callees)
        result.check("callees", place, f"{caller.label} calls {target.label} {target.path}:{target.line}", holds=holds)
    return caller


def _is_within(inner: ShownDefinition, outer: ShownDefinition) -> bool:
    return inner.path == outer.path and outer.line <= inner.line and inner.end <= outer.end


def _parse_callees(text: str, root: Path) -> tuple[set[tuple[str, int]], bool]:
    """Return the positions of the listed callees, and whether the list is complete."""
    found: set[tuple[str, int]] = set()
    is_in_section, is_whole, path = False, True, ""
    for line in text.splitlines():
        if title := _TITLE.match(line):
            is_in_section = title[1] == "callees"
            is_whole = is_whole and not (is_in_section and "first" in title[2])
        elif is_in_section and (match := _CALLEE.match(line)):
            found.add((path, int(match[1])))
        elif is_in_section and _is_file(root, line):
            path = line
    return found, is_whole and not text.startswith("Showing")


def _check_impact(
    result: Result, server: Server, root: Path, target: ShownDefinition, callers: list[ShownDefinition]
) -> None:
    """Check that the impact of a definition contains its callers and their callers."""
    text, _, is_error = server.call("get_impact", symbol=f"{target.path}:{target.line}", limit=500)
    header = _parse_definition(text.partition("\n")[0])
    if is_error or text.startswith("Showing") or header is None or header.line != target.line:
        return
    affected = _parse_impact(text, root)
    for caller in callers:
        _check_affected(result, target, caller, affected, "impact of callers")
        _, calls = _direct_uses(server, f"{caller.path}:{caller.line}", root)
        for call in [call for call in calls if call.kind == "call"][:MAX_CALLERS]:
            context, _, is_error = server.call("get_context", symbol=f"{call.path}:{call.line}")
            indirect = None if is_error else _parse_definition(context.partition("\n")[0])
            if indirect and indirect.kind in {"function", "method"} and not _is_within(indirect, target):
                _check_affected(result, target, indirect, affected, "impact closure")


def _check_affected(
    result: Result, target: ShownDefinition, dependant: ShownDefinition, affected: set[tuple[str, int]], check: str
) -> None:
    if dependant.label.startswith(f"{target.label}."):
        return  # The dependant is a member of the type but may be defined elsewhere.
    holds = any(path == dependant.path and dependant.line <= line <= dependant.end for path, line in affected)
    place = f"{target.path}:{target.line}"
    result.check(check, place, f"{dependant.label} {dependant.path}:{dependant.line} uses {target.label}", holds=holds)


def _parse_impact(text: str, root: Path) -> set[tuple[str, int]]:
    """Return the positions in a `get_impact` answer: `path 12 name, 34 name`, or a path followed by lines with uses."""
    found: set[tuple[str, int]] = set()
    path = ""
    for line in text.splitlines():
        if match := LINE_OF_USE.match(line):
            found |= {(path, number) for number in used_lines(match[1])}
        elif _is_file(root, line):
            path = line
        else:
            start = re.search(r" \d+ \S", line)
            if start and _is_file(root, line[: start.start()]):
                path = line[: start.start()]
                found |= {(path, int(each)) for each in _PLACE_IN_LIST.findall(line[start.start() :])}
    return found


def _check_cycles(result: Result, server: Server, root: Path) -> None:
    """Check that each file of an import cycle contains the name of the next one."""
    text, _, _ = server.call("detect_circular")
    for line in [line for line in text.splitlines() if " -> " in line][:MAX_CYCLES]:
        files = line.partition(": ")[2].split(" -> ")
        if not all(_is_file(root, file) for file in files):
            continue
        for file, imported in pairwise(files):
            steps = imported.split("/")
            stem = steps[-1].split(".")[0]
            names = {stem, *steps[-2:-1], *(["..", "'."] if stem == "index" else [])} - {"__init__", "index", "mod"}
            source = (root / file).read_text("utf-8", "replace")
            result.check(
                "cycles", file, f"imports {imported}", holds=not names or any(name in source for name in names)
            )
