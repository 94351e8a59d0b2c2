"""Renaming a project is consistent, keeps line numbers, and leaves it parseable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from benchmarks.agents.rename import Renaming, make_renaming, parses_as_well, rename_tree, survey_names
from benchmarks.agents.rename_spec import rename_spec

QUEUE = '''"""The queue of acme; see `Worker.fetch_job`."""

import json
import os

from acme.worker import Worker


class JobQueue:
    """Holds jobs. A queue knows its worker."""

    def enqueue_job(self, payload: dict, retry_limit: int = 3) -> str:
        worker = Worker(os.environ.get("ACME_HOME"))
        if not payload:
            raise ValueError(f"Cannot enqueue {payload}: retry_limit is {retry_limit}")
        return worker.fetch_job(json.dumps(payload), retry_limit=retry_limit)
'''
WORKER = """class Worker:
    def fetch_job(self, text, retry_limit):
        return text.strip().format(retry_limit)
"""
GO = """package store

import "fmt"

// OpenBucket opens a bucket; errBucketMissing when there is none.
func OpenBucket(bucketName string) error {
	return fmt.Errorf("no bucket %s", bucketName)
}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for path, text in {
        "acme/jobqueue.py": QUEUE,
        "acme/worker.py": WORKER,
        "store/bucket.go": GO,
        "README.md": "# Acme\n\nCall `enqueue_job`; a queue is a queue. See acme/jobqueue.py.\n",
        "LICENSE": "Copyright Acme",
        "tests/test_worker.py": "from acme.worker import Worker\n\n\ndef test_worker_fetches():\n    Worker()\n",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def rename_project(project: Path, seed: int = 7) -> tuple[Path, Renaming]:
    target = project.parent / f"renamed-{seed}"
    report = rename_tree(project, target, seed, ["acme"])
    assert report.broken == ()
    return target, report.renaming


def test_a_name_is_renamed_the_same_way_in_every_file_and_in_prose_that_mentions_it(project: Path) -> None:
    target, renaming = rename_project(project)
    new = renaming.name("fetch_job")
    assert new != "fetch_job"
    sources = {path.name: path.read_text() for path in target.rglob("*.py")}
    defining = sources[Path(renaming.path("acme/worker.py")).name]
    using = sources[Path(renaming.path("acme/jobqueue.py")).name]
    assert f"def {new}(self" in defining
    assert f".{new}(json.dumps" in using
    assert f".{new}`." in using.splitlines()[0]


def test_language_and_dependency_names_are_not_renamed(project: Path) -> None:
    target, renaming = rename_project(project)
    using = (target / renaming.path("acme/jobqueue.py")).read_text()
    assert "os.environ.get(" in using
    assert "json.dumps(" in using
    assert "raise ValueError(" in using
    assert "fmt.Errorf(" in (target / renaming.path("store/bucket.go")).read_text()


def test_plain_words_in_comments_and_messages_are_not_renamed(project: Path) -> None:
    target, renaming = rename_project(project)
    using = (target / renaming.path("acme/jobqueue.py")).read_text()
    assert "Holds jobs. A queue knows its worker." in using
    assert "Cannot enqueue {" in using
    assert "a queue is a queue" in (target / "README.md").read_text()


def test_the_projects_name_is_removed_from_paths_code_and_prose(project: Path) -> None:
    target, _ = rename_project(project)
    for path in target.rglob("*"):
        assert "acme" not in path.relative_to(target).as_posix().lower()
        if path.is_file():
            assert "acme" not in path.read_text().lower()
    assert not (target / "LICENSE").exists()


def test_renaming_keeps_every_line_number(project: Path) -> None:
    target, renaming = rename_project(project)
    for old in project.rglob("*.py"):
        new = target / renaming.path(old.relative_to(project).as_posix())
        assert len(new.read_text().splitlines()) == len(old.read_text().splitlines())


def test_a_renamed_project_still_works(project: Path) -> None:
    target, renaming = rename_project(project)
    module: dict[str, Any] = {}
    exec((target / renaming.path("acme/worker.py")).read_text(), module)
    worker = module[renaming.name("Worker")]()
    assert getattr(worker, renaming.name("fetch_job"))(" {} ", 3) == "3"


def test_the_same_seed_gives_the_same_names_and_another_seed_gives_different_ones(project: Path) -> None:
    first = make_renaming(survey_names(project), 7, ["acme"])
    assert make_renaming(survey_names(project), 7, ["acme"]).names == first.names
    assert make_renaming(survey_names(project), 8, ["acme"]).brands != first.brands


def test_two_names_are_never_renamed_to_the_same_name(project: Path) -> None:
    names = make_renaming(survey_names(project), 7, ["acme"]).names
    assert len(set(names.values())) == len(names)
    assert not set(names.values()) & set(names)


def test_a_renaming_that_breaks_a_file_is_detected() -> None:
    assert parses_as_well("python", b"job = 1\n", b"task = 1\n")
    assert not parses_as_well("python", b"job = 1\n", b"class = 1\n")
    assert not parses_as_well("python", b"job = 1\n", b"job = \\\n1\n")
    assert not parses_as_well("go", b"package a\n", b"package func(\n")


def test_a_description_keeps_its_meaning_under_new_names() -> None:
    description = {
        "openapi": "3.0.0",
        "info": {"title": "Acme jobs", "version": "1"},
        "paths": {
            "/queues/{queue_id}/jobs": {
                "post": {
                    "operationId": "createJob",
                    "parameters": [{"in": "path", "name": "queue_id", "required": True, "schema": {"type": "string"}}],
                    "requestBody": {
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/JobRequest"}}}
                    },
                }
            }
        },
        "components": {
            "schemas": {
                "JobRequest": {
                    "type": "object",
                    "properties": {"retry_limit": {"type": "integer"}, "type": {"type": "string"}},
                    "required": ["retry_limit"],
                }
            }
        },
    }
    new, renaming = rename_spec(description, 3, ["acme"])
    schema_name = renaming.name("JobRequest")
    schema = new["components"]["schemas"][schema_name]
    (path,) = new["paths"]
    body = new["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert "queue_id" not in path
    assert body == {"$ref": f"#/components/schemas/{schema_name}"}
    assert schema["required"] == [renaming.name("retry_limit")]
    assert set(schema["properties"]) == {renaming.name("retry_limit"), "type"}
    assert "{" + new["paths"][path]["post"]["parameters"][0]["name"] + "}" in path
