"""`deltos install` and `deltos uninstall`."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from deltos.cli.hook import main as hook
from deltos.cli.install import find_launch
from deltos.cli.main import main
from deltos.clients.uv import requirement


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder without any client."""
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    return tmp_path


def test_install_writes_the_server_and_the_hooks_and_prints_the_files(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / ".claude.json").write_text('{"numStartups": 3}\n')
    assert main(["install", "claude-code"]) == 0
    output = capsys.readouterr().out
    assert f"changed: {home / '.claude.json'}" in output
    assert f"changed: {home / '.claude' / 'settings.json'}" in output
    assert f"backup:  {home / '.claude.json.deltos-1.bak'}" in output
    assert (home / ".claude.json.deltos-1.bak").read_text() == '{"numStartups": 3}\n'
    config = json.loads((home / ".claude.json").read_text())
    assert config["numStartups"] == 3
    assert Path(config["mcpServers"]["deltos"]["command"]).is_absolute()
    assert main(["install", "claude-code"]) == 0
    assert capsys.readouterr().out == "Claude Code already has Deltos.\n"


def test_the_installed_command_starts_and_the_installed_hook_runs(home: Path) -> None:
    main(["install", "claude-code"])
    server = json.loads((home / ".claude.json").read_text())["mcpServers"]["deltos"]
    help_text = subprocess.run(
        [server["command"], *server["args"], "--help"], capture_output=True, text=True, check=True
    )
    assert help_text.stdout.startswith("usage: deltos mcp")
    hooks = json.loads((home / ".claude" / "settings.json").read_text())["hooks"]
    prompt = {"session_id": "s", "cwd": str(home), "prompt": "We decided to use SQLite for the store."}
    ran = subprocess.run(
        hooks["UserPromptSubmit"][0]["hooks"][0]["command"],
        shell=True,
        input=json.dumps(prompt),
        text=True,
        capture_output=True,
        env={**os.environ, "DELTOS_HOME": str(home / "data")},
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert len([*(home / "data" / "journal").iterdir()]) == 1


def test_dry_run_shows_the_diff_and_writes_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", "codex", "--dry-run", "--command", "uvx deltos"]) == 0
    output = capsys.readouterr().out
    assert '+[mcp_servers.deltos]\n+command = "uvx"\n+args = ["deltos", "mcp"]\n' in output
    assert '+            "command": "uvx deltos hook SessionStart",' in output
    assert [*home.iterdir()] == []


def test_uninstall_removes_the_server_and_the_hooks(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["install", "zed", "--no-hooks"])
    capsys.readouterr()
    assert main(["uninstall", "zed", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    settings = home / ".config" / "zed" / "settings.json"
    assert (answer["client"], answer["changed"], answer["dry_run"]) == ("zed", [str(settings)], False)
    assert not settings.parent.exists(), "a folder created by install must be removed"
    assert main(["uninstall", "zed"]) == 0
    assert capsys.readouterr().out == "Zed does not have Deltos.\n"
    assert main(["uninstall", "--all"]) == 0, "uninstalling again must succeed"
    assert capsys.readouterr().err == "No client has Deltos.\n"


def test_uninstall_mentions_project_files_and_removes_them_on_request(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    main(["install", "claude-code", "--project"])
    assert main(["uninstall", "claude-code"]) == 0
    assert ".mcp.json in this folder still has Deltos." in (output := capsys.readouterr().err)
    assert "`deltos uninstall claude-code --project`" in output
    assert main(["uninstall", "claude-code", "--project"]) == 0
    assert [*folder.iterdir()] == []


def test_list_shows_the_state_of_every_client(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["claude-code"], ["gemini-cli", "--no-hooks"], ["opencode"]):
        main(["install", *words])
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").write_text("{")
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text("")
    capsys.readouterr()
    assert main(["install", "--list", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    states = {row["client"]: row["state"] for row in rows}
    assert states["claude-code"] == "installed, with hooks"
    assert states["gemini-cli"] == "installed, without hooks"
    assert states["opencode"] == "installed, with hooks"
    assert states["cursor"] == "unreadable"
    assert states["codex"] == "not installed"
    assert states["vscode"] == "no configuration"
    assert main(["install", "--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(rows) == 17


def test_an_invalid_file_is_left_unchanged_and_reported(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = home / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{\n  "a": 1\n  "b": 2\n}\n')
    assert main(["install", "gemini-cli"]) == 1
    output = capsys.readouterr().err
    assert f"Error: {settings} cannot be edited: line 3, column 3: expected a comma or }}" in output
    assert "No file was changed" in output
    assert settings.read_text() == '{\n  "a": 1\n  "b": 2\n}\n'
    assert [*settings.parent.iterdir()] == [settings]


def test_a_missing_or_unknown_client_is_wrong_usage(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install"]) == 2
    assert main(["install", "emacs"]) == 2
    assert "Unknown client: emacs" in capsys.readouterr().err


def test_help_names_both_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert "\n    install " in shown
    assert "\n    uninstall " in shown


def test_detected_clients_are_offered_and_the_user_can_choose_several_or_all(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    (home / ".codex").mkdir()
    (home / ".kiro" / "settings").mkdir(parents=True)
    assert main(["install"]) == 2, "install must fail if no user can answer"
    assert "Found here: codex, kiro. Pass some of these names, or use --all." in capsys.readouterr().err
    terminal = io.StringIO("kirro\nkiro\n")
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdin", terminal)
    assert main(["install"]) == 0
    output = capsys.readouterr().out
    assert "Found on this machine: codex, kiro" in output
    assert "Unknown client: kirro. Did you mean kiro?" in output, (
        "an unknown name must be reported before the question is repeated"
    )
    assert output.count("Which clients? ") == 2
    assert [path.name for path in home.rglob("*.json")] == ["mcp.json"]
    assert main(["install", "--all", "--no-hooks"]) == 0
    output = capsys.readouterr().out
    assert f"changed: {home / '.codex' / 'config.toml'}" in output
    assert "Kiro already has Deltos." in output
    assert main(["uninstall", "codex", "kiro"]) == 0
    assert capsys.readouterr().out.count("removed: ") == 2


@pytest.mark.parametrize(("answer", "is_written"), [("\n", True), ("y\n", True), ("n\n", False), ("", False)])
def test_a_skill_is_offered_with_the_clients(
    answer: str, is_written: bool, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    (home / ".claude").mkdir()
    terminal = io.StringIO(f"claude-code\n{answer}")
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdin", terminal)
    assert main(["install", "--yes"]) == 0
    skills = [path.read_text() for path in home.rglob("SKILL.md")]
    assert [("`explore`" in text, "deltos explore" in text) for text in skills] == [(True, True)] * is_written


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize("words", [[], ["codex", "--no-hooks", "--rules"]])
def test_ctrl_c_at_a_question_changes_nothing_and_is_reported(words: list[str], home: Path) -> None:
    (home / ".codex").mkdir()
    controller, terminal = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "deltos", "install", *words],
        stdin=terminal,
        stdout=terminal,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TERM": "dumb"},
    )
    os.close(terminal)
    shown = ""
    while not shown.endswith(("none: ", "[Y/n] ")):
        shown += os.read(controller, 4096).decode()
    output = None
    while output is None:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):  # Ctrl-C may arrive before the question is read; send it again
            output = process.communicate(timeout=10)[1]
    os.close(controller)
    assert output == "Nothing was changed.\n"
    assert process.returncode == 1
    assert [*(home / ".codex").iterdir()] == []


def test_doctor_names_the_clients_that_install_finds(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("DELTOS_HOME", str(home / "data"))
    for folder in (".claude", ".codex", ".gemini"):
        (home / folder).mkdir()
    (home / ".gemini" / "settings.json").write_text("{}")
    main(["doctor"])
    assert "without Deltos: claude-code, codex, gemini-cli; `deltos install` adds it" in capsys.readouterr().out
    assert main(["install"]) == 2
    assert (
        "Found here: claude-code, codex, gemini-cli. Pass some of these names, or use --all." in capsys.readouterr().err
    )
    main(["install", "--all", "--no-hooks"])
    assert (home / ".claude.json").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes")
def test_symbolic_links_and_pipes_in_a_repository_are_not_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outside, project = tmp_path / "outside", tmp_path / "project"
    outside.mkdir()
    project.mkdir()
    (outside / "settings.json").write_text("{}")
    (project / ".mcp.json").symlink_to(outside / "made.json")
    (project / ".cursor").symlink_to(outside)
    (project / "AGENTS.md").symlink_to(outside / "settings.json")
    (project / ".gemini").mkdir()
    os.mkfifo(project / ".gemini" / "settings.json")
    monkeypatch.chdir(project)
    for arguments in (["claude-code", "--project"], ["cursor", "--project"], ["zed", "--project", "--agents-md"]):
        assert main(["install", *arguments]) != 0
        assert "is a symbolic link, which is not followed in a project" in capsys.readouterr().err
    assert main(["install", "gemini-cli", "--project"]) != 0
    assert "not a regular file" in capsys.readouterr().err
    assert [path.name for path in outside.iterdir()] == ["settings.json"]
    assert (outside / "settings.json").read_text() == "{}"


def test_a_project_gets_files_that_work_on_every_machine(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert main(["install", "claude-code", "cursor", "vscode", "--project"]) == 0
    entry = json.loads((folder / ".mcp.json").read_text())["mcpServers"]["deltos"]
    assert entry == {"type": "stdio", "command": "deltos", "args": ["mcp"], "alwaysLoad": True}
    assert (folder / ".cursor" / "mcp.json").exists()
    assert "servers" in json.loads((folder / ".vscode" / "mcp.json").read_text())
    assert [*home.iterdir()] == [folder], "the user's own files must stay unchanged"
    assert main(["install", "claude-desktop", "--project"]) == 2
    assert "no configuration for projects" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no file modes")
@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)])
def test_new_project_files_follow_the_umask_and_new_user_files_are_private(
    mask: int, mode: int, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / ".mcp.json").write_text("{}")
    (folder / ".mcp.json").chmod(0o640)
    before = os.umask(mask)
    try:
        main(["install", "claude-code", "zed", "--project"])
        main(["install", "zed", "--agents-md", "--yes"])
        assert os.umask(mask) == mask, "install must not change the umask"
    finally:
        os.umask(before)
    modes = {path: path.stat().st_mode & 0o777 for path in home.rglob("*") if path.is_file()}
    assert modes.pop(home / ".config" / "zed" / "settings.json") == 0o600
    assert {modes.pop(folder / ".mcp.json"), modes.pop(folder / ".mcp.json.deltos-1.bak")} == {0o640}
    assert modes == {folder / ".zed" / "settings.json": mode, folder / "AGENTS.md": mode}


def test_instructions_for_models_are_shown_first_and_can_be_removed(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    (home / "AGENTS.md").write_text("# Ours\n\nBe kind.\n")
    assert main(["install", "claude-code", "--no-hooks", "--suggest", "--rules", "--agents-md", "--yes"]) == 0
    output = capsys.readouterr().out
    skill = home / ".claude" / "skills" / "deltos" / "SKILL.md"
    assert output.index("+name: deltos") < output.index(f"changed: {skill}")
    assert len(skill.read_text().splitlines()) <= 40
    subagent = home / ".claude" / "agents" / "deltos.md"
    assert subagent.read_text().startswith("---\nname: deltos\ndescription: ")
    hooks = json.loads((home / ".claude" / "settings.json").read_text())["hooks"]
    assert hooks.keys() == {"PreToolUse"}
    assert (home / "AGENTS.md").read_text().startswith("# Ours\n\nBe kind.\n\n<!-- deltos")
    assert main(["install", "--agents-md", "--yes"]) == 0
    assert "already has Deltos." in capsys.readouterr().out
    assert main(["uninstall", "claude-code", "--agents-md"]) == 0
    assert (home / "AGENTS.md").read_text() == "# Ours\n\nBe kind.\n"
    assert not (home / ".claude").exists(), "folders and settings.json created by install must be removed"
    skill.parent.mkdir(parents=True)
    skill.write_text("mine")
    assert main(["install", "claude-code", "--rules", "--yes"]) == 1
    assert "was not written by deltos" in capsys.readouterr().err
    assert skill.read_text() == "mine"


def test_removing_the_paragraph_keeps_the_users_text_and_folders(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / "deltos"  # a project called deltos without our paragraph
    folder.mkdir()
    monkeypatch.chdir(folder)
    file = folder / "AGENTS.md"
    for words in ("install", "uninstall"):
        assert main([words, "--agents-md", "--yes"]) == 0
    assert [*folder.iterdir()] == [], "an unmodified generated file must be removed without a backup"
    main(["install", "--agents-md", "--yes"])
    file.write_text(file.read_text().replace("never secrets", "never secrets, Mary says"))
    capsys.readouterr()
    assert main(["uninstall", "--agents-md", "--yes"]) == 0
    [backup] = folder.iterdir()
    assert "Mary says" in backup.read_text()
    assert f"backup:  {backup}" in capsys.readouterr().out
    file.write_text("before\n\n")
    main(["install", "--agents-md", "--yes"])
    whole = file.read_text() + "\nafter\n"
    file.write_text(whole.replace("grep stays right", "an old rule"))
    main(["install", "--agents-md", "--yes"])
    assert file.read_text() == whole, "the paragraph must replace the earlier one in place"
    main(["uninstall", "--agents-md", "--yes"])
    assert file.read_text() == "before\n\nafter\n"
    file.write_text("\n")
    main(["uninstall", "--agents-md", "--yes"])
    assert file.exists(), "an empty file of the user must be kept"


@pytest.mark.parametrize("text", ["Be kind.", "Be kind.\n", "# Ours\r\n\r\nBe kind.\r\n\r\n\r\n", "\n"])
def test_uninstall_all_removes_the_paragraph_of_this_folder_and_restores_the_file(
    text: str, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    folder = home / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    file = folder / "AGENTS.md"
    file.write_bytes(text.encode())
    main(["install", "cursor", "--agents-md", "--yes"])
    changed = file.read_bytes()
    assert b"removed by `deltos uninstall --agents-md`" in changed
    capsys.readouterr()
    assert main(["uninstall", "cursor"]) == 0
    assert (
        "AGENTS.md in this folder has a paragraph about Deltos. `deltos uninstall --agents-md` removes it."
        in capsys.readouterr().err
    )
    assert file.read_bytes() == changed
    assert main(["uninstall", "--all"]) == 0
    assert f"changed: {file}" in capsys.readouterr().out
    assert file.read_bytes() == text.encode()
    assert [*folder.iterdir()] == [file], "a backup with the same content as the file must be removed"
    assert main(["uninstall", "--all"]) == 0
    assert capsys.readouterr().err == "No client has Deltos.\n"


def test_a_paragraph_marked_by_an_earlier_version_is_replaced_and_removed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    file = home / "AGENTS.md"
    file.write_text("before\n")
    main(["install", "--agents-md", "--yes"])
    present = file.read_text()
    earlier = present.replace("install --agents-md", "install").replace("uninstall --agents-md", "uninstall")
    file.write_text(earlier)
    main(["install", "--agents-md", "--yes"])
    assert file.read_text() == present
    file.write_text(earlier)
    main(["uninstall", "--agents-md", "--yes"])
    assert file.read_text() == "before\n"


def test_clients_without_a_rules_file_are_named_and_the_other_rules_files_are_written(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install", "cursor", "codex", "--no-hooks", "--rules", "--yes"]) == 0
    assert capsys.readouterr().err == "Cursor has no rules file.\n"
    assert (home / ".codex" / "skills" / "deltos" / "SKILL.md").exists()
    assert (home / ".cursor" / "mcp.json").exists()
    assert main(["install", "cursor", "zed", "--no-hooks", "--rules", "--yes"]) == 2
    assert "Cursor has no rules file of its own. Use --agents-md" in capsys.readouterr().err
    assert not (home / ".config" / "zed").exists()


def test_next_steps_for_hooks_are_printed_if_hooks_were_added(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    trust = "Codex runs the hooks once you trust them in /hooks."
    for words, is_printed in ((["--project"], False), (["--no-hooks"], False), ([], True)):
        assert main(["install", "codex", *words]) == 0
        output = capsys.readouterr().out
        assert "Start a new session to connect." in output
        assert (trust in output) == is_printed


def test_the_installed_rules_name_only_tools_of_the_profile(home: Path) -> None:
    skill = home / ".claude" / "skills" / "deltos" / "SKILL.md"
    left_out = {"get_impact", "search_docs", "get_api_endpoints"}
    for profile, named in (("full", left_out), ("lean", set())):
        assert main(["install", "claude-code", "--no-hooks", "--rules", "--yes", "--profile", profile]) == 0
        assert {name for name in left_out if name in skill.read_text()} == named
        main(["uninstall", "claude-code"])
        assert not skill.parent.exists()


def test_project_options_never_edit_the_users_files(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", "")
    main(["install", "opencode", "cursor", "windsurf"])
    own = {path: path.read_text() for path in home.rglob("*") if path.is_file()}
    assert len(own) == 6
    capsys.readouterr()
    assert main(["uninstall", "--all", "--project"]) == 0
    assert capsys.readouterr() == ("", "No client in this folder has Deltos.\n")
    assert main(["install", "--all", "--project"]) == 0, (
        "a client without project configuration must not cause a failure"
    )
    assert {path.name for path in folder.rglob("*.json")} == {"opencode.json", "mcp.json"}
    assert main(["uninstall", "--all", "--project"]) == 0
    assert [*folder.iterdir()] == []
    assert own == {path: path.read_text() for path in own}
    for option in ("--hooks", "--suggest", "--rules"):
        assert main(["install", "claude-code", "--project", option]) == 2
        assert f"{option} edits the user's files" in capsys.readouterr().err
    assert main(["install", "cursor", "--suggest"]) == 2
    assert "--suggest works only with Claude Code" in capsys.readouterr().err
    assert own == {path: path.read_text() for path in own}


def test_uninstall_all_finds_hooks_without_server_and_invalid_files(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    main(["install", "claude-code"])
    (home / ".claude.json").write_text("{}")
    assert main(["uninstall", "--all"]) == 0
    assert not (home / ".claude").exists()
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").write_text("{")
    assert main(["uninstall", "--all"]) == 1
    assert "mcp.json cannot be edited" in capsys.readouterr().err


def test_searching_a_symbol_with_grep_gives_one_suggestion_per_session(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"DELTOS_HOME": str(home / "data")}

    def hook_suggestion(session: str, tool: str, **given: str) -> str:
        event = json.dumps({"session_id": session, "tool_name": tool, "tool_input": given}).encode()
        assert hook(["PreToolUse"], stdin=io.BytesIO(event), environ=environ) == 0
        return capsys.readouterr().out

    assert hook_suggestion("a", "Grep", pattern="TODO") == ""
    assert hook_suggestion("a", "Bash", command="ls my_folder") == ""
    first = json.loads(hook_suggestion("a", "Grep", pattern="clear_cache\\("))["hookSpecificOutput"]
    assert first["hookEventName"] == "PreToolUse"
    assert "search_code" in first["additionalContext"]
    assert hook_suggestion("a", "Grep", pattern="otherName") == ""
    assert "makePlan" in hook_suggestion("b", "Bash", command='rg -n "makePlan" src')
    assert hook_suggestion("c", "Read", file_path="a_b.py") == ""
    assert hook(["PreToolUse"], stdin=io.BytesIO(b"{"), environ=environ) == 0
    for command in (
        "grep -n TODO README.md",
        "rg -A 3 timeout settings.py",
        "rg -nC 3 --glob my_glob timeout a_b",
        "agenda show_all",
        "git log my_branch",
        "grep 'unclosed my_name",
        "grep",
        "rg settings.py",
    ):
        assert hook_suggestion("d", "Bash", command=command) == "", command
    assert hook_suggestion("d", "Grep", pattern="settings.py") == ""
    project = home / "quiet"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("DELTOS_HOME", environ["DELTOS_HOME"])
    main(["memory", "off"])
    capsys.readouterr()
    assert hook_suggestion("d", "Grep", pattern="make_plan") == ""
    monkeypatch.chdir(home)
    assert "make_plan" in hook_suggestion("d", "Bash", command="git grep -n -A 3 -e make_plan src"), (
        "the session must not have received a suggestion earlier"
    )
    assert "show_all" in hook_suggestion("e", "Bash", command="rg -A 3 -t py 'show_all' | head")


def test_a_path_inside_uvs_cache_is_never_written(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cached = home / ".cache" / "uv" / "archive-v0" / "Xy12" / "bin"
    cached.mkdir(parents=True)
    for name in ("python", "deltos"):
        (cached / name).write_text("#!/bin/sh\n")
        (cached / name).chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(cached / "python"))
    monkeypatch.setenv("PATH", str(cached))
    assert main(["install", "cursor"]) == 2, "install must fail without confirmation"
    assert "uv tool install deltos" in capsys.readouterr().err
    assert main(["install", "cursor", "--json"]) == 2
    assert capsys.readouterr().out == "", "stdout must be empty if there is no JSON result"
    assert find_launch("", os.environ) is None, "doctor must not use a path inside the cache"
    assert not (home / ".cursor").exists()
    stays = home / ".local" / "bin"
    stays.mkdir(parents=True)
    shutil.copy(cached / "deltos", stays / "deltos")
    monkeypatch.setenv("PATH", os.pathsep.join([str(cached), str(stays)]))
    assert main(["install", "cursor", "--no-hooks"]) == 0
    entry = json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]["deltos"]
    assert entry["command"] == str(stays / "deltos")


def test_a_second_run_of_uvx_writes_the_same_path(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """uv runs an installed tool from its own environment, not from the cache."""
    tool, stays = home / ".local" / "share" / "uv" / "tools" / "deltos", home / ".local" / "bin"
    for folder in (tool / "bin", stays):
        folder.mkdir(parents=True)
    for name in ("python", "deltos"):
        (tool / "bin" / name).write_text("#!/bin/sh\n")
        (tool / "bin" / name).chmod(0o755)
    (stays / "deltos").symlink_to(tool / "bin" / "deltos")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "executable", str(tool / "bin" / "python"))
    main(["install", "cursor", "--no-hooks", "--command", str(stays / "deltos")])
    capsys.readouterr()
    receipt = tool / "uv-receipt.toml"
    receipt.write_text(f"""\
[tool]
requirements = [{{ name = "deltos" }}]
entrypoints = [
    {{ name = "deltos", install-path = "{stays / "deltos"}", from = "deltos" }},
]
""")
    assert main(["install", "cursor", "--no-hooks"]) == 0
    assert capsys.readouterr().out == "Cursor already has Deltos.\n"
    for broken in (
        "[tool",
        "[tool]\nentrypoints = 3\n",
        f'[tool]\nentrypoints = [{{ name = "deltos", install-path = "{home}/no" }}]',
    ):
        receipt.write_text(broken)
        launch = find_launch("", os.environ)
        assert launch is not None
        assert launch.program == str(tool / "bin" / "deltos")


def test_the_permanent_installation_uses_the_same_origin(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cached, stays, programs = home / "archive-v0" / "bin", home / "tools", home / "programs"
    for folder in (cached, stays, programs):
        folder.mkdir(parents=True)
    for path in (cached / "python", cached / "deltos", stays / "deltos"):
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    uv = programs / "uv"
    uv.write_text(f'#!/bin/sh\ncase "$*" in "tool dir --bin") echo {stays};; *) echo "$*" > {home}/asked;; esac\n')
    uv.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(cached / "python"))
    monkeypatch.setenv("PATH", str(programs))
    assert main(["install", "cursor", "--no-hooks", "--yes"]) == 0
    assert "Installing …" in capsys.readouterr().out
    assert (home / "asked").read_text().startswith("tool install --quiet deltos")
    entry = json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]["deltos"]
    assert entry["command"] == str(stays / "deltos")

    wheel = '{"url": "file:///tmp/deltos-1-py3-none-any.whl", "archive_info": {}}'
    repository = '{"url": "https://x.org/deltos", "vcs_info": {"vcs": "git", "commit_id": "abc"}}'
    assert requirement("1", None) == "deltos==1"
    assert requirement("1", wheel) == "deltos @ file:///tmp/deltos-1-py3-none-any.whl"
    assert requirement("1", repository) == "deltos @ git+https://x.org/deltos@abc"
