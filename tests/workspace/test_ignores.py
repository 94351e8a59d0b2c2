"""Ignore files match as in git, in linear time for every pattern."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltos.workspace.ignores import (
    MAX_IGNORE_BYTES,
    MAX_PATTERN_BYTES,
    MAX_RULES,
    MAX_WILDCARD_RULES,
    NO_IGNORES,
    IgnoreRules,
    Ignores,
)
from deltos.workspace.walk import walk
from tests.repositories import GIT_ENVIRONMENT, git, make_repository, write_files

if TYPE_CHECKING:
    from pathlib import Path

PATTERN_PARTS = [*"ab./*?[]!-^\\ #", "**", "[a-b]", "[!a]", "[[:alpha:]]", "[]a]", "**/", "/**", "a*b", "\\*", "\\ "]
NAMES = ["a", "b", "ab", "ba", "a.b", ".a", "a b", "#a", "!a", "a-", "[a]", "^", "aa", "a\\b", "b ", "*", "ä"]
PATHS = sorted(
    {"/".join(parts) for n in NAMES for m in NAMES[:9] for parts in ((n,), (n, m), (m, n, "a"), (m, "b", n, m))}
)


def rules_of(*lines: str) -> Ignores:
    return NO_IGNORES.with_rules("", IgnoreRules("\n".join(lines).encode(), ignores_case=False))


def is_excluded(ignores: Ignores, path: str) -> bool:
    """Return whether a file or one of its folders is excluded."""
    parts = path.split("/")
    steps = ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
    return any(ignores.is_ignored(step, is_folder=step != path) for step in steps)


def excluded_by_git(root: Path, paths: list[str]) -> set[str]:
    done = subprocess.run(
        ["git", "-C", str(root), "check-ignore", "--no-index", "-z", "--stdin", "-v", "-n"],
        input="\0".join([*paths, ""]).encode(),
        capture_output=True,
        env=os.environ | GIT_ENVIRONMENT,
    )
    fields = done.stdout.decode().split("\0")[:-1]
    verdicts = zip(fields[2::4], fields[3::4], strict=True)
    return {path for pattern, path in verdicts if pattern and not pattern.startswith("!")}


@settings(max_examples=60)
@given(st.lists(st.lists(st.sampled_from(PATTERN_PARTS), min_size=1, max_size=7).map("".join), min_size=1, max_size=4))
def test_every_pattern_matches_as_in_git(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> None:
    root = tmp_path_factory.getbasetemp() / "oracle"
    if not root.exists():
        make_repository(root, {})
    (root / ".gitignore").write_text("\n".join([*lines, ""]), "utf-8")
    ignores = rules_of(*lines)
    assert {path for path in PATHS if is_excluded(ignores, path)} == excluded_by_git(root, PATHS)


@settings(max_examples=60)
@given(st.lists(st.lists(st.sampled_from(PATTERN_PARTS), min_size=1, max_size=7).map("".join), min_size=1, max_size=6))
def test_names_rejected_by_may_match_are_matched_by_no_rule(lines: list[str]) -> None:
    ignores = rules_of(*lines)
    for folder in ("", "a", "b/ab"):
        expected = ignores.may_match(folder, NAMES)
        for name in NAMES:
            path = f"{folder}/{name}" if folder else name
            verdicts = (
                {ignores.levels[0].rules.verdict(path, is_folder=on) for on in (True, False)}
                if ignores.levels
                else {None}
            )
            assert name in expected or verdicts == {None}


@pytest.mark.parametrize(
    "line",
    [
        "\ufeffa",
        "a\r",
        "a  ",
        "/a/",
        "a\\ ",
        "\\#a",
        "\\!a",
        "**",
        "*",
        "/*",
        "a/**/b",
        "[",
        "[[:nothing:]]",
        "\\",
        "//b",
        "[z-a]",
    ],
)
def test_unusual_lines_are_parsed_as_in_git(tmp_path: Path, line: str) -> None:
    make_repository(tmp_path, {".gitignore": f"{line}\n"})
    ignores = NO_IGNORES.with_rules("", IgnoreRules(f"{line}\n".encode(), ignores_case=False))
    assert {path for path in PATHS if is_excluded(ignores, path)} == excluded_by_git(tmp_path, PATHS)


def test_ten_thousand_lines_are_ten_thousand_rules(tmp_path: Path) -> None:
    kinds = ("name{}", "*.ext{}", "begin{}*", "a{}*b{}/", "/path/to/{}", "deep/**/{}.x", "[a-z]{}?")
    lines = [kinds[n % len(kinds)].replace("{}", str(n)) for n in range(10_000)]
    files = ("name7", "x.ext8", "begin9x", "a10-b10/in.py", "path/to/11", "deep/er/12.x", "q13?", "kept.py")
    root = write_files(tmp_path, {".gitignore": "\n".join(lines), **dict.fromkeys(files, "x")})
    found = walk(root)
    assert set(found.files) == {".gitignore", "kept.py"}
    assert found.notes == []


def test_no_pattern_is_slow_for_a_long_name(tmp_path: Path) -> None:
    # Backtracking would take exponential time for each of these patterns.
    lines = ["a*" * 120 + "b", "*a" * 120 + "b", "**/a*" * 50 + "b", "[ab]*" * 100 + "c", "?*" * 100 + "c"]
    deep = "/".join(["a" * 50] * 20)
    root = write_files(tmp_path, {".gitignore": "\n".join(lines), "a" * 250: "x", f"{deep}/{'a' * 100}": "x"})
    assert set(walk(root).files) == {".gitignore", "a" * 250, f"{deep}/{'a' * 100}"}


def test_rules_beyond_the_limits_are_ignored_and_counted() -> None:
    many = IgnoreRules(b"\n".join(b"n%d" % n for n in range(MAX_RULES + 5)))
    assert many.verdict(f"n{MAX_RULES - 1}", is_folder=False)
    assert many.notes == ("its last 5 patterns are ignored because there are too many",)
    assert IgnoreRules(b"\n".join(b"*%d" % n for n in range(MAX_WILDCARD_RULES + 7))).notes == (
        "its last 7 patterns are ignored because there are too many",
    )
    assert IgnoreRules(b"kept\n" + b"x" * (MAX_PATTERN_BYTES + 1)).notes == (
        f"1 patterns of more than {MAX_PATTERN_BYTES:,} bytes are ignored",
    )
    large = IgnoreRules(b"kept\n#" + b"x" * MAX_IGNORE_BYTES)
    assert large.notes == (f"only its first {MAX_IGNORE_BYTES:,} bytes are used",)
    assert large.verdict("kept", is_folder=False)


def test_a_note_reports_an_ignore_file_that_is_too_large(tmp_path: Path) -> None:
    root = write_files(tmp_path, {".gitignore": "x" * (MAX_PATTERN_BYTES + 1) + "\nb.py\n", "a.py": "a", "b.py": "b"})
    found = walk(root)
    assert "b.py" not in found.files
    assert found.notes == ["Note: .gitignore is too large: 1 patterns of more than 2,000 bytes are ignored."]


def test_patterns_match_any_case_on_case_insensitive_file_systems() -> None:
    rules = IgnoreRules(b"Build/\n*.LOG\n/Deep/[A-B]\n", ignores_case=True)
    assert all(rules.verdict(path, is_folder=True) for path in ("bUILD", "x.log", "deep/b"))
    assert rules.may_match("", ["build", "a.log", "other"]) == {"build", "a.log"}
    assert rules.verdict("other", is_folder=True) is None


def test_exclude_files_of_repository_and_user_apply_as_in_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = write_files(
        tmp_path / "home", {"mine": "*.mine\n!kept.mine\n", "more.cfg": "[core]\n\texcludesFile = mine\n"}
    )
    (home / ".gitconfig").write_text('[user]\n\tname = "A # B"\n[include]\n\tpath = ~/more.cfg\n')
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    names = ("a.py", "a.mine", "kept.mine", "local.py", "in/local.py", "in/b.mine")
    root = make_repository(tmp_path / "root", {})
    write_files(root, {**dict.fromkeys(names, "x"), ".git/info/exclude": "/local.py\n"})
    assert set(walk(root).files) == {"a.py", "kept.mine", "in/local.py"}
    assert set(walk(root / "in").files) == {"local.py"}
    listed = git(root, "-c", f"core.excludesFile={home}/mine", "ls-files", "-o", "--exclude-standard")
    assert set(listed.split("\n")) == set(walk(root).files)


def test_the_users_default_exclude_file_applies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(tmp_path / "config", {"git/ignore": "*.swp\n"})
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    root = make_repository(tmp_path / "root", {"a.py": "x"})
    write_files(root, {"b.swp": "x"})
    assert set(walk(root).files) == {"a.py"}


def test_ignore_files_of_parent_folders_apply(tmp_path: Path) -> None:
    make_repository(
        tmp_path,
        {
            ".gitignore": "*.log\n/mono/a/gen/\n",
            "mono/.gitignore": "x.py\n!a/kept.log\n",
            "mono/a/.gitignore": "!x.py\n",
        },
    )
    root = tmp_path / "mono" / "a"
    write_files(root, dict.fromkeys(("a.py", "b.log", "kept.log", "gen/g.py", "x.py", "deep/x.py"), "x"))
    assert set(walk(root).files) == {".gitignore", "a.py", "kept.log", "x.py", "deep/x.py"}


def test_tracked_files_are_listed_even_if_ignored(tmp_path: Path) -> None:
    root = make_repository(tmp_path, {"build/kept.py": "x", "build/deep/too.py": "x", "a.log": "x"})
    write_files(root, {".gitignore": "build/\n*.log\n", "build/new.py": "x", "b.log": "x"})
    assert set(walk(root).files) == {".gitignore", "a.log", "build/kept.py", "build/deep/too.py"}
    assert set(walk(root / "build").files) == {"kept.py", "deep/too.py"}
