"""Facts about one Python file, out of its syntax tree and nothing else."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from deltos.domains.graph.model import FileFacts
from deltos.domains.graph.python.scopes import frozen_bindings
from deltos.domains.graph.python.source import Source
from deltos.domains.graph.python.statements import StatementLowering

if TYPE_CHECKING:
    from collections.abc import Iterator

    import tree_sitter

    from deltos.domains.graph.python.ir import Node

_BUILTINS = frozenset(dir(builtins))


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
    return FileFacts(tuple(lowering.symbols), interface, body, tuple(_parts(lowering, interface)))


def _parts(lowering: StatementLowering, interface: Node) -> Iterator[tuple[str, Any]]:
    """The interface by top-level name; what concerns all names stands under `*`."""
    bindings, classes, functions, stars, exported = interface
    pieces: dict[str, list[Any]] = {name: [found] for name, found in bindings.items()}
    for inner in (classes, functions):
        for key, piece in inner.items():
            pieces.setdefault(key.partition(".")[0].partition("#")[0], []).append((key, piece))
    yield from pieces.items()
    # A name that hides a builtin changes what others meant by it without ever having looked for it here.
    yield "*", (stars, exported, sorted(_BUILTINS & lowering.module.bindings.keys()))
