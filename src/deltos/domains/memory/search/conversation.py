"""Ranking of conversation turns, which are often understood only together with the turns before and after them."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.memory.core.model import RECORD_PREFIXES
from deltos.domains.memory.search.query import label_of
from deltos.store.observations import session_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deltos.domains.memory.search.search import ObservationFeatures
    from deltos.ranking import LinearRanker
    from deltos.store.observations import ObservationSummary

_ADJACENT_OFFSETS, _NEAR_OFFSETS = (-1, 1), (-3, -2, 2, 3)
_MIN_TURNS_OF_CONVERSATION = 2  # minimum number of candidates in a session that is a conversation
_TYPICAL_TURN_CHARACTERS, _MIN_TURN_CHARACTERS = 200, 20
_MIN_SCORE_SHARE = 0.01  # a turn keeps at least this share of its own score, so that it remains a match


class TurnFeatures(NamedTuple):
    """Ranking features of a conversation turn; `score` is the score of the turn itself, without its neighbours."""

    score: float
    named: bool
    dated: bool
    similarity: float
    is_question: bool
    log_length: float
    adjacent_score: float  # highest score of the turns directly before and after
    near_score: float  # highest score of the turns two or three positions before and after


def turn_features(
    scores: Mapping[int, float], rows: Mapping[int, ObservationFeatures], summaries: Mapping[int, ObservationSummary]
) -> dict[int, TurnFeatures]:
    """Return the features of the candidates that are conversation turns, by row number."""
    return {
        place: TurnFeatures(
            scores[place],
            rows[place].named,
            rows[place].dated,
            rows[place].similarity,
            is_question=summaries[place].tail.endswith("?"),
            log_length=math.log(max(_MIN_TURN_CHARACTERS, summaries[place].length) / _TYPICAL_TURN_CHARACTERS),
            adjacent_score=_max_score(scores, place, _ADJACENT_OFFSETS),
            near_score=_max_score(scores, place, _NEAR_OFFSETS),
        )
        for place in _conversation_turns(summaries[place] for place in rows)
    }


def turn_scores(features: Mapping[int, TurnFeatures], ranker: LinearRanker) -> dict[int, float]:
    """Return the score of each turn, computed from the scores of the turn and its neighbours."""
    return {place: max(row.score * _MIN_SCORE_SHARE, ranker.score(row)) for place, row in features.items()}


def _conversation_turns(summaries: Iterable[ObservationSummary]) -> list[int]:
    """Return the row numbers in sessions in which every candidate is an imported text with a speaker's label."""
    sessions: dict[int, list[ObservationSummary]] = defaultdict(list)
    for summary in summaries:
        sessions[session_of(summary.place)].append(summary)
    return [
        summary.place
        for session in sessions.values()
        if len(session) >= _MIN_TURNS_OF_CONVERSATION and all(map(_may_be_turn, session))
        for summary in session
    ]


def _may_be_turn(summary: ObservationSummary) -> bool:
    """Whether an observation is a text with a label at the start (`Ann: …`) that no hook has recorded."""
    is_from_hook = summary.source in ("user", "agent") or summary.head.startswith(RECORD_PREFIXES)
    return summary.kind in ("finding", "note") and not is_from_hook and bool(label_of(summary.head))


def _max_score(scores: Mapping[int, float], row_number: int, steps: Iterable[int]) -> float:
    """Return the highest score among the neighbours of an observation in the same session, or 0."""
    neighbours = (row_number + step for step in steps if session_of(row_number + step) == session_of(row_number))
    return max((scores.get(item, 0.0) for item in neighbours), default=0.0)
