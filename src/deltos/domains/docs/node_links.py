"""Read the imports and re-exports of npm declaration files, and resolve them to files of the package."""

from __future__ import annotations

import posixpath
import re
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from deltos.languages.grammar import parse
from deltos.languages.table import detect

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import tree_sitter

_RELATIVE_IMPORT = re.compile(
    r"""(?:from|import|require\()\s*['"](\.{1,2}/[^'"]+)['"]|<reference\s+path=['"]([^'"]+)['"]"""
)
_EXPORTED_DECLARATION = re.compile(
    r"export\s++(?:(?:declare|abstract|async)\s++)*+"
    r"(?:function|const\s++enum|const|let|var|class|interface|type|enum|namespace|module)[\s*]++([\w$]++)"
)
_MAX_DECLARATION_START = 200  # maximum number of characters of a statement that are searched for the declared name
_CODE_SUFFIX = re.compile(r"(?:\.d)?\.[cm]?[jt]s$")
DECLARATION_FILE_SUFFIXES = (".ts", ".mts", ".cts")
_STATEMENT_CONTAINERS = frozenset(("program", "ambient_declaration", "module", "internal_module", "statement_block"))
ALL_NAMES = "*"
DEFAULT = "default"
NAMELESS = ""  # name used for an anonymous default export


class Export(NamedTuple):
    """An export of `name` under the name `alias`; `module` is empty if the file defines the name itself.

    `export * from` has the name `*` and no alias; `export * as x from` has the name `*` and the alias `x`.
    """

    module: str
    name: str
    alias: str
    statement: str = ""


class FileLinks(NamedTuple):
    """Relative imports, exports and exported declarations in a file."""

    imports: tuple[str, ...]
    exports: tuple[Export, ...]
    declared_names: tuple[str, ...] = ()  # names that the file declares with `export`


def read_links(name: str, data: bytes) -> FileLinks:
    """Return the imports and exports of one declaration file."""
    text = data.decode("utf-8", "replace")
    imports = tuple(dict.fromkeys(relative or f"./{path}" for relative, path in _RELATIVE_IMPORT.findall(text)))
    language = detect(name)
    tree = parse(language, text.encode()) if language else None
    return FileLinks(imports, exports_of(tree), tuple(_declared_names(tree))) if tree else FileLinks(imports, ())


def _declared_names(tree: tree_sitter.Tree) -> Iterator[str]:
    """Yield the names that are declared with `export`."""
    for node in _import_and_export_statements(tree.root_node):
        if found := _EXPORTED_DECLARATION.match(_node_text(node)[:_MAX_DECLARATION_START]):
            yield found[1]


def exports_of(tree: tree_sitter.Tree) -> tuple[Export, ...]:
    """Return the exports in the export statements of a file; for imported names, determine the original module."""
    imported: dict[str, tuple[str, str]] = {}
    found: list[Export] = []
    for node in _import_and_export_statements(tree.root_node):
        if node.type == "import_statement":
            imported.update(_imported_names(node))
        else:
            found += _exported_names(node)
    return tuple(_resolve_import(export, imported) for export in found)


def _import_and_export_statements(root: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the import and export statements of a file, including statements in nested modules."""
    pending = [root]
    while pending:
        node = pending.pop()
        if node.type in ("import_statement", "export_statement"):
            yield node
        elif node.type in _STATEMENT_CONTAINERS:
            pending += reversed(node.named_children)


def _imported_names(node: tree_sitter.Node) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the local name, module and original name of each imported name."""
    module = _node_text(node.child_by_field_name("source")).strip("'\"")
    clause = next((child for child in node.named_children if child.type == "import_clause"), None)
    for child in clause.named_children if clause else ():
        if child.type == "identifier":
            yield _node_text(child), (module, DEFAULT)
        elif child.type == "namespace_import":
            yield _node_text(child.named_children[-1] if child.named_children else None), (module, ALL_NAMES)
        else:
            for specifier in child.named_children:
                name, alias = _name_and_alias(specifier)
                yield alias, (module, name)


def _exported_names(node: tree_sitter.Node) -> Iterator[Export]:
    """Yield the exports in an export statement; exported declarations such as `export class A` are left out."""
    module = _node_text(node.child_by_field_name("source")).strip("'\"")
    statement = _node_text(node)
    declaration = node.child_by_field_name("declaration")
    is_default = any(child.type == DEFAULT for child in node.children)
    if is_default:
        named = declaration.child_by_field_name("name") if declaration else node.child_by_field_name("value")
        yield Export(module, _node_text(named), DEFAULT, statement)
    elif declaration is not None:
        if declaration.type == "import_alias" and declaration.named_children:
            name = _node_text(declaration.named_children[0])
            yield Export(module, name, name, statement)
    else:
        yield from _exports_of_clauses(node, module, statement)


def _exports_of_clauses(node: tree_sitter.Node, module: str, statement: str) -> Iterator[Export]:
    """Yield the exports in an export statement that declares nothing, such as `export { a } from './b'`."""
    clauses = [child for child in node.named_children if child.type in ("export_clause", "namespace_export")]
    if module and not clauses:
        yield Export(module, ALL_NAMES, "")
    for clause in clauses:
        if clause.type == "namespace_export":
            yield Export(
                module, ALL_NAMES, _node_text(clause.named_children[-1] if clause.named_children else None), statement
            )
        else:
            for specifier in clause.named_children:
                if specifier.type == "export_specifier":
                    yield Export(module, *_name_and_alias(specifier), statement)


def _name_and_alias(specifier: tree_sitter.Node) -> tuple[str, str]:
    name = _node_text(specifier.child_by_field_name("name"))
    return name, _node_text(specifier.child_by_field_name("alias")) or name


def _node_text(node: tree_sitter.Node | None) -> str:
    return (node.text or b"").decode("utf-8", "replace") if node else ""


def _resolve_import(export: Export, imported: Mapping[str, tuple[str, str]]) -> Export:
    """Resolve an exported import: `import { a } from 'x'; export { a as b }` becomes `export { a as b } from 'x'`."""
    if export.module or export.name not in imported:
        return export
    module, name = imported[export.name]
    return export._replace(module=module, name=name)


# ---------------------------------------------------------------------- resolving specifiers


def import_candidates(path: str, specifier: str) -> list[str]:
    """Return the files to which a relative import specifier in the file `path` may refer, most probable first."""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), specifier))
    return [] if target.startswith("..") else declaration_candidates(target)


def declaration_candidates(target: str) -> list[str]:
    """Return the possible paths of the type declarations of a package file, most probable first."""
    stem = _CODE_SUFFIX.sub("", target)
    index = "index" if stem in ("", ".") else f"{stem}/index"
    return [target] * target.endswith(DECLARATION_FILE_SUFFIXES) + [
        f"{stem}.d.ts", f"{stem}.d.mts", f"{stem}.d.cts", f"{index}.d.ts", f"{index}.d.mts", f"{stem}.ts",
    ]  # fmt: skip


class LinkedFile(NamedTuple):
    """A file of a package, with its exports, and with the files that it imports, by import specifier."""

    targets: Mapping[str, str]
    exports: tuple[Export, ...]
    declared_names: tuple[str, ...] = ()


def public_names(files: Mapping[str, LinkedFile]) -> dict[str, dict[str, list[str]]]:
    """Return the aliases under which names are re-exported, grouped by defining file and name."""
    known: dict[str, dict[str, list[str]]] = {}
    queue = deque(
        (path, export, export.alias)
        for path, file in files.items()
        for export in file.exports
        if export.alias not in ("", DEFAULT) and (export.alias != export.name)
    )
    seen = set()
    while queue:
        path, export, alias = queue.popleft()
        if (path, export, alias) in seen:
            continue
        seen.add((path, export, alias))
        target = files[path].targets.get(export.module, "") if export.module else path
        if target not in files or export.name == ALL_NAMES:
            continue
        inner = _possible_origins(files[target], export.name) if export.module else []
        name = NAMELESS if export.name == DEFAULT and not inner else export.name
        aliases = known.setdefault(target, {}).setdefault(name, [])
        if alias not in aliases:
            aliases.append(alias)
        queue.extend((target, each, alias) for each in inner)
    return known


def _possible_origins(file: LinkedFile, name: str) -> list[Export]:
    """Return the re-exports or exports through which a file may provide a name."""
    named = [export for export in file.exports if export.alias == name]
    return named or [Export(e.module, name, name) for e in file.exports if e.name == ALL_NAMES and not e.alias]
