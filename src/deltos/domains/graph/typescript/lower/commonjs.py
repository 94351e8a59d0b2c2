"""Lower CommonJS imports and exports: convert `require`, `module.exports = …` and `exports.name = …` to facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.typescript.facts import ImportOrigin
from deltos.domains.graph.typescript.lower.named_values import MODULE_EXPORTS, lower_named_value, value_kind, value_term
from deltos.domains.graph.typescript.lower.references import lower_reference
from deltos.domains.graph.typescript.nodes import EXPORTED_VALUE, MemberAccess, Require, Term

if TYPE_CHECKING:
    from tree_sitter import Node

    from deltos.domains.graph.typescript.lower.walk import Walk


def is_export_target(walk: Walk, left: Node) -> bool:
    """Whether an assignment to this member expression is a CommonJS export."""
    if "exports" in walk.scopes.values or "module" in walk.scopes.values:
        return False
    owner = left.children[0]
    if owner.type == "identifier":
        return walk.source.name(owner) == "exports" or walk.source.name(left) == MODULE_EXPORTS
    return owner.type == "member_expression" and walk.source.name(owner) == MODULE_EXPORTS


def lower_export(walk: Walk, node: Node, left: Node, right: Node) -> Term:
    """Convert an assignment to an export: export its right side, and return the value's type expression."""
    walk.findings.is_module = True
    if walk.source.name(left) == MODULE_EXPORTS:
        return _lower_module_exports(walk, node, left, right)
    name = walk.source.name(left.children[-1])
    binding = f"exports.{name}"
    if name in walk.findings.exports:
        return walk.lower_expression(right)
    key = walk.add_symbol(name, value_kind(right), node, at=left.children[-1], owner="exports")
    declaration = lower_named_value(walk, right, key, binding)
    walk.findings.declare(binding, declaration)
    walk.findings.exports[name] = binding
    return value_term(declaration, binding)


def _lower_module_exports(walk: Walk, node: Node, left: Node, right: Node) -> Term:
    """Export the value in `module.exports = value`, and return its type expression."""
    if right.type == "identifier":
        term = lower_reference(walk, right, "read")
    elif right.type == "assignment_expression":
        term = walk.lower_expression(right)
        walk.findings.has_chained_exports = True
    else:
        name = right.child_by_field_name("name") if value_kind(right) != "variable" else None
        key = walk.add_symbol(
            walk.source.name(name) if name is not None else MODULE_EXPORTS,
            value_kind(right),
            node,
            at=name or left,
            owner="",
        )
        declaration = lower_named_value(walk, right, key, MODULE_EXPORTS)
        walk.findings.declare(MODULE_EXPORTS, declaration)
        term = MODULE_EXPORTS
    if walk.findings.exported_value is None:
        walk.findings.exported_value = term
    return term


def required_import(term: Term) -> ImportOrigin | None:
    """Return the import to which `require('x')` or `require('x').name` is equivalent, or None for other expressions."""
    if isinstance(term, Require):
        return ImportOrigin(term.specifier, EXPORTED_VALUE)
    if isinstance(term, MemberAccess) and isinstance(term.owner, Require):
        return ImportOrigin(term.owner.specifier, term.name)
    return None
