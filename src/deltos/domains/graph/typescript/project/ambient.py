"""Ambient declarations: globals and modules that the project's .d.ts files declare for all files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from deltos.domains.graph.typescript.project.module import Module
    from deltos.domains.graph.typescript.typing.types import Declared

ANY_DECLARATION_FILE = "*.d.ts"  # a dependency on every such file, also those to come
_SUFFIXES = (".d.ts", ".d.mts", ".d.cts")


class Ambient:
    """What can be used without importing it, and modules that have no file."""

    def __init__(
        self, paths: Iterable[str], module: Callable[[str], Module | None], depend: Callable[[str], None]
    ) -> None:
        self._paths = sorted(path for path in paths if path.endswith(_SUFFIXES))
        self._module = module
        self._depend = depend

    def declared(self, name: str) -> Declared | None:
        """The declaration of a global."""
        for module in self._modules():
            found = module.declared(f"global.{name}")
            if found is None and not module.is_module:
                found = module.declared(name)
            if found is not None:
                return found
        return None

    def exported(self, specifier: str, name: str) -> Declared | None:
        """What `declare module 'specifier'` declares under a name."""
        for module in self._modules():
            found = module.declared(f'"{specifier}".{name}')
            if found is not None:
                return found
        return None

    def _modules(self) -> Iterator[Module]:
        self._depend(ANY_DECLARATION_FILE)
        for path in self._paths:
            module = self._module(path)
            if module is not None:
                yield module
