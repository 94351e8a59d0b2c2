"""Reviews of changes in real git repositories."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.config import Config
from deltos.federation.review.reviewer import Reviewer
from tests.repositories import make_repository, write_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from deltos.federation.review.model import Review
    from deltos.isolated.process_pool import ProcessPool


@pytest.fixture
def review_in(tmp_path: Path, workers: ProcessPool) -> Iterator[Callable[..., Review]]:
    """Review `changes` in a repository, with an index of its own."""
    with ExitStack() as stack:
        app = stack.enter_context(closing(App(Config(tmp_path / "home"), workers=workers)))

        def run(root: Path, changes: str = "") -> Review:
            index = app.domains.projects.index_of(root)
            index.index()
            index.catch_up()
            reviewer = Reviewer(index, app.links.observation_texts, history_seconds=float("inf"))
            return index.answer(lambda freshness: reviewer.review(changes, freshness))

        yield run


@pytest.fixture
def review_change(tmp_path: Path, review_in: Callable[..., Review]) -> Callable[..., Review]:
    """Commit files, write changed ones into the working tree, and review the difference."""

    def run(before: Mapping[str, str], after: Mapping[str, str]) -> Review:
        root = make_repository(tmp_path / "project", before)
        return review_in(write_files(root, after))

    return run
