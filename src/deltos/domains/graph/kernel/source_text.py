"""Text of one source file, with the text and lines of syntax nodes."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node


class SourceText:
    """Text of one file, or of the part of a file that begins on `first_line`.

    Offsets are in bytes, and line numbers begin at 1.
    """

    __slots__ = ("_line_ends", "first_line", "is_ascii", "text")

    def __init__(self, data: bytes) -> None:
        # Latin-1 has one character per byte, so byte offsets of syntax nodes are valid indexes.
        self.text = data.decode("latin-1")
        self.is_ascii = data.isascii()
        self.first_line = 1
        self._line_ends = [match.start() for match in re.finditer("\n", self.text)]

    def slice(self, start: int, end: int) -> str:
        """Return the source text between two offsets."""
        text = self.text[start:end]
        return text if self.is_ascii or text.isascii() else text.encode("latin-1").decode("utf-8", "replace")

    def name(self, node: Node) -> str:
        """Return the source text of a node."""
        return self.slice(node.start_byte, node.end_byte)

    def line(self, node: Node) -> int:
        """Return the line on which a node starts."""
        return bisect_left(self._line_ends, node.start_byte) + self.first_line

    def end_line(self, node: Node) -> int:
        """Return the line of a node's last character."""
        return self.line_at(max(node.start_byte, node.end_byte - 1))

    def line_at(self, offset: int) -> int:
        """Return the line of an offset."""
        return bisect_left(self._line_ends, offset) + self.first_line
