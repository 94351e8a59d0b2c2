"""Splitting of files into chunks that follow their definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltos.domains.code.chunk import MAX_CHUNK_CHARACTERS, MAX_CHUNK_LINES, chunk_lines, lines_of
from deltos.domains.code.index import definitions_of
from deltos.languages.model import Definition
from deltos.languages.table import LANGUAGES, detect
from deltos.workspace.admission import Admitted
from deltos.workspace.extract import parse_file

if TYPE_CHECKING:
    from deltos.domains.code.model import CodeChunk

KINDS = ["function", "method", "class", "variable", "section", "constant"]


def chunks_of(path: str, text: str) -> list[CodeChunk]:
    data = text.encode()
    return chunk_lines(lines_of(data), definitions_of(parse_file(path, Admitted(data, detect(path, data)))))


def chunk_positions(chunks: list[CodeChunk]) -> list[tuple[int, int, str]]:
    return [(chunk.start_line, chunk.end_line, chunk.symbol) for chunk in chunks]


def assert_covered(lines: list[str], chunks: list[CodeChunk]) -> None:
    """Check that every non-blank line is in exactly one chunk and that the chunks are in order."""
    seen = [number for chunk in chunks for number in range(chunk.start_line, chunk.end_line + 1)]
    assert len(seen) == len(set(seen))
    assert seen == sorted(seen)
    assert all(1 <= number <= len(lines) for number in seen)
    assert {number for number, line in enumerate(lines, 1) if line.strip()} <= set(seen)


@st.composite
def files(draw: st.DrawFn) -> tuple[list[str], list[Definition]]:
    """Lines, some blank and some long, with definitions that nest, overlap or extend beyond their parents."""
    count = draw(st.integers(1, 160))
    lines = draw(st.lists(st.sampled_from(["", "  ", "x = 1", "y" * 900]), min_size=count, max_size=count))
    definitions = []
    for number in range(draw(st.integers(0, 12))):
        start = draw(st.integers(1, count))
        end = draw(st.integers(start, count))
        line = draw(st.integers(start, end))
        container = draw(st.sampled_from(["", "A", "A.b"]))
        definitions.append(Definition(f"n{number}", draw(st.sampled_from(KINDS)), line, start, end, container))
    return lines, sorted(definitions, key=lambda definition: (definition.start_line, -definition.end_line))


@given(files())
def test_chunks_cover_every_non_blank_line_exactly_once(file: tuple[list[str], list[Definition]]) -> None:
    lines, definitions = file
    chunks = chunk_lines(lines, definitions)
    assert_covered(lines, chunks)
    assert all(lines[chunk.start_line - 1].strip() and lines[chunk.end_line - 1].strip() for chunk in chunks)
    assert all(chunk.end_line - chunk.start_line < MAX_CHUNK_LINES for chunk in chunks)


@given(
    st.text(alphabet="ab {}():;\n\t\"'/*#<>=-.,éя日\r\0", max_size=400),
    st.sampled_from([x for x in LANGUAGES if x.grammar]),
)
@settings(max_examples=50)
def test_invalid_source_in_any_language_is_covered(text: str, language: object) -> None:
    data = text.encode()
    lines = lines_of(data)
    file = parse_file("x", Admitted(data, language))  # type: ignore[arg-type]
    assert_covered(lines, chunk_lines(lines, definitions_of(file)))


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\n\n", ["a", ""]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"\xff", ["\ufffd"]),
    ],
)
def test_lines_are_split_as_in_text_editors(data: bytes, lines: list[str]) -> None:
    assert lines_of(data) == lines


def test_a_file_without_a_word_has_no_chunks() -> None:
    assert chunk_lines([], []) == chunk_lines(["", "   "], []) == []


def function_source(name: str, lines: int) -> str:
    return f'def {name}(a, b):\n    """About {name}."""\n' + "    a = a + b\n" * (lines - 3) + "    return a\n"


def test_each_function_is_a_chunk_with_its_symbol_signature_and_doc() -> None:
    first, second = chunks_of("a.py", function_source("first", 20) + "\n\n" + function_source("second", 30))
    assert chunk_positions([first, second]) == [(1, 20, "first"), (23, 52, "second")]
    assert (first.kind, first.signature, first.doc) == ("function", "def first(a, b)", "About first.")
    assert first.names == ("first",)


def test_adjacent_small_definitions_share_a_chunk_with_all_names() -> None:
    [chunk] = chunks_of("a.py", "\n".join(function_source(name, 4) for name in ("one", "two", "three")))
    assert (chunk.start_line, chunk.end_line) == (1, 14)
    assert chunk.names == ("one", "two", "three")


def test_a_long_class_is_split_along_its_methods() -> None:
    methods = "".join(
        "    " + line + "\n" for n in range(4) for line in function_source(f"method_{n}", 20).splitlines()
    )
    chunks = chunks_of("a.py", f'import os\n\nclass Long:\n    """All of it."""\n\n{methods}')
    symbols = [chunk.symbol for chunk in chunks]
    assert symbols == ["Long", "Long.method_0", "Long.method_1", "Long.method_2", "Long.method_3"]
    assert chunks[1].kind == "method"


def test_a_long_function_is_split_into_windows_with_its_name_and_signature() -> None:
    chunks = chunks_of("a.py", function_source("long", 130))
    assert len(chunks) == 3
    assert {chunk.symbol for chunk in chunks} == {"long"}
    assert {chunk.signature for chunk in chunks} == {"def long(a, b)"}
    assert [chunk.names for chunk in chunks] == [("long",), (), ()]


def test_windows_end_at_a_nearby_blank_line() -> None:
    lines = ["word"] * 40 + [""] + ["word"] * 40
    assert chunk_positions(chunk_lines(lines, [])) == [(1, 40, ""), (42, 81, "")]


def test_long_lines_make_short_windows() -> None:
    chunks = chunk_lines(["x" * 1_000] * 10, [])
    assert all((chunk.end_line - chunk.start_line + 1) * 1_000 <= MAX_CHUNK_CHARACTERS for chunk in chunks)
    assert chunk_positions(chunk_lines(["x" * 100_000], [])) == [(1, 1, "")]


def test_a_file_in_an_unknown_language_is_split_by_lines() -> None:
    chunks = chunks_of("notes.unknown", "\n".join(f"line {n}" for n in range(120)))
    assert chunk_positions(chunks) == [(1, 50, ""), (51, 100, ""), (101, 120, "")]


def test_a_long_table_of_values_is_a_chunk_of_its_own_name() -> None:
    values = "VALUES = {\n" + "".join(f"    'key_{n}': {n},\n" for n in range(30)) + "}\n"
    assert "VALUES" in [chunk.symbol for chunk in chunks_of("a.py", "import os\n\n" + values)]


def test_many_definitions_are_chunked_in_reasonable_time() -> None:
    definitions = [Definition(f"f{n}", "function", n + 1, n + 1, n + 1) for n in range(20_000)]
    chunks = chunk_lines(["x"] * 20_000, definitions)
    assert sum(len(chunk.names) for chunk in chunks) == 20_000
