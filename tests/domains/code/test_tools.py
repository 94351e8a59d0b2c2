"""The code tools, as an agent calls them."""

from __future__ import annotations

import json
import os
import threading
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pinakes.app import App
from pinakes.config import Config
from pinakes.domains.code.index import CodeFacts, CodeIndexer
from pinakes.domains.code.tools import code_tools
from pinakes.errors import BadArgument, NotFound, NothingToIndex
from pinakes.store.migrations import PROJECT
from pinakes.workspace.project_index import SMALL_CHANGE_FILES
from pinakes.workspace.projects import Projects
from tests.calling import Desk
from tests.domains.code.conftest import FILES
from tests.repositories import git, make_repository, write_files

if TYPE_CHECKING:
    from pinakes.tool import JsonObject
    from pinakes.workspace.indexer import ParsedFile


BODY = "".join(f"    first_value_{n} = compute(first_value_{n})\n" for n in range(30))
LONG_FUNCTIONS = {f"many/f{n}.py": f"def compute_{n}():\n{BODY}" for n in range(40)}


def paths(answer: JsonObject) -> list[str]:
    return [result["file_path"] for result in answer["results"]]


def search(desk: Desk, query: str, **arguments: Any) -> JsonObject:
    return desk.data("search_code", query=query, **arguments)


# index_repository


def test_indexing_tells_what_was_indexed_and_skipped(desk: Desk, project: Path) -> None:
    write_files(project, {"photo.png": b"x", "empty.py": ""})
    answer = desk.call("index_repository")
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
        "errors", "duration_ms", "database_name",
    }  # fmt: skip
    assert "skipped: binary 1, empty 1" in answer.text
    assert "languages: python 4" in answer.text


def test_indexing_again_does_nothing_unless_forced(desk: Desk, project: Path) -> None:
    desk.call("index_repository")
    again = desk.data("index_repository")
    assert (again["status"], again["files_indexed"], again["chunks_created"]) == ("up_to_date", 0, 0)
    write_files(project, {"src/new.py": "def brand_new():\n    pass\n"})
    changed = desk.data("index_repository")
    assert (changed["status"], changed["files_indexed"], changed["chunks_created"]) == ("indexed", 1, 1)
    assert desk.data("index_repository", force_reindex=True)["files_indexed"] == len(FILES) + 1


def test_a_concise_answer_about_indexing_is_at_most_half_as_long(desk: Desk) -> None:
    full = desk.call("index_repository")
    concise = desk.call("index_repository", concise=True, force_reindex=True)
    assert len(concise.text) < len(full.text) / 2
    assert len(json.dumps(concise.structured)) < len(json.dumps(full.structured)) / 2


@pytest.mark.parametrize("path", ["missing", "src/cache.py", "x" * 10_000])
def test_a_path_that_is_no_folder_is_an_error(desk: Desk, path: str) -> None:
    with pytest.raises(NotFound):
        desk.call("index_repository", repo_path=path)


@pytest.mark.parametrize("path", ["  ", "a\0b"])
def test_a_path_that_can_be_none_is_an_error(desk: Desk, path: str) -> None:
    with pytest.raises(BadArgument):
        desk.call("index_repository", repo_path=path)


def test_a_repository_with_nothing_in_it_is_an_error(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    desk.root = tmp_path / "empty"
    with pytest.raises(NothingToIndex, match="No files to index"):
        desk.call("index_repository")
    with pytest.raises(NothingToIndex, match="No files to index"):
        desk.call("search_code", query="anything")


def test_a_repository_without_code_says_what_it_has_instead(desk: Desk, tmp_path: Path) -> None:
    desk.root = write_files(tmp_path / "photos", {"a.png": b"x", "b.png": b"x", "c.csv": "1,2\n"})
    assert desk.data("index_repository")["files_skipped"] == 3
    text = desk.call("search_code", query="sunset").text
    assert "nothing in this project could be indexed; skipped: binary 2, data 1" in text


def test_many_errors_are_shown_in_part_and_counted(tmp_path: Path) -> None:
    class Failing(CodeIndexer):
        def extract(self, file: object) -> Any:
            raise ValueError("no")

    root = write_files(tmp_path / "root", {f"f{n}.py": "x = 1\n" for n in range(30)})
    with closing(Projects(tmp_path / "home", PROJECT, [Failing()])) as projects:
        answer = Desk(code_tools(projects, token_budget=5_000), root).call("index_repository")
    assert answer.structured is not None
    assert len(answer.structured["errors"]) == 20
    assert answer.text.count("error: ") == 20
    assert answer.text.endswith("and 10 more errors")


# search_code: what is found


def test_the_first_search_indexes_and_finds(desk: Desk) -> None:
    answer = search(desk, "forget one cached value")
    [first, *_] = answer["results"]
    assert first["file_path"] == "src/cache.py"
    assert set(first) == {
        "chunk_id", "file_path", "start_line", "end_line", "symbol", "content", "similarity_score",
        "context_before", "context_after",
    }  # fmt: skip
    assert set(answer) == {
        "results", "total_count", "project_id", "database_name", "latency_ms", "truncated", "original_size_chars",
    }  # fmt: skip
    assert 0 <= first["similarity_score"] <= 1
    assert answer["truncated"] is False


@pytest.mark.parametrize(
    ("query", "path", "symbol"),
    [
        ("clear_cache", "src/cache.py", "Cache.clear_cache"),
        ("Cache.clear_cache", "src/cache.py", "Cache.clear_cache"),
        ("CLEAR_CACHE", "src/cache.py", "Cache.clear_cache"),
        ("clearCache", "src/cache.py", "Cache.clear_cache"),
        ("startServer", "web/server.ts", "startServer"),
        ("start server", "web/server.ts", "startServer"),
        ("Panel", "web/panel.tsx", "Panel"),
        ("clearAll", "web/名前.js", "clearAll"),
        ("キャッシュ", "web/名前.js", "clearAll"),
        ("test of the cache", "tests/test_cache.py", "test_clear_cache"),
    ],
)
def test_code_is_found_by_name_and_by_meaning(desk: Desk, query: str, path: str, symbol: str) -> None:
    first = search(desk, query)["results"][0]
    assert (first["file_path"], first["symbol"]) == (path, symbol)


def test_text_names_place_and_symbol_and_shows_the_code(desk: Desk) -> None:
    text = desk.call("search_code", query="startServer", limit=1).text
    assert text == f"web/server.ts:1-3 startServer\n{str(FILES['web/server.ts']).rstrip()}"


def test_a_quoted_text_is_found_as_it_stands(desk: Desk) -> None:
    assert paths(search(desk, "\"'0.0.0.0'\"")) == ["web/server.ts"]
    assert paths(search(desk, '"def helper():"')) == ["src/cache.py"]
    assert paths(search(desk, '"消去"')) == ["web/名前.js"]


def test_a_regular_expression_is_found(desk: Desk) -> None:
    assert paths(search(desk, "/def clear_\\w+/")) == ["src/cache.py"]
    assert paths(search(desk, "/CLASS cache/i")) == ["src/cache.py"]
    assert paths(search(desk, "/^import/")) == ["src/cache.py"]


def test_what_is_not_found_exactly_is_searched_by_words_and_says_so(desk: Desk) -> None:
    answer = desk.call("search_code", query='"clear the cache"')
    assert "No exact match for literal 'clear the cache' in 8 files; closest by words:" in answer.text
    assert answer.structured is not None
    assert "src/cache.py" in paths(answer.structured)


@pytest.mark.parametrize("query", ["/(a+)+$/", "/(x|x)*y/", "/.*.*.*=.*/"])
def test_no_regular_expression_hangs(desk: Desk, project: Path, query: str) -> None:
    write_files(project, {"src/long_line.py": "# " + "a" * 200_000 + "!\n" + "b = 1\n" * 1_000})
    assert isinstance(search(desk, query)["results"], list)


@pytest.mark.parametrize("query", ["/(/", "/[a-/", "/a{2,1}/"])
def test_an_invalid_regular_expression_is_an_error(desk: Desk, query: str) -> None:
    with pytest.raises(BadArgument, match="Invalid regular expression"):
        desk.call("search_code", query=query)


def test_results_can_be_limited_to_kinds_of_files_and_folders(desk: Desk) -> None:
    assert {Path(path).suffix for path in paths(search(desk, "cache", file_type="py"))} == {".py"}
    assert {Path(path).suffix for path in paths(search(desk, "cache", file_type="ts,tsx"))} == {".tsx"}
    assert paths(search(desk, "cache", file_type="markdown")) == ["docs/guide.md"]
    assert {path.split("/")[0] for path in paths(search(desk, "cache", directory="src"))} == {"src"}
    assert paths(search(desk, "cache", directory="web", file_type="tsx")) == ["web/panel.tsx"]
    assert paths(search(desk, '"cache"', directory="docs")) == ["docs/guide.md"]


def test_a_folder_is_not_mistaken_for_another_that_begins_alike(desk: Desk, project: Path) -> None:
    write_files(
        project,
        {"src_old/cache.py": "def clear_cache():\n    pass\n", "s%c/cache.py": "def clear_cache():\n    pass\n"},
    )
    assert not any(path.startswith(("src_old", "s%c")) for path in paths(search(desk, "clear_cache", directory="src")))


def test_one_result_per_file_comes_first(desk: Desk) -> None:
    found = paths(search(desk, "parts", limit=50))
    assert len(set(found)) == len(found[: len(set(found))])


@pytest.mark.parametrize(("limit", "expected"), [(0, 1), (-5, 1), (1, 1), (3, 3), (10**9, 50)])
def test_limits_out_of_range_are_clamped(desk: Desk, project: Path, limit: int, expected: int) -> None:
    write_files(project, {f"many/f{n}.py": f"def clear_cache_{n}():\n    pass\n" for n in range(60)})
    assert len(search(desk, "clear cache", limit=limit)["results"]) == expected


# search_code: bad input


@pytest.mark.parametrize("query", ["", "   ", "\0\x01", "\ud800"])
def test_an_empty_query_is_an_error(desk: Desk, query: str) -> None:
    with pytest.raises(BadArgument, match="empty"):
        desk.call("search_code", query=query)


@pytest.mark.parametrize(
    "query",
    [
        "cache AND NOT clear",
        'NEAR("cache" clear, 2)',
        'cache" OR "x',
        "symbol:cache*",
        "^cache",
        "col : {a b} : x",
        "'; DROP TABLE chunk; --",
        "cache\0\x1b[31m clear",
        "!!!",
        "+-*/ && ||",
        "∀x∈ℝ",
        "🦀 cache",
        "cache " * 1_700,
        "x" * 10_000,
        "%_%",
        "(",
        '"',
        "/",
        "//",
    ],
)
def test_no_query_can_break_the_search(desk: Desk, query: str) -> None:
    answer = desk.call("search_code", query=query)
    assert answer.structured is not None
    assert answer.structured["results"] or "No results found" in answer.text


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=40), file_type=st.text(max_size=8), limit=st.integers())
def test_any_arguments_are_answered_or_refused_by_name(desk: Desk, query: str, file_type: str, limit: int) -> None:
    with suppress(BadArgument):
        assert desk.call("search_code", query=query, file_type=file_type, limit=limit).text


@pytest.mark.parametrize("directory", ["..", "/etc", "missing", "src/cache.py", "a\0b", "x" * 9_999])
def test_a_bad_directory_is_an_error(desk: Desk, directory: str) -> None:
    with pytest.raises((BadArgument, NotFound)):
        desk.call("search_code", query="cache", directory=directory)


def test_nothing_found_says_what_was_searched_and_what_is_near(desk: Desk) -> None:
    answer = desk.call("search_code", query="claer_cahce")
    assert answer.text.startswith("No results found for query: claer_cahce\nSearched 8 files.")
    assert "clear_cache" in answer.text.split("Near names:")[1]
    assert answer.structured is not None
    assert answer.structured["results"] == []
    assert "Searched 8 files" in answer.structured["message"]


def test_no_file_of_a_kind_says_which_kinds_there_are(desk: Desk) -> None:
    text = desk.call("search_code", query="cache", file_type="rs", directory="src").text
    assert "no indexed file below src that ends in .rs; the project has python 4" in text


# search_code: what is shown


def test_context_shows_what_stands_before_and_after(desk: Desk) -> None:
    [first] = search(desk, "clear_cache", limit=1)["results"]
    assert first["content"].startswith("class Cache:")
    assert first["context_before"] == '"""Keeps values."""\n\nimport time'
    assert first["context_after"].startswith("def helper():\n")


def test_the_middle_of_a_long_function_keeps_its_header(desk: Desk) -> None:
    [first] = search(desk, "part_110", limit=1)["results"]
    assert first["symbol"] == "assemble_everything"
    assert first["start_line"] > 50
    assert first["content"].startswith("def assemble_everything(parts)\n…\n    part_")
    [head] = search(desk, "assemble_everything", limit=1)["results"]
    assert head["content"].startswith("def assemble_everything(parts):\n    part_0")


def test_a_bare_name_that_is_called_further_down_is_not_taken_for_the_header(desk: Desk, project: Path) -> None:
    steps = "".join(f"    const step{n} = next({n});\n" for n in range(60))
    method = f"  visit(node) {{\n{steps}    if (node.last) return visit(node.child);\n  }}\n"
    write_files(project, {"web/walk.js": f"class Walker {{\n{method}}}\n"})
    [first] = search(desk, '"return visit(node.child)"', limit=1)["results"]
    assert first["content"].startswith("visit(node)\n…\n")


def test_lines_of_windows_are_shown_without_their_carriage_returns(desk: Desk) -> None:
    [first] = search(desk, "on_windows", limit=1)["results"]
    assert (first["content"], first["end_line"]) == ("def on_windows(path):\n    return path", 2)


def test_a_name_that_nothing_has_is_said_not_to_be_defined(desk: Desk) -> None:
    answer = desk.call("search_code", query="CacheRebuilder")
    assert answer.text.startswith("Note: nothing named CacheRebuilder is defined here; closest by words:")
    assert "Note" not in desk.call("search_code", query="clear_cache").text
    assert "Note" not in desk.call("search_code", query="cache").text


def test_a_concise_answer_shows_the_line_that_was_asked_for(desk: Desk, project: Path) -> None:
    lines = [f"    step_{number}(state)" for number in range(60)]
    lines[40] = '    raise Overflow("the pantry is full")'
    (project / "src/pantry.py").write_text("def stow(state):\n" + "\n".join(lines) + "\n")
    for query in ('"pantry is full"', "/pantry is f.ll/", "raise overflow pantry full"):
        answer = desk.call("search_code", query=query, concise=True)
        assert answer.structured is not None
        assert 'Overflow("the pantry is full")' in answer.structured["results"][0]["content"], query


def test_an_exact_match_in_code_comes_before_one_in_prose(desk: Desk, project: Path) -> None:
    (project / "ABOUT.md").write_text("# About\n\nCall `brew_coffee()` first.\n")
    (project / "src/zz_machine.py").write_text("X = 1\n\n\ndef brew_coffee():\n    return X\n")
    first, second = search(desk, '"brew_coffee()"')["results"]
    assert (first["file_path"], first["symbol"]) == ("src/zz_machine.py", "brew_coffee")
    assert second["file_path"] == "ABOUT.md"


@pytest.mark.parametrize("query", ["compute", "compute_7", "/compute/", "where is the first value computed"])
def test_a_concise_answer_is_at_most_half_as_long(desk: Desk, project: Path, query: str) -> None:
    write_files(project, LONG_FUNCTIONS)
    full, concise = (desk.call("search_code", query=query, concise=flag) for flag in (False, True))
    assert concise.structured is not None
    assert len(json.dumps(concise.structured)) <= len(json.dumps(full.structured)) / 2
    assert len(concise.text) <= len(full.text) / 2
    assert "database_name" not in concise.structured
    for result in concise.structured["results"]:
        assert "context_before" not in result
        assert len(result["content"]) <= 200


def small_desk(tmp_path: Path, project: Path, token_budget: int) -> Desk:
    app = App(Config(tmp_path / "home", token_budget=token_budget))
    return Desk(app.tools(), project)


@pytest.mark.parametrize("concise", [False, True])
def test_an_answer_fits_the_budget_and_says_what_was_cut(tmp_path: Path, project: Path, concise: bool) -> None:
    write_files(project, LONG_FUNCTIONS)
    answer = small_desk(tmp_path, project, 1_000).call("search_code", query="compute", limit=50, concise=concise)
    assert answer.structured is not None
    assert len(answer.text) <= 4_000
    assert len(json.dumps(answer.structured, ensure_ascii=False)) <= 4_000
    assert answer.truncated
    assert answer.structured["truncated"] is True
    assert answer.structured["original_size_chars"] > 4_000
    first_line = answer.text.splitlines()[0]
    shown = answer.text.count("many/f")
    assert first_line.startswith(f"showing {shown}/")
    assert answer.original_characters > len(answer.text)


@pytest.mark.parametrize("token_budget", [200, 1_000, 5_000])
def test_one_giant_result_is_cut_to_the_budget(tmp_path: Path, project: Path, token_budget: int) -> None:
    write_files(
        project, {"src/giant.py": 'GIANT = """' + 'gigantic text 日本 \\" ' * 9_000 + '"""\n' + "x = 1\n" * 3_000}
    )
    answer = small_desk(tmp_path, project, token_budget).call("search_code", query='"gigantic text"', limit=1)
    assert answer.structured is not None
    assert answer.structured["truncated"] is True
    assert len(answer.text) <= token_budget * 4
    assert len(json.dumps(answer.structured, ensure_ascii=False)) <= token_budget * 4
    assert "gigantic" in answer.text
    assert answer.text.splitlines()[0].startswith("showing 1/1")


# search_code: freshness


def test_an_edit_a_new_file_and_a_deletion_are_seen_at_once(desk: Desk, project: Path) -> None:
    assert paths(search(desk, "quicksilver"))[:1] != ["src/cache.py"]
    write_files(project, {"src/cache.py": "\n\n\ndef quicksilver():\n    return 42\n"})
    [first, *_] = search(desk, "quicksilver")["results"]
    assert (first["file_path"], first["start_line"], first["content"]) == (
        "src/cache.py",
        4,
        "def quicksilver():\n    return 42",
    )
    write_files(project, {"lib/metal.py": "def mercury_alloy():\n    return 1\n"})
    assert paths(search(desk, "mercury_alloy"))[0] == "lib/metal.py"
    (project / "lib" / "metal.py").unlink()
    assert "lib/metal.py" not in paths(search(desk, "mercury_alloy"))


def test_many_changes_are_answered_with_a_note_or_whole(desk: Desk, project: Path) -> None:
    search(desk, "cache")
    write_files(project, {f"many/f{n}.py": f"def added_{n}():\n    pass\n" for n in range(SMALL_CHANGE_FILES + 60)})
    answer = desk.call("search_code", query="added_77")
    assert "being re-indexed" in answer.text or "many/f77.py" in answer.text
    desk.call("index_repository")
    assert paths(search(desk, "added_77"))[0] == "many/f77.py"


class GatedIndexer(CodeIndexer):
    """Extracts nothing while its gate is closed."""

    def __init__(self) -> None:
        self.gate = threading.Event()

    def extract(self, file: ParsedFile) -> CodeFacts:
        self.gate.wait(60)
        return super().extract(file)


def test_a_first_search_that_cannot_wait_says_that_it_is_not_complete(tmp_path: Path, project: Path) -> None:
    indexer = GatedIndexer()
    with closing(Projects(tmp_path / "home", PROJECT, [indexer], first_index_seconds=0.0)) as projects:
        desk = Desk(code_tools(projects, token_budget=5_000), project)
        answer = desk.call("search_code", query="clear_cache")
        assert "first index is still being built; this answer knows 0 files" in answer.text
        assert "No results found" in answer.text
        indexer.gate.set()
        desk.call("index_repository")
        assert desk.call("search_code", query="clear_cache").text.startswith("src/cache.py")


def test_a_damaged_index_is_rebuilt_within_the_search_and_the_answer_says_so(tmp_path: Path, project: Path) -> None:
    with closing(App(Config(tmp_path / "home"))) as app:
        search(Desk(app.tools(), project), "cache")
    [database] = (tmp_path / "home" / "projects").glob("*.db")
    content = database.read_bytes()
    database.write_bytes(content[:16_384] + os.urandom(len(content) - 16_384))
    with closing(App(Config(tmp_path / "home"))) as app:
        answer = Desk(app.tools(), project).call("search_code", query="clear_cache")
    assert "Note: the index was damaged; it was moved to" in answer.text
    assert answer.structured is not None
    assert paths(answer.structured)[0] == "src/cache.py"
    assert len(list((tmp_path / "home" / "projects").glob("*.corrupt-*"))) >= 1


def test_a_garbage_index_is_rebuilt_by_indexing_and_the_answer_says_so(tmp_path: Path, project: Path) -> None:
    with closing(App(Config(tmp_path / "home"))) as app:
        search(Desk(app.tools(), project), "cache")
    [database] = (tmp_path / "home" / "projects").glob("*.db")
    database.write_bytes(b"garbage" * 1_000)
    with closing(App(Config(tmp_path / "home"))) as app:
        answer = Desk(app.tools(), project).call("index_repository", concise=True)
    assert answer.text.startswith("Note: the index was damaged; it was moved to")
    assert answer.structured is not None
    assert answer.structured["files_indexed"] == len(FILES)


# projects and sessions


def test_the_working_directory_is_the_project_of_later_calls(desk: Desk, tmp_path: Path) -> None:
    other = write_files(tmp_path / "other", {"o.py": "def other_place():\n    pass\n"})
    answer = desk.call("set_working_directory", directory="../other")
    assert answer.structured is not None
    assert answer.structured["directory"] == str(other)
    assert "not indexed yet" in answer.text
    assert paths(search(desk, "other_place")) == ["o.py"]
    assert "(project path:" in desk.call("set_working_directory", directory=str(other)).text
    assert ", indexed)" in desk.call("set_working_directory", directory=str(other)).text


@pytest.mark.parametrize("directory", ["missing", "src/cache.py", "", "/", "~"])
def test_a_working_directory_that_is_no_project_is_refused_and_changes_nothing(
    desk: Desk, project: Path, directory: str
) -> None:
    with pytest.raises((BadArgument, NotFound)):
        desk.call("set_working_directory", directory=directory)
    assert desk.project_root() == project


def test_another_project_is_searched_by_its_id(desk: Desk, tmp_path: Path) -> None:
    root = make_repository(tmp_path / "tool", {"t.py": "def tool_only():\n    pass\n"})
    git(root, "remote", "add", "origin", "git@example.org:team/tool.git")
    indexed = desk.data("index_repository", repo_path=str(root))
    assert indexed["project_id"] == "example.org/team/tool"
    answer = search(desk, "tool_only", project_id="example.org/team/tool")
    assert (paths(answer), answer["project_id"]) == (["t.py"], "example.org/team/tool")
    assert desk.data("index_repository", project_id="example.org/team/tool")["status"] == "up_to_date"
    with pytest.raises(NotFound, match="No indexed project has the id 'nonsense'"):
        search(desk, "x", project_id="nonsense")


# what a session was shown


def test_code_that_was_shown_in_full_is_afterwards_named_by_id_and_lines(desk: Desk, project: Path) -> None:
    agent = Desk(desk.tools.values(), project, repeat=False)
    first = agent.call("search_code", query="clear the cache", limit=1)
    again = agent.call("search_code", query="clear the cache", limit=1)
    assert first.structured is not None
    assert again.structured is not None
    (shown,), (named,) = first.structured["results"], again.structured["results"]
    where = f"{shown['file_path']}:{shown['start_line']}-{shown['end_line']} {shown['symbol']}".rstrip()
    assert again.text.splitlines() == [f"{where} (shown before in this session: {named['shown_before']})"]
    assert named["shown_before"].startswith(f"code:{shown['file_path']}")
    assert (named["content"], named["start_line"]) == ("", shown["start_line"])
    assert "context_before" not in named


def test_code_that_changed_is_shown_again(desk: Desk, project: Path) -> None:
    agent = Desk(desk.tools.values(), project, repeat=False)
    write_files(project, {"fresh.py": "def quokka():\n    return 1\n"})
    assert "return 1" in agent.call("search_code", query="quokka", limit=1).text
    write_files(project, {"fresh.py": "def quokka():\n    return 1 + 1\n"})
    assert "return 1 + 1" in agent.call("search_code", query="quokka", limit=1).text


def test_concise_answers_and_sessions_that_want_it_repeat_code(desk: Desk, project: Path) -> None:
    agent = Desk(desk.tools.values(), project, repeat=False)
    for _ in range(2):
        assert "shown before" not in agent.call("search_code", query="clear the cache", concise=True).text
        assert "shown before" not in desk.call("search_code", query="clear the cache").text


def test_code_that_was_cut_does_not_count_as_shown(tmp_path: Path) -> None:
    root = write_files(tmp_path / "long", {"a.py": f"def compute_all():\n{BODY}"})
    with closing(App(Config(tmp_path / "home", token_budget=200))) as app:
        agent = Desk(app.tools(), root, repeat=False)
        for _ in range(2):
            assert "shown before" not in agent.call("search_code", query="compute_all", limit=1).text
