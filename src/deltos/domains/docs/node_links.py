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

_IMPORT = re.compile(r"""(?:from|import|require\()\s*['"](\.{1,2}/[^'"]+)['"]|<reference\s+path=['"]([^'"]+)['"]""")
_DECLARED = re.compile(
    r"export\s++(?:(?:declare|abstract|async)\s++)*+"
    r"(?:function|const\s++enum|const|let|var|class|interface|type|enum|namespace|module)[\s*]++([\w$]++)"
)
_MAX_DECLARATION_START = 200
_CODE = re.compile(r"(?:\.d)?\.[cm]?[jt]s$")
DECLARATIONS = (".ts", ".mts", ".cts")
_STATEMENTS = frozenset(("program", "ambient_declaration", "module", "internal_module", "statement_block"))
ALL_NAMES = "*"
DEFAULT = "default"
NAMELESS = ""  # a default export without a name


class Export(NamedTuple):
    """An exported name: `name` of `module`, or of the file itself if that is empty, exported as `alias`.

    `export * from` has the name `*` and no alias, `export * as x from` the name `*` and an alias.
    """

    module: str
    name: str
    alias: str
    statement: str = ""


class FileLinks(NamedTuple):
    """The relative imports of a file, and its exports by name."""

    imports: tuple[str, ...]
    exports: tuple[Export, ...]
    declared: tuple[str, ...] = ()  # names declared with `export`


def read_links(name: str, data: bytes) -> FileLinks:
    """Read the imports and exports of one declaration file."""
    text = data.decode("utf-8", "replace")
    imports = tuple(dict.fromkeys(relative or f"./{path}" for relative, path in _IMPORT.findall(text)))
    language = detect(name)
    tree = parse(language, text.encode()) if language else None
    return FileLinks(imports, exports_of(tree), tuple(_declared(tree))) if tree else FileLinks(imports, ())


def _declared(tree: tree_sitter.Tree) -> Iterator[str]:
    """Yield the names that are declared with `export`."""
    for node in _statements(tree.root_node):
        if found := _DECLARED.match(_text(node)[:_MAX_DECLARATION_START]):
            yield found[1]


def exports_of(tree: tree_sitter.Tree) -> tuple[Export, ...]:
    """Return the names in the export statements of a file."""
    imported: dict[str, tuple[str, str]] = {}
    found: list[Export] = []
    for node in _statements(tree.root_node):
        if node.type == "import_statement":
            imported.update(_imported(node))
        else:
            found += _exported(node)
    return tuple(_resolve_import(export, imported) for export in found)


def _statements(root: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the import and export statements of a file, including those in nested modules."""
    pending = [root]
    while pending:
        node = pending.pop()
        if node.type in ("import_statement", "export_statement"):
            yield node
        elif node.type in _STATEMENTS:
            pending += reversed(node.named_children)


def _imported(node: tree_sitter.Node) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield each name of an import statement, with the module and the name there."""
    module = _text(node.child_by_field_name("source")).strip("'\"")
    clause = next((child for child in node.named_children if child.type == "import_clause"), None)
    for child in clause.named_children if clause else ():
        if child.type == "identifier":
            yield _text(child), (module, DEFAULT)
        elif child.type == "namespace_import":
            yield _text(child.named_children[-1] if child.named_children else None), (module, ALL_NAMES)
        else:
            for one in child.named_children:
                name, alias = _names(one)
                yield alias, (module, name)


def _exported(node: tree_sitter.Node) -> Iterator[Export]:
    module = _text(node.child_by_field_name("source")).strip("'\"")
    statement = _text(node)
    declaration = node.child_by_field_name("declaration")
    is_default = any(child.type == DEFAULT for child in node.children)
    if is_default:
        named = declaration.child_by_field_name("name") if declaration else node.child_by_field_name("value")
        yield Export(module, _text(named), DEFAULT, statement)
    elif declaration is not None:
        if declaration.type == "import_alias" and declaration.named_children:
            name = _text(declaration.named_children[0])
            yield Export(module, name, name, statement)
    else:
        yield from _specified(node, module, statement)


def _specified(node: tree_sitter.Node, module: str, statement: str) -> Iterator[Export]:
    """Yield the exports of a statement without a declaration."""
    clauses = [child for child in node.named_children if child.type in ("export_clause", "namespace_export")]
    if module and not clauses:
        yield Export(module, ALL_NAMES, "")
    for clause in clauses:
        if clause.type == "namespace_export":
            yield Export(
                module, ALL_NAMES, _text(clause.named_children[-1] if clause.named_children else None), statement
            )
        else:
            for one in clause.named_children:
                if one.type == "export_specifier":
                    yield Export(module, *_names(one), statement)


def _names(specifier: tree_sitter.Node) -> tuple[str, str]:
    name = _text(specifier.child_by_field_name("name"))
    return name, _text(specifier.child_by_field_name("alias")) or name


def _text(node: tree_sitter.Node | None) -> str:
    return (node.text or b"").decode("utf-8", "replace") if node else ""


def _resolve_import(export: Export, imported: Mapping[str, tuple[str, str]]) -> Export:
    """Resolve an export of an imported name: `import { a } from 'x'; export { a as b }` is `export { a as b } from
    'x'`."""
    if export.module or export.name not in imported:
        return export
    module, name = imported[export.name]
    return export._replace(module=module, name=name)


# ---------------------------------------------------------------------- resolving specifiers


def candidates(path: str, specifier: str) -> list[str]:
    """Return the files that a relative specifier in the file `path` may refer to, most probable first."""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), specifier))
    return [] if target.startswith("..") else declaration_candidates(target)


def declaration_candidates(target: str) -> list[str]:
    """Return the possible declaration files of a file of the package, most probable first."""
    stem = _CODE.sub("", target)
    index = "index" if stem in ("", ".") else f"{stem}/index"
    return [target] * target.endswith(DECLARATIONS) + [
        f"{stem}.d.ts", f"{stem}.d.mts", f"{stem}.d.cts", f"{index}.d.ts", f"{index}.d.mts", f"{stem}.ts",
    ]  # fmt: skip


class LinkedFile(NamedTuple):
    """A file of a package: the files that its specifiers refer to, and its exports."""

    targets: Mapping[str, str]
    exports: tuple[Export, ...]
    declared: tuple[str, ...] = ()


def public_names(files: Mapping[str, LinkedFile]) -> dict[str, dict[str, list[str]]]:
    """Return the aliases under which files of the package re-export a name, by file and name."""
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
        place = files[path].targets.get(export.module, "") if export.module else path
        if place not in files or export.name == ALL_NAMES:
            continue
        inner = _possible_origins(files[place], export.name) if export.module else []
        name = NAMELESS if export.name == DEFAULT and not inner else export.name
        aliases = known.setdefault(place, {}).setdefault(name, [])
        if alias not in aliases:
            aliases.append(alias)
        queue.extend((place, each, alias) for each in inner)
    return known


def _possible_origins(file: LinkedFile, name: str) -> list[Export]:
    """Return the exports of a file that may provide a name."""
    named = [export for export in file.exports if export.alias == name]
    return named or [Export(e.module, name, name) for e in file.exports if e.name == ALL_NAMES and not e.alias]
