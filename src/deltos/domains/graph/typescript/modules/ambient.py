"""Ambient declarations: globals and modules declared in the .d.ts files of a project."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.graph.kernel.dependencies import files_with_suffix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deltos.domains.graph.typescript.modules.module import Module
    from deltos.domains.graph.typescript.types import DeclaredEntity

ANY_DECLARATION_FILE = files_with_suffix("d.ts")  # also covers files that are added later
_DECLARATION_SUFFIXES = (".d.ts", ".d.mts", ".d.cts")
_GLOBAL_PREFIX = "global."


class _AmbientDeclaration(NamedTuple):
    """The first module that declares an ambient name, with the module's index in `_paths` and the declared name."""

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
        return self._declaration(self._globals.get(name))

    def exported_entity(self, specifier: str, name: str) -> DeclaredEntity | None:
        """Return the declaration of a name in `declare module 'specifier'`."""
        return self._declaration(self._exported.get(f'"{specifier}".{name}'))

    def _declaration(self, declaring: _AmbientDeclaration | None) -> DeclaredEntity | None:
        """Return a declaration, and record a dependency on all files that may declare the same name earlier."""
        self._depend_on_all((ANY_DECLARATION_FILE,))
        self._depend_on_all(self._paths if declaring is None else self._paths[: declaring.position + 1])
        return None if declaring is None else declaring.module.declared_entity(declaring.name)

    @cached_property
    def _modules(self) -> list[tuple[int, Module]]:
        read = enumerate(map(self._read, self._paths))
        return [(position, module) for position, module in read if module is not None]

    @cached_property
    def _globals(self) -> dict[str, _AmbientDeclaration]:
        found: dict[str, _AmbientDeclaration] = {}
        for position, module in self._modules:
            for name in module.declarations:
                if name.startswith(_GLOBAL_PREFIX):
                    found.setdefault(name.removeprefix(_GLOBAL_PREFIX), _AmbientDeclaration(position, module, name))
            for name in () if module.is_module else module.declarations:
                found.setdefault(name, _AmbientDeclaration(position, module, name))
        return found

    @cached_property
    def _exported(self) -> dict[str, _AmbientDeclaration]:
        found: dict[str, _AmbientDeclaration] = {}
        for position, module in self._modules:
            for name in module.declarations:
                found.setdefault(name, _AmbientDeclaration(position, module, name))
        return found
