"""Ids of code in tool calls: `code:src/app.py#Parser.feed` (path and symbol) remains valid after edits.

Code outside definitions is identified by its lines: `code:src/app.py:12-40`. Ids of code in
projects other than the session's project contain the project id: `code:PROJECT!src/app.py#Parser`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from deltos.errors import NotFound

ID_PREFIX = "code:"
_LINE_RANGE = re.compile(r"(.+):(\d{1,9})-(\d{1,9})")


@dataclass(frozen=True, slots=True)
class CodeLocation:
    """A definition or line range in a file."""

    path: str
    symbol: str = ""
    start: int = 0
    end: int = 0
    project_id: str = ""

    @property
    def id(self) -> str:
        """Code id of the location."""
        project = f"{self.project_id}!" if self.project_id else ""
        where = f"#{self.symbol}" if self.symbol else f":{self.start}-{self.end}"
        return f"{ID_PREFIX}{project}{self.path}{where}"

    @classmethod
    def parse(cls, identifier: str) -> CodeLocation:
        """Parse a code id; raise NotFound if it is not valid."""
        project_id, separator, rest = identifier.removeprefix(ID_PREFIX).partition("!")
        if not separator:
            project_id, rest = "", project_id
        path, has_symbol, symbol = rest.partition("#")
        if has_symbol and path and symbol:
            return cls(path, symbol, project_id=project_id)
        if match := _LINE_RANGE.fullmatch(rest):
            return cls(match[1], start=max(1, int(match[2])), end=int(match[3]), project_id=project_id)
        raise NotFound(f"No code has the id '{identifier[:200]}'", hint="Pass an id from a search result.")


def code_location(path: str, symbol: str, start: int, end: int, project_id: str = "") -> CodeLocation:
    """Return the location of a chunk: its definition if it has one, otherwise its lines."""
    return (
        CodeLocation(path, symbol, project_id=project_id) if symbol else CodeLocation(path, "", start, end, project_id)
    )
