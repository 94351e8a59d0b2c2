"""Extract the imported names from import statements of all languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import tree_sitter

_MAX_NAMES = 200  # maximum number of names in one import statement


def imports_of(node: tree_sitter.Node, text: Callable[[tree_sitter.Node], str]) -> Iterator[tuple[str, str, str]]:
    """Yield the local name, module and original name of each import in an import statement of any language."""
    source = node.child_by_field_name("source")
    if source is not None:
        yield from _script_imports(node, text(source).strip("\"'`"), text)
    elif node.type in ("import_statement", "import_from_statement"):
        yield from _python_imports(node, text)
    elif node.type == "import_spec":
        yield from _go_import(node, text)
    elif node.type in ("import_declaration", "namespace_use_clause", "using_directive"):
        yield from _qualified_import(text(node))
    elif node.type == "use_declaration":
        yield from _rust_imports(text(node).removeprefix("pub ").removeprefix("use ").strip("; "))


def _python_imports(node: tree_sitter.Node, text: Callable[[tree_sitter.Node], str]) -> Iterator[tuple[str, str, str]]:
    module_node = node.child_by_field_name("module_name")
    module = text(module_node) if module_node else ""
    for name in node.children_by_field_name("name")[:_MAX_NAMES]:
        inner, alias = name.child_by_field_name("name"), name.child_by_field_name("alias")
        written = text(inner) if inner else text(name)
        local = text(alias) if alias else written
        yield (local, module, written) if module_node else (local, written, "")


def _script_imports(
    node: tree_sitter.Node, module: str, text: Callable[[tree_sitter.Node], str]
) -> Iterator[tuple[str, str, str]]:
    pending = [child for child in node.named_children if child.type in ("import_clause", "export_clause")]
    while pending:
        child = pending.pop()
        if child.type in ("import_specifier", "export_specifier"):
            name, alias = child.child_by_field_name("name"), child.child_by_field_name("alias")
            if name is not None:
                yield text(alias or name), module, text(name)
        elif child.type == "namespace_import":
            yield text(child.named_children[-1]), module, ""
        elif child.type == "identifier":
            yield text(child), module, "default"
        else:
            pending += child.named_children[:_MAX_NAMES]


def _go_import(node: tree_sitter.Node, text: Callable[[tree_sitter.Node], str]) -> Iterator[tuple[str, str, str]]:
    path, name = node.child_by_field_name("path"), node.child_by_field_name("name")
    if path is not None:
        module = text(path).strip('"`')
        parts = module.split("/")
        last = parts[-2] if len(parts) > 1 and parts[-1][:1] == "v" and parts[-1][1:].isdigit() else parts[-1]
        yield text(name) if name else last, module, ""


def _qualified_import(written: str) -> Iterator[tuple[str, str, str]]:
    """Yield the import in a Java, C# or PHP statement: a qualified name with an optional alias."""
    name = written.strip(" ;\n").removeprefix("import ").removeprefix("using ").removeprefix("static ").strip()
    name, _, alias = name.partition(" as ")
    name = name.replace("\\", ".")
    module, _, last = name.rpartition(".")
    if last and last != "*" and not set(name) & set('\n"('):
        yield alias.strip() or last, module, last


def _rust_imports(written: str) -> Iterator[tuple[str, str, str]]:
    """Yield the imports in a Rust `use` declaration with at most one level of braces."""
    head, _, inside = written.partition("{")
    names = inside.rstrip("} ").split(",") if inside else [head]
    for each in names[:_MAX_NAMES]:
        path, _, alias = each.strip().partition(" as ")
        full = f"{head}{path}" if inside else path
        module, _, last = full.rpartition("::")
        if last and last != "*":
            yield alias.strip() or last, module.replace("::", "."), last


def required_names(written: str, module: str) -> Iterator[tuple[str, str, str]]:
    """Yield the imported names of a statement such as `const { a, b: c } = require("module")`."""
    if not written.startswith("{"):
        yield written, module, ""
        return
    for each in written.strip("{} ").split(",")[:_MAX_NAMES]:
        name, mark, alias = each.partition(":")
        yield (alias if mark else name).strip(), module, name.strip()
