"""Convert a syntax tree to the intermediate representation, and collect the symbols and definitions of the file."""

from __future__ import annotations

import builtins
import re
from functools import cache
from typing import TYPE_CHECKING, ClassVar, TypeVar

from deltos.domains.graph.kernel.resolver import FileFacts
from deltos.domains.graph.kernel.source_text import SourceText
from deltos.domains.graph.python import nodes
from deltos.domains.graph.python.fixtures import FIXTURE_REQUEST_FUNCTIONS, takes_fixtures
from deltos.domains.graph.python.nodes import last_name
from deltos.domains.graph.python.scopes import OpenScope, class_interface, frozen_bindings, function_interface
from deltos.domains.graph.python.source import first_docstring_paragraph, kinds_of, signature_of
from deltos.domains.graph.python.unparsed import unparsed_names
from deltos.store.symbols import Symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import tree_sitter

    from deltos.domains.graph.python.nodes import Block, Expression, Expressions, Name, Parameters, Statement

    LowerExpression = Callable[["Lowering", tree_sitter.Node], Expression]
    LowerStatement = Callable[["Lowering", tree_sitter.Node, list[Statement]], None]

MAX_EXPRESSION_DEPTH = 60
"""Maximum nesting of expressions. Only the names in deeper (generated) expressions are recorded."""
MAX_BLOCK_DEPTH = 60
"""Maximum nesting of blocks. Deeper (generated) blocks are skipped."""

_FUNCTIONS_TAKING_QUOTED_TYPES = frozenset({"TypeVar", "cast", "NewType"})
_match_quoted_type = re.compile(r"[A-Za-z_][\w.]*(\[[\w.,\[\]| ]*\])?$").match
_ANNOTATION_CONTAINERS = frozenset({"subscript", "binary_operator", "list", "tuple", "parenthesized_expression"})
_BUILTINS = frozenset(dir(builtins))


def extract(data: bytes, tree: tree_sitter.Tree) -> FileFacts:
    """Return the symbols, interface and body of a file, even if parts of the file have syntax errors."""
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
    return FileFacts(tuple(lowering.symbols), interface, whole, tuple(_interface_contents(lowering, interface)))


def _interface_contents(lowering: Lowering, interface: nodes.ModuleInterface) -> Iterator[tuple[str, object]]:
    """Yield each top-level name with the facts about it on which other files may depend.

    The name `*` represents star imports, `__all__` and builtins that the module redefines.
    """
    contents: dict[str, list[object]] = {name: [found] for name, found in interface.bindings.items()}
    for key, definition in (*interface.classes.items(), *interface.functions.items()):
        contents.setdefault(key.partition(".")[0].partition("#")[0], []).append((key, definition))
    yield from contents.items()
    # Redefined builtins belong to `*`, because a file that uses a builtin does not depend on its name in this module.
    yield "*", (interface.stars, interface.exported, sorted(_BUILTINS & lowering.module.bindings.keys()))


class Lowering:
    """Converter of one file to the intermediate representation, which also collects symbols and interfaces."""

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
        self._expression_handlers = _expression_handlers(language)
        self._statement_handlers = _statement_handlers(language)
        self._scope = self.module
        self._keys: dict[str, int] = {}
        self._expression_depth = 0
        self._block_depth = 0
        self._accepts_quoted_types = False

    def lower_module(self, root: tree_sitter.Node) -> Block:
        """Return the statements of the entire file in the intermediate representation."""
        body = self._lower_block(root)
        self._add_variable_symbols(self.module, self.module.bindings, self.module.lines)
        return body

    def lower_expression(self, node: tree_sitter.Node) -> Expression:
        """Return an expression in the intermediate representation, or None if it contains no names."""
        if self._expression_depth >= MAX_EXPRESSION_DEPTH:
            return self._lower_names_only(node)
        self._expression_depth += 1
        lowered = self._expression_handlers.get(node.kind_id, Lowering._combine_children)(self, node)
        self._expression_depth -= 1
        return lowered

    def lower_annotation(self, node: tree_sitter.Node) -> Expression:
        """Return a type annotation in the intermediate representation; strings in the annotation are parsed as code."""
        if self._expression_depth >= MAX_EXPRESSION_DEPTH:
            return self._lower_names_only(node)
        self._expression_depth += 1
        lowered = self._lower_annotation_node(node)
        self._expression_depth -= 1
        return lowered

    def _lower_annotation_node(self, node: tree_sitter.Node) -> Expression:
        if node.kind_id == self.kinds.type:
            return self._lower_annotation_node(node.children[0])
        text = self._string_text(node)
        if text is not None:
            return self._parse_annotation(text, self.source.line(node))
        if node.type == "generic_type":
            return self._lower_generic_type(node)
        if node.type == "union_type":
            first, *rest = [self.lower_annotation(child) for child in (node.children[0], node.children[-1])]
            return nodes.OperatorExpression(first, tuple(rest))
        if node.type in _ANNOTATION_CONTAINERS:
            return self._lower_annotation_container(node)
        return self.lower_expression(node)

    def children_without_comments(self, node: tree_sitter.Node) -> list[tree_sitter.Node]:
        """Return the named children of a node, without comments and line continuations."""
        extras = self.kinds.extras
        return [child for child in node.named_children if child.kind_id not in extras]

    def combine(self, expressions: Iterable[Expression]) -> Expression:
        """Combine expressions into one node that records their names and ignores their types."""
        kept = tuple([expression for expression in expressions if expression is not None])
        if not kept:
            return None
        return kept[0] if len(kept) == 1 and type(kept[0]) is nodes.NamesOnly else nodes.NamesOnly(kept)

    def lower_parameters(self, node: tree_sitter.Node) -> Parameters:
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
                    parameter = self._lower_parameter(child, kind)
                    found.append(parameter)
                    if parameter.kind == nodes.VARIADIC:
                        kind = nodes.KEYWORD_ONLY
        return tuple(found)

    def _lower_parameter(self, node: tree_sitter.Node, kind: int) -> nodes.ParameterNode:
        annotation_node, default_node = node.child_by_field_name("type"), node.child_by_field_name("value")
        annotation = self.lower_annotation(annotation_node) if annotation_node is not None else None
        default = self.lower_expression(default_node) if default_node is not None else None
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
        return nodes.Attribute(self.source.line(last), self.lower_expression(children[0]), self.source.name(last))

    def _lower_call(self, node: tree_sitter.Node) -> Expression:
        children = node.children
        function = self.lower_expression(children[0])
        accepted, self._accepts_quoted_types = (
            self._accepts_quoted_types,
            last_name(function) in _FUNCTIONS_TAKING_QUOTED_TYPES,
        )
        arguments, keywords = self.lower_arguments(children[-1])
        self._accepts_quoted_types = accepted
        if last_name(function) in FIXTURE_REQUEST_FUNCTIONS and children[-1].kind_id == self.kinds.argument_list:
            arguments = (*arguments, *self._fixture_names(children[-1]))
        return nodes.CallExpression(function, arguments, keywords)

    def _fixture_names(self, node: tree_sitter.Node) -> Expressions:
        """Return the fixture names in the string arguments of a call."""
        texts = [(self.source.line(child), self._string_text(child)) for child in self.children_without_comments(node)]
        return tuple([nodes.FixtureName(line, text) for line, text in texts if text and text.isidentifier()])

    def parameter_fixtures(self, node: tree_sitter.Node) -> Expressions:
        """Return the names of the fixtures that a function requests: its parameters without a default value."""
        found = [child for child in self.children_without_comments(node) if child.child_by_field_name("value") is None]
        return tuple([nodes.FixtureName(self.source.line(child), self._parameter_name(child)) for child in found])

    def lower_arguments(self, node: tree_sitter.Node) -> tuple[Expressions, nodes.Keywords]:
        """Return the positional and keyword arguments of a call or class statement."""
        kinds = self.kinds
        if node.kind_id != kinds.argument_list:
            return (self.lower_expression(node),), ()
        positional: list[Expression] = []
        keywords: list[tuple[str, Expression]] = []
        for child in self.children_without_comments(node):
            kind = child.kind_id
            if kind == kinds.keyword_argument:
                parts = child.children
                keywords.append((self.source.name(parts[0]), self.lower_expression(parts[-1])))
            elif kind == kinds.dictionary_splat:
                keywords.append(("", self.lower_expression(child.children[-1])))
            else:
                positional.append(self.lower_expression(child))
        return tuple(positional), tuple(keywords)

    def _lower_subscript(self, node: tree_sitter.Node) -> Expression:
        value, *indices = self.children_without_comments(node)
        base = self.lower_expression(value)
        accepted, self._accepts_quoted_types = self._accepts_quoted_types, True
        items = [self.lower_expression(index) for index in indices]
        self._accepts_quoted_types = accepted
        return nodes.Subscript(base, _one_or_tuple(items))

    def _lower_items(self, node: tree_sitter.Node) -> Expressions:
        return tuple([self.lower_expression(child) for child in self.children_without_comments(node)])

    def _lower_dictionary(self, node: tree_sitter.Node) -> Expression:
        keys: list[Expression] = []
        values: list[Expression] = []
        for child in node.named_children:
            if child.kind_id == self.kinds.pair:
                parts = child.children
                keys.append(self.lower_expression(parts[0]))
                values.append(self.lower_expression(parts[-1]))
            elif child.kind_id == self.kinds.dictionary_splat:
                keys.append(None)
                values.append(nodes.Starred(self.lower_expression(child.children[-1])))
        return nodes.DictDisplay(tuple(keys), tuple(values))

    def _lower_comprehension(self, node: tree_sitter.Node) -> Expression:
        shape = node.type.partition("_")[0]
        element = value = None
        clauses: list[nodes.Clause] = []
        for child in self.children_without_comments(node):
            kind = child.kind_id
            if kind == self.kinds.for_in_clause:
                clauses.append(self._lower_for_clause(child))
            elif kind == self.kinds.if_clause and clauses:
                clauses.append(_add_test(clauses.pop(), self.lower_expression(child.children[-1])))
            elif kind == self.kinds.pair:
                element, value = self.lower_expression(child.children[0]), self.lower_expression(child.children[-1])
            else:
                element = self.lower_expression(child)
        shape = "dict" if shape == "dictionary" else shape
        return nodes.Comprehension(shape, tuple(clauses), element, value)

    def _lower_for_clause(self, node: tree_sitter.Node) -> nodes.Clause:
        parts = self.children_without_comments(node)
        is_async = node.children[0].type == "async"
        return nodes.Clause(self.lower_expression(parts[0]), self.lower_expression(parts[-1]), (), is_async)

    def _lower_boolean(self, node: tree_sitter.Node) -> Expression:
        operator = _operator(node)
        operands = tuple([self.lower_expression(operand) for operand in self._chain_operands(node, operator)])
        return nodes.Logical(operator == "and", operands)

    def _lower_binary(self, node: tree_sitter.Node) -> Expression:
        operator = _operator(node)
        first, *rest = [self.lower_expression(operand) for operand in self._chain_operands(node, operator)]
        if first is None and not any(rest):
            return None
        return nodes.OperatorExpression(first, tuple(rest))

    def _chain_operands(self, node: tree_sitter.Node, operator: str) -> list[tree_sitter.Node]:
        """Return the operands of a chain of the same operator, such as `a + b + c`."""
        # The loop is iterative, because recursion on a long chain would exceed the recursion limit.
        kind = node.kind_id
        operands: list[tree_sitter.Node] = []
        while node.kind_id == kind and _operator(node) == operator:
            operands.append(node.children[-1])
            node = node.children[0]
        return [node, *reversed(operands)]

    def _lower_conditional(self, node: tree_sitter.Node) -> Expression:
        parts = self.children_without_comments(node)
        if len(parts) != 3:
            return self._combine_children(node)
        then, test, otherwise = parts
        return nodes.Conditional(
            self.lower_expression(test), self.lower_expression(then), self.lower_expression(otherwise)
        )

    def _lower_yield(self, node: tree_sitter.Node) -> Expression:
        children = node.children
        value = self.lower_expression(children[-1]) if len(children) > 1 else None
        lowered = nodes.Yield(value, any(child.type == "from" for child in children))
        self._scope.yields.append(lowered)
        return lowered

    def _lower_lambda(self, node: tree_sitter.Node) -> Expression:
        parameters: Parameters = ()
        for child in node.named_children:
            if child.type == "lambda_parameters":
                parameters = self.lower_parameters(child)
        return nodes.Lambda(parameters, self.lower_expression(node.children[-1]))

    def _lower_walrus(self, node: tree_sitter.Node) -> Expression:
        target, value = node.children[0], self.lower_expression(node.children[-1])
        name = self._lower_name(target)
        self._scope.assign(name, value)  # `:=` in a comprehension binds the name in the enclosing scope
        return nodes.Walrus(name.line, name.name, value)

    def _lower_single_child(self, node: tree_sitter.Node) -> Expression:
        parts = self.children_without_comments(node)
        return self.lower_expression(parts[0]) if parts else None

    def _lower_string(self, node: tree_sitter.Node) -> Expression:
        children = node.children
        if len(children) <= 3 and (len(children) < 2 or children[1].kind_id != self.kinds.interpolation):
            return self._lower_quoted_type(node) if self._accepts_quoted_types else None
        interpolation = self.kinds.interpolation
        return self.combine([self._combine_children(child) for child in children if child.kind_id == interpolation])

    def _combine_children(self, node: tree_sitter.Node) -> Expression:
        return self.combine([self.lower_expression(child) for child in node.named_children])

    def _lower_names_only(self, node: tree_sitter.Node) -> Expression:
        """Return all plain names inside a node, without attribute names and keyword argument names."""
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
        return self.combine(found)

    # --- annotations

    def _lower_generic_type(self, node: tree_sitter.Node) -> Expression:
        base, *rest = self.children_without_comments(node)
        items = [self.lower_annotation(child) for part in rest for child in self.children_without_comments(part)]
        return nodes.Subscript(self.lower_expression(base), _one_or_tuple(items))

    def _lower_annotation_container(self, node: tree_sitter.Node) -> Expression:
        """Convert a subscript, list, tuple or union in an annotation to the intermediate representation."""
        parts = [self.lower_annotation(child) for child in self.children_without_comments(node)]
        if not parts:
            return None
        match node.type:
            case "subscript":
                return nodes.Subscript(parts[0], _one_or_tuple(parts[1:]))
            case "binary_operator":
                return nodes.OperatorExpression(parts[0], tuple(parts[1:]))
            case "parenthesized_expression":
                return parts[0]
            case shape:
                return nodes.Display(shape, tuple(parts))

    def _string_text(self, node: tree_sitter.Node) -> str | None:
        """Return the content of a plain string literal, or None for other nodes."""
        if node.kind_id != self.kinds.string:
            return None
        children = node.children
        if len(children) != 3 or children[1].kind_id != self.kinds.string_content:
            return None
        return self.source.name(children[1])

    def _lower_quoted_type(self, node: tree_sitter.Node) -> Expression:
        """Return a quoted type, as in `Union["Node", "Leaf"]`, or None if the string is not a type."""
        text = self._string_text(node)
        if text is None or not _match_quoted_type(text):
            return None
        line = self.source.line(node)
        parsed = nodes.Name(line, text) if text.isidentifier() else self._parse_annotation(text, line)
        return None if parsed is None else nodes.QuotedType(parsed)

    def _parse_annotation(self, text: str, line: int) -> Expression:
        import tree_sitter  # imported here, because only quoted annotations need a second parse

        data = text.strip().encode()
        tree = tree_sitter.Parser(self._language).parse(data)
        statement = tree.root_node.named_children[:1]
        if not statement or statement[0].kind_id != self.kinds.expression_statement or tree.root_node.has_error:
            return None
        nested = Lowering(SourceText(data), self._language)
        return nodes.on_line(nested.lower_annotation(statement[0].children[0]), line)

    # --- match patterns

    def collect_pattern_names(
        self, node: tree_sitter.Node, classes: list[Expression], uses: list[Expression], captures: list[Name]
    ) -> None:
        """Append the names in a case pattern to three lists.

        `classes` receives the possible classes of the subject, `captures` the names that the pattern binds, and `uses`
        all other names.
        """
        pending = [(node, True)]
        while pending:
            current, outer = pending.pop()
            kind = current.kind_id
            parts = self.children_without_comments(current)
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
        first, *rest = self.children_without_comments(node) or [node]
        value: Expression = self._lower_name(first)
        for part in rest:
            value = nodes.Attribute(self.source.line(part), value, self.source.name(part))
        return value

    # --- blocks

    def _lower_block(self, node: tree_sitter.Node) -> Block:
        if self._block_depth >= MAX_BLOCK_DEPTH:
            return ()
        self._block_depth += 1
        handlers = self._statement_handlers
        lowered: list[Statement] = []
        for child in node.named_children:
            handler = handlers.get(child.kind_id)
            if handler is not None:
                handler(self, child, lowered)
            elif child.type == "ERROR":
                lowered.extend(self._lower_block(child))
        self._block_depth -= 1
        return tuple(lowered)

    def _lower_clause_body(self, node: tree_sitter.Node) -> Block:
        """Return the block of a clause in the intermediate representation, or an empty tuple if there is no block."""
        for child in reversed(node.children):
            if child.kind_id == self.kinds.block:
                return self._lower_block(child)
        return ()

    # --- simple statements

    def _lower_expression_statement(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        parts = self.children_without_comments(node)
        if not parts:
            return
        first = parts[0]
        if first.kind_id == self.kinds.assignment:
            self._lower_assignment(first, out)
        elif first.kind_id == self.kinds.augmented_assignment:
            self._lower_augmented_assignment(first, out)
        else:
            self._append_expression([self.lower_expression(part) for part in parts], out)

    def _append_expression(self, values: list[Expression], out: list[Statement]) -> None:
        value = values[0] if len(values) == 1 else self.combine(values)
        if value is not None:
            out.append(nodes.Evaluate(value))

    def _lower_assignment(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        targets: list[Expression] = []
        annotation: tree_sitter.Node | None = None
        value: tree_sitter.Node | None = node
        while value is not None and value.kind_id == self.kinds.assignment:
            annotation = value.child_by_field_name("type") or annotation
            targets.append(self.lower_expression(value.children[0]))
            value = value.child_by_field_name("right")
        if annotation is not None:
            self._lower_declaration(targets[0], annotation, value, out)
            return
        first = targets[0]
        if self._scope is self.module and type(first) is nodes.Name and value is not None:
            self._record_exported(first.name, value, replace=True)
        source = self.lower_expression(value) if value is not None else None
        for target in targets:
            self._scope.assign(target, source)
        out.append(nodes.Assign(tuple(targets), source))

    def _lower_declaration(
        self, target: Expression, annotation: tree_sitter.Node, value: tree_sitter.Node | None, out: list[Statement]
    ) -> None:
        lowered = self.lower_annotation(annotation)
        source = self.lower_expression(value) if value is not None else None
        if nodes.last_name(lowered) == "TypeAlias":
            self._scope.assign(target, source)
            out.append(nodes.Assign((target,), source))
            return
        self._scope.declare(target, lowered, source)
        out.append(nodes.Declare(target, lowered, source))

    def _lower_augmented_assignment(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        parts = node.children
        target, value = self.lower_expression(parts[0]), self.lower_expression(parts[-1])
        if self._scope is self.module and type(target) is nodes.Name:
            self._record_exported(target.name, parts[-1], replace=False)
        out.append(nodes.Augment(target, value))

    def _record_exported(self, name: str, value: tree_sitter.Node, *, replace: bool) -> None:
        """Record the names in `__all__ = [...]` and `__all__ += [...]`."""
        if name != "__all__":
            return
        strings = [text for child in value.named_children if (text := self._string_text(child)) is not None]
        if replace or self.exported is None:
            self.exported = strings if strings or value.named_child_count == 0 else None
        else:
            self.exported.extend(strings)

    def _lower_return(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        parts = self.children_without_comments(node)
        value = self.lower_expression(parts[0]) if parts else None
        self._scope.returns.append(value)
        out.append(nodes.Return(value))

    def _lower_loop_jump(self, _node: tree_sitter.Node, out: list[Statement]) -> None:
        out.append(nodes.LoopJump())

    def _lower_raise(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        out.append(nodes.Raise(tuple([self.lower_expression(part) for part in self.children_without_comments(node)])))

    def _lower_assert(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        test, *message = [self.lower_expression(part) for part in self.children_without_comments(node)] or [None]
        out.append(nodes.Assert(test, message[0] if message else None))

    def _lower_scope_declaration(self, node: tree_sitter.Node, _out: list[Statement]) -> None:
        self._scope.global_names.update(self.source.name(child) for child in self.children_without_comments(node))

    def _lower_unknown_statement(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        self._append_expression([self.lower_expression(part) for part in self.children_without_comments(node)], out)

    def _lower_type_alias(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        parts = self.children_without_comments(node)
        target, source = self.lower_expression(parts[0]), self.lower_annotation(parts[-1])
        if type(target) is nodes.Subscript:
            target = target.value
        self._scope.assign(target, source)
        out.append(nodes.Assign((target,), source))

    # --- imports

    def _lower_import(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        for child in node.named_children:
            if child.kind_id == self.kinds.aliased_import:
                module, alias = self._dotted_name(child.children[0]), self.source.name(child.children[-1])
                self._scope.bind(alias, nodes.BoundModule(module), self.source.line(child))
            elif child.kind_id == self.kinds.dotted_name:
                module, alias = self._dotted_name(child), ""
                top = module.partition(".")[0]
                self._scope.bind(top, nodes.BoundModule(top), self.source.line(child))
            else:
                continue
            out.append(nodes.ImportModule(self.source.line(child), module, alias))

    def _lower_from_import(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        origin, *children = self.children_without_comments(node)
        module, level = self._import_origin(origin)
        names: list[nodes.FromImportName] = []
        for child in children:
            if child.kind_id == self.kinds.wildcard_import:
                names.append(nodes.FromImportName(self.source.line(child), "*", ""))
                if self._scope is self.module:
                    self.stars.append((module, level))
                continue
            aliased = child.kind_id == self.kinds.aliased_import
            name = self._dotted_name(child.children[0] if aliased else child)
            alias = self.source.name(child.children[-1]) if aliased else ""
            line = self.source.line(child)
            self._scope.bind(alias or name, nodes.BoundImport(module, level, name), line)
            names.append(nodes.FromImportName(line, name, alias))
        out.append(nodes.FromImport(self.source.line(node), module, level, tuple(names)))

    def _import_origin(self, node: tree_sitter.Node) -> tuple[str, int]:
        """Return the module name in a from-import and the number of dots before the name."""
        text = self.source.name(node)
        module = text.lstrip(". ")
        return module.replace(" ", ""), text[: len(text) - len(module)].count(".")

    def _dotted_name(self, node: tree_sitter.Node) -> str:
        return self.source.name(node).replace(" ", "")

    # --- compound statements

    def _lower_if(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        branches = [nodes.Branch(self._lower_condition(node), self._lower_field_block(node, "consequence"))]
        otherwise: Block = ()
        for child in node.named_children:
            if child.kind_id == self.kinds.elif_clause:
                branches.append(nodes.Branch(self._lower_condition(child), self._lower_clause_body(child)))
            elif child.kind_id == self.kinds.else_clause:
                otherwise = self._lower_clause_body(child)
        out.append(nodes.If(tuple(branches), otherwise))

    def _lower_condition(self, node: tree_sitter.Node) -> Expression:
        test = node.child_by_field_name("condition")
        return self.lower_expression(test) if test is not None else None

    def _lower_field_block(self, node: tree_sitter.Node, name: str) -> Block:
        body = node.child_by_field_name(name)
        return self._lower_block(body) if body is not None else ()

    def _lower_else(self, node: tree_sitter.Node) -> Block:
        for child in node.named_children:
            if child.kind_id == self.kinds.else_clause:
                return self._lower_clause_body(child)
        return ()

    def _lower_for(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        is_async = node.children[0].type == "async"
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        target = self.lower_expression(left) if left is not None else None
        iterable = self.lower_expression(right) if right is not None else None
        self._scope.assign(target, nodes.Element(iterable, is_async))
        body = self._lower_field_block(node, "body")
        out.append(nodes.For(target, iterable, is_async, body, self._lower_else(node)))

    def _lower_while(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        test = self._lower_condition(node)
        body = self._lower_field_block(node, "body")
        out.append(nodes.While(test, body, self._lower_else(node)))

    def _lower_with(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        is_async = node.children[0].type == "async"
        items: list[tuple[Expression, Expression]] = []
        for clause in node.named_children:
            if clause.kind_id == self.kinds.with_clause:
                items.extend(
                    self._lower_with_item(item, is_async=is_async) for item in self.children_without_comments(clause)
                )
        out.append(nodes.With(tuple(items), is_async, self._lower_clause_body(node)))

    def _lower_with_item(self, node: tree_sitter.Node, *, is_async: bool) -> tuple[Expression, Expression]:
        value = node.children[0] if node.child_count else node  # an error node has no children
        if value.kind_id != self.kinds.as_pattern:
            return (self.lower_expression(value), None)
        parts = self.children_without_comments(value)
        context, target = self.lower_expression(parts[0]), self.lower_expression(parts[-1])
        self._scope.assign(target, nodes.Entered(context, is_async))
        return (context, target)

    def _lower_try(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        body = self._lower_field_block(node, "body")
        handlers: list[nodes.Handler] = []
        otherwise: Block = ()
        final: Block = ()
        for child in node.named_children:
            if child.kind_id == self.kinds.except_clause:
                handlers.append(self._lower_handler(child))
            elif child.kind_id == self.kinds.else_clause:
                otherwise = self._lower_clause_body(child)
            elif child.kind_id == self.kinds.finally_clause:
                final = self._lower_clause_body(child)
        out.append(nodes.Try(body, tuple(handlers), otherwise, final))

    def _lower_handler(self, node: tree_sitter.Node) -> nodes.Handler:
        classes: Expression = None
        name = ""
        for child in self.children_without_comments(node):
            if child.kind_id == self.kinds.as_pattern:
                parts = self.children_without_comments(child)
                classes, name = self.lower_expression(parts[0]), self.source.name(parts[-1])
                self._scope.bind(name, nodes.Assigned(nodes.Caught(classes)), self.source.line(child))
            elif child.kind_id != self.kinds.block:
                classes = self.lower_expression(child)
        return nodes.Handler(classes, name, self._lower_clause_body(node))

    def _lower_match(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        subject = node.child_by_field_name("subject")
        value = self.lower_expression(subject) if subject is not None else None
        body = node.child_by_field_name("body")
        cases = [self._lower_case(child) for child in (body.named_children if body is not None else ())
                 if child.kind_id == self.kinds.case_clause]  # fmt: skip
        out.append(nodes.Match(value, tuple(cases)))

    def _lower_case(self, node: tree_sitter.Node) -> nodes.Case:
        classes: list[Expression] = []
        uses: list[Expression] = []
        captures: list[Name] = []
        guard: Expression = None
        for child in self.children_without_comments(node):
            if child.kind_id == self.kinds.if_clause:
                guard = self.lower_expression(child.children[-1])
            elif child.kind_id != self.kinds.block:
                self.collect_pattern_names(child, classes, uses, captures)
        for capture in captures:
            self._scope.assign(capture, None)
        return nodes.Case(tuple(classes), tuple(uses), tuple(captures), guard, self._lower_clause_body(node))

    # --- definitions

    def _lower_decorated(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        decorators: list[Expression] = []
        for child in node.named_children:
            if child.kind_id == self.kinds.decorator:
                parts = self.children_without_comments(child)
                decorators.append(self.lower_expression(parts[0]) if parts else None)
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
        parameters = self.lower_parameters(parameter_node)
        returns = self.lower_annotation(return_node) if return_node is not None else None
        self._add_symbol(node, key, name, "method" if outer.kind == "class" else "function")
        outer.bind(name, nodes.BoundFunction(key), line)
        scope = self._scope = OpenScope("function", key, outer, _receiver_name(outer, decorators, parameters))
        body = self._lower_clause_body(node)
        self._scope = outer
        is_async = node.children[0].type == "async"
        self.functions[key] = function_interface(scope, name, decorators, parameters, returns, is_async=is_async)
        local = tuple(sorted(scope.bindings.keys() - scope.global_names))
        fixtures = self.parameter_fixtures(parameter_node) if takes_fixtures(name, decorators) else ()
        out.append(nodes.Define(line, name, key, decorators, parameters, returns, local, body, fixtures))

    def _lower_class(self, node: tree_sitter.Node, out: list[Statement], decorators: Expressions = ()) -> None:
        name_node = node.child_by_field_name("name")
        if name_node is None:
            return
        name, line = self.source.name(name_node), self.source.line(name_node)
        outer = self._scope
        key = self._new_key(outer, name)
        superclasses = node.child_by_field_name("superclasses")
        bases, keywords = self.lower_arguments(superclasses) if superclasses is not None else ((), ())
        self._add_symbol(node, key, name, "class")
        outer.bind(name, nodes.BoundClass(key), line)
        scope = self._scope = OpenScope("class", key, outer)
        body = self._lower_clause_body(node)
        self._scope = outer
        self._add_variable_symbols(scope, scope.bindings, scope.lines)
        self._add_variable_symbols(scope, scope.attributes, scope.attribute_lines)
        self.classes[key] = class_interface(scope, name, decorators, bases, keywords)
        out.append(nodes.DefineClass(line, name, key, decorators, bases, keywords, body))

    # --- symbols

    def _new_key(self, scope: OpenScope, name: str) -> str:
        base = f"{scope.key}.{name}" if scope.key else name
        count = self._keys[base] = self._keys.get(base, 0) + 1
        return base if count == 1 else f"{base}#{count}"

    def _add_symbol(self, node: tree_sitter.Node, key: str, name: str, kind: str) -> None:
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

    def _add_variable_symbols(self, scope: OpenScope, names: Iterable[str], lines: dict[str, int]) -> None:
        """Add a symbol for each variable of a module or class."""
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
        **dict.fromkeys(
            ("tuple", "expression_list", "pattern_list", "tuple_pattern", "list_pattern"),
            lambda self, node: nodes.Display("tuple", self._lower_items(node)),
        ),
        "list": lambda self, node: nodes.Display("list", self._lower_items(node)),
        "set": lambda self, node: nodes.Display("set", self._lower_items(node)),
        "dictionary": _lower_dictionary,
        **dict.fromkeys(
            ("list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression"),
            _lower_comprehension,
        ),
        "boolean_operator": _lower_boolean,
        "binary_operator": _lower_binary,
        "conditional_expression": _lower_conditional,
        "not_operator": lambda self, node: nodes.Not(self.lower_expression(node.children[-1])),
        "await": lambda self, node: nodes.Await(self.lower_expression(node.children[-1])),
        "yield": _lower_yield,
        "lambda": _lower_lambda,
        "named_expression": _lower_walrus,
        "list_splat": lambda self, node: nodes.Starred(self.lower_expression(node.children[-1])),
        "list_splat_pattern": lambda self, node: nodes.Starred(self.lower_expression(node.children[-1])),
        "parenthesized_expression": _lower_single_child,
        "as_pattern_target": _lower_single_child,
        "string": _lower_string,
        "slice": lambda self, node: nodes.Slice(self._lower_items(node)),
        **dict.fromkeys("integer float none true false ellipsis comment".split(), lambda _self, _node: None),
        "type": lower_annotation,
    }
    STATEMENTS: ClassVar[Mapping[str, LowerStatement]] = {
        "expression_statement": _lower_expression_statement,
        "return_statement": _lower_return,
        "break_statement": _lower_loop_jump,
        "continue_statement": _lower_loop_jump,
        "raise_statement": _lower_raise,
        "assert_statement": _lower_assert,
        "delete_statement": _lower_unknown_statement,
        "print_statement": _lower_unknown_statement,
        "exec_statement": _lower_unknown_statement,
        "global_statement": _lower_scope_declaration,
        "nonlocal_statement": _lower_scope_declaration,
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
def _expression_handlers(language: tree_sitter.Language) -> Mapping[int, LowerExpression]:
    return _handlers_by_number(language, Lowering.EXPRESSIONS)


@cache
def _statement_handlers(language: tree_sitter.Language) -> Mapping[int, LowerStatement]:
    return _handlers_by_number(language, Lowering.STATEMENTS)


def _handlers_by_number(language: tree_sitter.Language, handlers: Mapping[str, Handler]) -> Mapping[int, Handler]:
    """Convert a table of handlers by the names of syntax node kinds to a table by the numbers of these kinds."""
    return {kinds_of(language).number(kind): handler for kind, handler in handlers.items()}


def _one_or_tuple(items: list[Expression]) -> Expression:
    """Return the expression itself if there is only one, or a tuple expression of several."""
    return items[0] if len(items) == 1 else nodes.Display("tuple", tuple(items))


def _add_test(clause: nodes.Clause, test: Expression) -> nodes.Clause:
    """Return a copy of a comprehension clause with one more condition."""
    return nodes.Clause(clause.target, clause.iterable, (*clause.tests, test), clause.is_async)


def _operator(node: tree_sitter.Node) -> str:
    """Return the operator of a binary or boolean expression."""
    # The operator is the first unnamed child; a comment before it is a named child.
    return next((child.type for child in node.children if not child.is_named), "")


def _splat_kind(node: tree_sitter.Node, kind: int) -> int:
    """Return the kind of a parameter with stars before its name, or `kind` if the parameter has no stars."""
    first = node.named_children[0].type if node.type == "typed_parameter" else node.type
    if first == "list_splat_pattern":
        return nodes.VARIADIC
    return nodes.KEYWORDS if first == "dictionary_splat_pattern" else kind


def _is_variable(scope: OpenScope, name: str) -> bool:
    found = scope.bindings.get(name) or [each.binding for each in scope.attributes.get(name, ())]
    return all(type(binding) in nodes.ASSIGNMENTS for binding in found)


def _receiver_name(outer: OpenScope, decorators: Expressions, parameters: Parameters) -> str:
    """Return the name of a method's `self` or `cls` parameter, or an empty string if there is none."""
    if outer.kind != "class" or not parameters or parameters[0].kind != nodes.POSITIONAL:
        return ""
    is_static = any(type(decorator) is nodes.Name and decorator.name == "staticmethod" for decorator in decorators)
    return "" if is_static else parameters[0].name
