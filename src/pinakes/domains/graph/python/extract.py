"""Facts about one Python file, out of its syntax tree and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pinakes.domains.graph.model import FileFacts
from pinakes.domains.graph.python.scopes import frozen_bindings
from pinakes.domains.graph.python.source import Source
from pinakes.domains.graph.python.statements import StatementLowering

if TYPE_CHECKING:
    import tree_sitter


def extract(data: bytes, tree: tree_sitter.Tree) -> FileFacts:
    """Symbols, interface and body of a file; a file with syntax errors gives what can be read of it."""
    lowering = StatementLowering(Source(data), tree.language)
    body = lowering.lower_module(tree.root_node)
    interface = (
        frozen_bindings(lowering.module.bindings),
        lowering.classes,
        lowering.functions,
        tuple(lowering.stars),
        None if lowering.exported is None else tuple(lowering.exported),
    )
    return FileFacts(tuple(lowering.symbols), interface, body)
