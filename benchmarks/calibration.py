"""Compare the confidence of the results of `search` with the share of right results.

    python -m benchmarks.calibration [--fit]

Right results answer the golden questions of tests/relevance, or the development questions of `questions/semantic.jsonl`
about small projects of code and memory. Wrong results are the other results of these questions and all results of
questions about other projects. `--fit` prints a new logistic regression for `calibration` in `federation/weights.json`.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tests.relevance.parcels import build_parcels, goldens

from benchmarks.semantic_questions import small_project_questions
from deltos.app import App
from deltos.config import Config
from deltos.domains.memory.core.model import Draft, ObservationOrigin
from deltos.federation.model import SearchRequest
from deltos.progress import Silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from benchmarks.semantic_questions import Question
    from deltos.federation.model import Hit
    from deltos.federation.rank import RankedHit

SEMANTIC_FOLDER = Path(__file__).parent / "questions" / "semantic"
# number of questions about other projects that are searched in the project of the golden questions
UNRELATED_QUESTIONS = 120
UNRELATED_QUESTIONS_PER_PROJECT = 12  # number of questions about other projects that are searched in each small project
SCORE_BOUNDARIES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0001)


@dataclass(frozen=True, slots=True)
class JudgedHit:
    """A result and whether it answers the question."""

    ranked: RankedHit
    place: int
    is_right: bool


def judged_hits(app: App, root: Path, question: str, is_right: Callable[[Hit], bool]) -> Iterator[JudgedHit]:
    """Search, and yield each result together with whether it is right."""
    found = app.federation.search(SearchRequest(question, root, Silent(), limit=10))
    for place, ranked in enumerate(found.ranked):
        yield JudgedHit(ranked, place, is_right(ranked.hit))


def golden_project_hits(other_questions: Sequence[Question]) -> Iterator[JudgedHit]:
    """Yield judged results from the golden project, which has code, documentation, APIs and memory."""
    with tempfile.TemporaryDirectory() as folder, closing(App(Config(Path(folder) / "home"))) as app:
        root = build_parcels(app, Path(folder) / "parcels")
        for golden in goldens():
            yield from judged_hits(app, root, golden.question, golden.is_answered_by)
        for question in other_questions[:UNRELATED_QUESTIONS]:
            yield from judged_hits(app, root, question.query, lambda _hit: False)


def small_project_hits(
    project: str, domain: str, project_questions: Sequence[Question], other_questions: Sequence[Question]
) -> Iterator[JudgedHit]:
    """Yield judged results from a small project that has only code or only memory."""
    with tempfile.TemporaryDirectory() as folder, closing(App(Config(Path(folder) / "home"))) as app:
        root = SEMANTIC_FOLDER / domain / project
        if domain == "memory":
            root = Path(folder) / "empty"
            root.mkdir()
            project_id = app.domains.project_with_stored_identity(root).project_id
            for line in (SEMANTIC_FOLDER / domain / project / "observations.jsonl").read_text("utf-8").splitlines():
                row = json.loads(line)
                draft = Draft(f"{row['title']}. {row['text']}", kind="finding", source=str(row["id"]))
                app.domains.memory.remember(draft, ObservationOrigin(project_id, root, None))
        for question in project_questions:
            yield from judged_hits(app, root, question.query, lambda hit, asked=question: _answers(asked, hit))  # type: ignore[misc]
        for question in other_questions:
            yield from judged_hits(app, root, question.query, lambda _hit: False)


def _answers(question: Question, hit: Hit) -> bool:
    key = "path" if question.domain == "code" else "id"
    return any(str(target[key]) in (hit.path, hit.source) for target in question.targets)


def all_hits() -> list[JudgedHit]:
    """Return all results of all questions."""
    chance = random.Random(1)
    asked = [question for question in small_project_questions() if not question.held_out]
    chance.shuffle(asked)
    found = list(golden_project_hits(asked))
    by_project: dict[tuple[str, str], list[Question]] = defaultdict(list)
    for question in asked:
        if question.domain in ("code", "memory"):
            by_project[question.domain, question.project].append(question)
    for (domain, project), own in sorted(by_project.items()):
        others = [question for question in asked if question.project != project][:UNRELATED_QUESTIONS_PER_PROJECT]
        found += small_project_hits(project, domain, own, others)
    return found


def print_table(found: Sequence[JudgedHit], value: Callable[[JudgedHit], float]) -> None:
    """Print the predicted and the actual share of right results for each tenth of the score, and the Brier score."""
    print("| score | results | mean score | right |\n|---|--:|--:|--:|")
    for low, high in pairwise(SCORE_BOUNDARIES):
        some = [each for each in found if low <= value(each) < high]
        if some:
            predicted, right = _mean(map(value, some)), _mean(each.is_right for each in some)
            print(f"| {low:.1f}–{min(high, 1.0):.1f} | {len(some)} | {predicted:.2f} | {right:.2f} |")
    print(f"\nBrier score {_mean((value(each) - each.is_right) ** 2 for each in found):.3f}")


def fit(found: Sequence[JudgedHit]) -> list[float]:
    """Fit a logistic regression over score, query coverage and similarity by Newton's method."""
    rows = np.array([[1.0, each.ranked.score, each.ranked.coverage, each.ranked.semantic_similarity] for each in found])
    right = np.array([float(each.is_right) for each in found])
    weights = np.zeros(rows.shape[1])
    for _ in range(100):
        chance = 1 / (1 + np.exp(-rows @ weights))
        curvature = (rows * (chance * (1 - chance))[:, None]).T @ rows + 0.01 * np.eye(len(weights))
        weights -= np.linalg.solve(curvature, rows.T @ (chance - right) + 0.01 * weights)
    return [round(float(weight), 3) for weight in weights]


def _mean(values: Iterable[float]) -> float:
    every = list(values)
    return sum(every) / len(every)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fit", action="store_true")
    found = all_hits()
    print(f"{len(found)} results, {sum(each.is_right for each in found)} of them right\n")
    print_table(found, lambda each: each.ranked.confidence)
    print("\nfirst results alone\n")
    print_table([each for each in found if not each.place], lambda each: each.ranked.confidence)
    if parser.parse_args().fit:
        weights = fit(found)
        print(f"\nintercept, score, coverage, similarity: {weights}\n")
        rows = {
            id(each): [1.0, each.ranked.score, each.ranked.coverage, each.ranked.semantic_similarity] for each in found
        }
        print_table(found, lambda each: float(1 / (1 + np.exp(-np.dot(rows[id(each)], weights)))))


if __name__ == "__main__":
    main()
