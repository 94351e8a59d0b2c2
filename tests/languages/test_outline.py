"""The outline of each language, and its behaviour on unusual and broken input."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltos.languages.grammar import parse
from deltos.languages.outline import outline
from deltos.languages.signatures import DOC_CHARS, SIGNATURE_CHARS
from deltos.languages.table import LANGUAGES, Language, language

if TYPE_CHECKING:
    from deltos.languages.model import Definition

SAMPLES = Path(__file__).parent / "samples"
PARSED = [language for language in LANGUAGES if language.grammar]


def outline_of(name: str, source: str | bytes) -> list[Definition]:
    chosen = language(name)
    assert chosen is not None
    data = source.encode() if isinstance(source, str) else source
    tree = parse(chosen, data)
    assert tree is not None
    return outline(chosen, tree, data)


def format_definition(definition: Definition) -> str:
    line = f"{definition.start_line}-{definition.end_line} {definition.kind} {definition.qualified_name}"
    return " | ".join(filter(None, [line, definition.signature, definition.doc]))


@pytest.mark.parametrize("name", [language.name for language in PARSED])
def test_a_sample_of_the_language_has_the_expected_outline(name: str) -> None:
    found = [
        format_definition(definition) for definition in outline_of(name, (SAMPLES / f"{name}.sample").read_bytes())
    ]
    assert found == (SAMPLES / f"{name}.outline").read_text("utf-8").splitlines()


def test_the_line_of_a_definition_is_the_line_of_its_name() -> None:
    (found,) = outline_of("python", "# doc\n@cache\ndef f():\n    pass\n")
    assert (found.start_line, found.line, found.end_line) == (1, 3, 4)


def test_a_comment_after_a_blank_line_or_after_code_is_not_a_doc() -> None:
    assert outline_of("go", "package a\n\n// far\n\nfunc F() {}\n")[0].doc == ""
    assert outline_of("c", "int a; // of a\nint b;\n")[1].doc == ""


def test_a_blank_line_may_follow_a_doc_block() -> None:
    assert outline_of("javascript", "/** Sends. */\n\nfunction send() {}\n")[0].doc == "Sends."
    assert outline_of("javascript", "/** Sends. */\nlet a;\nfunction send() {}\n")[1].doc == ""


def test_long_headers_and_docs_are_truncated() -> None:
    parameters = ", ".join(f"parameter_{i}" for i in range(100))
    (found,) = outline_of("python", f'def f({parameters}):\n    """{"word " * 1000}"""\n')
    assert len(found.signature) == SIGNATURE_CHARS
    assert found.signature.endswith("…")
    assert DOC_CHARS - 5 < len(found.doc) <= DOC_CHARS


def test_operator_names_and_quoted_names_are_not_split() -> None:
    assert outline_of("scala", "class A { def :+(a: Int) = a }")[1].name == ":+"
    assert outline_of("kotlin", "fun `adds two numbers`() {}\n")[0].name == "adds two numbers"
    assert outline_of("cpp", "bool A::operator<=>(A b) { return 1; }")[0].qualified_name == "A.operator<=>"


def test_several_names_in_one_declaration_are_siblings() -> None:
    found = outline_of("javascript", "const a = () => 1, b = () => 2;\n")
    assert [definition.qualified_name for definition in found] == ["a", "b"]


def test_placeholder_names_are_not_definitions() -> None:
    assert outline_of("go", "package a\nvar _ Reader = nil\n") == []


def test_definitions_are_found_despite_syntax_errors() -> None:
    found = outline_of("python", "def good():\n    pass\n\nclass (:\n\ndef also_good(a, b):\n    return a\n")
    assert {"good", "also_good"} <= {definition.name for definition in found}


def test_a_function_without_a_name_is_skipped() -> None:
    assert outline_of("swift", "func ") == []


def test_bytes_that_are_not_utf8_do_not_fail() -> None:
    (found,) = outline_of("python", b"def caf\xe9(a):  # \xff\n    '''\xfe doc'''\n")
    assert found.name.startswith("caf")
    assert found.end_line == 2


def test_windows_line_endings_are_removed_from_signatures() -> None:
    (found,) = outline_of("java", "/**\r\n * Counts.\r\n */\r\nclass A\r\n  extends B {\r\n}\r\n")
    assert (found.signature, found.doc, found.end_line) == ("class A extends B", "Counts.", 6)


def test_a_language_without_a_query_has_no_outline() -> None:
    python = language("python")
    assert python is not None
    tree = parse(python, b"def f(): pass")
    assert tree is not None
    assert outline(Language("plain", grammar=python.grammar), tree, b"def f(): pass") == []


@given(chosen=st.sampled_from(PARSED), data=st.data())
def test_no_input_makes_the_outline_fail(chosen: Language, data: st.DataObject) -> None:
    sample = (SAMPLES / f"{chosen.name}.sample").read_bytes()
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(sample))] * 2)))
    source = sample[:start] + data.draw(st.binary(max_size=40)) + sample[end:]
    tree = parse(chosen, source)
    assert tree is not None
    lines = source.count(b"\n") + 1
    for found in outline(chosen, tree, source):
        assert found.name
        assert 1 <= found.start_line <= found.line <= lines
        assert found.start_line <= found.end_line <= lines


def test_each_name_of_a_haskell_signature_is_a_definition() -> None:
    found = outline_of("haskell", "module A where\n\nlast, lastC :: Int\nlast = 1\nMACRO(lastC)\nf :: Int\nf = 1\n")
    assert [(each.name, each.start_line, each.end_line) for each in found] == [
        ("last", 3, 4),
        ("lastC", 3, 3),
        ("f", 6, 7),
    ]


def test_macros_without_a_value_are_definitions_but_include_guards_are_not() -> None:
    source = "#ifndef A_H\n#define A_H\n#define USED\n#ifndef FLAG\n#define FLAG\n#endif\nint f() {\n#define N 1\n}\n#endif\n"
    assert [each.qualified_name for each in outline_of("c", source)] == ["USED", "FLAG", "f", "N"]


def test_a_type_may_have_a_name_that_is_built_into_the_grammar_of_c() -> None:
    assert [each.name for each in outline_of("c", "typedef unsigned char uint8_t;\n")] == ["uint8_t"]
