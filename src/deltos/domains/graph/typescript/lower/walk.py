"""State of a pass over a syntax tree: names in scope, and the symbols and references found so far.

The other modules of this package contain the handlers for node types, which convert ("lower") nodes to facts. A
`Grammar` combines the handlers.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from msgspec import Struct

from deltos.domains.graph.kernel.source_text import SourceText
from deltos.domains.graph.typescript import nodes
from deltos.domains.graph.typescript.facts import MemberUse, Merge, NameUse
from deltos.domains.graph.typescript.lower.globals import WELL_KNOWN_GLOBALS
from deltos.store.symbols import Symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tree_sitter import Node

    from deltos.domains.graph.model import EdgeKind
    from deltos.domains.graph.typescript.facts import Augmentation, ImportLink, ImportOrigin, ImportSite
    from deltos.domains.graph.typescript.nodes import Term

Binding: TypeAlias = "str | int"
TypeBinding: TypeAlias = "str | int | nodes.TypeParameterUse"
Bound = TypeVar("Bound")
ExpressionHandler: TypeAlias = "Callable[[Walk, Node, Term], Term]"
StatementHandler: TypeAlias = "Callable[[Walk, Node], None]"
TypeHandler: TypeAlias = "Callable[[Walk, Node], Term]"

MAX_DEPTH = 180  # maximum nesting depth that is converted; names in deeper code are recorded without types
_MAX_SIGNATURE_CHARACTERS = 200
_MAX_DOC_CHARACTERS = 400
_MAX_SIGNATURE_BYTES = 10 * _MAX_SIGNATURE_CHARACTERS  # maximum number of bytes read for a signature
# Maximum number of names per file that namespaces inherit from earlier declarations of the same namespace
_MAX_INHERITED_NAMES = 200_000
_ORDINAL = re.compile(r"#\d+(?=\.|$)")
_COMMENT_MARK = re.compile(r"/\*\*?|\*/|\*|///?")
_BLOCK_TAG = re.compile(r"@\w")


@dataclass(frozen=True, slots=True)
class Grammar:
    """Functions that convert syntax nodes, by node type."""

    expressions: dict[str, ExpressionHandler]
    statements: dict[str, StatementHandler]
    types: dict[str, TypeHandler]


@dataclass(slots=True)
class Routine:
    """The function being converted, with the return values found so far and the expected return type.

    `returned_object` is the id of the object literal that is being returned, or 0 for other values.
    """

    returns: list[Term] = field(default_factory=list)
    expected: Term = None
    returned_object: int = 0


@dataclass(slots=True)
class ClassFrame:
    """The class being converted; `assigned` contains the members that JavaScript code assigns to `this`."""

    binding: Binding
    key: str
    is_static: bool = False
    assigned: dict[str, tuple[Node, Term]] | None = None


class ScriptText(SourceText):
    """Text of a TypeScript or JavaScript file."""

    __slots__ = ("has_var", "is_javascript")

    def __init__(self, path: str, data: bytes) -> None:
        super().__init__(data)
        self.is_javascript = path.endswith((".js", ".jsx", ".mjs", ".cjs"))
        self.has_var = "var " in self.text


class Findings:
    """Symbols, references and declarations found so far in a pass; entries are never removed."""

    def __init__(self, source: ScriptText) -> None:
        self._source = source
        self.symbols: list[Symbol] = []
        self._symbol_indexes: dict[str, int] = {}  # indexes of symbols in `symbols`, by key
        self._counts: dict[str, int] = {}  # number of symbols with each qualified name
        self.names: list[NameUse] = []
        self.type_names: list[NameUse] = []
        self.members: list[MemberUse] = []
        self.owners: list[Term] = []  # type expressions of the owners of `members`, in the same order
        self.imports: dict[str, ImportOrigin] = {}
        self.exports: dict[str, str | ImportOrigin] = {}
        self.star_exports: list[str] = []
        self.links: list[ImportLink] = []
        self.specifiers: list[ImportSite] = []
        self.declarations: dict[str, list[nodes.Declaration]] = {}
        self.declared: list[str] = []  # names of `declarations`, in order
        self._declared_in: dict[str, list[str]] = {}  # names of `declarations` by namespace
        self._reopened_left = _MAX_INHERITED_NAMES
        self.recent_names: list[str] = []  # names that the current statement declares
        self.merges: list[Merge] = []
        self.augmented: list[Augmentation] = []
        self.expandos: dict[str, dict[str, nodes.ClassMember]] = {}
        self.prototypes: dict[str, dict[str, nodes.ClassMember]] = {}
        self.assigned: dict[str, list[Term]] = {}  # values assigned to variables without a declared type
        self.exported_value: Term = None
        # Whether one exported value has several names, as in `module.exports = exports = value`
        self.has_chained_exports = False
        self.is_module = False

    def add_symbol(self, qualified: str, name: str, kind: str, node: Node, at: Node, signature: str, doc: str) -> str:
        """Add a symbol and return its key."""
        key, count = qualified, self._counts.get(qualified, 1)
        while key in self._symbol_indexes:
            count += 1
            key = f"{qualified}#{count}"
        self._counts[qualified] = count
        self._symbol_indexes[key] = len(self.symbols)
        end_line = self._source.line_at(node.end_byte)
        self.symbols.append(Symbol(key, name, kind, self._source.line(at), end_line, signature, doc))
        return key

    def add_plain_symbol(self, name: str, kind: str, offset: int) -> str:
        """Add a symbol that has no syntax node, such as a symbol in a comment, and return its key."""
        key = name if name not in self._symbol_indexes else f"{name}#{kind}"
        self._symbol_indexes[key] = len(self.symbols)
        line = self._source.line_at(offset)
        self.symbols.append(Symbol(key, name, kind, line, line))
        return key

    def has_key(self, key: str) -> bool:
        """Whether there is a symbol with this key."""
        return key in self._symbol_indexes

    def mark_component(self, key: str) -> None:
        """Change the kind of a symbol to component, because its name is capitalised and it creates JSX elements."""
        index = self._symbol_indexes.get(key)
        if index is not None:
            self.symbols[index] = replace(self.symbols[index], kind="component")

    def declare(self, name: str, declaration: nodes.Declaration, node: Node | None = None) -> None:
        """Add a declaration to the module, or merge it with an earlier type or value declaration of the same name."""
        parts = self.declarations.get(name)
        if parts is None:
            parts = self.declarations[name] = []
            self.declared.append(name)
            self._declared_in.setdefault(name.rpartition(".")[0], []).append(name)
        if node is not None:
            meaning = nodes.MEANINGS[type(declaration)]
            first = next((part.key for part in parts if nodes.MEANINGS[type(part)] & meaning), declaration.key)
            if first != declaration.key:
                self.merges.append(Merge(self._source.line(node), declaration.key, first))
        parts.append(declaration)
        self.recent_names.append(name)

    def declared_before(self, container: str) -> list[str]:
        """Return the names that earlier declarations of a namespace contain, up to a limit per file."""
        names = self._declared_in.get(container, [])
        known = names[: max(0, self._reopened_left)]
        self._reopened_left -= len(known)
        return known


class _ShadowedNames(Struct):
    """Names that a scope shadows, each with its previous binding."""

    values: list[tuple[str, Binding | None]]
    types: list[tuple[str, TypeBinding | None]]


# These are classes, because generator-based context managers took a tenth of the total time.


class _NameScope:
    """Context manager for a scope, which restores the previous bindings of names when it closes."""

    __slots__ = ("_types", "_values", "shadowed")

    def __init__(self, values: dict[str, Binding], types: dict[str, TypeBinding]) -> None:
        self._values = values
        self._types = types
        self.shadowed: list[_ShadowedNames] = []

    def __enter__(self) -> None:
        self.shadowed.append(_ShadowedNames([], []))

    def __exit__(self, *_: object) -> None:
        closed = self.shadowed.pop()
        if closed.values:
            _restore(self._values, closed.values)
        if closed.types:
            _restore(self._types, closed.types)


class _RestoredAttribute:
    """Context manager that restores the previous value of a `Scopes` attribute."""

    __slots__ = ("_attribute", "_former", "_scopes")

    def __init__(self, scopes: Scopes, attribute: str, former: object) -> None:
        self._scopes = scopes
        self._attribute = attribute
        self._former = former

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        setattr(self._scopes, self._attribute, self._former)


class _FunctionBody:
    """Context manager for a function body, which restores the state of the enclosing code when the body ends."""

    __slots__ = ("_enclosing", "_in_function", "_routine", "_scopes")

    def __init__(self, scopes: Scopes, frame: ClassFrame | None) -> None:
        self._scopes = scopes
        self._routine, scopes.routine = scopes.routine, Routine()
        self._in_function, scopes.in_function = scopes.in_function, True
        self._enclosing, scopes.enclosing = scopes.enclosing, frame

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        scopes = self._scopes
        scopes.routine, scopes.in_function = self._routine, self._in_function
        scopes.enclosing = self._enclosing


class Scopes:
    """State at the current position: names in scope, and the enclosing symbol, class and function."""

    def __init__(self) -> None:
        self.values: dict[str, Binding] = {}
        self.types: dict[str, TypeBinding] = {}
        self.name_scope = _NameScope(self.values, self.types)
        self.locals: list[Term] = []
        self.local_keys: dict[int, str] = {}
        # For each binding of a hoisted local function: line, source and kind of each use before the declaration.
        self.early_uses: dict[int, list[tuple[int, str, EdgeKind]]] = {}
        self.local_uses = 0  # number of uses of local variables; a declaration without such uses needs no inlining
        self.untyped: set[Binding] = set()  # variables without a declared type
        self.symbol = ""  # key of the enclosing symbol
        self.container = ""  # dotted name of the enclosing namespace
        self.enclosing: ClassFrame | None = None
        self.routine = Routine()
        self.in_function = False
        self.in_literal = False

    def expect_function(self, name: str) -> None:
        """Start to record the uses of a hoisted local function that precede its declaration."""
        binding = self.values.get(name)
        if isinstance(binding, int):
            self.early_uses[binding] = []

    def inside_symbol(self, symbol: str) -> _RestoredAttribute:
        """Return a context that attributes references to the given symbol."""
        outer, self.symbol = self.symbol, symbol
        return _RestoredAttribute(self, "symbol", outer)

    def inside_literal(self) -> _RestoredAttribute:
        """Return a context in which members of object literals do not become members of the current symbol."""
        outer, self.in_literal = self.in_literal, True
        return _RestoredAttribute(self, "in_literal", outer)

    def inside_namespace(self, container: str) -> _RestoredAttribute:
        """Return a context that attributes declarations to the given namespace."""
        outer, self.container = self.container, container
        return _RestoredAttribute(self, "container", outer)

    def with_this(self, frame: ClassFrame | None) -> _RestoredAttribute:
        """Return a context in which `this` is the given class or object."""
        outer, self.enclosing = self.enclosing, frame
        return _RestoredAttribute(self, "enclosing", outer)

    def function_body(self, frame: ClassFrame | None) -> _FunctionBody:
        """Return a context for a function body in which `this` belongs to `frame`."""
        return _FunctionBody(self, frame)

    def names_in_function(self) -> set[str]:
        """Return the names that the current function declares as parameters or in its outermost block."""
        return {name for scope in self.name_scope.shadowed[-2:] for name, _ in (*scope.values, *scope.types)}

    def bind_value(self, name: str, binding: Binding) -> None:
        """Bind a name to a value until the scope closes."""
        if self.name_scope.shadowed:
            self.name_scope.shadowed[-1].values.append((name, self.values.get(name)))
        self.values[name] = binding

    def bind_type(self, name: str, binding: TypeBinding) -> None:
        """Bind a name to a type until the scope closes."""
        if self.name_scope.shadowed:
            self.name_scope.shadowed[-1].types.append((name, self.types.get(name)))
        self.types[name] = binding

    def add_local(self, term: Term = None) -> int:
        """Create a local variable or type and return its number, which is negative, unlike flags and positions."""
        self.locals.append(term)
        return -len(self.locals)

    def set_local(self, local: int, term: Term) -> None:
        """Set the type expression of a local variable or type."""
        self.locals[~local] = term

    def bind_local(self, name: str, term: Term = None) -> int:
        """Create a local variable and bind its name."""
        local = self.add_local(term)
        self.bind_value(name, local)
        return local

    def bind_type_parameter(self, name: str, constraint: Term) -> None:
        """Bind the name of a type parameter to the type parameter and its constraint."""
        self.bind_type(name, nodes.TypeParameterUse(name, constraint if nodes.is_light(constraint) else None))

    def reusable(self, term: Term) -> Term:
        """Return a type expression that may be repeated: the given one if it is small, otherwise a new local."""
        if nodes.is_light(term):
            return term
        self.local_uses += 1
        return self.add_local(term)


class Walk:
    """A pass over the syntax tree of one file, which collects the file's facts."""

    def __init__(self, path: str, data: bytes, grammar: Grammar) -> None:
        self.source = ScriptText(path, data)
        self.scopes = Scopes()
        self.findings = Findings(self.source)
        self._grammar = grammar
        self.depth = 0
        self.jsx_count = 0  # number of JSX elements so far
        self.shared: dict[Term, Term] = {}  # one object for equal type expressions, so that each is evaluated once
        self.parameter_properties: list[tuple[str, Term, Node]] = []  # constructor parameters that are also members
        self.comment: Node | None = None
        self._cached_doc: tuple[int, str] = (-1, "")  # start offset of a comment and its text
        self.implemented: set[str] = set()  # keys of hoisted functions with a body

    def inside_comment(self, data: bytes, offset: int) -> Walk:
        """Return a pass over the code in a comment at an offset in the file."""
        inner = Walk("", data, self._grammar)
        inner.scopes, inner.shared, inner.depth, inner.findings = self.scopes, self.shared, self.depth, self.findings
        inner.source.first_line = self.source.line_at(offset)
        return inner

    # Dispatch

    def lower_expression(self, node: Node, expected: Term = None) -> Term:
        """Record the references in an expression and return its type expression."""
        handler = self._grammar.expressions.get(node.type)
        if handler is None:
            handler = _lower_children
        if self.depth > MAX_DEPTH:
            self.record_plain_names(node)
            return None
        self.depth += 1
        term = handler(self, node, expected)
        self.depth -= 1
        return term

    def lower_statement(self, node: Node) -> None:
        """Record the declarations and references in a statement."""
        handler = self._grammar.statements.get(node.type)
        if handler is None:
            self.lower_expression(node)
        elif self.depth > MAX_DEPTH:
            self.record_plain_names(node)
        else:
            self.depth += 1
            handler(self, node)
            self.depth -= 1

    def lower_type(self, node: Node) -> Term:
        """Record the references in a type annotation and return its type expression."""
        if self.depth > MAX_DEPTH:
            self.record_plain_names(node)
            return None
        self.depth += 1
        term = self._grammar.types.get(node.type, _lower_child_types)(self, node)
        self.depth -= 1
        return term

    def record_plain_names(self, node: Node) -> None:
        """Record the plain names in a subtree that is nested too deeply to be converted."""
        stack = [node]
        while stack:
            node = stack.pop()
            kind = node.type
            if kind in ("identifier", "shorthand_property_identifier"):
                self.lower_name(node, "read")
            elif kind == "type_identifier":
                self.lower_type_name(node)
            else:
                stack.extend(node.children)

    # --- references

    def lower_name(self, node: Node, kind: EdgeKind) -> Term:
        """Record a reference by plain name and return its type expression."""
        start, source = node.start_byte, self.source
        name = source.text[start : node.end_byte] if source.is_ascii else source.name(node)
        return self.lower_name_at(name, start, kind)

    def lower_name_at(self, name: str, start: int, kind: EdgeKind) -> Term:
        """Record a reference to a name at an offset and return its type expression."""
        scopes = self.scopes
        binding = scopes.values.get(name)
        if isinstance(binding, int):
            scopes.local_uses += 1
            if binding in scopes.local_keys:
                self._record_name(start, kind, scopes.local_keys[binding], is_symbol=True)
            elif binding in scopes.early_uses:
                line = self.source.line_at(start)
                scopes.early_uses[binding].append((line, scopes.symbol, kind))
        elif binding is not None:
            self._record_name(start, kind, binding)
        elif name in WELL_KNOWN_GLOBALS:
            return name
        else:
            self._record_name(start, kind, name)
            binding = name
        return binding

    def name_function(self, binding: int, key: str) -> None:
        """Set the symbol of a local function, and record the earlier uses of its name as references to the symbol."""
        self.scopes.local_keys[binding] = key
        for line, symbol, kind in self.scopes.early_uses.pop(binding, ()):
            self.findings.names.append(NameUse(line, symbol, kind, key, is_symbol=True))

    def _record_name(self, start: int, kind: EdgeKind, name: str, *, is_symbol: bool = False) -> None:
        line = self.source.line_at(start)
        self.findings.names.append(NameUse(line, self.scopes.symbol, kind, name, is_symbol))

    def lower_type_name(self, node: Node, kind: EdgeKind = "type") -> TypeBinding:
        """Record a reference to a type by plain name and return the binding of the name."""
        name = self.source.name(node)
        binding = self.scopes.types.get(name)
        if binding is None:
            if name not in WELL_KNOWN_GLOBALS:
                self.findings.type_names.append(NameUse(self.source.line(node), self.scopes.symbol, kind, name))
            return name
        if isinstance(binding, str):
            self.findings.type_names.append(NameUse(self.source.line(node), self.scopes.symbol, kind, binding))
        elif isinstance(binding, int) and binding in self.scopes.local_keys:
            key = self.scopes.local_keys[binding]
            self.findings.type_names.append(
                NameUse(self.source.line(node), self.scopes.symbol, kind, key, is_symbol=True)
            )
        return binding

    def record_member(self, node: Node, kind: EdgeKind, owner: Term, name: str) -> None:
        """Record a reference to a member of a value."""
        line = self.source.line_at(node.start_byte)
        self.findings.members.append(MemberUse(line, self.scopes.symbol, kind, name))
        self.findings.owners.append(owner)

    # --- definitions

    def add_symbol(
        self,
        name: str,
        kind: str,
        node: Node,
        *,
        at: Node | None = None,
        body: Node | None = None,
        owner: str | None = None,
    ) -> str:
        """Add a symbol with its signature and documentation, and return its key."""
        start = node.start_byte
        end = min(node.end_byte, start + _MAX_SIGNATURE_CHARACTERS)
        if body is not None:
            end = min(body.start_byte, start + _MAX_SIGNATURE_BYTES)
        signature = " ".join(self.source.slice(start, end).split()).rstrip(" {=")[:_MAX_SIGNATURE_CHARACTERS]
        qualified = qualified_name(self.scopes.symbol if owner is None else owner, name)
        return self.findings.add_symbol(qualified, name, kind, node, at or node, signature, self._doc())

    def component_scope(self, key: str, name: str) -> AbstractContextManager[None]:
        """Return a context in which a symbol with a capitalised name becomes a component if it creates JSX elements."""
        return _ComponentScope(self, key) if name[:1].isupper() else nullcontext()

    def _doc(self) -> str:
        """Return the text of the comment above the current declaration, and clear it so that it is used only once."""
        node, self.comment = self.comment, None
        if node is None:
            return ""
        start = node.start_byte
        if self._cached_doc[0] != start:  # cached, because all variables of a declaration share a comment
            self._cached_doc = (start, _comment_words(self.source.slice(start, node.end_byte)))
        return self._cached_doc[1]


class _ComponentScope:
    """Context manager that marks a symbol as a component if it creates JSX elements."""

    __slots__ = ("_count", "_key", "_walk")

    def __init__(self, walk: Walk, key: str) -> None:
        self._walk = walk
        self._key = key
        self._count = walk.jsx_count

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        if self._walk.jsx_count > self._count:
            self._walk.findings.mark_component(self._key)


def _restore(table: dict[str, Bound], shadowed: list[tuple[str, Bound | None]]) -> None:
    """Restore the previous bindings of names."""
    for name, previous in reversed(shadowed):
        if previous is None:
            del table[name]
        else:
            table[name] = previous


def _comment_words(comment: str) -> str:
    """Return the text of a comment up to the first tag, without comment marks."""
    words: list[str] = []
    for line in comment.split("\n"):
        text = line.strip()
        mark = _COMMENT_MARK.match(text)
        text = (text[mark.end() :].lstrip() if mark else text).removesuffix("*/")
        if _BLOCK_TAG.match(text):
            break
        words += text.split()
    return " ".join(words)[:_MAX_DOC_CHARACTERS]


def qualified_name(owner: str, name: str) -> str:
    """Return the dotted name of a member, without ordinals such as `#2` in the key of its owner."""
    return f"{_ORDINAL.sub('', owner)}.{name}" if owner else name


def lower_expressions(walk: Walk, nodes: Iterable[Node]) -> None:
    """Record the references in several expressions."""
    for node in nodes:
        if node.is_named:
            walk.lower_expression(node)


def _lower_child_types(walk: Walk, node: Node) -> Term:
    for child in node.children:
        if child.is_named:
            walk.lower_type(child)
    return None


def _lower_children(walk: Walk, node: Node, _expected: Term) -> Term:
    for child in node.children:
        if child.is_named:
            walk.lower_statement(child)
    return None
