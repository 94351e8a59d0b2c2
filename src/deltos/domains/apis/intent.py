"""Determine the action that a query asks for, and the action that an operation performs."""

from __future__ import annotations

from functools import lru_cache

from deltos.domains.apis.query import question_words, verb_of
from deltos.domains.apis.spec_text import is_parameter_segment, path_segments
from deltos.text.identifiers import split_identifier

# Indexes of the actions in `ACTIONS`; ACT is any other action.
LIST, GET, CREATE, UPDATE, DELETE, ACT = range(6)
ACTIONS = ("list", "get", "create", "update", "delete", "act")
READ_ACTIONS = (LIST, GET)
_MAX_LEADING_WORDS = 3  # later words describe the object of the action
# Actions of verbs in queries and at the start of operation names, such as `getChat` and `messages/send.json`.
_ACTION_BY_VERB = {
    "list": LIST, "search": LIST, "query": LIST, "find": LIST,
    "get": GET, "fetch": GET, "describe": GET, "read": GET, "watch": GET, "check": GET, "download": GET,
    "create": CREATE, "add": CREATE, "new": CREATE, "insert": CREATE, "send": CREATE, "upload": CREATE,
    "update": UPDATE, "set": UPDATE, "edit": UPDATE, "modify": UPDATE, "patch": UPDATE, "replace": UPDATE,
    "delete": DELETE, "remove": DELETE,
}  # fmt: skip
_ACTION_BY_METHOD = {
    "PUT": UPDATE, "PATCH": UPDATE, "DELETE": DELETE, "HEAD": GET, "OPTIONS": GET, "QUERY": LIST, "SUBSCRIPTION": LIST,
    "RECEIVE": LIST,
}  # fmt: skip
_VERB_CERTAINTY = 0.7  # probability that a query asks for the action of its first verb
_PRIOR = (0.2, 0.2, 0.15, 0.15, 0.1, 0.2)  # probabilities of the actions of a query without a known verb


@lru_cache(maxsize=20_000)  # limited, because the arguments come from untrusted descriptions
def action_of(method: str, path: str) -> int:
    """Return the action of an operation, derived from its method and the end of its path."""
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
    """Return the probability of each action for a query, based on the first verb among its leading words."""
    verbs = filter(None, map(verb_of, question_words(question)[:_MAX_LEADING_WORDS]))
    if (verb := next(verbs, "")) == "":
        return _PRIOR
    asked = _ACTION_BY_VERB.get(verb, ACT)
    return tuple(_VERB_CERTAINTY * (at == asked) + (1 - _VERB_CERTAINTY) * share for at, share in enumerate(_PRIOR))
