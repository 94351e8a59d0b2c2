"""A document that may describe an API, before anybody has parsed it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltos.errors import SourceError

ReadDocument = Callable[[str], bytes]
"""Reads a document by its path relative to the root document; raises SourceError where it may not."""


@dataclass(frozen=True, slots=True)
class ApiDocument:
    """A root document: its bytes, what to cite it as, its file name and how to read its neighbours.

    `kind` is what its bytes look like, if they were looked at; `problem` is why they could not be.
    """

    data: bytes
    citation: str
    name: str = ""
    read: ReadDocument | None = None
    kind: str = ""
    problem: SourceError | None = None
