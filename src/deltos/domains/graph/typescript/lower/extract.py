"""Extract the facts of a parsed file in one pass over its syntax tree, and split them into interface and body.

The interface is what other files may depend on; the body is the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.kernel.resolver import FileFacts
from deltos.domains.graph.typescript.facts import Body, TypeScriptModule, Uses
from deltos.domains.graph.typescript.lower.annotations import TYPES
from deltos.domains.graph.typescript.lower.expressions import EXPRESSIONS
from deltos.domains.graph.typescript.lower.hoisting import hoist_module
from deltos.domains.graph.typescript.lower.imports_exports import declare_comment_names, lower_import_statement
from deltos.domains.graph.typescript.lower.inlining import Inliner
from deltos.domains.graph.typescript.lower.jsdoc import record_comment_references
from deltos.domains.graph.typescript.lower.statements import STATEMENTS
from deltos.domains.graph.typescript.lower.walk import Grammar, Walk
from deltos.domains.graph.typescript.nodes import ClassDeclaration, OneOf, ValueDeclaration

if TYPE_CHECKING:
    from tree_sitter import Node

_GRAMMAR = Grammar(EXPRESSIONS, STATEMENTS, TYPES)
_MAX_ASSIGNED_VALUES = 6  # maximum number of assigned values from which the type of a variable is inferred


def extract_module(path: str, data: bytes, root: Node) -> FileFacts:
    """Return the facts of a TypeScript or JavaScript file."""
    walk = Walk(path, data, _GRAMMAR)
    statements = _statements(root)
    for node in statements:
        if node.type == "import_statement":
            lower_import_statement(walk, node)
    hoist_module(walk, statements)
    declare_comment_names(walk)
    names_with_locals: set[str] = set()
    for node in statements:
        if node.type == "comment":
            walk.comment = node
        elif node.is_named:
            uses, walk.findings.recent_names = walk.scopes.local_uses, []
            walk.lower_statement(node)
            walk.comment = None
            if walk.scopes.local_uses != uses:
                names_with_locals.update(walk.findings.recent_names)
    record_comment_references(walk)
    names_with_locals.update(_declare_late_members(walk))
    return FileFacts(tuple(walk.findings.symbols), _build_interface(walk, names_with_locals), _build_body(walk))


def _statements(root: Node) -> list[Node]:
    """Return the statements of a file, including statements in ranges with parse errors."""
    found: list[Node] = []
    for node in root.children:
        found += node.children if node.type == "ERROR" else (node,)
    return found


def _declare_late_members(walk: Walk) -> set[str]:
    """Add types and members from assignments to existing declarations, and return the names of these declarations."""
    for name, terms in walk.findings.assigned.items():
        parts = walk.findings.declarations.get(name)
        first = parts[0] if parts else None
        if parts and isinstance(first, ValueDeclaration) and first.term is None:
            parts[0] = ValueDeclaration(first.key, OneOf(tuple(terms[:_MAX_ASSIGNED_VALUES])))
    for name in {**walk.findings.prototypes, **walk.findings.expandos}:
        parts = walk.findings.declarations.get(name)
        if parts:
            members, statics = walk.findings.prototypes.get(name, {}), walk.findings.expandos.get(name, {})
            parts.append(ClassDeclaration(parts[0].key, members=members, statics=statics))
    return {*walk.findings.assigned, *walk.findings.prototypes, *walk.findings.expandos}


def _build_interface(walk: Walk, names_with_locals: set[str]) -> TypeScriptModule:
    """Return the facts on which other files may depend."""
    inliner = Inliner(walk.scopes.locals)
    return TypeScriptModule(
        imports=walk.findings.imports,
        exports=walk.findings.exports,
        star_exports=tuple(walk.findings.star_exports),
        has_chained_exports=walk.findings.has_chained_exports,
        exported_value=inliner.term(walk.findings.exported_value),
        declarations={
            name: tuple([inliner.declaration(part) for part in parts]) if name in names_with_locals else tuple(parts)
            for name, parts in walk.findings.declarations.items()
        },
        is_module=walk.findings.is_module,
    )


def _build_body(walk: Walk) -> Body:
    """Return the facts that only this file's own resolution needs."""
    uses = Uses(
        names=walk.findings.names,
        type_names=walk.findings.type_names,
        members=walk.findings.members,
        links=walk.findings.links,
        imports=sorted(walk.findings.specifiers),
        merges=walk.findings.merges,
        augmented=walk.findings.augmented,
        lines={symbol.key: symbol.line for symbol in walk.findings.symbols},
    )
    return Body(uses, walk.findings.owners, walk.scopes.locals)
