"""Incremental updates of an index."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from deltos.errors import Cancelled, NothingToIndex
from deltos.progress import Silent
from deltos.workspace import sync
from tests.repositories import write_files
from tests.workspace.indexers import FAILING, TextIndexer, indexed_texts, open_index, recorded_writes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.workspace.project_index import ProjectIndex

LONG_AGO = 1_600_000_000.5
FILES = {"a.py": "a = 1\n", "b.py": "b = 1\n", "deep/c.md": "# c\n"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = write_files(tmp_path / "root", FILES)
    make_old(root)
    return root


@pytest.fixture
def indexer() -> TextIndexer:
    return TextIndexer()


@pytest.fixture
def index(tmp_path: Path, root: Path, indexer: TextIndexer) -> Iterator[ProjectIndex]:
    index = open_index(tmp_path, root, indexer)
    yield index
    index.close()


def make_old(root: Path) -> None:
    """Make all files look old, so that their stamps are trusted."""
    for path in root.rglob("*"):
        if path.is_file() and not path.is_symlink():
            os.utime(path, (LONG_AGO, LONG_AGO))


def test_a_first_index_contains_every_file(index: ProjectIndex) -> None:
    report = index.index()
    assert report.written == set(FILES)
    assert report.files_written == 3
    assert report.units_written == {"text": 3}
    assert indexed_texts(index) == FILES
    assert recorded_writes(index) == set(FILES)
    assert index.store.totals().languages == {"python": 2, "markdown": 1}


def test_a_second_run_parses_nothing(index: ProjectIndex, indexer: TextIndexer) -> None:
    index.index()
    indexer.extracted.clear()
    report = index.index()
    assert (indexer.extracted, report.written, report.removed) == ([], set(), set())


def test_only_changed_files_are_parsed(index: ProjectIndex, root: Path, indexer: TextIndexer) -> None:
    index.index()
    indexer.extracted.clear()
    write_files(root, {"b.py": "b = 2\n", "new.py": "new = 1\n"})
    report = index.index()
    assert sorted(indexer.extracted) == ["b.py", "new.py"]
    assert report.written == {"b.py", "new.py"}
    assert report.files_removed == 0
    assert indexed_texts(index) == FILES | {"b.py": "b = 2\n", "new.py": "new = 1\n"}


def test_a_touched_file_with_the_same_content_is_not_parsed(
    index: ProjectIndex, root: Path, indexer: TextIndexer
) -> None:
    index.index()
    indexer.extracted.clear()
    os.utime(root / "a.py", (LONG_AGO + 5, LONG_AGO + 5))
    assert index.index().written == set()
    assert indexer.extracted == []
    assert index.store.files()["a.py"].stamp.mtime_ns == (root / "a.py").stat().st_mtime_ns


def test_deleted_files_are_removed(index: ProjectIndex, root: Path) -> None:
    index.index()
    (root / "a.py").unlink()
    report = index.index()
    assert (report.written, report.removed, report.files_removed) == (set(), {"a.py"}, 1)
    assert set(indexed_texts(index)) == recorded_writes(index) == {"b.py", "deep/c.md"}


def test_a_renamed_file_is_found_under_its_new_name_only(index: ProjectIndex, root: Path) -> None:
    index.index()
    (root / "a.py").rename(root / "z.py")
    report = index.index()
    assert (report.written, report.removed) == ({"z.py"}, {"a.py"})
    assert set(indexed_texts(index)) == {"z.py", "b.py", "deep/c.md"}


def test_all_files_of_a_project_can_be_deleted(index: ProjectIndex, root: Path) -> None:
    index.index()
    for path in FILES:
        (root / path).unlink()
    assert index.index().removed == set(FILES)
    assert indexed_texts(index) == {}


def test_force_parses_every_file_again(index: ProjectIndex, indexer: TextIndexer) -> None:
    index.index()
    indexer.extracted.clear()
    assert index.index(force=True).written == set(FILES)
    assert sorted(indexer.extracted) == sorted(FILES)


def test_another_version_of_an_indexer_parses_every_file_again(tmp_path: Path, root: Path) -> None:
    open_index(tmp_path, root).index()
    assert open_index(tmp_path, root, TextIndexer(version=2)).index().written == set(FILES)


def test_an_empty_folder_raises(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NothingToIndex, match="No files to index in empty"):
        open_index(tmp_path, tmp_path / "empty").index()


def test_skipped_files_are_counted_by_reason_and_not_read_again(
    index: ProjectIndex, root: Path, tmp_path: Path
) -> None:
    write_files(root, {"photo.png": b"\x89PNG", "empty.py": "", "data.csv": "a,b\n"})
    (root / "link.py").symlink_to("a.py")
    make_old(root)
    reasons = {"binary": 1, "data": 1, "empty": 1, "symlink": 1}
    report = index.index()
    assert (report.skipped_by_reason, report.files_skipped) == (reasons, 4)
    assert index.index().skipped_by_reason == reasons
    assert index.store.totals().skipped == {"binary": 1, "data": 1, "empty": 1}


def test_a_skipped_file_that_becomes_source_is_indexed_and_vice_versa(index: ProjectIndex, root: Path) -> None:
    write_files(root, {"later.py": ""})
    index.index()
    write_files(root, {"later.py": "now = 1\n", "a.py": ""})
    report = index.index()
    assert (report.written, report.removed) == ({"later.py"}, {"a.py"})
    assert set(indexed_texts(index)) == {"later.py", "b.py", "deep/c.md"}
    assert set(index.store.skipped_files()) == {"a.py"}


def test_a_deleted_skipped_file_is_removed(index: ProjectIndex, root: Path) -> None:
    write_files(root, {"empty.py": ""})
    index.index()
    (root / "empty.py").unlink()
    assert index.index().files_skipped == 0


def test_one_bad_file_is_reported_and_the_others_are_indexed(index: ProjectIndex, root: Path) -> None:
    write_files(root, {"bad.py": FAILING})
    report = index.index()
    assert report.errors == ["bad.py: ValueError: a bad file"]
    assert report.skipped_by_reason == {"failed": 1}
    assert set(indexed_texts(index)) == set(FILES)


def test_a_bad_file_is_retried_after_a_change(index: ProjectIndex, root: Path, indexer: TextIndexer) -> None:
    write_files(root, {"bad.py": FAILING})
    make_old(root)
    index.index()
    indexer.extracted.clear()
    assert index.index().errors == ["bad.py: ValueError: a bad file"]
    os.utime(root / "bad.py")  # a new modification time, the same content
    assert index.index().errors == ["bad.py: ValueError: a bad file"]
    assert indexer.extracted == []
    write_files(root, {"bad.py": "good = 1\n"})
    report = index.index()
    assert (report.written, report.errors) == ({"bad.py"}, [])


class ActionDuringIndexing(Silent):
    """Progress listener that runs an action while files are being indexed."""

    def __init__(self, action: object) -> None:
        self._action = action
        self.reports: list[tuple[int, int]] = []

    def report(self, done: int, total: int, what: str) -> None:
        assert what == "files"
        self.reports.append((done, total))
        if len(self.reports) == 1:
            assert callable(self._action)
            self._action()


def test_files_deleted_or_emptied_during_indexing_are_skipped(index: ProjectIndex, root: Path) -> None:
    write_files(root, {f"many/f{n:03}.py": f"n = {n}\n" for n in range(100)})  # these files are indexed in two batches

    def change_files() -> None:
        (root / "many" / "f099.py").unlink()
        (root / "many" / "f098.py").write_text("")

    listener = ActionDuringIndexing(change_files)
    report = index.index(progress=listener)
    assert "many/f099.py" not in report.written
    assert report.skipped_by_reason == {"empty": 1}
    assert listener.reports[-1] == (103, 103)
    assert "many/f099.py" not in indexed_texts(index)


def test_a_file_that_changes_during_indexing_is_read_again(index: ProjectIndex, root: Path) -> None:
    write_files(root, {f"many/f{n:03}.py": f"n = {n}\n" for n in range(100)})
    index.index(progress=ActionDuringIndexing(lambda: (root / "many" / "f000.py").write_text("n = 'changed'\n")))
    index.index()
    assert indexed_texts(index)["many/f000.py"] == "n = 'changed'\n"


class CancelAfterFirstStep(Silent):
    """Progress listener that cancels after the first step."""

    def __init__(self) -> None:
        self._steps = 0

    def report(self, done: int, total: int, what: str) -> None:
        self._steps += 1

    def cancelled(self) -> bool:
        return self._steps > 0


def test_a_cancelled_run_leaves_the_index_as_it_was(index: ProjectIndex, root: Path) -> None:
    index.index()
    write_files(root, {f"many/f{n:03}.py": f"n = {n}\n" for n in range(200)})
    with pytest.raises(Cancelled):
        index.index(progress=CancelAfterFirstStep())
    assert indexed_texts(index) == FILES
    assert len(index.index().written) == 200


def test_an_unfinished_first_index_of_another_version_is_discarded(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "COMMIT_EVERY_SECONDS", -1.0)
    files = {f"many/f{n:03}.py": f"n = {n}\n" for n in range(200)}
    write_files(root, files)
    with pytest.raises(Cancelled):
        open_index(tmp_path, root).index(progress=CancelAfterFirstStep())
    index = open_index(tmp_path, root, TextIndexer(version=2))
    assert 0 < len(indexed_texts(index)) < 200
    with pytest.raises(Cancelled):
        index.index(progress=CancelAfterFirstStep())
    assert index.index().removed == set()
    assert set(indexed_texts(index)) == set(FILES) | set(files)
    assert index.store.meta("indexers") == "text=2"
