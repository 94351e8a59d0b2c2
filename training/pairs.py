"""Definition of a training pair, and cleaning of raw text into a question."""

from __future__ import annotations

import re
from dataclasses import dataclass

TEXT_CHARACTERS = 900
_MIN_WORDS, _MAX_WORDS = 2, 40
_WORD = re.compile(r"[A-Za-z]{2,}")
_SENTENCE = re.compile(r"^(.{12,240}?[.!?])(?:\s|$)", re.DOTALL)
_MARKUP = re.compile(r"<[^>]{1,60}>|:\w+:`|[`*|]+|\{@\w+\s|\\[a-z]+\b")
_BOILERPLATE = re.compile(
    r"copyright|licen[cs]e|all rights reserved|eslint|noqa|pylint|type:\s*ignore|@param|@return|auto.?generated"
    r"|do not edit|todo|fixme|^see\b|https?://",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and the text that answers it; `kind` is the origin of both."""

    kind: str
    query: str
    text: str


def to_query(raw: str) -> str | None:
    """Reduce a docstring, comment or heading to one sentence that can serve as a question, or None if too short."""
    text = " ".join(_MARKUP.sub(" ", raw).split())
    sentence = _SENTENCE.match(text)
    text = (sentence[1] if sentence else text[:240]).strip(" .:-#/*=\"'")
    words = _WORD.findall(text)
    if not _MIN_WORDS <= len(words) <= _MAX_WORDS or _BOILERPLATE.search(text):
        return None
    return text if sum(map(len, words)) > len(text) * 0.6 else None


def make_pair(kind: str, raw_query: str, text: str) -> Pair | None:
    """Return a training pair, or None if the question is too short or the text is empty."""
    query = to_query(raw_query)
    body = text.strip()[:TEXT_CHARACTERS]
    return Pair(kind, query, body) if query and len(body) > 40 else None
