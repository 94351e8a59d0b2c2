"""Classify texts of a user or an agent as decision, lasting preference, finding, or none of these.

A linear model scores the word sequences of sentences, hashed into a fixed number of buckets. `python -m
benchmarks.train_memory_kinds --write` trains the weights of the model. The model runs when recorded events are
converted to observations (distill.py), not in hooks.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import numpy as np

from deltos.domains.memory.core.model import NOTE
from deltos.text.sentences import own_sentences

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    import numpy.typing as npt

DECISION = "decision"
PREFERENCE = "preference"
NEITHER = ""
WEIGHTS_FILE = Path(__file__).with_name("kinds.npz")
BUCKETS = 1 << 18
_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+|[^\w\s]|_")
_UNSPACED_LETTER = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_MIN_RARE_WORD_CHARACTERS = 5  # minimum length of a rare word whose ending becomes a feature
_RARE_WORD_ENDING_CHARACTERS = 3
_MAX_SEQUENCE_WORDS = 3
_MAX_SEQUENCE_LETTERS = 4  # maximum length of letter sequences in scripts without spaces
_SENTENCE_LENGTH_STEPS = (3, 6, 12, 22)
_MAX_SENTENCES_AS_CONTEXT = 4  # in longer texts, only adjacent sentences count as context
_PROPER_NAME = re.compile(r"[A-Z]\w")
_CODE_MARK = re.compile(r"[`_]|\(\)|\w/\w")


class Judgement(NamedTuple):
    """Kind of a text, the probability (0 to 1) that it is a decision or preference, and the sentence that determined
    it.
    """

    kind: str
    score: float
    sentence: str


class Sentence(NamedTuple):
    """A sentence and the features that the classifier computes from it."""

    text: str
    features: frozenset[str]


@dataclass(frozen=True, slots=True)
class KindModel:
    """Weights of the classifier for decision, preference and finding, by hash bucket; the last row is the bias.

    `common` contains the frequent words of the training texts. The thresholds are probabilities.
    """

    weights: npt.NDArray[np.float32]
    common: frozenset[str]
    statement_threshold: float
    note_threshold: float
    finding_threshold: float

    def probabilities(self, features: Collection[str]) -> tuple[float, float, float]:
        """Return the probabilities that a sentence with the features is a decision, a preference and a finding."""
        places = [*map(bucket_of, features), BUCKETS]
        decision, preference, finding = self.weights[places].sum(axis=0)
        top = max(decision, preference, 0.0)
        parts = np.exp(np.array((decision, preference, 0.0)) - top)
        parts /= parts.sum()
        return float(parts[0]), float(parts[1]), float(1 / (1 + np.exp(-finding)))


def judge(text: str, *, is_agent: bool = False) -> Judgement:
    """Classify a prompt, or an answer of an agent, as decision, preference or neither."""
    model = load_model()
    best = Judgement(NEITHER, 0.0, "")
    for sentence in sentences_of(text, is_agent=is_agent, common=model.common):
        decision, preference, _ = model.probabilities(sentence.features)
        if decision + preference > best.score:
            kind = DECISION if decision >= preference else PREFERENCE
            best = Judgement(kind, decision + preference, sentence.text)
    if best.score >= model.statement_threshold:
        return best
    return best._replace(kind=NOTE if best.score >= model.note_threshold else NEITHER)


def statement_scores(text: str, *, is_agent: bool = False) -> list[tuple[str, float]]:
    """Return each sentence of a text with the probability that it is a decision or preference."""
    model = load_model()
    sentences = sentences_of(text, is_agent=is_agent, common=model.common)
    return [(each.text, sum(model.probabilities(each.features)[:2])) for each in sentences]


def find_findings(text: str) -> list[str]:
    """Return the sentences of an agent's answer that state a finding, such as the cause of an error."""
    model = load_model()
    sentences = sentences_of(text, is_agent=True, common=model.common)
    return [each.text for each in sentences if model.probabilities(each.features)[2] >= model.finding_threshold]


def is_possible_statement(score: float) -> bool:
    """Whether a sentence with the given score (probability) may be a decision or preference."""
    return score >= load_model().note_threshold


def sentences_of(text: str, *, is_agent: bool, common: Collection[str]) -> list[Sentence]:
    """Remove quotations and code from a text, and return the sentences with the features of each sentence."""
    own, shown, has_foreign = own_sentences(text)
    features = [_own_features(sentence, common) for sentence in own]
    shared = {f"@n{min(len(own), _MAX_SENTENCES_AS_CONTEXT + 1)}"}
    shared |= {"@agent"} if is_agent else set()
    shared |= {"@foreign"} if has_foreign else set()
    return [
        Sentence(
            sentence,
            frozenset(
                features[at]
                | shared
                | _position_features(at, len(own))
                | _context_features(features, at, common)
                | ({f"@a {name}" for name in features[at] if name in common} if is_agent else set())
            ),
        )
        for at, sentence in enumerate(shown)
    ]


def common_words(texts: Sequence[str], *, min_sentences: int) -> frozenset[str]:
    """Return the words that occur in at least `min_sentences` sentences of the texts."""
    counts = Counter(word for text in texts for sentence in own_sentences(text)[0] for word in set(_words(sentence)))
    return frozenset(word for word, count in counts.items() if count >= min_sentences)


def bucket_of(feature: str) -> int:
    """Return the number of the hash bucket for a feature."""
    return crc32(feature.encode()) % BUCKETS


@cache
def load_model() -> KindModel:
    """Load the classifier from the weights file; cached."""
    with np.load(WEIGHTS_FILE) as data:
        weights = data["weights"].astype(np.float32) * data["scales"]
        common = frozenset(bytes(data["common"]).decode("utf-8").split("\n"))
        statement_threshold, note_threshold, finding_threshold = map(float, data["thresholds"])
    return KindModel(weights, common, statement_threshold, note_threshold, finding_threshold)


def _own_features(sentence: str, common: Collection[str]) -> set[str]:
    """Return the features of one sentence: words and word sequences, with rare words replaced by their endings."""
    words = _words(sentence)
    row = ["^", *(word if word in common else _represent_rare_word(word) for word in words), "$"]
    longest = _MAX_SEQUENCE_LETTERS if _UNSPACED_LETTER.search(sentence) else _MAX_SEQUENCE_WORDS
    found = set(words)
    found.update(" ".join(row[at : at + size]) for size in range(2, longest + 1) for at in range(len(row) - size + 1))
    found.update(f"{row[at]} * {row[at + 2]}" for at in range(len(row) - 2))
    found.add("^" + " ".join(row[1:5]))
    found.add(f"len{sum(len(words) > most for most in _SENTENCE_LENGTH_STEPS)}")
    found |= {"proper"} if _PROPER_NAME.search(sentence, 1) else set()
    found |= {"code"} if _CODE_MARK.search(sentence) else set()
    return found


def _words(sentence: str) -> list[str]:
    """Return the words and punctuation of a sentence in lower case; scripts without spaces are split into letters."""
    return [word for token in _TOKEN.findall(sentence.replace("’", "'").lower()) for word in _split_token(token)]


def _split_token(token: str) -> Iterator[str]:
    if token[0].isdigit():
        yield "$n"
    elif not token.isascii() and _UNSPACED_LETTER.search(token):
        yield from token
    else:
        yield token


def _represent_rare_word(word: str) -> str:
    """Return the feature for a rare word: the ending of the word, or a placeholder if the word is short."""
    return "$x" if len(word) < _MIN_RARE_WORD_CHARACTERS else f"${word[-_RARE_WORD_ENDING_CHARACTERS:]}"


def _position_features(at: int, count: int) -> set[str]:
    """Return features that mark a sentence as the first or the last one in a text of several sentences."""
    if count == 1:
        return set()
    return ({"@first"} if at == 0 else set()) | ({"@last"} if at == count - 1 else set())


def _context_features(features: Sequence[set[str]], at: int, common: Collection[str]) -> set[str]:
    """Return features for the common words in the other sentences, or in a long text in the adjacent sentences."""
    reach = len(features) if len(features) <= _MAX_SENTENCES_AS_CONTEXT else 1
    near = range(max(0, at - reach), min(len(features), at + reach + 1))
    return {f"~{name}" for place in near if place != at for name in features[place] if name in common}
