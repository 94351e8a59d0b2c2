"""Scan files for a literal or a regular expression in linear time, without backtracking."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from deltos.linear_regex import compile_regex
from deltos.workspace.admission import read_source, to_utf8
from deltos.workspace.source_tree import source_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from deltos.store.project import ProjectFiles

SCAN_SECONDS = 8.0  # timeout of a scan
_MATCHES_PER_TIME_CHECK = 1_000


@dataclass(frozen=True, slots=True)
class FileMatches:
    """The numbers of the lines in one file on which matches begin."""

    path: str
    lines: tuple[int, ...]


@dataclass(slots=True)
class ScanReport:
    """Number of files searched, and whether the scan ended before its timeout."""

    files: int = 0
    complete: bool = True


class Finder(Protocol):
    """Finds matches in the content of a file."""

    def positions(self, data: bytes) -> Iterator[int]:
        """Yield the byte offsets of matches, in order."""


class LiteralFinder:
    """Finds a literal."""

    def __init__(self, text: str) -> None:
        self._needle = text.encode("utf-8")

    def positions(self, data: bytes) -> Iterator[int]:
        """Yield the byte offsets at which the literal occurs."""
        at = data.find(self._needle)
        while at >= 0:
            yield at
            at = data.find(self._needle, at + len(self._needle))


class PatternFinder:
    """Finds matches of a regular expression in time linear in the file size."""

    def __init__(self, pattern: str) -> None:
        self._pattern = compile_regex(pattern, hint='Put the text in "quotes" to search for it literally.')

    def positions(self, data: bytes) -> Iterator[int]:
        r"""Yield the byte offset of the first character in each match that is not white space."""
        for match in self._pattern.finditer(data):
            found = match[0]
            yield match.start() + (len(found) - len(found.lstrip())) * bool(found.strip())


def scan(
    root: Path,
    paths: Sequence[str],
    finder: Finder,
    report: ScanReport,
    store: ProjectFiles | None = None,
) -> Iterator[FileMatches]:
    """Yield every file that contains a match, until the timeout; count the searched files in `report`."""
    deadline = time.monotonic() + SCAN_SECONDS
    with source_tree(root, store, order=paths) as tree:
        for path in paths:
            if time.monotonic() > deadline:
                report.complete = False
                return
            data = read_source(tree, path)
            if data is None:
                continue
            report.files += 1
            if lines := _matching_lines(to_utf8(data), finder, deadline, report):
                yield FileMatches(path, lines)


def _matching_lines(data: bytes, finder: Finder, deadline: float, report: ScanReport) -> tuple[int, ...]:
    """Return the numbers of the lines on which matches begin."""
    lines: dict[int, None] = {}
    line, counted_to = 1, 0
    for number, position in enumerate(finder.positions(data)):
        if number % _MATCHES_PER_TIME_CHECK == 0 and time.monotonic() > deadline:
            report.complete = False
            break
        line += data.count(b"\n", counted_to, position)
        counted_to = position
        lines[line] = None
    return tuple(lines)
