"""The commands `index`, `code search`, `status` and `doctor` in a shell."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from deltos.cli.main import main, parser

if TYPE_CHECKING:
    from pathlib import Path


def run_command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_index_prints_a_summary(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_command(capsys, "index", str(project))
    assert code == 0
    assert "3 files parsed" in out
    assert "index: 3 files" in out


def test_index_as_json_is_one_object(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_command(capsys, "index", str(project), "--json")
    report = json.loads(out)
    assert code == 0
    assert set(report) == {
        "project_id",
        "files_indexed",
        "files_skipped",
        "chunks_created",
        "errors",
        "duration_ms",
    }
    assert report["files_indexed"] == 3
    assert report["chunks_created"] >= 3


def test_a_second_index_parses_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(capsys, "index", str(project))
    _, out, _ = run_command(capsys, "index", str(project), "--json")
    assert json.loads(out)["files_indexed"] == 0


def test_force_parses_everything_again(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(capsys, "index", str(project))
    _, out, _ = run_command(capsys, "index", str(project), "--force", "--json")
    assert json.loads(out)["files_indexed"] == 3


def test_search_indexes_automatically_and_shows_the_code(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_command(capsys, "code", "search", "clear the cache", "--project", str(project))
    assert code == 0
    assert out.startswith("src/cache.py:")
    assert "def clear_cache" in out


def test_search_as_json_has_a_fixed_format(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run_command(
        capsys, "code", "search", "clear_cache", "--project", str(project), "--json", "--limit", "1"
    )
    hit = json.loads(out)
    assert set(hit) == {"path", "start_line", "end_line", "symbol", "kind", "score", "text"}
    assert hit["path"] == "src/cache.py"
    assert hit["symbol"] == "clear_cache"


def test_the_note_about_more_results_names_the_option(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Notes name the option --limit, not the tool argument `limit`."""
    for number in range(4):
        (project / f"shelf_{number}.py").write_text(f"def clear_shelf_{number}(cache):\n    cache.pop({number})\n")
    for words in (
        ("code", "search", "shelf", "--project", str(project)),
        ("search", "shelf", "--project", str(project)),
    ):
        _, out, _ = run_command(capsys, *words, "--limit", "1")
        assert "(raise --limit for more)" in out.splitlines()[0], words


def test_concise_search_shows_only_locations(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run_command(
        capsys, "code", "search", "clear_cache", "--project", str(project), "--concise", "--limit", "1"
    )
    assert out.count("\n") == 1


def test_search_filters_by_type_and_directory(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run_command(
        capsys, "code", "search", "server cache", "--project", str(project), "--type", "ts", "--json"
    )
    assert {json.loads(line)["path"] for line in out.splitlines()} == {"src/server.ts"}
    _, out, _ = run_command(
        capsys, "code", "search", "cache", "--project", str(project), "--directory", "src", "--json"
    )
    assert all(json.loads(line)["path"].startswith("src/") for line in out.splitlines())


def test_a_batch_is_answered_line_by_line(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO('{"id": "a", "query": "clear_cache"}\n\n{"id": "b", "query": ""}\n'))
    code, out, _ = run_command(capsys, "code", "search", "--batch", "-", "--project", str(project))
    first, second = map(json.loads, out.splitlines())
    assert code == 0
    assert first["id"] == "a"
    assert first["results"][0]["path"] == "src/cache.py"
    assert second == {"id": "b", "results": []}


def test_an_invalid_batch_line_is_reported_with_its_number(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    batch = tmp_path / "batch.jsonl"
    batch.write_text('{"id": 1, "query": "x"}\nnot json\n')
    code, _, err = run_command(capsys, "code", "search", "--batch", str(batch), "--project", str(project))
    assert code == 2
    assert "Line 2" in err


def test_no_results_exit_with_one_and_report_the_searched_scope(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run_command(capsys, "code", "search", "zzyzx", "--project", str(project))
    assert code == 1
    assert "No results found for query: zzyzx" in out
    assert "Searched 3 files" in out
    code, out, _ = run_command(capsys, "code", "search", "zzyzx", "--project", str(project), "--json")
    assert (code, out) == (1, "")


@pytest.mark.parametrize(
    "words",
    [
        ("code", "search"),
        ("code", "search", "x", "--directory", "../elsewhere"),
        ("code", "search", "x", "--project", "missing"),
        ("index", "missing"),
        ("index", "README.md"),
    ],
)
def test_wrong_usage_exits_with_two_and_a_clear_error(
    words: tuple[str, ...], project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    code, out, err = run_command(capsys, *words)
    assert code == 2
    assert out == ""
    assert err.startswith("Error: ")


def test_an_unwritable_data_folder_gives_a_clear_error(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder should be")
    monkeypatch.setenv("DELTOS_HOME", str(blocked))
    code, _, err = run_command(capsys, "index", str(project))
    assert code == 1
    assert "DELTOS_HOME" in err


def test_status_lists_indexed_projects(project: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run_command(capsys, "status")
    assert "No project is indexed yet" in out
    run_command(capsys, "index", str(project))
    _, out, _ = run_command(capsys, "status")
    assert str(project) in out
    assert "3 files" in out
    _, out, _ = run_command(capsys, "status", "--json")
    row = json.loads(out)
    assert row["root"] == str(project)
    assert row["exists"]


def test_doctor_finds_no_problem(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(capsys, "index", str(project))
    code, out, _ = run_command(capsys, "doctor")
    assert code == 0
    assert "BAD" not in out
    assert "sound" in out


def test_doctor_names_a_damaged_index(project: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(capsys, "index", str(project))
    (database,) = (home / "projects").glob("*.db")
    database.write_bytes(b"not a database" * 1000)
    code, out, _ = run_command(capsys, "doctor", "--json")
    findings = [json.loads(line) for line in out.splitlines()]
    assert code == 1
    assert [finding["what"] for finding in findings if not finding["ok"]] == [f"index {database.name}"]


def test_doctor_names_unreadable_api_descriptions(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "good.yaml").write_text("openapi: 3.0.0\npaths: {/a: {get: {}}}\n")
    (shop / "bad.json").write_text('{"openapi": ')
    run_command(capsys, "api", "add", str(shop))
    assert (home / "library.db").exists()
    code, out, _ = run_command(capsys, "doctor")
    assert code == 0
    assert "index library.db: sound; shop/bad.json could not be read: Not valid JSON" in out


def test_doctor_checks_memory_and_names_the_repair_command(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(capsys, "memory", "add", "quokkas need water")
    assert run_command(capsys, "doctor")[0] == 0
    (home / "memory.db").write_bytes(b"not a database" * 1000)
    code, out, _ = run_command(capsys, "doctor")
    assert code == 1
    assert "BAD  index memory.db" in out
    assert "deltos memory check" in out


def test_a_damaged_index_is_set_aside_rebuilt_and_reported(
    project: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_command(capsys, "index", str(project))
    (database,) = (home / "projects").glob("*.db")
    database.write_bytes(b"not a database" * 1000)
    code, out, _ = run_command(capsys, "index", str(project))
    assert code == 0
    assert "damaged" in out
    assert list((home / "projects").glob("*.corrupt-*"))
    _, out, _ = run_command(capsys, "doctor")
    assert "set aside" in out


def test_doctor_reports_an_unwritable_data_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder should be")
    monkeypatch.setenv("DELTOS_HOME", str(blocked))
    code, out, _ = run_command(capsys, "doctor")
    assert code == 1
    assert "BAD  data folder" in out


def test_help_and_version_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    assert "start here" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.startswith("deltos ")


def test_a_progress_bar_is_drawn_on_a_terminal(project: Path, home: Path) -> None:
    main_fd, terminal = os.openpty()
    command = [sys.executable, "-P", "-m", "deltos", "index", str(project)]
    done = subprocess.run(command, stderr=terminal, stdout=subprocess.PIPE, text=True, check=True)
    os.close(terminal)
    drawn = os.read(main_fd, 65536).decode()
    os.close(main_fd)
    assert "3/3 files" in drawn
    assert "━" in drawn
    assert "3 files parsed" in done.stdout


def test_ctrl_c_exits_cleanly_and_keeps_the_previous_index(project: Path, home: Path) -> None:
    modules = [project / f"module_{number}.py" for number in range(1500)]
    for module in modules:
        module.write_text("def f():\n    return 1\n" * 60)
    command = [sys.executable, "-u", "-P", "-m", "deltos", "index", str(project)]
    main_fd, terminal = os.openpty()
    process = subprocess.Popen(command, stderr=terminal, stdout=subprocess.PIPE, text=True, start_new_session=True)
    os.close(terminal)
    drawn = b""
    while b"files" not in drawn:  # the progress bar is drawn, so the work has begun
        drawn += os.read(main_fd, 65536)
    os.killpg(process.pid, signal.SIGINT)
    while True:
        try:
            piece = os.read(main_fd, 65536)
        except OSError:
            break
        if not piece:
            break
        drawn += piece
    assert process.wait(60) == 1
    assert b"Interrupted. The existing index is unchanged." in drawn
    assert b"Traceback" not in drawn
    for module in modules:
        module.unlink()
    assert main(["code", "search", "clear_cache", "--project", str(project), "--limit", "1"]) == 0


def test_a_closed_pipe_does_not_cause_a_crash(project: Path, home: Path) -> None:
    command = f"{sys.executable} -P -m deltos code search cache --project {project} --json | head -c 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


def test_every_command_in_the_help_has_its_own_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    listing = capsys.readouterr().out.partition("positional arguments:")[2].partition("options:")[0]
    listed = re.findall(r"^ {4}([a-z-]+)", listing, re.MULTILINE)
    assert len(listed) > 10
    for command in set(listed) - {"mcp", "hook"}:
        with pytest.raises(SystemExit) as ended:
            main([command, "--help"])
        assert (ended.value.code, "usage:" in capsys.readouterr().out) == (0, True), command


SEARCHES = [("search",), ("code", "search"), ("docs", "search"), ("api", "search"), ("memory", "search")]


def parse_query(*words: str) -> str:
    """Return the query that the command line is parsed as."""
    query: str = parser(words[0]).parse_args(words).query
    return query


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(
    ("words", "query"),
    [
        (("how", "to", "install"), "how to install"),
        (("how to", "install"), "how to install"),
        (("how", "--limit", "3", "to", "install"), "how to install"),
        (("--reload", "option"), "--reload option"),
        (("--reload option", "--json"), "--reload option"),
        (("-> None",), "-> None"),
        (("->", "None"), "-> None"),
        (("-x",), "-x"),
        (("-1",), "-1"),
        (("--", "--limit", "of", "--json"), "--limit of --json"),
        (("--limit", "3", "--", "-h"), "-h"),
        (("what", "is", "--", "--"), "what is --"),
        (("--batch", "-"), ""),
        ((), ""),
    ],
)
def test_a_query_may_have_several_words_and_hyphens(
    search: tuple[str, ...], words: tuple[str, ...], query: str
) -> None:
    assert parse_query(*search, *words) == query


@pytest.mark.parametrize("search", SEARCHES)
def test_options_before_and_after_a_query_are_parsed(search: tuple[str, ...]) -> None:
    arguments = parser(search[0]).parse_args([*search, "--json", "--lim", "3", "-x", "a word", "--batch=-"])
    assert (arguments.query, arguments.limit, arguments.json, arguments.batch) == ("-x a word", 3, True, "-")


@pytest.mark.parametrize("search", SEARCHES)
def test_a_mistyped_option_is_not_part_of_the_query(
    search: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse_query(*search, "install", "--limt", "3")
    assert (
        "Unknown option: --limt. Did you mean --limit? Put -- before the query to search for it."
        in capsys.readouterr().err
    )
    with pytest.raises(SystemExit):
        parse_query(*search, "install", "--limit", "--json")
    assert "--limit: expected one argument" in capsys.readouterr().err


def test_an_unknown_option_in_the_query_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    parse_query("docs", "search", "--reload", "option")
    note = capsys.readouterr().err
    assert note.startswith("Treated as part of the query, because there is no such option: --reload.")
    parse_query("docs", "search", "--", "--reload", "option")
    parse_query("code", "search", "-> None")
    assert capsys.readouterr().err == ""
