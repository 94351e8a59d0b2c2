"""Patterns that backtrack too much are reported with a text that proves it; other patterns pass."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scripts.backtracking import Use, prove
from scripts.check_patterns import Exemption, find_pattern_uses, find_problems, read_exemptions

from tests.scripts.backtracker import Backtracker, TooManySteps, agrees_with_re

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NOT_LINEAR = [
    (r"(a+)+$", Use.MATCH),
    (r"(a|a)*b", Use.MATCH),
    (r"(\w+\s?)*:", Use.MATCH),
    (r"(x+x+)+y", Use.MATCH),
    (r"([a-zA-Z]+)*c", Use.MATCH),
    (r"^(([a-z])+.)+[A-Z]([a-z])+$", Use.MATCH),
    (r"(?:(?:a|b?)*c)*d", Use.MATCH),
    (r".*?,.*?,.*?x", Use.MATCH),
    (r"a*a*b", Use.FULLMATCH),
    (r"(?:a|a){30}b", Use.MATCH),
    (r"\s+$", Use.SEARCH),
    (r"a{0,1000}b", Use.SEARCH),
    (r"(?>a*b)", Use.SEARCH),
    (r"a++b", Use.SEARCH),
    (r"<loc\s*>\s*(.*?)\s*</loc>", Use.SCAN),
    (r"(?m)^\s*@\w", Use.SCAN),
    (r"a(?:a*b)?", Use.SCAN),
    (r"a(?=a*)", Use.SCAN),
    (r'"(?:[^"\\]|\\.)*"', Use.SCAN),
    (r"!?\[([^\]]*)\]\([^)]*\)", Use.SCAN),
]
LINEAR = [
    (r"\w+", Use.SCAN),
    (r"[^\W_]+", Use.SCAN),
    (r"<[^<>]*>", Use.SCAN),
    (r"`[^`\n]*`", Use.SCAN),
    (r"\b\d{1,9}\b", Use.SCAN),
    (r"(?s)<!--.*?(?:-->|\Z)", Use.SCAN),
    (r'(?s)"(?:[^"\\]|\\.)*(?:"|\\?\Z)', Use.SCAN),
    (r"(?m)^#+ .*$", Use.SCAN),
    (r"(?<!\w)foo(?!\w)", Use.SCAN),
    (r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", Use.SCAN),
    (r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", Use.SCAN),
    (r"\b\w+:", Use.SEARCH),
    (r"(?i)<(?:\w{1,20}:)?sitemapindex[\s>]", Use.SEARCH),
    (r"\s+$", Use.MATCH),
    (r"a*b", Use.MATCH),
    (r"\s*+x", Use.MATCH),
    (r"(?:\w++\s?)*+:", Use.MATCH),
    (r"[0-9a-f]{40,64} .*\tcommit", Use.MATCH),
]


@pytest.fixture(autouse=True, scope="module")
def raised_recursion_limit() -> Iterator[None]:
    """Raise the recursion limit, because the counting matcher recurses for every character."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.parametrize(("pattern", "use"), NOT_LINEAR)
def test_a_pattern_that_backtracks_too_much_is_found_with_an_example(pattern: str, use: Use) -> None:
    verdict = prove(pattern, 0, use)
    assert not verdict.linear
    assert verdict.attack is not None
    assert step_growth(pattern, use, verdict.attack.text) > 3


@pytest.mark.parametrize(("pattern", "use"), LINEAR)
def test_a_linear_pattern_is_proven(pattern: str, use: Use) -> None:
    assert prove(pattern, 0, use).linear


def test_a_bounded_repeat_with_very_many_paths_is_not_proven_linear() -> None:
    assert not prove(r"(a?){30}a{30}", 0, Use.MATCH).linear


def step_growth(pattern: str, use: Use, text: Callable[[int], str]) -> float:
    """Return the factor by which the steps grow when the text doubles, or a large number above the step limit."""
    counts = []
    for characters in (40, 80):
        matcher = Backtracker(pattern, text(characters), 40_000)
        try:
            matcher.apply(use.value)
        except TooManySteps:
            return 1_000
        counts.append(matcher.steps)
    return counts[1] / counts[0]


def _repeated_patterns(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    counts = st.sampled_from(["*", "+", "?", "*?", "+?", "*+", "++", "?+", "{2}", "{1,3}", "{2,}"])
    return st.builds(lambda inner, count: f"(?:{inner}){count}", part, counts)


def _composed_patterns(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds(lambda one, other: one + other, part, part),
        st.builds(lambda one, other: f"(?:{one}|{other})", part, part),
        _repeated_patterns(part),
        st.builds(lambda inner, kind: f"(?{kind}{inner})", part, st.sampled_from([">", "=", "!"])),
    )


PATTERNS = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "[^a]", "c", "^", "$", r"\b"]), _composed_patterns, max_leaves=7
)
TEXTS = st.lists(st.text("abc", max_size=3), min_size=3, max_size=3)


@given(PATTERNS, TEXTS, st.sampled_from(list(Use)))
@settings(max_examples=300, deadline=None)
def test_a_pattern_proven_linear_takes_twice_the_steps_for_twice_the_text(
    pattern: str, parts: list[str], use: Use
) -> None:
    assume(prove(pattern, 0, use).linear)
    prefix, pump, suffix = parts
    assert step_growth(pattern, use, lambda characters: prefix + (pump * characters)[:characters] + suffix) < 3


@given(PATTERNS, st.text("abc", max_size=12))
@settings(max_examples=150, deadline=None)
def test_the_counting_matcher_finds_the_same_matches_as_re(pattern: str, text: str) -> None:
    try:
        assert agrees_with_re(pattern, text, 20_000)
    except TooManySteps:
        assume(False)


LOOPS = st.builds(
    lambda parts, counts: "".join(f"(?:{part}){count}" for part, count in zip(parts, counts, strict=True)) + "d",
    st.lists(st.sampled_from(["a", "[ab]", "ab?", "a|b", "b*a"]), min_size=2, max_size=2),
    st.lists(st.sampled_from(["*", "+", "*?", "{2,}"]), min_size=2, max_size=2),
)


@given(LOOPS, st.sampled_from(list(Use)))
@settings(max_examples=25, deadline=None)
def test_a_reported_attack_text_causes_superlinear_matching(pattern: str, use: Use) -> None:
    verdict = prove(pattern, 0, use)
    assume(not verdict.linear)
    assert verdict.attack is not None
    assert step_growth(pattern, use, verdict.attack.text) > 3


MODULE = r"""
import re
from re import compile as made
from deltos_sample.other import SHARED

_BLANKS = r"\s+"
_AT_END = re.compile(_BLANKS + "$")
_LINES = re.compile(f"^{_BLANKS}x", re.MULTILINE)
_ONCE = made(r"\s+$")

def shown(text, name):
    _ONCE.match(text)
    SHARED.match(text, 3)
    _LINES.sub("", text)
    return _AT_END.search(text), re.search(rf"{name}$", text), re.split(",", text)
"""


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "src" / "deltos_sample"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "other.py").write_text(
        "import re\nSHARED = re.compile('a+b')\nUNUSED: re.Pattern[str] = re.compile('c')\n"
    )
    (package / "module.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path / "src")
    return tmp_path / "src"


def test_every_use_of_a_pattern_is_found_in_every_notation(sources: Path) -> None:
    found = {(use.where, use.use.value, use.pattern) for use in find_pattern_uses(sources)}
    assert found == {
        ("_AT_END", "search", r"\s+$"),
        ("_LINES", "scan", r"^\s+x"),
        ("_ONCE", "match", r"\s+$"),
        ("SHARED", "scan", "a+b"),  # matching from a position occurs in a loop
        ("UNUSED", "scan", "c"),
        ("shown", "search", None),
        ("shown", "scan", ","),
    }


def test_a_pattern_neither_proven_nor_listed_fails_with_file_and_line(sources: Path) -> None:
    uses = find_pattern_uses(sources)
    found = find_problems(uses, [])
    assert [text.split(":")[0] for text in found] == ["src/deltos_sample/module.py"] * 3 + [
        "src/deltos_sample/other.py"
    ]
    assert "module.py:7 (_AT_END): search is not proven linear" in found[0]
    assert "attack" in found[0]


def test_an_exception_without_a_matching_pattern_is_reported(sources: Path) -> None:
    file = "src/deltos_sample/module.py"
    listed = [Exemption(file, where, "short") for where in ("_AT_END", "_LINES", "shown", "_GONE")]
    listed.append(Exemption("src/deltos_sample/other.py", "SHARED", "short"))
    assert find_problems(find_pattern_uses(sources), listed) == [
        f"linear_patterns.toml: unused entry for _GONE of {file}"
    ]


def test_patterns_built_at_run_time_are_proven_from_the_values_that_contain_them(sources: Path) -> None:
    file = "src/deltos_sample/module.py"
    listed = [Exemption(file, "shown", "built", proven_by="deltos_sample.module:_AT_END")]
    found = find_problems([use for use in find_pattern_uses(sources) if use.where == "shown"], listed)
    assert len(found) == 1
    assert "shown: deltos_sample.module:_AT_END" in found[0]


def test_the_exception_list_gives_a_reason_for_each_pattern() -> None:
    assert all(entry.reason for entry in read_exemptions())
