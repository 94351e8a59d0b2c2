"""Convert types and expressions to text that can be stored without a syntax tree.

Examples: `:pkg.Foo<Bar>` for a type, `this` and `find()` for the steps of an access path.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.domains.graph.declared.facts import ANONYMOUS_STRUCT, ELEMENT, TYPE_SIGN, UNKNOWN, UNWRAPPED, path_of_call
from deltos.domains.graph.declared.phpdoc import SCALARS

if TYPE_CHECKING:
    import tree_sitter

    from deltos.domains.graph.declared.environment import Environment
    from deltos.domains.graph.declared.facts import AccessPath
    from deltos.domains.graph.declared.languages.traits import LanguageTraits

_MAX_PATH_STEPS = 12
_MAX_TYPE_DEPTH = 6
_MAX_ARGUMENTS = 4
_MAX_FIELDS = 16
_SEPARATOR = re.compile(r"::|\\|->")
_NODE_TYPES_IGNORED_IN_TYPES = frozenset(
    "lifetime mutable_specifier type_qualifier annotation marker_annotation modifiers type_modifiers "
    "abstract_pointer_declarator abstract_reference_declarator".split()
)
_WRAPPER_NODE_TYPES = frozenset(
    "pointer_type reference_type nullable_type optional_type parenthesized_type type_descriptor annotated_type "
    "dynamic_type abstract_type wildcard type_constraint named_type bounded_type dependent_type type non_nullable_type "
    "ref_type catch_type type_elem".split()
)
_LIST_NODE_TYPES = frozenset("slice_type array_type implicit_length_array_type".split())
_GENERIC_NODE_TYPES = frozenset("generic_type generic_name template_type user_type generic_type_with_turbofish".split())
_ARGUMENT_NODE_TYPES = frozenset("type_arguments type_argument_list template_argument_list".split())
_SCOPED_NODE_TYPES = frozenset(
    "qualified_type scoped_type_identifier qualified_identifier qualified_name scoped_identifier".split()
)
_DECLARING_NODE_TYPES = frozenset("struct_specifier union_specifier enum_specifier class_specifier".split())
_FUNCTION_NODE_TYPES = frozenset("function_type func_type".split())
_TRANSPARENT_NODE_TYPES = frozenset(
    "parenthesized_expression await_expression unary_expression reference_expression expression_list "
    "pointer_expression generic_name template_type literal_element argument slice_expression "
    "non_null_assertion_expression clone_expression prefix_unary_expression cpp_parenthesized_expression".split()
)
_SUBSCRIPT_NODE_TYPES = frozenset(
    "index_expression array_access subscript_expression element_access_expression indexing_expression".split()
)
_CAST_NODE_TYPES = frozenset("cast_expression type_cast_expression type_assertion_expression as_expression".split())
_CPP_CAST_NAMES = frozenset("static_cast dynamic_cast reinterpret_cast const_cast down_cast".split())
VARIABLE_NODE_TYPES = frozenset(
    "variable_name instance_variable field_identifier simple_identifier package_identifier relative_scope self "
    "this super crate this_expression namespace_name".split()
)


def first_child(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the first named child of a node."""
    return node.named_children[0] if node.named_child_count else None


class NodeText:
    """Converter from the types and expressions of one file to text and access paths."""

    def __init__(self, data: bytes, traits: LanguageTraits, environment: Environment) -> None:
        self._data = data
        self._traits = traits
        self._environment = environment

    @property
    def is_in_local_scope(self) -> bool:
        """Whether the current position is inside a scope of the file, not at its top level."""
        return self._environment.depth > 0

    def text(self, node: tree_sitter.Node) -> str:
        """Return the source text of a node."""
        return self._data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    # --- types

    def type_text(self, node: tree_sitter.Node | None, depth: int = 0) -> str:
        """Return a type as text: its dotted name and, in angle brackets, its type arguments.

        Lists are `[]<T>`, maps `{}<K,V>`, tuples `()<A,B>`, functions `fn<R>`. Other types, and types that are nested
        too deeply, are unknown.
        """
        if node is None or depth > _MAX_TYPE_DEPTH:
            return UNKNOWN
        kind = node.type
        if kind in _WRAPPER_NODE_TYPES:
            return self.type_text(_inner_type(node), depth + 1)
        if kind in _LIST_NODE_TYPES:
            inner = node.child_by_field_name("element") or node.child_by_field_name("type") or first_child(node)
            return f"[]<{self.type_text(inner, depth + 1)}>"
        if kind in _GENERIC_NODE_TYPES:
            return self._generic_text(node, depth)
        if kind in _SCOPED_NODE_TYPES:
            return self._scoped_text(node, depth)
        return self._other_type_text(node, kind, depth)

    def _other_type_text(self, node: tree_sitter.Node, kind: str, depth: int) -> str:
        """Return the text of a type that is neither a wrapper nor a list, generic or qualified type."""
        if kind == "map_type":
            key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
            return f"{{}}<{self.type_text(key, depth + 1)},{self.type_text(value, depth + 1)}>"
        if kind == "channel_type":
            return f"chan<{self.type_text(node.child_by_field_name('value'), depth + 1)}>"
        if kind == "struct_type":
            return self._struct_text(node, depth)
        if kind == "tuple_type":
            return self._text_with_arguments("()", node.named_children, depth)
        if kind == "parameter_list":
            return self._result_types(node, depth)
        if kind in _FUNCTION_NODE_TYPES:
            result = node.child_by_field_name("result") or node.child_by_field_name("return_type")
            return f"fn<{self.type_text(result, depth + 1)}>"
        if kind in _DECLARING_NODE_TYPES:
            return self.type_text(node.child_by_field_name("name"), depth + 1)
        if kind in ("union_type", "type_list"):
            classes = [child for child in node.named_children if self.text(child).lower() not in SCALARS]
            return self.type_text(classes[0], depth + 1) if len(classes) == 1 else UNKNOWN
        if node.child_count or not node.end_byte - node.start_byte:
            return UNKNOWN
        name = self.text(node)
        return self._environment.bound_of(name) or name

    def _generic_text(self, node: tree_sitter.Node, depth: int) -> str:
        """Return the text of a generic type: `Foo<A,B>`."""
        arguments = next((child for child in node.named_children if child.type in _ARGUMENT_NODE_TYPES), None)
        names = [
            child
            for child in node.named_children
            if child.type not in _ARGUMENT_NODE_TYPES | _NODE_TYPES_IGNORED_IN_TYPES
        ]
        base = ".".join(self.type_text(child, depth + 1) for child in names[:_MAX_ARGUMENTS])
        if arguments is None or "<" in base:
            return base or UNKNOWN
        return self._text_with_arguments(base, arguments.named_children, depth)

    def _text_with_arguments(self, base: str, nodes: list[tree_sitter.Node], depth: int) -> str:
        """Return the base name of a generic type with the type arguments."""
        kept = [child for child in nodes if child.type not in _NODE_TYPES_IGNORED_IN_TYPES][:_MAX_ARGUMENTS]
        texts = [self.type_text(child, depth + 1) for child in kept]
        return f"{base}<{','.join(texts)}>" if texts else base

    def _struct_text(self, node: tree_sitter.Node, depth: int) -> str:
        """Return the text of an anonymous Go struct type, with its fields and their types."""
        fields = first_child(node)
        fields_with_types: list[str] = []
        for each in fields.named_children if fields is not None else ():
            names = each.children_by_field_name("name") if each.type == "field_declaration" else []
            text = self.type_text(each.child_by_field_name("type"), depth + 1) if names else UNKNOWN
            fields_with_types += [f"{self.text(name)}={text}" for name in names if text != UNKNOWN]
        return f"{ANONYMOUS_STRUCT}<{','.join(fields_with_types[:_MAX_FIELDS])}>" if fields_with_types else UNKNOWN

    def _result_types(self, node: tree_sitter.Node, depth: int) -> str:
        """Return the result types of a Go function.

        A type that is declared for several result names is repeated.
        """
        texts: list[str] = []
        for child in node.named_children:
            if child.type == "parameter_declaration" and len(texts) < _MAX_ARGUMENTS:
                names = max(1, len(child.children_by_field_name("name")))
                texts += [self.type_text(child.child_by_field_name("type"), depth + 1)] * names
        return texts[0] if len(texts) == 1 else f"()<{','.join(texts[:_MAX_ARGUMENTS])}>"

    def _scoped_text(self, node: tree_sitter.Node, depth: int) -> str:
        """Return the text of a qualified type, `a::b::Foo<T>`; only the last part may be generic."""
        last = node.child_by_field_name("name") or (node.named_children[-1] if node.named_child_count else None)
        if last is None:
            return UNKNOWN
        before = self._data[node.start_byte : last.start_byte].decode("utf-8", "replace")
        if "<" in before or len(before) > _MAX_QUALIFICATION_CHARACTERS:
            before = ""  # only the last name remains, as in `Foo<T>::Bar`
        dotted = ".".join(part for part in _SEPARATOR.sub(".", "".join(before.split())).split(".") if part)
        name = self.type_text(last, depth + 1)
        root = "." if before.startswith("\\") else ""  # a fully qualified PHP name starts with a dot
        return f"{root}{dotted}.{name}" if dotted else root + name

    # --- expressions

    def path(self, node: tree_sitter.Node | None) -> AccessPath:
        """Return the access path of an expression: the steps that lead to its value.

        The path begins with `UNKNOWN` if the expression has no supported form.
        """
        steps: list[str] = []
        suffix = ""
        while node is not None and len(steps) < _MAX_PATH_STEPS:
            kind = node.type
            if kind in self._traits.member_nodes:
                last, node = self._member_steps(node, kind, suffix)
                steps += last
                suffix = ""
                if node is None:
                    return tuple(reversed(steps))
            elif kind in self._traits.creation_nodes:
                return self._path_from_type(self.callee(node, kind), steps)
            elif kind in self._traits.call_nodes:
                made = self._cpp_cast(node) or self._allocated_type(node)
                if made is not None:
                    return self._path_from_type(made, steps)
                node, suffix = self.callee(node, kind), "()"
            elif kind in _TRANSPARENT_NODE_TYPES:
                node = node.child_by_field_name("operand") or first_child(node)
            elif kind in _SUBSCRIPT_NODE_TYPES:
                steps.append(ELEMENT)
                node = first_child(node)
            elif kind == "try_expression":
                steps.append(UNWRAPPED)
                node = first_child(node)
            elif kind in _CAST_NODE_TYPES:
                return self._path_from_type(node.child_by_field_name("type") or node.named_children[-1], steps)
            elif kind in ("generic_function", "template_function"):
                node = first_child(node)
            else:
                return self._path_from_name(node, suffix, steps)
        return (UNKNOWN, *reversed(steps))

    def _member_steps(
        self, node: tree_sitter.Node, kind: str, suffix: str
    ) -> tuple[list[str], tree_sitter.Node | None]:
        """Return the steps of a member access, last step first, and the node of the receiver."""
        if kind == "qualified_identifier":
            first, *parts = self.qualified_parts(node)
            if not parts:
                return [self._last_name(first) + suffix], None
            return [self._last_name(parts[-1]) + suffix, *map(self._last_name, reversed(parts[:-1]))], first
        receiver, name = self.member_parts(node, kind)
        last = (self._last_name(name),)
        is_called = suffix or self._traits.call_nodes.get(kind) in ("name", "method")
        return [*reversed(path_of_call(last) if is_called else last)], receiver

    def _path_from_type(self, node: tree_sitter.Node | None, steps: list[str]) -> AccessPath:
        """Return the access path that begins with a written type."""
        return (TYPE_SIGN + self.type_text(node), *reversed(steps))

    def _path_from_name(self, node: tree_sitter.Node, suffix: str, steps: list[str]) -> AccessPath:
        """Return the access path that begins with a name.

        A variable is replaced by the access path of its value.
        """
        name = self._single_name(node)
        bound = self._environment.value(name)
        parameter = self._environment.bound_of(name) if bound is None and not suffix else None
        if parameter is not None:
            return (TYPE_SIGN + parameter, *reversed(steps))
        if bound is None or (suffix and self._traits.has_function_names):
            return (name + suffix, *reversed(steps))
        if suffix:
            bound = path_of_call(bound)
        if len(bound) + len(steps) > _MAX_PATH_STEPS:
            return (UNKNOWN, *reversed(steps))
        return (*bound, *reversed(steps))

    def _cpp_cast(self, node: tree_sitter.Node) -> tree_sitter.Node | None:
        """Return the type node of a C++ cast such as `static_cast<T>(x)`, or None for other calls."""
        function = node.child_by_field_name("function")
        if function is None or function.type != "template_function":
            return None
        name, arguments = function.child_by_field_name("name"), function.child_by_field_name("arguments")
        if name is None or arguments is None or self.text(name) not in _CPP_CAST_NAMES:
            return None
        return first_child(arguments)

    def _allocated_type(self, node: tree_sitter.Node) -> tree_sitter.Node | None:
        """Return the type node in Go's `new(T)` and `make([]T, n)`."""
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if function is None or arguments is None or not self._traits.allocators:
            return None
        return first_child(arguments) if self.text(function) in self._traits.allocators else None

    def callee(self, node: tree_sitter.Node, kind: str) -> tree_sitter.Node | None:
        """Return the node of the function that is called, or the type node of an object creation."""
        if kind in self._traits.creation_nodes:
            return node.child_by_field_name("type") or node.child_by_field_name("name") or first_child(node)
        if kind not in self._traits.call_nodes:
            return None
        name = self._traits.call_nodes[kind]
        return node.child_by_field_name(name) if name else first_child(node)

    def member_parts(
        self, node: tree_sitter.Node, kind: str
    ) -> tuple[tree_sitter.Node | None, tree_sitter.Node | None]:
        """Return the nodes for the object and the member name in a member access."""
        object_field, name_field = self._traits.member_nodes[kind]
        children = node.named_children
        name = node.child_by_field_name(name_field) if name_field else (children[-1] if children else None)
        if object_field:
            return node.child_by_field_name(object_field) or _keyword_node(node, self._traits), name
        return (children[0] if len(children) > 1 else _keyword_node(node, self._traits)), name

    def qualified_parts(self, node: tree_sitter.Node) -> list[tree_sitter.Node]:
        """Return the name nodes in C++'s `a::b::c`, or only the last name node for `::c`."""
        parts: list[tree_sitter.Node] = []
        while node.type == "qualified_identifier":
            scope, name = node.child_by_field_name("scope"), node.child_by_field_name("name")
            parts += [scope] if scope is not None else []
            if name is None:
                break
            node = name
        return [*parts, node] if node.type != "qualified_identifier" else parts or [node]

    def _single_name(self, node: tree_sitter.Node) -> str:
        """Return the text of a node that is a single name, or `UNKNOWN` for other nodes."""
        text = self.text(node)
        if node.type in self._traits.name_nodes or text in self._traits.receivers or node.type in VARIABLE_NODE_TYPES:
            return text
        if node.type in self._traits.type_nodes or node.type in _GENERIC_NODE_TYPES:
            return self._last_name(node)
        return text if text in ("crate", "super") else UNKNOWN

    def _last_name(self, node: tree_sitter.Node | None) -> str:
        """Return the last name in a type or name node: `Foo` in `*pkg.Foo[T]`."""
        while node is not None and node.child_count:
            inner = node.child_by_field_name("name") or node.child_by_field_name("type") or first_child(node)
            if inner is None:
                break
            node = inner
        return self.text(node) if node is not None else UNKNOWN


_MAX_QUALIFICATION_CHARACTERS = 200


def _inner_type(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the type node inside a wrapper node."""
    found = node.child_by_field_name("type") or node.child_by_field_name("trait")
    if found is not None:
        return found
    inner = [child for child in node.named_children if child.type not in _NODE_TYPES_IGNORED_IN_TYPES]
    return inner[0] if inner else None


def _keyword_node(node: tree_sitter.Node, traits: LanguageTraits) -> tree_sitter.Node | None:
    """Return the node of a receiver keyword such as `this`."""
    # Some grammars have no named node for such keywords.
    first = node.children[0] if node.child_count else None
    return first if first is not None and first.type in traits.receivers else None
