"""Lower expressions of the syntax tree to the intermediate form. Statements and scopes are `statements`' part."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from deltos.domains.graph.python import nodes
from deltos.domains.graph.python.nodes import last_name
from deltos.domains.graph.python.source import Kinds, Source, kinds_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import tree_sitter

    from deltos.domains.graph.python.nodes import Expression, Expressions, Keywords, Name, Parameter, Parameters

DEEPEST_EXPRESSION = 60
"""Deeper nesting is generated code: its names are still read, its structure is not."""

OPERATOR_METHODS = {
    "+": "__add__", "-": "__sub__", "*": "__mul__", "/": "__truediv__", "//": "__floordiv__", "%": "__mod__",
    "**": "__pow__", "@": "__matmul__", "&": "__and__", "|": "__or__", "^": "__xor__", "<<": "__lshift__",
    ">>": "__rshift__",
}  # fmt: skip


class ExpressionLowering:
    """Lowers the expressions of one file."""

    def __init__(self, source: Source, language: tree_sitter.Language) -> None:
        self.source = source
        self.kinds: Kinds = kinds_of(language)
        self._language = language
        self._handlers = _handlers(language)
        self._depth = 0
        self._quoting = False

    def expression(self, node: tree_sitter.Node) -> Expression:
        """One expression; None when nothing in it can name a definition."""
        if self._depth >= DEEPEST_EXPRESSION:
            return self._flattened(node)
        self._depth += 1
        lowered = self._handlers.get(node.kind_id, ExpressionLowering._many)(self, node)
        self._depth -= 1
        return lowered

    def annotation(self, node: tree_sitter.Node) -> Expression:
        """A type annotation: like an expression, but strings in it are code."""
        if self._depth >= DEEPEST_EXPRESSION:
            return self._flattened(node)
        self._depth += 1
        lowered = self._annotation(node)
        self._depth -= 1
        return lowered

    def _annotation(self, node: tree_sitter.Node) -> Expression:
        if node.kind_id == self.kinds.type:
            return self._annotation(node.children[0])
        text = self._string_text(node)
        if text is not None:
            return self._parsed_annotation(text, self.source.line(node))
        if node.type == "generic_type":
            return self._generic_type(node)
        if node.type == "union_type":
            first, *rest = [self.annotation(child) for child in (node.children[0], node.children[-1])]
            return nodes.Operation("__or__", first, tuple(rest))
        if node.type in _ANNOTATION_CONTAINERS:
            return self._annotation_container(node)
        return self.expression(node)

    def parts(self, node: tree_sitter.Node) -> list[tree_sitter.Node]:
        """The named children of a node, without comments and line continuations."""
        extras = self.kinds.extras
        return [child for child in node.named_children if child.kind_id not in extras]

    def on_walrus(self, target: Name, value: Expression) -> None:
        """Told about every `name := value`; scopes bind it."""

    def on_yield(self, value: nodes.Yield | nodes.YieldFrom) -> None:
        """Told about every yield; scopes make a generator of it."""

    def many(self, expressions: Iterable[Expression]) -> Expression:
        """Expressions that are evaluated for their names alone."""
        kept = tuple([expression for expression in expressions if expression is not None])
        if not kept:
            return None
        return kept[0] if len(kept) == 1 and type(kept[0]) is nodes.Several else nodes.Several(kept)

    def parameters(self, node: tree_sitter.Node) -> Parameters:
        """The parameters of a function or lambda."""
        found: list[Parameter] = []
        kind = nodes.POSITIONAL
        for child in node.children:
            match child.type:
                case "keyword_separator" | "*":
                    kind = nodes.KEYWORD_ONLY
                case "(" | ")" | "," | "comment" | "line_continuation" | "positional_separator" | "/" | "ERROR":
                    continue
                case _:
                    parameter = self._parameter(child, kind)
                    found.append(parameter)
                    if parameter.kind == nodes.VARIADIC:
                        kind = nodes.KEYWORD_ONLY
        return tuple(found)

    def _parameter(self, node: tree_sitter.Node, kind: int) -> Parameter:
        stated, given = node.child_by_field_name("type"), node.child_by_field_name("value")
        annotation = self.annotation(stated) if stated is not None else None
        default = self.expression(given) if given is not None else None
        return nodes.Parameter(self._parameter_name(node), _splat_kind(node, kind), annotation, default)

    def _parameter_name(self, node: tree_sitter.Node) -> str:
        while node.kind_id != self.kinds.identifier and node.named_child_count:
            node = node.named_children[0]
        return self.source.name(node)

    # --- one method per kind of expression

    def _name(self, node: tree_sitter.Node) -> Name:
        return nodes.Name(self.source.line(node), self.source.name(node))

    def _attribute(self, node: tree_sitter.Node) -> Expression:
        children = node.children
        last = children[-1]
        return nodes.Attribute(self.source.line(last), self.expression(children[0]), self.source.name(last))

    def _call(self, node: tree_sitter.Node) -> Expression:
        children = node.children
        function = self.expression(children[0])
        quoting, self._quoting = self._quoting, last_name(function) in _TAKE_QUOTED_TYPES
        arguments, keywords = self.arguments(children[-1])
        self._quoting = quoting
        return nodes.Call(function, arguments, keywords)

    def arguments(self, node: tree_sitter.Node) -> tuple[Expressions, Keywords]:
        """Positional and keyword arguments of a call or class statement."""
        kinds = self.kinds
        if node.kind_id != kinds.argument_list:
            return (self.expression(node),), ()
        positional: list[Expression] = []
        keywords: list[tuple[str, Expression]] = []
        for child in self.parts(node):
            kind = child.kind_id
            if kind == kinds.keyword_argument:
                parts = child.children
                keywords.append((self.source.name(parts[0]), self.expression(parts[-1])))
            elif kind == kinds.dictionary_splat:
                keywords.append(("", self.expression(child.children[-1])))
            else:
                positional.append(self.expression(child))
        return tuple(positional), tuple(keywords)

    def _subscript(self, node: tree_sitter.Node) -> Expression:
        value, *indices = self.parts(node)
        base = self.expression(value)
        quoting, self._quoting = self._quoting, True
        items = [self.expression(index) for index in indices]
        self._quoting = quoting
        return nodes.Index(base, _one_or_tuple(items))

    def _items(self, node: tree_sitter.Node) -> Expressions:
        return tuple([self.expression(child) for child in self.parts(node)])

    def _tuple(self, node: tree_sitter.Node) -> Expression:
        return nodes.TupleDisplay(self._items(node))

    def _list(self, node: tree_sitter.Node) -> Expression:
        return nodes.ListDisplay(self._items(node))

    def _set(self, node: tree_sitter.Node) -> Expression:
        return nodes.SetDisplay(self._items(node))

    def _dictionary(self, node: tree_sitter.Node) -> Expression:
        keys: list[Expression] = []
        values: list[Expression] = []
        for child in node.named_children:
            if child.kind_id == self.kinds.pair:
                parts = child.children
                keys.append(self.expression(parts[0]))
                values.append(self.expression(parts[-1]))
            elif child.kind_id == self.kinds.dictionary_splat:
                keys.append(None)
                values.append(nodes.Starred(self.expression(child.children[-1])))
        return nodes.DictDisplay(tuple(keys), tuple(values))

    def _comprehension(self, node: tree_sitter.Node) -> Expression:
        shape = node.type.partition("_")[0]
        element = value = None
        clauses: list[nodes.Clause] = []
        for child in self.parts(node):
            kind = child.kind_id
            if kind == self.kinds.for_in_clause:
                clauses.append(self._for_clause(child))
            elif kind == self.kinds.if_clause and clauses:
                clauses.append(_tested(clauses.pop(), self.expression(child.children[-1])))
            elif kind == self.kinds.pair:
                element, value = self.expression(child.children[0]), self.expression(child.children[-1])
            else:
                element = self.expression(child)
        shape = "dict" if shape == "dictionary" else shape
        return nodes.Comprehension(shape, tuple(clauses), element, value)

    def _for_clause(self, node: tree_sitter.Node) -> nodes.Clause:
        parts = self.parts(node)
        is_async = node.children[0].type == "async"
        return nodes.Clause(self.expression(parts[0]), self.expression(parts[-1]), (), is_async)

    def _boolean(self, node: tree_sitter.Node) -> Expression:
        operator = _operator(node)
        operands = tuple([self.expression(operand) for operand in self._spine(node, operator)])
        return nodes.Or(operands) if operator == "or" else nodes.And(operands)

    def _binary(self, node: tree_sitter.Node) -> Expression:
        operator = _operator(node)
        first, *rest = [self.expression(operand) for operand in self._spine(node, operator)]
        if first is None and not any(rest):
            return None
        return nodes.Operation(OPERATOR_METHODS.get(operator, ""), first, tuple(rest))

    def _spine(self, node: tree_sitter.Node, operator: str) -> list[tree_sitter.Node]:
        """The operands of `a + b + c`, without recursing into the left-leaning tree of long chains."""
        kind = node.kind_id
        operands: list[tree_sitter.Node] = []
        while node.kind_id == kind and _operator(node) == operator:
            operands.append(node.children[-1])
            node = node.children[0]
        return [node, *reversed(operands)]

    def _choice(self, node: tree_sitter.Node) -> Expression:
        parts = self.parts(node)
        if len(parts) != 3:
            return self._many(node)
        then, test, otherwise = parts
        return nodes.Conditional(self.expression(test), self.expression(then), self.expression(otherwise))

    def _not(self, node: tree_sitter.Node) -> Expression:
        return nodes.Not(self.expression(node.children[-1]))

    def _await(self, node: tree_sitter.Node) -> Expression:
        return nodes.Await(self.expression(node.children[-1]))

    def _yield(self, node: tree_sitter.Node) -> Expression:
        children = node.children
        value = self.expression(children[-1]) if len(children) > 1 else None
        lowered = (nodes.YieldFrom if any(child.type == "from" for child in children) else nodes.Yield)(value)
        self.on_yield(lowered)
        return lowered

    def _lambda(self, node: tree_sitter.Node) -> Expression:
        parameters: Parameters = ()
        for child in node.named_children:
            if child.type == "lambda_parameters":
                parameters = self.parameters(child)
        return nodes.Lambda(parameters, self.expression(node.children[-1]))

    def _walrus(self, node: tree_sitter.Node) -> Expression:
        target, value = node.children[0], self.expression(node.children[-1])
        name = self._name(target)
        self.on_walrus(name, value)
        return nodes.Walrus(name.line, name.name, value)

    def _star(self, node: tree_sitter.Node) -> Expression:
        return nodes.Starred(self.expression(node.children[-1]))

    def _inner(self, node: tree_sitter.Node) -> Expression:
        parts = self.parts(node)
        return self.expression(parts[0]) if parts else None

    def _string(self, node: tree_sitter.Node) -> Expression:
        children = node.children
        if len(children) <= 3 and (len(children) < 2 or children[1].kind_id != self.kinds.interpolation):
            return self._quoted(node) if self._quoting else None
        interpolation = self.kinds.interpolation
        return self.many([self._many(child) for child in children if child.kind_id == interpolation])

    def _slice(self, node: tree_sitter.Node) -> Expression:
        return nodes.Slice(self._items(node))

    def _nothing(self, _node: tree_sitter.Node) -> Expression:
        return None

    def _many(self, node: tree_sitter.Node) -> Expression:
        return self.many([self.expression(child) for child in node.named_children])

    def _flattened(self, node: tree_sitter.Node) -> Expression:
        """All plain names under a node, found without recursion; attributes of unknown values are left out."""
        found: list[Expression] = []
        pending = [node]
        while pending:
            current = pending.pop()
            if current.kind_id == self.kinds.identifier:
                found.append(self._name(current))
            elif current.type == "attribute":
                pending.append(current.children[0])
            elif current.kind_id == self.kinds.keyword_argument:
                pending.append(current.children[-1])
            else:
                pending.extend(reversed(current.named_children))
        return self.many(found)

    # --- annotations

    def _generic_type(self, node: tree_sitter.Node) -> Expression:
        base, *rest = self.parts(node)
        items = [self.annotation(child) for part in rest for child in self.parts(part)]
        return nodes.Index(self.expression(base), _one_or_tuple(items))

    def _annotation_container(self, node: tree_sitter.Node) -> Expression:
        """A subscript, list or union written as an expression; its parts are annotations as well."""
        parts = [self.annotation(child) for child in self.parts(node)]
        if not parts:
            return None
        match node.type:
            case "subscript":
                return nodes.Index(parts[0], _one_or_tuple(parts[1:]))
            case "binary_operator":
                return nodes.Operation("__or__", parts[0], tuple(parts[1:]))
            case "list":
                return nodes.ListDisplay(tuple(parts))
            case "parenthesized_expression":
                return parts[0]
            case _:
                return nodes.TupleDisplay(tuple(parts))

    def _string_text(self, node: tree_sitter.Node) -> str | None:
        """The content of a plain string literal; None for anything else."""
        if node.kind_id != self.kinds.string:
            return None
        children = node.children
        if len(children) != 3 or children[1].kind_id != self.kinds.string_content:
            return None
        return self.source.string(children[1])

    def _quoted(self, node: tree_sitter.Node) -> Expression:
        """A string where a type may be quoted: `Union["Node", "Leaf"]`, `cast("Node", value)`."""
        text = self._string_text(node)
        if text is None or not _LOOKS_LIKE_TYPE(text):
            return None
        line = self.source.line(node)
        parsed = nodes.Name(line, text) if text.isidentifier() else self._parsed_annotation(text, line)
        return None if parsed is None else nodes.QuotedType(parsed)

    def _parsed_annotation(self, text: str, line: int) -> Expression:
        import tree_sitter  # deferred: only files with quoted annotations need a second parse

        data = text.strip().encode()
        tree = tree_sitter.Parser(self._language).parse(data)
        statement = tree.root_node.named_children[:1]
        if not statement or statement[0].kind_id != self.kinds.expression_statement or tree.root_node.has_error:
            return None
        nested = ExpressionLowering(Source(data), self._language)
        return nodes.on_line(nested.annotation(statement[0].children[0]), line)


_TAKE_QUOTED_TYPES = frozenset({"TypeVar", "cast", "NewType"})
_LOOKS_LIKE_TYPE = re.compile(r"[A-Za-z_][\w.]*(\[[\w.,\[\]| ]*\])?$").match
_ANNOTATION_CONTAINERS = frozenset({"subscript", "binary_operator", "list", "tuple", "parenthesized_expression"})


def _one_or_tuple(items: list[Expression]) -> Expression:
    return items[0] if len(items) == 1 else nodes.TupleDisplay(tuple(items))


def _tested(clause: nodes.Clause, test: Expression) -> nodes.Clause:
    return nodes.Clause(clause.target, clause.iterable, (*clause.tests, test), clause.is_async)


def _operator(node: tree_sitter.Node) -> str:
    """The operator between two operands; a comment or a line break may stand before it."""
    return next((child.type for child in node.children if not child.is_named), "")


def _splat_kind(node: tree_sitter.Node, kind: int) -> int:
    """A parameter's kind, from the stars before it."""
    first = node.named_children[0].type if node.type == "typed_parameter" else node.type
    if first == "list_splat_pattern":
        return nodes.VARIADIC
    return nodes.KEYWORDS if first == "dictionary_splat_pattern" else kind


_BY_KIND: dict[str, str] = {
    "identifier": "_name",
    "attribute": "_attribute",
    "call": "_call",
    "subscript": "_subscript",
    "tuple": "_tuple",
    "expression_list": "_tuple",
    "pattern_list": "_tuple",
    "tuple_pattern": "_tuple",
    "list_pattern": "_tuple",
    "list": "_list",
    "set": "_set",
    "dictionary": "_dictionary",
    "list_comprehension": "_comprehension",
    "set_comprehension": "_comprehension",
    "dictionary_comprehension": "_comprehension",
    "generator_expression": "_comprehension",
    "boolean_operator": "_boolean",
    "binary_operator": "_binary",
    "conditional_expression": "_choice",
    "not_operator": "_not",
    "await": "_await",
    "yield": "_yield",
    "lambda": "_lambda",
    "named_expression": "_walrus",
    "list_splat": "_star",
    "list_splat_pattern": "_star",
    "parenthesized_expression": "_inner",
    "as_pattern_target": "_inner",
    "string": "_string",
    "slice": "_slice",
    "integer": "_nothing",
    "float": "_nothing",
    "none": "_nothing",
    "true": "_nothing",
    "false": "_nothing",
    "ellipsis": "_nothing",
    "comment": "_nothing",
    "type": "annotation",
}


@cache
def _handlers(
    language: tree_sitter.Language,
) -> dict[int, Callable[[ExpressionLowering, tree_sitter.Node], Expression]]:
    kinds = kinds_of(language)
    return {kinds.number(kind): getattr(ExpressionLowering, method) for kind, method in _BY_KIND.items()}
