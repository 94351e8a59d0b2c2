"""Which APIs a question names: `gotify: make bob an admin`, `how do I roll back in Argo CD`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from deltos.domains.apis.query import question_words
from deltos.embed.inner_encoder import ordinary_words

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

_WORD = re.compile(r"[A-Za-z0-9]+")
_PACKAGE = re.compile(r"\w++(?:\.\w++)+")
_JOINTS = frozenset("/-._&+")
_VERSION = re.compile(r"v?\d++(?:(?:alpha|beta)\d*+)?")
# Of a name or title these say that it is an API, not which.
_SAYS_NOTHING = frozenset(
    """api apis rest restful http web public admin internal open server service services client platform management
    core data app the a of for and spec specification reference documentation description swagger openapi graphql
    grpc asyncapi json schema main default engine gateway backend""".split()
)
# Before a name, as part of saying where: `in the gotify api`.
_PLACES = frozenset("in on at via using through within inside with".split())
_ARTICLES = frozenset("the our my your a an self hosted local".split())
_SAYING_WHERE = _PLACES | _ARTICLES | frozenset("for from by of to".split())
_SAID_AFTER = frozenset("api apis rest http server s".split())
_SHORTEST = 3  # characters of a name
_LONGEST_TITLE = 3  # words; a longer one is a sentence


@dataclass(frozen=True, slots=True)
class Naming:
    """The APIs that a question names, and the question without that."""

    names: tuple[str, ...]
    question: str


@dataclass(frozen=True, slots=True)
class _Place:
    """Where words of a question name an API: their first and last position."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class _Spoken:
    """A word as it is compared, with the positions of the first and the last that it is written with."""

    text: str
    first: int
    last: int


def named_in(
    question: str, titles: Mapping[str, Sequence[str]], is_topic: Callable[[str, Sequence[str]], bool]
) -> Naming:
    """Which of some APIs a question names; `titles` are what each is called besides its name.

    `is_topic` tells whether other APIs than the one of a name use its words, too: `a kubernetes cluster` at a hoster.
    """
    words = list(_WORD.finditer(question))
    spoken = [word[0].lower() for word in words]
    found = {
        name: place
        for name, others in titles.items()
        for place in _places(question, words, (name, *others))
        if _is_written_as_name(question, words, place)
    }
    places = {
        name: place
        for name, place in found.items()
        if _is_where(question, spoken, words, place) or not is_topic(name, spoken[place.first : place.last + 1])
    }
    if len(set(places.values())) != 1:
        return Naming(tuple(places), question)
    rest = _without(question, words, next(iter(places.values())))
    return Naming(tuple(places), rest if question_words(rest) else question)


def _places(question: str, words: Sequence[re.Match[str]], called: Iterable[str]) -> list[_Place]:
    """Where some words stand as an API is called, in as many words or in one; the longest last."""
    phrases = dict.fromkeys(each for name in called for each in _phrases(name))
    vocabulary = {word for phrase in phrases for word in phrase}
    alone = [_Spoken(word[0].lower(), place, place) for place, word in enumerate(words)]
    joined = list(_joined(question, words, vocabulary))
    readings = [alone] if len(joined) == len(alone) else [alone, joined]
    found = [
        _Place(spoken[first].first, spoken[first + len(phrase) - 1].last)
        for spoken in readings
        for phrase in phrases
        for first in range(len(spoken) - len(phrase) + 1)
        if all(each.text == word for each, word in zip(spoken[first:], phrase, strict=False))
    ]
    return sorted(found, key=lambda place: place.last - place.first)


def _joined(question: str, words: Sequence[re.Match[str]], vocabulary: Container[str]) -> Iterator[_Spoken]:
    """The words of a question, two as one where they are one word of a name: `Pub/Sub`, `pub-sub` and `Pub Sub` of
    `pubsub`, no `read me`."""
    place = 0
    while place < len(words):
        one, other = words[place], words[place + 1] if place + 1 < len(words) else None
        together = f"{one[0]}{other[0]}".lower() if other else ""
        if other and together in vocabulary and _stand_together(question, one, other):
            yield _Spoken(together, place, place + 1)
            place += 2
        else:
            yield _Spoken(one[0].lower(), place, place)
            place += 1


def _stand_together(question: str, one: re.Match[str], other: re.Match[str]) -> bool:
    """Whether two words are joined by a sign, or both capitalised."""
    between = question[one.end() : other.start()]
    return between in _JOINTS or (between == " " and one[0][0].isupper() and other[0][0].isupper())


@cache
def _phrases(name: str) -> tuple[tuple[str, ...], ...]:
    """The words that name an API, as they are written and as one; of a dotted package also without what it is in."""
    own = _own_phrases(name)
    inner = name.partition(".")[2] if _PACKAGE.fullmatch(name) else ""
    return tuple(dict.fromkeys((*own, *(_phrases(inner) if inner else ()))))


def _own_phrases(name: str) -> tuple[tuple[str, ...], ...]:
    words = tuple(word.lower() for word in _WORD.findall(name))
    telling = tuple(word for word in words if word not in _SAYS_NOTHING and not _VERSION.fullmatch(word))
    if not telling or len(telling) > _LONGEST_TITLE or len("".join(telling)) < _SHORTEST:
        return ()
    return tuple(dict.fromkeys((telling, ("".join(telling),))))


def _is_where(question: str, spoken: Sequence[str], words: Sequence[re.Match[str]], place: _Place) -> bool:
    """Whether a name says where something is to be done: at the beginning, announced, or `in …`."""
    before = list(spoken[: place.first])
    while before and before[-1] in _ARTICLES:
        before.pop()
    following = spoken[place.last + 1] if place.last + 1 < len(spoken) else ""
    is_announced = question[words[place.last].end() :].startswith(":") or following in _SAID_AFTER
    return not before or before[-1] in _PLACES or is_announced


def _is_written_as_name(question: str, words: Sequence[re.Match[str]], place: _Place) -> bool:
    """Whether words are written as a name: a single ordinary one (`box`, `files`) is capitalised or announced."""
    spoken = [word[0] for word in words[place.first : place.last + 1]]
    if len(spoken) > 1 or spoken[0].lower() not in ordinary_words():
        return True
    following = words[place.last + 1][0].lower() if place.last + 1 < len(words) else ""
    is_announced = question[words[place.last].end() :].startswith(":") or following in ("api", "apis")
    before = words[place.first - 1][0] if place.first else ""
    return is_announced or (spoken[0][:1].isupper() and (before.islower() or before == "I"))


def _without(question: str, words: Sequence[re.Match[str]], place: _Place) -> str:
    """A question without a name and what says that it is where something is to be done."""
    first, last = place.first, place.last
    while first > 0 and words[first - 1][0].lower() in _SAYING_WHERE:
        first -= 1
    while last + 1 < len(words) and words[last + 1][0].lower() in _SAID_AFTER:
        last += 1
    before = question[: words[first].start()].rstrip()
    after = question[words[last].end() :].lstrip(" :,;-?.!")
    return f"{before} {after}".strip(" ,:;-")
