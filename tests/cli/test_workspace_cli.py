"""`deltos workspace` and the `--workspace` option of other commands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from deltos.cli.main import main
from tests.postgres_server import empty_database
from tests.repositories import write_files

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two projects in one folder, which is the current folder."""
    write_files(tmp_path / "api", {"views.py": "def checkout():\n    return 1\n"})
    write_files(tmp_path / "lib", {"cart.py": "def apply_voucher():\n    return 2\n"})
    monkeypatch.chdir(tmp_path)
    assert not home.exists()
    return tmp_path


def test_projects_are_added_to_and_removed_from_a_workspace(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["workspace", "list"]) == 0
    assert "No workspaces yet." in capsys.readouterr().out
    assert main(["workspace", "add", "shop", "api", "./lib/../lib", "api"]) == 0
    assert capsys.readouterr().out.startswith("shop: 2 projects added, 2 in total\n")
    assert main(["workspace", "list"]) == 0
    assert capsys.readouterr().out == "shop  2 projects: api, lib\n"
    assert main(["workspace", "remove", "shop", "api"]) == 0
    assert capsys.readouterr().out == "shop: 1 project removed, 1 left; indexes are kept\n"
    assert main(["workspace", "remove", "shop"]) == 0
    assert main(["workspace", "show", "shop"]) == 1


def test_show_lists_indexed_and_deleted_projects(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gone = folder / "gone"
    gone.mkdir()
    assert main(["workspace", "add", "shop", "api", "lib", "gone"]) == 0
    gone.rmdir()
    assert main(["index", "api"]) == 0
    capsys.readouterr()
    assert main(["workspace", "show", "shop"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "shop: 3 projects"
    assert "1 file, " in lines[1]
    assert lines[2].endswith("not indexed yet; the first search indexes it")
    assert lines[3].endswith("gone  folder not found")
    assert main(["workspace", "remove", "shop", "gone"]) == 0


def test_json_is_one_object_per_workspace(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["workspace", "add", "shop", "api", "--json"]) == 0
    added = json.loads(capsys.readouterr().out)
    assert added["added"] == [str((folder / "api").resolve())]
    assert main(["workspace", "list", "--json"]) == 0
    (listed,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["path"] for each in listed["projects"]] == added["added"]
    assert listed["projects"][0]["project_id"] is None


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["", " ", "a,b", "*", "a/b", "all", "workspace:x", "'", "a" * 200, "a\nb"])
def test_an_ambiguous_workspace_name_is_rejected(name: str) -> None:
    assert main(["workspace", "add", name, "api"]) == 2


def test_the_name_of_a_project_is_rejected(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", "api"]) == 0
    assert main(["workspace", "add", "api", "lib"]) == 2
    assert f"A project is already called 'api': {folder.resolve() / 'api'}" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_unknown_workspaces_and_projects_are_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["workspace", "add", "shop", "missing"]) == 2
    assert main(["workspace", "add", "shop", "/"]) == 2
    assert main(["workspace", "remove", "shop"]) == 1
    assert main(["workspace", "add", "shop", "api"]) == 0
    assert main(["workspace", "remove", "shop", "lib"]) == 1
    assert "is not in shop. See `deltos workspace show shop`." in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_code_is_searched_in_all_projects_of_a_workspace(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["workspace", "add", "shop", "api", "lib"]) == 0
    capsys.readouterr()
    assert main(["code", "search", "apply_voucher", "--project", "shop", "--json"]) == 0
    hits = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (hits[0]["repository"], hits[0]["path"]) == ("lib", "cart.py")
    for option in ("--project-id", "--project"):
        assert main(["search", "apply_voucher", option, "shop"]) == 0
        assert "[lib] apply_voucher cart.py:1-2" in capsys.readouterr().out


@pytest.mark.parametrize("command", [["search"], ["code", "search"]])
def test_projects_that_were_not_searched_are_reported_on_stderr_with_json(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, command: list[str]
) -> None:
    gone = folder / "gone"
    gone.mkdir()
    assert main(["workspace", "add", "shop", "api", "lib", "gone"]) == 0
    gone.rmdir()
    batch = tmp_path / "batch.jsonl"
    batch.write_text('{"id": 1, "query": "apply voucher"}\n{"id": 2, "query": "checkout"}\n')
    for asked in (["apply voucher", "--json"], ["--batch", str(batch)]):
        capsys.readouterr()
        assert main([*command, *asked, "--project", "shop"]) == 0
        shown = capsys.readouterr()
        assert [json.loads(line) for line in shown.out.splitlines()]
        assert "lib" in shown.out
        assert shown.err.count("not searched") == 1, shown.err
        assert "gone" in shown.err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("database", ["", "postgresql"])
def test_the_name_of_a_deleted_workspace_with_valid_tokens_is_not_reused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, database: str
) -> None:
    monkeypatch.setenv("DELTOS_DATABASE", empty_database() if database else "")
    assert main(["workspace", "add", "temp", "api"]) == 0
    assert main(["token", "create", "ci", "--workspace", "temp"]) == 0
    assert (
        main(["workspace", "add", "temp", "lib"]) == 0
    )  # the workspace exists, so its tokens give access to added projects
    assert main(["workspace", "add", "other", "lib"]) == 0
    assert main(["workspace", "remove", "temp"]) == 0
    capsys.readouterr()
    assert main(["token", "list", "--json"]) == 0
    token_id = json.loads(capsys.readouterr().out)["id"]
    for command in (["add", "TEMP", "lib"], ["rename", "other", "temp"]):
        assert main(["workspace", *command]) == 2
        notes = capsys.readouterr().err
        assert f"{token_id} (ci)" in notes
        assert "deltos token revoke" in notes
    assert main(["token", "revoke", token_id]) == 0
    assert main(["workspace", "add", "temp", "lib"]) == 0


@pytest.mark.usefixtures("folder")
def test_names_of_workspaces_are_completed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["workspace", "add", "shop", "api"]) == 0
    capsys.readouterr()
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    place = script[script.index('"workspace show")') :].partition(";;")[0]
    assert "shop" in place


@pytest.mark.parametrize("word", ["workspace:shopp", "shopp"])
def test_an_unknown_workspace_name_gives_an_error_that_lists_the_known_ones(
    folder: Path, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    assert main(["workspace", "add", "shop", "api", "lib"]) == 0
    assert main(["graph", "find", "checkout", "--project", word]) == 2
    assert capsys.readouterr().err.endswith(f"{word}. Give the path of an existing folder. Workspaces: shop.\n")


@pytest.mark.usefixtures("folder")
def test_renaming_a_workspace_updates_its_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["workspace", "add", "shop", "api"]) == 0
    assert main(["token", "create", "ci", "--workspace", "shop"]) == 0
    capsys.readouterr()
    assert main(["workspace", "rename", "SHOP", "store"]) == 0
    assert capsys.readouterr().out == "Renamed shop to store: 1 project; 1 token updated\n"
    assert main(["token", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["projects"] == ["workspace:store"]
    assert main(["workspace", "rename", "store", "Store", "--json"]) == 0
    renamed = json.loads(capsys.readouterr().out)
    assert (renamed["name"], renamed["before"], renamed["tokens"]) == ("Store", "store", 1)


def test_rename_rejects_the_same_names_as_add(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["workspace", "add", "shop", "api"]) == 0
    assert main(["workspace", "add", "tools", "lib"]) == 0
    assert main(["index", str(folder / "api")]) == 0
    assert main(["workspace", "rename", "none", "store"]) == 1
    for name in ("a,b", "all", "tools", "api"):
        assert main(["workspace", "rename", "shop", name]) == 2, name
    capsys.readouterr()
    assert main(["workspace", "list"]) == 0
    assert capsys.readouterr().out == "shop  1 project: api\ntools  1 project: lib\n"
