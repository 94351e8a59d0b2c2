"""Extract the header of a file: docstring, header comment or title, and documentation of the first definition.

Licences, imports and shebangs are excluded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deltos.languages.model import Definition

MAX_HEADER_LINES = 40  # number of lines searched for the header, which often follows a licence
MAX_HEADER_CHARACTERS = 800
_MAX_LINE_CHARACTERS = 200
_COMMENT_SIGNS = "/*#!-;%\"'<>=~(){} \t"
_LEGAL_WORDS = ("copyright", "license", "licence", "spdx", "all rights reserved", "redistribut", "warrant", "(c)")
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


def _descriptive_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield the text of the comment lines, except paragraphs about licences."""
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
