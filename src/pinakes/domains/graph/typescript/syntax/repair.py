"""Source that the grammar stumbles over, rewritten so that it parses: every byte that is kept stays in its place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pinakes.languages.grammar import parse

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

    from pinakes.workspace.indexer import ParsedFile

# `interface Box<in out T>`: the grammar does not know variance
_VARIANCE = re.compile(rb"(?<=[<,\n])(\s*)(in\s+out|out|in)(?=\s+[A-Za-z_$][\w$]*\s*(?:extends\b|[=,>]))")
# a call signature on a line of its own, after a member that ends without a semicolon
_GAP = rb"(?:[ \t]*(?://[^\n]*)?\r?\n|[ \t]*/\*(?:[^*]|\*(?!/))*\*/)*[ \t]*(?://[^\n]*)?\r?\n[ \t]*"
_SIGNATURE = re.compile(rb"(?<=[\w$>)\]}'\"])(?<!=>)(" + _GAP + rb")[ \t](?=<[\s\w$]|\([\w$:?,\s{}\[\]]*\)?:)")


def parsed_root(file: ParsedFile) -> Node | None:
    """The root of a file's tree, parsed anew where a small rewriting avoids errors."""
    tree = file.tree
    if tree is None or file.language is None or not tree.root_node.has_error:
        return tree.root_node if tree is not None else None
    rewritten = _with_semicolons(_VARIANCE.sub(_blank, file.data))
    again = parse(file.language, rewritten) if rewritten != file.data else None
    return again.root_node if again is not None and _broken_bytes(again) < _broken_bytes(tree) else tree.root_node


def _with_semicolons(data: bytes) -> bytes:
    """Put a semicolon before every call signature that needs one, in place of a blank."""

    def separate(match: re.Match[bytes]) -> bytes:
        line = data[data.rfind(b"\n", 0, match.start()) + 1 : match.start()]
        in_comment = b"//" in line or line.lstrip().startswith(b"*")
        return match[0] if in_comment else match[1] + b";"

    return _SIGNATURE.sub(separate, data)


def _blank(match: re.Match[bytes]) -> bytes:
    return match[1] + re.sub(rb"\S", b" ", match[2])


def _broken_bytes(tree: Tree) -> int:
    """How much of a file its tree did not understand."""
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
