"""Mine pairs from source files: documentation → definition, comment → following code, test name → test."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.domains.code.chunk import lines_of
from deltos.domains.code.index import definitions_of
from deltos.languages.table import detect
from deltos.text.identifiers import split_identifier
from deltos.workspace.admission import Admitted, refuse_by_content, refuse_by_name, to_utf8
from deltos.workspace.extract import parse_file
from training.pairs import Pair, make_pair

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.languages.model import Definition
    from training.archives import Member

_COMMENT_LINE = re.compile(r"^\s*(?://+|#+|--+|;+|\*)\s?(.*)$")
_DOC_START = re.compile(
    r"^\s*(?:/\*|\*|\"\"\"|'''|[rub]?\"\"\"|//|#(?!\[|include|define|if|endif)|--|@doc|@moduledoc|\{-)"
)
_TEST = re.compile(r"^(?:test[_A-Z]|it_|should_?)\w+|\w+Test$")
_SHOWN_DEFINITION_LINES, _SHOWN_COMMENT_LINES = 45, 14
_CODE_KINDS = frozenset({"function", "method", "class", "interface", "enum", "type", "component", "module"})


def code_pairs(member: Member, path: str) -> Iterator[Pair]:
    """Yield the pairs of a source file, and no pairs for generated and other files."""
    if refuse_by_name(path, len(member.data)):
        return
    language = detect(path, member.data[:2000])
    if language is None or refuse_by_content(member.data, language):
        return
    file = parse_file(path, Admitted(to_utf8(member.data), language))
    definitions = definitions_of(file)
    lines = lines_of(file.data)
    for definition in definitions:
        if definition.kind in _CODE_KINDS:
            yield from _definition_pairs(definition, lines, path)
    yield from _comment_pairs(lines, definitions, path)


def _definition_pairs(definition: Definition, lines: Sequence[str], path: str) -> Iterator[Pair]:
    shown = lines[definition.start_line - 1 : min(definition.end_line, definition.start_line + _SHOWN_DEFINITION_LINES)]
    if definition.doc:
        body = "\n".join(without_documentation(shown))
        if found := make_pair("doc", definition.doc, f"{path}\n{definition.qualified_name}\n{body}"):
            yield found
    elif _TEST.match(definition.name):
        name = " ".join(word for word in split_identifier(definition.name) if word != "test")
        if found := make_pair("test", name, "\n".join(shown[1:])):
            yield found


def without_documentation(lines: Sequence[str]) -> list[str]:
    """Return the lines of a definition without comments and docstring."""
    kept, inside = [], ""
    for line in lines:
        if inside:
            inside = "" if inside in line else inside
            continue
        bare = line.lstrip()
        opening = next((mark for mark in ('"""', "'''") if bare.lstrip("rubRUB").startswith(mark)), "")
        if opening:
            inside = "" if bare.count(opening) > 1 else opening
            continue
        if bare.startswith("/*"):
            inside = "" if "*/" in bare else "*/"
            continue
        if not _DOC_START.match(line):
            kept.append(line)
    return kept


def _comment_pairs(lines: Sequence[str], definitions: Sequence[Definition], path: str) -> Iterator[Pair]:
    """Yield comments inside definitions, with the code that follows them."""
    inside = {n for d in definitions if d.kind in ("function", "method") for n in range(d.line + 1, d.end_line)}
    number = 1
    while number <= len(lines):
        comment, after = _comment_at(lines, number)
        if comment and number in inside:
            code = "\n".join(without_documentation(lines[after - 1 : after - 1 + _SHOWN_COMMENT_LINES]))
            if found := make_pair("comment", comment, f"{path}\n{code}"):
                yield found
        number = max(after, number + 1)


def _comment_at(lines: Sequence[str], number: int) -> tuple[str, int]:
    """Return the text of the line comments that start at a line, and the number of the first line after them."""
    words = []
    while number <= len(lines) and (match := _COMMENT_LINE.match(lines[number - 1])):
        words.append(match[1].strip())
        number += 1
    return " ".join(words), number
