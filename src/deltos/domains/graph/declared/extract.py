"""Facts about one file: what it imports, which names it uses how, and what its declarations say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec.structs import replace

from deltos.domains.graph.declared.conflicts import members_in_conflict
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
)
from deltos.domains.graph.declared.imports import read_import, read_package
from deltos.domains.graph.declared.macros import names_in_macro
from deltos.domains.graph.declared.phpdoc import Documentation, more_telling, qualified
from deltos.domains.graph.declared.shapes import SHAPES, GrammarShape
from deltos.domains.graph.declared.types import parse_type
from deltos.domains.graph.declared.world import outward
from deltos.domains.graph.declared.written import Written, first_child
from deltos.domains.graph.definitions import as_symbols
from deltos.domains.graph.kernel.resolver import FileFacts
from deltos.domains.graph.model import UNPARSED, UNREAD
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
_PROMOTED = frozenset({"property_promotion_parameter"})  # a parameter of PHP's constructor that is a property too
_UNTOLD: AccessPath = (UNKNOWN,)
_NO_SOURCES = frozenset({"property", "variable", "namespace"})
_CALLABLE = frozenset({"function", "method"})
_PHP_TYPES = ("class_declaration", "interface_declaration", "trait_declaration", "enum_declaration")
_PHP_FUNCTIONS = (*SHAPES["php"].functions, "anonymous_function", "arrow_function")
_PHP_STRINGS = frozenset({"string", "encapsed_string"})
_MACRO_ITEMS = frozenset({"macro_invocation", "expression_statement"})
_ITEM_LISTS = frozenset({"source_file", "declaration_list"})  # of Rust: a macro here may hold definitions


@dataclass(slots=True)
class _DeclaredScope:
    """What the declarations inside one definition say."""

    types: dict[str, AccessPath] = field(default_factory=dict)
    bases: list[str] = field(default_factory=list)
    returns: str = ""

    def frozen(self) -> ScopeTypes:
        """The same as it is stored, in an order of its own."""
        return ScopeTypes(dict(sorted(self.types.items())), tuple(dict.fromkeys(self.bases)), self.returns)


class _Visit(NamedTuple):
    """A node to be read, and as what its name is used."""

    node: tree_sitter.Node
    role: str


class _Bind(NamedTuple):
    """Names to be bound once the declaration that binds them was read: its own types and values do not see them."""

    bindings: list[Binding]


class _Open(NamedTuple):
    """The beginning of a scope that no node is."""


class _Close(NamedTuple):
    """The end of a scope."""


_Step: TypeAlias = _Visit | _Bind | _Open | _Close


def extract(file: ParsedFile) -> FileFacts:
    """Symbols, interface and body of a file."""
    from deltos.languages.outline import outline  # deferred: needs the parser library

    if file.language is None or file.tree is None:
        return FileFacts((), None, None)
    definitions = outline(file.language, file.tree, file.data)
    symbols = tuple(as_symbols(definitions))
    reader = _SourceReader(file.data, SHAPES[file.language.name], file.language.name, definitions, symbols)
    reader.read(file.tree.root_node)
    if file.tree.root_node.has_error:
        reader.read_conflicts(file.data)
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
        self._shape = shape
        self._language = language
        self._is_php = language == "php"
        self._symbols = symbols
        self._spans = _Spans(definitions, symbols)
        self._environment = Environment()
        self._written = Written(data, shape, self._environment)
        self._documentation = Documentation()
        self._declarations = Declarations(self._written, shape, language, self._documentation)
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
        """Visit every node once, outermost first; without recursion, for source may nest without end."""
        pending: list[_Step] = [_Visit(root, "read")]
        while pending:
            step = pending.pop()
            if isinstance(step, _Visit):
                pending.extend(reversed(self._visit(step.node, step.role)))
            elif isinstance(step, _Bind):
                self._bind(step.bindings)
            elif isinstance(step, _Open):
                self._environment.enter()
            else:
                self._environment.leave()

    def read_conflicts(self, data: bytes) -> None:
        """Note the members behind markers of a merge conflict: what reads otherwise there may be one of these."""
        for line, name in members_in_conflict(data, self._language):
            self._unparsed.append(Occurrence(line, self._spans.key_at(line), name, UNPARSED, None))

    def facts(self) -> FileFacts:
        """Everything read, in the form that is stored."""
        type_keys = self._spans.type_keys
        for (owner, name), path in self._assigned.items():
            types = self._scope(owner).types
            if path != _UNTOLD and types.get(name, _UNTOLD) == _UNTOLD:
                types[name] = path
        tops = [
            TopDefinition(symbol.name, symbol.key, symbol.kind)
            for symbol in self._symbols
            if not self._is_member(symbol) and ("#" not in symbol.key or self._is_of_another_sort(symbol))
        ]
        interface = SourceInterface(
            self._package,
            tuple(tops),
            {key: s.frozen() for key, s in sorted(self._scopes.items()) if s.types or s.bases or s.returns},
            tuple(self._imports),
            tuple(sorted(type_keys)),
            {symbol.key: symbol.kind for symbol in self._symbols},
            tuple(sorted(symbol.key for symbol in self._symbols if self._is_file_local(symbol))),
            self._macros,
            tuple(sorted(self._prototypes)),
        )
        body = SourceBody(tuple(self._uses), tuple(self._import_lines), tuple(self._unparsed))
        return FileFacts(tuple(self._symbols), interface, body)

    def _is_member(self, symbol: Symbol) -> bool:
        """Whether a definition belongs to a type, or is local to a function."""
        container = symbol.key.rpartition(".")[0]
        if self._language == "c" and symbol.kind == "variable":
            container = container.rpartition(".")[0]  # what an enum lists is seen where the enum is
        if symbol.kind == "method" and container:
            return True  # also of a type that another file defines
        while container:
            if container in self._spans.type_keys or container in self._spans.function_keys:
                return True
            container = container.rpartition(".")[0]
        return False

    def _is_of_another_sort(self, symbol: Symbol) -> bool:
        """Whether C means something else by a name that was defined before: a struct and a function may share it."""
        first = next(each for each in self._symbols if each.key == symbol.label)
        return self._language == "c" and (first.kind in TYPE_KINDS) != (symbol.kind in TYPE_KINDS)

    def _is_file_local(self, symbol: Symbol) -> bool:
        return self._language in ("c", "cpp") and symbol.signature.startswith("static ")

    # --- nodes

    def _visit(self, node: tree_sitter.Node, role: str) -> list[_Step]:
        """Read a node; what is to be read of it, in order."""
        shape, kind = self._shape, node.type
        if kind in shape.skipped:
            if self._is_php and kind == "comment":
                self._read_comment(node)
            return []
        if self._is_php:
            self._documentation.place(node.start_byte)
        if kind in shape.imports and self._import(node, kind):
            return []
        if kind in shape.packages:
            self._package = self._package or read_package(node, self._written.text)
            body = node.child_by_field_name("body")  # PHP's `namespace { … }` has no name
            name = node.child_by_field_name("name") or first_child(node)  # says where this file is, refers to nothing
            return [_Visit(child, "read") for child in node.named_children if child == body or child != name]
        if kind in shape.names and not node.child_count:
            self._note(node, "type" if role == "read" and kind == "type_identifier" else role, None)
            return []
        if kind == "variable_name":
            return []  # PHP's variables are nothing else
        if kind == "token_tree":
            return self._tokens(node, role)
        if kind == "field_identifier":  # of a method that a class of C++ defines: what follows on its line are uses
            self._names.discard((node.start_point[0] + 1, self._written.text(node)))
            return []
        return self._inside(node, kind, role)

    def _inside(self, node: tree_sitter.Node, kind: str, role: str) -> list[_Step]:
        shape = self._shape
        is_prototype = kind in _PROTOTYPES and self._declarations.is_prototype(node)
        opens = kind in shape.scopes or is_prototype
        self._declarations.note(node)
        if is_prototype and kind == "declaration":
            self._prototypes.add(self._declarations.prototype_name(node))
        if opens:
            self._environment.enter()
        if kind in shape.type_parameters:
            self._bind_type_parameter(node)
        if kind in shape.functions:
            self._declare_return(node)
        self._read_special(node, kind)
        steps: list[_Step] = [_Visit(*each) for each in self._children(node, kind, role)]
        if kind in shape.locals or kind in shape.fields:
            bindings = self._declared(node, kind, is_prototype=is_prototype)
            if bindings and opens:
                steps = self._bound_inside(node, bindings, steps)
            elif bindings:
                steps.append(_Bind(bindings))
        if self._is_php and kind in GUARDS:
            steps = self._narrowed(node, steps)
        if opens:
            steps.append(_Close())
        return steps

    def _narrowed(self, node: tree_sitter.Node, steps: list[_Step]) -> list[_Step]:
        """`if ($x instanceof Foo) …`: what is guarded by a condition sees the variable as a Foo."""
        guarded, inside, after = self._declarations.narrowed(node)
        narrowed: list[_Step] = []
        for step in steps:
            if inside and isinstance(step, _Visit) and step.node == guarded:
                narrowed += [_Open(), _Bind(inside), step, _Close()]
            else:
                narrowed.append(step)
        return [*narrowed, _Bind(after)] if after else narrowed

    def _read_special(self, node: tree_sitter.Node, kind: str) -> None:
        """What only one language writes."""
        read = self._special.get(kind)
        if read is not None:
            read(node)

    def _call_constructor(self, node: tree_sitter.Node) -> None:
        """Java's `super(…)` and `this(…)`."""
        called, line = node.child_by_field_name("constructor"), node.start_point[0] + 1
        if called is not None:
            name = self._written.text(called)
            self._uses.append(Occurrence(line, self._spans.key_at(line), name, "construct", None))

    def _define_function(self, node: tree_sitter.Node) -> None:
        """C++ qualifies the name of a method that is defined outside its class; tests of GoogleTest have fixtures."""
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
        self._bound.update(d.start_byte for d in node.children_by_field_name("declarator"))

    def _define_go_type(self, node: tree_sitter.Node) -> None:
        """`type List []Item` holds what its type holds, `type A = B` is one."""
        name, line = node.child_by_field_name("name"), node.start_point[0] + 1
        text = self._written.type_text(node.child_by_field_name("type")) if self._language == "go" else UNKNOWN
        key = self._spans.key_at(line)
        if name is None or key.rpartition(".")[2] != self._written.text(name):
            return
        if node.type == "type_alias" or text.startswith(("[]", "{}", "chan")):
            self._scope(key).returns = text

    def _read_tuple_fields(self, node: tree_sitter.Node) -> None:
        owner = self._spans.type_at(node.start_point[0] + 1)
        if owner:
            types = self._scope(owner).types
            for position, each in enumerate(node.children_by_field_name("type")):
                types.setdefault(str(position), (TYPE_SIGN + self._written.type_text(each),))

    def _create(self, node: tree_sitter.Node) -> None:
        body = next((child for child in node.named_children if child.type == "class_body"), None)
        created = node.child_by_field_name("type")
        if body is not None and created is not None:
            self._derive_unnamed(body, self._written.type_text(created), created)

    def _define_constant(self, node: tree_sitter.Node) -> None:
        body = node.child_by_field_name("body")
        if body is not None:
            self._derive_unnamed(body, self._spans.type_at(node.start_point[0] + 1).rpartition(".")[2])

    def _read_switch(self, node: tree_sitter.Node) -> None:
        """Java's `case ALIVE:` names a constant of the enum that is switched on."""
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("body")
        if self._language != "java" or condition is None or body is None:
            return
        receiver = self._written.path(first_child(condition))
        if self._own_names is None:
            imported = {clause.alias for clause in self._imports}
            self._own_names = frozenset({symbol.name for symbol in self._symbols} | imported)
        for group in body.named_children:
            labels = [each for each in group.named_children if each.type == "switch_label"]
            for constant in (each for label in labels for each in label.named_children if each.type == "identifier"):
                line, name = constant.start_point[0] + 1, self._written.text(constant)
                if name in self._own_names:  # a number, not a constant of an enum
                    continue
                self._defined.add(constant.start_byte)
                self._uses.append(Occurrence(line, self._spans.key_at(line), name, "read", receiver))

    def _derive_unnamed(self, body: tree_sitter.Node, base: str, created: tree_sitter.Node | None = None) -> None:
        """Java's `new Base() {…}`: its methods see the members of the base, and may stand in for them."""
        for method in body.named_children:
            name = method.child_by_field_name("name") if method.type == "method_declaration" else None
            key = self._spans.key_at(name.start_point[0] + 1) if name is not None else ""
            if name is None or bare_key(key).rpartition(".")[2] != self._written.text(name):
                continue
            self._scope(key).bases.append(base)
            if created is not None:
                qualifier, _, last = parse_type(base).name.rpartition(".")
                receiver = tuple(qualifier.split(".")) if qualifier else None
                self._uses.append(Occurrence(created.start_point[0] + 1, key, last, "inherit", receiver))

    def _read_macro(self, node: tree_sitter.Node) -> None:
        """What a macro of C is replaced with: its names are uses here, and wherever the macro is used."""
        value, parameters = node.child_by_field_name("value"), node.child_by_field_name("parameters")
        named = node.child_by_field_name("name")
        if value is None or named is None:
            return
        own = {self._written.text(each) for each in parameters.named_children} if parameters is not None else set()
        found = names_in_macro(self._written.text(value), own)
        key, first = self._written.text(named), value.start_point[0] + 1
        if key in self._keys and found:
            self._uses += [Occurrence(first + each.line, key, each.name, each.role, None) for each in found]
            self._macros[key] = tuple(dict.fromkeys(MacroName(each.name, each.role) for each in found))

    # --- PHPDoc

    def _read_comment(self, node: tree_sitter.Node) -> None:
        """The names in a comment of PHP are uses, and `@var Foo $x` inside a function says what a variable is."""
        text, first = self._written.text(node), node.start_point[0] + 1
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
            for name, told in found.variables.items():
                if name and told != UNKNOWN:
                    self._environment.bind(name, (TYPE_SIGN + told,))

    def _document_type(self, node: tree_sitter.Node) -> None:
        """`@property` and `@method` are members that a class does not write as code."""
        name = node.child_by_field_name("name")
        found = self._documentation.enter_class(node.start_byte)
        owner = self._spans.type_at(name.start_point[0] + 1) if name is not None else ""
        if owner and (found.properties or found.methods):
            types = self._scope(owner).types
            types |= {each: (TYPE_SIGN + told,) for each, told in found.properties.items()}
            types |= {f"{each}()": (TYPE_SIGN + told,) for each, told in found.methods.items()}

    def _document_function(self, node: tree_sitter.Node) -> None:
        told = self._documentation.enter_function(node.start_byte).returns
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if body is not None and body.type == "compound_statement":
            self._unconditional.update(statement.start_byte for statement in body.named_children)
        if name is not None and told != UNKNOWN:
            scope = self._scope(self._spans.key_at(name.start_point[0] + 1))
            scope.returns = more_telling(scope.returns, told)

    def _refer_to_method(self, node: tree_sitter.Node) -> None:
        """`[$this, 'name']` and `[Foo::class, 'name']` are the method, where there is one."""
        values = [first_child(each) for each in node.named_children[:3] if each.named_child_count == 1]
        owner, told = values if len(values) == node.named_child_count == 2 else (None, None)
        name = first_child(told) if told is not None and told.type in _PHP_STRINGS else None
        if owner is None or name is None or not self._written.text(name).isidentifier():
            return
        path = self._written.path(owner)
        if owner.type == "class_constant_access_expression" and path[-1] == "class":
            path = path[:-1]
        elif self._written.text(owner) == "__CLASS__":
            path = ("self",)
        elif path != ("$this",):
            return
        line = name.start_point[0] + 1
        self._uses.append(Occurrence(line, self._spans.key_at(line), self._written.text(name), CALLABLE, path))

    def _reassigned(self, node: tree_sitter.Node, binding: Binding, before: AccessPath) -> AccessPath | None:
        """What a variable of PHP holds after a further assignment; None where that tells nothing new. One that may not
        happen leaves it unknown, unless it is made of what the variable held."""
        value = node.child_by_field_name("right")
        if value is None or value.type == "null" or binding.path == before:
            return None
        if node.start_byte in self._unconditional:
            return binding.path
        return None if binding.path[: len(before)] == before else _UNTOLD

    def _assign_property(self, node: tree_sitter.Node) -> None:
        """`$this->store = $store`: what a property holds that nothing declares, where all assignments agree."""
        target, value = node.child_by_field_name("left"), node.child_by_field_name("right")
        owner = self._spans.type_at(node.start_point[0] + 1)
        if target is None or value is None or not owner or target.type != "member_access_expression":
            return
        path = self._written.path(target)
        if len(path) != 2 or path[0] != "$this" or value.type == "null":
            return
        property_held = (owner, path[1])
        held = self._written.path(value)
        before = self._assigned.setdefault(property_held, held)
        if before != held or UNKNOWN in held[0]:
            self._assigned[property_held] = _UNTOLD

    def _implement(self, node: tree_sitter.Node) -> None:
        """`impl Trait for Type`: the trait is a base of the type, as far as this file defines it."""
        trait, implementing = node.child_by_field_name("trait"), node.child_by_field_name("type")
        if trait is None or implementing is None:
            return
        line = trait.start_point[0] + 1
        name = parse_type(self._written.type_text(implementing)).name.rpartition(".")[2]
        module = self._spans.module_at(line)
        owner = next(
            (k for scope in outward(module) if (k := f"{scope}.{name}".strip(".")) in self._spans.type_keys), ""
        )
        if owner:
            self._implementing[line] = owner
            self._scope(owner).bases.append(self._written.type_text(trait))

    def _bound_inside(self, node: tree_sitter.Node, bindings: list[Binding], steps: list[_Step]) -> list[_Step]:
        """A loop or a case binds names for its body alone, after its own value was read."""
        body = node.child_by_field_name("body")
        if node.type == "match_arm":
            body = node.child_by_field_name("value")
        before = [step for step in steps if isinstance(step, _Visit) and body is not None and step.node != body]
        after = [step for step in steps if isinstance(step, _Visit) and (body is None or step.node == body)]
        return [*before, _Bind(bindings), *after]

    def _import(self, node: tree_sitter.Node, kind: str) -> bool:
        """Note what an import brings; whether there is nothing else in it to be read."""
        within = self._spans.module_at(node.start_point[0] + 1) if self._language == "rust" else ""
        found = list(read_import(self._language, node, self._written.text))
        for clause, place in found:
            self._imports.append(replace(clause, within=within) if within else clause)
            self._import_lines.append(place.start_point[0] + 1)
        if kind == "mod_item":
            return node.child_by_field_name("body") is None
        if kind == "using_declaration":
            return bool(found)  # C++'s `using ns::f` is a use of it
        return bool(found) or kind != "call"  # Ruby's imports are calls like any other

    def _children(self, node: tree_sitter.Node, kind: str, role: str) -> Iterable[tuple[tree_sitter.Node, str]]:
        if kind in self._shape.members:
            yield from self._member(node, kind, role)
            return
        role = self._role_inside(kind, role)
        if kind == "keyed_element" and node.named_child_count == 2:
            yield from self._keyed(*node.named_children)
            return
        is_creation = kind in self._shape.creations
        if is_creation and self._language == "java" and node.children[0].type not in ("new", "annotation"):
            yield from self._create_inner(node)
            return
        trait = node.child_by_field_name("trait") if kind == "impl_item" else None
        called = first_child(node) if kind in _GENERIC_NAMES and role == "call" else self._written.callee(node, kind)
        for child in node.named_children:
            if child == trait:
                yield child, "inherit"
            elif kind in _ITEM_LISTS and child.type in _MACRO_ITEMS:
                yield child, UNREAD
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
        """As what names inside of a node are used."""
        if kind in self._shape.inherits:
            return "inherit"
        if kind in self._shape.decorates:
            return "decorate"
        return "type" if kind in self._shape.types and role == "read" else role

    def _create_inner(self, node: tree_sitter.Node) -> Iterable[tuple[tree_sitter.Node, str]]:
        """Java's `outer.new Inner(…)`: the name is looked up in the type of `outer`."""
        outer, created = node.named_children[0], node.child_by_field_name("type")
        name = first_child(created) if created is not None and created.child_count else created
        if name is not None:
            self._note(name, "create", self._written.path(outer))
        yield from ((child, "read") for child in node.named_children if child not in (created, name))

    def _keyed(self, key: tree_sitter.Node, value: tree_sitter.Node) -> Iterable[tuple[tree_sitter.Node, str]]:
        """Go's `Field: value`."""
        is_name = key.named_child_count == 1 and key.named_children[0].type in self._shape.names
        return ((key, "key" if is_name else "read"), (value, "read"))

    def _member(self, node: tree_sitter.Node, kind: str, role: str) -> Iterable[tuple[tree_sitter.Node, str]]:
        """Note the member's name with the path to it; go on with the object and the arguments."""
        if kind == "qualified_identifier" and len(parts := self._written.qualified_parts(node)) > 2:
            yield from self._qualified(parts, role)
            return
        receiver, name = self._written.member_parts(node, kind)
        if kind == "method_reference" and node.children[-1].type == "new":
            yield from ((child, "create") for child in node.named_children[:1])  # Java's `Parser::new`
            return
        if name is None:
            yield from ((child, "read") for child in node.named_children)
            return
        if kind == "qualified_name":
            self._note(name, role, qualified(self._written.text(node))[0])
            return
        if name.child_count and name.type not in self._shape.members:
            name = first_child(name) or name  # a generic name: `Foo<T>`
        if role == "read" and name.type == "type_identifier":
            role = "type"
        if receiver is None:
            self._note(name, "call" if kind in self._shape.calls else role, None)
        else:
            is_call = role == "call" or self._shape.calls.get(kind) in ("name", "method")
            self._note(name, "call" if is_call else role, self._written.path(receiver))
            yield receiver, "read"
        for child in node.named_children:
            if child not in (receiver, name):
                yield child, "read"

    def _qualified(self, parts: list[tree_sitter.Node], role: str) -> Iterable[tuple[tree_sitter.Node, str]]:
        """C++'s `a::b::c`: each name is looked up in what stands before it."""
        yield parts[0], "read"
        before = self._written.path(parts[0])
        for part in parts[1:]:
            name = (first_child(part) or part) if part.child_count else part
            self._note(name, role if part is parts[-1] else "read", before)
            before = (*before, self._written.text(name))
            yield from ((child, "type") for child in part.named_children if child != name)

    def _note(self, node: tree_sitter.Node, role: str, receiver: AccessPath | None) -> None:
        name = self._written.text(node)
        line = node.start_point[0] + 1
        if node.start_byte in self._defined or (receiver is None and (line, name) in self._names):
            self._names.discard((line, name))  # the definition itself, as `run` of `void Job::run() {…}`
            return
        if name in self._shape.receivers or not name or (receiver is None and self._is_bound(node, name, role)):
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
        """Whether a name is a variable or a type parameter here, or is just being bound."""
        if node.start_byte in self._bound:
            return True
        if role in _TYPE_ROLES or node.type == "type_identifier":
            return self._environment.bound_of(name) is not None
        if role == "call" and self._shape.has_function_names:
            return False
        return self._environment.value(name) is not None

    # --- declarations

    def _declared(self, node: tree_sitter.Node, kind: str, *, is_prototype: bool) -> list[Binding]:
        """The variables that a node binds; members are noted with their type instead."""
        found = self._declarations.bindings(node) if not is_prototype else []
        if kind != "type_case":  # a case binds the name of its switch again
            found = [binding for binding in found if binding.leaf.start_byte not in self._bound]
        line = node.start_point[0] + 1
        is_field = kind in self._shape.fields and (kind in _PROMOTED or not self._spans.is_in_function(line))
        owner = self._spans.type_at(line) if is_field else ""
        if kind in self._shape.fields and self._language == "go" and not found:
            embedded = node.child_by_field_name("type")
            if owner and embedded is not None:
                self._scope(owner).bases.append(self._written.type_text(embedded))
        if kind == "field_declaration" and is_prototype:
            self._declare_method(node)
        self._bound.update(binding.leaf.start_byte for binding in found)
        kept: list[Binding] = []
        for binding in found:
            name = self._written.text(binding.leaf)
            if name.startswith("@"):  # Ruby's instance variables are the object's, wherever they are assigned
                self._scope(self._spans.type_at(line)).types.setdefault(name, binding.path)
            elif owner:
                self._scope(owner).types.setdefault(name.removeprefix("$"), binding.path)
            elif not self._environment.depth:
                self._scope("").types.setdefault(name, binding.path)
            elif (variable := self._variable(node, kind, binding)) is not None:
                kept.append(variable)
            if owner and kind.endswith("parameter"):  # of a constructor: a property as well
                kept.append(binding)
        return kept

    def _variable(self, node: tree_sitter.Node, kind: str, binding: Binding) -> Binding | None:
        """The variable of a function that a declaration or an assignment binds; None where it binds none anew."""
        name = self._written.text(binding.leaf)
        before = self._environment.value(name) if kind in _ASSIGNING else None
        if self._language == "ruby" and name[:1].isupper():
            return None  # a constant, which is a definition
        if before is None:
            return binding
        path = self._reassigned(node, binding, before) if self._language == "php" else None
        return Binding(binding.leaf, path) if path is not None else None

    def _declare_method(self, node: tree_sitter.Node) -> None:
        """What a method of C++ returns that its class only declares; a pure virtual one is a definition."""
        name, line = self._declarations.prototype_name(node), node.start_point[0] + 1
        returned = self._written.type_text(node.child_by_field_name("type"))
        key = self._spans.key_at(line)
        if name and returned and key.partition("#")[0].rpartition(".")[2] == name:
            self._scope(key).returns = returned
        elif name and returned and not self._spans.is_in_function(line):
            self._scope(self._spans.type_at(line)).types.setdefault(f"{name}()", (TYPE_SIGN + returned,))

    def _bind(self, bindings: list[Binding]) -> None:
        for binding in bindings:
            self._environment.bind(self._written.text(binding.leaf), binding.path)

    def _bind_type_parameter(self, node: tree_sitter.Node) -> None:
        names = node.children_by_field_name("name") or [n for n in node.named_children[:1] if not n.child_count]
        names = names or [n for n in node.named_children if n.type == "type_identifier"][:1]
        bounds = node.child_by_field_name("bounds") or next(
            (child for child in node.named_children if child.type == "type_bound"), None
        )
        bound = self._written.type_text(first_child(bounds)) if bounds is not None else UNKNOWN
        for name in names:
            self._environment.bind_type(self._written.text(name), bound)
            self._bound.add(name.start_byte)

    def _declare_return(self, node: tree_sitter.Node) -> None:
        for name in ("return_type", "result", "returns", "type"):
            declared = node.child_by_field_name(name)
            if declared is not None:
                self._scope(self._spans.key_at(node.start_point[0] + 1)).returns = self._written.type_text(declared)
                return

    def _scope(self, key: str) -> _DeclaredScope:
        return self._scopes.setdefault(key, _DeclaredScope())

    # --- the tokens of Rust's macros

    def _tokens(self, node: tree_sitter.Node, role: str) -> list[_Step]:
        """A macro's arguments are mere tokens: names, and paths of names joined by dots."""
        inner: list[_Step] = []
        path: AccessPath = ()
        tokens = node.children
        for position, token in enumerate(tokens):
            if token.type == "token_tree":
                inner.append(_Visit(token, role))
                path = path if path and path[-1].endswith("()") else ()
            elif token.type in self._shape.names or token.type in ("self", "crate", "super"):
                following = tokens[position + 1] if position + 1 < len(tokens) else None
                is_call = following is not None and following.type == "token_tree"
                joined = position > 0 and tokens[position - 1].type in (".", "::") and bool(path)
                self._note(token, role if role == UNREAD else "call" if is_call else "read", path if joined else None)
                name = self._written.text(token)
                start = (name,) if joined else self._environment.value(name) or (name,)
                path = (*path, *start) if joined else start
                path = (*path[:-1], f"{path[-1]}()") if is_call else path
            elif token.type == "integer_literal" and path:
                path = (*path, self._written.text(token))
            elif token.type not in (".", "::"):
                path = ()
        return inner


class _Spans:
    """Which definition stands around a line: looked up once per line, for a file may have more uses than lines."""

    def __init__(self, definitions: Sequence[Definition], symbols: Sequence[Symbol]) -> None:
        self.type_keys = frozenset(s.key for s in symbols if s.kind in TYPE_KINDS)
        self.function_keys = frozenset(s.key for s in symbols if s.kind in _CALLABLE)
        last = max([definition.end_line for definition in definitions], default=0)
        self._keys = [""] * (last + 1)
        self._types = [""] * (last + 1)
        self._modules = [""] * (last + 1)
        pairs = sorted(zip(definitions, symbols, strict=True), key=lambda pair: (pair[0].start_line, -pair[0].end_line))
        for definition, symbol in pairs:  # outer ones first, so that inner ones stay
            if definition.kind in _NO_SOURCES:
                continue
            lines = slice(definition.start_line, definition.end_line + 1)
            count = definition.end_line + 1 - definition.start_line
            self._keys[lines] = [symbol.key] * count
            if symbol.key in self.type_keys:
                self._types[lines] = [symbol.key] * count
            if definition.kind == "module" or symbol.key in self.function_keys:
                self._modules[lines] = [symbol.key] * count

    def key_at(self, line: int) -> str:
        """The innermost definition around a line that is no mere property; empty at the top level."""
        return self._keys[line] if line < len(self._keys) else ""

    def type_at(self, line: int) -> str:
        """The innermost type around a line."""
        return self._types[line] if line < len(self._types) else ""

    def module_at(self, line: int) -> str:
        """The innermost module or function around a line, inside which an import holds."""
        return self._modules[line] if line < len(self._modules) else ""

    def is_in_function(self, line: int) -> bool:
        """Whether the innermost definition around a line is a function."""
        return self.key_at(line) in self.function_keys
