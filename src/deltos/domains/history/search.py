"""Search for commits by words, changed files, author and time."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.history.authors import may_mention_author
from deltos.domains.history.query import parse_query
from deltos.domains.history.terms import version_match_share, words_of
from deltos.model import NO_FILTERS
from deltos.store.history import CommitMatch
from deltos.text.idf import idf
from deltos.text.tags import has_tag
from deltos.text.translation import translate_to_english

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from deltos.domains.history.query import HistoryQuery
    from deltos.model import Filters
    from deltos.store.history import CommitRow, History

_MAX_CANDIDATES = 80  # maximum number of commits that match the query terms
_MAX_SYNONYM_CANDIDATES = 40  # maximum number of commits that match only synonyms
_MAX_SUBJECT_CANDIDATES = 200  # maximum number of commits whose subject contains all query terms
_MAX_TERMS_FOR_SUBJECT_SEARCH = 8  # longer queries have no separate search in the subjects
# The rarest query terms are looked up: at least two, and more while they match at most this number of commits.
_MAX_MATCHED_COMMITS = 4_000
_MAX_PATHS_PER_COMMIT = 20  # maximum number of file paths per commit
_MAX_TAGGED_CANDIDATES = 1_000
_MICROS_PER_SECOND = 1_000_000
_PULL_REQUEST_SUFFIX = re.compile(r"\(#\d{1,9}\)$")  # GitHub appends this suffix to the subject of a squash merge
_MAX_BODY_CHARACTERS = 600  # number of characters of a message body that are compared with the query
_RECENCY_HALF_LIFE_SECONDS = 3 * 365 * 86_400.0
# Feature weights, tuned by hand with queries about this project, Django and Rails.
_BM25_WEIGHT = 0.3
_SUBJECT_COVERAGE_WEIGHT = 0.9  # weight of the share of the query that occurs in the subject
_COVERAGE_WEIGHT = 0.6  # weight of the share of the query that occurs in the subject, body or paths
_CONCISENESS_WEIGHT = 0.3  # weight of the share of the subject's words that occur in the query
_RECENCY_WEIGHT = 0.12
_MERGE_PENALTY = -0.15  # added to the score of a merge commit
_VERSION_MATCH_WEIGHT = 0.6  # added to the score of a commit that mentions the requested version
_MISSING_CHANGE_PENALTY = -0.4  # added to the score of a commit that does not mention the requested kind of change
_MIN_FULL_COVERAGE = 0.999  # minimum coverage at which a query counts as fully covered
_WHOLE_SUBJECT_WEIGHT = 0.4  # extra weight of the same share if the subject contains the entire query


@dataclass(frozen=True, slots=True)
class CommitHit:
    """A matching commit with its score and some of the changed files that still exist.

    `repository` is the index of the repository in the list of searched repositories.
    """

    commit: CommitRow
    paths: tuple[str, ...]
    score: float
    repository: int = 0


@dataclass(frozen=True, slots=True)
class FoundCommits:
    """The best commits and the number of matching commits.

    - `is_list`: whether the query contains only a time or an author.
    - `is_nearest_substitute`: whether no commit matches the requested time, so that the nearest commit is returned.
    - `is_first_commit`: whether the requested time is before all commits, so that the first commit is returned.
    - `authors`: the authors that the query mentions.
    """

    hits: tuple[CommitHit, ...]
    match_count: int
    is_list: bool = False
    is_nearest_substitute: bool = False
    is_first_commit: bool = False
    authors: tuple[str, ...] = ()


def search_commits(
    history: History, question: str, now: datetime, *, limit: int, filters: Filters = NO_FILTERS
) -> FoundCommits:
    """Return the best commits for a query, or the newest commits if the query contains only a time."""
    return search_commits_across([history], question, now, limit=limit, filters=filters)


def search_commits_across(
    histories: Sequence[History], question: str, now: datetime, *, limit: int, filters: Filters = NO_FILTERS
) -> FoundCommits:
    """Search several repositories together; a query without results is translated to English and repeated.

    The document frequencies of terms are summed over all repositories.
    """
    found = _search_across(histories, question, now, limit=limit, filters=filters)
    english = None if found.hits else translate_to_english(question)
    return _search_across(histories, english, now, limit=limit, filters=filters) if english else found


def _search_across(
    histories: Sequence[History], question: str, now: datetime, *, limit: int, filters: Filters
) -> FoundCommits:
    with ExitStack() as snapshots:
        for history in histories:
            snapshots.enter_context(history.snapshot())
        authors = [name for history in histories for name in history.authors()] if may_mention_author(question) else []
        query = parse_query(question, now, dict.fromkeys(authors))
        if query.lists_commits and not filters.tag:
            return _list_commits(histories, query, _intersect_spans(query.spans, filters), limit)
        if filters == NO_FILTERS and not query.groups:
            scored = (
                _newest_commits(histories, query.spans, query.authors, limit) if query.spans or query.authors else []
            )
        else:
            searchers = _make_searchers(histories, query, words_of(filters.tag).split())
            if filters != NO_FILTERS:
                found = [_filter_commits(searcher, filters) for searcher in searchers]
            else:
                found = _candidates(searchers, query)
            scored = _score_candidates(searchers, found)
        hits = _to_hits(histories, scored[:limit])
    return FoundCommits(tuple(hits), len(scored), authors=query.authors)


def _candidates(searchers: Sequence[_Searcher], query: HistoryQuery) -> list[list[CommitMatch]]:
    """Return commits that match the query, first with its time spans and authors, or else with fewer restrictions."""
    restrictions = ((query.spans, query.authors), ((), query.authors), (query.spans, ()), ((), ()))
    found: list[list[CommitMatch]] = []
    for spans, authors in dict.fromkeys(restrictions):
        found = [searcher.candidates(spans, authors) for searcher in searchers]
        if any(found):
            break
    return found


def _intersect_spans(spans: Sequence[tuple[int, int]], filters: Filters) -> Sequence[tuple[int, int]]:
    """Return the parts of the query's time spans that are within the filters' time span."""
    if filters == NO_FILTERS:
        return spans
    start, end = _filter_span_seconds(filters)
    return [(max(start, since), min(end, until)) for since, until in spans] or [(start, end)]


def _list_commits(
    histories: Sequence[History], query: HistoryQuery, spans: Sequence[tuple[int, int]], limit: int
) -> FoundCommits:
    """Return the newest commits in the time spans by the query's authors, or the nearest commit if there are none."""
    scored = _newest_commits(histories, spans, query.authors, limit + 1)
    is_nearest_substitute, is_first_commit = not scored, False
    if is_nearest_substitute:
        totals = [history.totals() for history in histories]
        oldest = min((each.oldest for each in totals if each.commits), default=0)
        is_first_commit = bool(spans) and not query.authors and all(end <= oldest for _, end in spans)
        scored = _newest_commits(histories, [(oldest, oldest + 1)] if is_first_commit else (), query.authors, 1)
    hits = _to_hits(histories, scored[:limit])
    return FoundCommits(
        tuple(hits),
        len(scored),
        is_list=True,
        is_nearest_substitute=is_nearest_substitute,
        is_first_commit=is_first_commit,
        authors=query.authors,
    )


def _newest_commits(
    histories: Sequence[History], spans: Sequence[tuple[int, int]], authors: Sequence[str], limit: int
) -> list[_ScoredCommit]:
    rows = [
        (row, number)
        for number, history in enumerate(histories)
        for row in history.commits_in(spans, authors, limit=limit)
    ]
    if len(histories) > 1:
        rows.sort(key=lambda pair: -pair[0].time)
    return [_ScoredCommit(row, 1.0 - rank / 1_000, number) for rank, (row, number) in enumerate(rows)]


def _to_hits(histories: Sequence[History], scored: Sequence[_ScoredCommit]) -> list[CommitHit]:
    paths: dict[tuple[int, int], Sequence[str]] = {}
    for number in {each.repository for each in scored}:
        ids = [each.commit.id for each in scored if each.repository == number]
        found = histories[number].paths_of(ids, limit=_MAX_PATHS_PER_COMMIT)
        paths |= {(number, commit_id): touched for commit_id, touched in found.items()}
    return [
        CommitHit(each.commit, tuple(paths.get((each.repository, each.commit.id), ())), each.score, each.repository)
        for each in scored
    ]


def _filter_span_seconds(filters: Filters) -> tuple[int, int]:
    """Return the start and end of the filters' time span in seconds, rounded up."""
    return -(-filters.since // _MICROS_PER_SECOND), -(-filters.until // _MICROS_PER_SECOND)


def _filter_commits(searcher: _Searcher, filters: Filters) -> list[CommitMatch]:
    """Return the commits that match the filters and contain a query term or the requested tag."""
    spans, authors = _intersect_spans(searcher.query.spans, filters), searcher.query.authors
    tag_words = words_of(filters.tag).split()
    found = searcher.candidates(spans, authors)
    if tag_words:
        known = {match.commit.id for match in found}
        tagged = searcher.history.match_commits(tag_words, spans, authors, limit=_MAX_TAGGED_CANDIDATES)
        found += [CommitMatch(match.commit, 0.0) for match in tagged if match.commit.id not in known]
        found = [match for match in found if has_tag(f"{match.commit.subject}\n{match.commit.body}", filters.tag)]
    return found


class _ScoredCommit(NamedTuple):
    """A commit with its score and the index of its repository."""

    commit: CommitRow
    score: float
    repository: int


def _make_searchers(histories: Sequence[History], query: HistoryQuery, tag_words: Sequence[str]) -> list[_Searcher]:
    """Return one searcher for each repository's history, with document frequencies summed over all histories."""
    counts_by_history = [history.commit_counts([*query.all_terms, *tag_words]) for history in histories]
    counts = {word: sum(each[word] for each in counts_by_history) for word in counts_by_history[0]}
    total = sum(history.totals().commits for history in histories)
    return [_Searcher(history, query, counts, total) for history in histories]


def _score_candidates(searchers: Sequence[_Searcher], found: Sequence[Sequence[CommitMatch]]) -> list[_ScoredCommit]:
    """Score the candidates of all histories and return them, best first."""
    newest = max((match.commit.time for matches in found for match in matches), default=0)
    best = max((matches[0].score for matches in found if matches), default=0.0)
    scored = [
        _ScoredCommit(commit, score, number)
        for number, (searcher, matches) in enumerate(zip(searchers, found, strict=True))
        for commit, score in searcher.score_all(matches, newest, max(best, 1e-9))
    ]
    return sorted(scored, key=lambda each: -each.score)


@dataclass(frozen=True, slots=True)
class _Searcher:
    """Search in the history of one repository.

    `counts` contains the number of commits with each term, out of the `total` commits of all searched repositories.
    """

    history: History
    query: HistoryQuery
    counts: dict[str, int]
    total: int

    def candidates(self, spans: Sequence[tuple[int, int]] = (), authors: Sequence[str] = ()) -> list[CommitMatch]:
        """Return the best matches for the words of the query, and some matches for their synonyms."""
        words, all_terms = self._rarest_words(self.query.words), self._rarest_words(self.query.all_terms)
        found = self.history.match_commits(words, spans, authors, limit=_MAX_CANDIDATES)
        if len(all_terms) > len(words):
            known = {match.commit.id for match in found}
            lowest = found[-1].score if found else 0.0
            others = self.history.match_commits(all_terms, spans, authors, limit=_MAX_SYNONYM_CANDIDATES)
            found += [CommitMatch(match.commit, lowest) for match in others if match.commit.id not in known]
        groups = self.query.plain_groups
        if 0 < len(groups) <= _MAX_TERMS_FOR_SUBJECT_SEARCH:
            known = {match.commit.id for match in found}
            subject_matches = self.history.commits_with_subject_terms(
                groups, spans, authors, limit=_MAX_SUBJECT_CANDIDATES
            )
            lowest = found[-1].score if found else 0.0
            found += [CommitMatch(commit, lowest) for commit in subject_matches if commit.id not in known]
        return found

    def _rarest_words(self, words: Sequence[str]) -> list[str]:
        """Return the two rarest words, and more while they match at most `_MAX_MATCHED_COMMITS` commits."""
        known = sorted((word for word in words if self.counts[word]), key=self.counts.__getitem__)
        sums = accumulate(self.counts[word] for word in known)
        return [
            word
            for rank, (word, rows) in enumerate(zip(known, sums, strict=True))
            if rank < 2 or rows <= _MAX_MATCHED_COMMITS
        ]

    def score_all(self, found: Sequence[CommitMatch], newest: int, best: float) -> list[tuple[CommitRow, float]]:
        """Return commits with scores. `newest` is the latest time in all histories, and `best` the best BM25 score."""
        if not found:
            return []
        weights, all_terms = self._group_weights(), set(self.query.all_terms)
        paths = self.history.paths_of([match.commit.id for match in found], limit=_MAX_PATHS_PER_COMMIT)

        def score(match: CommitMatch) -> float:
            commit = match.commit
            files = " ".join(paths.get(commit.id, ()))
            subject_text = _PULL_REQUEST_SUFFIX.sub("", commit.subject)
            subject = self._index_terms_of(subject_text)
            anywhere = subject | self._index_terms_of(f"{commit.body[:_MAX_BODY_CHARACTERS]} {files}")
            recency: float = 0.5 ** ((newest - commit.time) / _RECENCY_HALF_LIFE_SECONDS)
            covered = _coverage(weights, subject)
            concise = len(subject.intersection(all_terms)) / max(1, len(subject))
            return (
                _BM25_WEIGHT * match.score / best
                + _SUBJECT_COVERAGE_WEIGHT * covered
                + _COVERAGE_WEIGHT * _coverage(weights, anywhere)
                + _CONCISENESS_WEIGHT * concise
                + _WHOLE_SUBJECT_WEIGHT * (concise if covered > _MIN_FULL_COVERAGE else 0.0)
                + _RECENCY_WEIGHT * (1.0 - recency if self.query.wants_first else recency)
                + (_MERGE_PENALTY if commit.is_merge else 0.0)
                + (
                    _MISSING_CHANGE_PENALTY
                    if any(anywhere.isdisjoint(change) for change in self.query.changes)
                    else 0.0
                )
                + _VERSION_MATCH_WEIGHT
                * self._version_score(f"{commit.subject} {commit.body[:_MAX_BODY_CHARACTERS]} {files}")
            )

        return [(match.commit, score(match)) for match in found]

    def _index_terms_of(self, text: str) -> set[str]:
        """Return the index terms of a text, including terms for the query's versions if the text mentions them."""
        found = set(words_of(text).split())
        for number, version in zip(self.query.numbers, self.query.versions, strict=True):
            if version_match_share(text, number):
                found.add(version[0])
        return found

    def _version_score(self, text: str) -> float:
        """Return a score from 0 to 1: how well a text matches the query's versions. It is 0 without versions."""
        return min((version_match_share(text, number) for number in self.query.numbers), default=0.0)

    def _group_weights(self) -> dict[tuple[str, ...], float]:
        """Return the inverse document frequency of each group of synonyms."""
        sums = {group: sum(self.counts[word] for word in group) for group in self.query.groups}
        return {
            group: idf(min(self.total, count), self.total, added=1, against_rest=False) for group, count in sums.items()
        }


def _coverage(weights: dict[tuple[str, ...], float], words: set[str]) -> float:
    """Return the weighted share of the query's term groups that occur in `words`."""
    total = sum(weights.values()) or 1.0
    return sum(weight for group, weight in weights.items() if not words.isdisjoint(group)) / total
