"""Results, errors and output of the code search tool."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deltos.app import App
from deltos.config import Config
from deltos.errors import BadArgument, NotFound
from deltos.wording import weak_match
from tests.calling import ToolClient
from tests.domains.code.code_queries import LONG_FUNCTIONS, paths, search
from tests.domains.code.conftest import FILES
from tests.repositories import write_files

if TYPE_CHECKING:
    from deltos.isolated.process_pool import ProcessPool


def test_the_first_search_indexes_the_project_and_returns_results(client: ToolClient) -> None:
    answer = search(client, "forget one cached value")
    [first, *_] = answer["results"]
    assert first["file_path"] == "src/cache.py"
    assert set(first) == {
        "chunk_id", "file_path", "start_line", "end_line", "symbol", "content", "similarity_score",
        "context_before", "context_after",
    }  # fmt: skip
    assert set(answer) == {
        "results", "notes", "total_count", "project_id", "database_name", "latency_ms", "truncated", "original_size_chars",
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
        ("test of the cache", "tests/test_cache.py", "test_clear_cache"),
    ],
)
def test_code_is_found_by_name_and_by_description(client: ToolClient, query: str, path: str, symbol: str) -> None:
    first = search(client, query)["results"][0]
    assert (first["file_path"], first["symbol"]) == (path, symbol)


def test_a_word_of_another_language_finds_the_code_with_the_word_and_its_translation(client: ToolClient) -> None:
    assert set(paths(search(client, "キャッシュ"))[:2]) == {"web/名前.js", "src/cache.py"}


@pytest.mark.parametrize("length", [2, 30])
@pytest.mark.parametrize(
    "query", ["AppContext.push", "push of AppContext", "how does AppContext push", "AppContext::push"]
)
def test_a_method_is_found_when_its_class_is_named(client: ToolClient, project: Path, query: str, length: int) -> None:
    body = "".join(f"        self.step_{n} = {n}\n" for n in range(length))
    methods = "".join(f"    def {name}(self):\n{body}\n" for name in ("__init__", "push", "pop"))
    write_files(project, {"src/ctx.py": f"class RequestContext:\n{methods}\nclass AppContext:\n{methods}"})
    first = search(client, query)["results"][0]
    assert (first["file_path"], first["symbol"]) == ("src/ctx.py", "AppContext.push")
    assert "def push(self):" in first["content"]


def test_the_text_shows_location_symbol_and_code(client: ToolClient) -> None:
    text = client.call("search_code", query="startServer", limit=1).text
    assert text == f"web/server.ts:1-3 startServer\n{str(FILES['web/server.ts']).rstrip()}"


def test_the_first_result_has_code_and_the_others_a_summary_line(client: ToolClient, project: Path) -> None:
    write_files(
        project,
        {
            "shop/till.py": "def open_till(key):\n    return drawer.unlock(key)\n",
            "shop/back.py": 'def till_report(\n    day, *, short=False\n):\n    """Sums up a day. Slowly."""\n    return day\n',
            "shop/old.go": "// TillCount tells how many tills there are.\nfunc TillCount() int {\n\treturn 1\n}\n",
        },
    )
    answer = client.call("search_code", query="which till to open in the shop")
    assert answer.text.startswith("shop/till.py:1-2 open_till\ndef open_till(key):\n    return drawer.unlock(key)\n\n")
    lines = answer.text.split("\n\n")[1].split("\n")
    assert "shop/back.py:1 till_report(day, *, short=False) — Sums up a day." in lines
    assert "shop/old.go:2 TillCount() int — TillCount tells how many tills there are." in lines
    assert answer.structured is not None
    first, *others = answer.structured["results"]
    assert first["content"] == "def open_till(key):\n    return drawer.unlock(key)"
    shown_lines = [f"{hit['file_path']}:{hit['start_line']} {hit['symbol']}{hit['content']}" for hit in others]
    assert shown_lines == lines
    assert [hit["end_line"] for hit in others if hit["file_path"] == "shop/back.py"] == [5]


@pytest.mark.parametrize("query", ['"clear_cache_"', "/clear_cache_.\\(/"])
def test_the_total_is_independent_of_limit_and_form(client: ToolClient, project: Path, query: str) -> None:
    write_files(project, {f"many/f{n}.py": f"def clear_cache_{n}():\n    pass\n" for n in range(45)})
    answers = [
        client.call("search_code", query=query, limit=limit, concise=concise)
        for limit in (1, 3, 10, 50)
        for concise in (False, True)
    ]
    structured = [answer.structured for answer in answers if answer.structured is not None]
    [total] = {data["total_count"] for data in structured}
    assert len(structured[-1]["results"]) == min(50, total)
    for answer, data in zip(answers, structured, strict=True):
        shown = len(data["results"])
        first_line = answer.text.splitlines()[0]
        assert first_line == f"Showing {shown} of {total} lines (raise limit for more)." or shown == total
        assert not answer.truncated


def test_an_incomplete_total_is_marked_as_a_lower_bound(client: ToolClient, project: Path) -> None:
    write_files(project, {f"many/f{n}.py": f"def clear_cache_{n}():\n    pass\n" for n in range(80)})
    for limit in (3, 50):
        answer = client.call("search_code", query="clear cache", limit=limit)
        assert answer.structured is not None
        assert answer.structured["total_is_least"] is True
        assert answer.text.startswith(f"Showing {limit} of at least {answer.structured['total_count']} results")


def test_a_weak_best_match_is_reported(client: ToolClient) -> None:
    weak = client.call("search_code", query="where the moon rises over the value of mountains and rivers")
    assert weak.structured is not None
    assert weak.structured["results"][0]["similarity_score"] < 0.5
    assert "Note: weak match (confidence 0." in weak.text
    assert "Not in this project: moon, rises, mountains, rivers. Try other words." in weak.text
    assert "weak match" in weak.structured["notes"][-1]
    assert "weak" not in client.call("search_code", query="clear_cache").text


def test_a_truncated_result_shows_the_lines_around_the_answer(
    tmp_path: Path, project: Path, workers: ProcessPool
) -> None:
    lines = [f"    step_{number}(state)" for number in range(45)]
    lines[40] = '    raise Overflow("the pantry is full")'
    (project / "src/pantry.py").write_text("def stow(state):\n" + "\n".join(lines) + "\n")
    answer = small_client(tmp_path, project, 300, workers).call(
        "search_code", query="raise overflow pantry full", limit=1
    )
    assert answer.structured is not None
    for shown in (answer.text, answer.structured["results"][0]["content"]):
        assert 'raise Overflow("the pantry is full")' in shown
        assert "… (truncated)" in shown


def test_a_quoted_text_is_found_literally(client: ToolClient) -> None:
    assert paths(search(client, "\"'0.0.0.0'\"")) == ["web/server.ts"]
    assert paths(search(client, '"def helper():"')) == ["src/cache.py"]
    assert paths(search(client, '"消去"')) == ["web/名前.js"]


def test_a_regular_expression_is_found(client: ToolClient) -> None:
    assert paths(search(client, "/def clear_\\w+/")) == ["src/cache.py"]
    assert paths(search(client, "/CLASS cache/i")) == ["src/cache.py"]
    assert paths(search(client, "/^import/")) == ["src/cache.py"]


def test_an_exact_query_without_match_is_searched_by_words_with_a_note(client: ToolClient) -> None:
    answer = client.call("search_code", query='"clear the cache"')
    assert "No exact match for literal 'clear the cache' in 8 files; closest by words:" in answer.text
    assert answer.structured is not None
    assert "src/cache.py" in paths(answer.structured)


def test_a_missing_name_is_reported_once(client: ToolClient) -> None:
    text = client.call("search_code", query='"clearCaches"').text
    assert text.count("closest by words") == 1
    assert "no definition" not in text
    assert "Similar names: clear_cache" in text


@pytest.mark.parametrize("query", ["/(a+)+$/", "/(x|x)*y/", "/.*.*.*=.*/"])
def test_no_regular_expression_hangs(client: ToolClient, project: Path, query: str) -> None:
    write_files(project, {"src/long_line.py": "# " + "a" * 200_000 + "!\n" + "b = 1\n" * 1_000})
    assert isinstance(search(client, query)["results"], list)


@pytest.mark.parametrize("query", ["/(/", "/[a-/", "/a{2,1}/"])
def test_an_invalid_regular_expression_is_an_error(client: ToolClient, query: str) -> None:
    with pytest.raises(BadArgument, match="Invalid regular expression"):
        client.call("search_code", query=query)


def test_results_can_be_limited_to_kinds_of_files_and_folders(client: ToolClient) -> None:
    assert {Path(path).suffix for path in paths(search(client, "cache", file_type="py"))} == {".py"}
    assert {Path(path).suffix for path in paths(search(client, "cache", file_type="ts,tsx"))} == {".tsx"}
    assert paths(search(client, "cache", file_type="markdown")) == ["docs/guide.md"]
    assert {path.split("/")[0] for path in paths(search(client, "cache", directory="src"))} == {"src"}
    assert paths(search(client, "cache", directory="web", file_type="tsx")) == ["web/panel.tsx"]
    assert paths(search(client, '"cache"', directory="docs")) == ["docs/guide.md"]


def test_a_folder_is_not_confused_with_another_with_the_same_prefix(client: ToolClient, project: Path) -> None:
    write_files(
        project,
        {"src_old/cache.py": "def clear_cache():\n    pass\n", "s%c/cache.py": "def clear_cache():\n    pass\n"},
    )
    assert not any(
        path.startswith(("src_old", "s%c")) for path in paths(search(client, "clear_cache", directory="src"))
    )


def test_one_result_per_file_comes_first(client: ToolClient) -> None:
    found = paths(search(client, "parts", limit=50))
    assert len(set(found)) == len(found[: len(set(found))])


@pytest.mark.parametrize(("limit", "expected"), [(0, 1), (-5, 1), (1, 1), (3, 3), (10**9, 50)])
def test_limits_out_of_range_are_clamped(client: ToolClient, project: Path, limit: int, expected: int) -> None:
    write_files(project, {f"many/f{n}.py": f"def clear_cache_{n}():\n    pass\n" for n in range(60)})
    assert len(search(client, "clear cache", limit=limit)["results"]) == expected


@pytest.mark.parametrize("query", ["", "   ", "\0\x01", "\ud800"])
def test_an_empty_query_is_an_error(client: ToolClient, query: str) -> None:
    with pytest.raises(BadArgument, match=r"empty|not valid Unicode"):
        client.call("search_code", query=query)


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
def test_no_query_can_break_the_search(client: ToolClient, query: str) -> None:
    answer = client.call("search_code", query=query)
    assert answer.structured is not None
    assert answer.structured["results"] or "No results found" in answer.text


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=40), file_type=st.text(max_size=8), limit=st.integers())
def test_any_arguments_are_answered_or_rejected_with_an_error(
    client: ToolClient, query: str, file_type: str, limit: int
) -> None:
    with suppress(BadArgument):
        assert client.call("search_code", query=query, file_type=file_type, limit=limit).text


@pytest.mark.parametrize("directory", ["..", "/etc", "missing", "src/cache.py", "a\0b", "x" * 9_999])
def test_a_bad_directory_is_an_error(client: ToolClient, directory: str) -> None:
    with pytest.raises((BadArgument, NotFound)):
        client.call("search_code", query="cache", directory=directory)


def test_an_empty_result_reports_searched_files_and_similar_names(client: ToolClient) -> None:
    answer = client.call("search_code", query="claer_cahce")
    assert answer.text.startswith("No results found for query: claer_cahce\nSearched 8 files.")
    assert "clear_cache" in answer.text.split("Similar names:")[1]
    assert answer.structured is not None
    assert answer.structured["results"] == []
    assert answer.structured["notes"] == [answer.text.splitlines()[-1]]


def test_a_file_type_without_files_lists_existing_languages(client: ToolClient) -> None:
    text = client.call("search_code", query="cache", file_type="rs", directory="src").text
    assert "no indexed file below src that ends in .rs; the project has python 4" in text


def test_context_shows_the_lines_before_and_after(client: ToolClient) -> None:
    [first] = search(client, "clear_cache", limit=1)["results"]
    assert first["content"].startswith("    def clear_cache(self, name):\n")
    assert first["context_before"].endswith("\n        self.values[name] = (value, time.time())")
    assert first["context_after"].startswith("def helper():\n")
    [whole] = search(client, "Cache", limit=1)["results"]
    assert whole["content"].startswith("class Cache:")
    assert whole["context_before"] == '"""Keeps values."""\n\nimport time'


def test_the_middle_of_a_long_function_keeps_its_header(client: ToolClient) -> None:
    [first] = search(client, "part_110", limit=1)["results"]
    assert first["symbol"] == "assemble_everything"
    assert first["start_line"] > 50
    assert first["content"].startswith("def assemble_everything(parts)\n…\n    part_")
    [head] = search(client, "assemble_everything", limit=1)["results"]
    assert head["content"].startswith("def assemble_everything(parts):\n    part_0")


def test_a_call_of_an_undotted_name_is_not_mistaken_for_the_header(client: ToolClient, project: Path) -> None:
    steps = "".join(f"    const step{n} = next({n});\n" for n in range(60))
    method = f"  visit(node) {{\n{steps}    if (node.last) return visit(node.child);\n  }}\n"
    write_files(project, {"web/walk.js": f"class Walker {{\n{method}}}\n"})
    [first] = search(client, '"return visit(node.child)"', limit=1)["results"]
    assert first["content"].startswith("visit(node)\n…\n")


def test_lines_of_windows_are_shown_without_their_carriage_returns(client: ToolClient) -> None:
    [first] = search(client, "on_windows", limit=1)["results"]
    assert (first["content"], first["end_line"]) == ("def on_windows(path):\n    return path", 2)


def test_an_undefined_name_is_reported(client: ToolClient) -> None:
    answer = client.call("search_code", query="CacheRebuilder")
    assert answer.text.startswith("Note: no definition is named CacheRebuilder; closest by words:")
    assert "Note" not in client.call("search_code", query="clear_cache").text
    assert "Note" not in client.call("search_code", query="cache").text


def test_a_concise_answer_shows_the_requested_line(client: ToolClient, project: Path) -> None:
    lines = [f"    step_{number}(state)" for number in range(60)]
    lines[40] = '    raise Overflow("the pantry is full")'
    (project / "src/pantry.py").write_text("def stow(state):\n" + "\n".join(lines) + "\n")
    for query in ('"pantry is full"', "/pantry is f.ll/", "raise overflow pantry full"):
        answer = client.call("search_code", query=query, concise=True)
        assert answer.structured is not None
        assert 'Overflow("the pantry is full")' in answer.structured["results"][0]["content"], query


def test_an_exact_match_in_code_comes_before_one_in_prose(client: ToolClient, project: Path) -> None:
    (project / "ABOUT.md").write_text("# About\n\nCall `brew_coffee()` first.\n")
    (project / "src/zz_machine.py").write_text("X = 1\n\n\ndef brew_coffee():\n    return X\n")
    first, second = search(client, '"brew_coffee()"')["results"]
    assert (first["file_path"], first["symbol"]) == ("src/zz_machine.py", "brew_coffee")
    assert second["file_path"] == "ABOUT.md"


@pytest.mark.parametrize("query", ["compute", "compute_7", "/compute/", "where is the first value computed"])
def test_a_concise_answer_is_at_most_half_as_long(client: ToolClient, project: Path, query: str) -> None:
    write_files(project, LONG_FUNCTIONS)
    full, concise = (client.call("search_code", query=query, concise=flag) for flag in (False, True))
    assert concise.structured is not None
    assert len(json.dumps(concise.structured)) <= len(json.dumps(full.structured)) / 2
    assert len(concise.text) <= len(full.text) / 2
    assert "database_name" not in concise.structured
    for result in concise.structured["results"]:
        assert "context_before" not in result
        assert len(result["content"]) <= 200


def small_client(tmp_path: Path, project: Path, token_budget: int, workers: ProcessPool) -> ToolClient:
    app = App(Config(tmp_path / "home", token_budget=token_budget), workers=workers)
    return ToolClient(app.tools(), project)


@pytest.mark.parametrize("concise", [False, True])
def test_an_answer_fits_the_budget_and_reports_truncation(
    tmp_path: Path, project: Path, concise: bool, workers: ProcessPool
) -> None:
    write_files(project, LONG_FUNCTIONS)
    answer = small_client(tmp_path, project, 1_000, workers).call(
        "search_code", query="compute", limit=50, concise=concise
    )
    assert answer.structured is not None
    assert len(answer.text) + len(json.dumps(answer.structured, ensure_ascii=False)) <= 4_000
    assert answer.truncated
    assert answer.structured["truncated"] is True
    assert answer.structured["original_size_chars"] > 4_000
    first_line = answer.text.splitlines()[0]
    shown = answer.text.count("many/f")
    assert first_line.startswith(f"Showing {shown} of {answer.structured['total_count']} results (token budget reached")
    best = answer.structured["results"][0]["similarity_score"]
    weak = weak_match(best, "Try other words.")
    assert answer.structured["notes"] == [first_line, weak]
    assert (len(answer.structured["results"]), answer.structured["total_count"]) == (shown, 40)
    assert answer.original_characters > len(answer.text)


@pytest.mark.parametrize("token_budget", [200, 1_000, 5_000])
def test_one_giant_result_is_truncated_to_the_budget(
    tmp_path: Path, project: Path, token_budget: int, workers: ProcessPool
) -> None:
    write_files(
        project, {"src/giant.py": 'GIANT = """' + 'gigantic text 日本 \\" ' * 9_000 + '"""\n' + "x = 1\n" * 3_000}
    )
    answer = small_client(tmp_path, project, token_budget, workers).call(
        "search_code", query='"gigantic text"', limit=1
    )
    assert answer.structured is not None
    assert answer.structured["truncated"] is True
    assert len(answer.text) + len(json.dumps(answer.structured, ensure_ascii=False)) <= token_budget * 4
    assert "gigantic" in answer.text
    assert answer.text.splitlines()[0].startswith("Showing 1 of 1 ")


FILES_WITH_MANY_MATCHES = {
    "a.py": "".join(f"def bind_{n}():\n    return needle({n})\n\n\n" for n in range(8)),
    "b.py": "needle(1)\n\n\nneedle(2)\n",
}


@pytest.mark.parametrize("query", ['"needle("', r"/needle\(\d/"])
def test_every_matching_line_is_counted_and_can_be_shown(client: ToolClient, project: Path, query: str) -> None:
    write_files(project, FILES_WITH_MANY_MATCHES)
    answer = search(client, query, limit=50, concise=True)
    assert answer["total_count"] == 10
    shown = {(each["file_path"], each["start_line"]) for each in answer["results"]}
    assert shown == {*(("a.py", 4 * n + 2) for n in range(8)), ("b.py", 1), ("b.py", 4)}
    text = client.call("search_code", query=query, limit=3).text
    assert text.startswith("Showing 3 of 10 lines (raise limit for more).\n")


def test_matches_on_blank_lines_are_counted_separately(client: ToolClient, project: Path) -> None:
    write_files(project, FILES_WITH_MANY_MATCHES)
    text = client.call("search_code", query="/^/", directory=".", file_type="py", limit=50).text
    assert "maximum per call: narrow the query, directory or file_type" in text
    assert "more matching lines not shown: blank" in text


def test_an_empty_result_lists_skipped_files(client: ToolClient, project: Path) -> None:
    write_files(project, {"big.py": "hidden_needle = 1\n" * 300_000, "small.lock": "hidden_needle\n"})
    aside = "(not searched: 1 too large, 1 data: big.py)"
    text = client.call("search_code", query='"hidden_needle"').text
    assert f"in 8 files {aside}; closest by words:" in text
    assert aside in client.call("search_code", query="hidden_needle zzyzx").text
    assert "small.lock" not in text
    assert "not searched" not in client.call("search_code", query='"hidden_needle"', directory="src").text


@pytest.mark.parametrize("query", ["cache.py", "src/cache.py"])
def test_the_name_of_a_file_is_answered_with_the_file(client: ToolClient, query: str) -> None:
    answer = client.call("search_code", query=query)
    assert f"Note: {query} is a file: src/cache.py" in answer.text
    assert "Similar names" not in answer.text
    assert answer.structured is not None
    assert paths(answer.structured)[0] == "src/cache.py"


def test_a_definition_outside_the_folder_is_reported(client: ToolClient) -> None:
    text = client.call("search_code", query="clear_cache", directory="docs").text
    assert "no definition is named clear_cache below docs" in text
    assert "Defined elsewhere: src/cache.py:17." in text
    assert "Similar names" not in text


def test_two_questions_in_one_query_are_both_answered_at_the_top(client: ToolClient, project: Path) -> None:
    noise = {f"noise/n{n}.py": f"def clear_server_{n}(cache, start):\n    return cache\n" for n in range(20)}
    write_files(project, noise)
    found = paths(search(client, "how is a cache cleared and where does the server start"))
    alone = [paths(search(client, query))[0] for query in ("how is a cache cleared", "where does the server start")]
    assert found[:2] == alone


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("removed/tree.go:133", "No indexed file is named removed/tree.go."),
        ("src/cache.py:9000", "src/cache.py has no code in line 9000."),
    ],
)
def test_a_location_that_is_not_indexed_is_reported_instead_of_similar_words(
    client: ToolClient, query: str, note: str
) -> None:
    answer = client.call("search_code", query=query)
    assert answer.structured is not None
    assert answer.structured["results"] == []
    assert answer.text.startswith(note)
