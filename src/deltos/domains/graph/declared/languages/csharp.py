"""C#: imports refer to entire namespaces and may apply to all files of a project."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, cast

from deltos.domains.graph.declared.facts import ImportClause, SourceInterface
from deltos.domains.graph.declared.languages.traits import TEXT_NODE_TYPES, LanguageTraits, last_part, node_types
from deltos.domains.graph.kernel.dependencies import files_named, files_with_suffix

if TYPE_CHECKING:
    from collections.abc import Iterator

    import tree_sitter

    from deltos.domains.graph.declared.languages.traits import Text
    from deltos.domains.graph.declared.source_files import SourceFiles

_USINGS_FILES = ("GlobalUsings", "Usings", "GlobalUsing", "Globals", "Global", "Imports", "GlobalImports")
"""Names, without suffix, of the files that are searched for `global using` directives."""


def _read_imports(node: tree_sitter.Node, text: Text) -> Iterator[tuple[ImportClause, tree_sitter.Node]]:
    """Yield the import of a C# using directive."""
    written = text(node).strip().rstrip(";")
    body = written.removeprefix("global ").removeprefix("using").strip()
    is_global = written.startswith("global ")
    if body.startswith("static "):
        name = body.removeprefix("static ").strip()
        yield ImportClause("name", name, last_part(name), is_global=is_global), node
    elif "=" in body:
        alias, _, name = body.partition("=")
        yield ImportClause("name", name.strip(), alias.strip(), is_global=is_global), node
    else:
        yield ImportClause("all", body, is_global=is_global), node


def _global_imports(sources: SourceFiles, path: str) -> tuple[ImportClause, ...]:
    """Return the `global using` directives of the project that contains a file."""
    project = _project_folder(sources, path)
    key = ("usings", project)
    if key not in sources.memo:
        found: list[ImportClause] = []
        for usings in _usings_files(sources):
            interface = sources.project.interface(usings) if _project_folder(sources, usings) == project else None
            clauses = interface.imports if isinstance(interface, SourceInterface) else ()
            found += [clause for clause in clauses if clause.is_global]
        sources.memo[key] = tuple(found)
    return cast("tuple[ImportClause, ...]", sources.memo[key])


def _usings_files(sources: SourceFiles) -> list[str]:
    """Return the files that may contain `global using` directives, judging by the file names."""
    key = ("usings files", "")
    if key not in sources.memo:
        stems = {path: path.rpartition("/")[2].partition(".")[0] for path in sources.paths if path.endswith(".cs")}
        sources.memo[key] = sorted(path for path, stem in stems.items() if stem in _USINGS_FILES)
    return cast("list[str]", sources.memo[key])


def _project_folder(sources: SourceFiles, path: str) -> str:
    """Return the nearest parent folder of a file that contains a C# project, or the root if there is none."""
    key = ("projects", "")
    if key not in sources.memo:
        projects = (each for each in sources.paths if each.endswith(".csproj"))
        sources.memo[key] = frozenset(map(posixpath.dirname, projects))
    folders = cast("frozenset[str]", sources.memo[key])
    folder = posixpath.dirname(path)
    while folder and folder not in folders:
        folder = posixpath.dirname(folder)
    return folder


def _layout_dependencies(sources: SourceFiles) -> list[str]:
    """Return the dependencies on project files and on files with `global using` directives."""
    return [*map(files_named, _USINGS_FILES), files_with_suffix("csproj"), *_usings_files(sources)]


CSHARP = LanguageTraits(
    name="csharp",
    name_nodes=node_types("identifier"),
    member_nodes={
        "member_access_expression": ("expression", "name"),
        "qualified_name": ("qualifier", "name"),
        "conditional_access_expression": ("", ""),
        "member_binding_expression": ("", "name"),
    },
    call_nodes={"invocation_expression": "function"},
    creation_nodes=node_types("object_creation_expression"),
    base_nodes=node_types("base_list"),
    type_nodes=node_types("identifier generic_name type_argument_list nullable_type array_type qualified_name"),
    decorator_nodes=node_types("attribute"),
    local_declaration_nodes=node_types(
        "parameter variable_declaration foreach_statement catch_declaration declaration_expression "
        "declaration_pattern implicit_parameter"
    ),
    scope_nodes=node_types(
        "class_declaration struct_declaration interface_declaration record_declaration method_declaration "
        "constructor_declaration local_function_statement block lambda_expression anonymous_method_expression "
        "for_statement foreach_statement using_statement catch_clause switch_section accessor_declaration"
    ),
    type_parameter_nodes=node_types("type_parameter"),
    field_declaration_nodes=node_types("field_declaration property_declaration"),
    function_nodes=node_types("method_declaration local_function_statement"),
    import_nodes=node_types("using_directive"),
    package_nodes=node_types("namespace_declaration file_scoped_namespace_declaration"),
    skipped_nodes=node_types(TEXT_NODE_TYPES + " interpolated_string_text verbatim_string_literal"),
    receivers=frozenset({"this", "base"}),
    read_imports=_read_imports,
    global_imports=_global_imports,
    layout_dependencies=_layout_dependencies,
    imports_name_files=False,
    sees_outer_packages=True,
    splits_types=True,
    shares_members_in_package=True,
    has_modifiers=True,
)
