"""Words of natural languages are in data files: modules contain no words of languages other than English."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import deltos
from deltos.text.language_table import table

SOURCES = Path(deltos.__file__).parent
# A word with letters outside ASCII; single characters and ranges in patterns are not words.
FOREIGN_WORD = re.compile(r"[^\W\d_]*(?:[^\W\d_a-zA-Z][a-zA-Z]|[a-zA-Z][^\W\d_a-zA-Z]|[^\W\d_a-zA-Z]{2})[^\W\d_]*")


def foreign_words(source: str) -> list[str]:
    """Return the words of other languages in the string literals of a module, except docstrings and escapes."""
    tree = ast.parse(source)
    lines = source.splitlines()
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    first = (node.body[0] for node in ast.walk(tree) if isinstance(node, documented) and node.body)
    docstrings = {id(each.value) for each in first if isinstance(each, ast.Expr)}
    return [
        word[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
        for word in FOREIGN_WORD.finditer(node.value)
        if any(word[0] in line for line in lines[node.lineno - 1 : node.end_lineno])
    ]


def test_no_module_contains_words_of_another_language() -> None:
    found = {
        str(path.relative_to(SOURCES)): words
        for path in SOURCES.rglob("*.py")
        if (words := foreign_words(path.read_text("utf-8")))
    }
    assert not found


def test_a_foreign_word_in_a_module_is_recognised() -> None:
    assert foreign_words('WORDS = ("schlüssel", "key")') == ["schlüssel"]
    assert foreign_words('WORDS = "昨天"') == ["昨天"]
    assert not foreign_words('RANGE = "[\\u3040-\\u30ff]"; UNIT = "(?:m|µ)s"')


def test_every_list_of_the_table_is_used() -> None:
    code = "\n".join(path.read_text("utf-8") for path in SOURCES.rglob("*.py"))
    unused = [name for part in ("markers", "stop_words", "dates") for name in table()[part] if f'"{name}"' not in code]
    assert not [name for name in unused if f"'{name}'" not in code]
