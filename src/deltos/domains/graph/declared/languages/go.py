"""Go: packages are folders, and import paths begin with the module name in `go.mod`."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from deltos.domains.graph.declared.declarations import UNKNOWN_PATH, Binding, expression_items
from deltos.domains.graph.declared.facts import (
    DEREFERENCED,
    ELEMENT,
    KEY,
    TYPE_SIGN,
    GoModule,
    ImportClause,
    SourceInterface,
)
from deltos.domains.graph.declared.languages.traits import LanguageTraits, node_types
from deltos.domains.graph.kernel.dependencies import files_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    import tree_sitter

    from deltos.domains.graph.declared.declarations import Declarations
    from deltos.domains.graph.declared.extract import FactCollector
    from deltos.domains.graph.declared.facts import AccessPath
    from deltos.domains.graph.declared.languages.traits import Text
    from deltos.domains.graph.declared.source_files import SourceFile, SourceFiles


def _read_imports(node: tree_sitter.Node, text: Text) -> Iterator[tuple[ImportClause, tree_sitter.Node]]:
    """Yield the import of a Go import specification."""
    path, alias = node.child_by_field_name("path"), node.child_by_field_name("name")
    if path is not None:
        name = text(path).strip('"`')
        given = text(alias) if alias is not None else ""
        yield ImportClause("all" if given == "." else "module", name, given or f"/{_default_package_name(name)}"), node


def _default_package_name(path: str) -> str:
    """Return the conventional name of a Go package: `x` for `example.com/x/v2`, `yaml` for `gopkg.in/yaml.v3`."""
    folder, _, last = path.rpartition("/")
    if folder and last.startswith("v") and last[1:].isdigit():
        last = folder.rpartition("/")[2]
    stem, _, version = last.rpartition(".v")
    return stem if stem and version.isdigit() else last


def _bindings(declarations: Declarations, node: tree_sitter.Node) -> Iterator[Binding]:
    """Yield the bindings of a Go declaration."""
    kind = node.type
    if kind in ("parameter_declaration", "variadic_parameter_declaration", "field_declaration"):
        path = _declared_path(declarations, node.child_by_field_name("type"))
        path = (f"{TYPE_SIGN}[]<{path[0][1:]}>",) if kind.startswith("variadic") else path
        yield from (Binding(name, path) for name in node.children_by_field_name("name"))
    elif kind in ("var_spec", "const_spec"):
        # A constant without a value repeats the value of the previous constant.
        spec_with_value = declarations.repeated.get(node.id, node)
        declared = spec_with_value.child_by_field_name("type")
        names = node.children_by_field_name("name")
        if declared is not None:
            path = _declared_path(declarations, declared)
            yield from (Binding(name, path) for name in names)
        else:
            yield from _bind_in_parallel(declarations, names, spec_with_value.child_by_field_name("value"))
    elif kind == "range_clause":
        value = declarations.node_text.path(node.child_by_field_name("right"))
        names = expression_items(node.child_by_field_name("left"))
        yield from (Binding(name, (*value, step)) for name, step in zip(names, (KEY, ELEMENT), strict=False))
    elif kind == "type_case":
        yield from _case_bindings(declarations, node)
    else:
        names = expression_items(node.child_by_field_name("left") or node.child_by_field_name("alias"))
        yield from _bind_in_parallel(
            declarations, names, node.child_by_field_name("right") or node.child_by_field_name("value")
        )


def _declared_path(declarations: Declarations, declared: tree_sitter.Node | None) -> AccessPath:
    """Return the access path of a variable with a declared type.

    A pointer to a type of another package is marked, because no pointer to an interface has methods.
    """
    text = TYPE_SIGN + declarations.node_text.type_text(declared)
    is_pointer = declared is not None and declared.type == "pointer_type"
    return (text, DEREFERENCED) if is_pointer and "." in text and "<" not in text else (text,)


def _case_bindings(declarations: Declarations, node: tree_sitter.Node) -> Iterator[Binding]:
    """Bind the variable of a type switch to the type of each case: `switch x := v.(type) { case *T: … }`."""
    alias = declarations.switched.get(node.id)
    types = node.children_by_field_name("type")
    if alias is not None and len(types) == 1:
        yield from (Binding(name, _declared_path(declarations, types[0])) for name in expression_items(alias))


def _bind_in_parallel(
    declarations: Declarations, names: list[tree_sitter.Node], value: tree_sitter.Node | None
) -> Iterator[Binding]:
    """Bind each name to the value at the same position, or several names to the results of one call."""
    values = expression_items(value)
    names = [name for name in names if name.type in declarations.traits.name_nodes]
    if len(values) == 1 and len(names) > 1:
        path = declarations.node_text.path(values[0])
        yield from (Binding(name, (*path, f"#{position}")) for position, name in enumerate(names))
        return
    for position, name in enumerate(names):
        path = declarations.node_text.path(values[position]) if position < len(values) else UNKNOWN_PATH
        yield Binding(name, path)


def _record_underlying_type(reader: FactCollector, node: tree_sitter.Node) -> None:
    """Record the underlying type of a declared Go type: `type List []Item`, `type A = B`."""
    name, line = node.child_by_field_name("name"), node.start_point[0] + 1
    text = reader.node_text.type_text(node.child_by_field_name("type"))
    key = reader.spans.key_at(line)
    if name is None or key.rpartition(".")[2] != reader.node_text.text(name):
        return
    if node.type == "type_alias" or text.startswith(("[]", "{}", "chan", "fn")):
        reader.scope(key).returns = text


def _record_literal_types(reader: FactCollector, node: tree_sitter.Node) -> None:
    """Record the type of each key in a composite literal, including inner literals without a type."""
    pending = [(node.child_by_field_name("body"), reader.node_text.path(node))]
    while pending:
        body, path = pending.pop()
        for element in body.named_children if body is not None else ():
            if element.type == "keyed_element":
                reader.literal_types[element.id] = path
                element = element.named_children[-1]
            pending += [(inner, (*path, ELEMENT)) for inner in element.named_children if inner.type == "literal_value"]


@cache
def interface_methods() -> dict[str, frozenset[str]]:
    """Return the method names of the interfaces in Go's standard library, such as `net/http.Handler`."""
    packages = json.loads((files("deltos.domains.graph.declared.languages") / "go_interfaces.json").read_text("utf-8"))
    return {
        f"{package}.{name}": frozenset(methods.split())
        for package, interfaces in packages.items()
        for name, methods in interfaces.items()
    }


def _external_interface(file: SourceFile, within: str, name: str) -> str:
    """Return the name of another module's type with its import path, or an empty string if it is not an interface."""
    alias, _, last = name.partition(".")
    package = (file.module(within, alias) or "").removeprefix("//")
    full_name = f"{package}.{last}"
    # Only import paths outside the standard library contain a dot in the first part.
    is_standard = "." not in package.partition("/")[0]
    return full_name if last and package and (not is_standard or full_name in interface_methods()) else ""


def _file_package(path: str, _package: str) -> str:
    """Return the folder of a Go file as a dotted path."""
    return path.rpartition("/")[0].replace("/", ".")


def _absolute_name(sources: SourceFiles, _file: SourceFile, name: str, _within: str) -> str:
    """Return the dotted project folder of an imported package, or `//` and the import path if it is external."""
    for manifest in sources.paths_by_file_name("go.mod"):
        module = sources.project.interface(manifest)
        if isinstance(module, GoModule) and f"{name}/".startswith(f"{module.name}/"):
            folder = manifest.rpartition("/")[0]
            return f"{folder}/{name[len(module.name) + 1 :]}".strip("/").replace("/", ".")
    return f"//{name}"


def _module_alias(sources: SourceFiles, package: str, alias: str) -> str:
    """Return the import alias or, if there is none, the package's name from its `package` clause or its path."""
    if not alias.startswith("/"):
        return alias
    for path in _package_files(sources, package):
        interface = sources.project.interface(path)
        if isinstance(interface, SourceInterface) and interface.package:
            return interface.package
    return alias.removeprefix("/")


def _package_files(sources: SourceFiles, package: str) -> list[str]:
    """Return the files of a package, excluding tests."""
    if package.startswith("//"):
        return []
    files = sources.paths_in_folder(package.replace(".", "/"))
    return [path for path in files if path.endswith(".go") and not path.endswith("_test.go")]


def _layout_dependencies(sources: SourceFiles) -> list[str]:
    """Return the dependencies on `go.mod` files, which determine package names."""
    return [files_named("go"), *sources.paths_by_file_name("go.mod")]


GO = LanguageTraits(
    name="go",
    name_nodes=node_types("identifier type_identifier"),
    member_nodes={"selector_expression": ("operand", "field"), "qualified_type": ("package", "name")},
    call_nodes={"call_expression": "function"},
    creation_nodes=node_types("composite_literal"),
    base_nodes=node_types("type_elem"),
    type_nodes=node_types("type_identifier pointer_type qualified_type slice_type generic_type"),
    local_declaration_nodes=node_types(
        "parameter_declaration variadic_parameter_declaration var_spec const_spec short_var_declaration range_clause "
        "type_case type_switch_statement receive_statement"
    ),
    scope_nodes=node_types(
        "function_declaration method_declaration func_literal function_type method_elem block if_statement "
        "for_statement expression_switch_statement type_switch_statement expression_case default_case type_case "
        "communication_case type_spec"
    ),
    type_parameter_nodes=node_types("type_parameter_declaration"),
    field_declaration_nodes=node_types("field_declaration"),
    function_nodes=node_types("function_declaration method_declaration method_elem"),
    import_nodes=node_types("import_spec"),
    package_nodes=node_types("package_clause"),
    skipped_nodes=node_types("comment interpreted_string_literal raw_string_literal rune_literal"),
    receivers=frozenset(),
    has_implicit_receiver=False,
    read_imports=_read_imports,
    bindings=_bindings,
    readers={
        "composite_literal": _record_literal_types,
        "type_spec": _record_underlying_type,
        "type_alias": _record_underlying_type,
    },
    has_embedded_fields=True,
    external_interface=_external_interface,
    file_package=_file_package,
    absolute_name=_absolute_name,
    module_alias=_module_alias,
    package_files=_package_files,
    layout_dependencies=_layout_dependencies,
    import_separator="/",
    has_packages_by_path=True,
    shares_members_in_package=True,
    has_methods_outside_types=True,
    has_implicit_interfaces=True,
    has_exact_arity=True,
    allocators=frozenset({"new", "make"}),
)
