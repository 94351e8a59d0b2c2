"""A candidate file and the evidence for its relevance."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deltos.domains.code.retrieve.similar_commits import CommitSupport
    from deltos.store.code import CodeChunkWords, DefinitionRecord, FileRow, FileWords
    from deltos.store.history import FileHistoryRow


@dataclass(slots=True)
class CandidateFile:
    """A candidate file and the evidence for its relevance; its chunks are ordered best first.

    `lines` are lines that the query mentions, for example in stack frames. `corpus` is the index of its project among
    the searched projects.
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
    deviations: float = 0.0  # standard deviations of the similarity above the project's mean
    history: FileHistoryRow | None = None
    commit_support: CommitSupport | None = None
    recency: float = 0.0  # 1 for a file changed by the newest commit, 0.5 after one half-life
    is_semantic_match: bool = False  # whether it is one of the most similar files
    is_commit_match: bool = False  # whether it is one of the files best supported by similar commits
    coverage: float = 0.0  # share of the query that the file covers; set when features are computed
    word_features: tuple[float, ...] | None = None  # cache of the features that do not depend on other candidates
    prose_penalty: float = 1.0  # factor on the penalty of prose: 0 if only prose covers the query


@dataclass(frozen=True, slots=True)
class CandidateWords:
    """Index words of the candidate files and of their best chunks, by id."""

    files: Mapping[int, FileWords]
    chunks: Mapping[int, CodeChunkWords]
