"""Grammars load and parse, and do not hang."""

from __future__ import annotations

import dataclasses

import pytest
import tree_sitter
from fuzz.corpus import REGRESSIONS

from deltos.languages import grammar
from deltos.languages.c_macros import mask_macros
from deltos.languages.outline import outline
from deltos.languages.table import LANGUAGES, Language, language

PARSED = [language for language in LANGUAGES if language.grammar]


def test_the_self_test_finds_no_problem() -> None:
    assert grammar.self_test() == []


def test_the_self_test_reports_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    go = language("go")
    assert go is not None
    missing = dataclasses.replace(go, name="missing", grammar="tree_sitter_missing.language")
    broken = dataclasses.replace(go, name="broken", sample="func (")
    monkeypatch.setattr(grammar, "LANGUAGES", (missing, broken, Language("lines only")))
    assert grammar.self_test() == ["broken: the sample does not parse"]
    assert grammar.missing_grammars() == ["missing"]
    assert grammar.parse(missing, b"func f() {}") is None, "a language without a grammar must have no tree"


def test_a_language_without_a_grammar_has_no_tree() -> None:
    assert grammar.parse(Language("plain"), b"text") is None


@pytest.mark.parametrize("chosen", PARSED, ids=lambda language: language.name)
@pytest.mark.parametrize("source", [b"[" * 10_000, b"(" * 10_000 + b")" * 10_000, b"{" * 10_000])
def test_ten_thousand_brackets_can_be_parsed(chosen: Language, source: bytes) -> None:
    tree = grammar.parse(chosen, source, limit_seconds=0.05)
    assert tree is not None
    outline(chosen, tree, source)


@pytest.mark.parametrize("chosen", PARSED, ids=lambda language: language.name)
def test_parsing_in_blocks_gives_the_same_tree_even_if_a_character_is_split(chosen: Language) -> None:
    parser = tree_sitter.Parser(grammar._load_grammar(chosen.grammar))
    word = "é✗🙂"
    for shift in range(len(word.encode())):
        source = (
            f'{" " * shift}"{word * 30}" {word * 30}\n{word * 30}: "{word * 30}"\n'.encode() + chosen.sample.encode()
        )
        read = mask_macros(source) if chosen.macros else source
        tree, whole = parser.parse(grammar._ParserInput(read, 60).read), parser.parse(read)
        assert str(tree.root_node) == str(whole.root_node), shift


def test_text_after_the_time_limit_is_not_parsed() -> None:
    go = language("go")
    assert go is not None
    source = b"package a\n" + b"func f() {}\n" * 10_000
    tree = grammar.parse(go, source, limit_seconds=0)
    assert tree is not None
    assert tree.root_node.end_byte < len(source)


def test_only_the_beginning_is_parsed_if_error_recovery_takes_too_long() -> None:
    c = language("c")
    assert c is not None
    source = (REGRESSIONS / "outline-c" / "slow-339362966429").read_bytes()
    tree = grammar.parse(c, source, limit_seconds=0.02)
    assert tree is not None
    assert tree.root_node.end_byte <= len(source) // 8
    assert tree.root_node.descendant_count > 10


def test_an_ordinary_file_is_parsed_completely() -> None:
    go = language("go")
    assert go is not None
    source = b"package a\n" + b"func f() {}\n" * 10_000
    tree = grammar.parse(go, source)
    assert tree is not None
    assert tree.root_node.end_byte == len(source)
    assert len(outline(go, tree, source)) == 10_000


def test_definitions_after_many_unmatched_brackets_are_found() -> None:
    go = language("go")
    assert go is not None
    source = b"package a\nfunc f() {}\n" + b")\n" * 20_000 + b"func g() {}\n"
    tree = grammar.parse(go, source)
    assert tree is not None
    assert not grammar.stray_token_runs(tree)
    assert [definition.name for definition in outline(go, tree, source)] == ["f", "g"]


def test_definitions_after_extremely_nested_code_are_found() -> None:
    typescript = language("typescript")
    assert typescript is not None
    source = b"x = " + b"{a: " * 40_000 + b"1" + b"}" * 40_000 + b";\nfunction f() {}\n"
    tree = grammar.parse(typescript, source)
    assert tree is not None
    assert not grammar.too_deep_ranges(tree)
    assert [definition.name for definition in outline(typescript, tree, source)] == ["f"]
