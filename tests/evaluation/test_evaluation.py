"""Questions about this repository, answered by the real tools: `pytest -m evaluation`."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deltos.app import App
from deltos.config import Config
from tests.calling import ToolClient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.isolated.process_pool import ProcessPool
    from deltos.tool import Answer, JsonObject

pytestmark = pytest.mark.evaluation

REPOSITORY = Path(__file__).parents[2]
QUESTIONS = [
    "how is a damaged database moved aside",
    "one transaction that takes the write lock",
    "Database",
    "split text into words and stem them",
    "which files does git list",
    "cut an answer to the token budget",
    '"BEGIN IMMEDIATE"',
]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, workers: ProcessPool) -> Iterator[ToolClient]:
    """A session in this repository with a code index."""
    config = Config(tmp_path_factory.mktemp("home"), toolsets=("code",))
    with closing(App(config, workers=workers)) as app:
        client = ToolClient(app.tools(), REPOSITORY)
        answer = client.data("index_repository")
        assert answer["errors"] == []
        yield client


def search_code(client: ToolClient, query: str, **arguments: Any) -> tuple[Answer, list[JsonObject]]:
    answer = client.call("search_code", query=query, **arguments)
    assert answer.structured is not None
    results: list[JsonObject] = answer.structured["results"]
    assert results
    return answer, results


@pytest.mark.parametrize(
    ("query", "path", "code"),
    [
        ("how is a damaged database moved aside", "src/deltos/store/sqlite/database.py", "def move_aside"),
        ("one transaction that takes the write lock at once", "src/deltos/store/sqlite/database.py", "BEGIN IMMEDIATE"),
        ("apply database migrations", "src/deltos/store/sqlite/database.py", "igrat"),
        ("split_statements", "src/deltos/store/sqlite/database.py", "def split_statements"),
        ("write the index words and chunks of a file", "src/deltos/store/code_writer.py", "chunk"),
        ("set_skipped", "src/deltos/store/project_writer.py", "skipped"),
        ("Database.snapshot", "src/deltos/store/sqlite/database.py", "def snapshot"),
    ],
)
def test_database_functions_are_found(client: ToolClient, query: str, path: str, code: str) -> None:
    _, results = search_code(client, query, limit=5)
    first, *others = results
    assert (path == first["file_path"] and code in first["content"]) or path in [other["file_path"] for other in others]


@pytest.mark.parametrize(
    ("file_type", "suffixes"),
    [("py", {".py"}), ("markdown", {".md"}), ("scm", {".scm"}), ("toml,md", {".toml", ".md"})],
)
def test_only_files_of_the_requested_type_are_shown(client: ToolClient, file_type: str, suffixes: set[str]) -> None:
    _, results = search_code(client, "how is a function definition in python found", file_type=file_type, limit=20)
    assert {Path(result["file_path"]).suffix for result in results} <= suffixes


@pytest.mark.parametrize("directory", ["src/deltos/store", "tests", "src/deltos/domains/code"])
def test_only_files_below_the_requested_directory_are_shown(client: ToolClient, directory: str) -> None:
    _, results = search_code(client, "search the database for chunks", directory=directory, limit=20)
    assert all(result["file_path"].startswith(f"{directory}/") for result in results)


@pytest.mark.parametrize("query", QUESTIONS)
def test_context_is_the_text_around_the_result(client: ToolClient, query: str) -> None:
    _, [result, *others] = search_code(client, query)
    assert not any(other.get("context_before") or other.get("context_after") for other in others)
    lines = (REPOSITORY / result["file_path"]).read_text("utf-8").split("\n")
    before, after = lines[: result["start_line"] - 1], lines[result["end_line"] :]
    content = result["content"].removesuffix("\n… (truncated)")
    assert content.endswith("\n".join(lines[result["start_line"] - 1 : result["end_line"]]))
    assert content == result["content"] or after[0].startswith((" ", "\t")) or not after[0], (
        "only a definition that continues may be truncated"
    )
    assert bool(result["context_before"]) == any(line.strip() for line in before)
    assert bool(result["context_after"]) == any(line.strip() for line in after)
    assert result["context_before"] in "\n".join(before)
    assert result["context_after"] in "\n".join(after)


@pytest.mark.parametrize("query", QUESTIONS)
def test_concise_answers_are_much_shorter(client: ToolClient, query: str) -> None:
    full, concise = (search_code(client, query, concise=flag, limit=8)[0] for flag in (False, True))
    # With long code, concise answers are less than half as long (tests/domains/code); locations are not shortened.
    assert len(concise.text) <= len(full.text) * 0.75
    assert len(json.dumps(concise.structured)) <= len(json.dumps(full.structured)) * 0.75


def test_a_truncated_answer_reports_it_in_its_first_line_and_in_its_data(client: ToolClient) -> None:
    answer, results = search_code(client, "which tests check what is shown to whom", limit=50)
    assert answer.structured is not None
    assert len(answer.text) + len(json.dumps(answer.structured, ensure_ascii=False)) <= 20_000
    total = answer.structured["total_count"]
    of = f"of at least {total:,}" if answer.structured.get("total_is_least") else f"of {total:,}"
    assert answer.text.splitlines()[0].startswith(f"Showing {len(results)} {of} results (token budget reached")
    assert answer.structured["truncated"] is True
    assert answer.structured["original_size_chars"] > 20_000
    assert len(results) < min(50, total)


def test_an_answer_that_fits_is_not_marked_as_truncated(client: ToolClient) -> None:
    answer, _ = search_code(client, "statements of a migration", limit=1)
    assert answer.structured is not None
    assert answer.structured["truncated"] is False
    assert answer.structured["total_count"] > 1
    assert answer.text.startswith(f"Showing 1 of {answer.structured['total_count']} results (raise limit for more).\n")
