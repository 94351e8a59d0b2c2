"""Data classes of source code shared by all languages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Definition:
    """A named part of source: a function, a class, a heading.

    Lines count from 1 and include both ends. `start_line` includes decorators and the doc comment above; `line`
    contains the name. `container` is the dotted path of enclosing definitions, empty at the top level.
    """

    name: str
    kind: str
    line: int
    start_line: int
    end_line: int
    container: str = ""
    signature: str = ""
    doc: str = ""

    @property
    def qualified_name(self) -> str:
        """The name with its containers: `Parser.feed`."""
        return f"{self.container}.{self.name}" if self.container else self.name
