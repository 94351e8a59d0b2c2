"""Code search in a session: changing files, damaged indexes, several projects, code that was shown before."""

from __future__ import annotations

import os
import threading
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.config import Config
from deltos.domains.code.index import CodeFacts, CodeIndexer
from deltos.domains.code.tools import code_tools
from deltos.errors import BadArgument, NotFound
from deltos.store.sqlite.projects import SqliteProjects
from deltos.workspace.project_index import SMALL_CHANGE_FILES
from deltos.workspace.projects import Projects
from tests.calling import ToolClient
from tests.domains.code.code_queries import BODY, paths, search
from tests.domains.code.conftest import FILES
from tests.repositories import git, make_repository, write_files

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool
    from deltos.workspace.indexer import ParsedFile


def test_edits_new_files_and_deletions_take_effect_at_once(client: ToolClient, project: Path) -> None:
    assert paths(search(client, "quicksilver"))[:1] != ["src/cache.py"]
    write_files(project, {"src/cache.py": "\n\n\ndef quicksilver():\n    return 42\n"})
    [first, *_] = search(client, "quicksilver")["results"]
    assert (first["file_path"], first["start_line"], first["content"]) == (
        "src/cache.py",
        4,
        "def quicksilver():\n    return 42",
    )
    write_files(project, {"lib/metal.py": "def mercury_alloy():\n    return 1\n"})
    assert paths(search(client, "mercury_alloy"))[0] == "lib/metal.py"
    (project / "lib" / "metal.py").unlink()
    assert "lib/metal.py" not in paths(search(client, "mercury_alloy"))


def test_many_changes_are_answered_completely_or_with_a_note(client: ToolClient, project: Path) -> None:
    search(client, "cache")
    write_files(project, {f"many/f{n}.py": f"def added_{n}():\n    pass\n" for n in range(SMALL_CHANGE_FILES + 60)})
    answer = client.call("search_code", query="added_77")
    assert "being re-indexed" in answer.text or "many/f77.py" in answer.text
    client.call("index_repository")
    assert paths(search(client, "added_77"))[0] == "many/f77.py"


class GatedIndexer(CodeIndexer):
    """Indexer that waits in `extract` until its gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()

    def extract(self, file: ParsedFile) -> CodeFacts:
        self.gate.wait(60)
        return super().extract(file)


def test_a_first_search_without_waiting_notes_that_it_is_incomplete(tmp_path: Path, project: Path) -> None:
    indexer = GatedIndexer()
    with closing(Projects(SqliteProjects(tmp_path / "home"), [indexer], first_index_seconds=0.0)) as projects:
        client = ToolClient(code_tools(projects, token_budget=5_000), project)
        answer = client.call("search_code", query="clear_cache")
        assert "being indexed for the first time; this answer covers 0 files" in answer.text
        assert "No results found" in answer.text
        indexer.gate.set()
        client.call("index_repository")
        assert client.call("search_code", query="clear_cache").text.startswith("src/cache.py")


def test_a_damaged_index_is_rebuilt_within_the_search_with_a_note(
    tmp_path: Path, project: Path, workers: ProcessPool
) -> None:
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        search(ToolClient(app.tools(), project), "cache")
    [database] = (tmp_path / "home" / "projects").glob("*.db")
    content = database.read_bytes()
    database.write_bytes(content[:16_384] + os.urandom(len(content) - 16_384))
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        answer = ToolClient(app.tools(), project).call("search_code", query="clear_cache")
    assert "Note: the index was damaged; it was moved to" in answer.text
    assert answer.structured is not None
    assert paths(answer.structured)[0] == "src/cache.py"
    assert len(list((tmp_path / "home" / "projects").glob("*.corrupt-*"))) >= 1


def test_an_invalid_index_file_is_rebuilt_by_indexing_with_a_note(
    tmp_path: Path, project: Path, workers: ProcessPool
) -> None:
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        search(ToolClient(app.tools(), project), "cache")
    [database] = (tmp_path / "home" / "projects").glob("*.db")
    database.write_bytes(b"garbage" * 1_000)
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        answer = ToolClient(app.tools(), project).call("index_repository", concise=True)
    assert answer.structured is not None
    assert answer.structured["notes"][0].startswith("Note: the index was damaged; it was moved to")
    assert answer.structured["files_indexed"] == len(FILES)


def test_the_working_directory_is_the_project_of_later_calls(client: ToolClient, tmp_path: Path) -> None:
    other = write_files(tmp_path / "other", {"o.py": "def other_place():\n    pass\n"})
    answer = client.call("set_working_directory", directory="../other")
    assert answer.structured is None
    assert answer.text.startswith(f"Working directory: {other} (project ")
    assert "not indexed yet" in answer.text
    assert paths(search(client, "other_place")) == ["o.py"]
    assert "(project path:" in client.call("set_working_directory", directory=str(other)).text
    assert ", indexed)" in client.call("set_working_directory", directory=str(other)).text


@pytest.mark.parametrize("directory", ["missing", "src/cache.py", "", "/", "~"])
def test_an_invalid_working_directory_is_rejected_and_changes_nothing(
    client: ToolClient, project: Path, directory: str
) -> None:
    with pytest.raises((BadArgument, NotFound)):
        client.call("set_working_directory", directory=directory)
    assert client.project_root() == project


def test_another_project_is_searched_by_its_id(client: ToolClient, tmp_path: Path) -> None:
    root = make_repository(tmp_path / "tool", {"t.py": "def tool_only():\n    pass\n"})
    git(root, "remote", "add", "origin", "git@example.org:team/tool.git")
    indexed = client.data("index_repository", repo_path=str(root))
    assert indexed["project_id"] == "example.org/team/tool"
    answer = search(client, "tool_only", project_id="example.org/team/tool")
    assert (paths(answer), answer["project_id"]) == (["t.py"], "example.org/team/tool")
    assert client.data("index_repository", project_id="example.org/team/tool")["status"] == "up_to_date"
    with pytest.raises(NotFound, match="No indexed project is called 'nonsense'"):
        search(client, "x", project_id="nonsense")


def test_code_that_was_already_shown_is_later_referenced_by_id_and_lines(client: ToolClient, project: Path) -> None:
    agent = ToolClient(client.tools.values(), project, repeat=False)
    first = agent.call("search_code", query="clear the cache", limit=1)
    again = agent.call("search_code", query="forget the cache, clear it", limit=1)
    assert first.structured is not None
    assert again.structured is not None
    (shown,), (named,) = first.structured["results"], again.structured["results"]
    where = f"{shown['file_path']}:{shown['start_line']}-{shown['end_line']} {shown['symbol']}".rstrip()
    assert again.text.splitlines()[1:] == [f"{where} (shown before in this session: {named['shown_before']})"]
    assert named["shown_before"].startswith(f"code:{shown['file_path']}")
    assert (named["content"], named["start_line"]) == ("", shown["start_line"])
    assert "context_before" not in named


def test_a_repeated_query_shows_its_code_again(client: ToolClient, project: Path) -> None:
    agent = ToolClient(client.tools.values(), project, repeat=False)
    first, second = (agent.call("search_code", query="clear the cache").text for _ in range(2))
    assert first == second
    assert "shown before" not in second


def test_a_session_searches_its_own_clone_of_a_repository(client: ToolClient, tmp_path: Path) -> None:
    clones = []
    for name in ("first", "second"):
        root = make_repository(tmp_path / name, {"t.py": f"def only_in_{name}():\n    pass\n"})
        git(root, "remote", "add", "origin", "git@example.org:team/tool.git")
        clones.append(root)
        client.data("index_repository", repo_path=str(root))
    for name, root in zip(("first", "second"), clones, strict=True):
        own = ToolClient(client.tools.values(), root)
        found = search(own, "only_in", project_id="example.org/team/tool")["results"]
        assert [hit["symbol"] for hit in found] == [f"only_in_{name}"]
        [hit] = own.data("search", query="only_in", scope=["code"], project_id="example.org/team/tool")["results"]
        assert f"only_in_{name}" in own.data("fetch", id=hit["id"])["text"]
        assert f"only_in_{name}" in own.call("find_symbol", symbol=".*only.*", project_path="").text


def test_code_that_changed_is_shown_again(client: ToolClient, project: Path) -> None:
    agent = ToolClient(client.tools.values(), project, repeat=False)
    write_files(project, {"fresh.py": "def quokka():\n    return 1\n"})
    assert "return 1" in agent.call("search_code", query="quokka", limit=1).text
    write_files(project, {"fresh.py": "def quokka():\n    return 1 + 1\n"})
    assert "return 1 + 1" in agent.call("search_code", query="quokka", limit=1).text


def test_concise_answers_and_opted_out_sessions_repeat_code(client: ToolClient, project: Path) -> None:
    agent = ToolClient(client.tools.values(), project, repeat=False)
    for _ in range(2):
        assert "shown before" not in agent.call("search_code", query="clear the cache", concise=True).text
        assert "shown before" not in client.call("search_code", query="clear the cache").text


def test_truncated_code_does_not_count_as_shown(tmp_path: Path, workers: ProcessPool) -> None:
    root = write_files(tmp_path / "long", {"a.py": f"def compute_all():\n{BODY}"})
    with closing(App(Config(tmp_path / "home", token_budget=200), workers=workers)) as app:
        agent = ToolClient(app.tools(), root, repeat=False)
        for _ in range(2):
            assert "shown before" not in agent.call("search_code", query="compute_all", limit=1).text
