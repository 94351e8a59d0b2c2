"""Lower a syntax tree to nodes in one pass that also collects the symbols and interfaces of the file."""

from __future__ import annotations

import builtins
import re
from functools import cache
from typing import TYPE_CHECKING, ClassVar, TypeVar

from deltos.domains.graph.kernel.resolver import FileFacts
from deltos.domains.graph.python import nodes
from deltos.domains.graph.python.fixtures import NAMING_FIXTURES, takes_fixtures
from deltos.domains.graph.python.nodes import last_name
from deltos.domains.graph.python.scopes import OpenScope, class_interface, frozen_bindings, function_interface
from deltos.domains.graph.python.source import SourceText, first_docstring_paragraph, kinds_of, signature_of
from deltos.domains.graph.python.unparsed import unparsed_names
from deltos.store.symbols import Symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import tree_sitter

    from deltos.domains.graph.python.nodes import Block, Expression, Expressions, Name, Parameters, Statement

    LowerExpression = Callable[["Lowering", tree_sitter.Node], Expression]
    LowerStatement = Callable[["Lowering", tree_sitter.Node, list[Statement]], None]

MAX_EXPRESSION_DEPTH = 60
"""Maximum nesting of expressions; deeper expressions are generated code, from which only names are read."""
MAX_BLOCK_DEPTH = 60
"""Maximum nesting of blocks; deeper blocks are generated code and are skipped."""

_OPERATOR_METHODS = {
    "+": "__add__", "-": "__sub__", "*": "__mul__", "/": "__truediv__", "//": "__floordiv__", "%": "__mod__",
    "**": "__pow__", "@": "__matmul__", "&": "__and__", "|": "__or__", "^": "__xor__", "<<": "__lshift__",
    ">>": "__rshift__",
}  # fmt: skip
_FUNCTIONS_TAKING_QUOTED_TYPES = frozenset({"TypeVar", "cast", "NewType"})
_match_quoted_type = re.compile(r"[A-Za-z_][\w.]*(\[[\w.,\[\]| ]*\])?$").match
_ANNOTATION_CONTAINERS = frozenset({"subscript", "binary_operator", "list", "tuple", "parenthesized_expression"})
_BUILTINS = frozenset(dir(builtins))


def extract(data: bytes, tree: tree_sitter.Tree) -> FileFacts:
    """Return the symbols, interface and body of a file, including all code that can be parsed despite syntax errors."""
    lowering = Lowering(SourceText(data), tree.language)
    body = lowering.lower_module(tree.root_node)
    interface = nodes.ModuleInterface(
        frozen_bindings(lowering.module.bindings),
        lowering.classes,
        lowering.functions,
        tuple(lowering.stars),
        None if lowering.exported is None else tuple(lowering.exported),
    )
    unparsed = unparsed_names(tree.root_node, lowering.source, lowering.kinds, lowering.symbols)
    whole = nodes.ModuleBody(body, unparsed)
    return FileFacts(tuple(lowering.symbols), interface, whole, tuple(_interface_parts(lowering, interface)))


def _interface_parts(lowering: Lowering, interface: nodes.ModuleInterface) -> Iterator[tuple[str, object]]:
    """Yield the parts of an interface by top-level name; the part `*` contains what affects all names."""
    pieces: dict[str, list[object]] = {name: [found] for name, found in interface.bindings.items()}
    for key, piece in (*interface.classes.items(), *interface.functions.items()):
        pieces.setdefault(key.partition(".")[0].partition("#")[0], []).append((key, piece))
    yield from pieces.items()
    # A new name that shadows a builtin affects files that use the builtin and never looked up the name here.
    yield "*", (interface.stars, interface.exported, sorted(_BUILTINS & lowering.module.bindings.keys()))


class Lowering:
    """Lowers one file and collects its symbols and the interfaces of its classes and functions."""

    def __init__(self, source: SourceText, language: tree_sitter.Language) -> None:
        self.source = source
        self.kinds = kinds_of(language)
        self.module = OpenScope("module", "")
        self.symbols: list[Symbol] = []
        self.classes: dict[str, nodes.ClassInterface] = {}
        self.functions: dict[str, nodes.FunctionInterface] = {}
        self.stars: list[tuple[str, int]] = []
        self.exported: list[str] | None = None
        self._language = language
        self._expressions = _expressions(language)
        self._statements = _statements(language)
        self._scope = self.module
        self._keys: dict[str, int] = {}
        self._depth = 0
        self._nesting = 0
        self._quoting = False

    def lower_module(self, root: tree_sitter.Node) -> Block:
        """Return the lowered body of the entire file."""
        body = self._block(root)
        self._variable_symbols(self.module, self.module.bindings, self.module.lines)
        return body

    def expression(self, node: tree_sitter.Node) -> Expression:
        """Return a lowered expression, or None if it cannot refer to a definition."""
        if self._depth >= MAX_EXPRESSION_DEPTH:
            return self._lower_names_only(node)
        self._depth += 1
        lowered = self._expressions.get(node.kind_id, Lowering._many)(self, node)
        self._depth -= 1
        return lowered

    def annotation(self, node: tree_sitter.Node) -> Expression:
        """Return a lowered type annotation, in which strings are parsed as code."""
        if self._depth >= MAX_EXPRESSION_DEPTH:
            return self._lower_names_only(node)
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
            return nodes.OperatorExpression("__or__", first, tuple(rest))
        if node.type in _ANNOTATION_CONTAINERS:
            return self._annotation_container(node)
        return self.expression(node)

    def parts(self, node: tree_sitter.Node) -> list[tree_sitter.Node]:
        """Return the named children of a node, without comments and line continuations."""
        extras = self.kinds.extras
        return [child for child in node.named_children if child.kind_id not in extras]

    def many(self, expressions: Iterable[Expression]) -> Expression:
        """Combine expressions that are evaluated only for their names."""
        kept = tuple([expression for expression in expressions if expression is not None])
        if not kept:
            return None
        return kept[0] if len(kept) == 1 and type(kept[0]) is nodes.NamesOnly else nodes.NamesOnly(kept)

    def parameters(self, node: tree_sitter.Node) -> Parameters:
        """Return the parameters of a function or lambda."""
        found: list[nodes.ParameterNode] = []
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

    def _parameter(self, node: tree_sitter.Node, kind: int) -> nodes.ParameterNode:
        stated, given = node.child_by_field_name("type"), node.child_by_field_name("value")
        annotation = self.annotation(stated) if stated is not None else None
        default = self.expression(given) if given is not None else None
        return nodes.ParameterNode(self._parameter_name(node), _splat_kind(node, kind), annotation, default)

    def _parameter_name(self, node: tree_sitter.Node) -> str:
        while node.kind_id != self.kinds.identifier and node.named_child_count:
            node = node.named_children[0]
        return self.source.name(node)

    # --- one method per kind of expression

    def _lower_name(self, node: tree_sitter.Node) -> Name:
        return nodes.Name(self.source.line(node), self.source.name(node))

    def _lower_attribute(self, node: tree_sitter.Node) -> Expression:
        children = node.children
        last = children[-1]
        return nodes.Attribute(self.source.line(last), self.expression(children[0]), self.source.name(last))

    def _lower_call(self, node: tree_sitter.Node) -> Expression:
        children = node.children
        function = self.expression(children[0])
        quoting, self._quoting = self._quoting, last_name(function) in _FUNCTIONS_TAKING_QUOTED_TYPES
        arguments, keywords = self.arguments(children[-1])
        self._quoting = quoting
        if last_name(function) in NAMING_FIXTURES and children[-1].kind_id == self.kinds.argument_list:
            arguments = (*arguments, *self._fixture_names(children[-1]))
        return nodes.CallExpression(function, arguments, keywords)

    def _fixture_names(self, node: tree_sitter.Node) -> Expressions:
        """Return the plain string arguments as fixture names."""
        texts = [(self.source.line(child), self._string_text(child)) for child in self.parts(node)]
        return tuple([nodes.FixtureName(line, text) for line, text in texts if text and text.isidentifier()])

    def fixtures(self, node: tree_sitter.Node) -> Expressions:
        """Return the parameters without a default as fixture names."""
        found = [child for child in self.parts(node) if child.child_by_field_name("value") is None]
        return tuple([nodes.FixtureName(self.source.line(child), self._parameter_name(child)) for child in found])

    def arguments(self, node: tree_sitter.Node) -> tuple[Expressions, nodes.Keywords]:
        """Return the positional and keyword arguments of a call or class statement."""
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

    def _lower_subscript(self, node: tree_sitter.Node) -> Expression:
        value, *indices = self.parts(node)
        base = self.expression(value)
        quoting, self._quoting = self._quoting, True
        items = [self.expression(index) for index in indices]
        self._quoting = quoting
        return nodes.Subscript(base, _one_or_tuple(items))

    def _items(self, node: tree_sitter.Node) -> Expressions:
        return tuple([self.expression(child) for child in self.parts(node)])

    def _lower_tuple(self, node: tree_sitter.Node) -> Expression:
        return nodes.TupleDisplay(self._items(node))

    def _lower_list(self, node: tree_sitter.Node) -> Expression:
        return nodes.ListDisplay(self._items(node))

    def _lower_set(self, node: tree_sitter.Node) -> Expression:
        return nodes.SetDisplay(self._items(node))

    def _lower_dictionary(self, node: tree_sitter.Node) -> Expression:
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

    def _lower_comprehension(self, node: tree_sitter.Node) -> Expression:
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

    def _lower_boolean(self, node: tree_sitter.Node) -> Expression:
        operator = _operator(node)
        operands = tuple([self.expression(operand) for operand in self._chain_operands(node, operator)])
        return nodes.Or(operands) if operator == "or" else nodes.And(operands)

    def _lower_binary(self, node: tree_sitter.Node) -> Expression:
        operator = _operator(node)
        first, *rest = [self.expression(operand) for operand in self._chain_operands(node, operator)]
        if first is None and not any(rest):
            return None
        return nodes.OperatorExpression(_OPERATOR_METHODS.get(operator, ""), first, tuple(rest))

    def _chain_operands(self, node: tree_sitter.Node, operator: str) -> list[tree_sitter.Node]:
        """Return the operands of `a + b + c` without recursion, because long chains are deep trees."""
        kind = node.kind_id
        operands: list[tree_sitter.Node] = []
        while node.kind_id == kind and _operator(node) == operator:
            operands.append(node.children[-1])
            node = node.children[0]
        return [node, *reversed(operands)]

    def _lower_choice(self, node: tree_sitter.Node) -> Expression:
        parts = self.parts(node)
        if len(parts) != 3:
            return self._many(node)
        then, test, otherwise = parts
        return nodes.Conditional(self.expression(test), self.expression(then), self.expression(otherwise))

    def _lower_not(self, node: tree_sitter.Node) -> Expression:
        return nodes.Not(self.expression(node.children[-1]))

    def _lower_await(self, node: tree_sitter.Node) -> Expression:
        return nodes.Await(self.expression(node.children[-1]))

    def _lower_yield(self, node: tree_sitter.Node) -> Expression:
        children = node.children
        value = self.expression(children[-1]) if len(children) > 1 else None
        lowered = (nodes.YieldFrom if any(child.type == "from" for child in children) else nodes.Yield)(value)
        self._scope.yields.append(lowered)
        return lowered

    def _lower_lambda(self, node: tree_sitter.Node) -> Expression:
        parameters: Parameters = ()
        for child in node.named_children:
            if child.type == "lambda_parameters":
                parameters = self.parameters(child)
        return nodes.Lambda(parameters, self.expression(node.children[-1]))

    def _lower_walrus(self, node: tree_sitter.Node) -> Expression:
        target, value = node.children[0], self.expression(node.children[-1])
        name = self._lower_name(target)
        self._scope.assign(name, value)  # a walrus in a comprehension binds its name in the outer scope
        return nodes.Walrus(name.line, name.name, value)

    def _lower_star(self, node: tree_sitter.Node) -> Expression:
        return nodes.Starred(self.expression(node.children[-1]))

    def _lower_single_child(self, node: tree_sitter.Node) -> Expression:
        parts = self.parts(node)
        return self.expression(parts[0]) if parts else None

    def _lower_string(self, node: tree_sitter.Node) -> Expression:
        children = node.children
        if len(children) <= 3 and (len(children) < 2 or children[1].kind_id != self.kinds.interpolation):
            return self._quoted_type(node) if self._quoting else None
        interpolation = self.kinds.interpolation
        return self.many([self._many(child) for child in children if child.kind_id == interpolation])

    def _lower_slice(self, node: tree_sitter.Node) -> Expression:
        return nodes.Slice(self._items(node))

    def _lower_no_names(self, _node: tree_sitter.Node) -> Expression:
        return None

    def _many(self, node: tree_sitter.Node) -> Expression:
        return self.many([self.expression(child) for child in node.named_children])

    def _lower_names_only(self, node: tree_sitter.Node) -> Expression:
        """Return all plain names under a node without recursion; attributes of unknown values are dropped."""
        found: list[Expression] = []
        pending = [node]
        while pending:
            current = pending.pop()
            if current.kind_id == self.kinds.identifier:
                found.append(self._lower_name(current))
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
        return nodes.Subscript(self.expression(base), _one_or_tuple(items))

    def _annotation_container(self, node: tree_sitter.Node) -> Expression:
        """Return a subscript, list or union whose parts are lowered as annotations."""
        parts = [self.annotation(child) for child in self.parts(node)]
        if not parts:
            return None
        match node.type:
            case "subscript":
                return nodes.Subscript(parts[0], _one_or_tuple(parts[1:]))
            case "binary_operator":
                return nodes.OperatorExpression("__or__", parts[0], tuple(parts[1:]))
            case "list":
                return nodes.ListDisplay(tuple(parts))
            case "parenthesized_expression":
                return parts[0]
            case _:
                return nodes.TupleDisplay(tuple(parts))

    def _string_text(self, node: tree_sitter.Node) -> str | None:
        """Return the content of a plain string literal, or None for anything else."""
        if node.kind_id != self.kinds.string:
            return None
        children = node.children
        if len(children) != 3 or children[1].kind_id != self.kinds.string_content:
            return None
        return self.source.string(children[1])

    def _quoted_type(self, node: tree_sitter.Node) -> Expression:
        """Return a string as a type where types may be quoted: `Union["Node", "Leaf"]`, `cast("Node",
        value)`."""
        text = self._string_text(node)
        if text is None or not _match_quoted_type(text):
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
        nested = Lowering(SourceText(data), self._language)
        return nodes.on_line(nested.annotation(statement[0].children[0]), line)

    # --- match patterns

    def pattern(
        self, node: tree_sitter.Node, classes: list[Expression], uses: list[Expression], captures: list[Name]
    ) -> None:
        """Sort the names in a case pattern into classes of the subject, other uses, and captures."""
        pending = [(node, True)]
        while pending:
            current, outer = pending.pop()
            kind = current.kind_id
            parts = self.parts(current)
            if kind == self.kinds.class_pattern:
                (classes if outer else uses).append(self._dotted_expression(parts[0]))
                pending.extend((part, False) for part in parts[1:])
            elif kind == self.kinds.dotted_name and len(parts) > 1:
                uses.append(self._dotted_expression(current))
            elif kind in (self.kinds.dotted_name, self.kinds.identifier):
                captures.append(self._lower_name(current))
            elif kind == self.kinds.keyword_pattern:
                pending.extend((part, False) for part in parts[1:])
            else:
                keeps_subject = current.type in (
                    "case_pattern",
                    "union_pattern",
                    "as_pattern",
                    "parenthesized_expression",
                )
                pending.extend((part, outer and keeps_subject) for part in parts)

    def _dotted_expression(self, node: tree_sitter.Node) -> Expression:
        first, *rest = self.parts(node) or [node]
        value: Expression = self._lower_name(first)
        for part in rest:
            value = nodes.Attribute(self.source.line(part), value, self.source.name(part))
        return value

    # --- blocks

    def _block(self, node: tree_sitter.Node) -> Block:
        if self._nesting >= MAX_BLOCK_DEPTH:
            return ()
        self._nesting += 1
        handlers = self._statements
        lowered: list[Statement] = []
        for child in node.named_children:
            handler = handlers.get(child.kind_id)
            if handler is not None:
                handler(self, child, lowered)
            elif child.type == "ERROR":
                lowered.extend(self._block(child))
        self._nesting -= 1
        return tuple(lowered)

    def _body_of(self, node: tree_sitter.Node) -> Block:
        """Return the statements in a clause's block, or an empty tuple if it has no block."""
        for child in reversed(node.children):
            if child.kind_id == self.kinds.block:
                return self._block(child)
        return ()

    # --- simple statements

    def _lower_expression_statement(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        parts = self.parts(node)
        if not parts:
            return
        first = parts[0]
        if first.kind_id == self.kinds.assignment:
            self._assignment(first, out)
        elif first.kind_id == self.kinds.augmented_assignment:
            self._augmented(first, out)
        else:
            self._evaluate([self.expression(part) for part in parts], out)

    def _evaluate(self, values: list[Expression], out: list[Statement]) -> None:
        value = values[0] if len(values) == 1 else self.many(values)
        if value is not None:
            out.append(nodes.Evaluate(value))

    def _assignment(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        targets: list[Expression] = []
        annotation: tree_sitter.Node | None = None
        value: tree_sitter.Node | None = node
        while value is not None and value.kind_id == self.kinds.assignment:
            annotation = value.child_by_field_name("type") or annotation
            targets.append(self.expression(value.children[0]))
            value = value.child_by_field_name("right")
        if annotation is not None:
            self._declaration(targets[0], annotation, value, out)
            return
        first = targets[0]
        if self._scope is self.module and type(first) is nodes.Name and value is not None:
            self._note_exported(first.name, value, replace=True)
        source = self.expression(value) if value is not None else None
        for target in targets:
            self._scope.assign(target, source)
        out.append(nodes.Assign(tuple(targets), source))

    def _declaration(
        self, target: Expression, annotation: tree_sitter.Node, value: tree_sitter.Node | None, out: list[Statement]
    ) -> None:
        lowered = self.annotation(annotation)
        source = self.expression(value) if value is not None else None
        if nodes.last_name(lowered) == "TypeAlias":
            self._scope.assign(target, source)
            out.append(nodes.Assign((target,), source))
            return
        self._scope.declare(target, lowered, source)
        out.append(nodes.Declare(target, lowered, source))

    def _augmented(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        parts = node.children
        target, value = self.expression(parts[0]), self.expression(parts[-1])
        if self._scope is self.module and type(target) is nodes.Name:
            self._note_exported(target.name, parts[-1], replace=False)
        out.append(nodes.Augment(target, _OPERATOR_METHODS.get(parts[1].type[:-1], ""), value))

    def _note_exported(self, name: str, value: tree_sitter.Node, *, replace: bool) -> None:
        """Record the names in `__all__ = [...]` and `__all__ += [...]`."""
        if name != "__all__":
            return
        strings = [text for child in value.named_children if (text := self._string_text(child)) is not None]
        if replace or self.exported is None:
            self.exported = strings if strings or value.named_child_count == 0 else None
        else:
            self.exported.extend(strings)

    def _lower_return(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        parts = self.parts(node)
        value = self.expression(parts[0]) if parts else None
        self._scope.returns.append(value)
        out.append(nodes.Return(value))

    def _lower_stop(self, _node: tree_sitter.Node, out: list[Statement]) -> None:
        out.append(nodes.LoopJump())

    def _lower_raise(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        out.append(nodes.Raise(tuple([self.expression(part) for part in self.parts(node)])))

    def _lower_assert(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        test, *message = [self.expression(part) for part in self.parts(node)] or [None]
        out.append(nodes.Assert(test, message[0] if message else None))

    def _lower_names_of_other_scope(self, node: tree_sitter.Node, _out: list[Statement]) -> None:
        self._scope.global_names.update(self.source.name(child) for child in self.parts(node))

    def _lower_unknown_statement(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        self._evaluate([self.expression(part) for part in self.parts(node)], out)

    def _lower_type_alias(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        parts = self.parts(node)
        target, source = self.expression(parts[0]), self.annotation(parts[-1])
        if type(target) is nodes.Subscript:
            target = target.value
        self._scope.assign(target, source)
        out.append(nodes.Assign((target,), source))

    # --- imports

    def _lower_import(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        for child in node.named_children:
            if child.kind_id == self.kinds.aliased_import:
                module, alias = self._dotted(child.children[0]), self.source.name(child.children[-1])
                self._scope.bind(alias, nodes.BoundModule(module), self.source.line(child))
            elif child.kind_id == self.kinds.dotted_name:
                module, alias = self._dotted(child), ""
                top = module.partition(".")[0]
                self._scope.bind(top, nodes.BoundModule(top), self.source.line(child))
            else:
                continue
            out.append(nodes.ImportModule(self.source.line(child), module, alias))

    def _lower_from_import(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        origin, *children = self.parts(node)
        module, level = self._origin(origin)
        names: list[nodes.FromImportName] = []
        for child in children:
            if child.kind_id == self.kinds.wildcard_import:
                names.append(nodes.FromImportName(self.source.line(child), "*", ""))
                if self._scope is self.module:
                    self.stars.append((module, level))
                continue
            aliased = child.kind_id == self.kinds.aliased_import
            name = self._dotted(child.children[0] if aliased else child)
            alias = self.source.name(child.children[-1]) if aliased else ""
            line = self.source.line(child)
            self._scope.bind(alias or name, nodes.BoundImport(module, level, name), line)
            names.append(nodes.FromImportName(line, name, alias))
        out.append(nodes.FromImport(self.source.line(node), module, level, tuple(names)))

    def _origin(self, node: tree_sitter.Node) -> tuple[str, int]:
        """Return the module name in a from-import and the number of dots before the name."""
        text = self.source.string(node)
        module = text.lstrip(". ")
        return module.replace(" ", ""), text[: len(text) - len(module)].count(".")

    def _dotted(self, node: tree_sitter.Node) -> str:
        return self.source.name(node).replace(" ", "")

    # --- compound statements

    def _lower_if(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        branches = [nodes.Branch(self._condition(node), self._body_of_field(node, "consequence"))]
        otherwise: Block = ()
        for child in node.named_children:
            if child.kind_id == self.kinds.elif_clause:
                branches.append(nodes.Branch(self._condition(child), self._body_of(child)))
            elif child.kind_id == self.kinds.else_clause:
                otherwise = self._body_of(child)
        out.append(nodes.If(tuple(branches), otherwise))

    def _condition(self, node: tree_sitter.Node) -> Expression:
        test = node.child_by_field_name("condition")
        return self.expression(test) if test is not None else None

    def _body_of_field(self, node: tree_sitter.Node, name: str) -> Block:
        body = node.child_by_field_name(name)
        return self._block(body) if body is not None else ()

    def _else_of(self, node: tree_sitter.Node) -> Block:
        for child in node.named_children:
            if child.kind_id == self.kinds.else_clause:
                return self._body_of(child)
        return ()

    def _lower_for(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        is_async = node.children[0].type == "async"
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        target = self.expression(left) if left is not None else None
        iterable = self.expression(right) if right is not None else None
        self._scope.assign(target, nodes.Element(iterable, is_async))
        body = self._body_of_field(node, "body")
        out.append(nodes.For(target, iterable, is_async, body, self._else_of(node)))

    def _lower_while(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        test = self._condition(node)
        body = self._body_of_field(node, "body")
        out.append(nodes.While(test, body, self._else_of(node)))

    def _lower_with(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        is_async = node.children[0].type == "async"
        items: list[tuple[Expression, Expression]] = []
        for clause in node.named_children:
            if clause.kind_id == self.kinds.with_clause:
                items.extend(self._with_item(item, is_async=is_async) for item in self.parts(clause))
        out.append(nodes.With(tuple(items), is_async, self._body_of(node)))

    def _with_item(self, node: tree_sitter.Node, *, is_async: bool) -> tuple[Expression, Expression]:
        value = node.children[0] if node.child_count else node  # a stray character has no children
        if value.kind_id != self.kinds.as_pattern:
            return (self.expression(value), None)
        parts = self.parts(value)
        context, target = self.expression(parts[0]), self.expression(parts[-1])
        self._scope.assign(target, nodes.Entered(context, is_async))
        return (context, target)

    def _lower_try(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        body = self._body_of_field(node, "body")
        handlers: list[nodes.Handler] = []
        otherwise: Block = ()
        final: Block = ()
        for child in node.named_children:
            if child.kind_id == self.kinds.except_clause:
                handlers.append(self._handler(child))
            elif child.kind_id == self.kinds.else_clause:
                otherwise = self._body_of(child)
            elif child.kind_id == self.kinds.finally_clause:
                final = self._body_of(child)
        out.append(nodes.Try(body, tuple(handlers), otherwise, final))

    def _handler(self, node: tree_sitter.Node) -> nodes.Handler:
        classes: Expression = None
        name = ""
        for child in self.parts(node):
            if child.kind_id == self.kinds.as_pattern:
                parts = self.parts(child)
                classes, name = self.expression(parts[0]), self.source.name(parts[-1])
                self._scope.bind(name, nodes.Assigned(nodes.Caught(classes)), self.source.line(child))
            elif child.kind_id != self.kinds.block:
                classes = self.expression(child)
        return nodes.Handler(classes, name, self._body_of(node))

    def _lower_match(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        subject = node.child_by_field_name("subject")
        value = self.expression(subject) if subject is not None else None
        body = node.child_by_field_name("body")
        cases = [self._case(child) for child in (body.named_children if body is not None else ())
                 if child.kind_id == self.kinds.case_clause]  # fmt: skip
        out.append(nodes.Match(value, tuple(cases)))

    def _case(self, node: tree_sitter.Node) -> nodes.Case:
        classes: list[Expression] = []
        uses: list[Expression] = []
        captures: list[Name] = []
        guard: Expression = None
        for child in self.parts(node):
            if child.kind_id == self.kinds.if_clause:
                guard = self.expression(child.children[-1])
            elif child.kind_id != self.kinds.block:
                self.pattern(child, classes, uses, captures)
        for capture in captures:
            self._scope.assign(capture, None)
        return nodes.Case(tuple(classes), tuple(uses), tuple(captures), guard, self._body_of(node))

    # --- definitions

    def _lower_decorated(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        decorators: list[Expression] = []
        for child in node.named_children:
            if child.kind_id == self.kinds.decorator:
                parts = self.parts(child)
                decorators.append(self.expression(parts[0]) if parts else None)
            elif child.kind_id == self.kinds.function_definition:
                self._lower_define(child, out, tuple(decorators))
            elif child.kind_id == self.kinds.class_definition:
                self._lower_class(child, out, tuple(decorators))

    def _lower_define(self, node: tree_sitter.Node, out: list[Statement], decorators: Expressions = ()) -> None:
        name_node = node.child_by_field_name("name")
        parameter_node = node.child_by_field_name("parameters")
        return_node = node.child_by_field_name("return_type")
        if name_node is None or parameter_node is None:
            return
        name, line = self.source.name(name_node), self.source.line(name_node)
        outer = self._scope
        key = self._new_key(outer, name)
        parameters = self.parameters(parameter_node)
        returns = self.annotation(return_node) if return_node is not None else None
        self._symbol(node, key, name, "method" if outer.kind == "class" else "function")
        outer.bind(name, nodes.BoundFunction(key), line)
        scope = self._scope = OpenScope("function", key, outer, _receiver_name(outer, decorators, parameters))
        body = self._body_of(node)
        self._scope = outer
        is_async = node.children[0].type == "async"
        self.functions[key] = function_interface(scope, name, decorators, parameters, returns, is_async=is_async)
        local = tuple(sorted(scope.bindings.keys() - scope.global_names))
        fixtures = self.fixtures(parameter_node) if takes_fixtures(name, decorators) else ()
        out.append(nodes.Define(line, name, key, decorators, parameters, returns, local, body, fixtures))

    def _lower_class(self, node: tree_sitter.Node, out: list[Statement], decorators: Expressions = ()) -> None:
        name_node = node.child_by_field_name("name")
        if name_node is None:
            return
        name, line = self.source.name(name_node), self.source.line(name_node)
        outer = self._scope
        key = self._new_key(outer, name)
        superclasses = node.child_by_field_name("superclasses")
        bases, keywords = self.arguments(superclasses) if superclasses is not None else ((), ())
        self._symbol(node, key, name, "class")
        outer.bind(name, nodes.BoundClass(key), line)
        scope = self._scope = OpenScope("class", key, outer)
        body = self._body_of(node)
        self._scope = outer
        self._variable_symbols(scope, scope.bindings, scope.lines)
        self._variable_symbols(scope, scope.attributes, scope.attribute_lines)
        self.classes[key] = class_interface(scope, name, decorators, bases, keywords)
        out.append(nodes.DefineClass(line, name, key, decorators, bases, keywords, body))

    # --- symbols

    def _new_key(self, scope: OpenScope, name: str) -> str:
        base = f"{scope.key}.{name}" if scope.key else name
        count = self._keys[base] = self._keys.get(base, 0) + 1
        return base if count == 1 else f"{base}#{count}"

    def _symbol(self, node: tree_sitter.Node, key: str, name: str, kind: str) -> None:
        body = node.child_by_field_name("body")
        self.symbols.append(
            Symbol(
                key,
                name,
                kind,
                self.source.line(node),
                self.source.end_line(node),
                signature_of(self.source, node, body),
                first_docstring_paragraph(self.source, self.kinds, body),
            )
        )

    def _variable_symbols(self, scope: OpenScope, names: Iterable[str], lines: dict[str, int]) -> None:
        """Add a symbol for each name assigned in a module or class that is neither a definition nor an import."""
        for name in names:
            key = f"{scope.key}.{name}" if scope.key else name
            if key in self._keys or not _is_variable(scope, name):
                continue
            self._keys[key] = 1
            self.symbols.append(Symbol(key, name, "variable", lines[name], lines[name]))

    # --- handlers by kind of syntax node

    EXPRESSIONS: ClassVar[Mapping[str, LowerExpression]] = {
        "identifier": _lower_name,
        "attribute": _lower_attribute,
        "call": _lower_call,
        "subscript": _lower_subscript,
        "tuple": _lower_tuple,
        "expression_list": _lower_tuple,
        "pattern_list": _lower_tuple,
        "tuple_pattern": _lower_tuple,
        "list_pattern": _lower_tuple,
        "list": _lower_list,
        "set": _lower_set,
        "dictionary": _lower_dictionary,
        "list_comprehension": _lower_comprehension,
        "set_comprehension": _lower_comprehension,
        "dictionary_comprehension": _lower_comprehension,
        "generator_expression": _lower_comprehension,
        "boolean_operator": _lower_boolean,
        "binary_operator": _lower_binary,
        "conditional_expression": _lower_choice,
        "not_operator": _lower_not,
        "await": _lower_await,
        "yield": _lower_yield,
        "lambda": _lower_lambda,
        "named_expression": _lower_walrus,
        "list_splat": _lower_star,
        "list_splat_pattern": _lower_star,
        "parenthesized_expression": _lower_single_child,
        "as_pattern_target": _lower_single_child,
        "string": _lower_string,
        "slice": _lower_slice,
        "integer": _lower_no_names,
        "float": _lower_no_names,
        "none": _lower_no_names,
        "true": _lower_no_names,
        "false": _lower_no_names,
        "ellipsis": _lower_no_names,
        "comment": _lower_no_names,
        "type": annotation,
    }
    STATEMENTS: ClassVar[Mapping[str, LowerStatement]] = {
        "expression_statement": _lower_expression_statement,
        "return_statement": _lower_return,
        "break_statement": _lower_stop,
        "continue_statement": _lower_stop,
        "raise_statement": _lower_raise,
        "assert_statement": _lower_assert,
        "delete_statement": _lower_unknown_statement,
        "print_statement": _lower_unknown_statement,
        "exec_statement": _lower_unknown_statement,
        "global_statement": _lower_names_of_other_scope,
        "nonlocal_statement": _lower_names_of_other_scope,
        "import_statement": _lower_import,
        "import_from_statement": _lower_from_import,
        "type_alias_statement": _lower_type_alias,
        "if_statement": _lower_if,
        "for_statement": _lower_for,
        "while_statement": _lower_while,
        "with_statement": _lower_with,
        "try_statement": _lower_try,
        "match_statement": _lower_match,
        "decorated_definition": _lower_decorated,
        "function_definition": _lower_define,
        "class_definition": _lower_class,
    }


Handler = TypeVar("Handler")


@cache
def _expressions(language: tree_sitter.Language) -> Mapping[int, LowerExpression]:
    return _by_number(language, Lowering.EXPRESSIONS)


@cache
def _statements(language: tree_sitter.Language) -> Mapping[int, LowerStatement]:
    return _by_number(language, Lowering.STATEMENTS)


def _by_number(language: tree_sitter.Language, handlers: Mapping[str, Handler]) -> Mapping[int, Handler]:
    """Return handlers keyed by the grammar's numbers for their node kinds."""
    return {kinds_of(language).number(kind): handler for kind, handler in handlers.items()}


def _one_or_tuple(items: list[Expression]) -> Expression:
    return items[0] if len(items) == 1 else nodes.TupleDisplay(tuple(items))


def _tested(clause: nodes.Clause, test: Expression) -> nodes.Clause:
    return nodes.Clause(clause.target, clause.iterable, (*clause.tests, test), clause.is_async)


def _operator(node: tree_sitter.Node) -> str:
    """Return the operator between two operands; a comment or a line break may precede it."""
    return next((child.type for child in node.children if not child.is_named), "")


def _splat_kind(node: tree_sitter.Node, kind: int) -> int:
    """Return a parameter's kind, based on the stars before its name."""
    first = node.named_children[0].type if node.type == "typed_parameter" else node.type
    if first == "list_splat_pattern":
        return nodes.VARIADIC
    return nodes.KEYWORDS if first == "dictionary_splat_pattern" else kind


def _is_variable(scope: OpenScope, name: str) -> bool:
    found = scope.bindings.get(name) or [each.binding for each in scope.attributes.get(name, ())]
    return all(type(binding) in nodes.ASSIGNMENTS for binding in found)


def _receiver_name(outer: OpenScope, decorators: Expressions, parameters: Parameters) -> str:
    """Return the name of a method's receiver parameter, or an empty string if attributes cannot be set on it."""
    if outer.kind != "class" or not parameters or parameters[0].kind != nodes.POSITIONAL:
        return ""
    is_static = any(type(decorator) is nodes.Name and decorator.name == "staticmethod" for decorator in decorators)
    return "" if is_static else parameters[0].name
