"""Find the arguments of calls on given lines. The current files are parsed in child processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.errors import DeltosError, FileRefused
from deltos.federation.review.signature import name_nodes, read_arguments
from deltos.files import FileTree
from deltos.languages.table import detect
from deltos.workspace.admission import MAX_CODE_BYTES, to_utf8
from deltos.workspace.batches import file_limits

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from deltos.federation.review.signature import ArgumentList
    from deltos.isolated.process_pool import ProcessPool
    from deltos.isolated.wire import TaskLimits

_DETECTION_BYTES = 8_192


@dataclass(frozen=True, slots=True)
class LinesToRead:
    """A file, and the names of the callees to look for, by line number."""

    path: str
    data: bytes
    names_by_line: Mapping[int, frozenset[str]]


def read_calls(
    root: Path, wanted: Mapping[str, Mapping[int, frozenset[str]]], workers: ProcessPool | None
) -> dict[tuple[str, int, str], list[ArgumentList]]:
    """Return the arguments of each call by path, line and callee name. Unreadable files are skipped."""
    files = [file for path, lines in sorted(wanted.items()) if (file := _read_file(root, path, lines)) is not None]
    if workers is None:
        results = [calls_in(file) for file in files]
    else:
        replies = workers.run_each(calls_in, (), files, _limits)
        results = [reply.value if reply.error is None else {} for reply in replies]
    return {
        (file.path, line, name): found
        for file, result in zip(files, results, strict=True)
        for (line, name), found in result.items()
    }


def calls_in(file: LinesToRead) -> dict[tuple[int, str], list[ArgumentList]]:
    """Return the arguments of the calls in one file by line and callee name. Runs in a child process."""
    from deltos.languages.grammar import parse  # deferred import: loads the parser library in child processes only

    language = detect(file.path, file.data[:_DETECTION_BYTES])
    data = to_utf8(file.data)
    try:
        tree = parse(language, data) if language is not None else None
    except DeltosError:
        tree = None
    if tree is None or language is None:
        return {}
    lines = data.split(b"\n")
    found: dict[tuple[int, str], list[ArgumentList]] = {}
    for line, names in file.names_by_line.items():
        for name in names if line <= len(lines) else ():
            nodes = name_nodes(tree.root_node, line - 1, lines[line - 1], name)
            calls = [read_arguments(node, language.name) for node in nodes]
            found[(line, name)] = [call for call in calls if call is not None]
    return found


def _read_file(root: Path, path: str, lines: Mapping[int, frozenset[str]]) -> LinesToRead | None:
    """Return a file with the current content, or None if the file cannot be read."""
    try:
        with FileTree(root) as tree:
            return LinesToRead(path, tree.read(path, MAX_CODE_BYTES), lines)
    except FileRefused:
        return None


def _limits(file: LinesToRead) -> TaskLimits:
    return file_limits(len(file.data))
