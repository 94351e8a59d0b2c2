"""What a question asks of history: groups of words that mean the same change, and the times that it speaks of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.history.words import SAME_CHANGE, words_of
from deltos.text.dates import spoken_spans
from deltos.text.stop_words import QUESTION_WORDS
from deltos.text.words import plain_words, unique

if TYPE_CHECKING:
    from datetime import datetime

_MICROSECONDS = 1_000_000
# Words that speak of time, once a question does: no commit is about them.
_TIME_WORDS = frozenset(
    """january february march april may june july august september october november december jan feb mar apr jun jul
    aug sep oct nov dec monday tuesday wednesday thursday friday saturday sunday today yesterday tonight morning
    afternoon evening night day days week weeks weekend month months year years ago last past previous this since
    during before early mid late two three four five six seven eight nine ten""".split()
)
# Words of which every commit could be meant.
_ANY_COMMIT = frozenset(
    "commit commits committed change changes changed happen happened history log did done work worked new".split()
)
MOST_TERMS = 24


@dataclass(frozen=True, slots=True)
class HistoryQuery:
    """Index words, for each those that mean the same, and spans of time in seconds (from, up to).

    `wants_first`: what is asked for is how something began, so the first of several commits answers.
    """

    words: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    spans: tuple[tuple[int, int], ...]
    wants_first: bool = False

    @property
    def meanings(self) -> list[str]:
        """Its words, and those that mean the same."""
        return unique(word for group in self.groups for word in group)


def parse_query(text: str, now: datetime) -> HistoryQuery:
    """The words of a question that can tell one commit from another, and its times."""
    spans = tuple((span.start // _MICROSECONDS, span.end // _MICROSECONDS) for span in spoken_spans(text, now))
    left_out = QUESTION_WORDS | _ANY_COMMIT | (_TIME_WORDS if spans else frozenset())
    kept = text
    if spans or any(word.lower() in left_out for word in plain_words(text)):
        kept = " ".join(word for word in text.split() if not _is_left_out(word, left_out, has_spans=bool(spans)))
    terms = unique(words_of(kept).split())[:MOST_TERMS]
    groups = tuple(dict.fromkeys(SAME_CHANGE.get(term, (term,)) for term in terms))
    asks_when = text.lower().lstrip().startswith(("when ", "since when ", "who "))
    return HistoryQuery(tuple(terms), groups, spans, wants_first=asks_when and SAME_CHANGE["add"] in groups)


def _is_left_out(word: str, left_out: frozenset[str], *, has_spans: bool) -> bool:
    bare = word.strip("`'\".,;:?!()").lower()
    return bare in left_out or (has_spans and bare[:4].isdecimal() and bare[:2] in ("19", "20"))
