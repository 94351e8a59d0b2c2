"""Predict the action that a query asks for, such as "create", and the action that an operation performs.

`benchmarks/train_api_ranker.py` learns `intents.json` from summaries of public APIs and from queries.
"""

from __future__ import annotations

import json
import math
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.domains.apis.spec_text import is_parameter_segment, path_segments
from deltos.text.identifiers import split_identifier
from deltos.text.words import TOKEN, stemmer

if TYPE_CHECKING:
    from collections.abc import Mapping

# Positions of the actions in the list `ACTIONS`; ACT is any other action.
LIST, GET, CREATE, UPDATE, DELETE, ACT = range(6)
ACTIONS = ("list", "get", "create", "update", "delete", "act")
READ_ACTIONS = (LIST, GET)
WEIGHTS_FILE = Path(__file__).with_name("intents.json")
# Number of words at the start of a query that may describe the action; later words describe the object.
_MAX_LEADING_WORDS = 8

# Openings of queries that contain no information about the action, longest first.
_OPENINGS = tuple(
    tuple(words.split())
    for words in (
        "is there a way to|i would like to|how do i|how do we|how do you|how can i|how can we|how can you|how could i"
        "|how would i|how should i|i want to|i need to|we want to|we need to|how to|can i|can we|can you|could you"
        "|need to|want to|please"
    ).split("|")
)
# Actions of verbs at the start of operation names, such as `getChat` and `messages/send.json`.
_ACTION_BY_VERB = {
    "list": LIST, "search": LIST, "query": LIST, "find": LIST,
    "get": GET, "fetch": GET, "describe": GET, "read": GET, "watch": GET,
    "create": CREATE, "add": CREATE, "new": CREATE, "insert": CREATE, "send": CREATE,
    "update": UPDATE, "set": UPDATE, "edit": UPDATE, "modify": UPDATE, "patch": UPDATE, "replace": UPDATE,
    "delete": DELETE, "remove": DELETE,
}  # fmt: skip
_ACTION_BY_METHOD = {
    "PUT": UPDATE, "PATCH": UPDATE, "DELETE": DELETE, "HEAD": GET, "OPTIONS": GET, "QUERY": LIST, "SUBSCRIPTION": LIST,
    "RECEIVE": LIST,
}  # fmt: skip


@lru_cache(maxsize=20_000)  # limited, because untrusted descriptions determine the arguments
def action_of(method: str, path: str) -> int:
    """Return the action of an operation, determined by the method and the end of the path."""
    segments = path_segments(path.partition("#")[0].removesuffix(".json"))
    is_keyed = bool(segments) and is_parameter_segment(segments[-1])
    if method == "GET":
        return GET if is_keyed else LIST
    if method in _ACTION_BY_METHOD:
        return _ACTION_BY_METHOD[method]
    if is_keyed:
        return UPDATE
    words = split_identifier(segments[-1]) if segments else []
    if words and words[0] in _ACTION_BY_VERB:
        return _ACTION_BY_VERB[words[0]]
    is_collection = method == "POST" and (len(segments) == 1 or bool(words and words[-1].endswith("s")))
    return CREATE if is_collection else ACT


def requested_actions(question: str) -> tuple[float, ...]:
    """Return the probability of each action for a query."""
    return action_probabilities(question, _learned_weights())


def action_probabilities(question: str, learned: Mapping[str, list[float]]) -> tuple[float, ...]:
    """Return the probability of each action for a query, given the learned n-gram weights."""
    sums = list(learned[""])
    for gram in set(grams(question)):
        for action, weight in enumerate(learned.get(gram, ())):
            sums[action] += weight
    highest = max(sums)
    odds = [math.exp(value - highest) for value in sums]
    total = sum(odds)
    return tuple(value / total for value in odds)


def grams(text: str) -> list[str]:
    """Return the n-grams that predict the action of a text: the first words, pairs of these words, and the opening."""
    words_left = _strip_opening([word.lower() for word in TOKEN.findall(text[:500])])
    words = stemmer("english").stemWords(words_left[:_MAX_LEADING_WORDS])
    pairs = [f"{first}_{second}" for first, second in pairwise(words[:5])]
    return [*words, *pairs, *(f"^{word}" for word in words[:1]), *(f"^{pair}" for pair in pairs[:1])]


def _strip_opening(words: list[str]) -> list[str]:
    """Return the words without an opening such as "how do I", or all words if no other words remain."""
    opening = next((each for each in _OPENINGS if tuple(words[: len(each)]) == each), ())
    return words[len(opening) :] or words


@cache
def _learned_weights() -> Mapping[str, list[float]]:
    """Return the learned weights of each n-gram, by action; the weights of the empty n-gram are the prior."""
    stored: dict[str, list[float]] = json.loads(WEIGHTS_FILE.read_text("utf-8"))
    return stored
