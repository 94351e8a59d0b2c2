"""Where modules of Python list a name in `__all__`: no use, but what others may import it by."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from deltos.languages.code_text import code_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deltos.domains.graph.source import Source
    from deltos.store.symbols import Symbol

_PYTHON = (".py", ".pyi")
_MOST_FILES = 50
_LISTS = re.compile(r"^__all__(?::[^=\n]*=)?[^\n\[(]*[\[(]([^\])]*)", re.MULTILINE)


def listed_in_all(symbol: Symbol, paths: Iterable[str], source: Source) -> list[tuple[str, int]]:
    """The places in some files at which a symbol of the top of a module is listed in `__all__`."""
    if "." in symbol.key or not symbol.key or not symbol.path.endswith(_PYTHON):
        return []
    files = sorted({path for path in paths if path.endswith(_PYTHON)}, key=lambda path: ("__init__" not in path, path))
    kept = dict.fromkeys((symbol.path, *files[:_MOST_FILES]))
    return [(path, line) for path in kept for line in _listing(source.text(path), symbol.name)]


def _listing(text: str, name: str) -> list[int]:
    return lines_listing(code_text(text, "python"), name) if "__all__" in text and name in text else []


def lines_listing(code: str, name: str) -> list[int]:
    """The lines of a module, given without comments, on which `__all__` gets a name."""
    if "__all__" not in code:
        return []
    starts = [at for at, character in enumerate(code) if character == "\n"]
    found = [at for each in _LISTS.finditer(code) for at in _quoted(name, code, each.start(1), each.end(1))]
    return sorted({bisect_right(starts, at) + 1 for at in found})


def _quoted(name: str, code: str, start: int, end: int) -> Iterator[int]:
    """Where a name stands in quotes between two places."""
    for text in (f'"{name}"', f"'{name}'"):
        at = code.find(text, start, end)
        while at >= 0:
            yield at
            at = code.find(text, at + len(text), end)
