"""Ranking of candidates by learned weights."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from deltos.ranking import LinearRanker, load_ranker

if TYPE_CHECKING:
    from pathlib import Path


def test_weights_are_read_by_name_and_unknown_features_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "weights.json"
    path.write_text(json.dumps({"weights": {"b": 2.0, "a": 1.0, "gone": 9.0}, "midpoint": 3.0}))
    ranker = load_ranker(path, ("a", "b", "new"))
    assert ranker == LinearRanker((1.0, 2.0, 0.0), 3.0)
    assert ranker.scores([[1.0, 1.0, 5.0], [2.0, 0.0, 0.0]]) == [3.0, 2.0]


def test_confidence_preserves_the_order_and_is_between_zero_and_one() -> None:
    ranker = LinearRanker((1.0,), midpoint=2.0)
    confidences = [ranker.confidence(score) for score in (-1e9, 0.0, 2.0, 5.0, 1e9)]
    assert confidences == sorted(confidences)
    assert confidences[2] == pytest.approx(0.5)
    assert all(0.0 <= confidence <= 1.0 for confidence in confidences)


def test_an_interpolated_ranker_combines_the_weights_of_two_rankers(tmp_path: Path) -> None:
    path = tmp_path / "weights.json"
    path.write_text(json.dumps({"few": {"a": 1.0, "b": 0.0}, "many": {"a": 3.0, "b": 4.0}, "slope": 2.0}))
    few, many = (load_ranker(path, ("a", "b"), which) for which in ("few", "many"))
    assert few.towards(many, 0.0) == few
    assert few.towards(many, 0.25) == LinearRanker((1.5, 1.0), 0.0, 2.0)
    assert few.towards(many, 1.0) == many
