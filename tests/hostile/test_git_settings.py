"""Nothing from a repository's git settings is ever executed."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

import deltos
from deltos.clones.commit_files import CommitFiles, find_local, local_reference
from deltos.domains.history.index import HistoryIndexer
from deltos.server.access import Level, Tokens
from deltos.store.sqlite.tokens import SqliteTokens
from deltos.workspace.identity import identify
from deltos.workspace.versions import compare_versions
from deltos.workspace.walk import walk
from tests.domains.history.repositories import open_store, read_history
from tests.repositories import git, make_repository, write_files
from tests.server.over_http.served import Served
from tests.server.raw import environment

CODE = {
    "shop.py": "def total(items):\n    return sum(items)\n",
    "use.py": "from shop import total\n\nprint(total([1]))\n",
}
ATTRIBUTES = "* filter=trap diff=trap merge=trap text=auto ident export-subst\n"
COMMAND_TIMEOUT_SECONDS = 120
SIGNER = "#!/bin/sh\ncat > /dev/null\necho '-----BEGIN PGP SIGNATURE-----'\necho '-----END PGP SIGNATURE-----'\necho '[GNUPG:] SIG_CREATED D' >&2\n"
PAST_SUBJECT = "Begin the sum at zero"
# Git calls of each module, identified by some of their arguments.
GIT_CALLS = {
    "clones/commit_files.py": ("ls-tree -r -l", "cat-file --batch", "for-each-ref"),
    "domains/history/line_history.py": ("--no-walk=unsorted", "cat-file blob"),
    "domains/history/commit_text.py": ("--format=%B", "--src-prefix=a/"),
    "workspace/changes.py": ("ls-tree -r -z --full-tree", "--batch-check", "--batch"),
    "workspace/commits.py": ("--name-status", "--full-tree --name-only", "rev-list --count", "rev-list --max-count"),
    "workspace/identity.py": ("--max-parents=0",),
    "workspace/versions.py": ("--find-renames=60%", "rev-parse --verify", "merge-base"),
}


@dataclass(frozen=True, slots=True)
class RecordingProgram:
    """A program that records that it was run."""

    program: Path
    mark: Path

    @property
    def was_run(self) -> bool:
        return self.mark.exists()


@pytest.fixture
def recording_program(tmp_path: Path) -> RecordingProgram:
    program, mark = tmp_path / "trap" / "trap", tmp_path / "trap" / "sprung"
    write_files(tmp_path, {"trap/trap": f'#!/bin/sh\necho "$0 $*" >> {mark}\ncat\n'})
    program.chmod(0o755)
    return RecordingProgram(program, mark)


@pytest.fixture
def git_call_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Log the arguments of every git process from now on, and return the log file."""
    noted, real = tmp_path / "noted" / "calls", shutil.which("git")
    write_files(tmp_path, {"noted/calls": "", "noted/git": f'#!/bin/sh\necho "$*" >> {noted}\nexec {real} "$@"\n'})
    (tmp_path / "noted" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(noted.parent), os.environ["PATH"]]))
    return noted


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with two commits, the second one signed, and an uncommitted change."""
    mailmap = "Trap <trap@example.org> A <a@example.org>\n"
    files = {**CODE, ".gitattributes": ATTRIBUTES, "a.txt": "a\n", ".mailmap": mailmap}
    root = make_repository(tmp_path / "served" / "shop", files)
    write_files(tmp_path, {"signer": SIGNER})
    (tmp_path / "signer").chmod(0o755)
    write_files(root, {"shop.py": CODE["shop.py"].replace("(items)\n", "(items, 0)\n")})
    git(root, "-c", f"gpg.program={tmp_path / 'signer'}", "commit", "--quiet", "-S", "-am", PAST_SUBJECT)
    assert "gpgsig" in git(root, "cat-file", "commit", "HEAD")
    write_files(root, {"shop.py": CODE["shop.py"].replace("sum(items)", "max(items)"), "new.py": "def fresh(): ...\n"})
    (root / ".git" / "logs" / "HEAD").unlink()  # without a log, git is needed to find the first commit
    return root


def all_settings(value: str) -> str:
    """Return all settings of git's documentation, each with the same value."""
    listed = subprocess.run(["git", "help", "--config"], capture_output=True, text=True, check=True).stdout.split()
    keys = [key for key in listed if "." in key]
    assert len(keys) > 500
    lines = []
    for key in [*keys, "alias.ls-tree", "alias.diff", "filter.trap.process", "diff.trap.command", "pager.diff"]:
        section, _, rest = key.partition(".")
        subsection, _, name = rest.rpartition(".")
        plain = subsection.strip("<>*").replace("<", "").replace(">", "")
        header = (
            f'[{section} "{"trap" if "<" in subsection or "*" in subsection else plain}"]' if plain else f"[{section}]"
        )
        lines.append(f'{header}\n\t{name.strip("<>*") or "trap"} = "{value}"\n')
    return "".join(lines)


def review_over_http(root: Path, home: Path, *, past: str = "", **environ: str) -> str:
    """Index, search and review the change over HTTP, with a token for this project only; return the answers.

    `past` is the subject of a commit, which is found and shown first.
    """
    store = SqliteTokens(home)
    token = Tokens(store, time.time).create("t", Level.WRITE, [str(root)], 3_600)[1]
    store.close()
    command = [sys.executable, "-P", "-m", "deltos", "mcp", str(root), "--http", "127.0.0.1:0"]
    server = Served([*command, "--root", str(root.parent), "--require-token"], home, **environ)
    try:
        session = server.open_session({"Authorization": f"Bearer {token}"})
        assert "shop.py" in server.text("search_code", session, query="total items")
        server.call("index_repository", session, repo_path=str(root), force_reindex=True)
        if past:
            found = server.call("search", session, query=f"which commit: {past}")["structuredContent"]["results"]
            commit = next(hit["id"] for hit in found if past in hit["title"])
            assert "--- diff ---" in server.text("fetch", session, id=commit)
            assert past in server.text("get_context", session, symbol="total")
            server.call("get_impact", session, symbol="total")
            for changes in ("HEAD~1", "main...HEAD"):
                assert "HEAD" in server.text("get_impact", session, changes=changes)
        server.call("remember", session, text="total uses max now")
        return server.text("get_impact", session, changes="working")
    finally:
        server.shut_down()


def run_commands(root: Path, home: Path, **environ: str) -> None:
    """Run the commands that users and agents run in a project folder."""
    event = {"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(root)}
    for arguments in (["index", "."], ["status"], ["hook", "SessionStart"]):
        subprocess.run(
            [sys.executable, "-P", "-m", "deltos", *arguments],
            cwd=root,
            env=environment(home, **environ),
            input=json.dumps(event),
            text=True,
            capture_output=True,
            check=True,
            timeout=COMMAND_TIMEOUT_SECONDS,
        )


def read_past_commits(root: Path, home: Path, later: str) -> None:
    """Index a limited number of commits, then all commits, then a new commit."""
    with open_store(home, root) as store:
        read_history(store, root, HistoryIndexer(max_commits=1))
        read_history(store, root)
        write_files(root, {".git/refs/heads/main": f"{later}\n"})
        read_history(store, root)
        assert [row.author for row in store.history.commits_in([], limit=5)] == ["A", "A", "A"]


def read_as_documentation(root: Path) -> None:
    """Read a file of a branch, as for a local repository added as documentation."""
    repository = find_local(root)
    assert repository
    files = CommitFiles(repository, local_reference(repository, "main").name)
    assert files.read("use.py", 1_000) == CODE["use.py"].encode()
    files.close()


@pytest.mark.parametrize(
    ("setting", "command"),
    [
        ("filter.trap.clean", "diff HEAD"),
        ("diff.trap.textconv", "log --patch"),
        ("diff.trap.command", "log --patch --ext-diff"),
        ("diff.external", "diff HEAD~1 HEAD -- use.py shop.py"),
        ("gpg.program", "log --show-signature"),
        ("core.fsmonitor", "status"),
        ("alias.history", "history"),
    ],
)
def test_the_recording_program_records_that_it_was_run(
    root: Path, recording_program: RecordingProgram, setting: str, command: str
) -> None:
    git(root, "config", setting, f"{'!' if 'alias' in setting else ''}{recording_program.program}")
    with suppress(subprocess.CalledProcessError):
        git(root, *command.split())
    assert recording_program.was_run


def test_all_git_calls_of_the_source_are_listed_in_this_file() -> None:
    """Require that a new call is listed, so that it must occur among the calls made under hostile settings."""
    source = Path(deltos.__file__).parent
    asked: dict[str, int] = {}
    for path in source.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            words = ast.unparse(node.func)
            if words.endswith(("git.run", "git.stream")) or (words, ast.unparse(node.args[0])) == (
                "_read_output_start",
                "git",
            ):
                name = path.relative_to(source).as_posix()
                asked[name] = asked.get(name, 0) + 1
    asked["domains/history/commit_text.py"] -= 1  # one call passes on the arguments of its caller, so it is not listed
    assert asked == {name: len(words) for name, words in GIT_CALLS.items()}


@pytest.mark.parametrize("prefix", ["", "!"])
def test_no_repository_setting_runs_a_program(
    tmp_path: Path, root: Path, recording_program: RecordingProgram, git_call_log: Path, prefix: str
) -> None:
    later = git(root, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "later")
    settings = all_settings(f"{prefix}{recording_program.program}")
    with (root / ".git" / "config").open("a") as config:
        config.write(settings)
    write_files(root, {".git/config.worktree": settings, ".git/info/attributes": ATTRIBUTES})
    for name in ("post-checkout", "pre-commit", "post-index-change", "fsmonitor-watchman", "reference-transaction"):
        (root / ".git" / "hooks" / name).write_bytes(recording_program.program.read_bytes())
        (root / ".git" / "hooks" / name).chmod(0o755)
    (root / "use.py").rename(root / "used.py")
    answer = review_over_http(root, tmp_path / "home", past=PAST_SUBJECT)
    assert "shop.py: total body changed" in answer
    assert "new.py: fresh added" in answer
    run_commands(root, tmp_path / "home")
    read_past_commits(root, tmp_path / "other", later)
    read_as_documentation(root)
    assert not recording_program.was_run, recording_program.mark.read_text()
    noted = git_call_log.read_text()
    assert [word for words in GIT_CALLS.values() for word in words if word not in noted] == []


@pytest.mark.parametrize("kind", ["clean", "process"])
def test_no_filter_runs_when_a_change_is_reviewed(root: Path, recording_program: RecordingProgram, kind: str) -> None:
    git(root, "config", f"filter.trap.{kind}", str(recording_program.program))
    git(root, "config", "filter.trap.required", "true")
    assert {file.path for file in compare_versions(root, "HEAD").files} == {"shop.py", "new.py"}
    assert not recording_program.was_run


def test_a_committed_folder_that_looks_like_a_repository_is_an_ordinary_folder(
    tmp_path: Path, recording_program: RecordingProgram
) -> None:
    settings = f'[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n\tfsmonitor = "{recording_program.program}"\n[filter "trap"]\n\tclean = "{recording_program.program}"\n'
    origin = make_repository(
        tmp_path / "origin",
        {
            **CODE,
            "shaped/HEAD": "ref: refs/heads/main\n",
            "shaped/config": settings,
            "shaped/objects/.keep": "",
            "shaped/refs/heads/.keep": "",
            "shaped/code.py": "def inside(): ...\n",
            ".gitattributes": ATTRIBUTES,
        },
    )
    git(tmp_path, "clone", "--quiet", str(origin), "served/shop")
    root = tmp_path / "served" / "shop"
    with suppress(subprocess.CalledProcessError):
        git(root / "shaped", "-c", "safe.bareRepository=all", "status")
    assert recording_program.was_run, "git no longer runs the program, so this test proves nothing"
    recording_program.mark.unlink()
    write_files(
        root, {"shop.py": "def total(items):\n    return 0\n", "shaped/code.py": "def inside():\n    return 1\n"}
    )
    assert "shop.py: total body changed" in review_over_http(root, tmp_path / "home")
    assert set(walk(root / "shaped").files) == {"HEAD", "config", "code.py", "objects/.keep", "refs/heads/.keep"}
    assert identify(root / "shaped").project_id == identify(root).project_id
    assert not recording_program.was_run


def test_no_program_from_the_environment_or_user_settings_runs(
    tmp_path: Path, root: Path, recording_program: RecordingProgram
) -> None:
    home = tmp_path / "user"
    write_files(
        home,
        {
            ".gitconfig": all_settings(str(recording_program.program)) + "[core]\n\texcludesFile = ~/mine\n",
            "mine": "new.py\n",
        },
    )
    (root / "git").write_bytes(recording_program.program.read_bytes())
    (root / "git").chmod(0o755)
    hostile = {
        name: str(recording_program.program)
        for name in """GIT_EXTERNAL_DIFF GIT_PAGER GIT_EDITOR GIT_ASKPASS GIT_SSH GIT_SSH_COMMAND GIT_PROXY_COMMAND
        GIT_CONFIG_VALUE_0 GIT_TRACE GIT_TRACE2 GIT_TEMPLATE_DIR""".split()
    } | {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_EXEC_PATH": str(recording_program.program.parent),
        "GIT_DIR": str(tmp_path / "elsewhere"),
        "GIT_WORK_TREE": str(tmp_path),
        "HOME": str(home),
        "PATH": os.pathsep.join([".", "", str(root), os.environ["PATH"]]),
    }
    before = recording_program.program.read_bytes()
    answer = review_over_http(root, tmp_path / "home", past=PAST_SUBJECT, **hostile)
    run_commands(root, tmp_path / "home", **hostile)
    assert "shop.py: total body changed" in answer
    assert "fresh" not in answer  # the user's own exclude file applies
    assert not recording_program.was_run, recording_program.mark.read_text()
    assert recording_program.program.read_bytes() == before


@pytest.fixture
def other_repository(tmp_path: Path) -> Path:
    """Another repository, which the hostile one must not be able to read."""
    other_repository = make_repository(tmp_path / "other", {"private.py": "SECRET = 1\n"})
    git(other_repository, "remote", "add", "origin", "https://example.org/private/tool.git")
    return other_repository


def test_a_link_to_the_git_folder_of_another_repository_is_not_followed(tmp_path: Path, other_repository: Path) -> None:
    folder = write_files(tmp_path / "hostile", {"a.py": "x = 1\n", ".git": f"gitdir: {other_repository}/.git\n"})
    link = write_files(tmp_path / "linked", {"a.py": "x = 1\n"})
    (link / ".git").symlink_to(other_repository / ".git")
    common = make_repository(tmp_path / "common", {"a.py": "x = 1\n"})
    (common / ".git" / "commondir").write_text(f"{other_repository}/.git\n")
    for root in (folder, link, common):
        assert "private" not in identify(root).project_id
        assert identify(root).project_id != identify(other_repository).project_id


def test_git_alternates_outside_the_allowed_folders_are_not_read(
    tmp_path: Path, root: Path, other_repository: Path
) -> None:
    commit = git(other_repository, "rev-parse", "HEAD")
    write_files(
        root, {".git/objects/info/alternates": f"{other_repository}/.git/objects\n", ".git/HEAD": f"{commit}\n"}
    )
    answer = review_over_http(root, tmp_path / "home")
    assert "uses git alternates outside the allowed folders" in answer
    assert "private" not in answer


def test_worktrees_submodules_and_moved_git_folders_are_supported(tmp_path: Path, root: Path) -> None:
    git(root, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    assert identify(tmp_path / "tree").project_id == identify(root).project_id
    git(tmp_path, "init", "--quiet", "--separate-git-dir", str(tmp_path / "apart"), str(tmp_path / "work"))
    assert identify(tmp_path / "work").project_id.startswith(
        "path:"
    )  # the folder `apart` does not identify the project
    git(tmp_path / "work", "config", "core.worktree", str(tmp_path / "work"))
    git(tmp_path / "work", "remote", "add", "origin", "https://example.org/apart")
    assert identify(tmp_path / "work").project_id == "example.org/apart"
    git(root, "submodule", "--quiet", "add", str(tmp_path / "tree"), "sub")
    git(root / "sub", "remote", "set-url", "origin", "https://example.org/sub")
    assert identify(root / "sub").project_id == "example.org/sub"
