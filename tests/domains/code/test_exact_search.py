"""Exact search for literals and patterns in source files."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from deltos.domains.code.retrieve import line_scan as scanning
from deltos.domains.code.retrieve.line_scan import FileMatches, LiteralFinder, PatternFinder, ScanReport, scan
from deltos.errors import BadArgument
from tests.repositories import write_files

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.domains.code.retrieve.line_scan import Finder


def matches(root: Path, finder: Finder, *paths: str) -> list[FileMatches]:
    return list(scan(root, paths, finder, ScanReport()))


def test_a_literal_is_found_on_its_lines(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "one\ntwo two\n(.*)\nthree two\n", "b.py": "none\n"})
    assert matches(tmp_path, LiteralFinder("two"), "a.py", "b.py") == [FileMatches("a.py", (2, 4))]
    assert matches(tmp_path, LiteralFinder("(.*)"), "a.py") == [FileMatches("a.py", (3,))]
    assert matches(tmp_path, LiteralFinder("two\n(.*)"), "a.py") == [FileMatches("a.py", (2,))]
    assert matches(tmp_path, LiteralFinder("日本"), "a.py") == []


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        ("^t", (2, 4)),
        ("o$", (2, 4)),
        (r"\btw\w+", (2, 4)),
        ("(?i)ONE", (1,)),
        ("a+|b+", ()),
        ("e\nt", (1,)),
        ("", (1, 2, 3, 4)),
    ],
)
def test_a_pattern_is_found_on_its_lines(tmp_path: Path, pattern: str, lines: tuple[int, ...]) -> None:
    write_files(tmp_path, {"a.py": "one\ntwo\n\nthree two"})
    found = matches(tmp_path, PatternFinder(pattern), "a.py")
    assert [match.lines for match in found] == ([lines] if lines else [])


def test_no_pattern_can_hang_the_search(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "a" * 100_000 + "!\n"})
    for pattern in ("(a+)+$", "(a|a)+$", "(a|aa)+$", "(.*a){12}$", "([a-z]*)*b"):
        assert matches(tmp_path, PatternFinder(pattern), "a.py") == []


@pytest.mark.parametrize("pattern", ["(", "[a-", "a{2,1}", r"(?P<x", r"\1", "(?=ahead)", "((a{100}){100}){100}"])
def test_an_invalid_pattern_is_a_named_error(pattern: str) -> None:
    with pytest.raises(BadArgument, match=r"Invalid regular expression: .*quotes"):
        PatternFinder(pattern)


def test_missing_files_and_links_are_skipped(tmp_path: Path) -> None:
    write_files(tmp_path, {"outside.py": "secret\n", "root/a.py": "secret\n"})
    (tmp_path / "root" / "link.py").symlink_to("../outside.py")
    report = ScanReport()
    found = list(scan(tmp_path / "root", ["gone.py", "link.py", "a.py"], LiteralFinder("secret"), report))
    assert found == [FileMatches("a.py", (1,))]
    assert (report.files, report.complete) == (1, True)


def test_a_file_full_of_matches_is_counted_to_the_end(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "x\n" * 5_000})
    assert len(matches(tmp_path, LiteralFinder("x"), "a.py")[0].lines) == 5_000


def test_a_timeout_inside_a_file_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path, {"a.py": "x\n" * 5_000})
    moments = iter([0.0, 0.0, *[0.0] * 2, *[100.0] * 10])
    monkeypatch.setattr(time, "monotonic", lambda: next(moments))
    report = ScanReport()
    found = list(scan(tmp_path, ["a.py"], LiteralFinder("x"), report))
    assert [len(file.lines) for file in found] == [2_000]
    assert not report.complete


def test_a_match_that_begins_with_spaces_is_on_the_line_of_its_first_character(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.py": "one\n\n\n    two\n"})
    assert matches(tmp_path, PatternFinder(r"\s+two"), "a.py") == [FileMatches("a.py", (4,))]


def test_text_is_found_in_any_encoding(tmp_path: Path) -> None:
    text = "a = 1\nb = 'café'\n"
    for name, encoding in (("latin.py", "latin-1"), ("wide.py", "utf-16"), ("marked.py", "utf-8-sig")):
        (tmp_path / name).write_bytes(text.encode(encoding))
    for finder in (LiteralFinder("café"), PatternFinder("caf.'")):
        found = matches(tmp_path, finder, "latin.py", "wide.py", "marked.py")
        assert [(file.path, file.lines) for file in found] == [
            ("latin.py", (2,)),
            ("wide.py", (2,)),
            ("marked.py", (2,)),
        ]


def test_a_search_that_takes_too_long_stops_with_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "SCAN_SECONDS", -1.0)
    report = ScanReport()
    assert list(scan(tmp_path, ["a.py"], LiteralFinder("x"), report)) == []
    assert not report.complete
