"""Definitions in the code graph."""

from __future__ import annotations

import re
from dataclasses import dataclass

# This pattern matches the suffixes of `feed#2` and `Shape#interface`, but not the private name `Shape.#area`.
_REPETITION_SUFFIX = re.compile(r"(?<=\w)#\w+")


def bare_key(key: str) -> str:
    """Return the key of a definition without the suffix that distinguishes repeated definitions, such as `#2`."""
    return _REPETITION_SUFFIX.sub("", key) if "#" in key else key


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition. `key` is unique within a file and does not depend on line numbers: `Parser.feed`, `Parser.feed#2`.

    `path` and `node_id` are set when the definition is stored.
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
        """Qualified name for users, without the suffix of repeated definitions (such as `#2` in `feed#2`)."""
        return bare_key(self.key)
