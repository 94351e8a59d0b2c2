"""`deltos search` and `deltos fetch` in a shell."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest

from deltos.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def shell(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(project)
    assert main(["memory", "add", "We clear the cache at midnight", "--kind", "decision"]) == 0
    return project


def run_command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(list(words))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_search_shows_a_line_and_a_snippet_for_each_kind(shell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_command(capsys, "search", "when did we decide to clear the cache")
    assert code == 0
    assert out.startswith("0.70 obs:")
    assert "We clear the cache at midnight" in out
    assert " code:" in out


def test_results_as_json_equal_those_of_the_tool(shell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_command(capsys, "search", "clear_cache", "--json", "--limit", "1")
    assert code == 0
    (result,) = map(json.loads, out.splitlines())
    assert set(result) == {"id", "title", "url", "score", "snippet", "source", "created_at"}
    code, out, _ = run_command(capsys, "fetch", result["id"], "--json")
    assert code == 0
    whole = json.loads(out)
    assert set(whole) == {"id", "title", "text", "url", "metadata"}
    assert "clear_cache" in whole["text"]


def test_fetch_shows_title_url_and_text(shell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run_command(capsys, "search", "midnight", "--scope", "memory", "--json")
    found = json.loads(out)
    _, out, _ = run_command(capsys, "fetch", found["id"])
    title, url, _, text = out.splitlines()
    assert (title, url, text) == (found["title"], found["url"], "We clear the cache at midnight")


def test_a_batch_is_answered_line_by_line(
    shell: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO('{"id": "a", "query": "cache"}\n{"id": "b", "query": " "}\n'))
    code, out, _ = run_command(capsys, "search", "--batch", "-")
    first, second = map(json.loads, out.splitlines())
    assert code == 0
    assert first["id"] == "a"
    assert first["results"]
    assert second == {"id": "b", "results": []}


def test_no_results_exit_with_one(shell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_command(capsys, "search", "xylophone")
    assert code == 1
    assert out.startswith("No observations found matching 'xylophone'.")
    assert run_command(capsys, "search", "xylophone", "--json")[:2] == (1, "")


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        (2, ("search",)),
        (2, ("search", "x", "--scope", "web")),
        (1, ("fetch", "doc:0")),
        (1, ("fetch", "code:../x.py#y")),
    ],
)
def test_usage_errors_and_missing_ids_are_reported_on_stderr(
    shell: Path, capsys: pytest.CaptureFixture[str], expected: int, words: tuple[str, ...]
) -> None:
    code, out, err = run_command(capsys, *words)
    assert (code, out) == (expected, "")
    assert err.startswith("Error: ")


def test_a_score_is_a_confidence_in_every_search(shell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The best result has a low score if most of the query's terms are missing."""
    (shell / "docs").mkdir(exist_ok=True)
    (shell / "docs" / "guide.md").write_text("# Guide\n\n## Clear the cache\n\nThe cache is cleared at midnight.\n")
    run_command(capsys, "docs", "add", "docs", "--name", "guide", "--wait")
    far = "the cache of pelicans on distant islands beyond every ocean"
    for words in (("code", "search"), ("memory", "search"), ("docs", "search"), ("search",)):
        near_score, far_score = (_best_score(capsys, *words, query) for query in ("clear the cache", far))
        assert 0 <= far_score < near_score <= 1, words
        # The documentation has only one page, which is always the best result.
        assert far_score < 0.6 or words == ("docs", "search"), words


def _best_score(capsys: pytest.CaptureFixture[str], *words: str) -> float:
    _, out, _ = run_command(capsys, *words, "--json")
    return max((json.loads(line)["score"] for line in out.splitlines()), default=0.0)


def test_a_file_type_without_files_is_reported(shell: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_command(capsys, "code", "search", "cache", "--type", "klingon")
    assert code == 1
    assert "no indexed file that ends in .klingon; the project has" in out
    code, out, _ = run_command(capsys, "code", "search", "cache", "--directory", "src", "--type", "klingon,rb")
    assert code == 1
    assert "no indexed file below src that ends in .klingon or .rb; the project has" in out
