"""Finds commits: by their words, the files they touched, and the time that a question speaks of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.history.query import parse_query
from deltos.domains.history.words import words_of
from deltos.store.history import CommitMatch
from deltos.text.rarity import idf

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from deltos.domains.history.query import HistoryQuery
    from deltos.store.history import CommitRow, History

_CANDIDATES = 80
_OTHER_CANDIDATES = 40
_NAMED_FILES = 20
_BODY_READ = 600  # characters of a message that count for how much of the question it covers
_HALF_LIFE_SECONDS = 3 * 365 * 86_400.0
# Hand-set on questions about this project, Django and Rails: what speaks for a commit.
_BY_WORDS, _IN_SUBJECT, _ANYWHERE, _RECENT, _MERGE = 0.3, 0.9, 0.6, 0.12, -0.15


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


def search_commits(history: History, question: str, now: datetime, *, limit: int) -> FoundCommits:
    """The commits that answer a question, best first; of a question about a time alone, the newest of that time."""
    query = parse_query(question, now)
    with history.snapshot():
        if not query.groups:
            rows = history.commits_in(query.spans, limit=limit) if query.spans else []
            scored = [(row, 1.0 - place / 1_000) for place, row in enumerate(rows)]
        else:
            # What a question says of its time holds, unless nothing of that time has its words.
            found = _candidates(history, query, query.spans) if query.spans else []
            scored = _scored(found or _candidates(history, query, ()), query, history)
        paths = history.paths_of([row.id for row, _ in scored[:limit]], limit=_NAMED_FILES)
    hits = tuple(CommitHit(row, tuple(paths.get(row.id, ())), score) for row, score in scored[:limit])
    return FoundCommits(hits, len(scored))


def _candidates(history: History, query: HistoryQuery, spans: Sequence[tuple[int, int]]) -> list[CommitMatch]:
    """The best by the very words of the question, and a few that say the same in others."""
    found = history.match_commits(query.words, spans, limit=_CANDIDATES)
    known = {match.commit.id for match in found}
    if len(query.meanings) > len(query.words):
        others = history.match_commits(query.meanings, spans, limit=_OTHER_CANDIDATES)
        lowest = found[-1].score if found else 0.0
        found += [CommitMatch(match.commit, lowest) for match in others if match.commit.id not in known]
    return found


def _scored(found: Sequence[CommitMatch], query: HistoryQuery, history: History) -> list[tuple[CommitRow, float]]:
    if not found:
        return []
    paths = history.paths_of([match.commit.id for match in found], limit=_NAMED_FILES)
    subjects = [set(words_of(match.commit.subject).split()) for match in found]
    wholes = [
        subject | set(words_of(f"{match.commit.body[:_BODY_READ]} {' '.join(paths.get(match.commit.id, ()))}").split())
        for subject, match in zip(subjects, found, strict=True)
    ]
    weights = _weights(query, history)
    total = sum(weights.values()) or 1.0
    best, newest = max(found[0].score, 1e-9), max(match.commit.time for match in found)

    def covered(words: set[str]) -> float:
        return sum(weight for group, weight in weights.items() if not words.isdisjoint(group)) / total

    def by_age(time: int) -> float:
        recency: float = 0.5 ** ((newest - time) / _HALF_LIFE_SECONDS)
        return 1.0 - recency if query.wants_first else recency

    scored = [
        (
            match.commit,
            _BY_WORDS * match.score / best
            + _IN_SUBJECT * covered(subject)
            + _ANYWHERE * covered(whole)
            + _RECENT * by_age(match.commit.time)
            + (_MERGE if match.commit.is_merge else 0.0),
        )
        for match, subject, whole in zip(found, subjects, wholes, strict=True)
    ]
    return sorted(scored, key=lambda pair: -pair[1])


def _weights(query: HistoryQuery, history: History) -> dict[tuple[str, ...], float]:
    """What each word of the question counts for: the fewer commits have it, the more."""
    counts, total = history.commit_counts(query.meanings), history.totals().commits
    return {
        group: idf(min(total, sum(counts[word] for word in group)), total, added=1, against_rest=False)
        for group in query.groups
    }
