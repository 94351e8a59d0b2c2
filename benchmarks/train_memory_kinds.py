"""Train the recognition of decisions and preferences in memory, and evaluate it on unseen registers or languages.

    python -m benchmarks.train_memory_kinds [--folds register] [--write]

Trains on memory_kinds_registers.jsonl, …_training.jsonl, …_further.jsonl, …_working.jsonl, …_prompts.jsonl and the
development part of memory_kinds.jsonl. A text is positive if one of its sentences is; which one is learned together
with the weights unless `span` names it. `--write` also sets the threshold at which 95 % of the recognised texts of the
folds are a decision or a preference, by the mean over all texts and over those written for evaluation.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.memory_kinds import (
    FURTHER,
    NONE,
    PROMPTS,
    QUESTIONS,
    REGISTERS,
    TRAINING,
    WORKING,
    Labelled,
    is_right,
    read_labelled,
)
from deltos.domains.memory.capture import kinds

if TYPE_CHECKING:
    from collections.abc import Sequence

WEIGHTS = Path(kinds.__file__).with_name("kind_weights.json")
PRECISION = 0.95  # over the folds
FOLDS = 9  # each holds out several registers, or one language
# Features of single texts are penalised more than common ones.
FORM_PENALTY = 8.0  # sequence of word classes at the beginning or end of a sentence
WORD_PENALTY = 5.0
PAIR_PENALTY = 2.0
CLASS_PENALTY = 1.0
ROUNDS = 2  # of choosing the labelled sentence and fitting
STEPS = 60
REMEMBERED_MOVES = 8
MIN_TEXTS = 3  # in which a feature must occur
TRAINING_WEIGHT = 0.8  # of texts written for training
FURTHER_WEIGHT = 1.0  # of pairs of a statement and an ordinary text about the same matter
PLAIN_WEIGHT = 3.0  # of the plainest forms, which are frequent in real use but rare among the texts
OTHER_SENTENCE_WEIGHT = 0.34
MIN_WEIGHT = 0.05  # smaller weights are dropped
LABELS = (kinds.DECISION, kinds.PREFERENCE, NONE)

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
_WITH_OTHERS = "d_act d_we d_state p_always p_rule contrast must"
PAIRS = (
    *(f"clean&{name}" for name in _CLEAN.split()),
    *_TOGETHER.split(),
    *(f"assistant&{name}" for name in _ASSISTANT.split()),
    *(
        f"{name}&{other}"
        for name in _WITH_OTHERS.split()
        for other in ("~q", "~ask", "~oneoff", "~undecided", "stripped")
    ),
)


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled text as features of its sentences, and the sentences that carry the label if known."""

    item: Labelled
    features: list[set[str]]
    carries: list[bool]
    weight: float


def example(item: Labelled, weight: float) -> Example:
    """Return a text as a training example."""
    sentences = kinds.sentences_of(item.text, is_agent=item.is_agent)
    carries = [bool(item.span) and (s.text[:25] in item.span or item.span in s.text) for s in sentences]
    return Example(item, [_with_pairs(sentence.features) for sentence in sentences], carries, weight)


def _with_pairs(features: frozenset[str]) -> set[str]:
    split = (pair.split("&", 1) for pair in PAIRS)
    return set(features) | {f"{one}&{other}" for one, other in split if one in features and other in features}


def penalty(name: str) -> float:
    """Return the penalty of the weight of a feature."""
    if "&" in name:
        return PAIR_PENALTY
    if name.startswith("/"):
        return FORM_PENALTY
    return WORD_PENALTY if ":" in name else CLASS_PENALTY


class Design:
    """Sparse matrix of the features of sentences, by rows and by columns."""

    def __init__(self, examples: list[Example], numbers: dict[str, int]) -> None:
        self.size = len(numbers) + 1  # the last column is the constant
        rows = [
            [*(numbers[name] for name in names if name in numbers), len(numbers)]
            for e in examples
            for names in e.features
        ]
        self.sentences = len(rows)
        self.columns = np.array([number for row in rows for number in row], dtype=np.int64)
        self.starts = np.cumsum([0, *map(len, rows)])[:-1]
        self.row_of = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        self.penalty = np.array([*map(penalty, numbers), 0.01])[:, None]
        ends = np.cumsum([0, *(len(e.features) for e in examples)])
        self.groups = [np.arange(start, end) for start, end in pairwise(ends)]

    def times(self, weights: np.ndarray) -> np.ndarray:
        """Return the sum of weights for each sentence."""
        if not self.sentences:
            return np.zeros((0, weights.shape[1]))
        sums: np.ndarray = np.add.reduceat(weights[self.columns], self.starts, axis=0)
        return sums

    def transposed_times(self, errors: np.ndarray) -> np.ndarray:
        """Return the sum of errors for each feature."""
        picked = errors[self.row_of]
        columns = [np.bincount(self.columns, picked[:, at], self.size) for at in range(errors.shape[1])]
        return np.stack(columns, 1)


def softmax(scores: np.ndarray) -> np.ndarray:
    """Convert scores to probabilities."""
    powers = np.exp(scores - scores.max(1, keepdims=True))
    shares: np.ndarray = powers / powers.sum(1, keepdims=True)
    return shares


def fit(design: Design, targets: np.ndarray, importance: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Fit a logistic regression with a quadratic penalty by L-BFGS."""

    def loss(at: np.ndarray) -> tuple[float, np.ndarray]:
        scores = design.times(at)
        top = scores.max(1, keepdims=True)
        total = np.exp(scores - top).sum(1, keepdims=True)
        likelihood = ((np.log(total) + top)[:, 0] - (scores * targets).sum(1)) @ importance
        errors = (np.exp(scores - top) / total - targets) * importance[:, None]
        gradient = design.transposed_times(errors) + design.penalty * at
        return float(likelihood + 0.5 * (design.penalty * at * at).sum()), gradient

    value, gradient = loss(weights)
    moves: list[tuple[np.ndarray, np.ndarray]] = []
    for _ in range(STEPS):
        direction = _direction(gradient, moves)
        rate = 1.0 if moves else 1 / max(1.0, float(np.abs(gradient).sum()))
        slope = float((gradient * direction).sum())
        while True:
            there = weights + rate * direction
            new_value, new_gradient = loss(there)
            if new_value <= value + 1e-4 * rate * slope or rate < 1e-10:
                break
            rate /= 2
        if (there - weights).ravel() @ (new_gradient - gradient).ravel() > 0:
            moves = [*moves[1 - REMEMBERED_MOVES :], (there - weights, new_gradient - gradient)]
        improved, weights, value, gradient = value - new_value, there, new_value, new_gradient
        if improved < 1e-5 * abs(value):
            break
    return weights


def _direction(gradient: np.ndarray, moves: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return the descent direction, corrected by the curvature of the last moves."""
    direction = -gradient
    shares = []
    for move, change in reversed(moves):
        shares.append(float((move * direction).sum()) / float((move * change).sum()))
        direction = direction - shares[-1] * change
    if moves:
        move, change = moves[-1]
        direction = direction * (float((move * change).sum()) / float((change * change).sum()))
    for (move, change), share in zip(moves, reversed(shares), strict=True):
        direction = direction + (share - float((change * direction).sum()) / float((move * change).sum())) * move
    return direction


def learn(examples: list[Example]) -> tuple[dict[str, int], np.ndarray]:
    """Return the numbers of the features and their weights."""
    counts = Counter(name for e in examples for name in set().union(*e.features))
    numbers = {name: at for at, name in enumerate(sorted(n for n, c in counts.items() if c >= MIN_TEXTS))}
    design = Design(examples, numbers)
    weights = np.zeros((design.size, len(LABELS)))
    for round_number in range(ROUNDS):
        guess = softmax(design.times(weights)) if round_number else None
        targets, importance = _targets(examples, design, guess)
        weights = fit(design, targets, importance, weights)
    return numbers, weights


def _targets(examples: list[Example], design: Design, guess: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the target of each sentence and its importance."""
    targets = np.zeros((design.sentences, len(LABELS)))
    targets[:, 2] = 1
    importance = np.zeros(design.sentences)
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
    """Return for each text the more probable kind and the probability of either, from its most probable sentence."""
    design = Design(examples, numbers)
    chances = softmax(design.times(weights))[:, :2] if design.sentences else np.zeros((0, 2))
    best = [chances[group][chances[group].sum(1).argmax()] if len(group) else np.zeros(2) for group in design.groups]
    return [(LABELS[int(pair.argmax())], float(pair.sum())) for pair in best]


def held_out(examples: list[Example], by: str) -> list[tuple[str, float]]:
    """Judge each text with weights trained without its register or language."""
    result: dict[int, tuple[str, float]] = {}
    values = list(dict.fromkeys(getattr(e.item, by) for e in examples))
    for fold in range(min(FOLDS, len(values))):
        held = set(values[fold::FOLDS])
        known = learn([e for e in examples if getattr(e.item, by) not in held])
        places = [at for at, e in enumerate(examples) if getattr(e.item, by) in held]
        result |= zip(places, judged([examples[at] for at in places], *known), strict=True)
    return [result[at] for at in range(len(examples))]


def precise_threshold(groups: Sequence[Sequence[tuple[Example, tuple[str, float]]]]) -> float:
    """Return the lowest score at which precision, averaged over the groups, is high enough."""
    scores = sorted({round(score, 3) for group in groups for _, (_, score) in group}, reverse=True)
    return next((score for score in reversed(scores) if _mean_precision(groups, score) >= PRECISION), 1.0)


def _mean_precision(groups: Sequence[Sequence[tuple[Example, tuple[str, float]]]], threshold: float) -> float:
    recognised = [[e.item.label != NONE for e, (_, score) in group if score >= threshold] for group in groups]
    return statistics.fmean(statistics.fmean(each) if each else 0.0 for each in recognised)


def show(examples: list[Example], judgements: list[tuple[str, float]], by: str, threshold: float) -> None:
    """Print precision and recall at some thresholds, and at one of them for each fold."""
    pairs = [(e.item, kind, score) for e, (kind, score) in zip(examples, judgements, strict=True)]
    for at in (0.7, 0.8, 0.85, 0.9, 0.95, threshold):
        print(_figures(f"all at {at:.3f}", pairs, at))
    for value in dict.fromkeys(getattr(item, by) for item, _, _ in pairs):
        print(_figures(value, [pair for pair in pairs if getattr(pair[0], by) == value], threshold))


def _figures(name: str, pairs: list[tuple[Labelled, str, float]], threshold: float) -> str:
    recognised = [(item, kind) for item, kind, score in pairs if score >= threshold]
    either = sum(item.label != NONE for item, _ in recognised)
    right = sum(is_right(item, kind) for item, kind in recognised)
    positives = sum(item.label != NONE for item, _, _ in pairs)
    figures = (
        f"{part / whole:.3f}" if whole else "-" for part in (either, right) for whole in (len(recognised), positives)
    )
    precision, recall, kind_precision, kind_recall = figures
    return (
        f"  {name:24} {len(pairs):>5} texts, recognised {len(recognised):>4}, precision {precision}, recall {recall}; "
        f"kind right {kind_precision}, {kind_recall}"
    )


def write(numbers: dict[str, int], weights: np.ndarray, sure: float, unsure: float) -> None:
    """Write the weights for hooks, relative to `none` and rounded."""
    against = np.round(weights[:, :2] - weights[:, 2:], 3).tolist()
    kept = {name: against[at] for name, at in numbers.items() if max(map(abs, against[at])) >= MIN_WEIGHT}
    double = [[*name.split("&", 1), *weights] for name, weights in sorted(kept.items()) if "&" in name]
    single = {name: weights for name, weights in sorted(kept.items()) if "&" not in name}
    parts = {
        "sure": sure,
        "unsure": unsure,
        "constant": against[-1],
        "pairs": double,
        "names": "\n".join(single),
        "weights": [round(1000 * weight) for weights in single.values() for weight in weights],
    }
    lines = (f"{json.dumps(name)}: {json.dumps(part, ensure_ascii=False)}" for name, part in parts.items())
    WEIGHTS.write_text("{" + ",\n".join(lines) + "}\n", "utf-8")


def open_examples() -> list[Example]:
    """Return the training examples."""
    files = [
        (QUESTIONS, 1.0),
        (REGISTERS, 1.0),
        (TRAINING, TRAINING_WEIGHT),
        (FURTHER, FURTHER_WEIGHT),
        (WORKING, 1.0),
        (PROMPTS, 1.0),
    ]
    items = [(item, weight) for path, weight in files for item in read_labelled(path, part="development")]
    return [example(item, PLAIN_WEIGHT if item.register == "plain" else weight) for item, weight in items]


def main() -> None:
    """Evaluate, and with --write train on everything and save the weights."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--folds", choices=("register", "language"), default="register")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--unsure", type=float, default=0.4)
    given = parser.parse_args()
    examples = open_examples()
    judgements = held_out(examples, given.folds)
    measuring = [pair for pair in zip(examples, judgements, strict=True) if pair[0].item.register == QUESTIONS.stem]
    threshold = precise_threshold([[*zip(examples, judgements, strict=True)], measuring])
    show(examples, judgements, given.folds, threshold)
    if given.write:
        write(*learn(examples), sure=round(threshold, 3), unsure=given.unsure)


if __name__ == "__main__":
    main()
