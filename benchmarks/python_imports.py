"""Find imports between the Python files of a source tree by module paths, without the code graph."""

from __future__ import annotations

import ast
import warnings
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

_MAX_NAMESAKES = 3  # a module name is ignored if more files have it


class PythonImports:
    """Implementation of `store.graph.FileImports` over files on disk."""

    def __init__(self, root: Path, paths: Iterable[str]) -> None:
        self._root = root
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            self._by_name[path.rpartition("/")[2]].append(path)

    def imports_of(self, paths: Sequence[str]) -> dict[str, set[str]]:
        """Return the imported files of each file."""
        found = {path: set(self._imported_files(path)) - {path} for path in paths if path.endswith(".py")}
        return {path: targets for path, targets in found.items() if targets}

    def _imported_files(self, path: str) -> Iterator[str]:
        try:
            with warnings.catch_warnings(action="ignore"):
                tree = ast.parse((self._root / path).read_text("utf-8", "replace"))
        except (OSError, SyntaxError, ValueError):
            return
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for name in node.names:
                    yield from self._module_files(name.name.split("."))
            elif isinstance(node, ast.ImportFrom):
                above = path.split("/")[: -node.level] if node.level else []
                module = [*above, *(node.module.split(".") if node.module else ())]
                yield from self._module_files(module)
                for name in node.names:
                    yield from self._module_files([*module, name.name])

    def _module_files(self, module: Sequence[str]) -> list[str]:
        """Return the files of a module, or an empty list if too many paths end with the name of the module."""
        ends = ["/".join(module) + ".py", "/".join((*module, "__init__.py"))] if module else []
        found = [
            path
            for end in ends
            for path in self._by_name.get(end.rpartition("/")[2], ())
            if path == end or path.endswith(f"/{end}")
        ]
        return found if len(found) <= _MAX_NAMESAKES else []
