"""`deltos memory …` and `deltos hook …`."""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from deltos.app import App
from deltos.cli import hook
from deltos.cli.memory import add_commands
from deltos.config import Config
from deltos.errors import BadArgument, NotFound, SourceError, StoreUnwritable
from deltos.tool import CallNote
from tests.repositories import git, make_repository

HEAVY_MODULES = (
    "mcp",
    "pydantic",
    "numpy",
    "tree_sitter",
    "httpx",
    "anyio",
    "subprocess",
    "re2",
    "dataclasses",
    "hashlib",
)


class Shell:
    """Shell that runs `deltos memory` in this process, in a single working folder."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
        self._capsys = capsys
        self._monkeypatch = monkeypatch
        self.home = home

    def run(self, *arguments: str, stdin: str | bytes = "", code: int = 0) -> str:
        """Return the output of a command that exits with `code`."""
        raw = stdin.encode() if isinstance(stdin, str) else stdin
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
        parser = argparse.ArgumentParser()
        add_commands(parser.add_subparsers())
        args = parser.parse_args(["memory", *arguments])
        assert args.run(args) == code
        return self._capsys.readouterr().out

    def json(self, *arguments: str, stdin: str = "", code: int = 0) -> list[dict[str, Any]]:
        """Return the JSON lines of a command."""
        printed = self.run(*arguments, "--json", stdin=stdin, code=code)
        return [json.loads(line) for line in printed.splitlines()]


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Shell:
    (tmp_path / "app").mkdir()
    monkeypatch.chdir(tmp_path / "app")
    monkeypatch.setenv("DELTOS_HOME", str(tmp_path / "home"))
    return Shell(capsys, monkeypatch, tmp_path / "home")


def test_added_observations_can_be_searched_and_shown(shell: Shell) -> None:
    [added] = shell.json("add", "We deploy on Tuesdays", "--kind", "decision", "--source", "Ada", "--file", "ci.yml")
    [found] = shell.json("search", "when do we deploy")
    assert list(found) == ["id", "score", "snippet", "source", "created_at"]
    assert (found["id"], found["source"]) == (added["id"], "Ada")
    [shown] = shell.json("show", added["id"])
    assert (shown["text"], shown["files"], shown["code_changed"]) == (
        "We deploy on Tuesdays",
        ["ci.yml"],
        False,
    )
    assert "We deploy on Tuesdays" in shell.run("show", f"obs:{added['id']}")
    assert "decision: We deploy on Tuesdays" in shell.run("search", "deploy")
    assert "No observations found" in shell.run("search", "unicorns", code=1)


def test_scores_never_increase_down_the_list(shell: Shell) -> None:
    for text in (
        "Why do the nightly backups of the lockers take so long?",
        "The dump is compressed by one core, 40 minutes of it",
        "Backups of lockers stay for 90 days",
        "The lockers speak MQTT over TLS",
        "Photos of parcels are kept for 30 days",
    ):
        shell.run("add", text, "--session-id", "s")
    for question in (
        "why are nightly backups slow",
        "how long do backups of lockers stay",
        "how long is anything kept",
    ):
        hits = shell.json("search", question)
        scores = [hit["score"] for hit in hits]
        assert scores == sorted(scores, reverse=True)
        printed = shell.run("search", question).splitlines()
        assert [line[:4] for line in printed[: len(hits)]] == [f"{score:.2f}" for score in scores]


def test_search_is_filtered_by_kind_time_and_tag(shell: Shell) -> None:
    [rule] = shell.json("add", "We deploy on Tuesdays #ops", "--kind", "decision")
    [finding] = shell.json("add", "The deploy job takes nine minutes", "--kind", "finding")
    assert [row["id"] for row in shell.json("search", "deploy", "--kind", "finding")] == [finding["id"]]
    assert [row["id"] for row in shell.json("search", "deploy", "--tag", "ops")] == [rule["id"]]
    assert len(shell.json("search", "deploy", "--since", "yesterday")) == 2
    assert shell.json("search", "deploy", "--until", "2020-01-01", code=1) == []
    asked = '{"id": 1, "query": "deploy"}'
    [answer] = shell.json("search", "--batch", "-", "--kind", "decision", stdin=asked)
    assert [row["id"] for row in answer["results"]] == [rule["id"]]
    with pytest.raises(BadArgument, match="Unknown kind"):
        shell.run("search", "deploy", "--kind", "bogus")


def test_add_reads_standard_input(shell: Shell) -> None:
    assert shell.run("add", "-", stdin=b"from a pipe \xff").startswith("Remembered as obs:")
    assert shell.json("search", "pipe")[0]["snippet"] == "from a pipe \ufffd"


def test_import_keeps_all_fields_and_a_batch_is_answered_line_by_line(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "turns.jsonl"
    rows = [{"id": f"D1:{n}", "session_id": "1", "project_id": "c", "text": f"turn about topic{n}"} for n in range(3)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert shell.json("import", str(file)) == [{"added": 3, "updated": 0, "unchanged": 0, "failed": 0, "problems": []}]
    batch = '{"id": "q1", "query": "topic2"}\n\n{"id": "q2", "query": "nothing here"}\n'
    answers = shell.json("search", "--batch", "-", "--project-id", "c", "--limit", "1", stdin=batch)
    assert [answer["id"] for answer in answers] == ["q1", "q2"]
    assert answers[0]["results"][0]["id"] == "D1:2"
    assert answers[1]["results"] == []
    with pytest.raises(BadArgument, match="Line 1 of the batch"):
        shell.run("search", "--batch", "-", stdin="nonsense")


def test_invalid_lines_of_an_import_are_reported_on_stderr(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_commands(parser.add_subparsers())
    path = shell.home.parent / "bad.jsonl"
    path.write_bytes(b'{"text": "fine"}\nnonsense \xff\n')
    args = parser.parse_args(["memory", "import", str(path)])
    args.run(args)
    printed = capsys.readouterr()
    assert "1 added, 0 updated, 0 unchanged, 1 failed" in printed.out
    assert "line 2: " in printed.err


def test_a_file_that_cannot_be_read_is_an_error(shell: Shell) -> None:
    with pytest.raises(SourceError, match="Cannot read"):
        shell.run("import", "/nowhere/x.jsonl")


def test_export_to_a_file_is_private_and_imports_again(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.run("add", "something worth keeping")
    out = tmp_path / "out.jsonl"
    assert "Wrote 3 lines" in shell.run("export", str(out))
    if os.name == "posix":
        assert out.stat().st_mode & 0o077 == 0
    printed = shell.run("export")
    assert printed == out.read_text()
    monkeypatch.setenv("DELTOS_HOME", str(tmp_path / "second"))
    shell.run("import", str(out))
    assert shell.run("export") == printed


def test_two_data_folders_exchange_changes_through_a_folder(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    [added] = shell.json("add", "We deploy on Tuesdays", "--kind", "decision")
    [one] = shell.json("export", str(shared / "a1.jsonl"), "--since", "last")
    assert one["lines"] == 3  # the export has one line each for the project, the session and the observation
    assert shell.run("export", str(shared / "a2.jsonl"), "--since", "last") == "Nothing has changed since then.\n"
    assert not (shared / "a2.jsonl").exists()
    monkeypatch.setenv("DELTOS_HOME", str(tmp_path / "other"))
    assert shell.json("import", str(shared / "a1.jsonl"))[0]["added"] == 1
    shell.run("pin", added["id"])
    [later] = shell.json("add", "Releases are tagged by hand")
    assert [row["type"] for row in shell.json("export", "--since", later["id"])] == []
    assert shell.json("export", str(shared / "b1.jsonl"), "--since", "2020-01-01")[0]["lines"] == 4
    monkeypatch.setenv("DELTOS_HOME", str(tmp_path / "home"))
    [done] = shell.json("import", str(shared / "a1.jsonl"), str(shared / "b1.jsonl"))
    assert (done["added"], done["updated"], done["unchanged"]) == (1, 1, 1)
    [again] = shell.json("import", str(shared / "b1.jsonl"))
    assert (again["added"], again["updated"], again["unchanged"]) == (0, 0, 2)
    with pytest.raises(BadArgument, match="neither a date nor an id"):
        shell.run("export", "--since", "yesteryear")
    assert sorted(path.name for path in shared.iterdir()) == ["a1.jsonl", "b1.jsonl"]


def test_data_of_other_memory_tools_is_imported_and_an_empty_import_is_an_error(
    shell: Shell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exported = tmp_path / "memories.json"
    memories = [{"content": "shop-api listens on port 8080"}, {"content": ""}]
    exported.write_text(json.dumps({"export_metadata": {}, "memories": memories}))
    assert shell.run("import", str(exported)) == "1 added, 0 updated, 0 unchanged, 1 failed\n"
    assert shell.json("search", "which port")[0]["source"] == "mcp-memory-service"
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "empty.md").write_text("")
    with pytest.raises(SourceError, match=r"Nothing was imported from .*notes: 1 notes could not be read"):
        shell.run("import", str(notes))
    assert "empty.md: a note without observations" in capsys.readouterr().err


def test_purge_is_limited_to_a_project_and_other_verbs_have_no_such_option(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    [here] = shell.json("add", "a passing thought")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    [there] = shell.json("add", "another thought")
    shell.run("forget", here["id"], there["id"])
    with pytest.raises(NotFound, match="knows no project"):
        shell.run("purge", "--project", "elsewere")
    assert shell.json("purge", "--project", "elsewhere")[0]["purged"] == 1
    assert "Restored 1" in shell.run("restore", here["id"])
    for verb in ("export", "stats", "check"):  # these commands always apply to all projects
        with pytest.raises(SystemExit):
            shell.run(verb, "--project", "elsewhere")


def test_purge_also_deletes_arguments_stored_in_the_call_log(shell: Shell) -> None:
    note = CallNote("remember", "raw", {"text": "the Mirabellenturm decision"}, 0.1, 10, 10, is_error=False)
    with closing(App(Config(shell.home))) as app:
        assert app.calls is not None
        app.calls.note(note)
    [added] = shell.json("add", "the Mirabellenturm decision")
    shell.run("forget", added["id"])
    assert shell.json("purge")[0]["is_traceless"]
    assert [path for path in shell.home.rglob("*") if path.is_file() and b"Mirabellenturm" in path.read_bytes()] == []


def test_a_forgotten_observation_can_be_restored_until_it_is_purged(shell: Shell) -> None:
    [added] = shell.json("add", "a passing thought")
    assert shell.json("forget", added["id"], "nope") == [{"ids": [added["id"]], "unknown": ["nope"]}]
    assert shell.json("search", "thought", code=1) == []
    assert "Restored 1" in shell.run("restore", added["id"])
    shell.run("forget", added["id"])
    with pytest.raises(SystemExit):
        shell.run("purge", "--older-than-days", "999999999999")
    assert shell.json("purge", "--older-than-days", "100000")[0]["purged"] == 0
    assert shell.json("purge") == [{"purged": 1, "is_traceless": True, "copies": []}]
    with pytest.raises(NotFound):
        shell.run("restore", added["id"])
    with pytest.raises(NotFound):
        shell.run("show", added["id"])


@pytest.mark.parametrize("text", ["Prefer pnpm over npm in web/.", "Always use tabs.", "Never use mocks in tests."])
def test_a_rule_added_by_hand_is_a_preference(shell: Shell, text: str) -> None:
    shell.run("add", text)
    assert [row["kind"] for row in shell.json("timeline")] == ["preference"]


def test_timeline_lists_observations_around_a_date(shell: Shell) -> None:
    [first] = shell.json("add", "first step", "--session-id", "s")
    shell.run("add", "second step", "--session-id", "s")
    assert [row["text"] for row in shell.json("timeline")] == ["first step", "second step"]
    assert "> " in shell.run("timeline", first["id"], "--after", "1")
    assert len(shell.json("timeline", "--session-id", "s")) == 2
    assert len(shell.json("timeline", "today", "--before", "0")) == 2
    assert len(shell.json("timeline", "yesterday", "--before", "0")) == 2, (
        "the timeline must list observations since the start of that day"
    )
    assert shell.json("timeline", "2001-01-01", "--after", "0", code=1) == []
    assert (
        shell.run("timeline", "--project", "personal", code=1)
        == "There are no observations in this part of the timeline.\n"
    )
    with pytest.raises(NotFound, match="Give an id, a day such as today, or a time"):
        shell.run("timeline", "nope")


def test_stats_counts_observations_and_check_finds_no_damage(shell: Shell) -> None:
    shell.run("add", "twelve chars")
    [stats] = shell.json("stats")
    assert (stats["observations"], stats["text_characters"], stats["projects"]) == (1, 12, 1)
    assert "observations: 1" in shell.run("stats")
    assert shell.run("check") == "1 observation, no problems found\n"


def test_memory_is_disabled_and_enabled_for_the_current_project(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def submit_prompt() -> None:
        raw = io.BytesIO(b'{"session_id": "s", "prompt": "Always use tabs in the lexer"}')
        assert hook.main(["UserPromptSubmit"], stdin=raw, environ={"DELTOS_HOME": str(shell.home)}) == 0

    (tmp_path / "app" / ".git").mkdir(parents=True)
    (tmp_path / "app" / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "app" / "sub")
    assert shell.run("off").startswith("Memory is off for ")
    submit_prompt()
    assert shell.json("stats")[0]["observations"] == 0
    assert shell.run("on").startswith("Memory is on for ")
    submit_prompt()
    assert shell.json("stats")[0]["observations"] == 1


def test_forget_by_options_lists_observations_and_asks(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.run("add", "The parser is slow", "--session-id", "s1")
    shell.run("add", "We keep the parser", "--kind", "decision")
    shell.run("add", "The lexer is fast", "--session-id", "s1")
    parser = argparse.ArgumentParser()
    add_commands(parser.add_subparsers())
    monkeypatch.setattr(sys, "stdin", io.StringIO("no\n"))
    args = parser.parse_args(["memory", "forget", "--kind", "decision"])
    assert args.run(args) == 1
    question = capsys.readouterr().err
    assert "decision: We keep the parser\nForget 1 observation? [y/N]" in question
    assert "Nothing was forgotten." in question
    assert shell.json("stats")[0]["observations"] == 3
    assert shell.run("forget", "--kind", "decision", stdin="y\n").startswith("Forgot ")
    assert shell.json("search", "keep parser")[0]["snippet"] != "We keep the parser"
    with pytest.raises(NotFound, match="No observation matches"):
        shell.run("forget", "--session-id", "s1", "--until", "2001-01-01", "--yes")
    with pytest.raises(BadArgument, match="No observations are selected"):
        shell.run("forget")
    with pytest.raises(BadArgument, match="--since is not an ISO date"):
        shell.run("forget", "--since", "soon")
    assert shell.run("forget", "--query", "lexer", "--since", "2001-01-01", "--yes")
    assert shell.json("stats")[0]["observations"] == 1


def test_an_import_without_observations_is_an_error(shell: Shell) -> None:
    with pytest.raises(SourceError, match="Nothing was imported from -: 2 lines could not be read"):
        shell.run("import", "-", stdin="no json\n{}\n")
    with pytest.raises(SourceError, match="Nothing was imported"):
        shell.run("import", "-", stdin="")


def test_a_mistyped_project_gets_a_suggestion(shell: Shell) -> None:
    shell.run("add", "Prices are in cents", "--project-id", "acme/shop", "--new-project")
    for words in (("add", "More of it"), ("search", "cents"), ("timeline",), ("off",)):
        with pytest.raises(NotFound, match="knows no project acme/shpo") as refused:
            shell.run(*words, "--project-id", "acme/shpo")
        assert "Did you mean acme/shop?" in (refused.value.hint or "")


def test_projects_are_named_by_their_folders_and_shown_by_name(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.run("add", "Prices are in cents")
    here = Path.cwd()
    twin = here.parent / "other" / "app"
    twin.mkdir(parents=True)
    monkeypatch.chdir(twin)
    for word in ("app", str(here)):
        assert "Prices are in cents" in shell.run("search", "cents", "--project", word)
    switched = shell.run("off", "--project", str(here))
    assert (
        switched == "Memory is off for app. Hooks no longer record or show anything in this project."
        " Existing observations are kept.\n"
    )
    assert str(here) in (shell.home / "memory-off").read_text().splitlines()
    assert shell.run("on", "--project", "app").startswith("Memory is on for app.")
    assert (shell.home / "memory-off").read_text() == ""

    shell.run("add", "Dates are in UTC")
    with pytest.raises(NotFound, match="app matches several projects") as unclear:
        shell.run("search", "cents", "--project", "app")
    assert unclear.value.hint == f"Pass one of them: other/app, {here.parent.name}/app."
    assert "Dates are in UTC" in shell.run("search", "UTC", "--project", "other/app")


def test_observations_are_pinned_and_superseded(shell: Shell) -> None:
    older = shell.json("add", "The limit is 50 rps")[0]["id"]
    newer = shell.json("add", "The limit is 20 rps")[0]["id"]
    assert shell.run("pin", older) == f"Pinned obs:{older}\n"
    assert "pinned" in shell.run("show", older)
    assert shell.run("supersede", older, newer).startswith(f"obs:{newer} supersedes obs:{older}")
    assert f"(superseded by obs:{newer})" in shell.run("timeline")
    assert [hit["id"] for hit in shell.json("search", "limit rps")] == [newer]
    assert shell.run("unpin", newer) == f"Unpinned obs:{newer}\n"
    assert shell.run("restore", older)
    assert len(shell.json("search", "limit rps")) == 2


def test_a_damaged_file_is_set_aside_and_reported(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.home.mkdir()
    (shell.home / "memory.db").write_bytes(b"this is no database" * 100)
    parser = argparse.ArgumentParser()
    add_commands(parser.add_subparsers())
    args = parser.parse_args(["memory", "add", "still works"])
    args.run(args)
    assert "set aside as memory.db.corrupt-" in capsys.readouterr().err
    output = shell.run("check", code=1)
    assert "no problems found" not in output
    assert "no observation in it is readable; its observations are lost unless you have a copy" in output


def test_a_read_only_data_folder_can_be_read(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(
        prefix="read-only-"
    ) as folder:  # not pytest's folder, because other users cannot enter it
        home, project = Path(folder) / "home", Path(folder) / "app"
        project.mkdir()
        monkeypatch.chdir(project)
        monkeypatch.setenv("DELTOS_HOME", str(home))
        [added] = shell.json("add", "We deploy on Tuesdays", "--kind", "decision")
        shell.run("search", "Tuesdays")  # import everything before this process loses read permissions
        shell.run("show", added["id"])
        _run_hook("SessionStart", {"source": "startup"}, home, project)
        is_root = os.geteuid() == 0
        for path in (Path(folder), project, home, *home.iterdir()):
            path.chmod(0o555)
        if is_root:
            os.seteuid(65_534)
        try:
            [found] = shell.json("search", "when do we deploy")
            assert found["id"] == added["id"]
            assert "We deploy on Tuesdays" in shell.run("show", added["id"])
            # The export has one line for the project, two for sessions and one for the observation.
            assert len(shell.json("export")) == 4
            assert shell.json("stats")[0]["observations"] == 1
            assert "We deploy on Tuesdays" in _run_hook("SessionStart", {"source": "startup"}, home, project)
            assert _run_hook("SessionStart", {"source": "resume"}, home, project) == ""
            for refused in (["add", "More"], ["forget", added["id"]], ["check"], ["import", "-"]):
                with pytest.raises(StoreUnwritable, match="Cannot"):
                    shell.run(*refused, stdin='{"text": "x"}')
        finally:
            if is_root:
                os.seteuid(0)
            monkeypatch.chdir("/")
            for path in (Path(folder), project, home):
                path.chmod(0o700)


def _run_hook(event: str, payload: dict[str, str], home: Path, folder: Path) -> str:
    """Return the output of a hook that runs in this process."""
    output = io.StringIO()
    given = json.dumps({"session_id": "s", "cwd": str(folder), "hook_event_name": event, **payload}).encode()
    hook.main([event], stdin=io.BytesIO(given), stdout=output, environ={"DELTOS_HOME": str(home)})
    return output.getvalue()


class TestHook:
    """The hook never fails and imports few modules."""

    def run(
        self, event: str, payload: str, home: Path, folder: Path, heavy: tuple[str, ...] = HEAVY_MODULES
    ) -> subprocess.CompletedProcess[str]:
        code = "import sys; from deltos.cli.hook import main; code = main(sys.argv[1:])\n"
        code += f"print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)\nsys.exit(code)"
        # Coverage would run in the child process and import modules that the test forbids.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
        return subprocess.run(
            [sys.executable, "-c", code, event],
            input=payload,
            capture_output=True,
            text=True,
            env={**environment, "DELTOS_HOME": str(home)},
            cwd=folder,
        )

    def test_an_event_is_recorded_without_importing_heavy_modules(self, tmp_path: Path) -> None:
        payload = {"session_id": "s", "prompt": "From now on use tabs everywhere"}
        done = self.run("UserPromptSubmit", json.dumps(payload), tmp_path / "home", tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "[]\n")
        started = self.run("SessionStart", '{"session_id": "t"}', tmp_path / "home", tmp_path)
        assert "use tabs everywhere" in json.loads(started.stdout)["hookSpecificOutput"]["additionalContext"]

    def test_a_repository_without_a_remote_needs_no_git(self, tmp_path: Path) -> None:
        log = tmp_path / ".git" / "logs" / "HEAD"
        log.parent.mkdir(parents=True)
        for folder in ("objects", "refs"):
            (tmp_path / ".git" / folder).mkdir()
        (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        commit = "9fceb02d0ae598e95dc970b74767f19372d61af8"
        log.write_text(f"{'0' * 40} {commit} Ada <a@b> 1700000000 +0000\tcommit (initial): Begin\n")
        (tmp_path / "sub").mkdir()
        self.run("UserPromptSubmit", '{"prompt": "Always test the parser"}', tmp_path / "home", tmp_path / "sub")
        from deltos.store.sqlite.memory.reader import SqliteObservations

        self.run("SessionStart", "{}", tmp_path / "home", tmp_path / "sub")
        [project] = SqliteObservations(tmp_path / "home" / "memory.db").projects()
        assert project.project_id == f"git:{commit}"
        assert project.root == str(tmp_path)

    @pytest.mark.parametrize("payload", ["", "{", "[]", "\udcff"])
    def test_invalid_input_exits_with_zero(self, tmp_path: Path, payload: str) -> None:
        stdin = io.BytesIO(payload.encode("utf-8", "surrogateescape"))
        out, err = io.StringIO(), io.StringIO()
        environ = {"DELTOS_HOME": str(tmp_path)}
        assert hook.main(["PostToolUse"], stdin=stdin, stdout=out, stderr=err, environ=environ) == 0
        assert out.getvalue() == ""

    def test_an_unwritable_data_folder_exits_with_zero(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        err = io.StringIO()
        environ = {"DELTOS_HOME": str(tmp_path / "file" / "home")}
        assert hook.main(["SessionEnd"], stdin=io.BytesIO(b"{}"), stderr=err, environ=environ) == 0
        assert err.getvalue().startswith("deltos hook: Cannot create the data folder")

    def test_recording_an_event_does_not_open_memory(self, tmp_path: Path) -> None:
        payload = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {"stdout": "a.py"}}
        done = self.run(
            "PostToolUse", json.dumps(payload), tmp_path / "home", tmp_path, heavy=(*HEAVY_MODULES, "sqlite3")
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "[]\n")
        assert [path.name for path in (tmp_path / "home").iterdir()] == ["journal"]

    def test_the_hook_command_records_and_answers(self, tmp_path: Path) -> None:
        """The command exits without interpreter shutdown, so its output must be flushed."""
        command = [sys.executable, "-P", "-m", "deltos", "hook"]
        environment = {**os.environ, "DELTOS_HOME": str(tmp_path / "home")}
        prompt = json.dumps({"session_id": "s", "prompt": "From now on use tabs everywhere"})
        for event, payload, expected in (
            ("UserPromptSubmit", prompt, ""),
            ("SessionStart", "{}", "use tabs everywhere"),
        ):
            done = subprocess.run(
                [*command, event], input=payload, capture_output=True, text=True, env=environment, cwd=tmp_path
            )
            assert (done.returncode, done.stderr) == (0, "")
            assert expected in done.stdout

    def test_without_an_event_argument_the_event_name_is_read_from_the_input(self, tmp_path: Path) -> None:
        raw = b'{"hook_event_name": "SessionStart", "session_id": "s"}'
        assert hook.main([], stdin=io.BytesIO(raw), stdout=io.StringIO(), environ={"DELTOS_HOME": str(tmp_path)}) == 0


def test_hooks_and_commands_use_the_same_project_in_a_clone_without_remote(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_repository(tmp_path / "origin", {"a.txt": "a"})
    git(tmp_path, "clone", "-q", "origin", "clone")
    git(tmp_path / "clone", "remote", "remove", "origin")
    monkeypatch.chdir(tmp_path / "clone")

    def submit_prompt(prompt: str) -> None:
        event = {"session_id": "s", "cwd": str(tmp_path / "clone"), "prompt": prompt}
        raw = io.BytesIO(json.dumps(event).encode())
        assert hook.main(["UserPromptSubmit"], stdin=raw, environ={"DELTOS_HOME": str(shell.home)}) == 0

    submit_prompt("Always use tabs in the quokka module")
    assert len(shell.json("search", "quokka")) == 1
    shell.run("add", "The wombat module has spaces")
    submit_prompt("Never rename the numbat module")
    for word in ("quokka", "wombat", "numbat"):
        assert word in shell.json("search", word)[0]["snippet"]
