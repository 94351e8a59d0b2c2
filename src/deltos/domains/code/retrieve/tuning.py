"""Constants of the retrieval stage."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetrieveTuning:
    """Limits that decide which files become candidates, chosen on the development sets (benchmarks/ablation).

    Constants for terms. A row of the full-text index is a chunk, a file or a defined name. Scoring a row with BM25 is
    twenty times as expensive as finding it, so common terms select rows only in pairs.

    - `single_term_rows`, `pair_rows`: maximum number of rows that terms select alone, and in pairs.
    - `cooccurrence`: how much more often two query terms occur together than two independent words.
    - `match_terms`, `match_terms_of_issue`: number of rarest terms that select candidates. It is higher for issues,
      because their rarest words are often unrelated to the code.
    - `chunk_candidates`, `file_candidates`, `name_candidates`: maximum number of rows requested from the store.
    - `max_projects_by_words`: maximum number of projects searched by terms; similarity search always covers all
      projects.
    - `kept_files`, `kept_files_for_name`: number of files whose ranking features are computed.

    Constants for similarity and commits:

    - `semantic_candidates`, `kept_semantic_files`: number of files that become candidates by the similarity of a chunk,
      and number of these files that are always kept. `max_similar_chunks` limits them over several projects.
    - `commit_candidates`, `kept_commit_files`: the same for files that were changed by commits similar to the query.
    - `secondary_similarity_penalty` (cosine): subtracted for tests, prose, examples and configuration, which often use
      the same words as the code that answers the query.

    Constants for the files that an issue mentions, in log-odds; set by hand, because they have little influence on the
    results:

    - `mentioned_bonus`, `test_or_prose_penalty`, `project_meta_penalty`: added to the scores of mentioned files, tests
      and prose, and of changelogs and issue templates.
    """

    single_term_rows: int = 300
    pair_rows: int = 300
    cooccurrence: float = 3
    match_terms: int = 8
    match_terms_of_issue: int = 16
    chunk_candidates: int = 150
    file_candidates: int = 30
    name_candidates: int = 200
    max_projects_by_words: int = 40
    kept_files: int = 20
    kept_files_for_name: int = 28
    semantic_candidates: int = 60
    kept_semantic_files: int = 15
    max_similar_chunks: int = 120
    commit_candidates: int = 100
    kept_commit_files: int = 8
    secondary_similarity_penalty: float = 0.15
    mentioned_bonus: float = 5.0
    test_or_prose_penalty: float = -2.0
    project_meta_penalty: float = -6.0


RETRIEVAL = RetrieveTuning()
