"""A definition as the graph knows it, from its extraction to an answer about it."""

from __future__ import annotations

import re
from dataclasses import dataclass

# `feed#2`, `Shape#interface`; but `Shape.#area` is a private name of JavaScript.
_REPETITION = re.compile(r"(?<=\w)#\w+")


def bare_key(key: str) -> str:
    """A key without what tells repeated definitions apart."""
    return _REPETITION.sub("", key) if "#" in key else key


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition. `key` is unique in its file and stays when other lines move: `Parser.feed`, `Parser.feed#2`.

    `path` and `node_id` are known once it is stored.
    """

    key: str
    name: str
    kind: str
    line: int
    end_line: int
    signature: str = ""
    doc: str = ""
    path: str = ""
    node_id: int = 0

    @property
    def label(self) -> str:
        """Its qualified name for a reader: repeated definitions (`feed#2`) are told apart by their lines."""
        return bare_key(self.key)
