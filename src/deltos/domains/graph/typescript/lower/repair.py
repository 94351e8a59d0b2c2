"""Rewrite valid source that the grammar cannot parse, without changing byte offsets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.languages.grammar import parse

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

    from deltos.workspace.indexer import ParsedFile

# Variance annotations, as in `interface Box<in out T>`, which the grammar does not support.
_VARIANCE = re.compile(rb"(?<![\w$])(?:in\s+out|out|in)(?=\s+[A-Za-z_$][\w$]*\s*(?:extends\b|[=,>]))")
# Start of a line that may be a call signature.
_SIGNATURE = re.compile(rb"\n[ \t]*[ \t](?=<[\s\w$]|\([\w$:?,\s{}\[\]]*\)?:)")
_NON_BLANK = re.compile(rb"\S")
_BLANKS = frozenset(b" \t\n\r\f\v")
_MEMBER_END_CHARACTERS = b"_$>)]}'\""
_MAX_COMMENT_BYTES = 4000  # maximum number of bytes of comments before a signature


def parsed_root(file: ParsedFile) -> Node | None:
    """Return the root of a file's syntax tree, using a rewrite of the source if that reduces parse errors."""
    tree, data = file.tree, file.data
    if tree is None or file.language is None or not tree.root_node.has_error:
        return tree.root_node if tree is not None else None
    best = tree
    for rewrite in (_blank_variance, _insert_semicolons):
        data = rewrite(data)
        reparsed = parse(file.language, data) if data != file.data else None
        if reparsed is not None and _count_error_bytes(reparsed) < _count_error_bytes(best):
            best = reparsed
            if not reparsed.root_node.has_error:
                break
    return best.root_node


def _blank_variance(data: bytes) -> bytes:
    """Replace the variance annotations of type parameters with blanks."""

    def replace_with_blanks(match: re.Match[bytes]) -> bytes:
        return _NON_BLANK.sub(b" ", match[0]) if _may_begin_type_parameter(data, match.start()) else match[0]

    return _VARIANCE.sub(replace_with_blanks, data)


def _may_begin_type_parameter(data: bytes, start: int) -> bool:
    """Whether a type parameter may start at this offset, based on the preceding text."""
    at = start
    while at and data[at - 1] in _BLANKS:
        at -= 1
    return data[at - 1 : at] in (b"<", b",") or b"\n" in data[at:start]


def _insert_semicolons(data: bytes) -> bytes:
    """Replace the blank before a call signature with a semicolon if the preceding member does not end with one."""

    def insert_semicolon(match: re.Match[bytes]) -> bytes:
        return (
            match[0][:-1] + b";"
            if _ends_member(data[max(0, match.start() - _MAX_COMMENT_BYTES) : match.start()])
            else match[0]
        )

    return _SIGNATURE.sub(insert_semicolon, data)


def _ends_member(before: bytes) -> bool:
    """Whether a text ends with a member that is not terminated by a semicolon. Trailing comments are ignored."""
    while True:
        text = before.rstrip()
        line = text[text.rfind(b"\n") + 1 :]
        if text.endswith(b"*/"):
            before = text[: max(0, text.rfind(b"/*"))]
        elif b"//" in line:
            before = text[: len(text) - len(line) + line.index(b"//")]
        else:
            last = text[-1:]
            return bool(last) and (last.isalnum() or last in _MEMBER_END_CHARACTERS) and not text.endswith(b"=>")


def _count_error_bytes(tree: Tree) -> int:
    """Return the number of bytes in the parse errors of a tree."""
    total = 0
    stack = [tree.root_node]
    while stack:
        node = stack.pop()
        if node.type == "ERROR":
            total += 1 + node.end_byte - node.start_byte
        elif node.is_missing:
            total += 1
        elif node.has_error:
            stack.extend(node.children)
    return total
