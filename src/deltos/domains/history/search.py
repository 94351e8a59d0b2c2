"""Finds commits: by their words, the files they touched, their author, and the time that a question speaks of."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.history.authors import may_name_author
from deltos.domains.history.query import parse_query
from deltos.domains.history.words import share_of_number, words_of
from deltos.model import NO_FILTERS
from deltos.store.history import CommitMatch
from deltos.text.english import in_english
from deltos.text.rarity import idf
from deltos.text.tags import has_tag

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from deltos.domains.history.query import HistoryQuery
    from deltos.model import Filters
    from deltos.store.history import CommitRow, History

_CANDIDATES = 80
_OTHER_CANDIDATES = 40
_SAYING_CANDIDATES = 200  # whose subject says all that is asked, however long the commit is
_MOST_GROUPS = 8  # that a subject is asked to have all of
# Words are looked up as long as no more commits than these have to be scored.
_MAX_ROWS = 4_000
_NAMED_FILES = 20
_TAGGED_CANDIDATES = 1_000
_SECOND_MICROS = 1_000_000
_REQUEST = re.compile(r"\(#\d{1,9}\)$")  # which a merge adds to a subject
_BODY_READ = 600  # characters of a message that count for how much of the question it covers
_HALF_LIFE_SECONDS = 3 * 365 * 86_400.0
# Hand-set on questions about this project, Django and Rails: what speaks for a commit.
_BY_WORDS, _IN_SUBJECT, _ANYWHERE, _CONCISE, _RECENT, _MERGE = 0.3, 0.9, 0.6, 0.3, 0.12, -0.15
_NUMBERED = 0.6  # for a commit that speaks of the version that is asked for
_OTHER_CHANGE = -0.4  # for a commit that does not name the change that is asked for
_ALL = 0.999  # of a question's weight
_SAYS_ALL = 0.4  # for a subject that says all that is asked, and nothing else


@dataclass(frozen=True, slots=True)
class CommitHit:
    """A commit that answers, with some of the files it touched that there still are; a higher score is better.
    `repository` is the position of its history among those that are searched."""

    commit: CommitRow
    paths: tuple[str, ...]
    score: float
    repository: int = 0


@dataclass(frozen=True, slots=True)
class FoundCommits:
    """The best commits, among how many that match; `is_list` where they were asked for by their time or author alone,
    `is_elsewhen` where there are none of that time and another is told instead: the first there is where it
    `is_before_all`, else the last. `authors` are those that were asked for."""

    hits: tuple[CommitHit, ...]
    matching: int
    is_list: bool = False
    is_elsewhen: bool = False
    is_before_all: bool = False
    authors: tuple[str, ...] = ()


def search_commits(
    history: History, question: str, now: datetime, *, limit: int, filters: Filters = NO_FILTERS
) -> FoundCommits:
    """The commits that answer a question, best first; of a question about a time alone, the newest of that time."""
    return search_commits_across([history], question, now, limit=limit, filters=filters)


def search_commits_across(
    histories: Sequence[History], question: str, now: datetime, *, limit: int, filters: Filters = NO_FILTERS
) -> FoundCommits:
    """The same over several repositories as if they were one: words are as rare as they are in all of them together.

    A question of another language is asked in English where its own words find nothing.
    """
    found = _search_across(histories, question, now, limit=limit, filters=filters)
    english = None if found.hits else in_english(question)
    return _search_across(histories, english, now, limit=limit, filters=filters) if english else found


def _search_across(
    histories: Sequence[History], question: str, now: datetime, *, limit: int, filters: Filters
) -> FoundCommits:
    with ExitStack() as snapshots:
        for history in histories:
            snapshots.enter_context(history.snapshot())
        authors = [name for history in histories for name in history.authors()] if may_name_author(question) else []
        query = parse_query(question, now, dict.fromkeys(authors))
        if query.lists and not filters.tag:
            return _listed(histories, query, _narrowed(query.spans, filters), limit)
        if filters == NO_FILTERS and not query.groups:
            scored = _newest(histories, query.spans, query.authors, limit) if query.spans or query.authors else []
        else:
            searchers = _searchers(histories, query, words_of(filters.tag).split())
            if filters != NO_FILTERS:
                found = [_filtered(searcher, filters) for searcher in searchers]
            else:
                found = _candidates(searchers, query)
            scored = _scored(searchers, found)
        hits = _with_paths(histories, scored[:limit])
    return FoundCommits(tuple(hits), len(scored), authors=query.authors)


def _candidates(searchers: Sequence[_Searcher], query: HistoryQuery) -> list[list[CommitMatch]]:
    """What a question says of its time and author holds, unless no commit of theirs has its words."""
    narrowed = ((query.spans, query.authors), ((), query.authors), (query.spans, ()), ((), ()))
    found: list[list[CommitMatch]] = []
    for spans, authors in dict.fromkeys(narrowed):
        found = [searcher.candidates(spans, authors) for searcher in searchers]
        if any(found):
            break
    return found


def _narrowed(spans: Sequence[tuple[int, int]], filters: Filters) -> Sequence[tuple[int, int]]:
    """The times that a question and the filters of a call allow."""
    if filters == NO_FILTERS:
        return spans
    start, end = _seconds(filters)
    return [(max(start, since), min(end, until)) for since, until in spans] or [(start, end)]


def _listed(
    histories: Sequence[History], query: HistoryQuery, spans: Sequence[tuple[int, int]], limit: int
) -> FoundCommits:
    """The newest commits of a time and of authors; else one that is nearest to it: the last, or the first of all."""
    scored = _newest(histories, spans, query.authors, limit + 1)
    is_elsewhen, is_before_all = not scored, False
    if is_elsewhen:
        totals = [history.totals() for history in histories]
        oldest = min((each.oldest for each in totals if each.commits), default=0)
        is_before_all = bool(spans) and not query.authors and all(end <= oldest for _, end in spans)
        scored = _newest(histories, [(oldest, oldest + 1)] if is_before_all else (), query.authors, 1)
    hits = _with_paths(histories, scored[:limit])
    return FoundCommits(
        tuple(hits),
        len(scored),
        is_list=True,
        is_elsewhen=is_elsewhen,
        is_before_all=is_before_all,
        authors=query.authors,
    )


def _newest(
    histories: Sequence[History], spans: Sequence[tuple[int, int]], authors: Sequence[str], limit: int
) -> list[_Scored]:
    rows = [
        (row, number)
        for number, history in enumerate(histories)
        for row in history.commits_in(spans, authors, limit=limit)
    ]
    if len(histories) > 1:
        rows.sort(key=lambda pair: -pair[0].time)
    return [_Scored(row, 1.0 - place / 1_000, number) for place, (row, number) in enumerate(rows)]


def _with_paths(histories: Sequence[History], scored: Sequence[_Scored]) -> list[CommitHit]:
    paths: dict[tuple[int, int], Sequence[str]] = {}
    for number in {each.repository for each in scored}:
        ids = [each.commit.id for each in scored if each.repository == number]
        found = histories[number].paths_of(ids, limit=_NAMED_FILES)
        paths |= {(number, commit_id): touched for commit_id, touched in found.items()}
    return [
        CommitHit(each.commit, tuple(paths.get((each.repository, each.commit.id), ())), each.score, each.repository)
        for each in scored
    ]


def _seconds(filters: Filters) -> tuple[int, int]:
    """The time that passes the filters, in whole seconds, rounded up."""
    return -(-filters.since // _SECOND_MICROS), -(-filters.until // _SECOND_MICROS)


def _filtered(searcher: _Searcher, filters: Filters) -> list[CommitMatch]:
    """The commits that pass the filters: those with a word of the question, or with the tag."""
    spans, authors = _narrowed(searcher.query.spans, filters), searcher.query.authors
    tag_words = words_of(filters.tag).split()
    found = searcher.candidates(spans, authors)
    if tag_words:
        known = {match.commit.id for match in found}
        tagged = searcher.history.match_commits(tag_words, spans, authors, limit=_TAGGED_CANDIDATES)
        found += [CommitMatch(match.commit, 0.0) for match in tagged if match.commit.id not in known]
        found = [match for match in found if has_tag(f"{match.commit.subject}\n{match.commit.body}", filters.tag)]
    return found


class _Scored(NamedTuple):
    """A commit with its score, and the position of its history."""

    commit: CommitRow
    score: float
    repository: int


def _searchers(histories: Sequence[History], query: HistoryQuery, tag_words: Sequence[str]) -> list[_Searcher]:
    """One for each history; all count words over all of them."""
    own = [history.commit_counts([*query.meanings, *tag_words]) for history in histories]
    counts = {word: sum(each[word] for each in own) for word in own[0]}
    total = sum(history.totals().commits for history in histories)
    return [_Searcher(history, query, counts, total) for history in histories]


def _scored(searchers: Sequence[_Searcher], found: Sequence[Sequence[CommitMatch]]) -> list[_Scored]:
    """Candidates of all histories by all that speaks for them, best first."""
    newest = max((match.commit.time for matches in found for match in matches), default=0)
    best = max((matches[0].score for matches in found if matches), default=0.0)
    scored = [
        _Scored(commit, score, number)
        for number, (searcher, matches) in enumerate(zip(searchers, found, strict=True))
        for commit, score in searcher.scored(matches, newest, max(best, 1e-9))
    ]
    return sorted(scored, key=lambda each: -each.score)


@dataclass(frozen=True, slots=True)
class _Searcher:
    """One question to one history. `counts` tells how many of the `total` commits of all histories have each word."""

    history: History
    query: HistoryQuery
    counts: dict[str, int]
    total: int

    def candidates(self, spans: Sequence[tuple[int, int]] = (), authors: Sequence[str] = ()) -> list[CommitMatch]:
        """The best by the very words of the question, and a few that say the same in others."""
        words, meanings = self._telling(self.query.words), self._telling(self.query.meanings)
        found = self.history.match_commits(words, spans, authors, limit=_CANDIDATES)
        if len(meanings) > len(words):
            known = {match.commit.id for match in found}
            lowest = found[-1].score if found else 0.0
            others = self.history.match_commits(meanings, spans, authors, limit=_OTHER_CANDIDATES)
            found += [CommitMatch(match.commit, lowest) for match in others if match.commit.id not in known]
        groups = self.query.plain_groups
        if 0 < len(groups) <= _MOST_GROUPS:
            known = {match.commit.id for match in found}
            saying = self.history.commits_saying(groups, spans, authors, limit=_SAYING_CANDIDATES)
            lowest = found[-1].score if found else 0.0
            found += [CommitMatch(commit, lowest) for commit in saying if commit.id not in known]
        return found

    def _telling(self, words: Sequence[str]) -> list[str]:
        """The rarest words, at least two, as long as they stand in few commits. Others count, but find nothing."""
        known = sorted((word for word in words if self.counts[word]), key=self.counts.__getitem__)
        sums = accumulate(self.counts[word] for word in known)
        return [
            word for place, (word, rows) in enumerate(zip(known, sums, strict=True)) if place < 2 or rows <= _MAX_ROWS
        ]

    def scored(self, found: Sequence[CommitMatch], newest: int, best: float) -> list[tuple[CommitRow, float]]:
        """Candidates by all that speaks for them; the newest and the best by words are those of all histories."""
        if not found:
            return []
        weights, meanings = self._weights(), set(self.query.meanings)
        paths = self.history.paths_of([match.commit.id for match in found], limit=_NAMED_FILES)

        def score(match: CommitMatch) -> float:
            commit = match.commit
            files = " ".join(paths.get(commit.id, ()))
            said = _REQUEST.sub("", commit.subject)
            subject = self._words_in(said)
            anywhere = subject | self._words_in(f"{commit.body[:_BODY_READ]} {files}")
            recency: float = 0.5 ** ((newest - commit.time) / _HALF_LIFE_SECONDS)
            covered = _covered(weights, subject)
            concise = len(subject.intersection(meanings)) / max(1, len(subject))
            return (
                _BY_WORDS * match.score / best
                + _IN_SUBJECT * covered
                + _ANYWHERE * _covered(weights, anywhere)
                + _CONCISE * concise
                + _SAYS_ALL * (concise if covered > _ALL else 0.0)
                + _RECENT * (1.0 - recency if self.query.wants_first else recency)
                + (_MERGE if commit.is_merge else 0.0)
                + (_OTHER_CHANGE if any(anywhere.isdisjoint(change) for change in self.query.changes) else 0.0)
                + _NUMBERED * self._numbers_said(f"{commit.subject} {commit.body[:_BODY_READ]} {files}")
            )

        return [(match.commit, score(match)) for match in found]

    def _words_in(self, text: str) -> set[str]:
        """The index words of a text, with those of a version of the question that it speaks of: a single digit is
        no index word."""
        found = set(words_of(text).split())
        for number, version in zip(self.query.numbers, self.query.versions, strict=True):
            if share_of_number(text, number):
                found.add(version[0])
        return found

    def _numbers_said(self, text: str) -> float:
        """How far a text speaks of the versions of the question; 0 where that has none."""
        return min((share_of_number(text, number) for number in self.query.numbers), default=0.0)

    def _weights(self) -> dict[tuple[str, ...], float]:
        """What each word of the question counts for: the fewer commits have it, the more."""
        sums = {group: sum(self.counts[word] for word in group) for group in self.query.groups}
        return {
            group: idf(min(self.total, count), self.total, added=1, against_rest=False) for group, count in sums.items()
        }


def _covered(weights: dict[tuple[str, ...], float], words: set[str]) -> float:
    """The share of the question that there are words for."""
    total = sum(weights.values()) or 1.0
    return sum(weight for group, weight in weights.items() if not words.isdisjoint(group)) / total
