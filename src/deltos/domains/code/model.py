"""Data classes of code search: chunks, hits and answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from deltos.domains.code.query.parse import CodeQuery

MAX_RESULTS = 50
FoundBy = Literal["words", "meaning", "commits"]


@dataclass(frozen=True, slots=True)
class CodeChunk:
    """Consecutive lines of a file; `symbol` is the qualified name of the definition in them."""

    start_line: int
    end_line: int
    symbol: str = ""
    kind: str = ""
    signature: str = ""
    doc: str = ""
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CodeHit:
    """A chunk that answers a query, with its current lines from disk.

    `line` is the requested line, if any. `symbol` is the definition that answers, from `head_line` to `tail_line` if
    known. `about` is the first sentence of the file's docstring or header comment. `score` is the confidence from 0 to
    1; exact matches have 1. `found_by` is "meaning" or "commits" for a hit that has hardly any term of the query.
    `repository` is the name of the hit's project, `project_id` its globally unique name; both are empty if one project
    is searched.
    """

    chunk_id: int
    path: str
    start_line: int
    end_line: int
    symbol: str
    kind: str
    score: float
    content: str
    context_before: str = ""
    context_after: str = ""
    line: int = 0
    found_by: FoundBy = "words"
    head_line: int = 0
    tail_line: int = 0
    about: str = ""
    repository: str = ""
    project_id: str = ""


@dataclass(frozen=True, slots=True)
class CodeAnswer:
    """The hits of one query, best first.

    `total` is the number of hits without a limit, or a lower bound of it. The first `leading` hits are shown with their
    code. `is_definition`: the query is a name that the first hit defines. `is_message`: the hits contain the message in
    the query. `is_weak`: the first hit is probably wrong. `unknown` are query words that no file contains.
    `skipped_note` lists files that are not indexed.
    """

    query: CodeQuery
    hits: tuple[CodeHit, ...]
    total: int
    total_is_least: bool = False
    files_searched: int = 0
    notes: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    leading: int = 1
    is_definition: bool = False
    is_message: bool = False
    is_weak: bool = False
    unknown: tuple[str, ...] = ()
    skipped_note: str = ""

    def with_notes(self, notes: tuple[str, ...]) -> CodeAnswer:
        """Return the answer with further notes before its own."""
        return replace(self, notes=notes + self.notes)
