"""Extract facts from one file: imports, declared types, and uses of names with their roles (such as call or type)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec.structs import replace

from deltos.domains.graph.declared.declarations import UNKNOWN_PATH, Binding, Declarations
from deltos.domains.graph.declared.environment import Environment
from deltos.domains.graph.declared.facts import (
    UNKNOWN,
    AccessPath,
    MacroName,
    Occurrence,
    ScopeTypes,
    SourceBody,
    SourceInterface,
    TopDefinition,
    path_of_call,
)
from deltos.domains.graph.declared.imports import read_package
from deltos.domains.graph.declared.languages import TRAITS
from deltos.domains.graph.declared.node_text import NodeText, first_child
from deltos.domains.graph.declared.phpdoc import Documentation, split_qualified_name
from deltos.domains.graph.definitions import as_symbols
from deltos.domains.graph.kernel.resolver import FileFacts
from deltos.domains.graph.model import UNPARSED_MACRO

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import tree_sitter

    from deltos.domains.graph.declared.facts import ImportClause
    from deltos.domains.graph.declared.languages.traits import LanguageTraits
    from deltos.languages.model import Definition
    from deltos.store.symbols import Symbol
    from deltos.workspace.indexer import ParsedFile

TYPE_KINDS = frozenset({"class", "interface", "enum", "type"})
_TYPE_ROLES = frozenset({"type", "inherit", "create"})
_GENERIC_NODE_TYPES = frozenset({"generic_name", "template_function", "generic_function", "parenthesized_expression"})
_ASSIGNMENT_NODE_TYPES = frozenset({"assignment_expression", "assignment"})
_PROTOTYPE_NODE_TYPES = frozenset({"declaration", "field_declaration", "type_definition"})
# Node types of PHP constructor parameters that are also properties.
_PROMOTED_PARAMETER_NODE_TYPES = frozenset({"property_promotion_parameter"})
_KINDS_WITHOUT_USES = frozenset({"property", "variable", "namespace"})
_CALLABLE_KINDS = frozenset({"function", "method"})
_MACRO_NODE_TYPES = frozenset({"macro_invocation", "expression_statement"})
# Parent nodes in which a Rust macro call may contain definitions.
_ITEM_LISTS = frozenset({"source_file", "declaration_list"})


@dataclass(slots=True)
class _DeclaredScope:
    """Types collected from the declarations inside a definition, such as a class or function."""

    types: dict[str, AccessPath] = field(default_factory=dict)
    bases: list[str] = field(default_factory=list)
    returns: str = ""

    def to_scope_types(self) -> ScopeTypes:
        """Return the collected types as the record that is stored, sorted by name."""
        return ScopeTypes(dict(sorted(self.types.items())), tuple(dict.fromkeys(self.bases)), self.returns)


class _VisitNode(NamedTuple):
    """Traversal step that visits a syntax node; names in the node have the given role."""

    node: tree_sitter.Node
    role: str


class _BindNames(NamedTuple):
    """Traversal step that binds the declared names after the declaration was visited."""

    bindings: list[Binding]


class _OpenScope(NamedTuple):
    """Traversal step that opens a scope without visiting a node."""


class _CloseScope(NamedTuple):
    """Traversal step that closes the innermost scope."""


_Step: TypeAlias = _VisitNode | _BindNames | _OpenScope | _CloseScope


def extract(file: ParsedFile) -> FileFacts:
    """Return the symbols and facts of a file."""
    from deltos.languages.outline import outline  # deferred, because it loads the parser library

    if file.language is None or file.tree is None:
        return FileFacts((), None, None)
    definitions = outline(file.language, file.tree, file.data)
    symbols = tuple(as_symbols(definitions))
    reader = FactCollector(file.data, TRAITS[file.language.name], definitions, symbols)
    reader.read(file.tree.root_node)
    return reader.facts()


class FactCollector:
    """Collects the facts of a file in one pass over its syntax tree."""

    def __init__(
        self, data: bytes, traits: LanguageTraits, definitions: Sequence[Definition], symbols: Sequence[Symbol]
    ) -> None:
        self.traits = traits
        self.symbols = symbols
        self.spans = _DefinitionSpans(definitions, symbols)
        self.environment = Environment()
        self.node_text = NodeText(data, traits, self.environment)
        self.documentation = Documentation()
        self.declarations = Declarations(self.node_text, traits, self.documentation)
        self._names = {(symbol.line, symbol.name): symbol.kind for symbol in symbols}
        self._properties = {(symbol.line, symbol.name) for symbol in symbols if symbol.kind == "property"}
        self.keys = {symbol.key for symbol in symbols}
        self.macros: dict[str, tuple[MacroName, ...]] = {}
        self._prototypes: set[str] = set()
        self.own_names: frozenset[str] | None = None
        self.bound: set[int] = set()
        self.defined: set[int] = set()
        self.uses: list[Occurrence] = []
        self.imports: list[ImportClause] = []
        self._import_lines: list[int] = []
        # Line and name of each Rust statement `mod name;`, which imports a file and opens no scope.
        self._files_of_modules: set[tuple[int, str]] = set()
        self._package = ""
        self.implementing: dict[int, str] = {}
        self.literal_types: dict[int, AccessPath] = {}
        self.assigned: dict[tuple[str, str], AccessPath] = {}
        self.unconditional: set[int] = set()
        self._scopes: dict[str, _DeclaredScope] = {}

    def read(self, root: tree_sitter.Node) -> None:
        """Visit every node once, in source order."""
        # Iterative, because deeply nested code would exceed the recursion limit.
        pending: list[_Step] = [_VisitNode(root, "read")]
        while pending:
            step = pending.pop()
            if isinstance(step, _VisitNode):
                pending.extend(reversed(self._visit(step.node, step.role)))
            elif isinstance(step, _BindNames):
                self._bind_names(step.bindings)
            elif isinstance(step, _OpenScope):
                self.environment.enter()
            else:
                self.environment.leave()

    def facts(self) -> FileFacts:
        """Return the collected facts as the records that are stored."""
        type_keys = self.spans.type_keys
        for (owner, name), path in self.assigned.items():
            types = self.scope(owner).types
            if path != UNKNOWN_PATH and types.get(name, UNKNOWN_PATH) == UNKNOWN_PATH:
                types[name] = path
        symbols = [each for each in self.symbols if (each.line, each.name) not in self._files_of_modules]
        top_level = [
            TopDefinition(symbol.name, symbol.key, symbol.kind)
            for symbol in symbols
            if not self._is_member(symbol) and ("#" not in symbol.key or self._is_in_other_c_namespace(symbol))
        ]
        interface = SourceInterface(
            self._package,
            tuple(top_level),
            {key: s.to_scope_types() for key, s in sorted(self._scopes.items()) if s.types or s.bases or s.returns},
            tuple(self.imports),
            tuple(sorted(type_keys)),
            {symbol.key: symbol.kind for symbol in symbols},
            tuple(sorted(symbol.key for symbol in self.symbols if self._is_file_local(symbol))),
            self.macros,
            tuple(sorted(self._prototypes)),
        )
        body = SourceBody(tuple(self.uses), tuple(self._import_lines))
        return FileFacts(tuple(self.symbols), interface, body)

    def _is_member(self, symbol: Symbol) -> bool:
        """Whether a symbol is a member of a type or is local to a function."""
        container = symbol.key.rpartition(".")[0]
        if self.traits.has_separate_tags and symbol.kind == "variable":
            container = container.rpartition(".")[0]  # enum constants belong to the scope that contains the enum
        if symbol.kind == "method" and container:
            return True  # the type may be defined in another file
        while container:
            if container in self.spans.type_keys or container in self.spans.function_keys:
                return True
            container = container.rpartition(".")[0]
        return False

    def _is_in_other_c_namespace(self, symbol: Symbol) -> bool:
        """Whether C has an earlier symbol of this name in another name space, as for a struct tag and a function."""
        first = next(each for each in self.symbols if each.key == symbol.label)
        return self.traits.has_separate_tags and (first.kind in TYPE_KINDS) != (symbol.kind in TYPE_KINDS)

    def _is_file_local(self, symbol: Symbol) -> bool:
        """Whether a C or C++ symbol is static, so that code in other files cannot link to it."""
        return self.traits.links_by_name and symbol.signature.startswith("static ")

    # --- nodes

    def _visit(self, node: tree_sitter.Node, role: str) -> list[_Step]:
        """Visit a node and return the following traversal steps, which visit the node's children."""
        traits, kind = self.traits, node.type
        if kind in traits.skipped_nodes:
            if kind == "comment" and self.traits.read_comment is not None:
                self.traits.read_comment(self, node)
            return []
        if self.traits.has_documented_types:
            self.documentation.attach_to_node(node.start_byte)
        if kind in traits.import_nodes and self._read_import_node(node, kind):
            return []
        if kind in traits.package_nodes:
            self._package = self._package or read_package(node, self.node_text.text)
            # PHP's `namespace { … }` has no name. A namespace name declares the package and is not a reference.
            body = node.child_by_field_name("body")
            name = node.child_by_field_name("name") or first_child(node)
            return [_VisitNode(child, "read") for child in node.named_children if child == body or child != name]
        if kind in traits.name_nodes and not node.child_count:
            self.note_use(node, "type" if role == "read" and kind == "type_identifier" else role, None)
            return []
        if kind == "variable_name":
            return []  # skipped, because PHP variables never refer to definitions
        if kind == "token_tree":
            return self._read_macro_tokens(node, role)
        # The name of the C++ method that is being defined; later occurrences of the name on this line are uses.
        if kind == "field_identifier":
            self._names.pop((node.start_point[0] + 1, self.node_text.text(node)), None)
            return []
        return self._visit_inner(node, kind, role)

    def _visit_inner(self, node: tree_sitter.Node, kind: str, role: str) -> list[_Step]:
        """Visit a node with children. Return the steps that visit the children, bind names and close the scope."""
        traits = self.traits
        is_prototype = (
            kind in _PROTOTYPE_NODE_TYPES
            and traits.is_prototype is not None
            and traits.is_prototype(self.declarations, node)
        )
        opens = kind in traits.scope_nodes or is_prototype
        self.declarations.note(node)
        if is_prototype and kind == "declaration" and traits.prototype_name is not None:
            self._prototypes.add(traits.prototype_name(self.declarations, node))
        if opens:
            self.environment.enter()
        if kind in traits.type_parameter_nodes:
            self._bind_type_parameter(node)
        if kind in traits.function_nodes:
            self._record_return_type(node)
        if (read := traits.readers.get(kind)) is not None:
            read(self, node)
        steps: list[_Step] = [_VisitNode(*each) for each in self._children(node, kind, role)]
        if kind in traits.local_declaration_nodes or kind in traits.field_declaration_nodes:
            bindings = self._declared_bindings(node, kind, is_prototype=is_prototype)
            if bindings and opens:
                steps = self._bind_in_body(node, bindings, steps)
            elif bindings:
                steps.append(_BindNames(bindings))
        if traits.narrow_variables is not None and kind in traits.guard_nodes:
            steps = self._narrow_steps(steps, *traits.narrow_variables(self.declarations, node))
        if opens:
            steps.append(_CloseScope())
        return steps

    @staticmethod
    def _narrow_steps(
        steps: list[_Step], guarded: tree_sitter.Node | None, inside: list[Binding], after: list[Binding]
    ) -> list[_Step]:
        """Add steps that bind variables to narrowed types in the code after a type test: `if ($x instanceof Foo) …`."""
        narrowed: list[_Step] = []
        for step in steps:
            if inside and isinstance(step, _VisitNode) and step.node == guarded:
                narrowed += [_OpenScope(), _BindNames(inside), step, _CloseScope()]
            else:
                narrowed.append(step)
        return [*narrowed, _BindNames(after)] if after else narrowed

    def _bind_in_body(self, node: tree_sitter.Node, bindings: list[Binding], steps: list[_Step]) -> list[_Step]:
        """Return the steps of a loop or case, which bind names after the visited value and before the body."""
        body = node.child_by_field_name("body")
        if node.type == "match_arm":
            body = node.child_by_field_name("value")
        before = [step for step in steps if isinstance(step, _VisitNode) and body is not None and step.node != body]
        after = [step for step in steps if isinstance(step, _VisitNode) and (body is None or step.node == body)]
        return [*before, _BindNames(bindings), *after]

    def _read_import_node(self, node: tree_sitter.Node, kind: str) -> bool:
        """Record the imports of a node, and return whether the node's children can be skipped."""
        within = self.spans.module_at(node.start_point[0] + 1) if self.traits.has_module_tree else ""
        found = list(self.traits.read_imports(node, self.node_text.text))
        for clause, node_of_name in found:
            self.imports.append(replace(clause, within=within) if within else clause)
            self._import_lines.append(node_of_name.start_point[0] + 1)
        if kind == "mod_item":
            is_elsewhere = node.child_by_field_name("body") is None
            if is_elsewhere and found:
                self._files_of_modules.add((node.start_point[0] + 1, found[0][0].alias))
            return is_elsewhere
        if kind == "using_declaration":
            return bool(found)  # C++'s `using ns::f` is not skipped, because it refers to `f`
        # Calls that are not imports are visited, because Ruby's `require` is an ordinary call
        return bool(found) or kind != "call"

    def _children(self, node: tree_sitter.Node, kind: str, role: str) -> Iterable[tuple[tree_sitter.Node, str]]:
        """Yield the children of a node, each with the role of the names in the child."""
        if kind in self.traits.member_nodes:
            yield from self._visit_member(node, kind, role)
            return
        role = self._role_inside(node, kind, role)
        if kind == "keyed_element" and node.named_child_count == 2:
            yield from self._keyed_element_roles(node)
            return
        is_creation = kind in self.traits.creation_nodes
        inner = self.traits.read_inner_creation
        if is_creation and inner is not None and node.children[0].type not in ("new", "annotation"):
            yield from inner(self, node)
            return
        trait = node.child_by_field_name("trait") if kind == "impl_item" else None
        called = (
            first_child(node) if kind in _GENERIC_NODE_TYPES and role == "call" else self.node_text.callee(node, kind)
        )
        for child in node.named_children:
            if child == trait:
                yield child, "inherit"
            elif kind in _ITEM_LISTS and child.type in _MACRO_NODE_TYPES:
                yield child, UNPARSED_MACRO
            elif child == called:
                yield child, "create" if is_creation else "call"
            elif role == "create":
                yield child, role if child == first_child(node) else "type"
            elif role in ("inherit", "decorate") and child.type in ("argument_list", "arguments", "value_arguments"):
                yield child, "read"
            elif role == "inherit" and child.type in ("type_arguments", "template_argument_list", "type_argument_list"):
                yield child, "type"
            else:
                yield child, role if role != "call" else "read"

    def _role_inside(self, node: tree_sitter.Node, kind: str, role: str) -> str:
        """Return the role of names inside a node, given the role of the node itself."""
        if kind in self.traits.base_nodes:
            return "inherit"
        if self.traits.has_embedded_fields and kind in self.traits.field_declaration_nodes:
            return "inherit" if node.child_by_field_name("name") is None else role
        if kind in self.traits.decorator_nodes:
            return "decorate"
        return "type" if kind in self.traits.type_nodes and role == "read" else role

    def _keyed_element_roles(self, node: tree_sitter.Node) -> Iterable[tuple[tree_sitter.Node, str]]:
        """Yield the key and the value of Go's `Field: value`, each with its role."""
        key, value = node.named_children
        is_name = key.named_child_count == 1 and key.named_children[0].type in self.traits.name_nodes
        if is_name and (path := self.literal_types.get(node.id)) is not None:
            self.note_use(key.named_children[0], "key", path)
        else:
            yield key, "key" if is_name else "read"
        yield value, "read"

    def _visit_member(self, node: tree_sitter.Node, kind: str, role: str) -> Iterable[tuple[tree_sitter.Node, str]]:
        """Record the use of a member. Yield the receiver and the other children, each with the role of its names."""
        if kind == "qualified_identifier" and len(parts := self.node_text.qualified_parts(node)) > 2:
            yield from self._record_qualified_name(parts, role)
            return
        receiver, name = self.node_text.member_parts(node, kind)
        if kind == "method_reference" and node.children[-1].type == "new":
            # In Java's `Parser::new`, the receiver is the created type
            yield from ((child, "create") for child in node.named_children[:1])
            return
        if name is None:
            yield from ((child, "read") for child in node.named_children)
            return
        if kind == "qualified_name":
            self.note_use(name, role, split_qualified_name(self.node_text.text(node))[0])
            return
        if name.child_count and name.type not in self.traits.member_nodes:
            name = first_child(name) or name  # the name in a generic name such as `Foo<T>`
        if role == "read" and name.type == "type_identifier":
            role = "type"
        if receiver is None:
            self.note_use(name, "call" if kind in self.traits.call_nodes else role, None)
        else:
            is_call = role == "call" or self.traits.call_nodes.get(kind) in ("name", "method")
            self.note_use(name, "call" if is_call else role, self.node_text.path(receiver))
            yield receiver, "read"
        for child in node.named_children:
            if child not in (receiver, name):
                yield child, "read"

    def _record_qualified_name(
        self, parts: list[tree_sitter.Node], role: str
    ) -> Iterable[tuple[tree_sitter.Node, str]]:
        """Record the names in C++'s `a::b::c`; the names before each name are its receiver."""
        yield parts[0], "read"
        before = self.node_text.path(parts[0])
        for part in parts[1:]:
            name = (first_child(part) or part) if part.child_count else part
            self.note_use(name, role if part is parts[-1] else "read", before)
            before = (*before, self.node_text.text(name))
            yield from ((child, "type") for child in part.named_children if child != name)

    def note_use(self, node: tree_sitter.Node, role: str, receiver: AccessPath | None) -> None:
        """Record a use of a name, except of definitions, bound variables and receiver keywords such as `this`."""
        name = self.node_text.text(node)
        line = node.start_point[0] + 1
        if node.start_byte in self.defined or (receiver is None and self._is_definition(line, name, role)):
            self._names.pop((line, name), None)  # not a use, but the definition itself: `run` in `void Job::run() {…}`
            return
        if name in self.traits.receivers or not name or (receiver is None and self._is_bound(node, name, role)):
            return
        source = self.spans.key_at(line)
        if role == "inherit":
            implementing = self.implementing.get(line, "")
            owner = self.spans.type_at(line)
            source = implementing or owner or source
            if owner and not implementing:
                self.scope(owner).bases.append(".".join((*(receiver or ()), name)))
        self.uses.append(Occurrence(line, source, name, role, receiver))

    def _is_definition(self, line: int, name: str, role: str) -> bool:
        """Whether the next use of a name on a line is its definition.

        In `Person Person`, the first name is a type and not the definition.
        """
        kind = self._names.get((line, name))
        # C is excluded, because its enum constants are visited with the role of a type.
        can_be_type = role in _TYPE_ROLES and not self.traits.has_separate_tags
        return kind is not None and (kind in TYPE_KINDS or not can_be_type)

    def _is_bound(self, node: tree_sitter.Node, name: str, role: str) -> bool:
        """Whether a name is a variable or type parameter in scope, or is currently being bound."""
        if node.start_byte in self.bound:
            return True
        if role in _TYPE_ROLES or node.type == "type_identifier":
            return self.environment.bound_of(name) is not None
        if role == "call" and self.traits.has_function_names:
            return False
        return self.environment.value(name) is not None

    # --- declarations

    def _declared_bindings(self, node: tree_sitter.Node, kind: str, *, is_prototype: bool) -> list[Binding]:
        """Return the local variables that a node binds, and record the types of the members that it declares."""
        found = self.declarations.bindings(node) if not is_prototype else []
        if kind != "type_case":  # skipped for a type switch, because each case binds the variable with a different type
            found = [binding for binding in found if binding.leaf.start_byte not in self.bound]
        line = node.start_point[0] + 1
        is_field = kind in self.traits.field_declaration_nodes and (
            kind in _PROMOTED_PARAMETER_NODE_TYPES or not self.spans.is_in_function(line)
        )
        owner = self.spans.type_at(line) if is_field else ""
        if kind == "field_declaration" and is_prototype and self.traits.declare_method is not None:
            self.traits.declare_method(self, node)
        self.bound.update(binding.leaf.start_byte for binding in found)
        kept: list[Binding] = []
        for binding in found:
            name = self.node_text.text(binding.leaf)
            # A component of a record, as in Java, can be accessed as a field or through an accessor.
            if kind not in self.traits.field_declaration_nodes and (line, name) in self._properties:
                types = self.scope(self.spans.type_at(line)).types
                types.setdefault(name, binding.path)
                types.setdefault(f"{name}()", binding.path)
            # A Ruby instance variable belongs to the object, no matter which method assigns it
            elif name.startswith("@"):
                self.scope(self.spans.type_at(line)).types.setdefault(name, binding.path)
            elif owner:
                self.scope(owner).types.setdefault(name.removeprefix("$"), binding.path)
            elif not self.environment.depth:
                self.scope("").types.setdefault(name, binding.path)
            elif (variable := self._variable_binding(node, kind, binding)) is not None:
                kept.append(variable)
            if owner and kind.endswith("parameter"):  # a constructor parameter that is also a property
                kept.append(binding)
        return kept

    def _variable_binding(self, node: tree_sitter.Node, kind: str, binding: Binding) -> Binding | None:
        """Return the binding of a local variable, or None if an assignment leaves its type unchanged."""
        name = self.node_text.text(binding.leaf)
        before = self.environment.value(name) if kind in _ASSIGNMENT_NODE_TYPES else None
        if self.traits.constants_are_symbols and name[:1].isupper():
            return None  # not a variable, but a constant, which is a symbol
        if before is None:
            return binding
        path_after_assignment = self.traits.path_after_assignment
        path = path_after_assignment(self, node, binding, before) if path_after_assignment is not None else None
        return Binding(binding.leaf, path) if path is not None else None

    def _bind_names(self, bindings: list[Binding]) -> None:
        for binding in bindings:
            self.environment.bind(self.node_text.text(binding.leaf), binding.path)

    def _bind_type_parameter(self, node: tree_sitter.Node) -> None:
        """Bind a type parameter to its upper bound."""
        names = node.children_by_field_name("name") or [n for n in node.named_children[:1] if not n.child_count]
        names = names or [n for n in node.named_children if n.type == "type_identifier"][:1]
        bounds = node.child_by_field_name("bounds") or next(
            (child for child in node.named_children if child.type == "type_bound"), None
        )
        bound = self.node_text.type_text(first_child(bounds)) if bounds is not None else UNKNOWN
        for name in names:
            self.environment.bind_type(self.node_text.text(name), bound)
            self.bound.add(name.start_byte)

    def _record_return_type(self, node: tree_sitter.Node) -> None:
        """Record the declared return type of a function."""
        for name in ("return_type", "result", "returns", "type"):
            declared = node.child_by_field_name(name)
            if declared is not None:
                self.scope(self.spans.key_at(node.start_point[0] + 1)).returns = self.node_text.type_text(declared)
                return

    def scope(self, key: str) -> _DeclaredScope:
        """Return the collected types of the definition with this key, creating an empty entry if necessary."""
        return self._scopes.setdefault(key, _DeclaredScope())

    # --- arguments of Rust macros

    def _read_macro_tokens(self, node: tree_sitter.Node, role: str) -> list[_Step]:
        """Record the names in a Rust macro's arguments (token tree). Return the steps for nested token trees."""
        inner: list[_Step] = []
        path: AccessPath = ()
        tokens = node.children
        for position, token in enumerate(tokens):
            if token.type == "token_tree":
                inner.append(_VisitNode(token, role))
                path = path if path and path[-1].endswith("()") else ()
            elif token.type in self.traits.name_nodes or token.type in ("self", "crate", "super"):
                following = tokens[position + 1] if position + 1 < len(tokens) else None
                is_call = following is not None and following.type == "token_tree"
                joined = position > 0 and tokens[position - 1].type in (".", "::") and bool(path)
                self.note_use(
                    token, role if role == UNPARSED_MACRO else "call" if is_call else "read", path if joined else None
                )
                name = self.node_text.text(token)
                start = (name,) if joined else self.environment.value(name) or (name,)
                path = (*path, *start) if joined else start
                path = path_of_call(path) if is_call else path
            elif token.type == "integer_literal" and path:
                path = (*path, self.node_text.text(token))
            elif token.type not in (".", "::"):
                path = ()
        return inner


class _DefinitionSpans:
    """Index from lines to the definitions that contain them."""

    def __init__(self, definitions: Sequence[Definition], symbols: Sequence[Symbol]) -> None:
        self.type_keys = frozenset(s.key for s in symbols if s.kind in TYPE_KINDS)
        self.function_keys = frozenset(s.key for s in symbols if s.kind in _CALLABLE_KINDS)
        # Precomputed for each line, because a file may contain more uses than lines.
        last = max([definition.end_line for definition in definitions], default=0)
        self.keys = [""] * (last + 1)
        self._types = [""] * (last + 1)
        self._modules = [""] * (last + 1)
        pairs = sorted(zip(definitions, symbols, strict=True), key=lambda pair: (pair[0].start_line, -pair[0].end_line))
        for definition, symbol in pairs:  # Outer definitions come first, so that inner definitions replace them.
            if definition.kind in _KINDS_WITHOUT_USES:
                continue
            lines = slice(definition.start_line, definition.end_line + 1)
            count = definition.end_line + 1 - definition.start_line
            self.keys[lines] = [symbol.key] * count
            if symbol.key in self.type_keys:
                self._types[lines] = [symbol.key] * count
            if definition.kind == "module" or symbol.key in self.function_keys:
                self._modules[lines] = [symbol.key] * count

    def key_at(self, line: int) -> str:
        """Return the key of the innermost definition that contains a line, or an empty string.

        Properties do not count as definitions.
        """
        return self.keys[line] if line < len(self.keys) else ""

    def type_at(self, line: int) -> str:
        """Return the key of the innermost type that contains a line."""
        return self._types[line] if line < len(self._types) else ""

    def module_at(self, line: int) -> str:
        """Return the key of the innermost module or function that contains a line."""
        return self._modules[line] if line < len(self._modules) else ""

    def is_in_function(self, line: int) -> bool:
        """Whether the innermost definition that contains a line is a function."""
        return self.key_at(line) in self.function_keys
