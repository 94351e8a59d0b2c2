"""One file as other files see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltos.domains.graph.typescript.typing.types import Declared

if TYPE_CHECKING:
    from deltos.domains.graph.typescript.terms import Term


class Module:
    """One file as others see it; while it is being resolved itself, also its locals."""

    __slots__ = (
        "_declared",
        "augmented",
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

    def __init__(self, path: str, interface: dict[str, Any], *, is_library: bool = False) -> None:
        self.path = path
        self.imports: dict[str, tuple[str, str]] = interface["imports"]
        self.exports: dict[str, Any] = interface["exports"]
        self.stars: tuple[str, ...] = interface["stars"]
        self.whole: Term = interface["whole"]
        self.declarations: dict[str, tuple[tuple[Any, ...], ...]] = interface["declarations"]
        self.augmented: tuple[tuple[str, str, str], ...] = interface["augmented"]
        self.is_chained: bool = interface["chained"]
        self.is_module: bool = interface["module"]
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
