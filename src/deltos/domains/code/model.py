"""The nouns of code search: pieces of files with what they define, and what a query brings back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from deltos.domains.code.query import CodeQuery

FoundBy = Literal["words", "meaning", "commits"]


@dataclass(frozen=True, slots=True)
class CodeChunk:
    """Consecutive lines of a file that belong together; `symbol` is the qualified name of what they define."""

    start_line: int
    end_line: int
    symbol: str = ""
    kind: str = ""
    signature: str = ""
    doc: str = ""
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CodeHit:
    """A chunk that answers a query, with the lines as they are on disk now; `line` is the one asked for, if any.

    `symbol` is the definition in it that answers, from `head_line` to `tail_line` where that is known.
    `about` is the first sentence that the file says about itself. `score` is the confidence that the hit answers,
    from 0 to 1; what matches a text or a pattern exactly has 1. `found_by` says what brought it into the answer:
    its words, or its meaning or its commits where it has hardly a word of the query. `repository` is what the
    project is called that it belongs to, and `project_id` a name that means it everywhere; both are empty where one
    project alone is searched.
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
    """The hits of one query as it was understood, best first; where there are none, how much was searched for them.

    `total` is how many hits there would be without a limit, or at least that many. The first `leading` of them are
    shown with their code. `is_definition` says that the query is a name that the first hit defines, `is_message` that
    it is a message that the hits have as text; `unknown` are words of the query that no file has,
    and `passed_over` tells of files that are not in the index, where something was not found.
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
    unknown: tuple[str, ...] = ()
    passed_over: str = ""

    def with_notes(self, notes: tuple[str, ...]) -> CodeAnswer:
        """The same answer with more to say about it, first."""
        return replace(self, notes=notes + self.notes)
