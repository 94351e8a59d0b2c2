"""PHP: comments often declare types, and conditions narrow them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.domains.graph.declared.declarations import UNKNOWN_PATH, Binding
from deltos.domains.graph.declared.facts import (
    CALLABLE,
    DOCUMENTED,
    ELEMENT,
    TYPE_SIGN,
    UNKNOWN,
    ImportClause,
    Occurrence,
)
from deltos.domains.graph.declared.languages.traits import TEXT_NODE_TYPES, LanguageTraits, last_part, node_types
from deltos.domains.graph.declared.node_text import first_child
from deltos.domains.graph.declared.phpdoc import more_specific_type, split_qualified_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    import tree_sitter

    from deltos.domains.graph.declared.declarations import Declarations
    from deltos.domains.graph.declared.extract import FactCollector
    from deltos.domains.graph.declared.facts import AccessPath
    from deltos.domains.graph.declared.languages.traits import Text

_GUARD_NODE_TYPES = frozenset(
    {"if_statement", "else_if_clause", "while_statement", "conditional_expression", "binary_expression"}
)
_EXIT_NODE_TYPES = frozenset({"return_statement", "throw_expression", "continue_statement", "break_statement"})
_MAX_CONDITIONS = 32
_PARAMETER_NODE_TYPES = frozenset({"simple_parameter", "variadic_parameter", "property_promotion_parameter"})
_TYPE_NODE_TYPES = ("class_declaration", "interface_declaration", "trait_declaration", "enum_declaration")
_FUNCTION_NODE_TYPES = ("function_definition", "method_declaration", "anonymous_function", "arrow_function")
_STRING_NODE_TYPES = frozenset({"string", "encapsed_string"})


def _read_imports(node: tree_sitter.Node, text: Text) -> Iterator[tuple[ImportClause, tree_sitter.Node]]:
    """Yield the imports of a PHP `use` statement."""
    body = re.sub(r"\s+", " ", text(node)).removeprefix("use").strip().rstrip(";").strip()
    body = re.sub(r"^(?:function|const) ", "", body)
    head, brace, rest = body.partition("{")
    parts = [head + part for part in rest.rpartition("}")[0].split(",")] if brace else body.split(",")
    for part in parts:
        name, _, alias = part.partition(" as ")
        dotted = re.sub(r"\s", "", name).replace("\\", ".").strip(".")
        if dotted:
            yield ImportClause("name", dotted, alias.strip() or last_part(dotted)), node


def _bindings(declarations: Declarations, node: tree_sitter.Node) -> Iterator[Binding]:
    """Yield the bindings of a PHP declaration."""
    return _documented_bindings(declarations, node, declarations.declared_type(node))


def _documented_bindings(declarations: Declarations, node: tree_sitter.Node, declared: str) -> Iterator[Binding]:
    """Bind the variables of a PHP declaration to its declared type, its documented type, or its value."""
    if node.type == "foreach_statement":
        yield from _loop_bindings(declarations, node)
        return
    for leaf, value in declarations.declarators(node):
        is_parameter = node.type in _PARAMETER_NODE_TYPES
        name = declarations.node_text.text(leaf)
        documented = declarations.documentation.variable_type(node.start_byte, name, is_parameter=is_parameter)
        if node.type == "variadic_parameter":
            declared, documented = (
                f"[]<{each}>" if each not in ("", UNKNOWN) else each for each in (declared, documented)
            )
        text = more_specific_type(declared, documented)
        yield Binding(leaf, (TYPE_SIGN + text,) if text else declarations.initial_path(node, value))


def _loop_bindings(declarations: Declarations, node: tree_sitter.Node) -> Iterator[Binding]:
    """Bind the variables of a loop such as `foreach ($items as $key => $item)`."""
    body = node.child_by_field_name("body")
    parts = [child for child in node.named_children if child != body and child.type != "comment"]
    if len(parts) != 2:
        return
    value, target = parts
    if target.type == "pair" and target.named_child_count:
        target = target.named_children[-1]
    path = (*declarations.node_text.path(value), ELEMENT) if target.type == "variable_name" else UNKNOWN_PATH
    for leaf in declarations.pattern_names(target):
        documented = declarations.documentation.comment_above(node.start_byte).variables.get(
            declarations.node_text.text(leaf), UNKNOWN
        )
        yield Binding(leaf, (TYPE_SIGN + documented,) if documented != UNKNOWN else path)


def _narrow_variables(
    declarations: Declarations, node: tree_sitter.Node
) -> tuple[tree_sitter.Node | None, list[Binding], list[Binding]]:
    """Return the guarded node, the variables narrowed inside it, and the variables narrowed after the statement.

    A variable is narrowed if a condition restricts its type. Variables are narrowed after the statement if it is a
    guard such as `if (!$x instanceof Foo) return;`.
    """
    if node.type == "binary_expression":
        left, operator = node.child_by_field_name("left"), node.child_by_field_name("operator")
        is_both = left is not None and operator is not None and operator.type in ("&&", "and")
        inside = _instance_bindings(declarations, left, is_negated=False) if is_both else []
        return node.child_by_field_name("right"), inside, []
    condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
    inside = _instance_bindings(declarations, condition, is_negated=False)
    is_guard = node.type == "if_statement" and node.child_by_field_name("alternative") is None and _leaves_block(body)
    return body, inside, _instance_bindings(declarations, condition, is_negated=True) if is_guard else []


def _instance_bindings(
    declarations: Declarations, condition: tree_sitter.Node | None, *, is_negated: bool
) -> list[Binding]:
    """Return the variables whose class is known if a condition is true or, with `is_negated`, if it is false."""
    found: list[Binding] = []
    pending = [condition]
    for _ in range(_MAX_CONDITIONS):
        node = pending.pop() if pending else None
        if node is None:
            break
        operator = node.child_by_field_name("operator")
        sign = operator.type if operator is not None else ""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if node.type == "parenthesized_expression":
            pending.append(first_child(node))
        elif sign in (("||", "or") if is_negated else ("&&", "and")):
            pending += [right, left]
        elif is_negated and sign == "!":
            found += _instance_bindings(declarations, node.child_by_field_name("argument"), is_negated=False)[:1]
        elif not is_negated and sign == "instanceof" and left is not None and left.type == "variable_name":
            found.append(Binding(left, (TYPE_SIGN + declarations.node_text.type_text(right),)))
    return found


def _leaves_block(body: tree_sitter.Node | None) -> bool:
    """Whether a block ends with `return`, `throw`, `continue` or `break`."""
    last = body.named_children[-1] if body is not None and body.named_child_count else None
    if body is not None and body.type in _EXIT_NODE_TYPES:
        return True
    if last is not None and last.type == "expression_statement":
        last = first_child(last)
    return last is not None and last.type in _EXIT_NODE_TYPES


def _read_comment(reader: FactCollector, node: tree_sitter.Node) -> None:
    """Record the names in a PHPDoc comment as uses.

    Inside a function, also bind the variable that `@var Foo $x` declares.
    """
    text, first = reader.node_text.text(node), node.start_point[0] + 1
    if not text.startswith("/**"):
        return
    found = reader.documentation.read(text)
    for each in found.names:
        line = first + each.line
        receiver, name = split_qualified_name(each.name)
        source = reader.spans.key_at(line)
        if each.member:
            through = (TYPE_SIGN + ".".join((*(receiver or ()), name)),)
            reader.uses.append(Occurrence(line, source, each.member, "read", through))
        else:
            reader.uses.append(Occurrence(line, source, name, DOCUMENTED, receiver))
    if reader.spans.is_in_function(first) and reader.environment.depth:
        for name, documented in found.variables.items():
            if name and documented != UNKNOWN:
                reader.environment.bind(name, (TYPE_SIGN + documented,))


def _record_documented_members(reader: FactCollector, node: tree_sitter.Node) -> None:
    """Record the members that `@property` and `@method` tags declare for a PHP class."""
    name = node.child_by_field_name("name")
    found = reader.documentation.enter_class(node.start_byte)
    owner = reader.spans.type_at(name.start_point[0] + 1) if name is not None else ""
    if owner and (found.properties or found.methods):
        types = reader.scope(owner).types
        types |= {each: (TYPE_SIGN + documented,) for each, documented in found.properties.items()}
        types |= {f"{each}()": (TYPE_SIGN + documented,) for each, documented in found.methods.items()}


def _read_function(reader: FactCollector, node: tree_sitter.Node) -> None:
    """Record the documented return type of a PHP function, and which of its statements are unconditional."""
    documented = reader.documentation.enter_function(node.start_byte).returns
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    if body is not None and body.type == "compound_statement":
        reader.unconditional.update(statement.start_byte for statement in body.named_children)
    if name is not None and documented != UNKNOWN:
        scope = reader.scope(reader.spans.key_at(name.start_point[0] + 1))
        scope.returns = more_specific_type(scope.returns, documented)


def _record_callable_array(reader: FactCollector, node: tree_sitter.Node) -> None:
    """Record PHP's callable arrays `[$this, 'name']` and `[Foo::class, 'name']` as uses of a method."""
    values = [first_child(each) for each in node.named_children[:3] if each.named_child_count == 1]
    owner, quoted = values if len(values) == node.named_child_count == 2 else (None, None)
    name = first_child(quoted) if quoted is not None and quoted.type in _STRING_NODE_TYPES else None
    if owner is None or name is None or not reader.node_text.text(name).isidentifier():
        return
    path = reader.node_text.path(owner)
    if owner.type == "class_constant_access_expression" and path[-1] == "class":
        path = path[:-1]
    elif reader.node_text.text(owner) == "__CLASS__":
        path = ("self",)
    elif path != ("$this",):
        return
    line = name.start_point[0] + 1
    reader.uses.append(Occurrence(line, reader.spans.key_at(line), reader.node_text.text(name), CALLABLE, path))


def _path_after_assignment(
    reader: FactCollector, node: tree_sitter.Node, binding: Binding, before: AccessPath
) -> AccessPath | None:
    """Return the new access path of a PHP variable that is assigned again, or None if the path does not change.

    After a conditional assignment, the value is unknown unless the new value is derived from the old one.
    """
    value = node.child_by_field_name("right")
    if value is None or value.type == "null" or binding.path == before:
        return None
    if node.start_byte in reader.unconditional:
        return binding.path
    return None if binding.path[: len(before)] == before else UNKNOWN_PATH


def _assign_property(reader: FactCollector, node: tree_sitter.Node) -> None:
    """Record the value of an undeclared PHP property (`$this->store = $store`) if all assigned values are equal."""
    target, value = node.child_by_field_name("left"), node.child_by_field_name("right")
    owner = reader.spans.type_at(node.start_point[0] + 1)
    if target is None or value is None or not owner or target.type != "member_access_expression":
        return
    path = reader.node_text.path(target)
    if len(path) != 2 or path[0] != "$this" or value.type == "null":
        return
    property_key = (owner, path[1])
    held = reader.node_text.path(value)
    before = reader.assigned.setdefault(property_key, held)
    if before != held or UNKNOWN in held[0]:
        reader.assigned[property_key] = UNKNOWN_PATH


PHP = LanguageTraits(
    name="php",
    name_nodes=node_types("name"),
    member_nodes={
        "member_call_expression": ("object", "name"),
        "nullsafe_member_call_expression": ("object", "name"),
        "scoped_call_expression": ("scope", "name"),
        "member_access_expression": ("object", "name"),
        "class_constant_access_expression": ("", ""),
        "qualified_name": ("prefix", ""),
    },
    call_nodes={
        "function_call_expression": "function",
        "member_call_expression": "name",
        "nullsafe_member_call_expression": "name",
        "scoped_call_expression": "name",
    },
    creation_nodes=node_types("object_creation_expression"),
    base_nodes=node_types("base_clause class_interface_clause use_declaration"),
    type_nodes=node_types("named_type optional_type union_type"),
    decorator_nodes=node_types("attribute"),
    local_declaration_nodes=node_types(
        "simple_parameter variadic_parameter property_promotion_parameter assignment_expression catch_clause "
        "foreach_statement"
    ),
    scope_nodes=node_types(
        "function_definition method_declaration anonymous_function anonymous_function_creation_expression "
        "arrow_function catch_clause foreach_statement"
    ),
    has_function_names=True,
    field_declaration_nodes=node_types("property_declaration property_promotion_parameter"),
    function_nodes=node_types("function_definition method_declaration"),
    import_nodes=node_types("namespace_use_declaration"),
    package_nodes=node_types("namespace_definition"),
    skipped_nodes=node_types(TEXT_NODE_TYPES + " encapsed_string heredoc nowdoc"),
    receivers=frozenset({"$this", "this", "self", "static", "parent"}),
    has_implicit_receiver=False,
    read_imports=_read_imports,
    bindings=_bindings,
    readers={
        **dict.fromkeys(_TYPE_NODE_TYPES, _record_documented_members),
        **dict.fromkeys(_FUNCTION_NODE_TYPES, _read_function),
        "assignment_expression": _assign_property,
        "array_creation_expression": _record_callable_array,
    },
    read_comment=_read_comment,
    guard_nodes=_GUARD_NODE_TYPES,
    narrow_variables=_narrow_variables,
    path_after_assignment=_path_after_assignment,
    has_documented_types=True,
    has_relative_namespaces=True,
    has_modifiers=True,
)
