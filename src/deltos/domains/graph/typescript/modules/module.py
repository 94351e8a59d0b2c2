"""Interface of one file: the facts that other files can see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.typescript.types import DeclaredEntity

if TYPE_CHECKING:
    from deltos.domains.graph.typescript.facts import TypeScriptModule
    from deltos.domains.graph.typescript.nodes import Term


class Module:
    """Interface of one file. `locals` contains type expressions only while the file itself is being resolved."""

    __slots__ = (
        "_declared",
        "declarations",
        "exported_value",
        "exports",
        "has_chained_exports",
        "imports",
        "is_library",
        "is_module",
        "locals",
        "path",
        "star_exports",
    )

    def __init__(self, path: str, interface: TypeScriptModule, *, is_library: bool = False) -> None:
        self.path = path
        self.imports = interface.imports
        self.exports = interface.exports
        self.star_exports = interface.star_exports
        self.exported_value = interface.exported_value
        self.declarations = interface.declarations
        self.has_chained_exports = interface.has_chained_exports
        self.is_module = interface.is_module
        self.is_library = is_library
        self.locals: list[Term] = []
        self._declared: dict[str, DeclaredEntity] = {}

    def declared_entity(self, name: str) -> DeclaredEntity | None:
        """Return the declarations of a name in the module."""
        known = self._declared.get(name)
        if known is None:
            parts = self.declarations.get(name)
            if parts is None:
                return None
            known = self._declared[name] = DeclaredEntity(self, name, parts)
        return known
