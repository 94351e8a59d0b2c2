"""`deltos graph --json` over several projects."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest

from deltos.cli.main import main
from tests.repositories import write_files
from tests.workspaces.shop import build_shop

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def shop(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """A workspace of a library and two programs; the current folder is their parent."""
    roots = build_shop(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["workspace", "add", "shop", *map(str, roots.values())]) == 0
    return roots


def run_json(capsys: pytest.CaptureFixture[str], *words: str, project: str = "shop", code: int = 0) -> list[Any]:
    """Return the JSON objects that a command prints."""
    capsys.readouterr()
    assert main(["graph", *words, "--project", project, "--json"]) == code
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.usefixtures("shop")
def test_a_definition_names_its_project(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_json(capsys, "find", "apply_voucher") == [
        {"project": "lib", "symbol": "apply_voucher", "file": "src/shoplib/cart.py", "line": 22, "kind": "function"}
    ]
    found = run_json(capsys, "find", ".*[cC]art", project="*")
    assert {(each["project"], each["symbol"]) for each in found} == {("lib", "Cart"), ("web", "renderCart")}
    assert len(run_json(capsys, "find", ".*[cC]art", "--limit", "1", project="*")) == 1


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("words", [["apply_voucher"], ["--at", "src/shoplib/cart.py:22"]])
def test_references_are_grouped_by_project(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    (found,) = run_json(capsys, "refs", *words, project="lib,api,web")
    assert (found["project"], found["symbol"], found["references"]) == ("lib", "src.shoplib.cart.apply_voucher", [])
    (api,) = found["elsewhere"]
    assert (api["project"], api["not_resolved"]) == ("api", 0)
    assert api["references"] == [
        {
            "file": "app/views.py",
            "line": 3,
            "certain": True,
            "via": "direct",
            "text": "from shoplib.cart import Cart, apply_voucher",
            "kind": "import",
        },
        {
            "file": "app/views.py",
            "line": 11,
            "certain": True,
            "via": "direct",
            "text": "return str(apply_voucher(cart, request.code))",
            "kind": "call",
        },
    ]


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("as_json", [True, False])
def test_a_location_without_a_definition_does_not_affect_the_other_answers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, as_json: bool
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("nowhere.py:7\nsrc/shoplib/cart.py:22\n"))
    if as_json:
        missing, found = run_json(capsys, "refs", "--at", "-", code=1)
        assert (missing["symbol"], missing["file"], missing["line"]) == (None, "nowhere.py", 7)
        assert found["symbol"] == "src.shoplib.cart.apply_voucher"
        return
    assert main(["graph", "refs", "--at", "-", "--project", "shop"]) == 1
    answer = capsys.readouterr()
    assert "[api] 2 references in 1 file" in answer.out
    assert "Error: " in answer.err


@pytest.mark.usefixtures("shop")
def test_impact_includes_importing_projects(capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = run_json(capsys, "impact", "apply_voucher")
    assert (found["project"], found["levels"], found["tests"]) == ("lib", [], [])
    (api,) = found["elsewhere"]
    assert (api["project"], api["tests"], api["not_resolved"]) == ("api", [], 0)
    assert [[(row["symbol"], row["distance"]) for row in level] for level in api["levels"]] == [
        [("checkout", 1)],
        [("handle", 2)],
    ]


def test_context_cycles_and_statistics_name_their_projects(
    shop: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    write_files(shop["web"], {"a.ts": "import './b';\n", "b.ts": "import './a';\n"})
    (context,) = run_json(capsys, "context", "Cart.total")
    assert (context["project"], context["symbol"]) == ("lib", "Cart.total")
    assert [each["project"] for each in context["elsewhere"]] == ["api"]
    maps = run_json(capsys, "context")
    assert [(each["project"], each["folder"]) for each in maps] == [("lib", "."), ("api", "."), ("web", ".")]
    assert "app/views.py" in maps[1]["files"]
    (cycle,) = run_json(capsys, "cycles")
    assert (cycle["project"], sorted(cycle["files"])) == ("web", ["a.ts", "b.ts"])
    counts = {each["project"]: each["files_by_language"] for each in run_json(capsys, "stats")}
    assert [("python" in counts[name], "typescript" in counts[name]) for name in ("lib", "api", "web")] == [
        (True, False),
        (True, False),
        (False, True),
    ]


def test_a_deleted_project_is_a_separate_object(shop: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    shop["web"].rename(shop["web"].with_name("elsewhere"))
    *_, last = run_json(capsys, "find", "apply_voucher")
    assert last["project"] == "web"
    assert "error" in last


@pytest.mark.usefixtures("shop")
def test_a_symbol_that_no_project_defines_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "refs", "aply_voucher", "--project", "shop", "--json"]) == 1
    assert "Did you mean: apply_voucher" in capsys.readouterr().err
