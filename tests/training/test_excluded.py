from __future__ import annotations

import pytest
from training.excluded import is_excluded


@pytest.mark.parametrize(
    "project",
    """flask python3-flask golang-github-gin-gonic-gin-dev librust-tokio-dev @trpc/server sphinx-doc postgresql-15
    node-express @types/express haskell-pandoc python_gitlab google_cloud_pubsub slack-web-api""".split(),
)
def test_a_project_of_the_benchmarks_is_excluded_in_any_packaging(project: str) -> None:
    assert is_excluded(project)


@pytest.mark.parametrize("project", ["requests", "python3-requests", "pytest-flask", "librust-rayon-dev", "@vue/core"])
def test_any_other_project_is_not(project: str) -> None:
    assert not is_excluded(project)
