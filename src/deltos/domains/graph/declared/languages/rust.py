"""Rust: files form a tree of modules, whose names are imported and re-exported."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, cast

from deltos.domains.graph.declared.declarations import UNKNOWN_PATH, Binding
from deltos.domains.graph.declared.facts import (
    ELEMENT,
    TYPE_SIGN,
    UNWRAPPED,
    ImportClause,
    PackageDeclaration,
    enclosing_keys,
)
from deltos.domains.graph.declared.languages.traits import TEXT_NODE_TYPES, LanguageTraits, last_part, node_types
from deltos.domains.graph.declared.types import parse_type
from deltos.domains.graph.kernel.dependencies import files_named

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    import tree_sitter

    from deltos.domains.graph.declared.declarations import Declarations
    from deltos.domains.graph.declared.extract import FactCollector
    from deltos.domains.graph.declared.facts import AccessPath
    from deltos.domains.graph.declared.languages.traits import Text
    from deltos.domains.graph.declared.source_files import SourceFile, SourceFiles

_MAX_PATH_CHARACTERS = 1_000
_STANDARD_CRATES = ("std", "core", "alloc")
_UNWRAPPING_PATTERNS = frozenset({"Some", "Ok"})
_NAME_NODE_TYPES = frozenset({"identifier", "scoped_identifier", "self", "crate", "super", "metavariable"})


def _read_imports(node: tree_sitter.Node, text: Text) -> Iterator[tuple[ImportClause, tree_sitter.Node]]:
    """Yield the imports of a Rust `use` or `mod` item, each with the node of the imported name."""
    if node.type == "mod_item":
        name = node.child_by_field_name("name")
        if name is not None and node.child_by_field_name("body") is None:
            yield ImportClause("module", f"self.{text(name)}", text(name)), node
        return
    argument = node.child_by_field_name("argument")
    for path, alias, end in _use_paths(argument, text) if argument is not None else ():
        form = "all" if path.endswith(".*") else "name"
        yield ImportClause(form, path.removesuffix(".*"), alias or last_part(path)), end


def _use_paths(argument: tree_sitter.Node, text: Text) -> Iterator[tuple[str, str, tree_sitter.Node]]:
    """Yield each path in a `use` tree, dotted, with its alias and last node: `a.b` and `a.c` for `a::{b, c as d}`."""
    pending = [(argument, "")]
    while pending:
        node, prefix = pending.pop()
        if node.type == "scoped_use_list":
            path, names = node.child_by_field_name("path"), node.child_by_field_name("list")
            head = prefix + _dotted(path, text) + "." if path is not None else prefix
            if names is not None and len(head) <= _MAX_PATH_CHARACTERS:
                pending.extend((child, head) for child in reversed(names.named_children))
        elif node.type == "use_list":
            pending.extend((child, prefix) for child in reversed(node.named_children))
        elif node.type == "use_as_clause":
            path, alias = node.child_by_field_name("path"), node.child_by_field_name("alias")
            if path is not None and alias is not None:
                yield (prefix + _dotted(path, text)).removesuffix(".self"), text(alias), _last_name_node(path)
        elif node.type == "use_wildcard":
            inner = node.named_children[0] if node.named_child_count else None
            yield (prefix + _dotted(inner, text) if inner is not None else prefix.rstrip(".")) + ".*", "", node
        elif node.type in _NAME_NODE_TYPES:
            yield (prefix + _dotted(node, text)).removesuffix(".self"), "", _last_name_node(node)


def _dotted(node: tree_sitter.Node, text: Text) -> str:
    """Return a Rust path with dots instead of `::`."""
    return "".join(text(node).split()).replace("::", ".").strip(".")


def _last_name_node(path: tree_sitter.Node) -> tree_sitter.Node:
    """Return the last name node in a Rust path."""
    return path.child_by_field_name("name") or path


def _bindings(declarations: Declarations, node: tree_sitter.Node) -> Iterator[Binding]:
    """Yield the bindings of a Rust declaration."""
    if node.type == "closure_parameters":
        bare = [child for child in node.named_children if child.type != "parameter"]
        yield from (Binding(leaf, UNKNOWN_PATH) for child in bare for leaf in declarations.pattern_names(child))
        return
    declared = node.child_by_field_name("type")
    pattern = node.child_by_field_name("pattern") or node.child_by_field_name("name")
    if pattern is None:
        return
    if declared is not None:
        yield from _pattern_bindings(declarations, pattern, (TYPE_SIGN + declarations.node_text.type_text(declared),))
        return
    value = node.child_by_field_name("value")
    if node.type == "match_arm":
        value = declarations.matched_values.get(node.id)
    path = declarations.path_of_value(value)
    yield from _pattern_bindings(declarations, pattern, (*path, ELEMENT) if node.type == "for_expression" else path)


def _pattern_bindings(declarations: Declarations, pattern: tree_sitter.Node, path: AccessPath) -> Iterator[Binding]:
    """Bind the names in a Rust pattern to the matched value, a tuple item of it, or the content of `Some` and `Ok`."""
    while pattern.type in ("match_pattern", "ref_pattern", "mut_pattern", "reference_pattern"):
        inner = [child for child in pattern.named_children if child.type != "mutable_specifier"]
        if not inner:
            return
        pattern = inner[0]
    if pattern.type in declarations.traits.name_nodes or pattern.type == "field_identifier":
        if not declarations.node_text.text(pattern)[:1].isupper():
            yield Binding(pattern, path)
    elif pattern.type == "tuple_pattern":
        for position, child in enumerate(pattern.named_children):
            here = (*path, f"#{position}") if child.type in declarations.traits.name_nodes else UNKNOWN_PATH
            yield from (Binding(leaf, here) for leaf in declarations.pattern_names(child))
    elif pattern.type == "tuple_struct_pattern" and _is_unwrapping(declarations, pattern):
        for child in pattern.named_children[1:]:
            is_whole = child.type in declarations.traits.name_nodes or child.type in ("ref_pattern", "mut_pattern")
            held = (*path, UNWRAPPED) if is_whole else UNKNOWN_PATH
            yield from (Binding(leaf, held) for leaf in declarations.pattern_names(child))
    else:
        yield from (Binding(leaf, UNKNOWN_PATH) for leaf in declarations.pattern_names(pattern))


def _is_unwrapping(declarations: Declarations, pattern: tree_sitter.Node) -> bool:
    """Whether a pattern is `Some(…)` or `Ok(…)`."""
    name = pattern.child_by_field_name("type")
    return name is not None and declarations.node_text.text(name) in _UNWRAPPING_PATTERNS


def _record_implementation(reader: FactCollector, node: tree_sitter.Node) -> None:
    """Add the trait in `impl Trait for Type` to the base types of `Type` if this file defines `Type`."""
    trait, implementing = node.child_by_field_name("trait"), node.child_by_field_name("type")
    if trait is None or implementing is None:
        return
    line = trait.start_point[0] + 1
    name = parse_type(reader.node_text.type_text(implementing)).name.rpartition(".")[2]
    module = reader.spans.module_at(line)
    owner = next(
        (k for scope in enclosing_keys(module) if (k := f"{scope}.{name}".strip(".")) in reader.spans.type_keys), ""
    )
    if owner:
        reader.implementing[line] = owner
        reader.scope(owner).bases.append(reader.node_text.type_text(trait))


def _read_tuple_fields(reader: FactCollector, node: tree_sitter.Node) -> None:
    """Record the types of the fields of a Rust tuple struct, which are named by position."""
    owner = reader.spans.type_at(node.start_point[0] + 1)
    if owner:
        types = reader.scope(owner).types
        for position, each in enumerate(node.children_by_field_name("type")):
            types.setdefault(str(position), (TYPE_SIGN + reader.node_text.type_text(each),))


def crate_of(path: str) -> str:
    """Return the dotted crate folder of a Rust file: the nearest parent folder `src`, or the file's own folder."""
    parts = path.split("/")[:-1]
    for index in range(len(parts) - 1, -1, -1):
        if parts[index] == "src":
            return ".".join(parts[: index + 1])
    return ".".join(parts)


def absolute_name(name: str, package_path: str, crate: str, paths: Collection[str], crates: Mapping[str, str]) -> str:
    """Convert the path in a Rust `use` item to a dotted path from the project root.

    `crates` maps the names of crates to the root folders of the crates.
    """
    first, _, rest = name.partition(".")
    if first == "crate":
        return f"{crate}.{rest}" if crate else rest
    base = package_path
    while first in ("self", "super"):
        if first == "super":
            base = base.rpartition(".")[0]
        name = rest
        first, _, rest = name.partition(".")
        if first not in ("self", "super"):
            return f"{base}.{name}".strip(".")
    if first in crates:
        return f"{crates[first]}.{rest}".strip(".")
    for folder in (first, first.replace("_", "-"), f"crates/{first.replace('_', '-')}", f"crates/{first}"):
        if f"{folder}/src/lib.rs" in paths:
            return f"{folder.replace('/', '.')}.src.{rest}".strip(".")
    return f"{package_path}.{name}".strip(".")


def _file_package(path: str, _package: str) -> str:
    """Return the module path of a Rust file, relative to the project root."""
    folder, _, name = path.rpartition("/")
    stem = name.removesuffix(".rs")
    own = folder if stem in ("mod", "lib", "main") else f"{folder}/{stem}"
    return own.strip("/").replace("/", ".")


def _absolute_name(sources: SourceFiles, file: SourceFile, name: str, within: str) -> str:
    """Return an imported Rust path as a dotted path from the project root."""
    return absolute_name(name, file.module_package(within), crate_of(file.path), sources.paths, _crates(sources))


def _package_files(sources: SourceFiles, package: str) -> list[str]:
    """Return the file that contains a Rust module."""
    folder = package.replace(".", "/")
    candidates = (f"{folder}.rs", f"{folder}/mod.rs", f"{folder}/lib.rs")
    return [path for path in candidates if path in sources.paths][:1]


def _layout_dependencies(sources: SourceFiles) -> list[str]:
    return [files_named("lib"), files_named("Cargo"), *sources.paths_by_file_name("Cargo.toml")]


def _crates(sources: SourceFiles) -> dict[str, str]:
    """Return the dotted root folder of each crate by name.

    If several Cargo.toml files declare a name, the first one is used.
    """
    key = ("crates", "")
    if key not in sources.memo:
        found: dict[str, str] = {}
        for manifest in sources.paths_by_file_name("Cargo.toml"):
            declared = sources.project.interface(manifest)
            if isinstance(declared, PackageDeclaration) and declared.sources:
                root = posixpath.normpath(posixpath.join(posixpath.dirname(manifest), declared.sources[0]))
                if root in sources.paths:
                    found.setdefault(declared.name, posixpath.dirname(root).replace("/", "."))
        sources.memo[key] = found
    return cast("dict[str, str]", sources.memo[key])


def _external_packages(sources: SourceFiles) -> frozenset[str]:
    """Return the crates that the project requires but does not define, with underscores instead of hyphens."""
    key = ("external crates", "")
    if key not in sources.memo:
        required = set(_STANDARD_CRATES)
        for manifest in sources.paths_by_file_name("Cargo.toml"):
            declared = sources.project.interface(manifest)
            if isinstance(declared, PackageDeclaration):
                required.update(name.replace("-", "_") for name in declared.requires)
        sources.memo[key] = frozenset(required - {name.replace("-", "_") for name in _crates(sources)})
    return cast("frozenset[str]", sources.memo[key])


RUST = LanguageTraits(
    name="rust",
    name_nodes=node_types("identifier type_identifier"),
    member_nodes={
        "field_expression": ("value", "field"),
        "scoped_identifier": ("path", "name"),
        "scoped_type_identifier": ("path", "name"),
    },
    call_nodes={"call_expression": "function"},
    creation_nodes=node_types("struct_expression"),
    type_nodes=node_types("type_identifier generic_type reference_type scoped_type_identifier"),
    local_declaration_nodes=node_types(
        "parameter let_declaration closure_parameters for_expression let_condition match_arm"
    ),
    scope_nodes=node_types(
        "function_item function_signature_item impl_item trait_item struct_item enum_item block closure_expression "
        "match_arm for_expression if_expression while_expression function_type type_item"
    ),
    type_parameter_nodes=node_types("type_parameter const_parameter"),
    field_declaration_nodes=node_types("field_declaration const_item static_item"),
    function_nodes=node_types("function_item function_signature_item"),
    import_nodes=node_types("use_declaration mod_item"),
    skipped_nodes=node_types(TEXT_NODE_TYPES + " attribute_item inner_attribute_item"),
    receivers=frozenset({"self", "Self"}),
    has_implicit_receiver=False,
    read_imports=_read_imports,
    bindings=_bindings,
    readers={"impl_item": _record_implementation, "ordered_field_declaration_list": _read_tuple_fields},
    file_package=_file_package,
    absolute_name=_absolute_name,
    package_files=_package_files,
    external_packages=_external_packages,
    layout_dependencies=_layout_dependencies,
    has_module_tree=True,
    has_packages_by_path=True,
    imports_name_definitions_only=False,
    shares_members_in_package=True,
    has_methods_outside_types=True,
    has_exact_arity=True,
)
