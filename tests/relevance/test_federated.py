"""Federated goldens: the right kind of knowledge comes first among the results of all indexes."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import pytest

from deltos.app import App
from deltos.config import Config
from tests.relevance.parcels import build_parcels, first_hits, goldens

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.federation.model import Hit
    from deltos.isolated.process_pool import ProcessPool
    from tests.relevance.parcels import Golden


class AnsweredGolden(NamedTuple):
    golden: Golden
    hits: list[Hit]


@pytest.fixture(scope="module")
def answered_goldens(tmp_path_factory: pytest.TempPathFactory, workers: ProcessPool) -> Iterator[list[AnsweredGolden]]:
    """Yield all golden questions with their results."""
    folder: Path = tmp_path_factory.mktemp("federated")
    with closing(App(Config(folder / "home"), workers=workers)) as app:
        root = build_parcels(app, folder / "parcels")
        yield [AnsweredGolden(golden, first_hits(app, root, golden.question)) for golden in goldens()]


def test_there_are_at_least_sixty_questions_of_four_kinds(answered_goldens: list[AnsweredGolden]) -> None:
    assert len(answered_goldens) >= 60
    counts = {
        kind: sum(each.golden.kind == kind for each in answered_goldens) for kind in ("code", "doc", "api", "obs")
    }
    assert min(counts.values()) >= 15


def test_the_expected_kind_comes_first_for_nine_of_ten_questions(answered_goldens: list[AnsweredGolden]) -> None:
    wrong = [
        each.golden.question for each in answered_goldens if not each.hits or each.hits[0].kind != each.golden.kind
    ]
    assert len(wrong) <= len(answered_goldens) / 10, wrong


def test_the_expected_answer_is_among_the_first_three_for_nine_of_ten_questions(
    answered_goldens: list[AnsweredGolden],
) -> None:
    wrong = [
        each.golden.question for each in answered_goldens if not any(map(each.golden.is_answered_by, each.hits[:3]))
    ]
    assert len(wrong) <= len(answered_goldens) / 10, wrong
