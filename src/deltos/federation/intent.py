"""Estimate which results a query asks for: code, documentation, APIs, memory or commits."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from deltos.text.identifiers import QUALIFIED_NAME, looks_like_code
from deltos.text.words import unique

if TYPE_CHECKING:
    from collections.abc import Sequence

_ENDPOINT = re.compile(
    r"(?:(?:GET|PUT|POST|DELETE|PATCH|HEAD|OPTIONS|QUERY|MUTATION|SUBSCRIPTION|RPC)\s+\S+|/[\w{}:.-]+(?:/[\w{}:.-]*)*)"
)
# Amounts added to the leaning, which is the weight of a kind of result. Like the weights of the phrases in `_CUES`,
# they were tuned by hand on the queries of tests/relevance.
_CODE_NAME_LEANING, _PLAIN_NAME_LEANING, _CONTAINED_NAME_LEANING = 0.6, 0.35, 0.15
# A sentence without code-like words more often asks about the project than about a line of code.
_MIN_SENTENCE_WORDS, _SENTENCE_LEANING = 3, 0.12
# Commits use the same words as the code they change, so they rank lower unless the query asks for them.
DEFAULT_LEANINGS = {"commit": -0.4}
_EXPLICIT_LEANING = 0.9  # weight of a kind of result that the query explicitly requests
_MAX_NAMES = 20  # maximum number of names in a query


class Cue(NamedTuple):
    """Regular expression of phrases that suggest a kind of result. `^` matches the start of the query."""

    kind: str
    weight: float
    phrases: str


_WE = "(?:we|our|us|i|the team)"
_LEARN = (
    "(?:decid|chose|choos|agree|prefer|learn|discuss|tr(?:y|ied)|pick|settl|reject|switch|mov|stop|drop|chang|find|found"
    "|fix|notic|want|abandon|keep|kept|introduc|plan|use|avoid|replac|said|say)"
)
_CUES = (
    Cue(
        "doc", 0.5, "^how (?:do|can|should|would|could|must|may) (?:i|you|one|users?)|^how to|^how (?:is|are) .* set up"
    ),
    Cue("doc", 0.4, "guides?|tutorials?|documentation|docs|manual|handbook|getting started|troubleshoot(?:ing)?"),
    Cue("doc", 0.25, "set(?:ting)? up|install(?:ing|ation)?|configur(?:e|ed|ing|ation)|upgrad(?:e|ing)|migrating"),
    Cue("doc", 0.2, "^(?:what|which|when|who) .+|explain|meaning|difference between|supported|options?|settings?"),
    Cue("obs", 0.7, rf"{_WE}\W.{{0,40}}{_LEARN}\w*|^why (?:did|do|don't|are|is|was|were|have) {_WE}"),
    Cue(
        "obs", 0.5, "decisions?|decided|agreed|preferences?|preferred|lessons?|incident|outage|post-?mortem|root cause"
    ),
    Cue("obs", 0.5, "last (?:time|week|session|month|sprint|year)|yesterday|earlier|previously|remember(?:ed)?|recall"),
    Cue(
        "obs",
        0.4,
        "history of|went wrong|conventions?|our (?:policy|rule|reason)s?|rationale|reasons? (?:for|why|behind)",
    ),
    Cue("commit", 0.9, "commits?|committed|git log|git history|git blame|changelog of|pull requests?"),
    Cue("commit", 0.8, "^when (?:did|was|were|has|have)|^since when|^who (?:added|changed|removed|wrote|broke|fixed)"),
    Cue("commit", 0.6, r"what (?:has |have )?(?:changed|happened)|^why (?:is|was|were|did|does) .+|used to|regress\w*"),
    Cue("api", 0.5, "endpoints?|apis?|requests?|routes?|operations?|webhooks?|status codes?|responses?|payloads?"),
    Cue("api", 0.5, "request body|query parameters?|schemas?|graphql|mutation|rpc|rest|http (?:call|method|verb)"),
    Cue(
        "api", 0.3, "^(?:create|add|list|get|retrieve|fetch|update|patch|edit|delete|remove|cancel|upload|download) .+"
    ),
    Cue(
        "api",
        0.3,
        "^(?:revoke|register|subscribe|archive|restore|assign|approve|send|replace|refund) (?:an?|all|the) .+",
    ),
    Cue("code", 0.45, "functions?|methods?|class(?:es)?|modules?|implement\\w*|defin(?:ed|ition)|declared|constants?"),
    Cue(
        "code", 0.45, "source code|in the code|callers?|called|calls|subclass\\w*|import(?:s|ed)|decorators?|which file"
    ),
    Cue(
        "code",
        0.35,
        "raises?|raised|thrown|parse[sd]?|computed?|validated?|algorithm|unit tests?|^where (?:is|are|do|does)",
    ),
)


@dataclass(frozen=True, slots=True)
class Intent:
    """Weight that a query gives to each kind of result. `name` is set if the query is a single name."""

    leanings: dict[str, float]
    name: str = ""
    names: tuple[str, ...] = ()

    def leaning_to(self, kind: str) -> float:
        """Return the weight that the query gives to a kind of result."""
        return self.leanings.get(kind, DEFAULT_LEANINGS.get(kind, 0.0))

    def with_explicit_kinds(self, kinds: Sequence[str]) -> Intent:
        """Return a copy with a high weight for the given kinds of results."""
        return replace(self, leanings=self.leanings | dict.fromkeys(kinds, _EXPLICIT_LEANING)) if kinds else self


def intent_of(query: str) -> Intent:
    """Estimate from the wording of a query which kinds of results it asks for."""
    text = " ".join(query.split())
    if _ENDPOINT.fullmatch(text):
        return Intent({"api": 1.0})
    if QUALIFIED_NAME.fullmatch(text):
        name = text.removesuffix("()")
        return Intent({"code": _CODE_NAME_LEANING if looks_like_code(text) else _PLAIN_NAME_LEANING}, name, (name,))
    leanings: dict[str, float] = {}
    for cue, pattern in _patterns():
        if pattern.search(text):
            leanings[cue.kind] = max(leanings.get(cue.kind, 0.0), cue.weight)
    names = tuple(unique(_strip_punctuation(word) for word in text.split() if looks_like_code(word))[:_MAX_NAMES])
    if names:
        leanings["code"] = leanings.get("code", 0.0) + _CONTAINED_NAME_LEANING
    elif "code" not in leanings and len(text.split()) >= _MIN_SENTENCE_WORDS:
        for kind in ("doc", "obs", "api"):
            leanings[kind] = leanings.get(kind, 0.0) + _SENTENCE_LEANING
    return Intent(leanings, names=names)


def _strip_punctuation(word: str) -> str:
    return word.strip("`'\".,;:?!").removesuffix("()")


@cache
def _patterns() -> tuple[tuple[Cue, re.Pattern[str]], ...]:
    return tuple((cue, re.compile(rf"(?<!\w)(?:{cue.phrases})(?!\w)", re.IGNORECASE)) for cue in _CUES)
