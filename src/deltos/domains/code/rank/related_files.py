"""Raise the scores of files related to an issue's best candidates, because a fix often changes related files."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

from deltos.domains.code.paths import is_prose
from deltos.domains.code.rank.tuning import RANKING
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deltos.domains.code.retrieve.candidate_file import CandidateFile
    from deltos.store.graph import FileImports
    from deltos.store.history import FileHistory


def boost_related_files(
    scored: Sequence[tuple[CandidateFile, float]], history: FileHistory | None, imports: FileImports | None
) -> list[tuple[CandidateFile, float]]:
    """Raise the scores of candidates related to the best ones by common commits, imports or folders."""
    seed_weights = _seed_weights(scored)
    linked: dict[str, float] = defaultdict(float)
    for links, weight in (
        (_co_changed_files(seed_weights, history), RANKING.co_change_weight),
        (_imported_files(seed_weights, imports), RANKING.import_weight),
    ):
        for path, strength in links.items():
            linked[path] += weight * strength
    folders: dict[str, float] = defaultdict(float)
    for path, seed_weight in seed_weights.items():
        folders[_folder_of(path)] += seed_weight
    boosted = []
    for candidate, score in scored:
        path = candidate.file.path
        if not is_test(path) and not is_prose(path):
            same_folder = folders.get(_folder_of(path), 0.0) - seed_weights.get(path, 0.0)
            score += linked.get(path, 0.0) + RANKING.same_folder_weight * min(RANKING.max_folder_weight, same_folder)
        boosted.append((candidate, score))
    return boosted


def _seed_weights(scored: Sequence[tuple[CandidateFile, float]]) -> dict[str, float]:
    """Return the weight of each of the best candidates (seeds) by path. The first candidate has weight 1."""
    best = sorted(((score, candidate.file.path) for candidate, score in scored), key=lambda pair: (-pair[0], pair[1]))
    max_weight = 1 + math.exp(-RANKING.seed_score_margin)
    return {
        path: max_weight / (1 + math.exp(min(30.0, best[0][0] - score - RANKING.seed_score_margin)))
        for score, path in best[: RANKING.max_seeds]
    }


def _co_changed_files(seed_weights: Mapping[str, float], history: FileHistory | None) -> dict[str, float]:
    """Return the files that often changed in the same commits as a seed, each with the strength of the relation."""
    found: dict[str, float] = {}
    for seed, seed_weight in seed_weights.items() if history else ():
        for other in history.files_changed_with(seed, limit=RANKING.max_co_changed) if history else ():
            strength = seed_weight * other.together / (other.changes + RANKING.co_change_smoothing)
            found[other.path] = max(found.get(other.path, 0.0), strength)
    return found


def _imported_files(seed_weights: Mapping[str, float], imports: FileImports | None) -> dict[str, float]:
    """Return the files that a seed imports, each with the strength of the relation."""
    found: dict[str, float] = {}
    for seed, targets in (imports.imports_of(list(seed_weights)) if imports else {}).items():
        for path in targets:
            found[path] = max(found.get(path, 0.0), seed_weights[seed])
    return found


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0]
