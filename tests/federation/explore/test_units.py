"""Files are divided into units such as functions without gaps; shortened units keep whole statements."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltos.federation.explore.shorten import kept_ranges
from deltos.federation.explore.units import Unit, split_units
from deltos.languages.grammar import parse
from deltos.languages.outline import outline
from deltos.languages.table import LANGUAGES
from deltos.store.code import DefinitionRecord

SAMPLES = Path(__file__).parents[2] / "languages" / "samples"
PARSED = [language for language in LANGUAGES if language.grammar]


def units_of(name: str, source: bytes) -> tuple[list[str], list[Unit]]:
    [chosen] = [language for language in LANGUAGES if language.name == name]
    tree = parse(chosen, source)
    assert tree is not None
    definitions = [
        DefinitionRecord(each.name, each.kind, each.line, each.end_line, each.container)
        for each in outline(chosen, tree, source)
    ]
    lines = source.decode("utf-8", "replace").split("\n")
    return lines, split_units("sample", lines, definitions)


@pytest.mark.parametrize("name", [language.name for language in PARSED])
def test_every_non_blank_line_is_in_exactly_one_unit(name: str) -> None:
    lines, units = units_of(name, (SAMPLES / f"{name}.sample").read_bytes())
    covered = [number for unit in units for number in range(unit.start, unit.end + 1)]
    assert len(covered) == len(set(covered))
    assert {number for number, line in enumerate(lines, 1) if line.strip()} <= set(covered)
    assert all(unit.start <= unit.head <= unit.end for unit in units)


def test_methods_of_a_long_class_are_units_and_the_class_is_its_header() -> None:
    source = (
        b'''\
LIMIT = 3
NAMES = ("a",)

# Holds things.
@register
class Box:
    """A box."""

    size = 1

    # How many.
    @property
    def count(self):
        def inner():
            return 1
        return inner()

    async def fill(self):
'''
        + b"        self.count += 1\n" * 12
    )
    _, units = units_of("python", source)
    assert [(unit.symbol, unit.kind, unit.start, unit.end) for unit in units] == [
        ("LIMIT", "variable", 1, 2),
        ("Box", "class", 4, 9),
        ("Box.count", "method", 11, 16),
        ("Box.fill", "method", 18, 30),
    ]


def test_a_short_class_is_one_unit() -> None:
    _, units = units_of("python", b"class Box:\n    def count(self):\n        return 1\n\n    def fill(self): ...\n")
    assert [(unit.symbol, unit.start, unit.end) for unit in units] == [("Box", 1, 5)]


def test_a_kept_statement_keeps_the_branch_that_encloses_it() -> None:
    cases = [line for n in range(30) for line in (f'\t\tcase "k{n}":', f"\t\t\treturn {n}", "")]
    lines = ["func f(k string) int {", "\tg := func() int {", "\t\tswitch k {", *cases, "\t\t}", "\t}", "}"]
    ranges = kept_ranges(lines, 0, 200, lambda span: float("\t\t\treturn 17" in lines[span.first : span.last + 1]))
    kept = {lines[number] for each in ranges for number in range(each.first, each.last + 1)}
    assert {lines[0], lines[1], lines[2], '\t\tcase "k17":', "\t\t\treturn 17"} <= kept
    assert len(kept) < 30


@given(
    st.lists(st.sampled_from(["x = 1", "    y = 2", "        z = 3", "", "if a:", ")", "    else:"]), min_size=1),
    st.integers(0, 400),
)
def test_ranges_of_a_shortened_unit_are_ordered_and_separate(body: list[str], characters: int) -> None:
    lines = ["def f(a,", "      b):", '    """Doc."""', *[f"    {line}" if line else "" for line in body]]
    ranges = kept_ranges(lines, 0, characters, lambda span: float(span.first % 7))
    assert ranges[0].first == 0
    assert ranges[0].last >= 2 or ranges[0].last == len(lines) - 1
    assert all(first.last + 1 < second.first for first, second in pairwise(ranges))
    assert ranges[-1].last < len(lines)
