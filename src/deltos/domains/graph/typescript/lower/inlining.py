"""Inline locals (variables and types of a function) in declarations on which other files may depend."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from deltos.domains.graph.typescript import nodes

if TYPE_CHECKING:
    from deltos.domains.graph.typescript.nodes import Term

_MAX_NESTED_LOCALS = 6  # maximum nesting depth of inlined locals
_MAX_DEPTH = 60  # maximum depth in a type expression at which locals are inlined
_MAX_COPIED_DEPTH = 300  # maximum depth of a copied type expression
_MAX_TERMS = 2000  # maximum number of type expressions in one declaration


class Inliner:
    """Copier of type expressions that replaces each local by its type expression."""

    def __init__(self, locals_: list[Term]) -> None:
        self._locals = locals_
        self._left = 0

    def term(self, term: Term) -> Term:
        """Return the type expression without locals; parts that are too large or recursive become unknown."""
        self._left = _MAX_TERMS
        return cast("Term", self._copy(term, (), 0))

    def declaration(self, declaration: nodes.Declaration) -> nodes.Declaration:
        """Return a copy of the declaration in which each local is replaced by its type expression."""
        self._left = _MAX_TERMS
        return cast("nodes.Declaration", self._copy(declaration, (), 0))

    def _copy(self, held: object, within: tuple[int, ...], depth: int) -> object:
        """Return a copy of a value without locals; `within` contains the locals that are currently being replaced."""
        if type(held) is tuple:
            self._left -= 1
            return tuple(self._copy_all(held, within, depth + 1))
        if type(held) is int:
            return self._copy_local(held, within, depth) if held < 0 else held
        if type(held) is dict:
            return {name: self._copy(value, within, depth + 1) for name, value in held.items()}
        if not isinstance(held, nodes.Record):
            return held
        kind = type(held)
        if depth > _MAX_COPIED_DEPTH and kind in nodes.TERM_KINDS:
            return None
        self._left -= 1
        # Works for any record class, because constructors take the fields in order.
        copies = self._copy_all(nodes.contents(held), within, depth + 1)
        return kind(tuple(copies)) if kind in nodes.TERM_LIST_KINDS else kind(*copies)

    def _copy_all(self, parts: tuple[object, ...], within: tuple[int, ...], depth: int) -> list[object]:
        return [part if part is None or type(part) is str else self._copy(part, within, depth) for part in parts]

    def _copy_local(self, local: int, within: tuple[int, ...], depth: int) -> object:
        """Return a copy of a local's type expression, or None for recursive or too deeply nested locals."""
        if local in within or len(within) >= _MAX_NESTED_LOCALS or depth > _MAX_DEPTH or self._left < 0:
            return None
        return self._copy(self._locals[~local], (*within, local), depth + 1)
