"""One file as other files see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.typescript.types import Declared

if TYPE_CHECKING:
    from deltos.domains.graph.typescript.facts import ModuleInterface
    from deltos.domains.graph.typescript.nodes import Term


class Module:
    """One file as others see it; while it is being resolved itself, also its locals."""

    __slots__ = (
        "_declared",
        "declarations",
        "exports",
        "imports",
        "is_chained",
        "is_library",
        "is_module",
        "locals",
        "path",
        "stars",
        "whole",
    )

    def __init__(self, path: str, interface: ModuleInterface, *, is_library: bool = False) -> None:
        self.path = path
        self.imports = interface.imports
        self.exports = interface.exports
        self.stars = interface.stars
        self.whole = interface.whole
        self.declarations = interface.declarations
        self.is_chained = interface.is_chained
        self.is_module = interface.is_module
        self.is_library = is_library
        self.locals: list[Term] = []
        self._declared: dict[str, Declared] = {}

    def declared(self, name: str) -> Declared | None:
        """What the module declares under a name."""
        known = self._declared.get(name)
        if known is None:
            parts = self.declarations.get(name)
            if parts is None:
                return None
            known = self._declared[name] = Declared(self, name, parts)
        return known
