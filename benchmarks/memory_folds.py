"""Train the ranking weights of conversation turns in memory search, leaving each conversation out.

    python -m benchmarks.memory_folds [--write]

Describes the candidates of each question about the development half of LoCoMo as memory search does, and fits
`turn_weights` by a softmax over the candidates. Prints R@10 of each conversation without these weights, with weights
trained on the other conversations, and with the shipped weights. `--write` stores the weights that are trained on all
conversations in weights.json.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from unittest.mock import patch

import numpy as np

from benchmarks.memory import open_memory, read_locomo, search_memory, table, turn_line
from deltos.domains.memory.core.transfer import import_lines
from deltos.domains.memory.search import search
from deltos.domains.memory.search.conversation import TurnFeatures, turn_features
from deltos.store.sqlite.memory.reader import SqliteObservations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.memory.core.memory import Memory

COUNTED_RESULTS = 10
SHRINKAGE, STEPS, RATE = 0.001, 120, 0.1
START_SCORE_WEIGHT = 1 / 6  # weight of a turn's own score before training

Vector: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.float64]]"


@dataclass(frozen=True, slots=True)
class Example:
    """A question with the features of its candidates, which of them answer it, and the number of answering turns."""

    conversation: int
    rows: Vector
    right: Vector
    answering_turns: int

    def recall(self, weights: Vector) -> float:
        """Return the share of the answering turns among the first results."""
        first = np.argsort(-(self.rows @ weights), kind="stable")[:COUNTED_RESULTS]
        return float(self.right[first].sum()) / self.answering_turns


def examples(memory: Memory, conversation: int, questions: Sequence[dict[str, Any]]) -> list[Example]:
    """Return an example for each question about a conversation."""
    described: dict[int, TurnFeatures] = {}

    def noted(*given: Any) -> dict[int, TurnFeatures]:
        features = turn_features(*given)
        described.clear()
        described.update(features)
        return features

    found = []
    with patch.object(search, "turn_features", noted):
        for question in questions:
            search_memory(memory, question)
            ids = {row.place: row.id for row in memory.store.at_row_numbers(list(described))}
            right = np.array([ids[place] in question["gold"] for place in described])
            rows = np.array([*described.values()], float).reshape(len(described), len(TurnFeatures._fields))
            found.append(Example(conversation, rows, right, len(question["gold"])))
    return found


def fit(training: Sequence[Example]) -> Vector:
    """Fit the weights by gradient descent, with shrinkage towards the score without neighbours."""
    usable = [example for example in training if example.right.any() and not example.right.all()]
    rows = np.vstack([example.rows for example in usable])
    spread = rows.std(axis=0)
    spread[spread == 0] = 1.0
    sizes = [len(example.rows) for example in usable]
    first = np.cumsum([0, *sizes[:-1]])
    question = np.repeat(np.arange(len(usable)), sizes)
    scaled, right = rows / spread, np.concatenate([example.right for example in usable])
    start = np.array([START_SCORE_WEIGHT, *[0.0] * (rows.shape[1] - 1)]) * spread
    at, mean, square = start.copy(), np.zeros(len(start)), np.zeros(len(start))
    for step in range(1, STEPS + 1):
        scores = scaled @ at
        odds = np.exp(scores - np.maximum.reduceat(scores, first)[question])
        good = odds * right
        expected = odds / np.add.reduceat(odds, first)[question] - good / np.add.reduceat(good, first)[question]
        slope = scaled.T @ expected / len(usable) + SHRINKAGE * (at - start)
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        at = at - RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    weights: Vector = at / spread
    return weights


def with_scores_unchanged(weights: Vector, all_examples: Sequence[Example]) -> Vector:
    """Scale weights so that the best turns of a question keep their mean score, which other observations compete
    with.
    """
    best = [(np.sort(one.rows[:, 0])[-3:].mean(), np.sort(one.rows @ weights)[-3:].mean()) for one in all_examples]
    before, after = np.array(best).mean(axis=0)
    scaled: Vector = weights * before / after
    return scaled


def main() -> None:
    """Print the table; store the weights if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    conversations = read_locomo()
    with tempfile.TemporaryDirectory() as folder:
        memory = open_memory(SqliteObservations(Path(folder) / "memory.db"))
        for turns, _ in conversations:
            import_lines(memory, map(turn_line, turns), project_id="")
        every = [each for number, (_, asking) in enumerate(conversations) for each in examples(memory, number, asking)]
    every = [example for example in every if len(example.rows)]
    stored = json.loads(search.WEIGHTS_FILE.read_text("utf-8"))
    shipped = np.array([stored["turn_weights"][name] for name in TurnFeatures._fields])
    without = np.eye(len(shipped))[0]
    rows = []
    for number in range(len(conversations)):
        own = [example for example in every if example.conversation == number]
        learned = fit([example for example in every if example.conversation != number])
        rows.append([float(np.mean([one.recall(w) for one in own])) for w in (without, learned, shipped)])
    rows.append(np.mean(rows, axis=0).tolist())
    table(
        ("conversation", "without turn weights", "trained on the others", "shipped"),
        ((name, *(f"{value:.3f}" for value in row)) for name, row in zip((1, 2, 3, 4, 5, "mean"), rows, strict=True)),
    )
    learned = with_scores_unchanged(fit(every), every)
    stored["turn_weights"] = {
        name: round(float(value), 2) for name, value in zip(TurnFeatures._fields, learned, strict=True)
    }
    print(stored["turn_weights"])
    if args.write:
        search.WEIGHTS_FILE.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
