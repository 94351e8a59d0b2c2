"""Import statements, and where their names lead: packages, namespaces, modules, files."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from deltos.domains.graph.declared.facts import ImportClause

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    import tree_sitter

    Text = Callable[[tree_sitter.Node], str]

_SEPARATORS = re.compile(r"::|\\|/")


def read_package(node: tree_sitter.Node, text: Text) -> str:
    """The package or namespace that a file declares, dotted."""
    name = node.child_by_field_name("name") or (node.named_children[0] if node.named_child_count else None)
    return _SEPARATORS.sub(".", text(name)).strip(".") if name is not None else ""


def read_import(language: str, node: tree_sitter.Node, text: Text) -> Iterator[ImportClause]:
    """The names that an import statement brings."""
    return _READERS[language](node, text)


def _last(dotted: str) -> str:
    return dotted.rpartition(".")[2]


def _go(node: tree_sitter.Node, text: Text) -> Iterator[ImportClause]:
    path, alias = node.child_by_field_name("path"), node.child_by_field_name("name")
    if path is not None:
        name = text(path).strip('"`')
        given = text(alias) if alias is not None else ""
        yield ImportClause("all" if given == "." else "module", name, given or name.rpartition("/")[2])


def _java(node: tree_sitter.Node, text: Text) -> Iterator[ImportClause]:
    body = text(node).removeprefix("import").strip().rstrip(";").strip()
    static = body.startswith("static ")
    name = body.removeprefix("static ").strip()
    if name.endswith(".*"):
        yield ImportClause("all", name[:-2])
    elif static:
        yield ImportClause("member", name, _last(name))
    else:
        yield ImportClause("name", name, _last(name))


def _kotlin(node: tree_sitter.Node, text: Text) -> Iterator[ImportClause]:
    body, _, alias = text(node).strip().removeprefix("import").strip().partition(" as ")
    name = body.strip()
    if name.endswith(".*"):
        yield ImportClause("all", name[:-2])
    else:
        yield ImportClause("name", name, alias.strip() or _last(name))


def _csharp(node: tree_sitter.Node, text: Text) -> Iterator[ImportClause]:
    body = text(node).strip().rstrip(";").removeprefix("global ").removeprefix("using").strip()
    if body.startswith("static "):
        name = body.removeprefix("static ").strip()
        yield ImportClause("name", name, _last(name))
    elif "=" in body:
        alias, _, name = body.partition("=")
        yield ImportClause("name", name.strip(), alias.strip())
    else:
        yield ImportClause("all", body)


def _rust(node: tree_sitter.Node, text: Text) -> Iterator[ImportClause]:
    if node.type == "mod_item":
        name = node.child_by_field_name("name")
        if name is not None and node.child_by_field_name("body") is None:
            yield ImportClause("module", f"self.{text(name)}", text(name))
        return
    argument = node.child_by_field_name("argument")
    if argument is not None:
        for path, alias in _rust_paths(re.sub(r"\s+", " ", text(argument))):
            how = "all" if path.endswith(".*") else "name"
            yield ImportClause(how, path.removesuffix(".*"), alias or _last(path))


def _rust_paths(text: str, prefix: str = "") -> Iterator[tuple[str, str]]:
    """`a::{b, c as d}` as the dotted paths `a.b` and `a.c` (alias d)."""
    head, brace, rest = text.partition("{")
    if not brace:
        path, _, alias = text.partition(" as ")
        dotted = prefix + path.strip().replace("::", ".")
        yield (dotted.removesuffix(".self"), alias.strip())
        return
    for part in _split_list(rest.rpartition("}")[0]):
        yield from _rust_paths(part, prefix + head.strip().replace("::", "."))


def _split_list(text: str) -> Iterator[str]:
    depth, start = 0, 0
    for position, character in enumerate(text):
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
        elif character == "," and depth == 0:
            if text[start:position].strip():
                yield text[start:position].strip()
            start = position + 1
    if text[start:].strip():
        yield text[start:].strip()


def _include(node: tree_sitter.Node, text: Text) -> Iterator[ImportClause]:
    path = node.child_by_field_name("path")
    if path is not None:
        name = text(path)
        yield ImportClause("file", name.strip('"<>'), "system" if name.startswith("<") else "")
    elif node.type == "using_declaration":
        name = text(node).removeprefix("using").strip().rstrip(";").strip()
        if name.startswith("namespace "):
            yield ImportClause("all", name.removeprefix("namespace ").strip().replace("::", "."))


def _php(node: tree_sitter.Node, text: Text) -> Iterator[ImportClause]:
    body = re.sub(r"\s+", " ", text(node)).removeprefix("use").strip().rstrip(";").strip()
    body = re.sub(r"^(?:function|const) ", "", body)
    head, brace, rest = body.partition("{")
    parts = [head + part for part in rest.rpartition("}")[0].split(",")] if brace else body.split(",")
    for part in parts:
        name, _, alias = part.partition(" as ")
        dotted = re.sub(r"\s", "", name).replace("\\", ".").strip(".")
        if dotted:
            yield ImportClause("name", dotted, alias.strip() or _last(dotted))


def _ruby(node: tree_sitter.Node, text: Text) -> Iterator[ImportClause]:
    method, arguments = node.child_by_field_name("method"), node.child_by_field_name("arguments")
    if method is None or arguments is None or not arguments.named_child_count:
        return
    how, argument = text(method), arguments.named_children[0]
    if how in ("require", "require_relative") and argument.type == "string":
        name = text(argument).strip("\"'").removesuffix(".rb")
        yield ImportClause("file", f"{name}.rb", "system" if how == "require" else "")


_READERS: dict[str, Callable[[tree_sitter.Node, Text], Iterator[ImportClause]]] = {
    "go": _go,
    "java": _java,
    "kotlin": _kotlin,
    "csharp": _csharp,
    "rust": _rust,
    "c": _include,
    "cpp": _include,
    "php": _php,
    "ruby": _ruby,
}


# --- where they lead


def home_of(language: str, path: str, package: str) -> str:
    """The package that a file's top-level definitions belong to, dotted: declared, or told by its place."""
    folder, _, name = path.rpartition("/")
    if language == "go":
        return folder.replace("/", ".")
    if language == "rust":
        stem = name.removesuffix(".rs")
        own = folder if stem in ("mod", "lib", "main") else f"{folder}/{stem}"
        return own.strip("/").replace("/", ".")
    return package


def crate_of(path: str) -> str:
    """The folder of a Rust file's crate root: the nearest `src` above it, else its own folder."""
    parts = path.split("/")[:-1]
    for index in range(len(parts) - 1, -1, -1):
        if parts[index] == "src":
            return ".".join(parts[: index + 1])
    return ".".join(parts)


def absolute_rust(name: str, home: str, crate: str, paths: Collection[str]) -> str:
    """A path of a `use` counted from the project's root."""
    first, _, rest = name.partition(".")
    if first == "crate":
        return f"{crate}.{rest}" if crate else rest
    base = home
    while first in ("self", "super"):
        if first == "super":
            base = base.rpartition(".")[0]
        name = rest
        first, _, rest = name.partition(".")
        if first not in ("self", "super"):
            return f"{base}.{name}".strip(".")
    for folder in (first, first.replace("_", "-"), f"crates/{first.replace('_', '-')}", f"crates/{first}"):
        if f"{folder}/src/lib.rs" in paths:
            return f"{folder.replace('/', '.')}.src.{rest}".strip(".")
    return f"{home}.{name}".strip(".")


def included_file(name: str, importer: str, paths: Collection[str], by_name: Callable[[str], list[str]]) -> str | None:
    """The file that an `#include` or `require` means: beside the importer, from the root, or the only such path."""
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(importer), name))
    for candidate in (beside, posixpath.normpath(name), f"include/{name}", f"src/{name}"):
        if candidate in paths:
            return candidate
    ending = [path for path in by_name(posixpath.basename(name)) if path == name or path.endswith(f"/{name}")]
    return ending[0] if len(ending) == 1 else None
