"""Reading git repositories of every kind without running their programs, even if git is slow or fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from deltos.errors import BadArgument
from deltos.workspace.commits import CheckedOut, Heads, head_stamp
from deltos.workspace.git import Git, GitFailed, find_git, open_git, stop_all
from deltos.workspace.git_index import read_index
from deltos.workspace.identity import identify
from deltos.workspace.repository import find_repository, open_repository, parse_settings
from deltos.workspace.versions import compare_versions
from deltos.workspace.walk import walk
from tests.repositories import git, make_repository, write_files

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.workspace.repository import Repository

FILES = {"a.py": "one\ntwo\nthree\n", "deep/b.py": "x\n", "deep/er/c.py": "y\n", "größe.txt": "z\n"}
CHANGED = ["a.py", "new.py"]


def changed_paths(root: Path, revision: str = "HEAD") -> list[str]:
    """Return the paths of the files on disk that differ from a revision."""
    return [file.path for file in compare_versions(root, revision).files if file.path]


def edit_files(root: Path) -> None:
    write_files(root, {"a.py": "one\n2\nthree\n", "new.py": "n\n"})


def repository_at(root: Path) -> Repository:
    found = open_repository(root)
    assert found
    return found


def test_changed_and_new_files_are_found_and_deleted_ones_are_not(tmp_path: Path) -> None:
    root = make_repository(tmp_path, FILES)
    edit_files(root)
    (root / "deep" / "b.py").unlink()
    assert changed_paths(root) == CHANGED


def test_below_a_folder_only_its_own_changes_are_found(tmp_path: Path) -> None:
    root = make_repository(tmp_path, FILES)
    edit_files(root)
    write_files(root, {"deep/b.py": "x\nmore\n", "deep/er/c.py": "z\n"})
    assert changed_paths(root / "deep") == ["b.py", "er/c.py"]


@pytest.mark.parametrize("revision", ["HEAD", "main", "v1", "refs/heads/main", "HEAD~0", "main^0"])
def test_loose_and_packed_revisions_are_resolved(tmp_path: Path, revision: str) -> None:
    root = make_repository(tmp_path, FILES)
    git(root, "tag", "--annotate", "--message=x", "v1")
    for _ in range(2):
        edit_files(root)
        assert changed_paths(root, revision) == CHANGED
        assert changed_paths(root, git(root, "rev-parse", "HEAD")[:12]) == CHANGED
        git(root, "pack-refs", "--all")
        git(root, "gc", "--quiet")


def test_a_touched_file_or_one_with_other_line_endings_is_unchanged(tmp_path: Path) -> None:
    root = make_repository(tmp_path, FILES)
    os.utime(root / "a.py")
    (root / "deep" / "b.py").write_bytes(b"x\r\n")
    assert changed_paths(root) == []


def test_a_filtered_file_is_unchanged_until_it_is_touched(tmp_path: Path) -> None:
    root = make_repository(tmp_path, {".gitattributes": "*.bin filter=up\n"})
    git(root, "config", "filter.up.clean", "tr a-z A-Z")
    write_files(root, {"large.bin": "content\n"})
    os.utime(root / "large.bin", (1_700_000_000, 1_700_000_000))
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=filtered")
    assert git(root, "show", "HEAD:large.bin") == "CONTENT"
    assert changed_paths(root) == []


@pytest.mark.parametrize("kind", ["version 4", "split", "sparse", "sha256", "conflict", "no index"])
def test_every_kind_of_index_and_object_is_read(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "root"
    if kind == "sha256":
        root.mkdir()
        git(root, "init", "--quiet", "--initial-branch=main", "--object-format=sha256")
    make_repository(root, {**FILES, ".gitignore": "*.log\n", "other/d.py": "d\n"})
    write_files(root, {"kept.log": "k\n"})
    git(root, "add", "--force", "kept.log")
    git(root, "commit", "--quiet", "--message=kept")
    expected = {*FILES, ".gitignore", "kept.log", "other/d.py"}
    match kind:
        case "version 4":
            git(root, "update-index", "--index-version", "4")
        case "split":
            git(root, "update-index", "--split-index")
            write_files(root, {"late.log": "l\n"})
            git(root, "add", "--force", "late.log")
            git(root, "commit", "--quiet", "--message=late")
            expected |= {"late.log"}
        case "sparse":
            git(root, "sparse-checkout", "set", "--cone", "--sparse-index", "deep")
            expected -= {"other/d.py"}
        case "conflict":
            git(root, "update-index", "--index-info", text=_make_conflict(root))
        case "no index":
            (root / ".git" / "index").unlink()
            expected -= {"kept.log"}
    write_files(root, {"ignored.log": "i\n"})
    assert set(walk(root).files) == expected
    edit_files(root)
    assert set(changed_paths(root)) - {"kept.log"} == {"a.py", "new.py"}
    assert identify(root).project_id == f"git:{git(root, 'rev-list', '--max-parents=0', 'HEAD')}"


def _make_conflict(root: Path) -> str:
    blob = git(root, "rev-parse", "HEAD:deep/b.py")
    return "".join(f"100644 {blob} {stage}\tdeep/b.py\n" for stage in (1, 2, 3))


def test_the_git_index_is_parsed_as_by_git(tmp_path: Path) -> None:
    long = "/".join(["n" * 200] * 25)  # the name is too long for the length field of git's index
    names = [f"{'d' * (n % 7 + 1)}/{'f' * n}" for n in range(1, 60)]
    root = make_repository(tmp_path, {})
    empty = git(root, "hash-object", "-w", "--stdin", text="")
    git(root, "update-index", "--index-info", text="".join(f"100644 {empty}\t{name}\n" for name in [*names, long]))
    for version in ("2", "4", "3"):
        if version == "3":
            git(root, "update-index", "--index-version", "2")
            git(root, "update-index", "--skip-worktree", names[0])
        else:
            git(root, "update-index", "--index-version", version)
        listed = {line for line in git(root, "ls-files", "-z").split("\0") if line}
        assert {file.path for file in read_index(repository_at(root)).files} == listed


def test_worktrees_submodules_shallow_clones_and_alternates_are_compared(tmp_path: Path) -> None:
    main = make_repository(tmp_path / "main", FILES)
    git(main, "commit", "--quiet", "--allow-empty", "--message=second")
    git(main, "worktree", "add", "--quiet", "-b", "other", str(tmp_path / "tree"))
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{main}", "shallow")
    git(tmp_path, "clone", "--quiet", "--shared", str(main), "shared")
    outer = make_repository(tmp_path / "outer", {"o.py": "o\n"})
    git(outer, "submodule", "--quiet", "add", str(main), "sub")
    for root in (tmp_path / "tree", tmp_path / "shallow", tmp_path / "shared", outer / "sub"):
        edit_files(root)
        assert changed_paths(root) == CHANGED
    assert changed_paths(outer) == [".gitmodules"]


def test_a_partial_clone_is_never_completed_over_the_network(tmp_path: Path) -> None:
    main = make_repository(tmp_path / "main", FILES)
    git(main, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", "--filter=blob:none", "--no-checkout", f"file://{main}", "partial")
    root = tmp_path / "partial"
    write_files(root, FILES)
    edit_files(root)
    before = sorted((root / ".git" / "objects").rglob("*"))
    assert changed_paths(root) == CHANGED
    assert sorted((root / ".git" / "objects").rglob("*")) == before


def test_reftable_references_are_reported_as_unsupported(tmp_path: Path) -> None:
    root = make_repository(tmp_path, FILES)
    with (root / ".git" / "config").open("a") as config:
        config.write("[extensions]\n\trefStorage = reftable\n")
    with pytest.raises(BadArgument, match="reftable"):
        compare_versions(root, "HEAD")
    assert set(walk(root).files) == set(FILES)


def test_a_repository_without_a_commit_cannot_be_compared(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    with pytest.raises(BadArgument, match="there is no such commit"):
        compare_versions(tmp_path, "HEAD")


def test_binary_files_and_names_of_every_kind_are_compared(tmp_path: Path) -> None:
    odd: dict[str, str | bytes] = {
        "with space.py": "1\n",
        'quo"te.py': "1\n",
        "-dash": "1\n",
        "b/c": "1\n",
        "tab\t.py": "1\n",
        "data": b"\0\1",
    }
    root = make_repository(tmp_path, odd)
    write_files(root, {name: "2\n" for name in odd if name != "data"} | {"data": b"\0\2"})
    assert set(changed_paths(root)) == set(odd)


def test_files_that_are_too_large_to_compare_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_repository(tmp_path, {f"f{n}.py": f"{n}\nb\n" for n in range(4)})
    write_files(root, {f"f{n}.py": f"{n}\nc\n" for n in range(4)})
    monkeypatch.setattr("deltos.workspace.changes.MAX_FILE_BYTES", 1)
    assert compare_versions(root, "HEAD").notes == (
        "Note: 4 files could not be compared: unreadable, too large, or out of time.",
    )


@pytest.mark.parametrize("place", ["loose", "pack/pack-1.idx", "info/commit-graph", "info/alternates", "aa/link", "zz"])
def test_links_and_pipes_among_objects_are_rejected_before_git_starts(tmp_path: Path, place: str) -> None:
    root = make_repository(tmp_path, FILES)
    objects = root / ".git" / "objects"
    commit = git(root, "rev-parse", "HEAD")
    target = objects / (f"{commit[:2]}/{commit[2:]}" if place == "loose" else place)
    target.parent.mkdir(exist_ok=True)
    target.unlink(missing_ok=True)
    if place in ("aa/link", "zz"):
        target.symlink_to("/etc")
    else:
        os.mkfifo(target)
    with pytest.raises(BadArgument, match="not all regular files"):
        compare_versions(root, "HEAD")


def test_git_times_out_if_an_object_becomes_a_pipe(tmp_path: Path) -> None:
    root = make_repository(tmp_path, FILES)
    commit = git(root, "rev-parse", "HEAD")
    loose = root / ".git" / "objects" / commit[:2] / commit[2:]
    with open_git(repository_at(root)) as asked:
        loose.unlink()
        os.mkfifo(loose)
        with pytest.raises(GitFailed, match="longer than"):
            asked.run("cat-file", "-p", "HEAD", timeout_seconds=0.5)


def test_alternates_outside_the_allowed_folders_are_rejected(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "root", FILES)
    shutil.move(root / ".git" / "objects", tmp_path / "objects")
    (root / ".git" / "objects").symlink_to(tmp_path / "objects")
    with pytest.raises(BadArgument, match="not a git repository"):
        compare_versions(root, "HEAD")


@pytest.mark.parametrize(
    ("program", "limits"), [("yes", {"max_bytes": 1_000_000}), ("sleep 300", {"timeout_seconds": 1.0})]
)
def test_git_with_too_much_output_or_a_timeout_is_stopped_with_its_children(
    tmp_path: Path, program: str, limits: dict[str, Any]
) -> None:
    root = make_repository(tmp_path / "root", FILES)
    script = f"#!/bin/sh\nPATH={os.environ['PATH']}\nsleep 300 & echo $! > {tmp_path}/child\n{program}\n"
    write_files(tmp_path, {"bin/git": script})
    (tmp_path / "bin" / "git").chmod(0o755)
    with open_git(repository_at(root)) as asked:
        odd = Git(str(tmp_path / "bin" / "git"), asked.folder, asked.objects)
        with pytest.raises(GitFailed, match="and was stopped"):
            odd.run("log", **limits)
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 20  # the kernel removes a killed process asynchronously
    while _is_alive(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _is_alive(child)


def test_a_waiting_git_process_ends_with_the_program(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "root", FILES)
    write_files(tmp_path, {"bin/git": f"#!/bin/sh\necho $$ > {tmp_path}/started\nexec {shutil.which('sleep')} 300\n"})
    (tmp_path / "bin" / "git").chmod(0o755)
    os.mkfifo(tmp_path / "started")
    with open_git(repository_at(root)) as asked, ThreadPoolExecutor() as pool:
        waiting = pool.submit(Git(str(tmp_path / "bin" / "git"), asked.folder, asked.objects).run, "log")
        (tmp_path / "started").read_text()
        stop_all()
        with pytest.raises(GitFailed, match="git failed with exit status"):
            waiting.result(30)


def _is_alive(process_id: int) -> bool:
    """Return whether a process is running; a zombie is not."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(process_id)], capture_output=True, text=True)
    return bool(done.stdout.strip()) and not done.stdout.strip().startswith("Z")


def test_without_git_files_are_listed_and_comparison_reports_missing_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository(tmp_path / "root", FILES)
    write_files(root, {"bin/git": "#!/bin/sh\n"})
    (root / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", "bin", str(root / "bin")]))
    monkeypatch.chdir(root)
    assert find_git(root) == ""
    assert set(walk(root).files) == {*FILES, "bin/git"}
    with pytest.raises(BadArgument, match="not installed"):
        compare_versions(root, "HEAD")


def test_no_temporary_files_remain_and_the_repository_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository(tmp_path / "root", FILES)
    edit_files(root)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    before = {path: path.lstat().st_mtime_ns for path in sorted(root.rglob("*"))}
    assert changed_paths(root) == CHANGED
    assert {path: path.lstat().st_mtime_ns for path in sorted(root.rglob("*"))} == before
    assert list((tmp_path / "temporary").iterdir()) == []


def test_history_and_commits_can_be_read(tmp_path: Path) -> None:
    root = make_repository(tmp_path, FILES)
    write_files(root, {"a.py": "1\n"})
    git(root, "commit", "--quiet", "--all", "--message=second")
    with open_git(repository_at(root)) as asked:
        log = asked.run("log", "--name-only", "--format=%s", "-z", "HEAD").decode()
        assert "second" in log
        assert "größe.txt" in log
        assert b"+1" in asked.run("show", "--no-textconv", "--no-ext-diff", "HEAD")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a]\nb=c", [("a", "", "b", "c")]),
        ('[Remote "O\\"x"] URL = "a;b" # c', [("remote", 'O\\"x', "url", "a;b")]),
        ("[a]\n\tb = c \\\n  d\n\te", [("a", "", "b", "c d"), ("a", "", "e", "")]),
        ('[a]\nb = "x\\n\\t\\\\y" ; z\n; c\n# d\n= e\n[', [("a", "", "b", "x\n\t\\y")]),
        ("", []),
    ],
)
def test_git_settings_are_parsed_as_by_git(text: str, expected: list[tuple[str, str, str, str]]) -> None:
    assert [tuple(setting) for setting in parse_settings(text)] == expected


def test_a_folder_outside_repositories_belongs_to_no_repository(tmp_path: Path) -> None:
    assert find_repository(write_files(tmp_path / "plain", FILES)) is None


def test_every_change_to_the_checked_out_commit_is_detected(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "shop", FILES)
    heads, seen = Heads(), list[CheckedOut]()

    def state_of(folder: Path = root) -> CheckedOut:
        found = heads.state_of(folder)
        repository = find_repository(folder)
        assert found == CheckedOut(repository, head_stamp(repository) if repository else ())
        assert heads.state_of(folder) == found
        seen.append(found)
        return found

    state_of()
    git(root, "commit", "--quiet", "--allow-empty", "--message=second")
    state_of()
    git(root, "switch", "--quiet", "--create", "other")
    state_of()
    git(root, "commit", "--quiet", "--allow-empty", "--message=third")
    state_of()
    git(root, "checkout", "--quiet", "--detach", "HEAD~1")
    state_of()
    git(root, "switch", "--quiet", "main")
    git(root, "pack-refs", "--all")
    state_of()
    assert len({each.stamp for each in seen}) == len(seen)
    git(root, "worktree", "add", "--quiet", str(tmp_path / "second"), "other")
    assert state_of(tmp_path / "second").repository
    inside = root / "deep"
    assert state_of(inside).repository == repository_at(root)
    git(inside, "init", "--quiet")
    assert state_of(inside).repository == repository_at(inside)
    shutil.rmtree(inside / ".git")
    assert state_of(inside).repository == repository_at(root)
    shutil.rmtree(root / ".git")
    assert state_of(inside) == CheckedOut(None, ())
    git(root, "init", "--quiet")
    assert state_of(inside).repository == repository_at(root)
