"""Files on which an indexer fails, loops, exhausts memory or crashes are reported, not retried, and do not affect
others.
"""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deltos.errors import Cancelled
from deltos.isolated.process_pool import ProcessPool
from deltos.progress import Silent
from deltos.workspace import batches
from deltos.workspace.batches import PARALLEL_BYTES
from tests.repositories import write_files
from tests.workspace.indexers import BAD, DEADLY, ENDLESS, GREEDY, PickyIndexer, TextIndexer, indexed_texts, open_index

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.workspace.project_index import ProjectIndex

REPOSITORY = str(Path(__file__).parents[2])
LONG_AGO = 1_600_000_000.5
GOOD: dict[str, str | bytes] = {"a.py": "a = 1\n", "b.py": "b = 1\n"}
FAILURES = {
    "failing.py": (BAD, "ValueError: a bad file"),
    "deadly.py": (DEADLY, "the parser crashed (SIGKILL)"),
    "endless.py": (ENDLESS, "reading it took more than 0.5 s of CPU time"),
    "greedy.py": (GREEDY, "reading it took more than 512 MB of memory"),
}


@pytest.fixture(autouse=True)
def _strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MIN_CPU_SECONDS", 0.5)
    monkeypatch.setattr(batches, "WALL_PER_CPU_SECOND", 1_000.0)
    monkeypatch.setattr(batches, "MEMORY_BYTES", 512 << 20)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_files(tmp_path / "root", GOOD)


@pytest.fixture(scope="module")
def workers() -> Iterator[ProcessPool]:
    with closing(ProcessPool(importable_from=(REPOSITORY,))) as workers:
        yield workers


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "attempts"


def open_indexer(tmp_path: Path, root: Path, log: Path, workers: ProcessPool) -> ProjectIndex:
    return open_index(tmp_path, root, TextIndexer(), PickyIndexer(log), workers=workers)


def make_old(root: Path) -> None:
    """Make all files look old, so that their stamps are trusted."""
    for path in root.rglob("*.*"):
        os.utime(path, (LONG_AGO, LONG_AGO))


def many_sources() -> dict[str, str | bytes]:
    """Return enough files to be indexed by several child processes."""
    line = "some_value = another_value + 1\n"
    return {f"many/f{n}.txt": f"# file {n}\n" + line * 700 for n in range(PARALLEL_BYTES // (700 * len(line)) + 1)}


@pytest.mark.parametrize("name", FAILURES)
def test_a_file_that_one_indexer_cannot_read_is_kept_by_the_others_and_reported(
    tmp_path: Path, root: Path, log: Path, workers: ProcessPool, name: str
) -> None:
    content, reason = FAILURES[name]
    write_files(root, {name: content + b"\n"})
    with closing(open_indexer(tmp_path, root, log, workers)) as index:
        report = index.index()
        assert report.written == {*GOOD, name}
        (error,) = report.errors
        assert error.startswith(f"{name}: could not be read by picky: {reason}")
        assert indexed_texts(index)[name] == content.decode() + "\n"
        (note,) = index.freshen().notes_about("picky")
        assert note.startswith(f"Note: 1 file could not be read by picky: {name} ({reason}")
        assert index.freshen().notes_about("text") == ()


def test_an_unreadable_file_is_not_retried_until_it_changes(
    tmp_path: Path, root: Path, log: Path, workers: ProcessPool
) -> None:
    write_files(root, {name: content + b" always" for name, (content, _) in FAILURES.items()})
    make_old(root)
    with closing(open_indexer(tmp_path, root, log, workers)) as index:
        errors = index.index().errors
        assert len(errors) == len(FAILURES)
    attempts = log.read_text()
    with closing(open_indexer(tmp_path, root, log, workers)) as index:
        assert index.index().errors == errors
        for name in FAILURES:
            os.utime(root / name)  # a new modification time, the same content
        assert index.index().errors == errors
        assert log.read_text() == attempts
        write_files(root, {name: f"good = '{name}'\n" for name in FAILURES})
        report = index.index()
        assert (report.written, report.errors) == (set(FAILURES), [])


def test_a_file_that_no_indexer_can_read_is_skipped_with_a_reason(
    tmp_path: Path, root: Path, log: Path, workers: ProcessPool
) -> None:
    write_files(root, {name: content + b" always" for name, (content, _) in FAILURES.items()})
    make_old(root)
    with closing(open_index(tmp_path, root, PickyIndexer(log), workers=workers)) as index:
        report = index.index()
        assert report.written == set(GOOD)
        assert report.skipped_by_reason == {
            "failed": 1,
            "parser crashed": 1,
            "took too long": 1,
            "took too much memory": 1,
        }
        (note,) = index.freshen().notes_about("picky")
        assert note.startswith(
            "Note: 4 files could not be read: deadly.py (the parser crashed (SIGKILL)), endless.py ("
        )
        assert note.endswith("and 1 more.")
        attempts = log.read_text()
        index.index()
        assert log.read_text() == attempts
        assert index.index(force=True).errors == report.errors
        assert log.read_text() > attempts


def test_large_projects_are_read_in_parallel_and_bad_files_reported(
    tmp_path: Path, root: Path, log: Path, workers: ProcessPool
) -> None:
    files = many_sources()
    bad = {f"many/{name}": content for name, (content, _) in FAILURES.items()}
    write_files(root, files | bad)
    with closing(open_indexer(tmp_path, root, log, workers)) as index:
        report = index.index()
        assert report.written == {*GOOD, *files, *bad}
        assert [error.partition(":")[0] for error in report.errors] == sorted(bad)
        assert indexed_texts(index)["many/f0.txt"] == files["many/f0.txt"]


def test_only_a_limited_number_of_bad_files_is_retried_per_indexer(
    tmp_path: Path, root: Path, log: Path, workers: ProcessPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "MAX_SEPARATE_ATTEMPTS", 2)
    bad = {f"d{n}.py": DEADLY for n in range(5)}
    write_files(root, bad)
    with closing(open_indexer(tmp_path, root, log, workers)) as index:
        report = index.index()
        assert {error.partition(":")[0] for error in report.errors} == set(bad)
        assert report.skipped_by_reason == {}
        assert report.written == {*GOOD, *bad}
        assert indexed_texts(index)["d4.py"] == DEADLY.decode()
    attempts = log.read_text().split()
    assert all(attempts.count(name) > 2 for name in ("d0.py", "d1.py"))
    assert [attempts.count(name) for name in ("d2.py", "d3.py", "d4.py")] == [
        2,
        2,
        2,
    ]  # each file is tried as source code and as plain text


def test_only_a_limited_number_of_unreadable_files_is_retried_as_text(
    tmp_path: Path, root: Path, log: Path, workers: ProcessPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "MAX_SEPARATE_ATTEMPTS", 1)
    bad = {f"d{n}.py": DEADLY + b" always" for n in range(4)}
    write_files(root, bad)
    with closing(open_indexer(tmp_path, root, log, workers)) as index:
        report = index.index()
        assert {error.partition(":")[0] for error in report.errors} == set(bad)
        assert report.skipped_by_reason == {"parser crashed": 3}
        assert report.written == {*GOOD, "d0.py"}
    attempts = log.read_text().split()
    tried_as_text = attempts.count("d1.py")
    assert [attempts.count(name) for name in ("d2.py", "d3.py")] == [1, 1]
    assert attempts.count("d0.py") > tried_as_text > 1


def test_a_file_that_becomes_unreadable_is_removed(tmp_path: Path, root: Path, log: Path, workers: ProcessPool) -> None:
    with closing(open_index(tmp_path, root, PickyIndexer(log), workers=workers)) as index:
        index.index()
        write_files(root, {"a.py": ENDLESS + b" always"})
        report = index.index()
        assert report.removed == {"a.py"}
        assert [error.partition(":")[0] for error in report.errors] == ["a.py"]
        write_files(root, {"a.py": "a = 3\n"})
        assert index.index().errors == []


class CancelAfterFirstStep(Silent):
    """Progress listener that cancels after the first step."""

    def __init__(self) -> None:
        self._steps = 0

    def report(self, done: int, total: int, what: str) -> None:
        self._steps += 1

    def cancelled(self) -> bool:
        return self._steps > 0


def test_a_cancelled_run_ends_its_child_processes(tmp_path: Path, root: Path, log: Path, workers: ProcessPool) -> None:
    write_files(root, many_sources() | {f"endless{n}.py": ENDLESS for n in range(3)})
    with closing(open_indexer(tmp_path, root, log, workers)) as index:
        with pytest.raises(Cancelled):
            index.index(progress=CancelAfterFirstStep())
        assert not workers._busy
        assert index.index().files_written > 0
