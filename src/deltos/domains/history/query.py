"""Parse history queries into groups of synonyms, time spans and authors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.history.authors import find_authors
from deltos.domains.history.terms import SAME_CHANGE, asks_when, named_changes, numbers_in, version_terms, words_of
from deltos.text.dates import requested_spans
from deltos.text.stop_words import QUESTION_WORDS, STOP_WORDS
from deltos.text.words import plain_words, unique

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

_MICROSECONDS_PER_SECOND = 1_000_000
# Words that are ignored as search terms if the query contains a time span.
_TIME_WORDS = frozenset(
    """january february march april may june july august september october november december jan feb mar apr jun jul
    aug sep oct nov dec monday tuesday wednesday thursday friday saturday sunday today yesterday tonight morning
    afternoon evening night day days week weeks weekend month months year years ago last past previous this since
    during before after until till between from older newer early mid late two three four five six seven eight
    nine ten""".split()
)
# Words that are ignored as search terms, because they occur in queries about any commit.
_COMMIT_WORDS = frozenset(
    "commit commits committed change changes changed happen happened history log did done work worked new".split()
)
# A query that consists only of these words, times and authors is answered with a list of commits.
_COMMIT_NOUNS = frozenset("commit commits committed change changes changed history log git".split())
_AUTHOR_WORK_WORDS = frozenset(
    "working works contribute contributed contribution contributions make made do doing been".split()
)
_NEWEST_WORDS = frozenset("latest newest recent recently last most list give see me all".split())
MAX_TERMS = 24  # maximum number of terms of a query
_MAX_VERSION_NUMBERS = 4  # maximum number of version numbers of a query


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    """A parsed query: index terms, groups of synonyms, and time spans as pairs of start and end in seconds.

    - `wants_first`: whether the query asks when something was added, so that older commits rank higher.
    - `lists_commits`: whether the query contains only a time or an author.
    - `numbers`: version numbers that a result should mention.
    - `versions`: index terms for each of the `numbers`, in the same order.
    - `changes`: kinds of change that a result should mention, as groups of synonyms.
    - `authors`: names of the mentioned authors.
    """

    words: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    spans: tuple[tuple[int, int], ...]
    wants_first: bool = False
    lists_commits: bool = False
    numbers: tuple[str, ...] = ()
    versions: tuple[tuple[str, ...], ...] = ()
    changes: tuple[tuple[str, ...], ...] = ()
    authors: tuple[str, ...] = ()

    @property
    def all_terms(self) -> list[str]:
        """All terms, including synonyms."""
        return unique(word for group in self.groups for word in group)

    @property
    def plain_groups(self) -> list[tuple[str, ...]]:
        """Groups of synonyms, except the groups for version numbers."""
        return [group for group in self.groups if group not in self.versions]


def parse_query(text: str, now: datetime, authors: Collection[str] = ()) -> HistoryQuery:
    """Parse a query; `authors` contains all known author names."""
    mention = find_authors(text, authors)
    text, names = mention.remaining_query, mention.names
    spans = tuple(
        (span.start // _MICROSECONDS_PER_SECOND, span.end // _MICROSECONDS_PER_SECOND)
        for span in requested_spans(text, now)
    )
    if _lists_commits(text, has_spans=bool(spans), has_authors=bool(names)):
        return HistoryQuery((), (), spans, lists_commits=True, authors=names)
    ignored = QUESTION_WORDS | _COMMIT_WORDS | (_TIME_WORDS if spans else frozenset())
    ignored |= _AUTHOR_WORK_WORDS if names else frozenset()
    kept = text
    if spans or any(word.lower() in ignored for word in plain_words(text)):
        kept = " ".join(word for word in text.split() if not _is_ignored(word, ignored, has_spans=bool(spans)))
    terms = unique(words_of(kept).split())[:MAX_TERMS]
    numbers = tuple(numbers_in(kept))[:_MAX_VERSION_NUMBERS]
    versions = tuple(version_terms(number, _word_before(number, kept)) for number in numbers)
    version_words = {word for group in versions for word in group}
    groups = (*(SAME_CHANGE.get(term, (term,)) for term in terms if term not in version_words), *versions)
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
    """Whether a query asks for a list of commits: it consists only of times, authors and words such as `commits`."""
    words = [word.lower() for word in plain_words(text)]
    uninformative = QUESTION_WORDS | STOP_WORDS | _COMMIT_WORDS | _COMMIT_NOUNS | _NEWEST_WORDS
    uninformative |= _TIME_WORDS if has_spans else frozenset()
    uninformative |= _AUTHOR_WORK_WORDS if has_authors else frozenset()
    is_for_commits = has_authors or not _COMMIT_NOUNS.isdisjoint(words)
    return is_for_commits and all(word in uninformative or word.isdecimal() for word in words)


def _word_before(number: str, text: str) -> str:
    """Return the lower-case word before a number, or an empty string if there is none."""
    words = text.split()
    positions = [position for position, word in enumerate(words) if number in word]
    before = words[positions[0] - 1].lower() if positions and positions[0] else ""
    return before if before.isalpha() else ""


def _is_ignored(word: str, ignored: frozenset[str], *, has_spans: bool) -> bool:
    bare = word.strip("`'\".,;:?!()").lower()
    return bare in ignored or (has_spans and bare[:4].isdecimal() and bare[:2] in ("19", "20"))
