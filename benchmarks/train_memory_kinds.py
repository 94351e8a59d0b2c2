"""Learn the weights by which memory tells decisions and preferences from ordinary talk, and measure them by
cross-validation over projects: `python -m benchmarks.train_memory_kinds [--items FILE] [--write]`.

Trains on the open part of the labelled texts and on memory_kinds_training.jsonl; never on the part kept apart.
A text is positive when one of its sentences is: which one is learned with the weights unless `span` tells.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.memory_kinds import QUESTIONS, TRAINING, Labelled, labelled, measure_right
from deltos.domains.memory import kinds

WEIGHTS = Path(kinds.__file__).with_name("kind_weights.json")
FOLDS = 10
REGULARISATION = 3.0  # of single words
CLASS_REGULARISATION = 1.0  # of everything else
ROUNDS = 4  # of choosing the sentence that carries a label, and fitting
STEPS = 150
FEWEST = 3  # texts that a feature must be seen in
TRAINING_WEIGHT = 0.8  # of texts that were written for training
OTHER_SENTENCE_WEIGHT = 0.34
SMALLEST = 0.02  # weights below say nothing
LABELS = (kinds.DECISION, kinds.PREFERENCE, "none")

_CLEAN = (
    "p_always p_future p_scope p_rule p_enforce p_neg p_only norm s_work s_reply must noaux proper d_act d_we d_state "
    "d_drop contrast reason plural1 plural2 we head p_when p_like imp standing"
)
_TOGETHER = (
    "p_always&p_only p_always&norm p_always&we p_neg&p_scope p_always&p_neg d_state&contrast d_state&reason "
    "d_we&reason imp&s_work imp&s_reply imp&p_always imp&past imp&bug d_we&contrast d_act&contrast d_act&we "
    "standing&s_work standing&order standing&ed contrast&num correct&num p_scope&norm p_future&p_like p_always&isg "
    "p_always&bug plural1&norm plural2&norm head&p_neg d_ok&d_state d_act&isg p_again&you p_when&norm d_act&past "
    "d_we&past must&s_ui must&s_work p_always&s_work p_always&s_ui p_always&s_reply p_neg&s_work p_neg&s_reply "
    "noaux&contrast noaux&p_neg noaux&s_work noaux&proper proper&d_state proper&reason proper&contrast norm&s_work "
    "s_work&p_only task&s_ui task&p_always s_work&p_future s_work&p_scope if1&s_work if1&d_we p_when&s_reply "
    "p_when&s_work attrib&p_always attrib&must system&p_always"
)
_ASSISTANT = "d_act d_we p_ack isg we i_did contrast reason p_always p_future d_state advice"
_BESIDE = "d_act d_we d_state p_always p_rule contrast must"
PAIRS = (
    *(f"clean&{name}" for name in _CLEAN.split()),
    *_TOGETHER.split(),
    *(f"assistant&{name}" for name in _ASSISTANT.split()),
    *(f"{name}&{other}" for name in _BESIDE.split() for other in ("~q", "~ask", "~oneoff", "~undecided", "stripped")),
)


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled text as its sentences' features, and which of them carry the label where that is known."""

    item: Labelled
    features: list[set[str]]
    carries: list[bool]
    weight: float


def example(item: Labelled, weight: float) -> Example:
    """A text, ready to learn from."""
    sentences = kinds.sentences_of(item.text, is_agent=item.is_agent)
    carries = [bool(item.span) and (s.text[:25] in item.span or item.span in s.text) for s in sentences]
    return Example(item, [_with_pairs(sentence.features) for sentence in sentences], carries, weight)


def _with_pairs(features: frozenset[str]) -> set[str]:
    split = (pair.split("&", 1) for pair in PAIRS)
    return set(features) | {f"{one}&{other}" for one, other in split if one in features and other in features}


class Design:
    """The sentences of some examples as rows of feature numbers."""

    def __init__(self, examples: list[Example], numbers: dict[str, int]) -> None:
        rows = [[numbers[name] for name in names if name in numbers] for e in examples for names in e.features]
        self.size = len(numbers) + 1  # the last is the constant
        self.penalty = np.full((self.size, 1), 0.01)
        for name, number in numbers.items():
            self.penalty[number] = REGULARISATION if ":" in name else CLASS_REGULARISATION
        self.width = max(map(len, rows), default=0) + 1
        self.rows = np.full((len(rows), self.width), self.size)
        for at, row in enumerate(rows):
            self.rows[at, : len(row) + 1] = [*row, self.size - 1]
        ends = np.cumsum([0, *(len(e.features) for e in examples)])
        self.groups = [np.arange(start, end) for start, end in pairwise(ends)]

    def times(self, weights: np.ndarray) -> np.ndarray:
        """The weights' sum for each sentence."""
        padded: np.ndarray = np.vstack([weights, np.zeros((1, weights.shape[1]))])
        sums: np.ndarray = padded[self.rows].sum(1)
        return sums

    def transposed_times(self, errors: np.ndarray) -> np.ndarray:
        """The errors' sum for each feature."""
        flat = self.rows.ravel()
        columns = [np.bincount(flat, np.repeat(column, self.width), self.size + 1)[:-1] for column in errors.T]
        return np.stack(columns, 1)


def softmax(scores: np.ndarray) -> np.ndarray:
    """Scores as probabilities."""
    powers = np.exp(scores - scores.max(1, keepdims=True))
    shares: np.ndarray = powers / powers.sum(1, keepdims=True)
    return shares


def fit(design: Design, targets: np.ndarray, importance: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Logistic regression with a quadratic penalty, by accelerated gradient descent."""
    penalty = design.penalty
    rate = 1 / (0.55 * _largest_eigenvalue(design, importance) + REGULARISATION)
    ahead, momentum = weights.copy(), 1.0
    for _ in range(STEPS):
        errors = (softmax(design.times(ahead)) - targets) * importance[:, None]
        moved = ahead - rate * (design.transposed_times(errors) + penalty * ahead)
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        ahead = moved + (momentum - 1) / following * (moved - weights)
        weights, momentum = moved, following
    return weights


def _largest_eigenvalue(design: Design, importance: np.ndarray) -> float:
    vector, length = np.ones((design.size, 1)), 1.0
    for _ in range(15):
        vector = design.transposed_times(design.times(vector) * importance[:, None])
        length = float(np.linalg.norm(vector))
        vector /= length
    return length


def learn(examples: list[Example]) -> tuple[dict[str, int], np.ndarray]:
    """The features' numbers and their weights."""
    counts = Counter(name for e in examples for name in set().union(*e.features))
    numbers = {name: at for at, name in enumerate(sorted(n for n, c in counts.items() if c >= FEWEST))}
    design = Design(examples, numbers)
    weights = np.zeros((design.size, len(LABELS)))
    for round_number in range(ROUNDS):
        guess = softmax(design.times(weights)) if round_number else None
        targets, importance = _targets(examples, design, guess)
        weights = fit(design, targets, importance, weights)
    return numbers, weights


def _targets(examples: list[Example], design: Design, guess: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """What each sentence ought to be, and how much it counts."""
    targets = np.zeros((len(design.rows), len(LABELS)))
    targets[:, 2] = 1
    importance = np.zeros(len(design.rows))
    for e, group in zip(examples, design.groups, strict=True):
        label = LABELS.index(e.item.label)
        if label == 2 or not len(group):
            importance[group] = e.weight * max(1 / max(1, len(group)), OTHER_SENTENCE_WEIGHT)
            continue
        if any(e.carries):
            chosen = group[np.array(e.carries)]
            importance[group] = e.weight * OTHER_SENTENCE_WEIGHT
        else:
            chosen = group if guess is None else group[[int(np.argmax(guess[group, label]))]]
        targets[chosen] = np.eye(len(LABELS))[label]
        importance[chosen] = e.weight / len(chosen)
    return targets, importance


def judged(examples: list[Example], numbers: dict[str, int], weights: np.ndarray) -> list[tuple[str, float]]:
    """The likelier of the two kinds and its probability, for each text."""
    design = Design(examples, numbers)
    chances = softmax(design.times(weights))[:, :2] if len(design.rows) else np.zeros((0, 2))
    best = [chances[group].max(0) if len(group) else np.zeros(2) for group in design.groups]
    return [(LABELS[int(pair.argmax())], float(pair.max())) for pair in best]


def cross_validated(examples: list[Example]) -> list[tuple[str, float]]:
    """The judgement on each text by weights learned without its project."""
    projects = sorted({e.item.project for e in examples})
    result: dict[int, tuple[str, float]] = {}
    for fold in range(FOLDS):
        held = set(projects[fold::FOLDS])
        numbers, weights = learn([e for e in examples if e.item.project not in held])
        places = [at for at, e in enumerate(examples) if e.item.project in held]
        result |= zip(places, judged([examples[at] for at in places], numbers, weights), strict=True)
    return [result[at] for at in range(len(examples))]


def show(name: str, examples: list[Example], judgements: list[tuple[str, float]]) -> None:
    """Precision and recall at some thresholds."""
    print(f"\n{name}: {len(examples)} texts")
    positives = sum(e.item.label != "none" for e in examples)
    for threshold in (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9):
        told = [(e.item, kind) for e, (kind, p) in zip(examples, judgements, strict=True) if p >= threshold]
        right = sum(measure_right(item, kind) for item, kind in told)
        print(f"  at {threshold:.2f}: precision {right / max(1, len(told)):.3f}, recall {right / positives:.3f}")


def write(numbers: dict[str, int], weights: np.ndarray, sure: float, unsure: float) -> None:
    """Put the weights where hooks read them, against `none` and rounded."""
    against = np.round(weights[:, :2] - weights[:, 2:], 3).tolist()
    kept = {name: against[at] for name, at in numbers.items() if max(map(abs, against[at])) >= SMALLEST}
    single = [f"{json.dumps(n, ensure_ascii=False)}:{json.dumps(w)}" for n, w in sorted(kept.items()) if "&" not in n]
    double = [json.dumps([*n.split("&", 1), *w]) for n, w in sorted(kept.items()) if "&" in n]
    head = json.dumps({"sure": sure, "unsure": unsure, "constant": against[-1]})[:-1]
    pairs, words = ",\n".join(double), ",\n".join(single)
    WEIGHTS.write_text(f'{head}, "pairs": [\n{pairs}\n], "weights": {{\n{words}\n}}}}\n', "utf-8")


def main() -> None:
    """Measure, and with --write learn from everything and keep the weights."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--items", type=Path, default=QUESTIONS)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--quick", action="store_true", help="no cross-validation")
    parser.add_argument("--sure", type=float, default=0.8)
    parser.add_argument("--unsure", type=float, default=0.4)
    given = parser.parse_args()
    examples = [example(item, 1.0) for item in labelled(given.items, part="open")]
    extra = [example(item, TRAINING_WEIGHT) for item in labelled(TRAINING, part="open")]
    if not given.quick:
        judgements = cross_validated([*examples, *extra])
        show("cross-validation over projects", examples, judgements[: len(examples)])
        show("the texts written for training", extra, judgements[len(examples) :])
    if given.write:
        write(*learn([*examples, *extra]), sure=given.sure, unsure=given.unsure)


if __name__ == "__main__":
    main()
