"""Read package declarations and find the files that imports refer to."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import tree_sitter

    Text = Callable[[tree_sitter.Node], str]

_SEPARATORS = re.compile(r"::|\\|/")


def read_package(node: tree_sitter.Node, text: Text) -> str:
    """Return the dotted name of the package or namespace that a file declares."""
    name = node.child_by_field_name("name") or (node.named_children[0] if node.named_child_count else None)
    return _SEPARATORS.sub(".", text(name)).strip(".") if name is not None else ""


def included_file(name: str, importer: str, paths: Collection[str], by_name: Callable[[str], list[str]]) -> str | None:
    """Return the file to which an `#include` or `require` refers, or None if it is not found.

    The included name is relative to the importing file or to the project root, or it is the suffix of exactly one path.
    """
    relative_path = posixpath.normpath(posixpath.join(posixpath.dirname(importer), name))
    for candidate in (relative_path, posixpath.normpath(name), f"include/{name}", f"src/{name}"):
        if candidate in paths:
            return candidate
    ending = [path for path in by_name(posixpath.basename(name)) if path == name or path.endswith(f"/{name}")]
    return ending[0] if len(ending) == 1 else None
