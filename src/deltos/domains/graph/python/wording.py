"""How a definition presents itself: its signature on one line, the first paragraph of its docstring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.python.source import decoded

if TYPE_CHECKING:
    import tree_sitter

    from deltos.domains.graph.python.source import Kinds, Source

SIGNATURE_CHARACTERS = 300
DOC_CHARACTERS = 300


def signature_of(source: Source, node: tree_sitter.Node, body: tree_sitter.Node | None) -> str:
    """The head of a function or class, on one line."""
    end = body.start_byte if body is not None else node.end_byte
    head = decoded(source.text[node.start_byte : min(end, node.start_byte + 4 * SIGNATURE_CHARACTERS)])
    text = " ".join(head.partition("#")[0].split()).rstrip(": ")
    return text if len(text) <= SIGNATURE_CHARACTERS else text[: SIGNATURE_CHARACTERS - 1] + "…"


def doc_of(source: Source, kinds: Kinds, body: tree_sitter.Node | None) -> str:
    """The first paragraph of the docstring; empty when there is none."""
    first = body.named_children[0] if body is not None and body.named_child_count else None
    if first is None or first.kind_id != kinds.expression_statement or not first.named_child_count:
        return ""
    string = first.named_children[0]
    if string.kind_id != kinds.string:
        return ""
    content = [source.string(child) for child in string.named_children if child.kind_id == kinds.string_content]
    return " ".join("".join(content).strip().partition("\n\n")[0].split())[:DOC_CHARACTERS]
