"""A source file as extraction sees it: node kinds of the grammar, cheap access to text and lines."""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tree_sitter


class Kinds:
    """Numbers of the grammar's node kinds; comparing numbers is several times cheaper than comparing names."""

    aliased_import: int
    argument_list: int
    as_pattern: int
    as_pattern_target: int
    assignment: int
    augmented_assignment: int
    block: int
    case_clause: int
    case_pattern: int
    class_definition: int
    class_pattern: int
    comment: int
    decorator: int
    dictionary_splat: int
    dotted_name: int
    elif_clause: int
    else_clause: int
    except_clause: int
    expression_statement: int
    finally_clause: int
    for_in_clause: int
    function_definition: int
    identifier: int
    if_clause: int
    interpolation: int
    keyword_argument: int
    keyword_pattern: int
    line_continuation: int
    pair: int
    parameters: int
    relative_import: int
    splat_pattern: int
    string: int
    string_content: int
    type: int
    type_parameter: int
    wildcard_import: int
    with_clause: int

    def __init__(self, language: tree_sitter.Language) -> None:
        self._language = language
        for kind in Kinds.__annotations__:
            setattr(self, kind, self.number(kind))
        # What the grammar allows between any two children of any node.
        self.extras = frozenset((self.comment, self.line_continuation))

    def number(self, kind: str) -> int:
        """The number of a named node kind; -1, which no node has, when the grammar does not know it."""
        found = self._language.id_for_node_kind(kind, True)
        return -1 if found is None else found


@cache
def kinds_of(language: tree_sitter.Language) -> Kinds:
    """The kinds of a grammar, looked up once."""
    return Kinds(language)


class Source:
    """The text of one file by byte offset, and the line of any offset."""

    __slots__ = ("_names", "_starts", "text")

    def __init__(self, data: bytes) -> None:
        # One character per byte: offsets of the tree are offsets of the text, without decoding each name.
        self.text = data.decode("latin-1")
        self._names: dict[str, str] = {}
        self._starts = line_starts(self.text)

    def name(self, node: tree_sitter.Node) -> str:
        """The text of a short node, one string object per name."""
        raw = self.text[node.start_byte : node.end_byte]
        known = self._names.get(raw)
        if known is None:
            known = self._names[raw] = raw if raw.isascii() else decoded(raw)
        return known

    def string(self, node: tree_sitter.Node) -> str:
        """The text of a node as written."""
        return decoded(self.text[node.start_byte : node.end_byte])

    def line(self, node: tree_sitter.Node) -> int:
        """The line, from 1, on which a node starts."""
        return bisect_right(self._starts, node.start_byte)

    def end_line(self, node: tree_sitter.Node) -> int:
        """The line, from 1, on which a node's last character stands."""
        return bisect_right(self._starts, max(node.start_byte, node.end_byte - 1))


def line_starts(text: str) -> list[int]:
    """The offset at which each line begins."""
    starts = [0]
    offset = text.find("\n")
    while offset >= 0:
        starts.append(offset + 1)
        offset = text.find("\n", offset + 1)
    return starts


def decoded(raw: str) -> str:
    """Bytes that were read as latin-1, as the UTF-8 they are."""
    return raw.encode("latin-1").decode("utf-8", errors="replace")
