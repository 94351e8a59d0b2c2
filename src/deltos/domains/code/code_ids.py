"""Ids of code, which name file and definition so that they survive edits: `code:src/app.py#Parser.feed`.

Without a definition they name lines: `code:src/app.py:12-40`. Ids of other projects than the session's begin with the
project: `code:PROJECT!src/app.py#Parser`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from deltos.errors import NotFound

ID_PREFIX = "code:"
_LINES = re.compile(r"(.+):(\d{1,9})-(\d{1,9})")


@dataclass(frozen=True, slots=True)
class CodeLocation:
    """A definition, or a range of lines, that an id refers to."""

    path: str
    symbol: str = ""
    start: int = 0
    end: int = 0
    project_id: str = ""

    @property
    def id(self) -> str:
        """The id as text."""
        project = f"{self.project_id}!" if self.project_id else ""
        where = f"#{self.symbol}" if self.symbol else f":{self.start}-{self.end}"
        return f"{ID_PREFIX}{project}{self.path}{where}"

    @classmethod
    def parse(cls, identifier: str) -> CodeLocation:
        """Parse an id; raise NotFound if it is not valid."""
        project_id, separator, rest = identifier.removeprefix(ID_PREFIX).partition("!")
        if not separator:
            project_id, rest = "", project_id
        path, has_symbol, symbol = rest.partition("#")
        if has_symbol and path and symbol:
            return cls(path, symbol, project_id=project_id)
        if match := _LINES.fullmatch(rest):
            return cls(match[1], start=max(1, int(match[2])), end=int(match[3]), project_id=project_id)
        raise NotFound(f"No code behind '{identifier[:200]}'", hint="Ids of code come from search.")


def code_location(path: str, symbol: str, start: int, end: int, project_id: str = "") -> CodeLocation:
    """Return the location of a chunk: its definition if it has one, otherwise its lines."""
    return (
        CodeLocation(path, symbol, project_id=project_id) if symbol else CodeLocation(path, "", start, end, project_id)
    )
