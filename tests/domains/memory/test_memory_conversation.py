"""Ranking of conversation turns."""

from __future__ import annotations

from deltos.domains.memory.search.conversation import turn_features, turn_scores
from deltos.domains.memory.search.search import ObservationFeatures, turn_ranker
from deltos.store.observations import ObservationSummary

_NO_FEATURES = ObservationFeatures._make([0.0] * len(ObservationFeatures._fields))


def _scores(texts: dict[int, str], own_scores: dict[int, float], *, source: str = "") -> dict[int, float]:
    """Return the scores of the turns of one conversation, given texts and scores without context by position."""
    summaries = {
        place: ObservationSummary(place, 0, source, (), (), head, len(head), "finding", head[-1])
        for place, head in texts.items()
    }
    features = turn_features(own_scores, dict.fromkeys(own_scores, _NO_FEATURES), summaries)
    return turn_scores(features, turn_ranker())


def test_a_turn_directly_after_a_match_ranks_before_a_distant_turn() -> None:
    texts = {1: "Ann: Which beans?", 2: "Tom: The dwarf beans.", 9: "Ann: I like the beans."}
    scores = _scores(texts, {1: 20.0, 2: 5.0, 9: 5.0})
    assert scores[2] > scores[9]


def test_a_statement_ranks_before_a_question_of_the_same_length() -> None:
    scores = _scores({1: "Ann: The dwarf beans?", 8: "Tom: The dwarf beans."}, {1: 9.0, 8: 9.0})
    assert scores[8] > scores[1] > 0


def test_only_sessions_of_labelled_turns_are_conversations() -> None:
    turns = {1: "Ann: Which beans?", 2: "Tom: The dwarf beans."}
    own_scores = {1: 5.0, 2: 5.0}
    assert len(_scores(turns, own_scores)) == 2
    assert _scores(turns, own_scores, source="user") == {}, "hooks recorded these texts"
    assert _scores({1: turns[1], 2: "We chose SQLite"}, own_scores) == {}
    assert _scores({1: "Fixed: `make` works now.", 2: "Measured with `bench`: 3 ms"}, own_scores) == {}
