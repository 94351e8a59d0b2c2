"""Write the method names of the interfaces in Go's standard library, which a project can implement implicitly.

    python -m scripts.go_interfaces SOURCES

SOURCES is the folder `src` of a Go installation.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import tree_sitter
import tree_sitter_go

from deltos.domains.graph.declared.languages import go

if TYPE_CHECKING:
    from collections.abc import Iterator

_SKIPPED_FOLDERS = frozenset({"internal", "vendor", "testdata", "cmd"})
_INTERFACES = "(type_spec name: (type_identifier) @name type: (interface_type) @type)"
_OUTPUT = Path(go.__file__).with_name("go_interfaces.json")


def main() -> None:
    """Read the exported interfaces of all public packages and write their methods as JSON."""
    root = Path(sys.argv[1])
    language = tree_sitter.Language(tree_sitter_go.language())
    query, parser = tree_sitter.Query(language, _INTERFACES), tree_sitter.Parser(language)
    members: dict[str, tuple[list[str], list[str]]] = {}
    for path in sorted(root.rglob("*.go")):
        package = path.relative_to(root).parent
        if _SKIPPED_FOLDERS.isdisjoint(package.parts) and not path.name.endswith("_test.go"):
            tree = parser.parse(path.read_bytes())
            for _, captures in tree_sitter.QueryCursor(query).matches(tree.root_node):
                name = _text(captures["name"][0])
                members.setdefault(f"{package}.{name}", _members(captures["type"][0], str(package)))
    found: dict[str, dict[str, str]] = {}
    for full_name in members:
        package_name, _, name = full_name.rpartition(".")
        methods = sorted(set(_methods(full_name, members)))
        if name[:1].isupper() and methods and all(each[:1].isupper() for each in methods):
            found.setdefault(package_name, {})[name] = " ".join(methods)
    _OUTPUT.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", "utf-8")


def _members(node: tree_sitter.Node, package: str) -> tuple[list[str], list[str]]:
    """Return the names of an interface's methods and of the interfaces that it embeds."""
    methods = [_text(name) for child in node.named_children for name in child.children_by_field_name("name")[:1]]
    embedded = [_text(child) for child in node.named_children if child.type == "type_elem"]
    return methods, [each if "." in each else f"{package}.{each}" for each in embedded]


def _methods(full_name: str, members: dict[str, tuple[list[str], list[str]]]) -> Iterator[str]:
    """Yield the names of all methods of an interface, including embedded interfaces."""
    methods, embedded = members.get(full_name, ([], []))
    yield from methods
    for other in embedded:
        if other != full_name:
            # Packages are written with their last part only: `http.Handler` for `net/http.Handler`.
            yield from _methods(next((each for each in members if f"/{each}".endswith(f"/{other}")), ""), members)


def _text(node: tree_sitter.Node) -> str:
    return (node.text or b"").decode()


if __name__ == "__main__":
    main()
