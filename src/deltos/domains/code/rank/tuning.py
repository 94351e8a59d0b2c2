"""Constants of the ranking stage; the weights of features are in weights.json."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RankTuning:
    """Constants that order candidate files and choose their chunks (benchmarks/ablation shows what each one gains).

    Constants for files:

    - `min_share_of_best`, `min_share_of_best_for_names`: share of the best confidence below which a file is dropped.
    - `test_factor`, `prose_factor`: factors on the confidence of tests and prose, so that code comes first.
    - `half_life_seconds`: age at which a change counts half.
    - `long_query_terms`: terms from which a query counts as long.
    - `min_prose_coverage`, `prose_coverage_lead`, `min_heading_coverage`: minimum shares of the query that reduce the
      penalty of prose: covered by the file, covered in addition to code, and covered by a heading.

    Constants for files related to an issue's best candidates (seeds), in log-odds; chosen by leave-one-repository-out:

    - `max_seeds`, `seed_score_margin`: number of seeds, and the score below the first at which a seed counts half.
    - `co_change_weight`, `import_weight`, `same_folder_weight`, `max_folder_weight`: strength of each relation.
    - `co_change_smoothing`: added to the number of changes, because a share of few changes is unreliable.
    - `max_co_changed`: maximum number of co-changed files per seed.

    Constants for chunks, fitted to 476 questions with known answer lines, cross-validated by repository:

    - `min_coverage_by_words`: minimum share of the query in a file that counts as found by its words.
    - `min_deviations_by_meaning`: minimum similarity (in standard deviations) of a file found by meaning, not commits.
    - `max_definitions`: maximum number of requested definitions shown per file.
    - `second_chunk_factor`: confidence of a second chunk relative to its file.
    - `first_file_margin`, `other_files_margin`: how far a second chunk may score below the best one of its file. 9 % of
      300 first files have their answer in the second chunk.
    - `files_before_second`: files shown before the second chunk of the first file.
    - `chunk_…_weight`: weights of a chunk's score.
    """

    min_share_of_best: float = 0.05
    min_share_of_best_for_names: float = 0.1
    test_factor: float = 0.4
    prose_factor: float = 0.3
    half_life_seconds: float = 180 * 86_400
    long_query_terms: int = 8
    min_prose_coverage: float = 0.5
    prose_coverage_lead: float = 0.5
    min_heading_coverage: float = 0.7
    max_seeds: int = 5
    seed_score_margin: float = 2.0
    co_change_weight: float = 0.5
    import_weight: float = 0.5
    same_folder_weight: float = 0.15
    max_folder_weight: float = 2.0
    co_change_smoothing: float = 3
    max_co_changed: int = 100
    min_coverage_by_words: float = 0.2
    min_deviations_by_meaning: float = 1.0
    max_definitions: int = 2
    second_chunk_factor: float = 0.9
    first_file_margin: float = 1.2
    other_files_margin: float = 0.4
    files_before_second: int = 3
    chunk_bm25_weight: float = 1.0
    chunk_coverage_weight: float = 2.0
    chunk_symbol_weight: float = 1.3
    chunk_deviation_weight: float = 0.6
    chunk_unnamed_weight: float = -1.0
    chunk_length_weight: float = 0.35


RANKING = RankTuning()
