"""Git output that is too large or too slow is stopped: earlier output is kept, the reason recorded, and the remaining
output read later."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.config import Config, Embedding
from deltos.domains.history import commit_text, line_history
from deltos.domains.history import index as history_index
from deltos.domains.history.index import HistoryIndexer
from deltos.domains.history.line_history import LineRange, commits_of_lines
from deltos.errors import TimeLimitExceeded
from deltos.model import Project
from deltos.progress import Silent
from deltos.store.history import HISTORY_SUMMARY
from deltos.workspace import commits as log
from deltos.workspace.git import GitStopped
from tests.calling import ToolClient
from tests.domains.history.repositories import START, commit, create_repository, open_store, read_history, subjects
from tests.repositories import git, write_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool
    from deltos.store.project import ProjectStore

STEPS = 6
# Larger than a pipe buffer, so that git waits until its output is read.
LONG_MESSAGE = "word " * 40_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = create_repository(tmp_path / "shop")
    for number in range(STEPS):
        commit(root, f"step {number}\n\n{LONG_MESSAGE}", {"a.py": f"x = {number}\n"}, day=number)
    return root


@pytest.fixture
def store(tmp_path: Path, root: Path) -> Iterator[ProjectStore]:
    with open_store(tmp_path / "home", root) as store:
        yield store


def step_subjects(newest: int, oldest: int) -> list[str]:
    return [f"step {number}" for number in range(newest, oldest - 1, -1)]


class SlowGit:
    """A program called git that answers one kind of request and then hangs."""

    def __init__(self, folder: Path, word: str) -> None:
        self._pids = folder / "pids"
        real = shutil.which("git")
        write_files(
            folder,
            {
                "bin/git": f'#!/bin/sh\nif [ "$2" != {word} ]; then exec {real} "$@"; fi\n'
                f'{real} "$@"\necho $$ >> {self._pids}\nwhile :; do /bin/sleep 1; done\n'
            },
        )
        (folder / "bin" / "git").chmod(0o755)
        self.path = str(folder / "bin")

    def are_processes_terminated(self) -> list[bool]:
        """Return for each hanging process whether it was terminated."""
        return [not _is_running(int(pid)) for pid in self._pids.read_text().split()]


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def commit_many(root: Path, count: int) -> None:
    """Create `count` small commits, which take a child process a while to parse."""
    message = "many words " * 100
    commits = [
        f"commit refs/heads/main\ncommitter A <a@example.org> {START + number} +0000\ndata {len(message)}\n{message}\n"
        for number in range(count)
    ]
    git(root, "fast-import", "--quiet", text=commits[0] + "from refs/heads/main^0\n" + "".join(commits[1:]))


def test_output_beyond_the_byte_limit_is_read_by_the_next_run(
    root: Path, store: ProjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "MAX_LOG_BYTES", 2 * len(LONG_MESSAGE) + 100_000)
    read_history(store, root, HistoryIndexer(chunk_bytes=1_000))
    assert subjects(store) == step_subjects(5, 4)
    assert "Only 2 commits could be read: git printed more than" in store.meta(HISTORY_SUMMARY)
    read_history(store, root, HistoryIndexer(chunk_bytes=1_000))
    assert subjects(store) == step_subjects(5, 2)
    read_history(store, root, HistoryIndexer(chunk_bytes=1_000))
    assert subjects(store) == step_subjects(5, 0)
    monkeypatch.undo()
    read_history(store, root)
    assert subjects(store) == step_subjects(5, 0)
    assert "were read" not in store.meta(HISTORY_SUMMARY)


def test_too_large_commit_stops_indexing_but_newer_commits_are_kept(root: Path, store: ProjectStore) -> None:
    commit(root, "huge\n\n" + "x" * (log.MAX_COMMIT_BYTES + 4_000_000), {"a.py": "huge\n"}, day=STEPS)
    commit(root, "after", {"a.py": "after\n"}, day=STEPS + 1)
    read_history(store, root)
    assert subjects(store) == ["after"]
    assert "Only 1 commit could be read: a commit has more than 32 MB" in store.meta(HISTORY_SUMMARY)


@pytest.mark.skipif(sys.platform == "win32", reason="the fake git is a shell script")
def test_endless_log_is_stopped_and_its_output_kept(
    root: Path, store: ProjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = SlowGit(tmp_path / "slow", "log")
    monkeypatch.setenv("PATH", slow.path)
    read_history(store, root, HistoryIndexer(max_seconds=1.0, chunk_bytes=1_000))
    assert subjects(store) == step_subjects(5, 1)  # the last commit may be incomplete
    assert f"Only {STEPS - 1} commits could be read: git took longer than" in store.meta(HISTORY_SUMMARY)
    assert slow.are_processes_terminated() == [True]
    monkeypatch.undo()
    read_history(store, root)
    assert subjects(store) == step_subjects(5, 0)
    assert "were read" not in store.meta(HISTORY_SUMMARY)


@pytest.mark.skipif(sys.platform == "win32", reason="the fake git is a shell script")
def test_new_commits_are_read_later_after_a_timeout(
    root: Path, store: ProjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_history(store, root)
    commit(root, "new", {"a.py": "new\n"}, day=STEPS)
    slow = SlowGit(tmp_path / "slow", "log")
    monkeypatch.setenv("PATH", slow.path)
    with pytest.raises(GitStopped, match="took longer than"):
        read_history(store, root, HistoryIndexer(max_seconds=1.0))
    assert subjects(store) == step_subjects(5, 0)
    assert "git took longer than" in store.meta(HISTORY_SUMMARY)
    assert slow.are_processes_terminated() == [True]
    monkeypatch.undo()
    read_history(store, root)
    assert subjects(store) == ["new", *step_subjects(5, 0)]
    assert "took longer" not in store.meta(HISTORY_SUMMARY)


@pytest.mark.skipif(sys.platform == "win32", reason="the fake git is a shell script")
def test_omitted_commits_are_reported_even_if_counting_times_out(
    root: Path, store: ProjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = SlowGit(tmp_path / "slow", "rev-list")
    monkeypatch.setattr(log, "_COUNT_TIMEOUT_SECONDS", 1.0)
    monkeypatch.setenv("PATH", slow.path)
    read_history(store, root, HistoryIndexer(max_commits=2))
    assert subjects(store) == step_subjects(5, 4)
    assert "Commits older than the newest" in store.meta(HISTORY_SUMMARY)
    assert slow.are_processes_terminated() == [True]


def test_slow_parser_process_is_stopped_and_the_reason_reported(
    root: Path, store: ProjectStore, workers: ProcessPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_index, "_MAX_PARSING_CPU_SECONDS", 1e-6)
    read_history(store, root, HistoryIndexer(workers=workers))
    assert (
        len(subjects(store)) < STEPS
    )  # CPU time is measured in steps, so a few commits may be read before the limit applies
    assert "reading it took more than" in store.meta(HISTORY_SUMMARY)
    monkeypatch.undo()
    read_history(store, root, HistoryIndexer(workers=workers))
    assert subjects(store) == step_subjects(5, 0)
    commit_many(root, 1_500)
    monkeypatch.setattr(history_index, "_MAX_PARSING_CPU_SECONDS", 1e-6)
    indexer, project = HistoryIndexer(workers=workers), Project(root.resolve(), "test")
    with pytest.raises(TimeLimitExceeded):
        indexer.catch_up(project, store, Silent())
    assert "reading it took more than" in store.meta(HISTORY_SUMMARY)
    assert not indexer.is_behind(project, store, at_once=True)  # a second attempt would fail again


@pytest.mark.skipif(sys.platform == "win32", reason="the fake git is a shell script")
def test_commit_text_falls_back_to_the_index_if_git_hangs(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: ProcessPool
) -> None:
    made = commit(root, "Invent the zeppelin\n\nIt flies.", {"a.py": "zeppelin = 1\n"}, day=STEPS)
    with closing(App(Config(tmp_path / "home", embedding=Embedding("off")), workers=workers)) as app:
        app.domains.projects.index_of(root).index()
        app.domains.projects.index_of(root).catch_up()
        slow = SlowGit(tmp_path / "slow", "log")
        monkeypatch.setattr(commit_text, "MAX_SECONDS", 1.0)
        monkeypatch.setenv("PATH", slow.path)
        text = ToolClient(app.tools(), root).data("fetch", id=f"commit:{made}")["text"]
    assert "Invent the zeppelin\n\nIt flies." in text
    assert "git took longer than 1 seconds and was stopped" in text
    assert all(slow.are_processes_terminated())


def test_large_diff_and_message_are_truncated(root: Path, tmp_path: Path) -> None:
    made = commit(root, "Much", {"big.txt": "line of text\n" * 100_000}, day=STEPS)
    commit(root, "m" * (commit_text.MAX_MESSAGE_BYTES + 10), {"a.py": "long\n"}, day=STEPS + 1)
    with open_store(tmp_path / "home", root) as store:
        read_history(store, root)
        longest, much = store.history.commits_in([], limit=2)
    assert much.hash == made
    assert commit_text.text_of(much, root).endswith("… (diff truncated at 400 kB)")
    assert "… (message truncated)" in commit_text.text_of(longest, root)


@pytest.mark.skipif(sys.platform == "win32", reason="the fake git is a shell script")
def test_line_history_uses_output_before_a_timeout(
    root: Path, store: ProjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_history(store, root)
    slow = SlowGit(tmp_path / "slow", "log")
    monkeypatch.setenv("PATH", slow.path)
    found = commits_of_lines(store.history, root, "a.py", LineRange(1, 1), limit=STEPS + 1)
    assert not found.is_whole_file
    assert [row.subject for row in found.commits] == step_subjects(5, 1)
    assert slow.are_processes_terminated() == [True]


def test_line_history_uses_output_within_the_byte_limit(
    root: Path, store: ProjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2):
        big = "".join(f"line {number} {place}\n" for place in range(20_000))
        commit(root, f"big {number}", {"a.py": f"x = big {number}\n{big}"}, day=STEPS + number)
    read_history(store, root)
    monkeypatch.setattr(line_history, "MAX_DIFF_BYTES", 500_000)
    found = commits_of_lines(store.history, root, "a.py", LineRange(1, 1), limit=STEPS)
    assert [row.subject for row in found.commits][:1] == ["big 1"]
    assert "step 0" not in [row.subject for row in found.commits]
