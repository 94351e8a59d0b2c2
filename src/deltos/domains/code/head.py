"""What a file says about itself where it begins: docstring, header comment or title, and its first definition's doc.

Licences, imports and shebangs are no part of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.code.excerpt import first_paragraph, first_sentence, is_directive

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deltos.languages.model import Definition

MOST_LINES = 40  # a licence may come first
MOST_CHARACTERS = 800
_LONGEST_LINE = 200
_COMMENT_SIGNS = "/*#!-;%\"'<>=~(){} \t"
_LEADING_SIGNS = "/*#!-;%\"'= \t"  # no tag begins with one
_LEGAL = ("copyright", "license", "licence", "spdx", "all rights reserved", "redistribut", "warrant", "(c)")
_DOCSTRING_SIGNS = ('"""', "'''", 'r"""', '@moduledoc """')
_LINE_COMMENTS = ("#", "//", "/*", "*", "--", ";", "%", "<!--")
_DIRECTIVES = (
    "#!",
    "#include",
    "#define",
    "#if",
    "#pragma",
    "#endif",
    "# -*-",
    "# frozen",
    "// @",
    "/* eslint",
    "// eslint",
)
_ATTRIBUTES = ("@", "#[", "[")  # that stand between a comment and the type which it is about
_TYPES = frozenset("class interface enum trait struct record object protocol module impl actor union".split())
_NO_PROSE = (
    "import", "from", "#include", "use", "using", "package", "require", "namespace", "module", "export", "const", "let",
    "var", "local", "#!", "@", "#define", "#ifndef", "#ifdef", "#pragma", "extern", "open", "include",
)  # fmt: skip


def head_of(lines: Sequence[str], definitions: Sequence[Definition]) -> str:
    """The telling lines before the first definition, then the first doc of a definition at the top level."""
    until = min((definition.start_line for definition in definitions), default=MOST_LINES + 1) - 1
    said = " ".join(_telling(lines[: min(until, MOST_LINES)]))[:MOST_CHARACTERS]
    doc = next((definition.doc for definition in definitions if definition.doc and not definition.container), "")
    return f"{said} {doc[:MOST_CHARACTERS]}"


def about_file(lines: Sequence[str], path: str = "") -> str:
    """The first sentence of the docstring or comment that a file begins with, or that stands right before a type after
    its imports; empty where it begins with other code. What belongs to a function says nothing of its file."""
    said: list[str] = []
    quotes = ""
    has_begun = False
    for line in lines[:MOST_LINES]:
        text = line[:_LONGEST_LINE].strip()
        opened = next((sign for sign in _DOCSTRING_SIGNS if text.startswith(sign)), "")
        if quotes or opened:
            said.append(text.strip(_COMMENT_SIGNS))
            closes = quotes in text if quotes else opened in text[text.index(opened) + len(opened) :]
            if closes:
                break
            quotes = quotes or opened[-3:]
        elif text.startswith(_LINE_COMMENTS) and not text.startswith(_DIRECTIVES) and not is_directive(path, line):
            said.append(text.lstrip(_LEADING_SIGNS).rstrip(_COMMENT_SIGNS.replace(">", "")))
        elif text and not _is_statement(line) and not is_directive(path, line):
            is_its_own = _TYPES.isdisjoint(text.split()) and has_begun
            return "" if is_its_own else _first_sentence(_unless_legal(said))
        elif not text or not text.startswith(_ATTRIBUTES):
            if said and not has_begun and (paragraph := _unless_legal(said)):
                return _first_sentence(paragraph)
            said = []
            has_begun = has_begun or bool(text)
    return _first_sentence(_unless_legal(said))


def _first_sentence(said: Sequence[str]) -> str:
    """The first sentence of the first paragraph."""
    sentence = first_sentence(" ".join(first_paragraph(said)))
    return sentence if " " in sentence else ""


def _telling(lines: Iterable[str]) -> Iterator[str]:
    """The text of lines that tell something; a paragraph about a licence is left out whole."""
    paragraph: list[str] = []
    for line in lines:
        text = line[:_LONGEST_LINE].strip().strip(_COMMENT_SIGNS)
        if text and not _is_statement(line):
            paragraph.append(text)
            continue
        yield from _unless_legal(paragraph)
        paragraph = []
    yield from _unless_legal(paragraph)


def _is_statement(line: str) -> bool:
    first = line.split(maxsplit=1)[0] if line.strip() else ""
    return first.rstrip(";{(") in _NO_PROSE or first.startswith(("#!", "@"))


def _unless_legal(paragraph: list[str]) -> list[str]:
    lowered = " ".join(paragraph).lower()
    return [] if any(word in lowered for word in _LEGAL) else paragraph
