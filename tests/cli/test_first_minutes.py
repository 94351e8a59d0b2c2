"""First steps in a shell: help, typos, number ranges, project names, colours, completion, full disks."""

from __future__ import annotations

import ast
import errno
import io
import json
import os
import re
import select
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import tree_sitter_powershell
from tree_sitter import Language, Parser

from deltos.cli import style
from deltos.cli.command import open_app
from deltos.cli.command_names import PHRASES, replace_tool_names, replace_tool_names_in_answer
from deltos.cli.completion import completion_contexts
from deltos.cli.main import complete_parser, main
from deltos.cli.terminal import SanitizedStream
from deltos.errors import Cancelled
from deltos.open_stores import open_projects
from deltos.progress import Silent
from deltos.server.manifest import MANIFEST_PATH
from deltos.workspace.project_names import shortest_names
from tests.platforms import is_missing

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).parents[2] / "src" / "deltos"
# Modules whose texts are read only by agents: descriptions of tools and session context.
AGENT_TEXT_MODULES = ("tools.py", "context.py", "command_names.py", "describe.py")


def run_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[object, str, str]:
    try:
        code: object = main(words)
    except SystemExit as ending:
        code = ending.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_running_without_a_command_prints_the_help_and_each_command_has_its_own_help(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = [run_command(words, capsys) for words in ([], ["help"], ["--help"], ["help", "help"])]
    assert {(code, "start here:" in out, err) for code, out, err in shown} == {(0, True, "")}
    assert run_command(["help", "code", "search"], capsys) == run_command(["code", "search", "--help"], capsys)
    assert "usage: deltos mcp" in run_command(["help", "mcp"], capsys)[1]
    assert "usage: deltos hook" in run_command(["help", "hook"], capsys)[1]
    code, out, _ = run_command(["graph"], capsys)
    assert (code, "find the definitions of a symbol" in out) == (0, True)
    assert run_command(["-V"], capsys) == run_command(["--version"], capsys)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["serach", "x"], "Unknown command: serach. Did you mean search? See `deltos help`."),
        (["code", "serach"], "Unknown command: serach. Did you mean search? See `deltos help code`."),
        (["help", "memry"], "Unknown command: memry. Did you mean memory? See `deltos help`."),
        (["memory", "remember", "x"], "Unknown command: remember. Did you mean add? See `deltos help memory`."),
        (["token", "create", "x", "--scope", "wirte"], "Unknown --scope: wirte. Did you mean write?"),
        (["code", "search", "x", "--limit", "0"], "expected an integer, 1 to 50, not '0'"),
        (["code", "search", "x", "--limit", "51"], "expected an integer, 1 to 50, not '51'"),
        (["search", "x", "--limit", "-1"], "1 to 20"),
        (["docs", "search", "x", "--limit", "0"], "1 to 50"),
        (["api", "search", "x", "--limit", "many"], "1 to 50, not 'many'"),
        (["api", "show", "x", "--page", "0"], "1 or more"),
        (["memory", "search", "x", "--limit", "21"], "1 to 20"),
        (["memory", "timeline", "--before", "-1"], "0 to 50"),
        (["graph", "find", "x", "--limit", "0"], "1 to 500"),
    ],
)
def test_a_usage_error_is_one_line_with_a_hint(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run_command(words, capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("Error: ")
    assert message in err


def test_no_results_exit_with_one_in_every_command(
    project: Path, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    for words in (
        ["fetch", "code:zzz.py"],
        ["fetch", "obs:zzz"],
        ["docs", "status", "zzz"],
        ["docs", "remove", "zzz"],
        ["api", "show", "zzz"],
        ["api", "search", "zzz"],
        ["memory", "show", "zzz"],
        ["memory", "timeline"],
        ["forget-project", "zzz"],
    ):
        assert run_command(words, capsys)[0] == 1, words
    for words in (
        ["index", "missing"],
        ["install", "emacs"],
        ["docs", "search"],
        ["forget-project"],
        ["forget-project", "", "--yes"],
    ):
        assert run_command(words, capsys)[0] == 2, words


class FullDisk(io.StringIO):
    """A stream whose writes fail with ENOSPC."""

    def flush(self) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_unwritable_output_gives_an_error_of_one_line(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in (["status"], ["--help"], ["completion", "bash"]):
        monkeypatch.setattr(sys, "stdout", FullDisk())
        code, _, err = run_command(words, capsys)
        assert (code, err) == (1, "Error: Cannot write the output (No space left on device)\n"), words


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the platform has no /dev/full")
def test_a_full_disk_and_a_closed_pipe_end_a_process_without_a_traceback(home: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "deltos", "status"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr.count("\n"), "Traceback" in done.stderr) == (1, 1, False)
    script = f"set -o pipefail; {sys.executable} -P -m deltos --help | true"
    piped = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert (piped.returncode, piped.stderr) == (0, "")


def test_a_project_is_forgotten_only_after_confirmation(
    project: Path, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["index", str(project)])
    assert capsys.readouterr().out.startswith("project: 3 files parsed")
    assert "\nproject  " in run_command(["status"], capsys)[1]
    (database,) = (home / "projects").glob("*.db")
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    code, _, err = run_command(["forget-project", "project"], capsys)
    assert (code, "index of project" in err, database.exists()) == (1, True, True)
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    code, out, _ = run_command(["forget-project", str(project)], capsys)
    assert (code, "Removed: index of project" in out) == (0, True)
    left = {(path.suffix, path.stat().st_size) for path in (home / "projects").iterdir()}
    assert left == {(".lock", 0), (".db-lock", 0)}, "only the empty lock files of the indexer may remain"
    assert run_command(["code", "search", "clear_cache", "--project", str(project)], capsys)[0] == 0, (
        "a search must index a forgotten project again"
    )


def test_gc_removes_only_damaged_indexes_and_those_of_deleted_folders(
    project: Path, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["index", str(project)])
    (home / "projects" / "x-1.db.corrupt-20260101-000000").write_bytes(b"x" * 10)
    assert run_command(["gc", "--yes"], capsys)[1].endswith("Freed 0.0 MB.\n")
    (left,) = (home / "projects").glob("*.db")
    assert list((home / "projects").glob("*.corrupt*")) == []
    assert left.name.startswith("project-")
    project.rename(project.with_name("elsewhere"))
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert run_command(["gc"], capsys)[0] == 1, "gc must fail without confirmation"
    assert left.exists()
    assert len(json.loads(run_command(["gc", "--yes", "--json"], capsys)[1])["removed"]) == 1
    assert list((home / "projects").iterdir()) == []
    assert run_command(["gc"], capsys)[1] == "There is nothing to remove.\n"


class Interrupted(Silent):
    """Progress listener that cancels immediately, as after Ctrl-C."""

    def cancelled(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("word", "message"),
    [(".", "The folder {here} has no index. `deltos"), ("shop", "No index is called 'shop'. `deltos")],
)
def test_a_project_without_index_cannot_be_forgotten(
    word: str, message: str, project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    code, _, err = run_command(["forget-project", word], capsys)
    assert code == 1
    assert message.format(here=project) in err


@pytest.mark.parametrize("word", ["project", "."])
def test_an_interrupted_first_index_is_listed_and_can_be_removed(
    word: str, project: Path, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    with open_app() as app, pytest.raises(Cancelled):
        app.domains.projects.index_of(project).index(progress=Interrupted())
    assert "\n  not finished; `deltos index` continues it\n" in run_command(["status"], capsys)[1]
    assert json.loads(run_command(["status", "--json"], capsys)[1])["finished"] is False
    assert "index project: sound; not finished; `deltos index` continues it" in run_command(["doctor"], capsys)[1]
    assert run_command(["forget-project", word, "--yes"], capsys)[0] == 0
    assert list((home / "projects").glob("*.db")) == []


def test_gc_removes_an_interrupted_first_index_of_a_deleted_folder(
    project: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_app() as app, pytest.raises(Cancelled):
        app.domains.projects.index_of(project).index(progress=Interrupted())
    project.rename(project.with_name("elsewhere"))
    assert "Removed: index of project" in run_command(["gc", "--yes"], capsys)[1]
    assert list((home / "projects").glob("*.db")) == []


def test_a_folder_without_sources_leaves_no_unfinished_index(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bare").mkdir()
    assert run_command(["index", str(tmp_path / "bare")], capsys)[0] == 1
    assert "not finished" not in run_command(["status"], capsys)[1]


def test_project_names_are_as_long_as_needed_to_be_unique() -> None:
    roots = [Path("/a/shop"), Path("/b/shop"), Path("/b/site")]
    assert shortest_names(roots) == {roots[0]: "a/shop", roots[1]: "b/shop", roots[2]: "site"}


def test_an_ambiguous_project_name_is_an_error(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stores = open_projects(home)
    for folder in ("a", "b"):
        (tmp_path / folder / "shop").mkdir(parents=True)
        store = stores.store_of(tmp_path / folder / "shop")
        with store.writing() as writer:
            writer.set_metadata({"root": str(tmp_path / folder / "shop"), "project_id": folder, "synced_at": "0"})
        store.close()
    assert len(stores.indexed_projects()) == 2
    code, _, err = run_command(["forget-project", "shop", "--yes"], capsys)
    assert (code, len(stores.indexed_projects())) == (2, 2)
    assert "2 indexes are called shop. Choose one of: " in err
    assert all(name in err for name in ("a/shop", "b/shop"))
    assert run_command(["forget-project", "a/shop", "--yes"], capsys)[0] == 0
    assert [index.root.parent.name for index in stores.indexed_projects()] == ["b"]


def test_doctor_repairs_a_damaged_index_and_a_client_with_a_broken_command(
    project: Path, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    main(["index", str(project)])
    (database,) = (home / "projects").glob("*.db")
    database.write_bytes(b"not a database" * 1000)
    gone = ["--command", "/no/such/deltos", "--profile", "lean"]
    main(["install", "claude-code", "--no-hooks", "--suggest", "--yes", *gone])
    capsys.readouterr()
    code, out, _ = run_command(["doctor"], capsys)
    assert code == 1
    assert (
        "BAD  client claude-code: /no/such/deltos mcp --profile lean: it does not start (No such file or directory)"
        in out
    )
    assert "Run `deltos doctor --fix` to: set " in out
    assert run_command(["doctor", "--fix", "--yes"], capsys)[0] == 0
    code, out, _ = run_command(["doctor"], capsys)
    assert (code, "BAD" in out) == (0, False)
    assert re.search(r"^ok   client claude-code: .*mcp --profile lean starts and answers$", out, re.MULTILINE)
    hooks = json.loads((tmp_path / ".claude" / "settings.json").read_text())["hooks"]
    assert hooks.keys() == {"PreToolUse"}
    assert "/no/such" not in str(hooks)


def _string_literals(path: Path) -> Iterator[str]:
    """Yield the string literals of a module, except docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


def test_messages_that_name_a_tool_name_a_command_in_a_shell() -> None:
    tools = [tool["listing"]["name"] for tool in json.loads(MANIFEST_PATH.read_text("utf-8"))["tools"]]
    tools = [name for name in tools if "_" in name]
    assert len(tools) > 10
    seen = 0
    for path in SOURCE.rglob("*.py"):
        if path.name in AGENT_TEXT_MODULES or "server" in path.relative_to(SOURCE).parts:
            continue
        for text in _string_literals(path):
            if " " in text.strip() and any(tool in text for tool in tools):
                seen += 1
                message = replace_tool_names(text)
                assert not any(tool in message for tool in tools), (path.name, message)
    assert seen > 10


def test_every_translated_phrase_occurs_in_a_message() -> None:
    """Detect reworded messages, in which the command line would name tools instead of commands."""
    sources = "".join(path.read_text("utf-8") for path in SOURCE.rglob("*.py") if path.name != "command_names.py")
    assert [phrase for phrase in PHRASES if phrase not in sources] == []


def test_completion_lists_every_command_and_option(capsys: pytest.CaptureFixture[str]) -> None:
    places = {place.words: place for place in completion_contexts(complete_parser())}
    assert {"find", "refs"} <= places["graph",].commands.keys()
    assert places["token", "create"].values["--scope"] == ("read", "write", "admin")
    assert "--project" in places["index",].options or places["index",].takes_files
    for shell in ("bash", "zsh", "fish", "powershell"):
        code, script, _ = run_command(["completion", shell], capsys)
        assert code == 0
        for word in ("memory", "timeline", "forget-project", "concise", "dry-run"):
            assert word in script, (shell, word)


INCOMPLETE_COMMANDS = ("me", "memory tim", "code search x --conc", "token create x --scope r")
COMPLETIONS = ["memory", "timeline", "--concise", "read"]


@pytest.mark.skipif(sys.platform == "win32", reason="bash on Windows belongs to another system")
def test_bash_completes_commands_verbs_and_values(capsys: pytest.CaptureFixture[str]) -> None:
    script = run_command(["completion", "bash"], capsys)[1]
    lines = [
        f"COMP_WORDS=(deltos {words}); COMP_CWORD={len(words.split())}; _deltos; echo ${{COMPREPLY[@]}}"
        for words in INCOMPLETE_COMMANDS
    ]
    done = subprocess.run(["bash", "-c", "\n".join([script, *lines])], capture_output=True, text=True)
    assert done.stdout.splitlines() == COMPLETIONS, done.stderr


@pytest.mark.skipif(is_missing("fish"), reason="fish is not installed")
def test_fish_completes_commands_verbs_and_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = run_command(["completion", "fish"], capsys)[1]
    lines = [f"complete -C 'deltos {words}'" for words in INCOMPLETE_COMMANDS]
    done = subprocess.run(
        ["fish", "--no-config", "-c", "\n".join([script, *lines])],
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == COMPLETIONS, done.stderr


@pytest.mark.skipif(is_missing("zsh"), reason="zsh is not installed")
def test_zsh_completes_commands_verbs_and_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Use a pseudo-terminal, because zsh completes only on a terminal."""
    (tmp_path / "script").write_text(run_command(["completion", "zsh"], capsys)[1])
    (tmp_path / ".zshrc").write_text(
        "PS1='ready> '; autoload -U compinit; compinit -u -D; source $ZDOTDIR/script; setopt no_beep\n"
    )
    ours, theirs = os.openpty()
    shell = subprocess.Popen(
        ["zsh", "-i"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "ZDOTDIR": str(tmp_path), "TERM": "dumb", "COLUMNS": "200"},
        start_new_session=True,
    )
    os.close(theirs)
    try:
        for words, completed in zip(INCOMPLETE_COMMANDS, COMPLETIONS, strict=True):
            read_until(ours, "ready> ")
            os.write(ours, f"deltos {words}\t".encode())
            read_until(ours, f"deltos {' '.join([*words.split()[:-1], completed])}")
            os.write(ours, b"\x15\n")  # Ctrl-U clears the line
    finally:
        shell.kill()
        shell.wait()
        os.close(ours)


def read_until(terminal: int, text: str) -> None:
    """Read the output of a terminal until it contains the text."""
    shown = ""
    while text not in shown:
        assert select.select([terminal], [], [], 30)[0], f"the terminal did not show {text!r}: {shown!r}"
        shown += os.read(terminal, 4096).decode(errors="replace")


def test_the_powershell_completion_script_can_be_parsed(capsys: pytest.CaptureFixture[str]) -> None:
    """Use the PowerShell grammar, because PowerShell is rarely installed."""
    script = run_command(["completion", "powershell"], capsys)[1].encode()
    tree = Parser(Language(tree_sitter_powershell.language())).parse(script)
    assert not tree.root_node.has_error


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def test_terminals_get_colours_unless_disabled_and_untrusted_escapes_are_inert(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for no_color in (False, True):
        if no_color:
            monkeypatch.setenv("NO_COLOR", "1")
        raw = Terminal()
        monkeypatch.setattr(sys, "stdout", SanitizedStream(raw))
        style.print_styled(style.Styled("ok", style.GOOD), style.Styled(" evil\x1b[2J"))
        style.print_table([style.Column("name", style.HIGHLIGHT)], [["evil\x1b[31m"]], [])
        drawn = raw.getvalue()
        assert ("\x1b[" in drawn) is not no_color
        assert "\x1b[2J" not in drawn
        assert "\x1b[31mevil" not in drawn
        assert "evil␛[2J" in drawn
        assert "evil␛[31m" in drawn
    monkeypatch.setenv("TERM", "dumb")
    assert not style.is_interactive(Terminal())


def test_rich_is_not_imported_without_a_terminal() -> None:
    probe = "import sys; from deltos.cli.main import main; main(['status']); sys.exit('rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-P", "-c", probe], capture_output=True, env={**os.environ}).returncode == 0


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_version_and_help_import_no_command(option: str) -> None:
    probe = f"""
import sys
from deltos.cli.main import main
try:
    main(["{option}"])
except SystemExit:
    sys.exit(bool({{"numpy", "msgspec", "sqlite3", "deltos.app", "deltos.cli.docs"}} & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-P", "-c", probe], capture_output=True).returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_the_server_prints_an_explanation_on_a_terminal(home: Path) -> None:
    controller, terminal = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "deltos", "mcp"],
        stdin=terminal,
        stdout=terminal,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(terminal)
    assert process.stderr is not None
    assert "waiting for JSON-RPC messages from an MCP client" in process.stderr.readline()
    os.write(controller, b"\x04")  # Ctrl-D
    assert process.wait(60) == 0
    process.stderr.close()
    os.close(controller)


def test_tool_names_are_replaced_only_in_notes() -> None:
    code = (
        "async function show(id) {\n  return loadUser(fetch(id));\n  timeline(around=id) // forget with restore=true\n}"
    )
    cut, last = (
        "showing 3/9 definitions (find_symbol with path lists the others)",
        "Next: get_observations(ids) shows full text.",
    )
    message = replace_tool_names_in_answer(f"{cut}\n{code}\n{last}")
    assert message == (
        "showing 3/9 definitions (`deltos graph find --path` lists the others)\n"
        f"{code}\nNext: `deltos memory show ID` shows full text."
    )
    for hint in (
        "Did you mean: get_context, search_docs?",
        "Nearest: get_stats on line 3.",
        "a.py defines get_impact.",
    ):
        assert replace_tool_names(hint) == hint, "a name chosen by the user must stay unchanged"
