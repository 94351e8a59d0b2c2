"""What a question asks of history: groups of words that mean the same change, the times and authors that it names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.history.authors import asked_authors
from deltos.domains.history.words import SAME_CHANGE, asks_when, named_changes, numbers_in, words_of, words_of_number
from deltos.text.dates import asked_spans
from deltos.text.stop_words import QUESTION_WORDS, STOP_WORDS
from deltos.text.words import plain_words, unique

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

_MICROSECONDS = 1_000_000
# Words that speak of time, once a question does: no commit is about them.
_TIME_WORDS = frozenset(
    """january february march april may june july august september october november december jan feb mar apr jun jul
    aug sep oct nov dec monday tuesday wednesday thursday friday saturday sunday today yesterday tonight morning
    afternoon evening night day days week weeks weekend month months year years ago last past previous this since
    during before after until till between from older newer early mid late two three four five six seven eight
    nine ten""".split()
)
# Words of which every commit could be meant.
_ANY_COMMIT = frozenset(
    "commit commits committed change changes changed happen happened history log did done work worked new".split()
)
# Words of a question that is for commits as such, for somebody's, and of one that wants the newest of them.
_COMMIT_NOUNS = frozenset("commit commits committed change changes changed history log git".split())
_OWN_WORK = frozenset("working works contribute contributed contribution contributions make made do doing been".split())
_NEWEST_WORDS = frozenset("latest newest recent recently last most list give see me all".split())
MOST_TERMS = 24
_MOST_NUMBERS = 4


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    """Index words, for each those that mean the same, and spans of time in seconds (from, up to).

    `wants_first`: what is asked for is how something began, so the first of several commits answers. `lists`: commits
    are asked for by their time or author alone. `numbers` are versions that what answers has to speak of, `versions`
    the groups that stand for them, in the same order, `changes` those that it has to name; `authors` are the names of
    those who may have written it.
    """

    words: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    spans: tuple[tuple[int, int], ...]
    wants_first: bool = False
    lists: bool = False
    numbers: tuple[str, ...] = ()
    versions: tuple[tuple[str, ...], ...] = ()
    changes: tuple[tuple[str, ...], ...] = ()
    authors: tuple[str, ...] = ()

    @property
    def meanings(self) -> list[str]:
        """Its words, and those that mean the same."""
        return unique(word for group in self.groups for word in group)

    @property
    def plain_groups(self) -> list[tuple[str, ...]]:
        """The groups of words that stand for no version."""
        return [group for group in self.groups if group not in self.versions]


def parse_query(text: str, now: datetime, authors: Collection[str] = ()) -> HistoryQuery:
    """The words of a question that can tell one commit from another, its times, and whose commits of the known
    `authors` it asks for."""
    asked = asked_authors(text, authors)
    text, names = asked.rest, asked.names
    spans = tuple((span.start // _MICROSECONDS, span.end // _MICROSECONDS) for span in asked_spans(text, now))
    if _lists_commits(text, has_spans=bool(spans), has_authors=bool(names)):
        return HistoryQuery((), (), spans, lists=True, authors=names)
    left_out = QUESTION_WORDS | _ANY_COMMIT | (_TIME_WORDS if spans else frozenset())
    left_out |= _OWN_WORK if names else frozenset()
    kept = text
    if spans or any(word.lower() in left_out for word in plain_words(text)):
        kept = " ".join(word for word in text.split() if not _is_left_out(word, left_out, has_spans=bool(spans)))
    terms = unique(words_of(kept).split())[:MOST_TERMS]
    numbers = tuple(numbers_in(kept))[:_MOST_NUMBERS]
    versions = tuple(words_of_number(number, _word_before(number, kept)) for number in numbers)
    of_versions = {word for group in versions for word in group}
    groups = (*(SAME_CHANGE.get(term, (term,)) for term in terms if term not in of_versions), *versions)
    return HistoryQuery(
        tuple(terms),
        tuple(dict.fromkeys(groups)),
        spans,
        wants_first=asks_when(text) and SAME_CHANGE["add"] in groups,
        numbers=numbers,
        versions=versions,
        changes=tuple(named_changes(text, terms)),
        authors=names,
    )


def _lists_commits(text: str, *, has_spans: bool, has_authors: bool) -> bool:
    """Whether a question is for commits, and has no word that tells one from another of that time and author."""
    words = [word.lower() for word in plain_words(text)]
    said = QUESTION_WORDS | STOP_WORDS | _ANY_COMMIT | _COMMIT_NOUNS | _NEWEST_WORDS
    said |= _TIME_WORDS if has_spans else frozenset()
    said |= _OWN_WORK if has_authors else frozenset()
    is_for_commits = has_authors or not _COMMIT_NOUNS.isdisjoint(words)
    return is_for_commits and all(word in said or word.isdecimal() for word in words)


def _word_before(number: str, text: str) -> str:
    """The word that stands before a number, in lower case."""
    words = text.split()
    places = [place for place, word in enumerate(words) if number in word]
    before = words[places[0] - 1].lower() if places and places[0] else ""
    return before if before.isalpha() else ""


def _is_left_out(word: str, left_out: frozenset[str], *, has_spans: bool) -> bool:
    bare = word.strip("`'\".,;:?!()").lower()
    return bare in left_out or (has_spans and bare[:4].isdecimal() and bare[:2] in ("19", "20"))
