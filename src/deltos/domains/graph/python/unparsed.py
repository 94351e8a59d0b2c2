"""Find names in code near syntax errors. Only the lines of these names are known."""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING

from deltos.domains.graph.python.nodes import UnparsedName

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import tree_sitter

    from deltos.domains.graph.kernel.source_text import SourceText
    from deltos.domains.graph.python.source import Kinds
    from deltos.store.symbols import Symbol

_CONTAINER_STATEMENTS = frozenset({"class_definition", "decorated_definition", "block"})
_DEFINITION_KEYWORDS = (["def"], ["class"])
# Maximum number of characters before a name that are searched for `def`, `class` or a dot.
_MAX_CHARACTERS_BEFORE_NAME = 80


def unparsed_names(
    root: tree_sitter.Node, source: SourceText, kinds: Kinds, symbols: Iterable[Symbol]
) -> tuple[UnparsedName, ...]:
    """Return the names inside syntax errors and on lines that a syntax error has separated from their block.

    In functions with a syntax error, all names after a dot are included, because the types of the values before the dot
    may be unknown.
    """
    if not root.has_error:
        return ()
    scopes = [row for row in symbols if row.kind != "variable"]
    keys: dict[int, str] = {}
    found: dict[UnparsedName, None] = {}
    for node, is_member in _unparsed_identifiers(root, kinds):
        name, line = source.name(node), source.line(node)
        before = source.text[max(0, node.start_byte - _MAX_CHARACTERS_BEFORE_NAME) : node.start_byte].rstrip()
        if (
            keyword.iskeyword(name)
            or before.split()[-1:] in _DEFINITION_KEYWORDS
            or (is_member and not before.endswith("."))
        ):
            continue
        if line not in keys:
            keys[line] = _innermost_key(line, scopes)
        found[UnparsedName(line, keys[line], name)] = None
    return tuple(found)


def _unparsed_identifiers(root: tree_sitter.Node, kinds: Kinds) -> Iterator[tuple[tree_sitter.Node, bool]]:
    """Yield each identifier near a syntax error, and whether it counts as a name only after a dot."""
    pending = list(_statements_with_errors(root))
    while pending:
        node, is_member = pending.pop()
        is_member = is_member and node.type != "ERROR"
        if node.kind_id == kinds.identifier:
            yield node, is_member
        pending.extend([(child, is_member) for child in node.named_children])


def _statements_with_errors(root: tree_sitter.Node) -> Iterator[tuple[tree_sitter.Node, bool]]:
    """Yield each innermost statement with a syntax error, and whether the statement is in its original block.

    Functions are yielded as a whole, and the members of classes separately. A syntax error has moved any indented
    statement at the top level out of its block.
    """
    pending = [root]
    while pending:
        parent = pending.pop()
        for child in parent.named_children:
            is_separated = parent is root and child.start_point[1] > 0
            if child.type in _CONTAINER_STATEMENTS and child.has_error:
                pending.append(child)
            elif child.has_error or is_separated:
                yield child, not is_separated


def _innermost_key(line: int, scopes: Iterable[Symbol]) -> str:
    """Return the key of the innermost definition that contains a line, or an empty string at the top level."""
    containing = [row for row in scopes if row.line <= line <= row.end_line]
    return max(containing, key=lambda row: (row.line, -row.end_line)).key if containing else ""
