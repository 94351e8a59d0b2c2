"""How much counts in memory what stands beside an observation, learned from coding weeks, each left out in turn.

    python -m benchmarks.memory_order

Replays the weeks that may be looked at (`questions/memory_week*.jsonl`) as Claude Code tells them, describes what may
answer each question as the product does, and learns the weights of `LEARNED` beside those that are set by hand: softmax
over what may answer a question. Prints how many questions are answered in the first three with the weights as they are
in the package, with weights that have not seen the week, and the weights that all weeks teach.
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

from benchmarks.memory_week import AGENTS, FIRST, QUESTIONS, first_texts, play, read_week
from deltos.domains.memory import search as memory_search
from deltos.domains.memory.search import WEIGHTS_FILE, ObservationFeatures

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.memory_week import Question
    from deltos.domains.memory.memory import Memory

OPEN = ("", "_second", "_third", "_fourth", "_blind", "_fresh", "_seventh", "_eighth", "_thirteenth", "_fourteenth")
LEARNED = ("similarity_before", "similarity_after", "answers_similar")
SHRINKAGE, STEPS, RATE = 0.1, 150, 0.05

Vector: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.float64]]"


@dataclass(frozen=True, slots=True)
class Example:
    """A question with what may answer it: features, which of it answers, and which says what no longer holds."""

    week: str
    rows: Vector
    right: Vector
    outdated: Vector

    def is_answered(self, weights: Vector) -> bool:
        """Whether the first three answer, and none of them is outdated."""
        first = np.argsort(-(self.rows @ weights), kind="stable")[:FIRST]
        return bool(self.right[first].any() and not self.outdated[first].any())


def examples(name: str) -> list[Example]:
    """The questions of one week, described as they are while it is asked."""
    week = read_week(QUESTIONS / f"memory_week{name}.jsonl")
    by_text = {question.text: question for question in week.questions}
    found: list[Example] = []
    ranked = memory_search._ranked  # noqa: SLF001 (the rows are those that the product describes)

    def ask(memory: Memory, text: str, project_id: str) -> list[str]:
        described: dict[int, ObservationFeatures] = {}

        def noted(rows: Mapping[int, ObservationFeatures], matches: Any) -> Any:
            described.update(rows)
            return ranked(rows, matches)

        with patch.object(memory_search, "_ranked", noted):
            texts = first_texts(memory, text, project_id)
        found.append(_example(name, by_text[text], described, memory))
        return texts

    with tempfile.TemporaryDirectory() as folder:
        play(week, AGENTS[0], Path(folder), ask)
    return found


def _example(week: str, question: Question, rows: Mapping[int, ObservationFeatures], memory: Memory) -> Example:
    texts = {row.place: row.text for row in memory.store.at_places(list(rows))}
    right = [question.is_answered([texts[place]]) for place in rows]
    outdated = [
        bool(question.outdated) and question.outdated in texts[place] and not answers
        for place, answers in zip(rows, right, strict=True)
    ]
    return Example(week, np.array([*rows.values()], float), np.array(right), np.array(outdated))


def fit(training: Sequence[Example], weights: Vector) -> Vector:
    """The weights with those of `LEARNED` learned, pulled back to 0; the others stay."""
    free = np.array([name in LEARNED for name in ObservationFeatures._fields])
    start = np.where(free, 0.0, weights)
    usable = [example for example in training if example.right.any() and not example.right.all()]
    spread = np.vstack([example.rows for example in usable]).std(axis=0)
    spread[spread == 0] = 1.0
    at, mean, square = start * spread, np.zeros(len(start)), np.zeros(len(start))
    for step in range(1, STEPS + 1):
        slope = np.zeros(len(start))
        for example in usable:
            scaled = example.rows / spread
            likely = np.exp(scaled @ at - (scaled @ at).max())
            good = likely * example.right
            slope += scaled.T @ (likely / likely.sum() - good / good.sum())
        slope = np.where(free, slope / len(usable) + SHRINKAGE * (at - start * spread), 0.0)
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        at = at - RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    result: Vector = at / spread
    return result


def main() -> None:
    """Learn and print."""
    stored = json.loads(WEIGHTS_FILE.read_text("utf-8"))["weights"]
    shipped = np.array([stored[name] for name in ObservationFeatures._fields])
    without = np.where([name in LEARNED for name in ObservationFeatures._fields], 0.0, shipped)
    every = [example for name in OPEN for example in examples(name)]
    print("| week | questions | without them | weights that have not seen it | as shipped |\n|---|--:|--:|--:|--:|")
    totals: Counter[str] = Counter()
    for name in OPEN:
        own = [example for example in every if example.week == name]
        learned = fit([example for example in every if example.week != name], shipped)
        counts = [sum(example.is_answered(weights) for example in own) for weights in (without, learned, shipped)]
        totals.update(dict(zip(("without", "learned", "shipped"), counts, strict=True)))
        print(f"| {name.removeprefix('_') or 'first'} | {len(own)} | {' | '.join(map(str, counts))} |", flush=True)
    print(f"| all | {len(every)} | {' | '.join(map(str, totals.values()))} |")
    learned = fit(every, shipped)
    print({name: round(float(learned[ObservationFeatures._fields.index(name)]), 2) for name in LEARNED})


if __name__ == "__main__":
    main()
