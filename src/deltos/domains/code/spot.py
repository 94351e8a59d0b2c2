"""Ids of code. They name the file and the definition, so that they outlive edits: `code:src/app.py#Parser.feed`.

Where nothing is defined they name lines: `code:src/app.py:12-40`. One of another project than the session's names that
first: `code:PROJECT!src/app.py#Parser`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from deltos.errors import NotFound

PREFIX = "code:"
_LINES = re.compile(r"(.+):(\d{1,9})-(\d{1,9})")


@dataclass(frozen=True, slots=True)
class Spot:
    """A piece of code that an id names: a definition, or lines where there is none."""

    path: str
    symbol: str = ""
    start: int = 0
    end: int = 0
    project_id: str = ""

    @property
    def id(self) -> str:
        """Its id."""
        project = f"{self.project_id}!" if self.project_id else ""
        where = f"#{self.symbol}" if self.symbol else f":{self.start}-{self.end}"
        return f"{PREFIX}{project}{self.path}{where}"

    @classmethod
    def read(cls, identifier: str) -> Spot:
        """The spot behind an id; NotFound when it names none."""
        project_id, separator, rest = identifier.removeprefix(PREFIX).partition("!")
        if not separator:
            project_id, rest = "", project_id
        path, has_symbol, symbol = rest.partition("#")
        if has_symbol and path and symbol:
            return cls(path, symbol, project_id=project_id)
        if match := _LINES.fullmatch(rest):
            return cls(match[1], start=max(1, int(match[2])), end=int(match[3]), project_id=project_id)
        raise NotFound(f"No code behind '{identifier[:200]}'", hint="Ids of code come from search.")


def spot_of(path: str, symbol: str, start: int, end: int, project_id: str = "") -> Spot:
    """The spot of a chunk: its definition if it has one."""
    return Spot(path, symbol, project_id=project_id) if symbol else Spot(path, "", start, end, project_id)
