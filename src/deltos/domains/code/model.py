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
    """A chunk of code: a line range of a file; `symbol` is the qualified name of its main definition."""

    start_line: int
    end_line: int
    symbol: str = ""
    kind: str = ""
    signature: str = ""
    doc: str = ""
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CodeHit:
    """A chunk of code found by a query, with its current lines from disk.

    `line` is the line that the query asks for, or 0. `symbol` is the name of the best matching definition, which
    extends from `head_line` to `tail_line` if these are known. `score` is the confidence from 0 to 1; it is 1 for exact
    matches. `found_by` says why the chunk was found: "words", or "meaning" or "commits" if it contains few query terms.
    `repository` is the name of the hit's project, `project_id` its globally unique name; both are empty if only one
    project is searched.
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
    repository: str = ""
    project_id: str = ""


@dataclass(frozen=True, slots=True)
class CodeAnswer:
    """The hits of one query, best first.

    `total` is the number of hits before the limit was applied, or a lower bound if `total_is_least` is set.
    `is_definition` is set if the query is a name that the first hit defines, `is_message` if the hits contain the error
    message in the query, and `is_weak` if the first hit is probably wrong. `unknown_words` are query words that no file
    contains. `skipped_note` lists files that are not indexed.
    """

    query: CodeQuery
    hits: tuple[CodeHit, ...]
    total: int
    total_is_least: bool = False
    files_searched: int = 0
    notes: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    is_definition: bool = False
    is_message: bool = False
    is_weak: bool = False
    unknown_words: tuple[str, ...] = ()
    skipped_note: str = ""

    def with_notes(self, notes: tuple[str, ...]) -> CodeAnswer:
        """Return a copy of the answer with `notes` placed before the existing notes."""
        return replace(self, notes=notes + self.notes)
