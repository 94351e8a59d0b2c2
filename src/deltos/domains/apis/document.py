"""A document that may describe an API, before it is parsed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltos.errors import SourceError

ReadDocument = Callable[[str], bytes]
"""Reads a document by its path relative to the root document; raises SourceError if the path is not allowed."""


@dataclass(frozen=True, slots=True)
class ApiDocument:
    """A document that may describe an API: content, citation, file name, and a function that reads other documents.

    `read` returns the content of a document to which this one refers. `kind` is the detected format, or empty.
    `problem` is the error if the document could not be read.
    """

    data: bytes
    citation: str
    name: str = ""
    read: ReadDocument | None = None
    kind: str = ""
    problem: SourceError | None = None
