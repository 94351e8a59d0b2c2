"""Terms that leave a file's body: what they say about locals is put in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deltos.domains.graph.typescript.terms import Term

_MAX_NESTED_LOCALS = 6
_MAX_DEPTH = 60
_MAX_COPIED_DEPTH = 300  # of a term that holds no locals
_MAX_TERMS = 2000  # of one declaration


class Inliner:
    """Copies terms, each local replaced by its own term."""

    def __init__(self, locals_: list[Term]) -> None:
        self._locals = locals_
        self._left = 0

    def term(self, term: Term) -> Term:
        """The term without locals; what would be too long or goes in circles is unknown."""
        self._left = _MAX_TERMS
        return self._copy(term, (), 0)

    def _copy(self, term: Any, within: tuple[int, ...], depth: int) -> Any:
        kind = type(term)
        if depth > _MAX_COPIED_DEPTH:
            return None
        if kind is tuple:
            self._left -= 1
            return tuple([self._copy(part, within, depth + 1) for part in term])
        if kind is int and term < 0:
            if term in within or len(within) >= _MAX_NESTED_LOCALS or depth > _MAX_DEPTH or self._left < 0:
                return None
            return self._copy(self._locals[~term], (*within, term), depth + 1)
        if kind is dict:
            return {name: self._copy(value, within, depth + 1) for name, value in term.items()}
        return term
