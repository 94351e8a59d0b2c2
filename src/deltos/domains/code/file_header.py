"""Extract the header of a file: docstring, header comment or title, and documentation of the first definition.

Licences, imports and shebangs are excluded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.code.present.excerpt import first_paragraph, first_sentence, is_directive

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deltos.languages.model import Definition

MAX_HEADER_LINES = 40  # number of lines that are searched for the header, which may follow a licence
MAX_HEADER_CHARACTERS = 800
_MAX_LINE_CHARACTERS = 200
_COMMENT_SIGNS = "/*#!-;%\"'<>=~(){} \t"
_LEADING_SIGNS = "/*#!-;%\"'= \t"  # no angle brackets, because these enclose documentation tags
_LEGAL_WORDS = ("copyright", "license", "licence", "spdx", "all rights reserved", "redistribut", "warrant", "(c)")
_DOCSTRING_SIGNS = ('"""', "'''", 'r"""', '@moduledoc """')
_COMMENT_PREFIXES = ("#", "//", "/*", "*", "--", ";", "%", "<!--")
_DIRECTIVE_PREFIXES = (
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
_ATTRIBUTE_PREFIXES = ("@", "#[", "[")  # prefixes of the attribute and decorator lines above a type definition
_TYPE_KEYWORDS = frozenset("class interface enum trait struct record object protocol module impl actor union".split())
_CODE_WORDS = (
    "import", "from", "#include", "use", "using", "package", "require", "namespace", "module", "export", "const", "let",
    "var", "local", "#!", "@", "#define", "#ifndef", "#ifdef", "#pragma", "extern", "open", "include",
)  # fmt: skip


def header_text(lines: Sequence[str], definitions: Sequence[Definition]) -> str:
    """Return a file's header comment and the documentation of its first documented top-level definition."""
    first_definition_line = min((definition.start_line for definition in definitions), default=MAX_HEADER_LINES + 1) - 1
    comment_lines = " ".join(_descriptive_lines(lines[: min(first_definition_line, MAX_HEADER_LINES)]))[
        :MAX_HEADER_CHARACTERS
    ]
    doc = next((definition.doc for definition in definitions if definition.doc and not definition.container), "")
    return f"{comment_lines} {doc[:MAX_HEADER_CHARACTERS]}"


def file_description(lines: Sequence[str], path: str = "") -> str:
    """Return the first sentence of the docstring or comment that describes a file, or an empty string.

    The comment must be at the start of the file, or directly above the first type definition.
    """
    comment_lines: list[str] = []
    quotes = ""
    has_begun = False
    for line in lines[:MAX_HEADER_LINES]:
        text = line[:_MAX_LINE_CHARACTERS].strip()
        opened = next((sign for sign in _DOCSTRING_SIGNS if text.startswith(sign)), "")
        if quotes or opened:
            comment_lines.append(text.strip(_COMMENT_SIGNS))
            closes = quotes in text if quotes else opened in text[text.index(opened) + len(opened) :]
            if closes:
                break
            quotes = quotes or opened[-3:]
        elif (
            text.startswith(_COMMENT_PREFIXES)
            and not text.startswith(_DIRECTIVE_PREFIXES)
            and not is_directive(path, line)
        ):
            comment_lines.append(text.lstrip(_LEADING_SIGNS).rstrip(_COMMENT_SIGNS.replace(">", "")))
        elif text and not _is_statement(line) and not is_directive(path, line):
            is_other_code = _TYPE_KEYWORDS.isdisjoint(text.split()) and has_begun
            return "" if is_other_code else _first_sentence(_drop_legal_text(comment_lines))
        elif not text or not text.startswith(_ATTRIBUTE_PREFIXES):
            if comment_lines and not has_begun and (paragraph := _drop_legal_text(comment_lines)):
                return _first_sentence(paragraph)
            comment_lines = []
            has_begun = has_begun or bool(text)
    return _first_sentence(_drop_legal_text(comment_lines))


def _first_sentence(comment_lines: Sequence[str]) -> str:
    """Return the first sentence of the first paragraph, or an empty string if it is a single word."""
    sentence = first_sentence(" ".join(first_paragraph(comment_lines)))
    return sentence if " " in sentence else ""


def _descriptive_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield the text of comment lines; paragraphs about licences are skipped."""
    paragraph: list[str] = []
    for line in lines:
        text = line[:_MAX_LINE_CHARACTERS].strip().strip(_COMMENT_SIGNS)
        if text and not _is_statement(line):
            paragraph.append(text)
            continue
        yield from _drop_legal_text(paragraph)
        paragraph = []
    yield from _drop_legal_text(paragraph)


def _is_statement(line: str) -> bool:
    first = line.split(maxsplit=1)[0] if line.strip() else ""
    return first.rstrip(";{(") in _CODE_WORDS or first.startswith(("#!", "@"))


def _drop_legal_text(paragraph: list[str]) -> list[str]:
    lowered = " ".join(paragraph).lower()
    return [] if any(word in lowered for word in _LEGAL_WORDS) else paragraph
