"""Ambient declarations: globals and modules declared in the .d.ts files of a project."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.graph.kernel.dependencies import files_with_suffix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deltos.domains.graph.typescript.modules.module import Module
    from deltos.domains.graph.typescript.types import DeclaredEntity

ANY_DECLARATION_FILE = files_with_suffix("d.ts")  # any declaration file, including files that are added later
_DECLARATION_SUFFIXES = (".d.ts", ".d.mts", ".d.cts")
_GLOBAL_PREFIX = "global."


class _AmbientDeclaration(NamedTuple):
    """The first module that declares an ambient name, with the module's position among the sorted declaration files."""

    position: int
    module: Module
    name: str


class Ambient:
    """Globals and `declare module` declarations of a project.

    `read` returns the module at a path. A lookup depends on all declaration files up to the first file that declares
    the name.
    """

    def __init__(
        self, paths: Iterable[str], read: Callable[[str], Module | None], depend_on_all: Callable[[Iterable[str]], None]
    ) -> None:
        self._paths = sorted(path for path in paths if path.endswith(_DECLARATION_SUFFIXES))
        self._read = read
        self._depend_on_all = depend_on_all

    def declared_entity(self, name: str) -> DeclaredEntity | None:
        """Return the declaration of a global name."""
        return self._declaration(name)

    def exported_entity(self, specifier: str, name: str) -> DeclaredEntity | None:
        """Return the declaration of a name in `declare module 'specifier'`."""
        return self._declaration(f'"{specifier}".{name}')

    def _declaration(self, name: str) -> DeclaredEntity | None:
        """Return the first declaration of a name, and record the files that were searched for it as dependencies."""
        declaring = self._declarations.get(name)
        self._depend_on_all((ANY_DECLARATION_FILE,))
        self._depend_on_all(self._paths if declaring is None else self._paths[: declaring.position + 1])
        return None if declaring is None else declaring.module.declared_entity(declaring.name)

    @cached_property
    def _declarations(self) -> dict[str, _AmbientDeclaration]:
        """Globals and the contents of `declare module` statements, by name."""
        found: dict[str, _AmbientDeclaration] = {}
        for position, module in enumerate(map(self._read, self._paths)):
            for name in module.declarations if module is not None else ():
                if module is not None and (not module.is_module or name.startswith((_GLOBAL_PREFIX, '"'))):
                    declaration = _AmbientDeclaration(position, module, name)
                    found.setdefault(name.removeprefix(_GLOBAL_PREFIX), declaration)
        return found
