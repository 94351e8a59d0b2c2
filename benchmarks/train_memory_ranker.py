"""Train the weights of neighbouring observations in memory search on coding weeks, and cross-validate by week.

    python -m benchmarks.train_memory_ranker

Replays the development weeks (`questions/memory_weeks/`) as events of Claude Code, describes the candidates of each
question as memory search does, and fits the weights of `LEARNED_FEATURES` by a softmax over the candidates; the other
weights are fixed. Prints how many questions the first three results answer with the shipped weights and with weights
trained without the week, and prints the weights trained on all weeks.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from unittest.mock import patch

import numpy as np

from benchmarks.memory_week import AGENTS, COUNTED_RESULTS, WEEKS, first_texts, read_week, replay_and_ask
from deltos.domains.memory.search import search as memory_search
from deltos.domains.memory.search.search import WEIGHTS_FILE, ObservationFeatures

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.memory_week import Question
    from deltos.domains.memory.core.memory import Memory

DEVELOPMENT_WEEKS = (1, 2, 3, 4, 5, 6, 7, 8, 13, 14)
LEARNED_FEATURES = ("similarity_before", "similarity_after", "answers_similar")
SHRINKAGE, STEPS, RATE = 0.1, 150, 0.05

Vector: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.float64]]"


@dataclass(frozen=True, slots=True)
class Example:
    """A question with the features of its candidates, and the candidates that answer it or are outdated."""

    week: int
    rows: Vector
    right: Vector
    outdated: Vector

    def is_answered(self, weights: Vector) -> bool:
        """Return whether one of the first three candidates answers and none of them is outdated."""
        first = np.argsort(-(self.rows @ weights), kind="stable")[:COUNTED_RESULTS]
        return bool(self.right[first].any() and not self.outdated[first].any())


def examples(number: int) -> list[Example]:
    """Return an example for each question of one week. The features are recorded while memory is searched."""
    week = read_week(WEEKS / f"week_{number:02}.jsonl")
    by_text = {question.text: question for question in week.questions}
    found: list[Example] = []
    ranked = memory_search._rank  # noqa: SLF001 (observes the features that the product computes)

    def ask(memory: Memory, text: str, project_id: str) -> list[str]:
        described: dict[int, ObservationFeatures] = {}

        def noted(rows: Mapping[int, ObservationFeatures], *others: Any) -> Any:
            described.update(rows)
            return ranked(rows, *others)

        with patch.object(memory_search, "_rank", noted):
            texts = first_texts(memory, text, project_id)
        found.append(_build_example(number, by_text[text], described, memory))
        return texts

    with tempfile.TemporaryDirectory() as folder:
        replay_and_ask(week, AGENTS[0], Path(folder), ask)
    return found


def _build_example(week: int, question: Question, rows: Mapping[int, ObservationFeatures], memory: Memory) -> Example:
    texts = {row.place: row.text for row in memory.store.at_row_numbers(list(rows))}
    right = [question.is_answered([texts[place]]) for place in rows]
    outdated = [
        bool(question.outdated) and question.outdated in texts[place] and not answers
        for place, answers in zip(rows, right, strict=True)
    ]
    return Example(week, np.array([*rows.values()], float), np.array(right), np.array(outdated))


def fit(training: Sequence[Example], weights: Vector) -> Vector:
    """Learn the weights of `LEARNED_FEATURES`, with a penalty for large weights. The other weights are fixed."""
    free = np.array([name in LEARNED_FEATURES for name in ObservationFeatures._fields])
    start = np.where(free, 0.0, weights)
    usable = [example for example in training if example.right.any() and not example.right.all()]
    spread = np.vstack([example.rows for example in usable]).std(axis=0)
    spread[spread == 0] = 1.0
    at, mean, square = start * spread, np.zeros(len(start)), np.zeros(len(start))
    for step in range(1, STEPS + 1):
        slope = np.zeros(len(start))
        for example in usable:
            scaled = example.rows / spread
            probabilities = np.exp(scaled @ at - (scaled @ at).max())
            good = probabilities * example.right
            slope += scaled.T @ (probabilities / probabilities.sum() - good / good.sum())
        slope = np.where(free, slope / len(usable) + SHRINKAGE * (at - start * spread), 0.0)
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        at = at - RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    result: Vector = at / spread
    return result


def main() -> None:
    """Train the weights and print the table."""
    stored = json.loads(WEIGHTS_FILE.read_text("utf-8"))["weights"]
    shipped = np.array([stored[name] for name in ObservationFeatures._fields])
    without = np.where([name in LEARNED_FEATURES for name in ObservationFeatures._fields], 0.0, shipped)
    every = [example for number in DEVELOPMENT_WEEKS for example in examples(number)]
    print("| week | questions | without these weights | trained without the week | shipped |\n|---|--:|--:|--:|--:|")
    totals: Counter[str] = Counter()
    for number in DEVELOPMENT_WEEKS:
        own = [example for example in every if example.week == number]
        learned = fit([example for example in every if example.week != number], shipped)
        counts = [sum(example.is_answered(weights) for example in own) for weights in (without, learned, shipped)]
        totals.update(dict(zip(("without", "learned", "shipped"), counts, strict=True)))
        print(f"| {number} | {len(own)} | {' | '.join(map(str, counts))} |", flush=True)
    print(f"| all | {len(every)} | {' | '.join(map(str, totals.values()))} |")
    learned = fit(every, shipped)
    print({name: round(float(learned[ObservationFeatures._fields.index(name)]), 2) for name in LEARNED_FEATURES})


if __name__ == "__main__":
    main()
