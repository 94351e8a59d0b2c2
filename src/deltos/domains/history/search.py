"""Finds commits: by their words, the files they touched, and the time that a question speaks of."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from deltos.domains.history.query import parse_query
from deltos.domains.history.words import words_of
from deltos.model import NO_FILTERS
from deltos.store.history import CommitMatch
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
# Words are looked up as long as no more commits than these have to be scored.
_MAX_ROWS = 4_000
_NAMED_FILES = 20
_TAGGED_CANDIDATES = 1_000
_SECOND_MICROS = 1_000_000
_BODY_READ = 600  # characters of a message that count for how much of the question it covers
_HALF_LIFE_SECONDS = 3 * 365 * 86_400.0
# Hand-set on questions about this project, Django and Rails: what speaks for a commit.
_BY_WORDS, _IN_SUBJECT, _ANYWHERE, _CONCISE, _RECENT, _MERGE = 0.3, 0.9, 0.6, 0.3, 0.12, -0.15


@dataclass(frozen=True, slots=True)
class CommitHit:
    """A commit that answers, with some of the files it touched that there still are; a higher score is better."""

    commit: CommitRow
    paths: tuple[str, ...]
    score: float


@dataclass(frozen=True, slots=True)
class FoundCommits:
    """The best commits, among how many that match."""

    hits: tuple[CommitHit, ...]
    matching: int


def search_commits(
    history: History, question: str, now: datetime, *, limit: int, filters: Filters = NO_FILTERS
) -> FoundCommits:
    """The commits that answer a question, best first; of a question about a time alone, the newest of that time."""
    query = parse_query(question, now)
    with history.snapshot():
        if filters != NO_FILTERS:
            scored = _filtered(history, query, filters)
        elif not query.groups:
            rows = history.commits_in(query.spans, limit=limit) if query.spans else []
            scored = [(row, 1.0 - place / 1_000) for place, row in enumerate(rows)]
        else:
            # What a question says of its time holds, unless nothing of that time has its words.
            counts = history.commit_counts(query.meanings)
            searcher = _Searcher(history, query, counts, history.totals().commits)
            scored = searcher.scored((searcher.candidates(query.spans) if query.spans else []) or searcher.candidates())
        paths = history.paths_of([row.id for row, _ in scored[:limit]], limit=_NAMED_FILES)
    hits = tuple(CommitHit(row, tuple(paths.get(row.id, ())), score) for row, score in scored[:limit])
    return FoundCommits(hits, len(scored))


def _filtered(history: History, query: HistoryQuery, filters: Filters) -> list[tuple[CommitRow, float]]:
    """The commits that pass the filters, best first: those with a word of the question, or with the tag."""
    spans = [(-(-filters.since // _SECOND_MICROS), -(-filters.until // _SECOND_MICROS))]  # whole seconds, rounded up
    tag_words = words_of(filters.tag).split()
    searcher = _Searcher(history, query, history.commit_counts([*query.meanings, *tag_words]), history.totals().commits)
    found = searcher.candidates(spans)
    if tag_words:
        known = {match.commit.id for match in found}
        tagged = history.match_commits(tag_words, spans, limit=_TAGGED_CANDIDATES)
        found += [CommitMatch(match.commit, 0.0) for match in tagged if match.commit.id not in known]
        found = [match for match in found if has_tag(f"{match.commit.subject}\n{match.commit.body}", filters.tag)]
    return searcher.scored(found)


@dataclass(frozen=True, slots=True)
class _Searcher:
    """One question to one history. `counts` tells how many of the `total` commits have each word."""

    history: History
    query: HistoryQuery
    counts: dict[str, int]
    total: int

    def candidates(self, spans: Sequence[tuple[int, int]] = ()) -> list[CommitMatch]:
        """The best by the very words of the question, and a few that say the same in others."""
        words, meanings = self._telling(self.query.words), self._telling(self.query.meanings)
        found = self.history.match_commits(words, spans, limit=_CANDIDATES)
        if len(meanings) > len(words):
            known = {match.commit.id for match in found}
            lowest = found[-1].score if found else 0.0
            others = self.history.match_commits(meanings, spans, limit=_OTHER_CANDIDATES)
            found += [CommitMatch(match.commit, lowest) for match in others if match.commit.id not in known]
        return found

    def _telling(self, words: Sequence[str]) -> list[str]:
        """The rarest words, at least two, as long as they stand in few commits. Others count, but find nothing."""
        known = sorted((word for word in words if self.counts[word]), key=self.counts.__getitem__)
        sums = accumulate(self.counts[word] for word in known)
        return [
            word for place, (word, rows) in enumerate(zip(known, sums, strict=True)) if place < 2 or rows <= _MAX_ROWS
        ]

    def scored(self, found: Sequence[CommitMatch]) -> list[tuple[CommitRow, float]]:
        """Candidates by all that speaks for them, best first."""
        if not found:
            return []
        newest, best = max(match.commit.time for match in found), max(found[0].score, 1e-9)
        weights, meanings = self._weights(), set(self.query.meanings)
        paths = self.history.paths_of([match.commit.id for match in found], limit=_NAMED_FILES)

        def score(match: CommitMatch) -> float:
            commit = match.commit
            subject = set(words_of(commit.subject).split())
            rest = words_of(f"{commit.body[:_BODY_READ]} {' '.join(paths.get(commit.id, ()))}")
            recency: float = 0.5 ** ((newest - commit.time) / _HALF_LIFE_SECONDS)
            return (
                _BY_WORDS * match.score / best
                + _IN_SUBJECT * _covered(weights, subject)
                + _ANYWHERE * _covered(weights, subject.union(rest.split()))
                + _CONCISE * len(subject.intersection(meanings)) / max(1, len(subject))
                + _RECENT * (1.0 - recency if self.query.wants_first else recency)
                + (_MERGE if commit.is_merge else 0.0)
            )

        return sorted(((match.commit, score(match)) for match in found), key=lambda pair: -pair[1])

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
