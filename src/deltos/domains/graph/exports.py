"""Search for the entries of `__all__` in Python modules. An entry exports a name and does not count as a use."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from deltos.languages.code_text import code_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deltos.domains.graph.source_lines import SourceLines
    from deltos.store.symbols import Symbol

_PYTHON_SUFFIXES = (".py", ".pyi")
_MAX_FILES = 50  # maximum number of modules that are searched in addition to the symbol's own module
_ALL_ASSIGNMENT = re.compile(r"^__all__(?::[^=\n]*=)?[^\n\[(]*[\[(]([^\])]*)", re.MULTILINE)


def dunder_all_locations(symbol: Symbol, paths: Iterable[str], source: SourceLines) -> list[tuple[str, int]]:
    """Return the locations of a top-level symbol's `__all__` entries in its own module and in `paths`."""
    if "." in symbol.key or not symbol.key or not symbol.path.endswith(_PYTHON_SUFFIXES):
        return []
    files = sorted(
        {path for path in paths if path.endswith(_PYTHON_SUFFIXES)}, key=lambda path: ("__init__" not in path, path)
    )
    kept = dict.fromkeys((symbol.path, *files[:_MAX_FILES]))
    return [(path, line) for path in kept for line in _dunder_all_lines_of_file(source.text(path), symbol.name)]


def _dunder_all_lines_of_file(text: str, name: str) -> list[int]:
    """Return the lines of a file on which `__all__` lists a name."""
    return dunder_all_lines(code_text(text, "python"), name) if "__all__" in text and name in text else []


def dunder_all_lines(code: str, name: str) -> list[int]:
    """Return the lines on which `__all__` lists a name, given a module's code without comments."""
    if "__all__" not in code:
        return []
    starts = [at for at, character in enumerate(code) if character == "\n"]
    found = [
        at for each in _ALL_ASSIGNMENT.finditer(code) for at in _quoted_offsets(name, code, each.start(1), each.end(1))
    ]
    return sorted({bisect_right(starts, at) + 1 for at in found})


def _quoted_offsets(name: str, code: str, start: int, end: int) -> Iterator[int]:
    """Yield the offsets of a quoted name between `start` and `end`."""
    for text in (f'"{name}"', f"'{name}'"):
        at = code.find(text, start, end)
        while at >= 0:
            yield at
            at = code.find(text, at + len(text), end)
