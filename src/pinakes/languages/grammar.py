"""Grammars and queries, loaded once per process when first needed. Turns bytes into trees; outline.py reads them."""

from __future__ import annotations

import warnings
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING

from pinakes.languages.table import LANGUAGES, Language

if TYPE_CHECKING:
    import tree_sitter


def parse(language: Language, data: bytes) -> tree_sitter.Tree | None:
    """The syntax tree of `data`, or None for a language without a grammar."""
    if not language.grammar:
        return None
    return _parser(language.grammar).parse(data)


@cache
def definitions_query(language: Language) -> tree_sitter.Query | None:
    """The compiled query that finds the language's definitions; None where it has none."""
    import tree_sitter  # deferred: listing languages must not load a parser

    if not language.queries:
        return None
    folder = files("pinakes.languages") / "queries"
    source = "\n".join((folder / f"{name}.scm").read_text("utf-8") for name in language.queries)
    return tree_sitter.Query(_grammar(language.grammar), source)


def self_test() -> list[str]:
    """Load every grammar and query and parse a sample; the problems found, one sentence each."""
    problems = []
    for language in LANGUAGES:
        if language.grammar and (problem := _problem(language)):
            problems.append(f"{language.name}: {problem}")
    return problems


def _problem(language: Language) -> str:
    try:
        definitions_query(language)
        tree = parse(language, language.sample.encode())
    except (ImportError, AttributeError, ValueError, OSError) as exc:
        return f"{type(exc).__name__}: {exc}"
    return "the sample does not parse" if tree is None or tree.root_node.has_error else ""


@cache
def _parser(grammar: str) -> tree_sitter.Parser:
    import tree_sitter  # deferred: listing languages must not load a parser

    return tree_sitter.Parser(_grammar(grammar))


@cache
def _grammar(grammar: str) -> tree_sitter.Language:
    import tree_sitter  # deferred: listing languages must not load a parser

    module, _, function = grammar.rpartition(".")
    with warnings.catch_warnings():
        # some wheels still hand their grammar over as a number
        warnings.simplefilter("ignore", DeprecationWarning)
        return tree_sitter.Language(getattr(import_module(module), function)())
