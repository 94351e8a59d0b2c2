"""Data classes for source code, shared by all languages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Definition:
    """A named part of a source file, such as a function, a class or a heading.

    Line numbers start at 1, and ranges include both ends. `start_line` includes decorators and the doc comment above.
    `line` contains the name. `container` is the dotted path of enclosing definitions, empty at the top level.
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
        """The name prefixed with its containers, such as `Parser.feed`."""
        return f"{self.container}.{self.name}" if self.container else self.name
