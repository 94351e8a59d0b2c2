"""Lower functions, classes and objects that are assigned to a variable, member or export: convert them to facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.typescript.lower.classes import lower_class
from deltos.domains.graph.typescript.lower.functions import FUNCTION_KINDS, lower_function
from deltos.domains.graph.typescript.lower.literals import lower_named_object
from deltos.domains.graph.typescript.nodes import ClassDeclaration, Term, ValueDeclaration

if TYPE_CHECKING:
    from tree_sitter import Node

    from deltos.domains.graph.typescript.lower.walk import Binding, ClassFrame, Walk


MODULE_EXPORTS = "module.exports"


def value_kind(node: Node | None) -> str:
    """Return the symbol kind for a name to which a value is assigned."""
    if node is None:
        return "variable"
    kind = node.type
    return "function" if kind in FUNCTION_KINDS else "class" if kind == "class" else "variable"


def lower_named_value(
    walk: Walk, node: Node, key: str, binding: Binding, expected: Term = None, *, frame: ClassFrame | None = None
) -> ValueDeclaration | ClassDeclaration:
    """Convert the value of a symbol, and return the symbol's declaration."""
    with walk.scopes.inside_symbol(key), walk.component_scope(key, _last_name(key)):
        kind = node.type
        declaration: ValueDeclaration | ClassDeclaration
        if kind in FUNCTION_KINDS:
            declaration = ValueDeclaration(key, lower_function(walk, node, expected, frame=frame))
        elif kind == "class":
            declaration = lower_class(walk, node, binding, key)
        elif kind == "object":
            is_exported = binding in ("default", MODULE_EXPORTS)
            term = lower_named_object(walk, node, expected, owner=key, is_exported=is_exported)
            declaration = ValueDeclaration(key, term)
        else:
            declaration = ValueDeclaration(key, walk.lower_expression(node, expected))
    return declaration


def _last_name(key: str) -> str:
    return key.rpartition(".")[2]


def value_term(declaration: ValueDeclaration | ClassDeclaration, binding: Binding) -> Term:
    """Return the type expression of a named value; for a class, its name."""
    return binding if isinstance(declaration, ClassDeclaration) else declaration.term
