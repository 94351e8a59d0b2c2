from __future__ import annotations

import json

import pytest
from benchmarks.docs_dataset import GROUPS
from benchmarks.docs_questions import QUESTIONS
from training.excluded import is_excluded


@pytest.mark.parametrize(
    "project",
    """flask python3-flask golang-github-gin-gonic-gin-dev librust-tokio-dev @trpc/server sphinx-doc postgresql-15
    node-express @types/express haskell-pandoc python_gitlab google_cloud_pubsub slack-web-api""".split(),
)
def test_a_benchmark_project_is_excluded_from_training_in_any_package_format(project: str) -> None:
    assert is_excluded(project)


@pytest.mark.parametrize("project", ["requests", "python3-requests", "pytest-flask", "librust-rayon-dev", "@vue/core"])
def test_a_project_outside_the_benchmarks_is_not_excluded(project: str) -> None:
    assert not is_excluded(project)


def test_training_sites_are_not_evaluation_sites() -> None:
    learned, measured = (
        json.loads((QUESTIONS / name).read_text("utf-8")) for name in ("docs_passage_sites.json", "docs_sites.json")
    )
    named = {value for about in learned.values() for value in about.values()}
    assert not {name for name in learned if is_excluded(name)}
    assert not named & {
        value for site in measured.values() for key, value in site.items() if key in ("repository", "package")
    }
    assert not named & {site.package for group in GROUPS for site in group}
