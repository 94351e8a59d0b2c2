"""Local folders are compared with the disk before a search, and changed files are read before the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.docs import library
from deltos.domains.docs.search import DocsRequest
from tests.repositories import write_files

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.domains.docs.conftest import DocsClient

QUESTION = "how long does the frobnicator wait"


def write_guide(docs_client: DocsClient, **files: str) -> Path:
    return write_files(docs_client.root / "guide", {f"{name}.md": text for name, text in files.items()})


def search_texts(docs_client: DocsClient, query: str = QUESTION) -> str:
    return "\n".join(passage.text for passage in docs_client.search(query, source="guide"))


def search_note(docs_client: DocsClient, query: str = QUESTION) -> str:
    return docs_client.docs.search.search(DocsRequest(query)).note


def test_edits_new_files_and_deletions_affect_the_next_search(docs_client: DocsClient) -> None:
    folder = write_guide(
        docs_client, a="# Waiting\n\nThe frobnicator waits 30 seconds.\n", z="# Other\n\nNothing to say.\n"
    )
    docs_client.add(str(folder), "guide")
    assert "30 seconds" in search_texts(docs_client)
    write_guide(docs_client, a="# Waiting\n\nThe frobnicator waits 95 seconds.\n")
    assert "95 seconds" in search_texts(docs_client)
    assert "30 seconds" not in search_texts(docs_client)
    write_guide(docs_client, b="# Sprockets\n\nA sprocket is calibrated by turning it.\n")
    assert "turning it" in search_texts(docs_client, "how is a sprocket calibrated")
    (folder / "a.md").unlink()
    assert "frobnicator" not in search_texts(docs_client)
    assert search_note(docs_client) == ""


def test_unchanged_files_are_not_read_again(docs_client: DocsClient) -> None:
    folder = write_guide(docs_client, a="# Waiting\n\nThe frobnicator waits 30 seconds.\n", empty="")
    (folder / "data.json").write_text("{}")
    (folder / "link.md").symlink_to(folder / "a.md")
    source = docs_client.add(str(folder), "guide").source
    docs_client.time.seconds = 4e9  # a time after the last change of every file
    docs_client.recrawl("guide")
    crawled = docs_client.docs.library.status("guide").source.generation
    search_texts(docs_client)
    assert docs_client.docs.library.status(source.id).source.generation == crawled


def test_a_page_that_includes_a_changed_file_is_read_again(docs_client: DocsClient) -> None:
    folder = write_files(
        docs_client.root / "guide",
        {"a.rst": "Waiting\n=======\n\n.. include:: part.inc\n", "part.inc": "It waits 30 seconds.\n"},
    )
    docs_client.add(str(folder), "guide")
    assert "30 seconds" in search_texts(docs_client, "waiting")
    (folder / "part.inc").write_text("It waits 95 seconds.\n")
    assert "95 seconds" in search_texts(docs_client, "waiting")


def test_a_missing_folder_is_reported_in_a_note(docs_client: DocsClient) -> None:
    folder = write_guide(docs_client, a="# Waiting\n\nThe frobnicator waits 30 seconds.\n")
    docs_client.add(str(folder), "guide")
    (folder / "a.md").unlink()
    assert "30 seconds" in search_texts(docs_client)
    assert "guide no longer has readable files; results are from its old index" in search_note(docs_client)
    folder.rmdir()
    assert "guide no longer has readable files" in search_note(docs_client)


def test_a_comparison_that_takes_too_long_is_reported_in_a_note(
    docs_client: DocsClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs_client.add(str(write_guide(docs_client, a="# Waiting\n\nThe frobnicator waits 30 seconds.\n")), "guide")
    monkeypatch.setattr(library, "_COMPARE_TIMEOUT_SECONDS", -1.0)
    assert "guide is too large to check for changes; recrawl_source updates it" in search_note(docs_client)


def test_a_newly_added_folder_is_read_before_the_answer(docs_client: DocsClient) -> None:
    docs_client.begin(str(write_guide(docs_client, a="# Waiting\n\nThe frobnicator waits 30 seconds.\n")), "guide")
    assert "30 seconds" in search_texts(docs_client)


def test_a_source_that_is_still_being_read_is_reported_in_a_note(docs_client: DocsClient) -> None:
    source_id = docs_client.begin(
        str(write_guide(docs_client, a="# Waiting\n\nThe frobnicator waits 30 seconds.\n")), "guide"
    )
    with docs_client.store.sources.try_lock(source_id) as lock:
        assert lock
        docs_client.docs.library._changes_seconds = 0.1
        assert "Note: guide is still being crawled; this answer may miss its pages." in search_note(docs_client)
    docs_client.docs.library._changes_seconds = 60.0
    docs_client.docs.library.crawls.wait(source_id)
    assert search_note(docs_client) == ""
