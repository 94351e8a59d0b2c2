"""`deltos graph` in a shell."""

from __future__ import annotations

import io
import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from deltos.cli.main import main
from deltos.open_stores import open_projects
from deltos.workspace.project_index import SMALL_CHANGE_FILES

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "a.py": "import b\n\n\ndef f():\n    return b.g()\n",
    "b.py": "import a\n\n\ndef g():\n    return a.f()\n",
    "test_a.py": "from a import f\n\n\ndef test_f():\n    f()\n",
}


@pytest.fixture
def graph(tmp_path: Path, home: Path) -> Path:
    root = tmp_path / "graph"
    root.mkdir()
    for path, text in FILES.items():
        (root / path).write_text(text)
    return root


def run_graph(capsys: pytest.CaptureFixture[str], root: Path, *words: str) -> tuple[int, str, str]:
    code = main(["graph", *words, "--project", str(root)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def parse_json_lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def test_find_prints_definitions(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_graph(capsys, graph, "find", "f")
    assert code == 0
    assert "def f a.py:4-5 function ()" in out
    _, out, _ = run_graph(capsys, graph, "find", "f", "--json")
    assert parse_json_lines(out)[0] == {"symbol": "f", "file": "a.py", "line": 4, "kind": "function"}


def test_many_changed_files_are_indexed_before_the_answer(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_graph(capsys, graph, "find", "f")
    for number in range(SMALL_CHANGE_FILES + 20):
        (graph / f"added_{number}.py").write_text(f"def added_{number}():\n    return {number}\n")
    code, out, _ = run_graph(capsys, graph, "find", "added_7")
    assert code == 0
    assert "def added_7 added_7.py:1-2 function ()" in out
    assert "Note:" not in out


def test_an_error_mentions_a_stale_index(graph: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_graph(capsys, graph, "find", "f")
    (graph / "c.py").write_text("def late():\n    pass\n")
    with closing(open_projects(home, "").store_of(graph)) as store, store.try_lock() as held:
        assert held
        code, _, err = run_graph(capsys, graph, "find", "late")
    assert code == 1
    assert "not found" in err
    assert "re-indexed by another call or process; very recent edits may be missing" in err


def test_refs_as_json_have_a_fixed_format(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_graph(capsys, graph, "refs", "--at", "a.py:4", "--json")
    (answer,) = parse_json_lines(out)
    assert code == 0
    assert (answer["file"], answer["line"]) == ("a.py", 4)
    assert {
        "file": "b.py", "line": 5, "kind": "call", "certain": True, "via": "direct", "text": "return a.f()",
    } in answer["references"]  # fmt: skip
    _, out, _ = run_graph(capsys, graph, "refs", "f")
    assert "test_a.py" in out
    assert "Other lines that contain the name were not compared" in out  # the index has no words of one letter


def test_refs_answers_each_location_of_a_list(
    graph: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("a.py:4\na.py:2\n\nb.py:4\n"))
    code, out, _ = run_graph(capsys, graph, "refs", "--at", "-", "--json")
    first, second, third = parse_json_lines(out)
    assert code == 1
    assert first["references"]
    assert third["references"]
    assert second["references"] == []
    assert "No definition" in second["error"]
    monkeypatch.setattr("sys.stdin", io.StringIO("a.py:2\n"))
    code, out, err = run_graph(capsys, graph, "refs", "--at", "-")
    assert (code, out) == (1, "")
    assert "No definition" in err


def test_impact_cycles_context_and_stats_print_text_and_json(graph: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run_graph(capsys, graph, "impact", "g")
    assert "a.py" in out
    _, out, _ = run_graph(capsys, graph, "impact", "g", "--json")
    assert parse_json_lines(out)[0]["levels"]
    _, out, _ = run_graph(capsys, graph, "cycles")
    assert "1 at run time" in out
    _, out, _ = run_graph(capsys, graph, "cycles", "--json")
    assert parse_json_lines(out)[0]["mode"] == "runtime"
    assert set(parse_json_lines(out)[0]["files"]) == {"a.py", "b.py"}
    _, out, _ = run_graph(capsys, graph, "context", "f")
    assert "callers" in out
    _, out, _ = run_graph(capsys, graph, "context", "f", "--json")
    assert parse_json_lines(out)
    _, out, _ = run_graph(capsys, graph, "context", "--json")
    (whole,) = parse_json_lines(out)
    assert (whole["folder"], set(whole["files"])) == (".", set(FILES))
    _, out, _ = run_graph(capsys, graph, "context", "a.py", "--json")
    (file,) = parse_json_lines(out)
    assert (file["file"], [row["symbol"] for row in file["symbols"]]) == ("a.py", ["f"])
    _, out, _ = run_graph(capsys, graph, "draw", "f", "--json")
    (drawn,) = parse_json_lines(out)
    assert drawn["svg"].startswith("<svg")
    _, out, _ = run_graph(capsys, graph, "stats")
    assert "python" in out
    _, out, _ = run_graph(capsys, graph, "stats", "--json")
    assert parse_json_lines(out)


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        (1, ("find", "nothing_like_it")),
        (1, ("refs", "nothing_like_it")),
        (1, ("context", "zzz")),
        (1, ("impact", "zzz")),
        (2, ("refs",)),
        (2, ("refs", "--at", "a.py")),
    ],
)
def test_missing_symbols_and_wrong_usage_have_different_exit_codes(
    expected: int, words: tuple[str, ...], graph: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run_graph(capsys, graph, *words)
    assert code == expected
    assert out == ""
    assert err.startswith("Error: ")
