"""Extract the facts of a parsed file in one pass over its tree, and split them into interface and body."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.kernel.resolver import FileFacts
from deltos.domains.graph.typescript.facts import Body, TypeScriptModule, Uses
from deltos.domains.graph.typescript.lower.annotations import TYPES
from deltos.domains.graph.typescript.lower.expressions import EXPRESSIONS
from deltos.domains.graph.typescript.lower.hoisting import hoist_module
from deltos.domains.graph.typescript.lower.imports_exports import import_statement
from deltos.domains.graph.typescript.lower.inlining import Inliner
from deltos.domains.graph.typescript.lower.jsdoc import declare_typedefs, note_comments
from deltos.domains.graph.typescript.lower.statements import STATEMENTS
from deltos.domains.graph.typescript.lower.walk import Grammar, Walk
from deltos.domains.graph.typescript.nodes import ClassDeclaration, OneOf, ValueDeclaration

if TYPE_CHECKING:
    from tree_sitter import Node

_GRAMMAR = Grammar(EXPRESSIONS, STATEMENTS, TYPES)
_MAX_ASSIGNED = 6  # assigned values that contribute to the type of a variable without a declared type


def extract_module(path: str, data: bytes, root: Node) -> FileFacts:
    """Return the facts of a TypeScript or JavaScript file."""
    walk = Walk(path, data, _GRAMMAR)
    statements = _statements(root)
    for node in statements:
        if node.type == "import_statement":
            import_statement(walk, node)
    hoist_module(walk, statements)
    declare_typedefs(walk)
    with_locals: set[str] = set()
    for node in statements:
        if node.type == "comment":
            walk.comment = node
        elif node.is_named:
            uses, walk.found.recent = walk.scopes.local_uses, []
            walk.statement(node)
            walk.comment = None
            if walk.scopes.local_uses != uses:
                with_locals.update(walk.found.recent)
    note_comments(walk)
    with_locals.update(_declare_late_members(walk))
    return FileFacts(tuple(walk.found.symbols), _interface(walk, with_locals), _body(walk))


def _statements(root: Node) -> list[Node]:
    """Return the statements of a file, including the contents of ranges with parse errors."""
    found: list[Node] = []
    for node in root.children:
        found += node.children if node.type == "ERROR" else (node,)
    return found


def _declare_late_members(walk: Walk) -> set[str]:
    """Add types and members that are assigned outside their declarations, and return the names of changed
    declarations."""
    for name, terms in walk.found.assigned.items():
        parts = walk.found.declarations.get(name)
        first = parts[0] if parts else None
        if parts and isinstance(first, ValueDeclaration) and first.term is None:
            parts[0] = ValueDeclaration(first.key, OneOf(tuple(terms[:_MAX_ASSIGNED])))
    for name in {**walk.found.prototypes, **walk.found.expandos}:
        parts = walk.found.declarations.get(name)
        if parts:
            members, statics = walk.found.prototypes.get(name, {}), walk.found.expandos.get(name, {})
            parts.append(ClassDeclaration(parts[0].key, members=members, statics=statics))
    return {*walk.found.assigned, *walk.found.prototypes, *walk.found.expandos}


def _interface(walk: Walk, with_locals: set[str]) -> TypeScriptModule:
    """Return the facts on which other files may depend."""
    inliner = Inliner(walk.scopes.locals)
    return TypeScriptModule(
        imports=walk.found.imports,
        exports=walk.found.exports,
        star_exports=tuple(walk.found.star_exports),
        has_chained_exports=walk.found.has_chained_exports,
        exported_value=inliner.term(walk.found.exported_value),
        declarations={
            name: tuple([inliner.declaration(part) for part in parts]) if name in with_locals else tuple(parts)
            for name, parts in walk.found.declarations.items()
        },
        is_module=walk.found.is_module,
    )


def _body(walk: Walk) -> Body:
    """Return the facts that only this file's own resolution needs."""
    uses = Uses(
        names=walk.found.names,
        type_names=walk.found.type_names,
        members=walk.found.members,
        links=walk.found.links,
        imports=sorted(walk.found.specifiers),
        merges=walk.found.merges,
        augmented=walk.found.augmented,
        lines={symbol.key: symbol.line for symbol in walk.found.symbols},
    )
    return Body(uses, walk.found.owners, walk.scopes.locals)
