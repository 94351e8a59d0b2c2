"""Local folders are compared with the disk before a search, and changed files are read before the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.docs import library
from deltos.domains.docs.search import DocsRequest
from tests.repositories import write_files

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.domains.docs.conftest import Desk

QUESTION = "how long does the frobnicator wait"


def guide(desk: Desk, **files: str) -> Path:
    return write_files(desk.root / "guide", {f"{name}.md": text for name, text in files.items()})


def texts(desk: Desk, query: str = QUESTION) -> str:
    return "\n".join(passage.text for passage in desk.search(query, source="guide"))


def note(desk: Desk, query: str = QUESTION) -> str:
    return desk.docs.search.search(DocsRequest(query)).note


def test_edits_new_files_and_deletions_affect_the_next_search(desk: Desk) -> None:
    folder = guide(desk, a="# Waiting\n\nThe frobnicator waits 30 seconds.\n", z="# Other\n\nNothing to say.\n")
    desk.add(str(folder), "guide")
    assert "30 seconds" in texts(desk)
    guide(desk, a="# Waiting\n\nThe frobnicator waits 95 seconds.\n")
    assert "95 seconds" in texts(desk)
    assert "30 seconds" not in texts(desk)
    guide(desk, b="# Sprockets\n\nA sprocket is calibrated by turning it.\n")
    assert "turning it" in texts(desk, "how is a sprocket calibrated")
    (folder / "a.md").unlink()
    assert "frobnicator" not in texts(desk)
    assert note(desk) == ""


def test_unchanged_files_are_not_read_again(desk: Desk) -> None:
    folder = guide(desk, a="# Waiting\n\nThe frobnicator waits 30 seconds.\n", empty="")
    (folder / "data.json").write_text("{}")
    (folder / "link.md").symlink_to(folder / "a.md")
    source = desk.add(str(folder), "guide").source
    desk.time.seconds = 4e9  # later than the times of all files
    desk.recrawl("guide")
    crawled = desk.docs.library.status("guide").source.generation
    texts(desk)
    assert desk.docs.library.status(source.id).source.generation == crawled


def test_a_page_that_includes_a_changed_file_is_read_again(desk: Desk) -> None:
    folder = write_files(
        desk.root / "guide",
        {"a.rst": "Waiting\n=======\n\n.. include:: part.inc\n", "part.inc": "It waits 30 seconds.\n"},
    )
    desk.add(str(folder), "guide")
    assert "30 seconds" in texts(desk, "waiting")
    (folder / "part.inc").write_text("It waits 95 seconds.\n")
    assert "95 seconds" in texts(desk, "waiting")


def test_a_missing_folder_has_a_note(desk: Desk) -> None:
    folder = guide(desk, a="# Waiting\n\nThe frobnicator waits 30 seconds.\n")
    desk.add(str(folder), "guide")
    (folder / "a.md").unlink()
    assert "30 seconds" in texts(desk)
    assert "guide has no readable files any more; results are from its old index" in note(desk)
    folder.rmdir()
    assert "guide has no readable files any more" in note(desk)


def test_a_comparison_that_takes_too_long_has_a_note(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.add(str(guide(desk, a="# Waiting\n\nThe frobnicator waits 30 seconds.\n")), "guide")
    monkeypatch.setattr(library, "_COMPARE_SECONDS", -1.0)
    assert "guide is too large to check for changes; recrawl_source updates it" in note(desk)


def test_a_newly_added_folder_is_read_before_the_answer(desk: Desk) -> None:
    desk.begin(str(guide(desk, a="# Waiting\n\nThe frobnicator waits 30 seconds.\n")), "guide")
    assert "30 seconds" in texts(desk)


def test_a_source_that_is_still_being_read_has_a_note(desk: Desk) -> None:
    source_id = desk.begin(str(guide(desk, a="# Waiting\n\nThe frobnicator waits 30 seconds.\n")), "guide")
    with desk.store.sources.try_lock(source_id) as lock:
        assert lock
        desk.docs.library._changes_seconds = 0.1
        assert "Note: guide is still being crawled; this answer may miss its pages." in note(desk)
    desk.docs.library._changes_seconds = 60.0
    desk.docs.library.crawls.wait(source_id)
    assert note(desk) == ""
