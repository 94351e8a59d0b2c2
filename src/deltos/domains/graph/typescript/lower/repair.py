"""Rewrite valid source that the grammar cannot parse, without changing byte offsets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.languages.grammar import parse

if TYPE_CHECKING:
    from tree_sitter import Node

    from deltos.workspace.indexer import ParsedFile

# Variance annotations, such as `interface Box<in out T>`, which the grammar does not support.
_VARIANCE = re.compile(rb"([<,]\s*+)(in\s+out|out|in)(?=\s+[A-Za-z_$][\w$]*\s*(?:extends\b|[=,>]))")
# A call signature after a member without a semicolon, which the grammar parses as a continuation of the member.
_SIGNATURE = re.compile(rb"(?<=[\w$>)\]}'\"/])\n[ \t]*[ \t](?=<[\s\w$]|\([\w$:?,\s{}\[\]]*\)?:)")


def parsed_root(file: ParsedFile) -> Node | None:
    """Return the root of a file's syntax tree, using a rewrite of the source if that avoids all parse errors."""
    tree = file.tree
    if tree is None or file.language is None or not tree.root_node.has_error:
        return tree.root_node if tree is not None else None
    data = _VARIANCE.sub(lambda match: match[1] + b" " * len(match[2]), file.data)
    data = _SIGNATURE.sub(lambda match: match[0][:-1] + b";", data)
    reparsed = parse(file.language, data) if data != file.data else None
    return reparsed.root_node if reparsed is not None and not reparsed.root_node.has_error else tree.root_node
