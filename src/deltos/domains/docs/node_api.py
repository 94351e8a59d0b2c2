"""The API of npm packages: declarations in .d.ts and JavaScript files with the comments above them."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from deltos.languages.grammar import parse
from deltos.languages.outline import outline
from deltos.languages.table import detect
from deltos.markup.model import Document
from deltos.markup.outline import Outline
from deltos.markup.text import fenced

if TYPE_CHECKING:
    from deltos.languages.model import Definition

_IMPORT = re.compile(r"""(?:from|import|require\()\s*['"](\.{1,2}/[^'"]+)['"]|<reference\s+path=['"]([^'"]+)['"]""")
_COMMENT_BEGINS = re.compile(r"\s*+(?:/\*\*?|\*/|\*(?!/)|//+)?[ \t]?")
_LARGE_LINES = 60
_RANK = 5


def imported_files(path: str, data: bytes) -> list[list[str]]:
    """For each file of the package that a declaration file imports or re-exports: what it may mean, likeliest first."""
    found = []
    for relative, referenced in _IMPORT.findall(data.decode("utf-8", "replace")):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), relative or referenced))
        if not target.startswith(".."):
            found.append(_candidates(target))
    return found


def _candidates(target: str) -> list[str]:
    stem = re.sub(r"\.[cm]?js$", "", target)
    return [target] * target.endswith(".ts") + [
        f"{stem}.d.ts", f"{stem}.d.mts", f"{stem}.d.cts", f"{stem}/index.d.ts", f"{stem}.ts",
    ]  # fmt: skip


def describe_declarations(name: str, data: bytes) -> Document:
    """Every definition in a declaration file: what its comment says, then the declaration itself."""
    language = detect(name)
    text = data.decode("utf-8", "replace")
    data = text.encode()  # some thousand bytes that are no UTF-8 crash the parser
    tree = parse(language, data) if language else None
    if language is None or tree is None:
        return Document(title=name, sections=())
    lines = text.splitlines()
    writer = Outline()
    large: set[str] = set()
    for definition in outline(language, tree, data):
        full_name = f"{definition.container}.{definition.name}" if definition.container else definition.name
        if definition.container and definition.container not in large:
            continue  # shown inside its container's declaration
        if definition.name.startswith(("_", "#")):
            continue
        is_large = definition.end_line - definition.start_line > _LARGE_LINES
        if is_large:
            large.add(full_name)
        _write(writer, full_name, definition, lines, is_large=is_large)
    return Document(title=name, sections=writer.sections())


def _write(writer: Outline, name: str, definition: Definition, lines: list[str], *, is_large: bool) -> None:
    depth = name.count(".")
    writer.heading(_RANK + depth, name, [name], is_definition=True)
    comment, code = _apart(lines[definition.start_line - 1 : definition.end_line])
    for paragraph in "\n".join(comment).split("\n\n"):
        writer.block(paragraph.strip("\n"))
    if is_large:
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
