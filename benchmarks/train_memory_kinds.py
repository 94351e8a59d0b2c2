"""Train the classification of memory: decisions, preferences and findings; evaluate it on unseen texts.

    python -m benchmarks.train_memory_kinds [--folds] [--write]

Trains on memory_kinds_registers.jsonl, …_training.jsonl, …_further.jsonl, …_working.jsonl, …_prompts.jsonl,
…_plain.jsonl and the development part of memory_kinds.jsonl; findings on memory_findings.jsonl. A text is positive if
one of its sentences is; unless `span` names the sentence, it is learned together with the weights. Figures for the
held-out parts are printed; these parts are not used for training. `--folds` classifies the development part with
weights trained without its projects; `--write` saves the weights.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.memory_kinds import (
    FURTHER,
    NONE,
    PLAIN,
    PROMPTS,
    QUESTIONS,
    REGISTERS,
    TRAINING,
    WORKING,
    Labelled,
    is_right,
    read_labelled,
)
from deltos.domains.memory.capture import classify

if TYPE_CHECKING:
    from collections.abc import Sequence

FRESH = QUESTIONS.with_name("memory_kinds_fresh.jsonl")
FINDINGS = QUESTIONS.with_name("memory_findings.jsonl")
HELD_OUT = "held-out"
STORE_THRESHOLD = 0.9  # minimum probability to store a text as a decision or preference
UNCERTAIN_THRESHOLD = 0.4
FINDING_THRESHOLD = 0.5
MIN_COMMON_SENTENCES = 60  # a word must occur in this many sentences to be used in word sequences
MIN_SENTENCES = 3  # minimum number of sentences in which a feature must occur
# Penalties of weights: features of single texts are penalised more than those of the whole text.
TEXT_PENALTY = 1.0
WORD_PENALTY = 3.0
SEQUENCE_PENALTY = 4.0
CONTEXT_PENALTY = 6.0
CONSTANT_PENALTY = 0.01
FOLDS = 2  # number of groups of development projects in a cross-validation
ROUNDS = 2  # number of rounds; each round chooses the labelled sentences and fits the weights
STEPS = 40
LBFGS_MEMORY = 8
TRAINING_WEIGHT = 0.8  # weight of texts that were written for training
PLAIN_WEIGHT = 1.5  # weight of the simplest texts, which are frequent in real use but rare in the other sets
OTHER_SENTENCE_WEIGHT = 0.34
LABELS = (classify.DECISION, classify.PREFERENCE, NONE)
INT8_LIMIT = 127


@dataclass(frozen=True, slots=True)
class Example:
    """A labelled text as features of its sentences, and the sentences that justify the label, if they are known."""

    item: Labelled
    features: list[frozenset[str]]
    carries: list[bool]
    weight: float


def example(item: Labelled, weight: float, common: frozenset[str]) -> Example:
    """Return a text as a training example."""
    sentences = classify.sentences_of(item.text, is_agent=item.is_agent, common=common)
    carries = [bool(item.span) and (s.text[:25] in item.span or item.span in s.text) for s in sentences]
    return Example(item, [sentence.features for sentence in sentences], carries, weight)


def penalty(name: str) -> float:
    """Return the penalty of the weight of a feature."""
    if name.startswith("@"):
        return TEXT_PENALTY
    if name.startswith("~"):
        return CONTEXT_PENALTY
    return SEQUENCE_PENALTY if " " in name else WORD_PENALTY


class Features:
    """Row numbers of the features that occur often enough, and their penalties. The last row is the constant."""

    def __init__(self, examples: Sequence[Example]) -> None:
        counts: dict[str, int] = {}
        for name in (name for e in examples for features in e.features for name in features):
            counts[name] = counts.get(name, 0) + 1
        self.penalty = np.full((classify.BUCKETS + 1, 1), SEQUENCE_PENALTY)
        self.penalty[-1] = CONSTANT_PENALTY
        self.used = np.zeros(classify.BUCKETS, bool)
        for name, count in counts.items():
            if count >= MIN_SENTENCES:
                bucket = classify.bucket_of(name)
                self.penalty[bucket], self.used[bucket] = penalty(name), True

    def row(self, features: frozenset[str]) -> list[int]:
        """Return the row numbers of the features of a sentence."""
        buckets = {classify.bucket_of(name) for name in features}
        return [*(bucket for bucket in buckets if self.used[bucket]), classify.BUCKETS]


class Design:
    """Sparse matrix of sentence features, stored by rows and by columns."""

    def __init__(self, examples: Sequence[Example], known: Features) -> None:
        self.size = classify.BUCKETS + 1
        rows = [known.row(features) for e in examples for features in e.features]
        self.sentences = len(rows)
        self.columns = np.array([number for row in rows for number in row], dtype=np.int64)
        self.starts = np.cumsum([0, *map(len, rows)])[:-1]
        self.row_of = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        self.penalty = known.penalty
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
        direction = _descent_direction(gradient, moves)
        rate = 1.0 if moves else 1 / max(1.0, float(np.abs(gradient).sum()))
        slope = float((gradient * direction).sum())
        while True:
            there = weights + rate * direction
            new_value, new_gradient = loss(there)
            if new_value <= value + 1e-4 * rate * slope or rate < 1e-10:
                break
            rate /= 2
        if (there - weights).ravel() @ (new_gradient - gradient).ravel() > 0:
            moves = [*moves[1 - LBFGS_MEMORY :], (there - weights, new_gradient - gradient)]
        improved, weights, value, gradient = value - new_value, there, new_value, new_gradient
        if improved < 1e-5 * abs(value):
            break
    return weights


def _descent_direction(gradient: np.ndarray, moves: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
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


def train(examples: Sequence[Example]) -> tuple[Features, np.ndarray]:
    """Return the features and their weights for the labels."""
    known = Features(examples)
    design = Design(examples, known)
    weights = np.zeros((design.size, len(LABELS)))
    for round_number in range(ROUNDS):
        guess = softmax(design.times(weights)) if round_number else None
        targets, importance = _sentence_targets(examples, design, guess)
        weights = fit(design, targets, importance, weights)
    return known, weights


def _sentence_targets(
    examples: Sequence[Example], design: Design, guess: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each sentence the label to be learned, and its weight."""
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


def classify_examples(examples: Sequence[Example], known: Features, weights: np.ndarray) -> list[tuple[str, float]]:
    """Return the more probable kind of each text and the probability that it has one of the kinds.

    Both come from the most probable sentence of the text.
    """
    design = Design(examples, known)
    chances = softmax(design.times(weights))[:, :2] if design.sentences else np.zeros((0, 2))
    best = [chances[group][chances[group].sum(1).argmax()] if len(group) else np.zeros(2) for group in design.groups]
    return [(LABELS[int(pair.argmax())], float(pair.sum())) for pair in best]


def classify_in_folds(examples: Sequence[Example]) -> tuple[list[Example], list[tuple[str, float]]]:
    """Return the development examples, classified with weights that were learned without their projects."""
    measured = [e for e in examples if e.item.register == QUESTIONS.stem]
    projects = sorted({e.item.project for e in measured})
    chosen: list[Example] = []
    judgements: list[tuple[str, float]] = []
    for fold in range(FOLDS):
        held = set(projects[fold::FOLDS])
        unseen = [e for e in measured if e.item.project in held]
        chosen += unseen
        judgements += classify_examples(unseen, *train([e for e in examples if e.item.project not in held]))
    return chosen, judgements


def print_figures(name: str, examples: Sequence[Example], judgements: list[tuple[str, float]]) -> None:
    """Print precision and recall at some thresholds."""
    pairs = [(e.item, kind, score) for e, (kind, score) in zip(examples, judgements, strict=True)]
    for at in (0.7, 0.8, 0.85, STORE_THRESHOLD, 0.95):
        print(_format_figures(f"{name} at {at:.3f}", pairs, at))


def _format_figures(name: str, pairs: list[tuple[Labelled, str, float]], threshold: float) -> str:
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


def train_finding_classifier(common: frozenset[str], known: Features) -> np.ndarray:
    """Train the classifier of findings, print its precision and recall, and return its weights."""
    rows = [json.loads(line) for line in FINDINGS.read_text("utf-8").splitlines()]
    parts: dict[str, list[Example]] = {}
    for row in rows:
        item = Labelled(row["text"], str(row["finding"]), "assistant", "", row["project"])
        parts.setdefault(row["part"], []).append(example(item, 1.0, common))
    design = Design(parts["development"], known)
    weights = fit(design, _finding_targets(parts["development"]), np.ones(design.sentences), np.zeros((design.size, 2)))
    for part, examples in parts.items():
        chances = softmax(Design(examples, known).times(weights))[:, 0]
        is_recognised, is_finding = chances >= FINDING_THRESHOLD, _finding_targets(examples)[:, 0] == 1
        right = int((is_recognised & is_finding).sum())
        print(f"findings, {part}: precision {right / is_recognised.sum():.3f}, recall {right / is_finding.sum():.3f}")
    difference: np.ndarray = weights[:, :1] - weights[:, 1:]
    return difference


def _finding_targets(examples: Sequence[Example]) -> np.ndarray:
    labels = np.array([e.item.label == "True" for e in examples for _ in e.features], float)
    return np.stack([labels, 1 - labels], 1)


def write_weights(common: frozenset[str], weights: np.ndarray, thresholds: Sequence[float]) -> None:
    """Write the weights as 8-bit integers. Each kind has a scale by which they are multiplied."""
    scales = np.abs(weights).max(0) / INT8_LIMIT
    np.savez_compressed(
        classify.WEIGHTS_FILE,
        weights=np.round(weights / scales).astype(np.int8),
        scales=scales.astype(np.float32),
        common=np.frombuffer("\n".join(sorted(common)).encode("utf-8"), np.uint8),
        thresholds=np.array(thresholds, np.float32),
    )
    classify.load_model.cache_clear()


def development_items() -> list[tuple[Labelled, float]]:
    """Return the training texts with their weights."""
    files = [
        (QUESTIONS, 1.0),
        (REGISTERS, 1.0),
        (TRAINING, TRAINING_WEIGHT),
        (FURTHER, 1.0),
        (WORKING, 1.0),
        (PROMPTS, 1.0),
        (PLAIN, 1.0),
    ]
    items = [(item, weight) for path, weight in files for item in read_labelled(path, part="development")]
    return [(item, PLAIN_WEIGHT if item.register == "plain" else weight) for item, weight in items]


def main() -> None:
    """Train on the development set, print figures for the held-out sets, and optionally save the weights."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--folds", action="store_true", help="also classify the development part in two folds of projects"
    )
    parser.add_argument("--write", action="store_true", help="save the weights")
    given = parser.parse_args()
    items = development_items()
    common = classify.common_words([item.text for item, _ in items], min_sentences=MIN_COMMON_SENTENCES)
    examples = [example(item, weight, common) for item, weight in items]
    if given.folds:
        print_figures(f"{QUESTIONS.stem} development", *classify_in_folds(examples))
    known, weights = train(examples)
    for path, part in ((QUESTIONS, HELD_OUT), (FRESH, "all")):
        unseen = [example(item, 1.0, common) for item in read_labelled(path, part=part)]
        print_figures(f"{path.stem} {part}", unseen, classify_examples(unseen, known, weights))
    against_none = weights[:, :2] - weights[:, 2:]
    all_weights = np.concatenate([against_none, train_finding_classifier(common, known)], axis=1)
    if given.write:
        write_weights(common, all_weights, (STORE_THRESHOLD, UNCERTAIN_THRESHOLD, FINDING_THRESHOLD))


if __name__ == "__main__":
    main()
