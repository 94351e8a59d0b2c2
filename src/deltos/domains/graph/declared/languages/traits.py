"""What differs between languages with declared types: node types of the grammar, traits of the language, and hooks."""

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
Narrowed: TypeAlias = "tuple[tree_sitter.Node | None, list[Binding], list[Binding]]"


def kinds(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


def last_part(dotted: str) -> str:
    """Return the last part of a dotted name."""
    return dotted.rpartition(".")[2]


def _no_dependencies(_sources: SourceFiles) -> list[str]:
    return []


def _declared_package(_path: str, package: str) -> str:
    return package


def _as_written(_sources: SourceFiles, _file: SourceFile, name: str, _within: str) -> str:
    return name


def _plain_alias(_sources: SourceFiles, _package: str, alias: str) -> str:
    return alias


def _no_files(_sources: SourceFiles, _package: str) -> list[str]:
    return []


def _nothing_external(_sources: SourceFiles) -> frozenset[str]:
    return frozenset()


def _no_global_imports(_sources: SourceFiles, _path: str) -> tuple[ImportClause, ...]:
    return ()


def _whole_name(clause: ImportClause) -> str:
    return clause.name


def _other_bindings(declarations: Declarations, node: tree_sitter.Node) -> Iterator[Binding]:
    return declarations.other_bindings(node)


TEXTS = "comment line_comment block_comment multiline_comment string_literal string raw_string_literal char_literal"
"""Node types without names in most grammars."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageTraits:
    """Grammar, traits and hooks of one language.

    `members` maps a node type to the fields of its object and its name; an empty field means the first or last named
    child.
    """

    name: str
    read_imports: Callable[[tree_sitter.Node, Text], Imports]
    """Yields the names that an import statement imports, each with the node that names it."""
    family: str = ""
    """Languages of one family can use each other's definitions; empty if no other language can."""

    # node types of the grammar
    names: frozenset[str]
    members: dict[str, tuple[str, str]]
    calls: dict[str, str] = field(default_factory=dict)
    creations: frozenset[str] = frozenset()
    inherits: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    decorates: frozenset[str] = frozenset()
    locals: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
    imports: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()
    skipped: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset()
    """Nodes that open a scope for the variables declared inside them."""
    type_parameters: frozenset[str] = frozenset()
    guards: frozenset[str] = frozenset()
    """Nodes with a condition that narrows types in a part of them, see `narrowed`."""

    # traits
    receivers: frozenset[str] = frozenset({"this", "super"})
    allocators: frozenset[str] = frozenset()
    """Functions whose first argument is the type that they return."""
    implicit_receiver: bool = True
    """An unqualified name may be a member of the enclosing type."""
    has_function_names: bool = False
    """The syntax distinguishes functions from variables and types of the same name."""
    has_separate_tags: bool = False
    """Structs and functions may share a name, and the constants of an enum are in the scope around it."""
    has_constructors: bool = False
    """A local declaration with arguments constructs a value: `Parser parser(input());`."""
    has_anonymous_classes: bool = False
    functions_have_bases: bool = False
    """A function may see the members of a base: in an anonymous class, or in the fixture of a test."""
    has_documented_types: bool = False
    """Comments state types."""
    has_relative_namespaces: bool = False
    """A qualified name may be relative to the namespace of its file."""
    has_modifiers: bool = False
    """Modifiers say whether a method can be overridden: private, static, final."""
    has_methods_outside_types: bool = False
    has_implicit_interfaces: bool = False
    """A type implements an interface by having its methods."""
    has_exact_arity: bool = False
    """A function takes exactly the number of arguments that it declares."""
    links_by_name: bool = False
    """Names are found in included files and by the linker; static functions belong to their file."""
    has_module_tree: bool = False
    """Files and their parts are modules that import and re-export names; types and values may share a name."""
    has_packages_by_path: bool = False
    """The path of a file, not a declaration, gives its package."""
    sees_outer_packages: bool = False
    reopens_types: bool = False
    """A class may have several openings, which are one symbol."""
    splits_types: bool = False
    """The parts of a type may be in several files of a package."""
    shares_members_in_package: bool = False
    """A member may be defined outside its type, in another file of the package."""
    constants_are_symbols: bool = False
    """An assignment to a capitalised name defines a constant."""
    imports_name_files: bool = True
    imports_name_definitions_only: bool = True
    """No import names a file."""
    import_separator: str = "."

    # hooks of extraction
    bindings: Callable[[Declarations, tree_sitter.Node], Iterator[Binding]] = _other_bindings
    readers: Mapping[str, Callable[[FactCollector, tree_sitter.Node], None]] = field(default_factory=dict)
    """Readers of node types that only this language has."""
    read_comment: Callable[[FactCollector, tree_sitter.Node], None] | None = None
    read_embedded: Callable[[FactCollector, tree_sitter.Node, str], None] | None = None
    """Reads a field without a name, given the key of its type."""
    read_inner_creation: Callable[[FactCollector, tree_sitter.Node], Iterable[tuple[tree_sitter.Node, str]]] | None = (
        None
    )
    """Reads `outer.new Inner(…)`."""
    narrowed: Callable[[Declarations, tree_sitter.Node], Narrowed] | None = None
    """Returns the guarded node, the variables narrowed inside it, and the variables narrowed after the statement."""
    reassigned: Callable[[FactCollector, tree_sitter.Node, Binding, AccessPath], AccessPath | None] | None = None
    """Returns the path of a variable after another assignment; None if nothing changes."""
    is_prototype: Callable[[Declarations, tree_sitter.Node], bool] | None = None
    """Whether a declaration declares a function; its parameters bind no names."""
    prototype_name: Callable[[Declarations, tree_sitter.Node], str] | None = None
    declare_method: Callable[[FactCollector, tree_sitter.Node], None] | None = None

    # hooks of name lookup
    file_package: Callable[[str, str], str] = _declared_package
    """Returns the dotted package of a file, given its path and the declared package."""
    absolute_name: Callable[[SourceFiles, SourceFile, str, str], str] = _as_written
    """Returns an imported name relative to the project root."""
    module_alias: Callable[[SourceFiles, str, str], str] = _plain_alias
    """Returns the name by which an imported package is known in the file."""
    package_files: Callable[[SourceFiles, str], list[str]] = _no_files
    """Returns the files of a package that is given by its path."""
    external_packages: Callable[[SourceFiles], frozenset[str]] = _nothing_external
    """Returns the first names of paths that begin with a package outside the project."""
    global_imports: Callable[[SourceFiles, str], tuple[ImportClause, ...]] = _no_global_imports
    """Returns the imports that other files add to a file."""
    external_file_name: Callable[[ImportClause], str] = _whole_name
    """Returns the name by which an import of a file names a package outside the project."""
    layout_dependencies: Callable[[SourceFiles], list[str]] = _no_dependencies
    """Returns the dependencies of all files of the language: manifests and roots that determine package names."""


def _no_imports(_node: tree_sitter.Node, _text: Text) -> Imports:
    return iter(())


NO_TRAITS = LanguageTraits(
    name="", read_imports=_no_imports, names=frozenset(), members={}, imports_name_definitions_only=False
)
"""The traits of files that are not resolved by declarations."""
