"""Facts about one file: what it imports, which names it uses how, and what its declarations say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltos.domains.graph.declared.facts import (
    UNKNOWN,
    Occurrence,
    ScopeTypes,
    SourceBody,
    SourceInterface,
    TopDefinition,
)
from deltos.domains.graph.declared.imports import read_import, read_package
from deltos.domains.graph.declared.shapes import SHAPES, GrammarShape
from deltos.domains.graph.definitions import as_symbols
from deltos.domains.graph.kernel.resolver import FileFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import tree_sitter

    from deltos.domains.graph.declared.facts import AccessPath, ImportClause
    from deltos.languages.model import Definition
    from deltos.store.symbols import Symbol
    from deltos.workspace.indexer import ParsedFile

TYPE_KINDS = frozenset({"class", "interface", "enum", "type"})
_LONGEST_PATH = 8


@dataclass(slots=True)
class _DeclaredScope:
    """What the declarations inside one definition say."""

    types: dict[str, AccessPath] = field(default_factory=dict)
    bases: list[AccessPath] = field(default_factory=list)
    returns: AccessPath = ()

    def frozen(self) -> ScopeTypes:
        """The same as it is stored, in an order of its own."""
        return ScopeTypes(dict(sorted(self.types.items())), tuple(dict.fromkeys(self.bases)), self.returns)


def extract(file: ParsedFile) -> FileFacts:
    """Symbols, interface and body of a file."""
    from deltos.languages.outline import outline  # deferred: needs the parser library

    if file.language is None or file.tree is None:
        return FileFacts((), None, None)
    definitions = outline(file.language, file.tree, file.data)
    symbols = tuple(as_symbols(definitions))
    reader = _SourceReader(file.data, SHAPES[file.language.name], file.language.name, definitions, symbols)
    reader.read(file.tree.root_node)
    return reader.facts()


class _SourceReader:
    def __init__(
        self,
        data: bytes,
        shape: GrammarShape,
        language: str,
        definitions: Sequence[Definition],
        symbols: Sequence[Symbol],
    ) -> None:
        self._data = data
        self._shape = shape
        self._language = language
        self._symbols = symbols
        self._spans = _Spans(definitions, symbols)
        self._names = {(symbol.line, symbol.name) for symbol in symbols}
        self._uses: list[Occurrence] = []
        self._imports: list[ImportClause] = []
        self._import_lines: list[int] = []
        self._package = ""
        self._scopes: dict[str, _DeclaredScope] = {}

    def read(self, root: tree_sitter.Node) -> None:
        """Visit every node once, outermost first; without recursion, for source may nest without end."""
        pending: list[tuple[tree_sitter.Node, str]] = [(root, "read")]
        shape = self._shape
        while pending:
            node, role = pending.pop()
            kind = node.type
            if kind in shape.skipped:
                continue
            if kind in shape.imports:
                found = list(read_import(self._language, node, self._text))
                self._imports.extend(found)
                self._import_lines.extend([node.start_point[0] + 1] * len(found))
                if found or kind != "call":  # Ruby's imports are calls like any other
                    continue
            if kind in shape.packages:
                self._package = self._package or read_package(node, self._text)
                name = node.child_by_field_name("name") or _first(node)  # says where this file is, refers to nothing
                pending.extend((child, "read") for child in reversed(node.named_children) if child != name)
                continue
            if kind in shape.names and not node.child_count:
                self._note(node, "type" if role == "read" and kind == "type_identifier" else role, None)
                continue
            self._declare(node, kind)
            pending.extend(reversed(list(self._children(node, kind, role))))

    def facts(self) -> FileFacts:
        """Everything read, in the form that is stored."""
        type_keys = self._spans.type_keys
        tops = [
            TopDefinition(symbol.name, symbol.key, symbol.kind)
            for symbol in self._symbols
            if not _inside_type(symbol.key, type_keys) and "#" not in symbol.key
        ]
        interface = SourceInterface(
            self._package,
            tuple(tops),
            {key: s.frozen() for key, s in sorted(self._scopes.items()) if key in type_keys or s.returns},
            tuple(self._imports),
            tuple(sorted(type_keys)),
            {symbol.key: symbol.kind for symbol in self._symbols},
        )
        locals_ = {key: scope.types for key, scope in self._scopes.items()}
        body = SourceBody(tuple(self._uses), locals_, tuple(self._import_lines))
        return FileFacts(tuple(self._symbols), interface, body)

    # --- nodes

    def _children(self, node: tree_sitter.Node, kind: str, role: str) -> Iterable[tuple[tree_sitter.Node, str]]:
        shape = self._shape
        if kind in shape.members:
            yield from self._member(node, kind, role)
            return
        if kind in shape.inherits:
            role = "inherit"
        elif kind in shape.decorates:
            role = "decorate"
        elif kind in shape.types and role in ("read", "type"):
            role = "type"
        called = _first(node) if kind in _GENERIC_NAMES and role == "call" else self._callee(node, kind)
        for child in node.named_children:
            if child == called:
                yield child, "call"
            elif role in ("inherit", "decorate") and child.type in ("argument_list", "arguments", "value_arguments"):
                yield child, "read"
            else:
                yield child, role if role != "call" else "read"

    def _callee(self, node: tree_sitter.Node, kind: str) -> tree_sitter.Node | None:
        if kind in self._shape.creations:
            return node.child_by_field_name("type") or node.child_by_field_name("name") or _first(node)
        if kind not in self._shape.calls:
            return None
        name = self._shape.calls[kind]
        return node.child_by_field_name(name) if name else _first(node)

    def _member(self, node: tree_sitter.Node, kind: str, role: str) -> Iterable[tuple[tree_sitter.Node, str]]:
        """Note the member's name with the path to it; go on with the object and the arguments."""
        receiver, name = self._member_parts(node, kind)
        if name is None:
            yield from ((child, "read") for child in node.named_children)
            return
        if name.child_count and name.type not in self._shape.members:
            name = _first(name) or name  # a generic name: `Foo<T>`
        if receiver is None:
            self._note(name, "call" if kind in self._shape.calls else role, None)
        else:
            is_call = role == "call" or self._shape.calls.get(kind) in ("name", "method")
            self._note(name, "call" if is_call else role, self._path(receiver))
            yield receiver, "read"
        for child in node.named_children:
            if child not in (receiver, name):
                yield child, "read"

    def _member_parts(
        self, node: tree_sitter.Node, kind: str
    ) -> tuple[tree_sitter.Node | None, tree_sitter.Node | None]:
        object_field, name_field = self._shape.members[kind]
        children = node.named_children
        name = node.child_by_field_name(name_field) if name_field else (children[-1] if children else None)
        if object_field:
            return node.child_by_field_name(object_field) or _keyword(node, self._shape), name
        return (children[0] if len(children) > 1 else _keyword(node, self._shape)), name

    def _note(self, node: tree_sitter.Node, role: str, receiver: AccessPath | None) -> None:
        name = self._text(node)
        line = node.start_point[0] + 1
        if receiver is None and (line, name) in self._names:
            self._names.discard((line, name))  # the definition itself
            return
        if name in self._shape.receivers or not name:
            return
        if role == "inherit":
            owner = self._spans.type_at(line)
            if owner:
                self._scope(owner).bases.append((*(receiver or ()), name))
        self._uses.append(Occurrence(line, self._spans.key_at(line), name, role, receiver))

    # --- paths

    def _path(self, node: tree_sitter.Node | None) -> AccessPath:
        """How an expression is reached from names; a step that is no name or call is unknown."""
        steps: list[str] = []
        suffix = ""
        while node is not None and len(steps) < _LONGEST_PATH:
            kind = node.type
            if kind in self._shape.members:
                receiver, name = self._member_parts(node, kind)
                if kind in self._shape.calls and self._shape.calls[kind] in ("name", "method"):
                    suffix = "()"
                steps.append(self._last(name) + suffix)
                suffix = ""
                node = receiver
                if node is None:
                    return tuple(reversed(steps))
            elif kind in self._shape.calls or kind in self._shape.creations:
                node, suffix = self._callee(node, kind), "()"
            elif kind in _TRANSPARENT:
                node = _first(node)
            else:
                steps.append(self._simple(node) + suffix)
                return tuple(reversed(steps))
        return (UNKNOWN, *reversed(steps))

    def _simple(self, node: tree_sitter.Node) -> str:
        text = self._text(node)
        if node.type in self._shape.names or text in self._shape.receivers or node.type in _VARIABLES:
            return text
        if node.type in self._shape.types:
            return self._last(node)
        return text if text in ("crate", "super") else UNKNOWN

    def _last(self, node: tree_sitter.Node | None) -> str:
        """The name in a type or name node: `Foo` of `*pkg.Foo[T]`."""
        while node is not None and node.child_count:
            inner = node.child_by_field_name("name") or node.child_by_field_name("type") or _first(node)
            if inner is None:
                break
            node = inner
        return self._text(node) if node is not None else UNKNOWN

    def _type_path(self, node: tree_sitter.Node) -> AccessPath:
        """A declared type as a path: `("pkg", "Foo")`."""
        while node.type not in self._shape.members and node.child_count:
            inner = node.child_by_field_name("type") or node.child_by_field_name("name") or _first(node)
            if inner is None:
                break
            node = inner
        return self._path(node)

    # --- declarations

    def _declare(self, node: tree_sitter.Node, kind: str) -> None:
        shape = self._shape
        if kind in shape.functions:
            self._declare_return(node)
        if kind not in shape.locals and kind not in shape.fields:
            return
        line = node.start_point[0] + 1
        key = self._spans.type_at(line) if kind in shape.fields and not self._spans.is_in_function(line) else ""
        scope = self._scope(key or self._spans.key_at(line))
        declared = self._declared_type(node)
        for name, value in self._declarators(node):
            path = declared or (self._path(value) if value is not None else (UNKNOWN,))
            if name.startswith("@"):  # Ruby's instance variables are the object's, wherever they are assigned
                self._scope(self._spans.type_at(line)).types.setdefault(name, path)
            else:
                scope.types.setdefault(name.removeprefix("$") if key else name, path)
        if kind in shape.fields and declared and self._language == "go" and not node.child_by_field_name("name"):
            scope.bases.append(declared)  # an embedded struct

    def _declare_return(self, node: tree_sitter.Node) -> None:
        for name in ("return_type", "result", "returns", "type"):
            declared = node.child_by_field_name(name)
            if declared is not None:
                self._scope(self._spans.key_at(node.start_point[0] + 1)).returns = self._type_path(declared)
                return

    def _declared_type(self, node: tree_sitter.Node) -> AccessPath:
        declared = node.child_by_field_name("type")
        if declared is None:
            declared = next((child for child in node.named_children if child.type in self._shape.types), None)
            if declared is None or node.type in _UNTYPED:
                inner = next((c for c in node.named_children if c.type == "variable_declaration"), None)
                return self._declared_type(inner) if inner is not None else ()
        path = self._type_path(declared)
        return () if path[-1] in ("var", "auto", "val", UNKNOWN) or declared.type == "implicit_type" else path

    def _declarators(self, node: tree_sitter.Node) -> Iterable[tuple[str, tree_sitter.Node | None]]:
        """Each name that a declaration introduces, with the value it starts with."""
        inner = [child for child in node.named_children if child.type in _DECLARATORS]
        if inner:
            for child in inner:
                value = _value(child) or (_value(node) if len(inner) == 1 else None)
                yield from ((name, value) for name, _ in self._declarators(child))
            return
        target = next((t for name in _TARGET_FIELDS if (t := node.child_by_field_name(name)) is not None), None)
        if target is None:
            target = next(
                (child for child in node.named_children if child.type in (*self._shape.names, *_VARIABLES)), None
            )
        if target is None:
            return
        leaves = list(_leaves(target, self._shape.names | _VARIABLES))
        value = _value(node)
        for leaf in leaves:
            yield self._text(leaf), value if len(leaves) == 1 else None

    def _scope(self, key: str) -> _DeclaredScope:
        return self._scopes.setdefault(key, _DeclaredScope())

    def _text(self, node: tree_sitter.Node) -> str:
        return self._data[node.start_byte : node.end_byte].decode("utf-8", "replace")


_TRANSPARENT = frozenset(
    (
        "parenthesized_expression await_expression unary_expression reference_expression expression_list "
        "pointer_expression try_expression generic_name template_type literal_element argument"
    ).split()
)
_VARIABLES = frozenset(
    (
        "variable_name instance_variable field_identifier simple_identifier package_identifier relative_scope self "
        "this super crate this_expression namespace_name"
    ).split()
)
_GENERIC_NAMES = frozenset({"generic_name", "template_function", "generic_function", "parenthesized_expression"})
_DECLARATORS = frozenset({"variable_declarator", "init_declarator", "property_element", "variable_declaration"})
_UNTYPED = frozenset(
    {"assignment_expression", "assignment", "short_var_declaration", "method_parameters", "block_parameters"}
)
_TARGET_FIELDS = ("name", "declarator", "pattern", "left")


def _first(node: tree_sitter.Node) -> tree_sitter.Node | None:
    return node.named_children[0] if node.named_child_count else None


def _keyword(node: tree_sitter.Node, shape: GrammarShape) -> tree_sitter.Node | None:
    """An object that is a bare keyword: `this` is no named node in some grammars."""
    first = node.children[0] if node.child_count else None
    return first if first is not None and first.type in shape.receivers else None


def _value(node: tree_sitter.Node) -> tree_sitter.Node | None:
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    if value is None and node.named_child_count > 1 and node.type in (*_DECLARATORS, "property_declaration"):
        value = node.named_children[-1]
    return value


def _leaves(node: tree_sitter.Node, kinds: frozenset[str]) -> Iterable[tree_sitter.Node]:
    """The names in a declared pattern; not those of its types."""
    pending = [node]
    while pending:
        current = pending.pop()
        if current.type in kinds:
            yield current
        elif current.type not in (
            "parameter_list",
            "field_expression",
            "call",
            "element_reference",
            "member_access_expression",
        ):
            pending.extend(reversed(current.named_children))


def _inside_type(key: str, type_keys: frozenset[str]) -> bool:
    container = key.rpartition(".")[0]
    while container:
        if container in type_keys:
            return True
        container = container.rpartition(".")[0]
    return False


class _Spans:
    """Which definition stands around a line: looked up once per line, for a file may have more uses than lines."""

    def __init__(self, definitions: Sequence[Definition], symbols: Sequence[Symbol]) -> None:
        self.type_keys = frozenset(s.key for s in symbols if s.kind in TYPE_KINDS)
        last = max([definition.end_line for definition in definitions], default=0)
        self._keys = [""] * (last + 1)
        self._types = [""] * (last + 1)
        pairs = sorted(zip(definitions, symbols, strict=True), key=lambda pair: (pair[0].start_line, -pair[0].end_line))
        for definition, symbol in pairs:  # outer ones first, so that inner ones stay
            if definition.kind in ("property", "variable", "module", "namespace"):
                continue
            lines = slice(definition.start_line, definition.end_line + 1)
            count = definition.end_line + 1 - definition.start_line
            self._keys[lines] = [symbol.key] * count
            if symbol.key in self.type_keys:
                self._types[lines] = [symbol.key] * count

    def key_at(self, line: int) -> str:
        """The innermost definition around a line that is no mere property; empty at the top level."""
        return self._keys[line] if line < len(self._keys) else ""

    def type_at(self, line: int) -> str:
        """The innermost type around a line."""
        return self._types[line] if line < len(self._types) else ""

    def is_in_function(self, line: int) -> bool:
        """Whether the innermost definition around a line is a function."""
        key = self.key_at(line)
        return bool(key) and key not in self.type_keys
