"""Lower import and export statements: convert them to bindings, references and exports."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.domains.graph.typescript.facts import ImportLink, ImportOrigin, ImportSite, NameUse
from deltos.domains.graph.typescript.lower.annotations import MAX_NAME_PARTS, named_children
from deltos.domains.graph.typescript.lower.declarations import find_name_node
from deltos.domains.graph.typescript.lower.hoisting import CLASSES, FUNCTIONS, declared_names
from deltos.domains.graph.typescript.lower.jsdoc import LINE_MARK, comments, declare_typedefs
from deltos.domains.graph.typescript.lower.named_values import lower_named_value, value_kind
from deltos.domains.graph.typescript.lower.references import lower_reference
from deltos.domains.graph.typescript.nodes import EXPORTED_VALUE, NAMESPACE, MemberAccess, Term, ValueDeclaration
from deltos.languages.grammar import parse
from deltos.languages.table import detect

if TYPE_CHECKING:
    from tree_sitter import Node

    from deltos.domains.graph.model import ImportMode
    from deltos.domains.graph.typescript.lower.walk import StatementHandler, Walk
_COMMENT_IMPORT = re.compile(r"@import([^'\"@]*+)['\"]([^'\"]*+)['\"]")
_MAX_COMMENT_IMPORT_BYTES = 2_000
_NON_NAME_NODE_TYPES = frozenset(("as", "type", "typeof", "comment"))


def lower_import_statement(walk: Walk, node: Node) -> None:
    """Bind the local names of an import and record the exports to which they refer."""
    walk.findings.is_module = True
    source = node.child_by_field_name("source")
    clause = next((child for child in node.children if child.type in ("import_clause", "import_require_clause")), None)
    if clause is not None and clause.type == "import_require_clause":
        _lower_import_require(walk, clause)
        return
    if source is None:
        return
    specifier = walk.source.name(source)[1:-1]
    is_type = node.children[1].type in ("type", "typeof")
    all_types = _bind_import_clause(walk, clause, specifier) if clause is not None else False
    mode: ImportMode = "type" if is_type or all_types else "runtime"
    walk.findings.specifiers.append(ImportSite(walk.source.line(node), specifier, mode))


def declare_comment_names(walk: Walk) -> None:
    """Bind the names in the `@import` and `@typedef` comments of a JavaScript file."""
    if not walk.source.is_javascript or ("@typedef" not in walk.source.text and "@import" not in walk.source.text):
        return
    for start, text in comments(walk.source.text):
        for match in _COMMENT_IMPORT.finditer(text):
            _lower_comment_import(walk, match[1], match[2], start + match.start())
        if "@typedef" in text:
            declare_typedefs(walk, text, start)


def _lower_comment_import(walk: Walk, clause: str, specifier: str, offset: int) -> None:
    """Convert `@import clause 'specifier'` at an offset in the file."""
    data = f"import type{LINE_MARK.sub(chr(10), clause)}'{specifier}'".encode("latin-1")
    language = detect("import.ts")
    tree = parse(language, data) if language is not None and len(data) < _MAX_COMMENT_IMPORT_BYTES else None
    if tree is not None and not tree.root_node.has_error:
        is_module = walk.findings.is_module
        lower_import_statement(walk.inside_comment(data, offset), tree.root_node.children[0])
        walk.findings.is_module = is_module  # restored, because an import in a comment does not make the file a module


def _lower_import_require(walk: Walk, clause: Node) -> None:
    """Bind the name that `import name = require('module')` imports."""
    source = clause.child_by_field_name("source")
    if source is None:
        return
    specifier = walk.source.name(source)[1:-1]
    _bind_import(walk, clause.children[0], clause.children[0], specifier, EXPORTED_VALUE)
    walk.findings.specifiers.append(ImportSite(walk.source.line(clause), specifier, "runtime"))


def _bind_import_clause(walk: Walk, clause: Node, specifier: str) -> bool:
    """Bind the names of an import clause, and return whether all of them are types."""
    all_types = True
    found = False
    for child in clause.children:
        kind = child.type
        if kind == "identifier":
            _bind_import(walk, child, child, specifier, "default")
            all_types = False
        elif kind == "namespace_import":
            name = child.children[-1]
            _bind_import(walk, name, name, specifier, NAMESPACE)
            all_types = False
        elif kind == "named_imports":
            for part in child.children:
                if part.type == "import_specifier":
                    found = True
                    all_types &= _bind_import_specifier(walk, part, specifier)
    return found and all_types


def _bind_import_specifier(walk: Walk, node: Node, specifier: str) -> bool:
    """Bind one imported name, and return whether it is imported as a type (`import { type Name }`)."""
    name_node, imported, _ = _split_specifier(walk, node)
    _bind_import(walk, node.children[-1], name_node, specifier, imported)
    return node.children[0].type in ("type", "typeof")


def _bind_import(walk: Walk, local: Node, name_node: Node, specifier: str, imported: str) -> None:
    """Bind a local name to a name that another module exports."""
    name = walk.source.name(local)
    walk.scopes.bind_value(name, name)
    walk.scopes.bind_type(name, name)
    walk.findings.imports[name] = ImportOrigin(specifier, imported)
    for line in dict.fromkeys((walk.source.line(name_node), walk.source.line(local))):
        walk.findings.links.append(ImportLink(line, walk.scopes.symbol, specifier, imported, is_alias=True))


def lower_import_alias(walk: Walk, node: Node) -> None:
    """Bind the name that `import Name = A.B` declares."""
    name, target = node.children[1], node.children[-1]
    if target.type == ";":
        target = node.children[-2]
    term = _lower_dotted_name(walk, target)
    binding = walk.scopes.values.get(walk.source.name(name))
    if type(binding) is str:
        key = walk.add_symbol(walk.source.name(name), "variable", node, at=name)
        walk.findings.declare(binding, ValueDeclaration(key, term))


def _lower_dotted_name(walk: Walk, node: Node) -> Term:
    """Return the type expression of a dotted name, or None if it does not begin with a name or has too many parts."""
    names: list[Node] = []
    while node.type != "identifier" and node.children:
        names.append(node.children[-1])
        node = node.children[0]
    term: Term = walk.lower_name(node, "read") if node.type == "identifier" else None
    if len(names) > MAX_NAME_PARTS:
        return None
    for each in reversed(names):
        name = walk.source.name(each)
        walk.record_member(each, "read", term, name)
        term = MemberAccess(term, name)
    return term


def lower_export_statement(walk: Walk, node: Node) -> None:
    """Convert an `export …` statement to declarations and exports."""
    walk.findings.is_module = walk.findings.is_module or not walk.scopes.container
    children = node.children
    source = node.child_by_field_name("source")
    if source is not None:
        _export_from(walk, node, walk.source.name(source)[1:-1])
        return
    kinds = [child.type for child in children]
    if "default" in kinds:
        _export_default(walk, node)
    elif "=" in kinds:
        _export_equals(walk, node)
    elif "export_clause" in kinds:
        for part in children[kinds.index("export_clause")].children:
            if part.type == "export_specifier":
                _export_local(walk, part)
    elif "namespace" not in kinds:
        _export_declaration(walk, node)


def _export_from(walk: Walk, node: Node, specifier: str) -> None:
    """Convert `export … from 'module'` to re-exports."""
    is_type = walk.source.name(node.children[1]) == "type"
    walk.findings.specifiers.append(ImportSite(walk.source.line(node), specifier, "type" if is_type else "runtime"))
    for child in node.children:
        if child.type == "*":
            walk.findings.star_exports.append(specifier)
        elif child.type == "namespace_export":
            name = walk.source.name(child.children[-1])
            walk.findings.exports[name] = ImportOrigin(specifier, NAMESPACE)
            walk.findings.links.append(
                ImportLink(walk.source.line(child), walk.scopes.symbol, specifier, NAMESPACE, is_alias=True)
            )
        elif child.type == "export_clause":
            for part in child.children:
                if part.type == "export_specifier":
                    _reexport(walk, part, specifier)


def _split_specifier(walk: Walk, node: Node) -> tuple[Node, str, str]:
    """Return the name node, the original name and the new name in an import or export specifier (`a as b`)."""
    parts = [child for child in node.children if child.type not in _NON_NAME_NODE_TYPES]
    names = [walk.source.name(part)[1:-1] if part.type == "string" else walk.source.name(part) for part in parts]
    return parts[0], names[0], names[-1]


def _reexport(walk: Walk, node: Node, specifier: str) -> None:
    """Re-export one name from another module."""
    name_node, name, exported = _split_specifier(walk, node)
    walk.findings.exports[exported] = ImportOrigin(specifier, name)
    walk.findings.links.append(
        ImportLink(walk.source.line(name_node), walk.scopes.symbol, specifier, name, is_alias=True)
    )


def _export_local(walk: Walk, node: Node) -> None:
    """Export one name of this module."""
    name_node, name, exported = _split_specifier(walk, node)
    value = walk.scopes.values.get(name)
    binding = value if value is not None else walk.scopes.types.get(name)
    if isinstance(binding, str):
        use = NameUse(walk.source.line(name_node), walk.scopes.symbol, "read", binding)
        walk.findings.names.append(use)
        walk.findings.type_names.append(use)
        if not walk.scopes.container:
            walk.findings.exports[exported] = binding


def _export_default(walk: Walk, node: Node) -> None:
    """Export the value of `export default …`."""
    value = node.child_by_field_name("value") or node.child_by_field_name("declaration")
    for child in node.children:
        if child.type == "decorator":
            walk.lower_expression(child)
    if value is None:
        return
    name_node = find_name_node(value) if value.type in FUNCTIONS or value.type in CLASSES else None
    if name_node is not None or value.type == "interface_declaration":
        name_node = name_node or find_name_node(value)
        walk.lower_statement(value)
        walk.findings.exports["default"] = walk.source.name(name_node) if name_node is not None else "default"
        return
    if value.type == "identifier":
        term = lower_reference(walk, value, "read")
        if isinstance(term, str):
            walk.findings.type_names.append(NameUse(walk.source.line(value), walk.scopes.symbol, "read", term))
        walk.findings.exports["default"] = term if isinstance(term, str) else "default"
        return
    key = walk.add_symbol("default", value_kind(value), node)
    walk.findings.declare("default", lower_named_value(walk, value, key, "default"))
    walk.findings.exports["default"] = "default"


def _export_equals(walk: Walk, node: Node) -> None:
    """Export the value of `export = value`."""
    value = named_children(node)[-1]
    walk.findings.exported_value = lower_reference(walk, value, "read")


def _export_declaration(walk: Walk, node: Node) -> None:
    """Convert a declaration after `export`, and export its names."""
    for child in node.children:
        if child.type == "decorator":
            walk.lower_expression(child)
        elif child.is_named and child.type != "comment":
            walk.lower_statement(child)
            if not walk.scopes.container:
                for name in declared_names(walk, child):
                    walk.findings.exports[name] = name


MODULES: dict[str, StatementHandler] = {
    "import_statement": lambda _walk, _node: None,  # converted before all other statements
    "import_alias": lower_import_alias,
    "export_statement": lower_export_statement,
}
