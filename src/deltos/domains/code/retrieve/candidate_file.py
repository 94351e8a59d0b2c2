"""A file that may answer a query, and the reasons for its relevance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.store.code import ChunkTerms, DefinitionRecord, FileRow, FileWords


@dataclass(slots=True)
class CommitSupport:
    """Similarity of a query to the commits that changed a file: the highest (at most 1), and a sum over all commits."""

    best: float = 0.0
    total: float = 0.0


@dataclass(slots=True)
class CandidateFile:
    """A file that may answer the query, with its chunks (best first) and the reasons for its relevance.

    `lines` are the lines of the file that the query mentions, for example in stack frames. `corpus` is the position of
    the file's project in the list of searched projects.
    """

    file: FileRow
    corpus: int = 0
    chunk_scores: list[float] = field(default_factory=list)
    chunk_ids: list[int] = field(default_factory=list)
    file_score: float = 0.0
    definitions: list[DefinitionRecord] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    similar_chunks: tuple[int, ...] = ()
    similarity: float = 0.0
    deviations: float = 0.0  # similarity in standard deviations above the project's mean
    commit_support: CommitSupport = field(default_factory=CommitSupport)
    is_semantic_match: bool = False  # whether the file is among the most similar files
    is_commit_match: bool = False  # whether the file was changed by the most similar commits
    words: FileWords | None = None  # index terms of the file
    terms: Sequence[ChunkTerms] = ()  # query terms in the best chunks
    coverage: float = 0.0  # share of the query terms in the file, by weight; set by feature extraction
    prose_penalty: float = 1.0  # factor on the penalty of a prose file; 0 if only prose contains the query terms
