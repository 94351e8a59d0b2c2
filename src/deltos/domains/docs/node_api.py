"""The API of npm packages: declarations in .d.ts and JavaScript files with the comments above them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.domains.docs.node_links import DEFAULT, EVERYTHING, NAMELESS, exports_of
from deltos.languages.grammar import parse
from deltos.languages.outline import outline
from deltos.languages.table import detect
from deltos.markup.model import Document
from deltos.markup.outline import Outline
from deltos.markup.text import fenced

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deltos.domains.docs.node_links import Export
    from deltos.languages.model import Definition

_COMMENT_BEGINS = re.compile(r"\s*+(?:/\*\*?|\*/|\*(?!/)|//+)?[ \t]?")
_LARGE_LINES = 60
_LONGEST_STATEMENT = 400
_RANK = 5


def describe_declarations(name: str, data: bytes, known_as: Mapping[str, Sequence[str]]) -> Document:
    """Every definition in a declaration file: what its comment says, then the declaration itself.

    `known_as` has, by name, the other names that users import it by.
    """
    language = detect(name)
    text = data.decode("utf-8", "replace")
    data = text.encode()  # some thousand bytes that are no UTF-8 crash the parser
    tree = parse(language, data) if language else None
    if language is None or tree is None:
        return Document(title=name, sections=())
    lines = text.splitlines()
    writer = Outline()
    opened: set[str] = set()
    written: set[str] = set()
    for definition in outline(language, tree, data):
        if definition.container and definition.container not in opened:
            continue  # shown inside its container's declaration
        public = [] if definition.container else known_as.get(definition.name, [])
        if definition.name.startswith(("_", "#")) and not public:
            continue
        is_opened = definition.kind == "module" or definition.end_line - definition.start_line > _LARGE_LINES
        if is_opened:
            opened.add(definition.qualified_name)
        written.update((definition.name, *public))
        _write(writer, _names(definition, public), definition, lines, is_opened=is_opened)
    undefined = [(export.alias, export.statement) for export in exports_of(tree) if _is_defined_elsewhere(export)]
    undefined += [(public, text.strip()) for public in known_as.get(NAMELESS, [])]
    for public, statement in undefined:
        if public not in written:
            written.add(public)
            writer.heading(_RANK, public, [public], is_definition=True)
            writer.block(fenced(statement[:_LONGEST_STATEMENT], "typescript"), "code")
    return Document(title=name, sections=writer.sections())


def _names(definition: Definition, public: Sequence[str]) -> list[str]:
    """The name that users know it by, then the others."""
    return [*public, definition.qualified_name] if public else [definition.qualified_name]


def _is_defined_elsewhere(export: Export) -> bool:
    """Whether no file of the package that is read says more of an exported name than the statement that names it."""
    if export.alias in ("", DEFAULT):
        return False
    return not export.module or not export.module.startswith(".") or export.name == EVERYTHING


def _write(writer: Outline, names: list[str], definition: Definition, lines: list[str], *, is_opened: bool) -> None:
    writer.heading(_RANK + names[0].count("."), names[0], names, is_definition=True)
    comment, code = _apart(lines[definition.start_line - 1 : definition.end_line])
    for paragraph in "\n".join(comment).split("\n\n"):
        writer.block(paragraph.strip("\n"))
    if is_opened:
        writer.block(fenced(definition.signature, "typescript"), "code")
    else:
        writer.block(fenced("\n".join(code), "typescript"), "code")


def _apart(lines: list[str]) -> tuple[list[str], list[str]]:
    """The comment above a declaration, without its decoration, and the declaration."""
    comment: list[str] = []
    at = 0
    inside = False
    while at < len(lines):
        stripped = lines[at].strip()
        inside = inside or stripped.startswith("/*")
        if not inside and stripped and not stripped.startswith("//"):
            break
        comment.append(_undecorated(lines[at]))
        inside = inside and "*/" not in stripped
        at += 1
    return comment, lines[at:]


def _undecorated(line: str) -> str:
    """A line of a comment without the marks at its edges."""
    begins = _COMMENT_BEGINS.match(line)
    text = line[begins.end() if begins else 0 :].rstrip()
    return text.removesuffix("*/").rstrip() if text.endswith("*/") else text
