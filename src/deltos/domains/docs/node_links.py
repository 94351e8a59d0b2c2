"""How declaration files of npm packages are linked: what each imports, and under which names it passes things on."""

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
_LONGEST_BEGINNING = 200
_CODE = re.compile(r"(?:\.d)?\.[cm]?[jt]s$")
DECLARATIONS = (".ts", ".mts", ".cts")
_STATEMENTS = frozenset(("program", "ambient_declaration", "module", "internal_module", "statement_block"))
EVERYTHING = "*"
DEFAULT = "default"
NAMELESS = ""  # a default export without a name of its own


class Export(NamedTuple):
    """A name that a file exports: `name` of `module`, or of the file itself where that is empty, known as `alias`.

    `export * from` has the name `*` and no alias, `export * as x from` the name `*` and an alias.
    """

    module: str
    name: str
    alias: str
    statement: str = ""


class FileLinks(NamedTuple):
    """What a file imports by relative paths, and what it exports by naming it."""

    imports: tuple[str, ...]
    exports: tuple[Export, ...]
    declared: tuple[str, ...] = ()  # names whose declaration says `export`


def read_links(name: str, data: bytes) -> FileLinks:
    """The links of one declaration file."""
    text = data.decode("utf-8", "replace")
    imports = tuple(dict.fromkeys(relative or f"./{path}" for relative, path in _IMPORT.findall(text)))
    language = detect(name)
    tree = parse(language, text.encode()) if language else None
    return FileLinks(imports, exports_of(tree), tuple(_declared(tree))) if tree else FileLinks(imports, ())


def _declared(tree: tree_sitter.Tree) -> Iterator[str]:
    """The names whose declaration says `export`."""
    for node in _statements(tree.root_node):
        if found := _DECLARED.match(_text(node)[:_LONGEST_BEGINNING]):
            yield found[1]


def exports_of(tree: tree_sitter.Tree) -> tuple[Export, ...]:
    """What the export statements of a file name."""
    imported: dict[str, tuple[str, str]] = {}
    found: list[Export] = []
    for node in _statements(tree.root_node):
        if node.type == "import_statement":
            imported.update(_imported(node))
        else:
            found += _exported(node)
    return tuple(_through_imports(export, imported) for export in found)


def _statements(root: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Import and export statements of a file and of the modules declared in it."""
    pending = [root]
    while pending:
        node = pending.pop()
        if node.type in ("import_statement", "export_statement"):
            yield node
        elif node.type in _STATEMENTS:
            pending += reversed(node.named_children)


def _imported(node: tree_sitter.Node) -> Iterator[tuple[str, tuple[str, str]]]:
    """Each name that an import statement brings, with the module and its name there."""
    module = _text(node.child_by_field_name("source")).strip("'\"")
    clause = next((child for child in node.named_children if child.type == "import_clause"), None)
    for child in clause.named_children if clause else ():
        if child.type == "identifier":
            yield _text(child), (module, DEFAULT)
        elif child.type == "namespace_import":
            yield _text(child.named_children[-1] if child.named_children else None), (module, EVERYTHING)
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
    """What a statement without a declaration exports."""
    clauses = [child for child in node.named_children if child.type in ("export_clause", "namespace_export")]
    if module and not clauses:
        yield Export(module, EVERYTHING, "")
    for clause in clauses:
        if clause.type == "namespace_export":
            yield Export(
                module, EVERYTHING, _text(clause.named_children[-1] if clause.named_children else None), statement
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


def _through_imports(export: Export, imported: Mapping[str, tuple[str, str]]) -> Export:
    """`import { a } from 'x'; export { a as b }` is `export { a as b } from 'x'`."""
    if export.module or export.name not in imported:
        return export
    module, name = imported[export.name]
    return export._replace(module=module, name=name)


# ---------------------------------------------------------------------- which file is meant


def candidates(path: str, specifier: str) -> list[str]:
    """The files of a package that a relative specifier in the file `path` may mean, likeliest first."""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), specifier))
    return [] if target.startswith("..") else declaration_candidates(target)


def declaration_candidates(target: str) -> list[str]:
    """The declaration files that may belong to a file of the package, likeliest first."""
    stem = _CODE.sub("", target)
    index = "index" if stem in ("", ".") else f"{stem}/index"
    return [target] * target.endswith(DECLARATIONS) + [
        f"{stem}.d.ts", f"{stem}.d.mts", f"{stem}.d.cts", f"{index}.d.ts", f"{index}.d.mts", f"{stem}.ts",
    ]  # fmt: skip


class LinkedFile(NamedTuple):
    """A file of a package, the files that its specifiers mean, and what it exports by naming it."""

    targets: Mapping[str, str]
    exports: tuple[Export, ...]
    declared: tuple[str, ...] = ()


def public_names(files: Mapping[str, LinkedFile]) -> dict[str, dict[str, list[str]]]:
    """By file and name in it, the other names under which files of the package pass it on."""
    known: dict[str, dict[str, list[str]]] = {}
    waiting = deque(
        (path, export, export.alias)
        for path, file in files.items()
        for export in file.exports
        if export.alias not in ("", DEFAULT) and (export.alias != export.name)
    )
    met = set()
    while waiting:
        path, export, alias = waiting.popleft()
        if (path, export, alias) in met:
            continue
        met.add((path, export, alias))
        place = files[path].targets.get(export.module, "") if export.module else path
        if place not in files or export.name == EVERYTHING:
            continue
        inner = _may_bring(files[place], export.name) if export.module else []
        name = NAMELESS if export.name == DEFAULT and not inner else export.name
        aliases = known.setdefault(place, {}).setdefault(name, [])
        if alias not in aliases:
            aliases.append(alias)
        waiting.extend((place, each, alias) for each in inner)
    return known


def _may_bring(file: LinkedFile, name: str) -> list[Export]:
    """The exports of a file that a name of it may come from."""
    named = [export for export in file.exports if export.alias == name]
    return named or [Export(e.module, name, name) for e in file.exports if e.name == EVERYTHING and not e.alias]
