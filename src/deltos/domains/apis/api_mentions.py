"""Find API names in queries such as `gotify: make bob an admin` or `how do I roll back in Argo CD`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING

from deltos.domains.apis.query import question_words
from deltos.embed.bundled_encoder import common_english_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_WORD = re.compile(r"[A-Za-z0-9]+")
_PACKAGE_NAME = re.compile(r"\w++(?:\.\w++)+")
_JOINING_CHARACTERS = frozenset("/-._&+")
_VERSION = re.compile(r"v?\d++(?:(?:alpha|beta)\d*+)?")
# Words in API names and titles that are too general to identify an API.
_GENERIC_WORDS = frozenset(
    """api apis rest restful http web public admin internal open server service services client platform management
    core data app the a of for and spec specification reference documentation description swagger openapi graphql
    grpc asyncapi json schema main default engine gateway backend""".split()
)
# Prepositions that may precede an API name in a query, as in `in the gotify api`.
_PREPOSITIONS_BEFORE_NAMES = frozenset("in on at via using through within inside with".split())
_ARTICLES = frozenset("the our my your a an self hosted local".split())
_LOCATION_WORDS = _PREPOSITIONS_BEFORE_NAMES | _ARTICLES | frozenset("for from by of to".split())
_SUFFIX_WORDS = frozenset("api apis rest http server s".split())
_MIN_NAME_CHARACTERS = 3
_MAX_PACKAGE_PARTS = 8  # package names with more parts must match completely
_MAX_CACHED_NAMES = 10_000
_MAX_TITLE_WORDS = 3  # titles with more words are sentences, not names


@dataclass(frozen=True, slots=True)
class ApiMentions:
    """APIs that a query mentions, and the query without the mention, so that the API name is not a search term."""

    names: tuple[str, ...]
    question: str


@dataclass(frozen=True, slots=True)
class _MentionSpan:
    """Indexes of the first and last word of a mention in the query."""

    first: int
    last: int


def find_api_mentions(
    question: str, titles: Mapping[str, Sequence[str]], is_topic: Callable[[str, Sequence[str]], bool]
) -> ApiMentions:
    """Find the APIs that a query mentions; `titles` maps the name of each API to its other names.

    `is_topic` returns whether a name is also a topic of other APIs, such as "kubernetes" in hosting APIs.
    """
    words = list(_WORD.finditer(question))
    lowered = [word[0].lower() for word in words]
    found = {
        name: span
        for name, others in titles.items()
        for span in _find_spans(question, words, (name, *others))
        if _is_written_as_name(question, words, span)
    }
    spans = {
        name: span
        for name, span in found.items()
        if _is_addressed(question, lowered, words, span) or not is_topic(name, lowered[span.first : span.last + 1])
    }
    if len(set(spans.values())) != 1:
        return ApiMentions(tuple(spans), question)
    rest = _remove_span(question, words, next(iter(spans.values())))
    return ApiMentions(tuple(spans), rest if question_words(rest) else question)


def _find_spans(question: str, words: Sequence[re.Match[str]], names: Iterable[str]) -> list[_MentionSpan]:
    """Return the positions at which a query contains one of the names of an API, shortest match first.

    `Pub/Sub`, `pub-sub` and `Pub Sub` match `pubsub`; `read me` does not match `readme`.
    """
    forms = {"".join(form): form for name in names for form in _name_forms(name)}
    found = []
    for first in range(len(words)):
        for last in range(first, min(first + _MAX_PACKAGE_PARTS, len(words))):
            run = words[first : last + 1]
            written = tuple(word[0].lower() for word in run)
            form = forms.get("".join(written))
            if form and (first == last or written == form or all(map(_is_joined, repeat(question), run, run[1:]))):
                found.append(_MentionSpan(first, last))
    return sorted(found, key=lambda span: span.last - span.first)


def _is_joined(question: str, first: re.Match[str], second: re.Match[str]) -> bool:
    """Whether two words are connected by a joining character, or are adjacent and both capitalised."""
    between = question[first.end() : second.start()]
    return between in _JOINING_CHARACTERS or (between == " " and first[0][0].isupper() and second[0][0].isupper())


@lru_cache(maxsize=_MAX_CACHED_NAMES)
def _name_forms(name: str) -> tuple[tuple[str, ...], ...]:
    """Return the distinctive words of a name, also without the first parts of a package name such as `google.pubsub`.

    Forms that are too general, too long or too short are omitted.
    """
    parts = name.split(".", _MAX_PACKAGE_PARTS) if _PACKAGE_NAME.fullmatch(name) else [name]
    forms = []
    for at in range(len(parts)):
        words = (word.lower() for word in _WORD.findall(" ".join(parts[at:])))
        form = tuple(word for word in words if word not in _GENERIC_WORDS and not _VERSION.fullmatch(word))
        if form and len(form) <= _MAX_TITLE_WORDS and len("".join(form)) >= _MIN_NAME_CHARACTERS:
            forms.append(form)
    return tuple(dict.fromkeys(forms))


def _is_addressed(question: str, lowered: Sequence[str], words: Sequence[re.Match[str]], span: _MentionSpan) -> bool:
    """Whether the words around a mention show that it selects an API, such as `in` before it or a colon after it."""
    before = list(lowered[: span.first])
    while before and before[-1] in _ARTICLES:
        before.pop()
    following = lowered[span.last + 1] if span.last + 1 < len(lowered) else ""
    is_announced = question[words[span.last].end() :].startswith(":") or following in _SUFFIX_WORDS
    return not before or before[-1] in _PREPOSITIONS_BEFORE_NAMES or is_announced


def _is_written_as_name(question: str, words: Sequence[re.Match[str]], span: _MentionSpan) -> bool:
    """Whether a mention is spelled as a name.

    A single ordinary word such as `box` or `files` must be capitalised, or followed by a colon or `api`.
    """
    lowered = [word[0] for word in words[span.first : span.last + 1]]
    if len(lowered) > 1 or lowered[0].lower() not in common_english_words():
        return True
    following = words[span.last + 1][0].lower() if span.last + 1 < len(words) else ""
    is_announced = question[words[span.last].end() :].startswith(":") or following in ("api", "apis")
    before = words[span.first - 1][0] if span.first else ""
    return is_announced or (lowered[0][:1].isupper() and (before.islower() or before == "I"))


def _remove_span(question: str, words: Sequence[re.Match[str]], span: _MentionSpan) -> str:
    """Return the query without a mention and without the prepositions and suffixes around the mention."""
    first, last = span.first, span.last
    while first > 0 and words[first - 1][0].lower() in _LOCATION_WORDS:
        first -= 1
    while last + 1 < len(words) and words[last + 1][0].lower() in _SUFFIX_WORDS:
        last += 1
    before = question[: words[first].start()].rstrip()
    after = question[words[last].end() :].lstrip(" :,;-?.!")
    return f"{before} {after}".strip(" ,:;-")
