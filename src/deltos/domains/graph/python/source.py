"""Access to the source of a file during its conversion: node kinds, signatures and docstrings."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tree_sitter

    from deltos.domains.graph.kernel.source_text import SourceText

MAX_SIGNATURE_CHARACTERS = 300
MAX_DOC_CHARACTERS = 300


class Kinds:
    """Numbers of the grammar's node kinds. Comparing numbers is several times faster than comparing names."""

    def __init__(self, language: tree_sitter.Language) -> None:
        self._language = language
        # Kinds of nodes that may occur between any two children: comments and line continuations.
        self.extras = frozenset((self.comment, self.line_continuation))

    def __getattr__(self, kind: str) -> int:
        """Return the number of a named node kind and store it as an attribute."""
        number = self.number(kind)
        setattr(self, kind, number)
        return number

    def number(self, kind: str) -> int:
        """Return the number of a named node kind, or -1 if the grammar does not have the kind."""
        found = self._language.id_for_node_kind(kind, True)
        return -1 if found is None else found


@cache
def kinds_of(language: tree_sitter.Language) -> Kinds:
    """Return the cached node kinds of a grammar."""
    return Kinds(language)


def signature_of(source: SourceText, node: tree_sitter.Node, body: tree_sitter.Node | None) -> str:
    """Return the header of a function or class as one line."""
    end = body.start_byte if body is not None else node.end_byte
    head = source.slice(node.start_byte, min(end, node.start_byte + 4 * MAX_SIGNATURE_CHARACTERS))
    text = " ".join(head.partition("#")[0].split()).rstrip(": ")
    return text if len(text) <= MAX_SIGNATURE_CHARACTERS else text[: MAX_SIGNATURE_CHARACTERS - 1] + "…"


def first_docstring_paragraph(source: SourceText, kinds: Kinds, body: tree_sitter.Node | None) -> str:
    """Return the first paragraph of the docstring, or an empty string if there is none."""
    first = body.named_children[0] if body is not None and body.named_child_count else None
    if first is None or first.kind_id != kinds.expression_statement or not first.named_child_count:
        return ""
    string = first.named_children[0]
    if string.kind_id != kinds.string:
        return ""
    content = [source.name(child) for child in string.named_children if child.kind_id == kinds.string_content]
    return " ".join("".join(content).strip().partition("\n\n")[0].split())[:MAX_DOC_CHARACTERS]
