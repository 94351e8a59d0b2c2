"""Parsing of symbols, kinds and paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from deltos.domains.graph.languages import FAMILIES, Family
from deltos.domains.graph.qualified_names import ends_with, module_name, qualified_name
from deltos.domains.graph.symbol_query import (
    is_of_kind,
    parse_kinds,
    parse_query,
    path_filter,
    pattern_matcher,
)
from deltos.errors import BadArgument
from deltos.store.symbols import Symbol

ROOT = Path("/project")


@pytest.mark.parametrize(
    ("text", "form", "normalised"),
    [
        ("feed", "name", "feed"),
        (" feed() ", "name", "feed"),
        ("$el", "name", "$el"),
        ("big-tool", "name", "big-tool"),
        ("Parser.feed", "dotted", "Parser.feed"),
        ("Acme::App", "dotted", "Acme.App"),
        ("Parser#feed", "dotted", "Parser.feed"),
        ("pkg/mod.feed", "dotted", "pkg.mod.feed"),
        ("regex-automata.src.dfa.Cache", "dotted", "regex-automata.src.dfa.Cache"),
        ("my-app/web.Server::run", "dotted", "my-app.web.Server.run"),
        ("get_.*", "pattern", "get_.*"),
        ("^feed$", "pattern", "^feed$"),
    ],
)
def test_the_form_of_a_symbol_is_recognised_by_its_characters(text: str, form: str, normalised: str) -> None:
    query = parse_query(text)
    assert (query.form, query.text) == (form, normalised)


@pytest.mark.parametrize("text", ["", "   ", "()", "x" * 501])
def test_empty_and_very_long_symbols_are_refused(text: str) -> None:
    with pytest.raises(BadArgument):
        parse_query(text)


def test_patterns_match_anywhere_and_run_in_linear_time() -> None:
    assert pattern_matcher("get_")("do_get_it")
    assert not pattern_matcher("^get_")("do_get_it")
    assert not pattern_matcher("(a+)+$")("a" * 50_000 + "b")


@pytest.mark.parametrize("pattern", ["(", "[a", "(?=x)y", r"(a)\1"])
def test_an_invalid_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(BadArgument, match="regular expression"):
        pattern_matcher(pattern)


@pytest.mark.parametrize(
    ("path", "name"),
    [("a/b.py", "a.b"), ("a/__init__.py", "a"), ("src/index.ts", "src"), ("x.d.ts", "x"), ("__init__.py", "")],
)
def test_a_path_is_converted_to_a_module_name(path: str, name: str) -> None:
    assert module_name(path) == name


def test_a_dotted_name_matches_whole_parts_from_the_end() -> None:
    assert ends_with("a.b.Parser.feed#2", "Parser.feed")
    assert not ends_with("a.b.XParser.feed", "Parser.feed")
    assert qualified_name(symbol_row("a/b.py", "Parser.feed")) == "a.b.Parser.feed"
    assert qualified_name(symbol_row("__init__.py", "f")) == "f"


def test_kinds_are_checked_and_properties_are_variables() -> None:
    assert parse_kinds(" Function, method ") == {"function", "method"}
    assert is_of_kind(symbol_row("a.py", "x", kind="property"), frozenset({"variable"}))
    assert not is_of_kind(symbol_row("a.py", "x", kind="property"), frozenset({"class"}))
    with pytest.raises(BadArgument, match="Unknown kind: gadget"):
        parse_kinds("gadget")


@pytest.mark.parametrize(
    ("text", "path", "is_match"),
    [
        ("", "a.py", True),
        (".", "a.py", True),
        ("src", "src/a.py", True),
        ("src", "srcs/a.py", False),
        ("src/a.py", "src/a.py", True),
        ("./src/", "src/a.py", True),
        ("*.py", "src/a.py", True),
        ("src/*.ts", "src/a.py", False),
        ("/project/src", "src/a.py", True),
        ("/project", "src/a.py", True),
    ],
)
def test_a_path_argument_is_a_folder_a_file_or_a_glob(text: str, path: str, is_match: bool) -> None:
    assert path_filter(ROOT, text)(path) == is_match


@pytest.mark.parametrize("text", ["..", "../x", "/etc/passwd", "src/../../x", "a\0b"])
def test_paths_outside_the_project_are_refused(text: str) -> None:
    with pytest.raises(BadArgument):
        path_filter(ROOT, text)


def symbol_row(path: str, key: str, kind: str = "method") -> Symbol:
    """Return a symbol on line 1."""
    return Symbol(key, key.rpartition(".")[2], kind, 1, 1, path=path, node_id=1)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_resolver_family_lists_its_languages(family: Family) -> None:
    assert family.languages == family.resolver().languages
