"""Extraction from a partially parsed file: facts of the parsed part and a note about the other lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.code.index import CodeIndexer
from deltos.files import FileTree
from deltos.languages import grammar
from deltos.workspace.extract import FileToRead, extract_file
from deltos.workspace.walk import stamp

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SOURCE = "package a\n" + "func f() {}\n" * 200


def test_a_partially_parsed_file_reports_the_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.go").write_text(SOURCE)
    with FileTree(tmp_path) as tree:
        seen = stamp(tree, "a.go")
    assert seen is not None
    indexer = CodeIndexer()
    whole = extract_file(tmp_path, (indexer,), FileToRead("a.go", seen))
    assert whole.facts is not None
    assert (whole.failures, len(whole.facts[0].definitions)) == ((), 200)
    monkeypatch.setattr(grammar, "LIMIT_SECONDS", 0.0)
    monkeypatch.setattr(grammar, "LIMIT_SECONDS_PER_BYTE", 0.0)
    part = extract_file(tmp_path, (indexer,), FileToRead("a.go", seen))
    [(name, reason)] = part.failures
    assert (name, reason) == ("code", "Parse error at line 1; lines 2–202 are not indexed")
    assert part.facts is not None  # words are extracted from the whole file
