"""Swift: all files of a project see each other's definitions, and any file may extend a type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.declared.declarations import UNKNOWN_PATH, Binding
from deltos.domains.graph.declared.facts import ELEMENT, TYPE_SIGN, UNWRAPPED, ImportClause
from deltos.domains.graph.declared.languages.traits import LanguageTraits, node_types
from deltos.domains.graph.declared.node_text import first_child

if TYPE_CHECKING:
    from collections.abc import Iterator

    import tree_sitter

    from deltos.domains.graph.declared.declarations import Declarations
    from deltos.domains.graph.declared.extract import FactCollector
    from deltos.domains.graph.declared.languages.traits import Imports, Text

_CONDITIONS = ("if_statement", "guard_statement", "while_statement")


def _read_imports(node: tree_sitter.Node, text: Text) -> Imports:
    """Yield the module of an import declaration."""
    name = first_child(node)
    if name is not None:
        yield ImportClause("all", text(name)), node


def _bindings(declarations: Declarations, node: tree_sitter.Node) -> Iterator[Binding]:
    """Yield the bindings of a Swift declaration."""
    node_text, names = declarations.node_text, node.children_by_field_name("name")
    if node.type in _CONDITIONS:
        bound, values = node.children_by_field_name("bound_identifier"), node.children_by_field_name("condition")
        values = [each for each in values if each.type != "value_binding_pattern"]
        for leaf, value in zip(bound, values, strict=False):  # in `if let name = value`, the value follows the name
            yield Binding(leaf, (*node_text.path(value), UNWRAPPED))
    elif node.type == "for_statement":
        path = (*node_text.path(node.child_by_field_name("collection")), ELEMENT)
        item = node.child_by_field_name("item")
        yield from (Binding(leaf, path) for leaf in _bound_names(item))
    elif node.type == "property_declaration":
        annotation = next((child for child in node.named_children if child.type == "type_annotation"), None)
        if annotation is not None:
            path = (TYPE_SIGN + node_text.type_text(annotation.child_by_field_name("name")),)
        else:
            path = declarations.path_of_value(node.child_by_field_name("value"))
        yield from (Binding(leaf, path) for name in names for leaf in _bound_names(name))
    elif len(names) > 1:  # in a parameter `name: Type`, the name is the last one
        yield Binding(names[0], (TYPE_SIGN + node_text.type_text(names[1]),))
    else:
        yield from (Binding(name, UNKNOWN_PATH) for name in names)


def _bound_names(pattern: tree_sitter.Node | None) -> list[tree_sitter.Node]:
    """Return the name node that a pattern binds, or an empty list for tuples."""
    leaf = pattern.child_by_field_name("bound_identifier") if pattern is not None else None
    return [leaf] if leaf is not None else []


def _read_parameter(reader: FactCollector, node: tree_sitter.Node) -> None:
    """Mark the label of a parameter as a bound name, not as a use."""
    label = node.child_by_field_name("external_name")
    if label is not None:
        reader.bound.add(label.start_byte)


def _read_function(reader: FactCollector, node: tree_sitter.Node) -> None:
    """Record a function's return type, which the grammar stores in the same field as its name."""
    names = node.children_by_field_name("name")
    if len(names) > 1:
        reader.scope(reader.spans.key_at(node.start_point[0] + 1)).returns = reader.node_text.type_text(names[1])


def _read_type_parameter(reader: FactCollector, node: tree_sitter.Node) -> None:
    """Bind a type parameter to the protocol to which it conforms, which the grammar stores in the field `name`."""
    parameter = first_child(node)
    if parameter is not None:
        bound = reader.node_text.type_text(node.child_by_field_name("name"))
        reader.environment.bind_type(reader.node_text.text(parameter), bound)
        reader.bound.add(parameter.start_byte)


SWIFT = LanguageTraits(
    name="swift",
    name_nodes=node_types("simple_identifier type_identifier"),
    member_nodes={"navigation_expression": ("target", "suffix")},
    call_nodes={"call_expression": ""},
    base_nodes=node_types("inheritance_specifier"),
    type_nodes=node_types("user_type optional_type array_type type_annotation"),
    decorator_nodes=node_types("attribute"),
    local_declaration_nodes=node_types(
        "parameter lambda_parameter property_declaration if_statement guard_statement while_statement for_statement"
    ),
    scope_nodes=node_types(
        "class_declaration protocol_declaration function_declaration protocol_function_declaration init_declaration "
        "lambda_literal if_statement while_statement for_statement switch_entry computed_property"
    ),
    field_declaration_nodes=node_types("property_declaration"),
    function_nodes=node_types("function_declaration protocol_function_declaration"),
    import_nodes=node_types("import_declaration"),
    # `switch_pattern` is not listed, because `.name` in it is a case of an unknown enum.
    skipped_nodes=node_types(
        "comment multiline_comment line_str_text multi_line_str_text value_argument_label switch_pattern"
    ),
    receivers=frozenset({"self", "super", "Self"}),
    read_imports=_read_imports,
    bindings=_bindings,
    readers={
        "parameter": _read_parameter,
        "type_parameter": _read_type_parameter,
        "function_declaration": _read_function,
        "protocol_function_declaration": _read_function,
    },
    shares_members_in_package=True,
    has_modifiers=True,
)
