"""`deltos api …` in a shell."""

from __future__ import annotations

import argparse
import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from deltos.cli.api import add_commands
from deltos.errors import BadArgument, SourceError

if TYPE_CHECKING:
    from pathlib import Path

SPEC = """
openapi: 3.0.0
info: {title: Pets, version: "3"}
webhooks: {born: {post: {summary: A pet was born}}}
paths:
  /pets: {get: {summary: List pets, tags: [pets]}, post: {summary: Add a pet}}
components: {schemas: {Pet: {type: object}}}
"""


class Shell:
    """Shell that runs commands with a shared data folder; `notes` is the stderr of the last command."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.notes = ""

    def run(self, *words: str, code: int = 0) -> str:
        parser = argparse.ArgumentParser()
        add_commands(parser.add_subparsers())
        args = parser.parse_args(["api", *words])
        assert args.run(args) == code
        printed = self._capsys.readouterr()
        self.notes = printed.err
        return printed.out

    def json(self, *words: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.run(*words, "--json").splitlines()]


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    (tmp_path / "pets.yaml").write_text(SPEC)
    monkeypatch.setenv("DELTOS_HOME", str(tmp_path / "home"))
    return Shell(capsys)


@pytest.fixture
def shell_with_api(shell: Shell, tmp_path: Path) -> Shell:
    shell.run("add", str(tmp_path / "pets.yaml"), "--root", str(tmp_path))
    return shell


def test_add_prints_the_indexed_api(shell: Shell, tmp_path: Path) -> None:
    printed = shell.run("add", str(tmp_path / "pets.yaml"))
    assert "pets 3 (OpenAPI 3.0.0): 2 operations, 1 schema, 1 webhook" in printed
    (added,) = shell.json("add", str(tmp_path / "pets.yaml"))
    assert (added["name"], added["operations"], added["source"]) == ("pets", 2, str(tmp_path / "pets.yaml"))


def test_unreadable_files_are_reported(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"openapi": ')
    rows = shell.json("add", str(tmp_path))
    assert [row.get("document") for row in rows] == [None, f"{tmp_path.name}/bad.json"]
    shell.run("add", str(tmp_path))
    assert f"- not read: {tmp_path.name}/bad.json: Not valid JSON" in shell.run("list")
    (listed,) = shell.json("list")
    assert [row["document"] for row in listed["not_read"]] == [f"{tmp_path.name}/bad.json"]
    assert [row.get("document") for row in shell.json("refresh", "pets")] == [None, f"{tmp_path.name}/bad.json"]


def test_show_prints_operations_and_schema_names(shell_with_api: Shell) -> None:
    (shown,) = shell_with_api.json("show", "pets")
    assert shown["operations"] == [
        {"method": "GET", "path": "/pets", "summary": "List pets", "tags": ["pets"]},
        {"method": "POST", "path": "/pets", "summary": "Add a pet", "tags": []},
    ]
    assert (shown["schemas"], len(shown["webhooks"])) == (["Pet"], 1)
    assert "### POST /pets" in shell_with_api.run("show", "pets", "--method", "post", "--path", "/pets")


def test_search_prints_results_best_first(shell_with_api: Shell) -> None:
    (first, *_) = shell_with_api.json("search", "add a pet", "--api", "pets", "--type", "endpoint")
    assert first["id"] == "api:pets:POST /pets"
    assert "POST /pets — Add a pet" in shell_with_api.run("search", "add a pet").splitlines()[0]
    assert "No results found for query: chromodynamics (searched" in shell_with_api.run(
        "search", "chromodynamics", code=1
    )
    with pytest.raises(BadArgument):
        shell_with_api.run("search")


def test_a_search_that_names_an_api_reports_that_only_it_was_searched(shell_with_api: Shell, tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(SPEC.replace("Pets", "Shopware"))
    shell_with_api.run("add", str(tmp_path / "shop.yaml"))
    found = shell_with_api.json("search", "add a pet in shopware")
    assert found[0]["id"] == "api:shopware:POST /pets"
    assert all(hit["id"].startswith("api:shopware:") for hit in found)
    assert shell_with_api.notes == "Searched only shopware, which the query mentions. Use --api NAME for another API.\n"


def test_a_batch_is_answered_line_by_line(
    shell_with_api: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "sys.stdin", io.StringIO('{"id": 1, "query": "list pets"}\n\n{"id": 2, "query": "chromodynamics"}\n')
    )
    lines = [json.loads(line) for line in shell_with_api.run("search", "--batch", "-").splitlines()]
    assert [line["id"] for line in lines] == [1, 2]
    assert lines[0]["results"][0]["id"] == "api:pets:GET /pets"
    assert lines[1]["results"] == []
    (tmp_path / "batch").write_text("nonsense")
    with pytest.raises(BadArgument, match="Line 1"):
        shell_with_api.run("search", "--batch", str(tmp_path / "batch"))
    with pytest.raises(SourceError, match="Cannot read"):
        shell_with_api.run("search", "--batch", str(tmp_path / "gone"))


def test_the_list_names_every_api(shell_with_api: Shell) -> None:
    assert "- pets 3 (OpenAPI 3.0.0)" in shell_with_api.run("list")
    assert [row["name"] for row in shell_with_api.json("list")] == ["pets"]


def test_refresh_reads_the_description_again(shell_with_api: Shell, tmp_path: Path) -> None:
    (tmp_path / "pets.yaml").write_text(SPEC.replace("post: {summary: Add", "put: {summary: Add"))
    (api,) = shell_with_api.json("refresh", "pets")
    assert api["name"] == "pets"
    (shown,) = shell_with_api.json("show", "pets")
    assert "PUT" in {operation["method"] for operation in shown["operations"]}


def test_remove_deletes_the_api(shell_with_api: Shell, tmp_path: Path) -> None:
    assert shell_with_api.run("remove", "pets") == "Removed pets.\n"
    shell_with_api.run("add", str(tmp_path / "pets.yaml"))
    assert shell_with_api.json("remove", "pets") == [{"removed": ["pets"]}]
    assert shell_with_api.json("list") == []


def test_progress_of_many_descriptions_is_drawn_only_on_a_terminal(
    shell: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.yaml").write_text(SPEC)
    (tmp_path / "b.yaml").write_text(SPEC.replace("Pets", "Cats"))
    drawn: list[str] = []
    monkeypatch.setattr("deltos.cli.progress_bar.redraw_line", drawn.append)
    shell.run("add", str(tmp_path))
    assert not drawn
    monkeypatch.setattr("deltos.cli.progress_bar.is_interactive", lambda _: True)
    shell.run("add", str(tmp_path))
    assert any("descriptions found" in line for line in drawn)
    assert drawn[-1] == ""


def test_a_weak_match_is_noted_once_above_the_results(shell_with_api: Shell) -> None:
    weak = shell_with_api.run("search", "who was born in 1990 among our employees")
    assert weak.startswith("Note: weak match (confidence 0.")
    assert weak.count("weak match") == 1
    assert "A pet was born" in weak.splitlines()[1]
    assert "weak match" not in shell_with_api.run("search", "add a pet")
    assert all("note" not in row for row in shell_with_api.json("search", "who was born in 1990 among our employees"))
