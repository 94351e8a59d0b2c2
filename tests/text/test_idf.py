"""Rare words have a higher weight."""

from __future__ import annotations

import math

import pytest

from deltos.text.idf import idf


def test_the_default_smoothing_is_the_one_used_by_bm25() -> None:
    assert idf(3, 100) == pytest.approx(math.log(1 + 97.5 / 3.5))


def test_idf_accepts_other_smoothing_constants() -> None:
    assert idf(3, 100, added=0, smoothing=1, against_rest=False) == pytest.approx(math.log(1 + 100 / 4))
    assert idf(3, 100, against_rest=False) == pytest.approx(math.log(1 + 100.5 / 3.5))


def test_rarer_words_have_higher_weights_and_none_is_negative() -> None:
    weights = [idf(count, 10) for count in range(20)]
    assert weights == sorted(weights, reverse=True)
    assert weights[-1] > 0
