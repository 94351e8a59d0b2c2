"""Constants of the ranking stage; the weights of features are in weights.json."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RankTuning:
    """Constants for ordering candidate files and choosing their chunks (measured by benchmarks/ablation).

    Constants for files:

    - `min_share_of_best`, `min_share_of_best_for_names`: share of the best confidence below which a file is dropped.
    - `test_factor`, `prose_factor`: factors on the confidence of tests and prose, so that code comes first.
    - `long_query_terms`: minimum number of terms in a long query.
    - `min_prose_coverage`, `prose_coverage_lead`, `min_heading_coverage`: thresholds for reducing the penalty of prose:
      share of the query terms in the file, lead over the best code file, and share in a heading.

    Constants for files related to an issue's best candidates (seeds), in log-odds; chosen by cross-validation that
    leaves out one repository at a time:

    - `max_seeds`, `seed_score_margin`: maximum number of seeds, and distance from the best score at which the weight of
      a seed is halved.
    - `co_change_weight`, `import_weight`, `same_folder_weight`, `max_folder_weight`: strength of each relation.
    - `co_change_smoothing`: number added to the number of changes of a file, because the share of common changes is
      unreliable if there are few changes.
    - `max_co_changed`: maximum number of co-changed files per seed.

    Constants for chunks, fitted to 476 questions with known answer lines, cross-validated by repository:

    - `min_coverage_by_words`: minimum share of the query terms in a file that counts as found by words.
    - `min_deviations_by_meaning`: minimum similarity (in standard deviations) of a file that counts as found by meaning
      instead of commits.
    - `max_definitions`: maximum number of requested definitions shown per file.
    - `second_chunk_factor`: confidence of a second chunk relative to its file.
    - `first_file_margin`, `other_files_margin`: maximum distance of a second chunk's score from the best score in the
      file, for the first file and for the others.
    - `files_before_second`: number of files shown before the second chunk of the first file.
    - `chunk_…_weight`: weights of the parts of a chunk's score.
    """

    min_share_of_best: float = 0.05
    min_share_of_best_for_names: float = 0.1
    test_factor: float = 0.4
    prose_factor: float = 0.3
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
