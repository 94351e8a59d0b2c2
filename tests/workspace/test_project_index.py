"""An index is up to date before every answer, or the answer has a note about its stale parts."""

from __future__ import annotations

import itertools
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from deltos import disk_throttle
from deltos.errors import Cancelled, DeltosError, NothingToIndex, StoreCorrupt
from deltos.progress import Silent
from deltos.workspace.project_index import SMALL_CHANGE_FILES, Freshness
from tests.files_of import connection_of, project_database
from tests.repositories import git, make_repository, write_files
from tests.store.sqlite.test_lock import start_holder
from tests.workspace.indexers import TextIndexer, indexed_texts, open_index

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool
    from deltos.store.project_writer import ProjectWriter
    from deltos.workspace.indexer import ParsedFile, SyncChanges
    from deltos.workspace.project_index import ProjectIndex

FILES = {"a.py": "a = 1\n", "b.py": "b = 1\n"}


class GatedIndexer(TextIndexer):
    """Indexer that waits in `extract` until its gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()

    def extract(self, file: ParsedFile) -> str:
        self.gate.wait(60)
        return super().extract(file)


class GatedFinishIndexer(TextIndexer):
    """Indexer that waits in `finish` until its gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()

    def finish(self, store: ProjectWriter, changes: SyncChanges, workers: ProcessPool | None) -> None:
        self.gate.wait(60)
        super().finish(store, changes, workers)


class BrokenIndexer(TextIndexer):
    """Indexer that always fails in `finish`."""

    def __init__(self, bug: Exception) -> None:
        super().__init__()
        self._bug = bug

    def finish(self, store: ProjectWriter, changes: SyncChanges, workers: ProcessPool | None) -> None:
        connection_of(store).execute("DELETE FROM text")
        raise self._bug


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_files(tmp_path / "root", FILES)


@pytest.fixture
def indexer() -> GatedIndexer:
    return GatedIndexer()


@pytest.fixture
def index(tmp_path: Path, root: Path, indexer: GatedIndexer) -> Iterator[ProjectIndex]:
    index = open_index(tmp_path, root, indexer)
    yield index
    indexer.gate.set()
    index.close()


def fresh_texts(index: ProjectIndex) -> dict[str, str]:
    """Return the indexed texts after all updates."""
    if index._background:
        index._background.wait(60, Silent())  # it may be waiting for another indexer and then check again
    freshness = index.freshen()
    assert (freshness.complete, freshness.notes) == (True, ())
    return indexed_texts(index)


def many_changes() -> dict[str, str | bytes]:
    return {f"many/f{n}.py": f"n = {n}\n" for n in range(SMALL_CHANGE_FILES + 1)}


def test_the_first_answer_waits_for_the_first_index(index: ProjectIndex) -> None:
    assert fresh_texts(index) == FILES


def test_an_answer_that_needs_only_files_does_not_wait_for_the_finish_step_of_indexers(
    tmp_path: Path, root: Path
) -> None:
    indexer = GatedFinishIndexer()
    index = open_index(tmp_path, root, indexer)
    try:
        found, freshness = index.answer(lambda fresh: (indexed_texts(index), fresh), wait_seconds=60, files_only=True)
        assert found == FILES
        assert not freshness.complete
        (note,) = freshness.notes
        assert note.endswith("edits made since then are not in this answer.")
        freshness = index.freshen(wait_seconds=0)
        assert not freshness.complete
        (note,) = freshness.notes
        assert note.startswith("Note: references are being resolved for the first time; definitions are complete")
        indexer.gate.set()
        assert index.freshen(wait_seconds=60) == Freshness(complete=True)
    finally:
        indexer.gate.set()
        index.close()


@pytest.mark.parametrize("make_project", [write_files, make_repository])
def test_edits_new_files_and_deletions_affect_the_next_answer(tmp_path: Path, make_project: object) -> None:
    assert callable(make_project)
    root = make_project(tmp_path / "project", FILES)
    index = open_index(tmp_path, root)
    assert fresh_texts(index) == FILES
    write_files(root, {"a.py": "a = 22\n"})
    assert fresh_texts(index)["a.py"] == "a = 22\n"
    write_files(root, {"deep/er/new.py": "new = 1\n"})
    assert fresh_texts(index)["deep/er/new.py"] == "new = 1\n"
    (root / "b.py").unlink()
    assert "b.py" not in fresh_texts(index)
    (root / "a.py").rename(root / "c.py")
    assert set(fresh_texts(index)) == {"c.py", "deep/er/new.py"}


@pytest.mark.parametrize("make_project", [write_files, make_repository])
def test_a_file_in_an_empty_folder_is_detected(tmp_path: Path, make_project: object) -> None:
    assert callable(make_project)
    root = make_project(tmp_path / "project", FILES)
    (root / "package" / "inner").mkdir(parents=True)
    index = open_index(tmp_path, root)
    fresh_texts(index)
    write_files(root, {"package/inner/new.py": "new = 1\n"})
    assert "package/inner/new.py" in fresh_texts(index)


def test_content_added_to_an_empty_file_is_detected(index: ProjectIndex, root: Path) -> None:
    write_files(root, {"later.py": ""})
    assert "later.py" not in fresh_texts(index)
    write_files(root, {"later.py": "now = 1\n"})
    assert fresh_texts(index)["later.py"] == "now = 1\n"


def test_an_edit_with_the_same_size_and_timestamp_is_detected(index: ProjectIndex, root: Path) -> None:
    tick = int(time.time()) + 1  # a time in whole seconds, as from a clock with low resolution
    os.utime(root / "a.py", (tick, tick))
    assert fresh_texts(index)["a.py"] == "a = 1\n"
    write_files(root, {"a.py": "a = 9\n"})
    os.utime(root / "a.py", (tick, tick))
    assert fresh_texts(index)["a.py"] == "a = 9\n"


def test_an_edit_with_a_reset_timestamp_is_detected(index: ProjectIndex, root: Path, indexer: GatedIndexer) -> None:
    then = (1_600_000_000.5, 1_600_000_000.5)
    for path in (*(root / name for name in FILES), root):
        os.utime(path, then)
    assert fresh_texts(index)["a.py"] == "a = 1\n"
    write_files(root, {"a.py": "a = 9\n"})
    os.utime(root / "a.py", then)
    assert fresh_texts(index)["a.py"] == "a = 9\n"
    indexer.extracted.clear()
    synced_at = index.store.meta("synced_at")
    fresh_texts(index)
    assert (index.store.meta("synced_at"), indexer.extracted) == (synced_at, [])


def test_a_file_replaced_by_a_link_is_removed(index: ProjectIndex, root: Path, tmp_path: Path) -> None:
    write_files(tmp_path, {"outside.py": "secret = 1\n"})
    fresh_texts(index)
    (root / "a.py").unlink()
    (root / "a.py").symlink_to(tmp_path / "outside.py")
    assert set(fresh_texts(index)) == {"b.py"}


def test_a_changed_gitignore_takes_effect(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "project", FILES)
    index = open_index(tmp_path, root)
    fresh_texts(index)
    git(root, "rm", "--quiet", "--cached", "b.py")
    write_files(root, {".gitignore": "b.py\n"})
    assert set(fresh_texts(index)) == {"a.py", ".gitignore"}


def test_no_file_is_read_if_nothing_changed(index: ProjectIndex, root: Path, indexer: GatedIndexer) -> None:
    for path in FILES:
        os.utime(root / path, (1_600_000_000.5, 1_600_000_000.5))
    fresh_texts(index)
    indexer.extracted.clear()
    synced_at = index.store.meta("synced_at")
    os.utime(root, (1_600_000_000.5, 1_600_000_000.5))
    fresh_texts(index)  # records the new time of the folder
    assert index.store.meta("synced_at") != synced_at
    synced_at = index.store.meta("synced_at")
    fresh_texts(index)
    assert index.store.meta("synced_at") == synced_at
    assert indexer.extracted == []


def test_an_expensive_comparison_is_not_repeated_immediately(
    index: ProjectIndex, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpu_seconds = itertools.count()
    monkeypatch.setattr(time, "thread_time", lambda: float(next(cpu_seconds)))
    monkeypatch.setattr(disk_throttle, "_PAUSE_FACTOR", 10**6)
    monkeypatch.setattr(disk_throttle, "_MAX_PAUSE_SECONDS", 10**6)
    fresh_texts(index)
    fresh_texts(index)
    write_files(root, {"a.py": "a = 333\n"})
    assert fresh_texts(index)["a.py"] == "a = 1\n"
    later = time.monotonic() + 10**7
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert fresh_texts(index)["a.py"] == "a = 333\n"


def test_many_changes_are_indexed_in_the_background_with_a_note(
    index: ProjectIndex, root: Path, indexer: GatedIndexer
) -> None:
    fresh_texts(index)
    changes = many_changes()
    write_files(root, changes)
    indexer.gate.clear()
    for _ in range(2):  # the first answer and the next one
        freshness = index.freshen()
        assert freshness.complete
        assert len(freshness.notes) == 1
        assert "being re-indexed" in freshness.notes[0]
        assert indexed_texts(index) == FILES  # an answer never contains only a part of the changes
    indexer.gate.set()
    index.index()
    assert fresh_texts(index) == FILES | changes


def test_an_answer_waits_a_while_for_many_changes(tmp_path: Path, root: Path) -> None:
    index = open_index(tmp_path, root, changes_seconds=60)
    fresh_texts(index)
    changes = many_changes()
    write_files(root, changes)
    assert index.freshen() == Freshness(complete=True)
    assert indexed_texts(index) == FILES | changes
    index.close()


def test_a_large_skipped_file_is_not_a_large_change(index: ProjectIndex, root: Path) -> None:
    write_files(root, {"big.py": b"#" * 5_000_000})
    fresh_texts(index)
    write_files(root, {"big.py": b"#" * 6_000_000, "c.py": "c = 1\n"})
    assert index.freshen() == Freshness(complete=True)
    assert index._background is None
    assert indexed_texts(index)["c.py"] == "c = 1\n"


def test_a_failed_background_run_is_reported(tmp_path: Path, root: Path) -> None:
    open_index(tmp_path, root).index()
    write_files(root, many_changes())
    index = open_index(tmp_path, root, BrokenIndexer(DeltosError("a bug")))
    notes = index.freshen().notes
    while "being re-indexed" in notes[0]:
        notes = index.freshen().notes
    assert "the index could not be updated" in notes[0]
    assert "a bug" in notes[0]
    assert indexed_texts(index) == FILES


def test_an_index_of_an_older_version_is_renewed(tmp_path: Path, root: Path) -> None:
    open_index(tmp_path, root, TextIndexer(version=1)).index()
    newer = TextIndexer(version=2)
    assert fresh_texts(open_index(tmp_path, root, newer)) == FILES
    assert sorted(newer.extracted) == ["a.py", "b.py"]


def test_an_answer_without_waiting_uses_the_indexed_part_with_a_note(
    index: ProjectIndex, indexer: GatedIndexer
) -> None:
    indexer.gate.clear()
    freshness = index.freshen(wait_seconds=0.0)
    assert not freshness.complete
    assert "being indexed for the first time; this answer covers 0 files" in freshness.notes[0]
    indexer.gate.set()
    index.index()
    assert index._background
    index._background.wait(60, Silent())  # it may be waiting for another indexer and then check again
    assert fresh_texts(index) == FILES


class Listener(Silent):
    """Progress listener that records reports and can cancel the call."""

    def __init__(self, *, waits_for_index: bool = True) -> None:
        self.reports: list[tuple[int, int, str]] = []
        self._waits_for_index = waits_for_index

    def report(self, done: int, total: int, what: str) -> None:
        self.reports.append((done, total, what))

    def cancelled(self) -> bool:
        return not self._waits_for_index


def test_a_first_index_reports_progress_to_waiting_calls(index: ProjectIndex) -> None:
    listener = Listener()
    index.freshen(progress=listener)
    assert listener.reports[-1] == (2, 2, "files")


def test_a_cancelled_call_is_answered_and_indexing_continues(index: ProjectIndex, indexer: GatedIndexer) -> None:
    indexer.gate.clear()
    assert not index.freshen(progress=Listener(waits_for_index=False)).complete
    indexer.gate.set()
    assert fresh_texts(index) == FILES


def test_a_first_index_that_fails_is_an_error_each_time(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    index = open_index(tmp_path, tmp_path / "empty")
    for _ in range(2):
        with pytest.raises(NothingToIndex):
            index.freshen()


def test_an_indexer_that_fails_in_finish_is_reported_and_its_facts_are_kept(tmp_path: Path, root: Path) -> None:
    index = open_index(tmp_path, root, BrokenIndexer(RuntimeError("a bug")))
    freshness = index.freshen()
    assert freshness.complete
    assert "all files (RuntimeError: a bug)" in freshness.notes_about("text")[0]
    assert indexed_texts(index) == FILES
    write_files(root, {"a.py": "a = 2\n"})
    mended = open_index(tmp_path, root)
    assert mended.freshen().notes_about("text") == ()


class UnversionedIndexer:
    """Indexer that fails when its version is requested."""

    name = "unversioned"

    @property
    def version(self) -> int:
        raise RuntimeError("a bug")


def test_an_unexpected_exception_in_a_background_run_is_reported_as_an_error(tmp_path: Path, root: Path) -> None:
    index = open_index(tmp_path, root, UnversionedIndexer())  # type: ignore[arg-type]
    with pytest.raises(DeltosError, match="Indexing failed: RuntimeError: a bug"):
        index.freshen()


def test_an_answer_during_indexing_by_another_process_has_a_note(index: ProjectIndex, root: Path) -> None:
    fresh_texts(index)
    write_files(root, {"a.py": "a = 22\n"})
    holder = start_holder(project_database(index).path.with_suffix(".lock"))
    assert "re-indexed by another call or process" in index.freshen().notes[0]
    assert indexed_texts(index)["a.py"] == "a = 1\n"
    holder.kill()
    holder.communicate()
    assert fresh_texts(index)["a.py"] == "a = 22\n"


def test_indexing_waits_for_another_process_unless_it_is_cancelled(index: ProjectIndex) -> None:
    with index.store.try_lock(), pytest.raises(Cancelled):
        index.index(progress=Listener(waits_for_index=False))


def test_several_threads_may_query_at_once(index: ProjectIndex, root: Path) -> None:
    index.index()
    write_files(root, {"a.py": "a = 22\n", "new.py": "new = 1\n"})
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: fresh_texts(index), range(16)))
    assert answers == [FILES | {"a.py": "a = 22\n", "new.py": "new = 1\n"}] * 16


def damage_index(index: ProjectIndex) -> None:
    """Overwrite the index file except for its first pages."""
    path = project_database(index).path
    project_database(index).close()
    content = path.read_bytes()
    path.write_bytes(content[:8192] + b"\xa5" * (len(content) - 8192))


def test_a_damaged_index_is_set_aside_and_rebuilt_with_a_note(index: ProjectIndex) -> None:
    fresh_texts(index)
    damage_index(index)
    found, notes = index.answer(lambda freshness: (indexed_texts(index), freshness.notes))
    assert found == FILES
    assert len(notes) == 1
    assert "damaged" in notes[0]
    assert index.store.damaged_file
    assert index.store.damaged_file in notes[0]
    assert index.answer(lambda freshness: freshness.notes) == ()


def test_indexing_rebuilds_a_damaged_index_with_a_note(index: ProjectIndex) -> None:
    index.index()
    damage_index(index)
    report = index.index(force=True)
    assert report.written == set(FILES)
    assert "damaged" in report.notes[0]
    assert indexed_texts(index) == FILES


def test_an_index_that_is_still_damaged_after_a_rebuild_is_an_error(index: ProjectIndex) -> None:
    def work(_: Freshness) -> None:
        raise StoreCorrupt("always")

    with pytest.raises(StoreCorrupt):
        index.answer(work)


def test_closing_stops_a_background_run(tmp_path: Path, root: Path) -> None:
    write_files(root, many_changes())
    indexer = GatedIndexer()
    index = open_index(tmp_path, root, indexer)
    indexer.gate.clear()
    index.freshen(wait_seconds=0.0)
    threading.Timer(0.01, indexer.gate.set).start()
    index.close()
    assert not any(thread.name == "deltos-index" for thread in threading.enumerate())
