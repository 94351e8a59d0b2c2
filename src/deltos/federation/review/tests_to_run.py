"""Ranking of the test files to run for a change, by distance in the code graph, common commits and file name."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.federation.review.model import TestToRun
from deltos.languages.table import detect
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from deltos.federation.review.model import Dependant
    from deltos.store.history import FileHistory

_TEST_NAME = re.compile(
    r"(?:^|/)(?:(?:test|spec)_[^/]*|[^/]*[._-](?:test|tests|spec)|[^/]*[a-z0-9](?:Test|Tests|TestCase|Spec|Suite))\.\w+$"
)
# Languages without a naming convention for test files.
_LANGUAGES_WITHOUT_TEST_NAMES = frozenset(
    {"rust", "c", "cpp", "php", "javascript", "typescript", "jsx", "tsx", "swift", "kotlin"}
)
_SUPPORT_FILES = re.compile(r"(?:^|/)(?:testdata|fixtures?|__init__\.py|conftest\.py|helpers?|support)(?:/|$)")
_TEST_MARKERS = re.compile(r"^test_|[._-](?:test|tests|spec)$|(?:Test|Tests|TestCase|Spec|Suite)$")
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_MAX_COMMON_FILES = 50


@dataclass(frozen=True, slots=True)
class TestWeights:
    """Ranking weights of test files, chosen with benchmarks/review.py on development projects."""

    distance: float = 1.5
    together: float = 3.0
    often_together: float = 0.6
    same_name: float = 1.0
    similar_name: float = 0.2
    shared_folder: float = 0.1
    many_tests: float = 0.3


DEFAULT_WEIGHTS = TestWeights()
OFTEN = 5  # number of common commits from which `often_together` has its full weight
# With 0.7, 0.2 and 7 instead, recall rises from 0.806 to 0.834 in the development projects. But it falls in the
# held-out projects Express and Monolog, where only about 6 % of the tests are then selected.
MIN_SCORE = 0.3  # minimum score of a recommended test file
MAX_SHARE = 0.15  # maximum share of all test files to recommend
MIN_RECOMMENDED = 5  # number of test files that may be recommended regardless of MAX_SHARE


def is_runnable_test(path: str) -> bool:
    """Whether the path of a file indicates that it contains tests, not only test data or support code."""
    if not is_test(path) or _SUPPORT_FILES.search(path):
        return False
    if _TEST_NAME.search(path):
        return True
    language = detect(path)
    return language is not None and language.name in _LANGUAGES_WITHOUT_TEST_NAMES


def rank_tests(
    test_files: Collection[str],
    changed: Sequence[str],
    affected: Sequence[Dependant],
    history: FileHistory,
    *,
    weights: TestWeights = DEFAULT_WEIGHTS,
) -> list[TestToRun]:
    """Return the test files that may cover the changed files, best first."""
    reached: defaultdict[str, list[Dependant]] = defaultdict(list)
    for row in affected:
        if row.path in test_files:
            reached[row.path].append(row)
    together = _common_commits(changed, history)
    found = []
    for path in test_files:
        score = _score(path, changed, reached.get(path, ()), together.get(path, (0, 0.0)), weights)
        if score > 0 or path in changed:
            tests = tuple(sorted(reached.get(path, ()), key=lambda row: (row.distance, row.line)))
            found.append(TestToRun(path, tests, round(score, 3), together.get(path, (0, 0))[0], path in changed))
    return sorted(found, key=lambda test: (not test.is_changed, -test.score, test.path))


def count_recommended(tests: Sequence[TestToRun], test_file_count: int) -> int:
    """Return the number of ranked tests to recommend: all changed tests, and the best of the others."""
    changed = sum(test.is_changed for test in tests)
    limit = max(MIN_RECOMMENDED, int(MAX_SHARE * test_file_count))
    return changed + sum(test.score >= MIN_SCORE for test in tests[changed : changed + limit])


def _common_commits(changed: Iterable[str], history: FileHistory) -> dict[str, tuple[int, float]]:
    """Return the number and the share of commits that contain both a file and a changed file, by path."""
    found: dict[str, tuple[int, float]] = {}
    for path in changed:
        for each in history.files_changed_with(path, limit=_MAX_COMMON_FILES):
            share = each.together / max(1, each.changes)
            if share > found.get(each.path, (0, 0.0))[1]:
                found[each.path] = each.together, share
    return found


def _score(
    path: str,
    changed: Sequence[str],
    reached: Sequence[Dependant],
    together: tuple[int, float],
    weights: TestWeights,
) -> float:
    """Return the score of a test file for the changed files."""
    commits, share = together
    score = weights.together * share + weights.often_together * min(1.0, commits / OFTEN)
    score += max((_name_score(path, each, weights) for each in changed), default=0.0)
    if reached:
        nearest = min(row.distance for row in reached)
        near = sum(row.distance == nearest for row in reached)
        score += weights.distance / (1 + nearest) + weights.many_tests * (1 - 1 / near)
    return score


def _name_score(path: str, changed: str, weights: TestWeights) -> float:
    """Score how similar the name of a test file is to the names of the changed files."""
    own, other = _stem_words(path), _stem_words(changed)
    if not own or not other:
        return 0.0
    folders = set(path.split("/")[:-1]) & set(changed.split("/")[:-1])
    in_folder = weights.shared_folder if folders else 0.0
    if own == other:
        return weights.same_name + in_folder
    common = len(set(own) & set(other)) / max(len(set(own)), len(set(other)))
    return weights.similar_name * common + (in_folder if common else 0.0)


def _stem_words(path: str) -> list[str]:
    """Return the words of a file name without test markers, or of the folder name for files such as `__init__`."""
    *folders, name = path.split("/")
    stem = name.partition(".")[0] if "." in name else name
    marked = _TEST_MARKERS.sub("", name.rpartition(".")[0]) or stem
    if marked in ("__init__", "mod", "index", "lib", "main") and folders:
        marked = folders[-1]
    return [word.lower() for word in _WORDS.findall(marked)]


def test_files_of(paths: Iterable[str], languages: Mapping[str, str]) -> set[str]:
    """Return the indexed files that contain tests."""
    return {path for path in paths if languages.get(path) and is_runnable_test(path)}
