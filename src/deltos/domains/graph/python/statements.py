"""Lower statements to the intermediate form, collecting symbols and scopes on the way: one pass over the tree."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from deltos.domains.graph.python import nodes
from deltos.domains.graph.python.expressions import OPERATOR_METHODS
from deltos.domains.graph.python.patterns import PatternLowering
from deltos.domains.graph.python.scopes import Scope, class_interface, function_interface
from deltos.domains.graph.python.source import kinds_of
from deltos.domains.graph.python.wording import doc_of, signature_of
from deltos.store.symbols import Symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import tree_sitter

    from deltos.domains.graph.python.nodes import (
        Block,
        ClassInterface,
        Expression,
        Expressions,
        FunctionInterface,
        Name,
        Parameters,
        Statement,
    )
    from deltos.domains.graph.python.source import Source

DEEPEST_BLOCK = 60
"""Blocks nested deeper than this are generated code and are skipped."""


class StatementLowering(PatternLowering):
    """Lowers a whole file; afterwards holds its symbols and the interfaces of its classes and functions."""

    def __init__(self, source: Source, language: tree_sitter.Language) -> None:
        super().__init__(source, language)
        self.module = Scope("module", "")
        self.symbols: list[Symbol] = []
        self.classes: dict[str, ClassInterface] = {}
        self.functions: dict[str, FunctionInterface] = {}
        self.stars: list[tuple[str, int]] = []
        self.exported: list[str] | None = None
        self._scope = self.module
        self._keys: dict[str, int] = {}
        self._nesting = 0
        self._statements = _statement_handlers(language)

    def lower_module(self, root: tree_sitter.Node) -> Block:
        """The body of the whole file."""
        body = self._block(root)
        self._variable_symbols(self.module, self.module.bindings, self.module.lines)
        return body

    def on_walrus(self, target: Name, value: Expression) -> None:
        """Bind the name in the nearest scope: comprehensions leak it on purpose."""
        self._scope.assign(target, value)

    def on_yield(self, value: nodes.Yield | nodes.YieldFrom) -> None:
        """Note that the enclosing function is a generator."""
        self._scope.yields.append(value)

    # --- blocks

    def _block(self, node: tree_sitter.Node) -> Block:
        if self._nesting >= DEEPEST_BLOCK:
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
        """The statements of a clause's block; empty when it has none."""
        for child in reversed(node.children):
            if child.kind_id == self.kinds.block:
                return self._block(child)
        return ()

    # --- simple statements

    def _expression_statement(self, node: tree_sitter.Node, out: list[Statement]) -> None:
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
        out.append(nodes.Augment(target, OPERATOR_METHODS.get(parts[1].type[:-1], ""), value))

    def _note_exported(self, name: str, value: tree_sitter.Node, *, replace: bool) -> None:
        """Read the names out of `__all__ = [...]` and `__all__ += [...]`."""
        if name != "__all__":
            return
        strings = [text for child in value.named_children if (text := self._string_text(child)) is not None]
        if replace or self.exported is None:
            self.exported = strings if strings or value.named_child_count == 0 else None
        else:
            self.exported.extend(strings)

    def _return(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        parts = self.parts(node)
        value = self.expression(parts[0]) if parts else None
        self._scope.returns.append(value)
        out.append(nodes.Return(value))

    def _stop(self, _node: tree_sitter.Node, out: list[Statement]) -> None:
        out.append(nodes.Stop())

    def _raise(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        out.append(nodes.Raise(tuple([self.expression(part) for part in self.parts(node)])))

    def _assert(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        test, *message = [self.expression(part) for part in self.parts(node)] or [None]
        out.append(nodes.Assert(test, message[0] if message else None))

    def _names_of_other_scope(self, node: tree_sitter.Node, _out: list[Statement]) -> None:
        self._scope.elsewhere.update(self.source.name(child) for child in self.parts(node))

    def _other(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        self._evaluate([self.expression(part) for part in self.parts(node)], out)

    def _type_alias(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        parts = self.parts(node)
        target, source = self.expression(parts[0]), self.annotation(parts[-1])
        if type(target) is nodes.Index:
            target = target.value
        self._scope.assign(target, source)
        out.append(nodes.Assign((target,), source))

    # --- imports

    def _import(self, node: tree_sitter.Node, out: list[Statement]) -> None:
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
            out.append(nodes.Import(self.source.line(child), module, alias))

    def _from_import(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        origin, *children = self.parts(node)
        module, level = self._origin(origin)
        names: list[nodes.ImportedName] = []
        for child in children:
            if child.kind_id == self.kinds.wildcard_import:
                names.append(nodes.ImportedName(self.source.line(child), "*", ""))
                if self._scope is self.module:
                    self.stars.append((module, level))
                continue
            aliased = child.kind_id == self.kinds.aliased_import
            name = self._dotted(child.children[0] if aliased else child)
            alias = self.source.name(child.children[-1]) if aliased else ""
            line = self.source.line(child)
            self._scope.bind(alias or name, nodes.BoundImport(module, level, name), line)
            names.append(nodes.ImportedName(line, name, alias))
        out.append(nodes.FromImport(self.source.line(node), module, level, tuple(names)))

    def _origin(self, node: tree_sitter.Node) -> tuple[str, int]:
        """The module of a from-import and how many dots stand before it."""
        text = self.source.string(node)
        module = text.lstrip(". ")
        return module.replace(" ", ""), text[: len(text) - len(module)].count(".")

    def _dotted(self, node: tree_sitter.Node) -> str:
        return self.source.name(node).replace(" ", "")

    # --- compound statements

    def _if(self, node: tree_sitter.Node, out: list[Statement]) -> None:
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

    def _for(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        is_async = node.children[0].type == "async"
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        target = self.expression(left) if left is not None else None
        iterable = self.expression(right) if right is not None else None
        self._scope.assign(target, nodes.Element(iterable, is_async))
        body = self._body_of_field(node, "body")
        out.append(nodes.For(target, iterable, is_async, body, self._else_of(node)))

    def _while(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        test = self._condition(node)
        body = self._body_of_field(node, "body")
        out.append(nodes.While(test, body, self._else_of(node)))

    def _with(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        is_async = node.children[0].type == "async"
        items: list[tuple[Expression, Expression]] = []
        for clause in node.named_children:
            if clause.kind_id == self.kinds.with_clause:
                items.extend(self._with_item(item, is_async=is_async) for item in self.parts(clause))
        out.append(nodes.With(tuple(items), is_async, self._body_of(node)))

    def _with_item(self, node: tree_sitter.Node, *, is_async: bool) -> tuple[Expression, Expression]:
        value = node.children[0] if node.child_count else node  # a stray character has no parts
        if value.kind_id != self.kinds.as_pattern:
            return (self.expression(value), None)
        parts = self.parts(value)
        context, target = self.expression(parts[0]), self.expression(parts[-1])
        self._scope.assign(target, nodes.Entered(context, is_async))
        return (context, target)

    def _try(self, node: tree_sitter.Node, out: list[Statement]) -> None:
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

    def _match(self, node: tree_sitter.Node, out: list[Statement]) -> None:
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

    def _decorated(self, node: tree_sitter.Node, out: list[Statement]) -> None:
        decorators: list[Expression] = []
        for child in node.named_children:
            if child.kind_id == self.kinds.decorator:
                parts = self.parts(child)
                decorators.append(self.expression(parts[0]) if parts else None)
            elif child.kind_id == self.kinds.function_definition:
                self._define(child, out, tuple(decorators))
            elif child.kind_id == self.kinds.class_definition:
                self._class(child, out, tuple(decorators))

    def _define(self, node: tree_sitter.Node, out: list[Statement], decorators: Expressions = ()) -> None:
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
        scope = self._scope = Scope("function", key, outer, _receiver(outer, decorators, parameters))
        body = self._body_of(node)
        self._scope = outer
        is_async = node.children[0].type == "async"
        self.functions[key] = function_interface(scope, name, decorators, parameters, returns, is_async=is_async)
        local = tuple(sorted(scope.bindings.keys() - scope.elsewhere))
        out.append(nodes.Define(line, name, key, decorators, parameters, returns, local, body))

    def _class(self, node: tree_sitter.Node, out: list[Statement], decorators: Expressions = ()) -> None:
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
        scope = self._scope = Scope("class", key, outer)
        body = self._body_of(node)
        self._scope = outer
        self._variable_symbols(scope, scope.bindings, scope.lines)
        self._variable_symbols(scope, scope.attributes, scope.attribute_lines)
        self.classes[key] = class_interface(scope, name, decorators, bases, keywords)
        out.append(nodes.DefineClass(line, name, key, decorators, bases, keywords, body))

    # --- symbols

    def _new_key(self, scope: Scope, name: str) -> str:
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
                doc_of(self.source, self.kinds, body),
            )
        )

    def _variable_symbols(self, scope: Scope, names: Iterable[str], lines: dict[str, int]) -> None:
        """A symbol for each name that is assigned in a module or class and is no definition or import."""
        for name in names:
            key = f"{scope.key}.{name}" if scope.key else name
            if key in self._keys or not _is_variable(scope, name):
                continue
            self._keys[key] = 1
            self.symbols.append(Symbol(key, name, "variable", lines[name], lines[name]))


def _is_variable(scope: Scope, name: str) -> bool:
    found = scope.bindings.get(name) or [each.binding for each in scope.attributes.get(name, ())]
    return all(type(binding) in nodes.ASSIGNMENTS for binding in found)


def _receiver(outer: Scope, decorators: Expressions, parameters: Parameters) -> str:
    """The name of a method's first parameter; empty where there is none to set attributes on."""
    if outer.kind != "class" or not parameters or parameters[0].kind != nodes.POSITIONAL:
        return ""
    is_static = any(type(decorator) is nodes.Name and decorator.name == "staticmethod" for decorator in decorators)
    return "" if is_static else parameters[0].name


_BY_KIND = {
    "expression_statement": "_expression_statement",
    "return_statement": "_return",
    "break_statement": "_stop",
    "continue_statement": "_stop",
    "raise_statement": "_raise",
    "assert_statement": "_assert",
    "delete_statement": "_other",
    "print_statement": "_other",
    "exec_statement": "_other",
    "global_statement": "_names_of_other_scope",
    "nonlocal_statement": "_names_of_other_scope",
    "import_statement": "_import",
    "import_from_statement": "_from_import",
    "type_alias_statement": "_type_alias",
    "if_statement": "_if",
    "for_statement": "_for",
    "while_statement": "_while",
    "with_statement": "_with",
    "try_statement": "_try",
    "match_statement": "_match",
    "decorated_definition": "_decorated",
    "function_definition": "_define",
    "class_definition": "_class",
}


@cache
def _statement_handlers(
    language: tree_sitter.Language,
) -> dict[int, Callable[..., None]]:
    kinds = kinds_of(language)
    return {kinds.number(kind): getattr(StatementLowering, method) for kind, method in _BY_KIND.items()}
