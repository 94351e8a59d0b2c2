"""Find the names that declarations bind, with the declared types or initial values of these names."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.graph.declared.facts import ELEMENT, TYPE_SIGN, UNKNOWN
from deltos.domains.graph.declared.node_text import VARIABLE_NODE_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import tree_sitter

    from deltos.domains.graph.declared.facts import AccessPath
    from deltos.domains.graph.declared.languages.traits import LanguageTraits
    from deltos.domains.graph.declared.node_text import NodeText
    from deltos.domains.graph.declared.phpdoc import Documentation

UNKNOWN_PATH: AccessPath = (UNKNOWN,)
INFERRED_TYPE_KEYWORDS = frozenset({"var", "auto", "val", "let", UNKNOWN})
_TARGET_FIELDS = ("name", "declarator", "pattern", "left", "alias")
_DECLARATOR_NODE_TYPES = frozenset(
    {"variable_declarator", "init_declarator", "property_element", "variable_declaration"}
)
_UNTYPED_NODE_TYPES = frozenset({"assignment_expression", "assignment", "method_parameters", "block_parameters"})
_NODE_TYPES_SKIPPED_IN_PATTERNS = frozenset(
    "parameter_list field_expression call element_reference member_access_expression member_expression "
    "subscript_expression scoped_property_access_expression".split()
)


class Binding(NamedTuple):
    """A bound name, and the access path of its value: the steps that lead to the value, such as a type and a call."""

    leaf: tree_sitter.Node
    path: AccessPath


class Declarations:
    """Reader of the declarations in one file."""

    def __init__(self, node_text: NodeText, traits: LanguageTraits, documentation: Documentation) -> None:
        self.node_text = node_text
        self.documentation = documentation
        self.traits = traits
        self.matched_values: dict[int, tree_sitter.Node] = {}
        self.switched: dict[int, tree_sitter.Node] = {}
        self.repeated: dict[int, tree_sitter.Node] = {}

    def note(self, node: tree_sitter.Node) -> None:
        """Store the node that contains the value for each `match` arm, type-switch case and repeated Go constant."""
        # Stored in advance, because `node.parent` takes time proportional to the depth of the node.
        if node.type == "match_expression":
            value, body = node.child_by_field_name("value"), node.child_by_field_name("body")
            if value is not None and body is not None:
                self.matched_values.update({arm.id: value for arm in body.named_children})
        elif node.type == "const_declaration" and self.traits.has_packages_by_path:
            spec_with_value = None
            for spec in node.named_children:
                if spec.child_by_field_name("type") or spec.child_by_field_name("value"):
                    spec_with_value = spec
                elif spec_with_value is not None:
                    self.repeated[spec.id] = spec_with_value
        elif node.type == "type_switch_statement":
            alias = node.child_by_field_name("alias")
            if alias is not None:
                self.switched.update({case.id: alias for case in node.named_children})

    def bindings(self, node: tree_sitter.Node) -> list[Binding]:
        """Return the names that a node binds in the enclosing scope or in the scope that the node opens."""
        return list(self.traits.bindings(self, node))

    # --- default for `LanguageTraits.bindings`

    def other_bindings(self, node: tree_sitter.Node) -> Iterator[Binding]:
        """Yield the bindings of Java, Kotlin, C#, PHP and Ruby declarations."""
        kind = node.type
        if kind in ("inferred_parameters", "lambda_parameters", "method_parameters", "block_parameters"):
            yield from (Binding(leaf, UNKNOWN_PATH) for leaf in self.pattern_names(node))
            return
        if kind in ("lambda_expression", "implicit_parameter"):
            single = node.child_by_field_name("parameters") or (node if kind == "implicit_parameter" else None)
            if single is not None and single.type in (*self.traits.name_nodes, "implicit_parameter"):
                yield Binding(single, UNKNOWN_PATH)
            return
        declared = self.declared_type(node)
        for leaf, value in self.declarators(node):
            yield Binding(leaf, (TYPE_SIGN + declared,) if declared else self.initial_path(node, value))

    def initial_path(self, node: tree_sitter.Node, value: tree_sitter.Node | None) -> AccessPath:
        """Return the access path of a declaration's initial value or, in a loop, of the elements of the value."""
        path = self.path_of_value(value)
        return (*path, ELEMENT) if node.type in ("enhanced_for_statement", "foreach_statement") else path

    def declared_type(self, node: tree_sitter.Node) -> str:
        """Return the type that a declaration states, or an empty string if the type is inferred from the value."""
        declared = node.child_by_field_name("type")
        if declared is None and node.type == "instanceof_expression":
            declared = node.child_by_field_name("right")
        if declared is None:
            if node.type in _UNTYPED_NODE_TYPES:
                return ""
            declared = next((child for child in node.named_children if child.type in self.traits.type_nodes), None)
            if declared is None:
                inner = next((c for c in node.named_children if c.type in ("variable_declaration", "catch_type")), None)
                if inner is None:
                    return ""
                return self.node_text.type_text(inner) if inner.type == "catch_type" else self.declared_type(inner)
        text = self.node_text.type_text(declared)
        if text in INFERRED_TYPE_KEYWORDS or declared.type == "implicit_type":
            return ""
        return f"[]<{text}>" if node.type == "spread_parameter" else text

    def declarators(self, node: tree_sitter.Node) -> Iterable[tuple[tree_sitter.Node, tree_sitter.Node | None]]:
        """Return the name nodes that a declaration declares, each with the node of its initial value."""
        inner = [child for child in node.named_children if child.type in _DECLARATOR_NODE_TYPES]
        if inner:
            for child in inner:
                value = _value_node(child) or (_value_node(node) if len(inner) == 1 else None)
                yield from ((leaf, value) for leaf, _ in self.declarators(child))
            return
        if node.type == "instanceof_expression" and node.child_by_field_name("name") is None:
            return  # skipped, because `x instanceof Foo` binds no variable
        target = next((t for name in _TARGET_FIELDS if (t := node.child_by_field_name(name)) is not None), None)
        if target is None:
            names = [
                child for child in node.named_children if child.type in (*self.traits.name_nodes, *VARIABLE_NODE_TYPES)
            ]
            target = names[-1] if names else None
        if target is None:
            return
        leaves = list(self.pattern_names(target))
        value = _value_node(node)
        for leaf in leaves:
            yield leaf, value if len(leaves) == 1 else None

    def path_of_value(self, value: tree_sitter.Node | None) -> AccessPath:
        """Return the access path of an initial value, or `UNKNOWN_PATH` if there is none."""
        return self.node_text.path(value) if value is not None else UNKNOWN_PATH

    def pattern_names(self, node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
        """Yield the name nodes that a pattern declares, excluding type names."""
        kinds = self.traits.name_nodes | VARIABLE_NODE_TYPES
        pending = [node]
        while pending:
            current = pending.pop()
            if current.type in kinds or current.type == "shorthand_field_identifier":
                if not self.traits.has_module_tree or not self.node_text.text(current)[:1].isupper():
                    yield current
            elif current.type not in _NODE_TYPES_SKIPPED_IN_PATTERNS:
                skipped = current.child_by_field_name("type")
                value = current.child_by_field_name("value")
                pending.extend(c for c in reversed(current.named_children) if c not in (skipped, value))


def _value_node(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the node of a declaration's initial value."""
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    if value is None and node.named_child_count > 1 and node.type in (*_DECLARATOR_NODE_TYPES, "property_declaration"):
        value = node.named_children[-1]
    return value


def expression_items(node: tree_sitter.Node | None) -> list[tree_sitter.Node]:
    """Return the expressions in an expression list; a single expression counts as a list of one."""
    if node is None:
        return []
    return list(node.named_children) if node.type == "expression_list" else [node]
