"""Differences between the languages with declared types: node types of the grammar, flags and functions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import tree_sitter

    from deltos.domains.graph.declared.declarations import Binding, Declarations
    from deltos.domains.graph.declared.extract import FactCollector
    from deltos.domains.graph.declared.facts import AccessPath, ImportClause
    from deltos.domains.graph.declared.source_files import SourceFile, SourceFiles

Text: TypeAlias = "Callable[[tree_sitter.Node], str]"
Imports: TypeAlias = "Iterator[tuple[ImportClause, tree_sitter.Node]]"
NarrowedVariables: TypeAlias = "tuple[tree_sitter.Node | None, list[Binding], list[Binding]]"


def node_types(text: str) -> frozenset[str]:
    """Return the set of node types in a space-separated string."""
    return frozenset(text.split())


def last_part(dotted: str) -> str:
    """Return the part of a dotted name after the last dot."""
    return dotted.rpartition(".")[2]


def _no_dependencies(_sources: SourceFiles) -> list[str]:
    return []


def _declared_package(_path: str, package: str) -> str:
    return package


def _unchanged_name(_sources: SourceFiles, _file: SourceFile, name: str, _within: str) -> str:
    return name


def _plain_alias(_sources: SourceFiles, _package: str, alias: str) -> str:
    return alias


def _no_files(_sources: SourceFiles, _package: str) -> list[str]:
    return []


def _no_external_packages(_sources: SourceFiles) -> frozenset[str]:
    return frozenset()


def _no_global_imports(_sources: SourceFiles, _path: str) -> tuple[ImportClause, ...]:
    return ()


def _unqualified_type(_file: SourceFile, _within: str, name: str) -> str:
    return last_part(name)


def _import_name(clause: ImportClause) -> str:
    return clause.name


def _other_bindings(declarations: Declarations, node: tree_sitter.Node) -> Iterator[Binding]:
    return declarations.other_bindings(node)


TEXT_NODE_TYPES = (
    "comment line_comment block_comment multiline_comment string_literal string raw_string_literal char_literal"
)
"""Node types of comments and literals in most grammars; they contain no names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageTraits:
    """Grammar, flags and functions that distinguish one language.

    `member_nodes` maps each node type of a member access to the grammar fields that hold the object and the name. An
    empty object field means the first named child, and an empty name field the last.
    """

    name: str
    read_imports: Callable[[tree_sitter.Node, Text], Imports]
    """Yields the imports in an import statement, each with its name node."""
    family: str = ""
    """Family of languages that can use each other's definitions; empty if no other language can use them."""

    # node types of the grammar
    name_nodes: frozenset[str]
    member_nodes: dict[str, tuple[str, str]]
    call_nodes: dict[str, str] = field(default_factory=dict)
    creation_nodes: frozenset[str] = frozenset()
    base_nodes: frozenset[str] = frozenset()
    type_nodes: frozenset[str] = frozenset()
    decorator_nodes: frozenset[str] = frozenset()
    local_declaration_nodes: frozenset[str] = frozenset()
    field_declaration_nodes: frozenset[str] = frozenset()
    function_nodes: frozenset[str] = frozenset()
    import_nodes: frozenset[str] = frozenset()
    package_nodes: frozenset[str] = frozenset()
    skipped_nodes: frozenset[str] = frozenset()
    scope_nodes: frozenset[str] = frozenset()
    """Node types that open a scope for the variables declared inside them."""
    type_parameter_nodes: frozenset[str] = frozenset()
    guard_nodes: frozenset[str] = frozenset()
    """Node types with a condition that may narrow the types of variables; see `narrow_variables`."""

    # traits
    receivers: frozenset[str] = frozenset({"this", "super"})
    allocators: frozenset[str] = frozenset()
    """Functions whose first argument is the type that they return."""
    has_implicit_receiver: bool = True
    """Whether an unqualified name may be a member of the enclosing type."""
    has_function_names: bool = False
    """Whether the syntax distinguishes functions from variables and types of the same name."""
    has_separate_tags: bool = False
    """Whether struct tags have a namespace of their own, as in C; enum constants then belong to the enclosing scope."""
    has_constructors: bool = False
    """Whether a local declaration may call a constructor: `Parser parser(input());`."""
    has_anonymous_classes: bool = False
    functions_have_bases: bool = False
    """Whether a function may have base types whose members it uses, such as the fixture of a test."""
    has_documented_types: bool = False
    """Whether comments declare types."""
    has_relative_namespaces: bool = False
    """Whether a qualified name may be relative to the namespace of its file."""
    has_modifiers: bool = False
    """Whether modifiers such as private, static and final prevent a method from being overridden."""
    has_methods_outside_types: bool = False
    has_implicit_interfaces: bool = False
    """Whether a type implements an interface implicitly if it has all its methods."""
    has_embedded_fields: bool = False
    """Whether a field without a name embeds its type, whose members become members of the struct."""
    has_exact_arity: bool = False
    """Whether a call must pass exactly one argument for each declared parameter."""
    links_by_name: bool = False
    """Whether the linker connects uses with definitions in other files, except for static functions."""
    has_module_tree: bool = False
    """Whether files and blocks are modules that import and re-export names, as in Rust."""
    has_packages_by_path: bool = False
    """Whether the path of a file, not a declaration, determines its package."""
    sees_outer_packages: bool = False
    reopens_types: bool = False
    """Whether a class may be reopened, as in Ruby, so that several definitions are one symbol."""
    splits_types: bool = False
    """Whether several files of a package may define parts of one type."""
    shares_members_in_package: bool = False
    """Whether a member may be defined outside its type, in another file of the package."""
    constants_are_symbols: bool = False
    """Whether an assignment to a capitalised name defines a constant."""
    imports_name_files: bool = True
    """Whether imports refer to files or definitions; false if they contain only namespaces."""
    imports_name_definitions_only: bool = True
    """Whether imports refer only to definitions and packages, never to files."""
    import_separator: str = "."

    # functions that extract facts
    bindings: Callable[[Declarations, tree_sitter.Node], Iterator[Binding]] = _other_bindings
    readers: Mapping[str, Callable[[FactCollector, tree_sitter.Node], None]] = field(default_factory=dict)
    """Readers for node types that only this language has."""
    read_comment: Callable[[FactCollector, tree_sitter.Node], None] | None = None
    read_inner_creation: Callable[[FactCollector, tree_sitter.Node], Iterable[tuple[tree_sitter.Node, str]]] | None = (
        None
    )
    """Reads `outer.new Inner(…)`."""
    narrow_variables: Callable[[Declarations, tree_sitter.Node], NarrowedVariables] | None = None
    """Returns the guarded node, the variables narrowed inside it, and the variables narrowed after the statement."""
    path_after_assignment: (
        Callable[[FactCollector, tree_sitter.Node, Binding, AccessPath], AccessPath | None] | None
    ) = None
    """Returns the path of a variable after another assignment, or None if the path does not change."""
    is_prototype: Callable[[Declarations, tree_sitter.Node], bool] | None = None
    """Returns whether a declaration declares a function, whose parameters bind no names."""
    prototype_name: Callable[[Declarations, tree_sitter.Node], str] | None = None
    declare_method: Callable[[FactCollector, tree_sitter.Node], None] | None = None

    # functions that look up names
    file_package: Callable[[str, str], str] = _declared_package
    """Returns the dotted package of a file, given its path and the declared package."""
    absolute_name: Callable[[SourceFiles, SourceFile, str, str], str] = _unchanged_name
    """Returns an imported name relative to the project root."""
    module_alias: Callable[[SourceFiles, str, str], str] = _plain_alias
    """Returns the name by which the file refers to an imported package."""
    package_files: Callable[[SourceFiles, str], list[str]] = _no_files
    """Returns the files of a package, given the package path."""
    external_packages: Callable[[SourceFiles], frozenset[str]] = _no_external_packages
    """Returns the names of external packages, which may begin qualified names."""
    global_imports: Callable[[SourceFiles, str], tuple[ImportClause, ...]] = _no_global_imports
    """Returns the imports that other files add to a file."""
    external_interface: Callable[[SourceFile, str, str], str] = _unqualified_type
    """Returns the name of another package's type, given where and how it is written; empty if no type can implement
    it."""
    external_file_name: Callable[[ImportClause], str] = _import_name
    """Returns the name of the external package to which a file import refers."""
    layout_dependencies: Callable[[SourceFiles], list[str]] = _no_dependencies
    """Returns the dependencies of all files of the language: the manifests and roots that determine package names."""


def _no_imports(_node: tree_sitter.Node, _text: Text) -> Imports:
    return iter(())


NO_TRAITS = LanguageTraits(
    name="", read_imports=_no_imports, name_nodes=frozenset(), member_nodes={}, imports_name_definitions_only=False
)
"""Traits of files in other languages."""
