"""What an issue's likeliest files say for each other: a fix often changes several that belong together."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

from deltos.domains.code.paths import is_prose
from deltos.workspace.purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deltos.domains.code.features import CandidateFile
    from deltos.store.graph import FileImports
    from deltos.store.history import FileHistory

# The likeliest files speak for those that change together with them, that they import, and of the same folder. In
# log-odds; chosen with each repository left out in turn (benchmarks/RESULTS.md, "Whole issues").
_SEEDS = 5
_CHANGED_TOGETHER, _IMPORTED, _SAME_FOLDER = 0.5, 0.5, 0.15
_MOST_OF_FOLDER = 2.0  # files of one folder count as so many at most
_MOST_TOGETHER = 100
_FEW_CHANGES = 3  # a share of few changes says little
_LEAD = 2.0  # a seed that scores so much less than the first speaks half as loud


def with_neighbours(
    scored: Sequence[tuple[CandidateFile, float]], history: FileHistory | None, imports: FileImports | None
) -> list[tuple[CandidateFile, float]]:
    """The candidates with what the likeliest of them add to the others' scores."""
    voices = _voices(scored)
    linked: dict[str, float] = defaultdict(float)
    for links, worth in ((_together(voices, history), _CHANGED_TOGETHER), (_imported(voices, imports), _IMPORTED)):
        for path, strength in links.items():
            linked[path] += worth * strength
    folders: dict[str, float] = defaultdict(float)
    for path, voice in voices.items():
        folders[_folder(path)] += voice
    lifted = []
    for candidate, score in scored:
        path = candidate.file.path
        if not is_test(path) and not is_prose(path):
            beside = folders.get(_folder(path), 0.0) - voices.get(path, 0.0)
            score += linked.get(path, 0.0) + _SAME_FOLDER * min(_MOST_OF_FOLDER, beside)
        lifted.append((candidate, score))
    return lifted


def _voices(scored: Sequence[tuple[CandidateFile, float]]) -> dict[str, float]:
    """The likeliest files with how loud each speaks, 1 for the first."""
    best = sorted(((score, candidate.file.path) for candidate, score in scored), key=lambda pair: (-pair[0], pair[1]))
    loudest = 1 + math.exp(-_LEAD)
    return {path: loudest / (1 + math.exp(min(30.0, best[0][0] - score - _LEAD))) for score, path in best[:_SEEDS]}


def _together(voices: Mapping[str, float], history: FileHistory | None) -> dict[str, float]:
    """The files that change together with these, each by the strongest link."""
    found: dict[str, float] = {}
    for seed, voice in voices.items() if history else ():
        for other in history.changed_with(seed, limit=_MOST_TOGETHER) if history else ():
            strength = voice * other.together / (other.changes + _FEW_CHANGES)
            found[other.path] = max(found.get(other.path, 0.0), strength)
    return found


def _imported(voices: Mapping[str, float], imports: FileImports | None) -> dict[str, float]:
    """The files that these import, each by the strongest link."""
    found: dict[str, float] = {}
    for seed, targets in (imports.imports_of(list(voices)) if imports else {}).items():
        for path in targets:
            found[path] = max(found.get(path, 0.0), voices[seed])
    return found


def _folder(path: str) -> str:
    return path.rpartition("/")[0]
