"""Answers and errors of the `index_repository` tool."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from deltos.domains.code.index import CodeIndexer
from deltos.domains.code.tools import code_tools
from deltos.errors import BadArgument, NotFound, NothingToIndex
from deltos.store.sqlite.projects import SqliteProjects
from deltos.workspace.projects import Projects
from tests.calling import ToolClient
from tests.domains.code.conftest import FILES
from tests.repositories import write_files

if TYPE_CHECKING:
    from pathlib import Path


def test_indexing_reports_indexed_and_skipped_files(client: ToolClient, project: Path) -> None:
    write_files(project, {"photo.png": b"x", "empty.py": ""})
    answer = client.call("index_repository")
    data = answer.structured
    assert data is not None
    assert data["status"] == "indexed"
    assert data["files_indexed"] == len(FILES)
    assert data["files_skipped"] == 2
    assert data["chunks_created"] >= len(FILES)
    assert data["languages"]["python"] == 4
    assert data["errors"] == []
    assert data["database_name"] == f"{data['repository_id']}.db"
    assert set(data) == {
        "repository_id", "project_id", "status", "files_indexed", "files_skipped", "chunks_created", "languages",
        "errors", "duration_ms", "database_name", "notes",
    }  # fmt: skip
    assert data["notes"] == ["skipped: binary 1, empty 1"]
    assert json.loads(answer.text) == data


def test_indexing_again_does_nothing_unless_forced(client: ToolClient, project: Path) -> None:
    client.call("index_repository")
    again = client.data("index_repository")
    assert (again["status"], again["files_indexed"], again["chunks_created"]) == ("up_to_date", 0, 0)
    write_files(project, {"src/new.py": "def brand_new():\n    pass\n"})
    changed = client.data("index_repository")
    assert (changed["status"], changed["files_indexed"], changed["chunks_created"]) == ("indexed", 1, 1)
    assert client.data("index_repository", force_reindex=True)["files_indexed"] == len(FILES) + 1


def test_a_concise_answer_about_indexing_is_at_most_half_as_long(client: ToolClient) -> None:
    full = client.call("index_repository")
    concise = client.call("index_repository", concise=True, force_reindex=True)
    assert len(concise.text) < len(full.text) / 2
    assert len(json.dumps(concise.structured)) < len(json.dumps(full.structured)) / 2


@pytest.mark.parametrize("path", ["missing", "src/cache.py"])
def test_a_path_that_is_not_a_folder_is_an_error(client: ToolClient, path: str) -> None:
    with pytest.raises(NotFound):
        client.call("index_repository", repo_path=path)


@pytest.mark.parametrize("path", ["  ", "a\0b", "x" * 10_000])
def test_an_invalid_path_is_an_error(client: ToolClient, path: str) -> None:
    with pytest.raises(BadArgument):
        client.call("index_repository", repo_path=path)


def test_an_empty_repository_is_an_error(client: ToolClient, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    client.root = tmp_path / "empty"
    with pytest.raises(NothingToIndex, match="No files to index"):
        client.call("index_repository")
    with pytest.raises(NothingToIndex, match="No files to index"):
        client.call("search_code", query="anything")


def test_a_repository_without_code_reports_skipped_files(client: ToolClient, tmp_path: Path) -> None:
    client.root = write_files(tmp_path / "photos", {"a.png": b"x", "b.png": b"x", "c.csv": "1,2\n"})
    assert client.data("index_repository")["files_skipped"] == 3
    text = client.call("search_code", query="sunset").text
    assert "nothing in this project could be indexed; skipped: binary 2, data 1" in text


def test_many_errors_are_truncated_and_counted(tmp_path: Path) -> None:
    class Failing(CodeIndexer):
        def extract(self, file: object) -> Any:
            raise ValueError("no")

    root = write_files(tmp_path / "root", {f"f{n}.py": "x = 1\n" for n in range(30)})
    with closing(Projects(SqliteProjects(tmp_path / "home"), [Failing()])) as projects:
        answer = ToolClient(code_tools(projects, token_budget=5_000), root).call("index_repository")
    assert answer.structured is not None
    assert len(answer.structured["errors"]) == 20
    assert answer.structured["notes"][-1] == "and 10 more errors"
    assert json.loads(answer.text) == answer.structured
