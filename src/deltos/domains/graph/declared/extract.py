"""Extraction of facts from one file: its imports, the uses of names with their roles, and the types in declarations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec.structs import replace

from deltos.domains.graph.declared.declarations import GUARDS, Binding, Declarations
from deltos.domains.graph.declared.environment import Environment
from deltos.domains.graph.declared.facts import (
    CALLABLE,
    DOCUMENTED,
    TYPE_SIGN,
    UNKNOWN,
    AccessPath,
    MacroName,
    Occurrence,
    ScopeTypes,
    SourceBody,
    SourceInterface,
    TopDefinition,
    called,
)
from deltos.domains.graph.declared.grammars import GRAMMARS, GrammarTable
from deltos.domains.graph.declared.imports import read_import, read_package
from deltos.domains.graph.declared.macros import names_in_macro
from deltos.domains.graph.declared.merge_conflicts import members_in_conflict
from deltos.domains.graph.declared.node_text import NodeText, first_child
from deltos.domains.graph.declared.phpdoc import Documentation, more_specific_type, qualified
from deltos.domains.graph.declared.source_files import enclosing_keys
from deltos.domains.graph.declared.types import parse_type
from deltos.domains.graph.definitions import as_symbols
from deltos.domains.graph.kernel.resolver import FileFacts
from deltos.domains.graph.model import UNPARSED, UNPARSED_MACRO
from deltos.store.symbols import bare_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import tree_sitter

    from deltos.domains.graph.declared.facts import ImportClause
    from deltos.languages.model import Definition
    from deltos.store.symbols import Symbol
    from deltos.workspace.indexer import ParsedFile

TYPE_KINDS = frozenset({"class", "interface", "enum", "type"})
_TYPE_ROLES = frozenset({"type", "inherit", "create"})
_GENERIC_NAMES = frozenset({"generic_name", "template_function", "generic_function", "parenthesized_expression"})
_ASSIGNING = frozenset({"assignment_expression", "assignment"})
_PROTOTYPES = frozenset({"declaration", "field_declaration", "type_definition"})
_PROMOTED = frozenset({"property_promotion_parameter"})  # a PHP constructor parameter that is also a property
_UNKNOWN_PATH: AccessPath = (UNKNOWN,)
_KINDS_WITHOUT_USES = frozenset({"property", "variable", "namespace"})
_CALLABLE = frozenset({"function", "method"})
_PHP_TYPES = ("class_declaration", "interface_declaration", "trait_declaration", "enum_declaration")
_PHP_FUNCTIONS = (*GRAMMARS["php"].functions, "anonymous_function", "arrow_function")
_PHP_STRINGS = frozenset({"string", "encapsed_string"})
_MACRO_ITEMS = frozenset({"macro_invocation", "expression_statement"})
_ITEM_LISTS = frozenset({"source_file", "declaration_list"})  # Rust nodes in which a macro may contain definitions


@dataclass(slots=True)
class _DeclaredScope:
    """Types that the declarations inside a definition state, while they are collected."""

    types: dict[str, AccessPath] = field(default_factory=dict)
    bases: list[str] = field(default_factory=list)
    returns: str = ""

    def frozen(self) -> ScopeTypes:
        """Return the stored form, sorted by name."""
        return ScopeTypes(dict(sorted(self.types.items())), tuple(dict.fromkeys(self.bases)), self.returns)


class _VisitNode(NamedTuple):
    """Step: read a node whose names have this role."""

    node: tree_sitter.Node
    role: str


class _BindNames(NamedTuple):
    """Step: bind names after their declaration was read, so that its own types and values do not see them."""

    bindings: list[Binding]


class _OpenScopeStep(NamedTuple):
    """Step: open a scope that has no node of its own."""


class _CloseScope(NamedTuple):
    """Step: close a scope."""


_Step: TypeAlias = _VisitNode | _BindNames | _OpenScopeStep | _CloseScope


def extract(file: ParsedFile) -> FileFacts:
    """Return the symbols, interface and body of a file."""
    from deltos.languages.outline import outline  # deferred: needs the parser library

    if file.language is None or file.tree is None:
        return FileFacts((), None, None)
    definitions = outline(file.language, file.tree, file.data)
    symbols = tuple(as_symbols(definitions))
    reader = _FactCollector(file.data, GRAMMARS[file.language.name], file.language.name, definitions, symbols)
    reader.read(file.tree.root_node)
    if file.tree.root_node.has_error:
        reader.read_conflicts(file.data)
    return reader.facts()


class _FactCollector:
    """One pass over the syntax tree of a file that collects its facts."""

    def __init__(
        self,
        data: bytes,
        grammar: GrammarTable,
        language: str,
        definitions: Sequence[Definition],
        symbols: Sequence[Symbol],
    ) -> None:
        self._grammar = grammar
        self._language = language
        self._is_php = language == "php"
        self._symbols = symbols
        self._spans = _DefinitionSpans(definitions, symbols)
        self._environment = Environment()
        self._node_text = NodeText(data, grammar, self._environment)
        self._documentation = Documentation()
        self._declarations = Declarations(self._node_text, grammar, language, self._documentation)
        self._names = {(symbol.line, symbol.name) for symbol in symbols}
        self._keys = {symbol.key for symbol in symbols}
        self._macros: dict[str, tuple[MacroName, ...]] = {}
        self._prototypes: set[str] = set()
        self._own_names: frozenset[str] | None = None
        self._bound: set[int] = set()
        self._defined: set[int] = set()
        self._uses: list[Occurrence] = []
        self._unparsed: list[Occurrence] = []
        self._imports: list[ImportClause] = []
        self._import_lines: list[int] = []
        self._files_of_modules: set[tuple[int, str]] = set()  # Rust's `mod name;`: imports, and not scopes of this file
        self._package = ""
        self._implementing: dict[int, str] = {}
        self._assigned: dict[tuple[str, str], AccessPath] = {}
        self._unconditional: set[int] = set()
        self._scopes: dict[str, _DeclaredScope] = {}
        self._special: dict[str, Callable[[tree_sitter.Node], None]] = {
            "explicit_constructor_invocation": self._call_constructor,
            "impl_item": self._implement,
            "function_definition": self._define_function,
            "type_definition": self._define_type,
            "ordered_field_declaration_list": self._read_tuple_fields,
            "object_creation_expression": self._create,
            "enum_constant": self._define_constant,
            "switch_expression": self._read_switch,
            "type_spec": self._define_go_type,
            "type_alias": self._define_go_type,
            "preproc_def": self._read_macro,
            "preproc_function_def": self._read_macro,
        }
        if language == "php":
            self._special |= dict.fromkeys(_PHP_TYPES, self._document_type)
            self._special |= dict.fromkeys(_PHP_FUNCTIONS, self._document_function)
            self._special["assignment_expression"] = self._assign_property
            self._special["array_creation_expression"] = self._refer_to_method

    def read(self, root: tree_sitter.Node) -> None:
        """Visit every node once, in source order; iterative, because source code may be nested arbitrarily deeply."""
        pending: list[_Step] = [_VisitNode(root, "read")]
        while pending:
            step = pending.pop()
            if isinstance(step, _VisitNode):
                pending.extend(reversed(self._visit(step.node, step.role)))
            elif isinstance(step, _BindNames):
                self._bind(step.bindings)
            elif isinstance(step, _OpenScopeStep):
                self._environment.enter()
            else:
                self._environment.leave()

    def read_conflicts(self, data: bytes) -> None:
        """Note the member names after merge conflict markers as unparsed uses, because the parser may have misread
        them."""
        for line, name in members_in_conflict(data, self._language):
            self._unparsed.append(Occurrence(line, self._spans.key_at(line), name, UNPARSED, None))

    def facts(self) -> FileFacts:
        """Return the collected facts in their stored form."""
        type_keys = self._spans.type_keys
        for (owner, name), path in self._assigned.items():
            types = self._scope(owner).types
            if path != _UNKNOWN_PATH and types.get(name, _UNKNOWN_PATH) == _UNKNOWN_PATH:
                types[name] = path
        symbols = [each for each in self._symbols if (each.line, each.name) not in self._files_of_modules]
        top_level = [
            TopDefinition(symbol.name, symbol.key, symbol.kind)
            for symbol in symbols
            if not self._is_member(symbol) and ("#" not in symbol.key or self._is_in_other_c_namespace(symbol))
        ]
        interface = SourceInterface(
            self._package,
            tuple(top_level),
            {key: s.frozen() for key, s in sorted(self._scopes.items()) if s.types or s.bases or s.returns},
            tuple(self._imports),
            tuple(sorted(type_keys)),
            {symbol.key: symbol.kind for symbol in symbols},
            tuple(sorted(symbol.key for symbol in self._symbols if self._is_file_local(symbol))),
            self._macros,
            tuple(sorted(self._prototypes)),
        )
        body = SourceBody(tuple(self._uses), tuple(self._import_lines), tuple(self._unparsed))
        return FileFacts(tuple(self._symbols), interface, body)

    def _is_member(self, symbol: Symbol) -> bool:
        """Whether a symbol belongs to a type or is local to a function."""
        container = symbol.key.rpartition(".")[0]
        if self._language == "c" and symbol.kind == "variable":
            container = container.rpartition(".")[0]  # constants of an enum are in the scope of the enum itself
        if symbol.kind == "method" and container:
            return True  # the type may be defined in another file
        while container:
            if container in self._spans.type_keys or container in self._spans.function_keys:
                return True
            container = container.rpartition(".")[0]
        return False

    def _is_in_other_c_namespace(self, symbol: Symbol) -> bool:
        """Whether a C symbol shares its name with an earlier one in a different namespace: struct tags and functions
        have two."""
        first = next(each for each in self._symbols if each.key == symbol.label)
        return self._language == "c" and (first.kind in TYPE_KINDS) != (symbol.kind in TYPE_KINDS)

    def _is_file_local(self, symbol: Symbol) -> bool:
        """Whether a C or C++ symbol is static, so that other files cannot link to it."""
        return self._language in ("c", "cpp") and symbol.signature.startswith("static ")

    # --- nodes

    def _visit(self, node: tree_sitter.Node, role: str) -> list[_Step]:
        """Read a node and return the steps for its parts, in order."""
        grammar, kind = self._grammar, node.type
        if kind in grammar.skipped:
            if self._is_php and kind == "comment":
                self._read_comment(node)
            return []
        if self._is_php:
            self._documentation.attach_to_node(node.start_byte)
        if kind in grammar.imports and self._read_import_node(node, kind):
            return []
        if kind in grammar.packages:
            self._package = self._package or read_package(node, self._node_text.text)
            body = node.child_by_field_name("body")  # PHP's `namespace { … }` has no name
            name = node.child_by_field_name("name") or first_child(node)  # declares the package, is not a reference
            return [_VisitNode(child, "read") for child in node.named_children if child == body or child != name]
        if kind in grammar.names and not node.child_count:
            self._note_use(node, "type" if role == "read" and kind == "type_identifier" else role, None)
            return []
        if kind == "variable_name":
            return []  # PHP variables never refer to definitions
        if kind == "token_tree":
            return self._tokens(node, role)
        if kind == "field_identifier":  # name of a C++ method definition: later occurrences on its line are uses
            self._names.discard((node.start_point[0] + 1, self._node_text.text(node)))
            return []
        return self._visit_inner(node, kind, role)

    def _visit_inner(self, node: tree_sitter.Node, kind: str, role: str) -> list[_Step]:
        """Return the steps for the parts of an inner node, with the scope that it opens and the names that it binds."""
        grammar = self._grammar
        is_prototype = kind in _PROTOTYPES and self._declarations.is_prototype(node)
        opens = kind in grammar.scopes or is_prototype
        self._declarations.note(node)
        if is_prototype and kind == "declaration":
            self._prototypes.add(self._declarations.prototype_name(node))
        if opens:
            self._environment.enter()
        if kind in grammar.type_parameters:
            self._bind_type_parameter(node)
        if kind in grammar.functions:
            self._declare_return(node)
        self._read_special(node, kind)
        steps: list[_Step] = [_VisitNode(*each) for each in self._children(node, kind, role)]
        if kind in grammar.locals or kind in grammar.fields:
            bindings = self._declared_bindings(node, kind, is_prototype=is_prototype)
            if bindings and opens:
                steps = self._bound_inside(node, bindings, steps)
            elif bindings:
                steps.append(_BindNames(bindings))
        if self._is_php and kind in GUARDS:
            steps = self._narrowed(node, steps)
        if opens:
            steps.append(_CloseScope())
        return steps

    def _narrowed(self, node: tree_sitter.Node, steps: list[_Step]) -> list[_Step]:
        """Bind variables to their narrowed type in the guarded part of a condition: `if ($x instanceof Foo) …`."""
        guarded, inside, after = self._declarations.narrowed(node)
        narrowed: list[_Step] = []
        for step in steps:
            if inside and isinstance(step, _VisitNode) and step.node == guarded:
                narrowed += [_OpenScopeStep(), _BindNames(inside), step, _CloseScope()]
            else:
                narrowed.append(step)
        return [*narrowed, _BindNames(after)] if after else narrowed

    def _read_special(self, node: tree_sitter.Node, kind: str) -> None:
        """Handle node types that only one language has."""
        read = self._special.get(kind)
        if read is not None:
            read(node)

    def _call_constructor(self, node: tree_sitter.Node) -> None:
        """Note the constructor call of Java's `super(…)` or `this(…)`."""
        called, line = node.child_by_field_name("constructor"), node.start_point[0] + 1
        if called is not None:
            name = self._node_text.text(called)
            self._uses.append(Occurrence(line, self._spans.key_at(line), name, "construct", None))

    def _define_function(self, node: tree_sitter.Node) -> None:
        """Note the qualified name of a C++ method defined outside its class, and the fixture of a GoogleTest test."""
        if self._language != "cpp":
            return
        name_defined = self._declarations.qualified_name(node)
        if name_defined is not None:
            self._defined.add(name_defined.start_byte)
        fixture = self._declarations.fixture(node)
        if fixture:
            self._scope(self._spans.key_at(node.start_point[0] + 1)).bases.append(fixture)
        self._bound.update(name.start_byte for name in self._declarations.test_names(node))

    def _define_type(self, node: tree_sitter.Node) -> None:
        """Mark the names that a C `typedef` declares as bound, not used."""
        self._bound.update(d.start_byte for d in node.children_by_field_name("declarator"))

    def _define_go_type(self, node: tree_sitter.Node) -> None:
        """Note the underlying type of a Go type: `type List []Item`, `type A = B`."""
        name, line = node.child_by_field_name("name"), node.start_point[0] + 1
        text = self._node_text.type_text(node.child_by_field_name("type")) if self._language == "go" else UNKNOWN
        key = self._spans.key_at(line)
        if name is None or key.rpartition(".")[2] != self._node_text.text(name):
            return
        if node.type == "type_alias" or text.startswith(("[]", "{}", "chan", "fn")):
            self._scope(key).returns = text

    def _read_tuple_fields(self, node: tree_sitter.Node) -> None:
        """Note the types of the fields of a Rust tuple struct, named by position."""
        owner = self._spans.type_at(node.start_point[0] + 1)
        if owner:
            types = self._scope(owner).types
            for position, each in enumerate(node.children_by_field_name("type")):
                types.setdefault(str(position), (TYPE_SIGN + self._node_text.type_text(each),))

    def _create(self, node: tree_sitter.Node) -> None:
        """Note the members of an anonymous Java class, `new Base() {…}`."""
        body = next((child for child in node.named_children if child.type == "class_body"), None)
        created = node.child_by_field_name("type")
        if body is not None and created is not None:
            self._derive_anonymous_class(body, self._node_text.type_text(created), created)

    def _define_constant(self, node: tree_sitter.Node) -> None:
        """Note the members of a Java enum constant that has a class body."""
        body = node.child_by_field_name("body")
        if body is not None:
            self._derive_anonymous_class(body, self._spans.type_at(node.start_point[0] + 1).rpartition(".")[2])

    def _read_switch(self, node: tree_sitter.Node) -> None:
        """Note the labels of a Java switch as constants of the enum that is switched on: `case ALIVE:`."""
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        if self._language != "java" or condition is None or body is None:
            return
        receiver = self._node_text.path(first_child(condition))
        if self._own_names is None:
            imported = {clause.alias for clause in self._imports}
            self._own_names = frozenset({symbol.name for symbol in self._symbols} | imported)
        for group in body.named_children:
            labels = [each for each in group.named_children if each.type == "switch_label"]
            for constant in (each for label in labels for each in label.named_children if each.type == "identifier"):
                line, name = constant.start_point[0] + 1, self._node_text.text(constant)
                if name in self._own_names:  # a constant of the file, not of an enum
                    continue
                self._defined.add(constant.start_byte)
                self._uses.append(Occurrence(line, self._spans.key_at(line), name, "read", receiver))

    def _derive_anonymous_class(
        self, body: tree_sitter.Node, base: str, created: tree_sitter.Node | None = None
    ) -> None:
        """Note the methods of an anonymous Java class: they see the members of its base and may override them."""
        for method in body.named_children:
            name = method.child_by_field_name("name") if method.type == "method_declaration" else None
            key = self._spans.key_at(name.start_point[0] + 1) if name is not None else ""
            if name is None or bare_key(key).rpartition(".")[2] != self._node_text.text(name):
                continue
            self._scope(key).bases.append(base)
            if created is not None:
                qualifier, _, last = parse_type(base).name.rpartition(".")
                receiver = tuple(qualifier.split(".")) if qualifier else None
                self._uses.append(Occurrence(created.start_point[0] + 1, key, last, "inherit", receiver))

    def _read_macro(self, node: tree_sitter.Node) -> None:
        """Note the names in the body of a C macro as uses in the macro, and store them for the places that use the
        macro."""
        value, parameters = node.child_by_field_name("value"), node.child_by_field_name("parameters")
        named = node.child_by_field_name("name")
        if value is None or named is None:
            return
        own = {self._node_text.text(each) for each in parameters.named_children} if parameters is not None else set()
        found = names_in_macro(self._node_text.text(value), own)
        key, first = self._node_text.text(named), value.start_point[0] + 1
        if key in self._keys and found:
            self._uses += [Occurrence(first + each.line, key, each.name, each.role, None) for each in found]
            self._macros[key] = tuple(dict.fromkeys(MacroName(each.name, each.role) for each in found))

    # --- PHPDoc

    def _read_comment(self, node: tree_sitter.Node) -> None:
        """Note the names in a PHPDoc comment as uses; inside a function, bind the variables that `@var Foo $x`
        declares."""
        text, first = self._node_text.text(node), node.start_point[0] + 1
        if not text.startswith("/**"):
            return
        found = self._documentation.read(text)
        for each in found.names:
            line = first + each.line
            receiver, name = qualified(each.name)
            source = self._spans.key_at(line)
            if each.member:
                through = (TYPE_SIGN + ".".join((*(receiver or ()), name)),)
                self._uses.append(Occurrence(line, source, each.member, "read", through))
            else:
                self._uses.append(Occurrence(line, source, name, DOCUMENTED, receiver))
        if self._spans.is_in_function(first) and self._environment.depth:
            for name, documented in found.variables.items():
                if name and documented != UNKNOWN:
                    self._environment.bind(name, (TYPE_SIGN + documented,))

    def _document_type(self, node: tree_sitter.Node) -> None:
        """Note the members that `@property` and `@method` tags declare for a PHP class."""
        name = node.child_by_field_name("name")
        found = self._documentation.enter_class(node.start_byte)
        owner = self._spans.type_at(name.start_point[0] + 1) if name is not None else ""
        if owner and (found.properties or found.methods):
            types = self._scope(owner).types
            types |= {each: (TYPE_SIGN + documented,) for each, documented in found.properties.items()}
            types |= {f"{each}()": (TYPE_SIGN + documented,) for each, documented in found.methods.items()}

    def _document_function(self, node: tree_sitter.Node) -> None:
        """Note the return type in the comment of a PHP function, and which of its statements always run."""
        documented = self._documentation.enter_function(node.start_byte).returns
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if body is not None and body.type == "compound_statement":
            self._unconditional.update(statement.start_byte for statement in body.named_children)
        if name is not None and documented != UNKNOWN:
            scope = self._scope(self._spans.key_at(name.start_point[0] + 1))
            scope.returns = more_specific_type(scope.returns, documented)

    def _refer_to_method(self, node: tree_sitter.Node) -> None:
        """Note `[$this, 'name']` and `[Foo::class, 'name']` in PHP as uses of a method."""
        values = [first_child(each) for each in node.named_children[:3] if each.named_child_count == 1]
        owner, quoted = values if len(values) == node.named_child_count == 2 else (None, None)
        name = first_child(quoted) if quoted is not None and quoted.type in _PHP_STRINGS else None
        if owner is None or name is None or not self._node_text.text(name).isidentifier():
            return
        path = self._node_text.path(owner)
        if owner.type == "class_constant_access_expression" and path[-1] == "class":
            path = path[:-1]
        elif self._node_text.text(owner) == "__CLASS__":
            path = ("self",)
        elif path != ("$this",):
            return
        line = name.start_point[0] + 1
        self._uses.append(Occurrence(line, self._spans.key_at(line), self._node_text.text(name), CALLABLE, path))

    def _reassigned(self, node: tree_sitter.Node, binding: Binding, before: AccessPath) -> AccessPath | None:
        """Return the path of a PHP variable after another assignment; None if nothing changes.

        A conditional assignment makes the value unknown, unless the new value is derived from the old one.
        """
        value = node.child_by_field_name("right")
        if value is None or value.type == "null" or binding.path == before:
            return None
        if node.start_byte in self._unconditional:
            return binding.path
        return None if binding.path[: len(before)] == before else _UNKNOWN_PATH

    def _assign_property(self, node: tree_sitter.Node) -> None:
        """Note the value of an undeclared PHP property, `$this->store = $store`, if all assignments agree."""
        target, value = node.child_by_field_name("left"), node.child_by_field_name("right")
        owner = self._spans.type_at(node.start_point[0] + 1)
        if target is None or value is None or not owner or target.type != "member_access_expression":
            return
        path = self._node_text.path(target)
        if len(path) != 2 or path[0] != "$this" or value.type == "null":
            return
        property_key = (owner, path[1])
        held = self._node_text.path(value)
        before = self._assigned.setdefault(property_key, held)
        if before != held or UNKNOWN in held[0]:
            self._assigned[property_key] = _UNKNOWN_PATH

    def _implement(self, node: tree_sitter.Node) -> None:
        """Add the trait of `impl Trait for Type` to the bases of the type if this file defines it."""
        trait, implementing = node.child_by_field_name("trait"), node.child_by_field_name("type")
        if trait is None or implementing is None:
            return
        line = trait.start_point[0] + 1
        name = parse_type(self._node_text.type_text(implementing)).name.rpartition(".")[2]
        module = self._spans.module_at(line)
        owner = next(
            (k for scope in enclosing_keys(module) if (k := f"{scope}.{name}".strip(".")) in self._spans.type_keys), ""
        )
        if owner:
            self._implementing[line] = owner
            self._scope(owner).bases.append(self._node_text.type_text(trait))

    def _bound_inside(self, node: tree_sitter.Node, bindings: list[Binding], steps: list[_Step]) -> list[_Step]:
        """Return the steps with names bound for the body of a loop or case only, after its own value was read."""
        body = node.child_by_field_name("body")
        if node.type == "match_arm":
            body = node.child_by_field_name("value")
        before = [step for step in steps if isinstance(step, _VisitNode) and body is not None and step.node != body]
        after = [step for step in steps if isinstance(step, _VisitNode) and (body is None or step.node == body)]
        return [*before, _BindNames(bindings), *after]

    def _read_import_node(self, node: tree_sitter.Node, kind: str) -> bool:
        """Note the names that an import statement binds; return whether the node contains nothing else to read."""
        within = self._spans.module_at(node.start_point[0] + 1) if self._language == "rust" else ""
        found = list(read_import(self._language, node, self._node_text.text))
        for clause, node_of_name in found:
            self._imports.append(replace(clause, within=within) if within else clause)
            self._import_lines.append(node_of_name.start_point[0] + 1)
        if kind == "mod_item":
            is_elsewhere = node.child_by_field_name("body") is None
            if is_elsewhere and found:
                self._files_of_modules.add((node.start_point[0] + 1, found[0][0].alias))
            return is_elsewhere
        if kind == "using_declaration":
            return bool(found)  # C++'s `using ns::f` is a use of it
        return bool(found) or kind != "call"  # in Ruby, imports are ordinary calls

    def _children(self, node: tree_sitter.Node, kind: str, role: str) -> Iterable[tuple[tree_sitter.Node, str]]:
        """Yield the children of a node with their roles."""
        if kind in self._grammar.members:
            yield from self._member(node, kind, role)
            return
        role = self._role_inside(kind, role)
        if kind == "keyed_element" and node.named_child_count == 2:
            yield from self._keyed_element(*node.named_children)
            return
        is_creation = kind in self._grammar.creations
        if is_creation and self._language == "java" and node.children[0].type not in ("new", "annotation"):
            yield from self._create_inner(node)
            return
        trait = node.child_by_field_name("trait") if kind == "impl_item" else None
        called = first_child(node) if kind in _GENERIC_NAMES and role == "call" else self._node_text.callee(node, kind)
        for child in node.named_children:
            if child == trait:
                yield child, "inherit"
            elif kind in _ITEM_LISTS and child.type in _MACRO_ITEMS:
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

    def _role_inside(self, kind: str, role: str) -> str:
        """Return the role of names inside a node."""
        if kind in self._grammar.inherits:
            return "inherit"
        if kind in self._grammar.decorates:
            return "decorate"
        return "type" if kind in self._grammar.types and role == "read" else role

    def _create_inner(self, node: tree_sitter.Node) -> Iterable[tuple[tree_sitter.Node, str]]:
        """Note Java's `outer.new Inner(…)`: the name is looked up in the type of `outer`."""
        outer, created = node.named_children[0], node.child_by_field_name("type")
        name = first_child(created) if created is not None and created.child_count else created
        if name is not None:
            self._note_use(name, "create", self._node_text.path(outer))
        yield from ((child, "read") for child in node.named_children if child not in (created, name))

    def _keyed_element(self, key: tree_sitter.Node, value: tree_sitter.Node) -> Iterable[tuple[tree_sitter.Node, str]]:
        """Return the key and value of Go's `Field: value` with their roles."""
        is_name = key.named_child_count == 1 and key.named_children[0].type in self._grammar.names
        return ((key, "key" if is_name else "read"), (value, "read"))

    def _member(self, node: tree_sitter.Node, kind: str, role: str) -> Iterable[tuple[tree_sitter.Node, str]]:
        """Note a member's name with the path of its receiver; yield the receiver and the other children."""
        if kind == "qualified_identifier" and len(parts := self._node_text.qualified_parts(node)) > 2:
            yield from self._qualified(parts, role)
            return
        receiver, name = self._node_text.member_parts(node, kind)
        if kind == "method_reference" and node.children[-1].type == "new":
            yield from ((child, "create") for child in node.named_children[:1])  # Java's `Parser::new`
            return
        if name is None:
            yield from ((child, "read") for child in node.named_children)
            return
        if kind == "qualified_name":
            self._note_use(name, role, qualified(self._node_text.text(node))[0])
            return
        if name.child_count and name.type not in self._grammar.members:
            name = first_child(name) or name  # generic name: `Foo<T>`
        if role == "read" and name.type == "type_identifier":
            role = "type"
        if receiver is None:
            self._note_use(name, "call" if kind in self._grammar.calls else role, None)
        else:
            is_call = role == "call" or self._grammar.calls.get(kind) in ("name", "method")
            self._note_use(name, "call" if is_call else role, self._node_text.path(receiver))
            yield receiver, "read"
        for child in node.named_children:
            if child not in (receiver, name):
                yield child, "read"

    def _qualified(self, parts: list[tree_sitter.Node], role: str) -> Iterable[tuple[tree_sitter.Node, str]]:
        """Note the names of C++'s `a::b::c`; each is looked up in the name before it."""
        yield parts[0], "read"
        before = self._node_text.path(parts[0])
        for part in parts[1:]:
            name = (first_child(part) or part) if part.child_count else part
            self._note_use(name, role if part is parts[-1] else "read", before)
            before = (*before, self._node_text.text(name))
            yield from ((child, "type") for child in part.named_children if child != name)

    def _note_use(self, node: tree_sitter.Node, role: str, receiver: AccessPath | None) -> None:
        """Note a use of a name, unless it is a definition, a bound variable or a receiver keyword."""
        name = self._node_text.text(node)
        line = node.start_point[0] + 1
        if node.start_byte in self._defined or (receiver is None and (line, name) in self._names):
            self._names.discard((line, name))  # the definition itself: `run` of `void Job::run() {…}`
            return
        if name in self._grammar.receivers or not name or (receiver is None and self._is_bound(node, name, role)):
            return
        source = self._spans.key_at(line)
        if role == "inherit":
            implementing = self._implementing.get(line, "")
            owner = self._spans.type_at(line)
            source = implementing or owner or source
            if owner and not implementing:
                self._scope(owner).bases.append(".".join((*(receiver or ()), name)))
        self._uses.append(Occurrence(line, source, name, role, receiver))

    def _is_bound(self, node: tree_sitter.Node, name: str, role: str) -> bool:
        """Whether a name is a variable or type parameter in scope, or is being bound."""
        if node.start_byte in self._bound:
            return True
        if role in _TYPE_ROLES or node.type == "type_identifier":
            return self._environment.bound_of(name) is not None
        if role == "call" and self._grammar.has_function_names:
            return False
        return self._environment.value(name) is not None

    # --- declarations

    def _declared_bindings(self, node: tree_sitter.Node, kind: str, *, is_prototype: bool) -> list[Binding]:
        """Return the variables that a node binds; for members, note their types instead."""
        found = self._declarations.bindings(node) if not is_prototype else []
        if kind != "type_case":  # each case binds the variable of the switch again
            found = [binding for binding in found if binding.leaf.start_byte not in self._bound]
        line = node.start_point[0] + 1
        is_field = kind in self._grammar.fields and (kind in _PROMOTED or not self._spans.is_in_function(line))
        owner = self._spans.type_at(line) if is_field else ""
        if kind in self._grammar.fields and self._language == "go" and not found:
            embedded = node.child_by_field_name("type")
            if owner and embedded is not None:
                self._scope(owner).bases.append(self._node_text.type_text(embedded))
        if kind == "field_declaration" and is_prototype:
            self._declare_method(node)
        self._bound.update(binding.leaf.start_byte for binding in found)
        kept: list[Binding] = []
        for binding in found:
            name = self._node_text.text(binding.leaf)
            if name.startswith("@"):  # Ruby's instance variables belong to the object wherever they are assigned
                self._scope(self._spans.type_at(line)).types.setdefault(name, binding.path)
            elif owner:
                self._scope(owner).types.setdefault(name.removeprefix("$"), binding.path)
            elif not self._environment.depth:
                self._scope("").types.setdefault(name, binding.path)
            elif (variable := self._variable(node, kind, binding)) is not None:
                kept.append(variable)
            if owner and kind.endswith("parameter"):  # a constructor parameter that is also a property
                kept.append(binding)
        return kept

    def _variable(self, node: tree_sitter.Node, kind: str, binding: Binding) -> Binding | None:
        """Return the binding of a local variable; None if an assignment leaves its type unchanged."""
        name = self._node_text.text(binding.leaf)
        before = self._environment.value(name) if kind in _ASSIGNING else None
        if self._language == "ruby" and name[:1].isupper():
            return None  # a constant, which is a symbol
        if before is None:
            return binding
        path = self._reassigned(node, binding, before) if self._language == "php" else None
        return Binding(binding.leaf, path) if path is not None else None

    def _declare_method(self, node: tree_sitter.Node) -> None:
        """Note the return type of a C++ method that its class only declares; a pure virtual method is a definition."""
        name, line = self._declarations.prototype_name(node), node.start_point[0] + 1
        returned = self._node_text.type_text(node.child_by_field_name("type"))
        key = self._spans.key_at(line)
        if name and returned and key.partition("#")[0].rpartition(".")[2] == name:
            self._scope(key).returns = returned
        elif name and returned and not self._spans.is_in_function(line):
            self._scope(self._spans.type_at(line)).types.setdefault(f"{name}()", (TYPE_SIGN + returned,))

    def _bind(self, bindings: list[Binding]) -> None:
        for binding in bindings:
            self._environment.bind(self._node_text.text(binding.leaf), binding.path)

    def _bind_type_parameter(self, node: tree_sitter.Node) -> None:
        """Bind a type parameter to its bound."""
        names = node.children_by_field_name("name") or [n for n in node.named_children[:1] if not n.child_count]
        names = names or [n for n in node.named_children if n.type == "type_identifier"][:1]
        bounds = node.child_by_field_name("bounds") or next(
            (child for child in node.named_children if child.type == "type_bound"), None
        )
        bound = self._node_text.type_text(first_child(bounds)) if bounds is not None else UNKNOWN
        for name in names:
            self._environment.bind_type(self._node_text.text(name), bound)
            self._bound.add(name.start_byte)

    def _declare_return(self, node: tree_sitter.Node) -> None:
        """Note the declared return type of a function."""
        for name in ("return_type", "result", "returns", "type"):
            declared = node.child_by_field_name(name)
            if declared is not None:
                self._scope(self._spans.key_at(node.start_point[0] + 1)).returns = self._node_text.type_text(declared)
                return

    def _scope(self, key: str) -> _DeclaredScope:
        """Return the scope data of a definition, creating it if necessary."""
        return self._scopes.setdefault(key, _DeclaredScope())

    # --- tokens of Rust macros

    def _tokens(self, node: tree_sitter.Node, role: str) -> list[_Step]:
        """Note the names and dotted paths in the token tree of a Rust macro; return the steps for nested trees."""
        inner: list[_Step] = []
        path: AccessPath = ()
        tokens = node.children
        for position, token in enumerate(tokens):
            if token.type == "token_tree":
                inner.append(_VisitNode(token, role))
                path = path if path and path[-1].endswith("()") else ()
            elif token.type in self._grammar.names or token.type in ("self", "crate", "super"):
                following = tokens[position + 1] if position + 1 < len(tokens) else None
                is_call = following is not None and following.type == "token_tree"
                joined = position > 0 and tokens[position - 1].type in (".", "::") and bool(path)
                self._note_use(
                    token, role if role == UNPARSED_MACRO else "call" if is_call else "read", path if joined else None
                )
                name = self._node_text.text(token)
                start = (name,) if joined else self._environment.value(name) or (name,)
                path = (*path, *start) if joined else start
                path = called(path) if is_call else path
            elif token.type == "integer_literal" and path:
                path = (*path, self._node_text.text(token))
            elif token.type not in (".", "::"):
                path = ()
        return inner


class _DefinitionSpans:
    """Lookup of the definition around a line; indexed by line because a file may have more uses than lines."""

    def __init__(self, definitions: Sequence[Definition], symbols: Sequence[Symbol]) -> None:
        self.type_keys = frozenset(s.key for s in symbols if s.kind in TYPE_KINDS)
        self.function_keys = frozenset(s.key for s in symbols if s.kind in _CALLABLE)
        last = max([definition.end_line for definition in definitions], default=0)
        self._keys = [""] * (last + 1)
        self._types = [""] * (last + 1)
        self._modules = [""] * (last + 1)
        pairs = sorted(zip(definitions, symbols, strict=True), key=lambda pair: (pair[0].start_line, -pair[0].end_line))
        for definition, symbol in pairs:  # outer definitions first: inner definitions overwrite them
            if definition.kind in _KINDS_WITHOUT_USES:
                continue
            lines = slice(definition.start_line, definition.end_line + 1)
            count = definition.end_line + 1 - definition.start_line
            self._keys[lines] = [symbol.key] * count
            if symbol.key in self.type_keys:
                self._types[lines] = [symbol.key] * count
            if definition.kind == "module" or symbol.key in self.function_keys:
                self._modules[lines] = [symbol.key] * count

    def key_at(self, line: int) -> str:
        """Return the key of the innermost definition around a line, ignoring properties; empty at the top level."""
        return self._keys[line] if line < len(self._keys) else ""

    def type_at(self, line: int) -> str:
        """Return the key of the innermost type around a line."""
        return self._types[line] if line < len(self._types) else ""

    def module_at(self, line: int) -> str:
        """Return the key of the innermost module or function around a line: the scope of an import."""
        return self._modules[line] if line < len(self._modules) else ""

    def is_in_function(self, line: int) -> bool:
        """Whether the innermost definition around a line is a function."""
        return self.key_at(line) in self.function_keys
