"""Facts about one Python file, out of its syntax tree and nothing else."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from deltos.domains.graph.model import FileFacts
from deltos.domains.graph.python.nodes import ModuleInterface
from deltos.domains.graph.python.scopes import frozen_bindings
from deltos.domains.graph.python.source import Source
from deltos.domains.graph.python.statements import StatementLowering

if TYPE_CHECKING:
    from collections.abc import Iterator

    import tree_sitter


_BUILTINS = frozenset(dir(builtins))


def extract(data: bytes, tree: tree_sitter.Tree) -> FileFacts:
    """Symbols, interface and body of a file; a file with syntax errors gives what can be read of it."""
    lowering = StatementLowering(Source(data), tree.language)
    body = lowering.lower_module(tree.root_node)
    interface = ModuleInterface(
        frozen_bindings(lowering.module.bindings),
        lowering.classes,
        lowering.functions,
        tuple(lowering.stars),
        None if lowering.exported is None else tuple(lowering.exported),
    )
    return FileFacts(tuple(lowering.symbols), interface, body, tuple(_parts(lowering, interface)))


def _parts(lowering: StatementLowering, interface: ModuleInterface) -> Iterator[tuple[str, object]]:
    """The interface by top-level name; what concerns all names stands under `*`."""
    pieces: dict[str, list[object]] = {name: [found] for name, found in interface.bindings.items()}
    for key, piece in (*interface.classes.items(), *interface.functions.items()):
        pieces.setdefault(key.partition(".")[0].partition("#")[0], []).append((key, piece))
    yield from pieces.items()
    # A name that hides a builtin changes what others meant by it without ever having looked for it here.
    yield "*", (interface.stars, interface.exported, sorted(_BUILTINS & lowering.module.bindings.keys()))
