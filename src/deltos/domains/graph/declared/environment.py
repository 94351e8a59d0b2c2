"""Variables and type parameters that are in scope at the current position of a file."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltos.domains.graph.declared.facts import AccessPath


class Environment:
    """Bindings in the open scopes; the innermost binding of a name hides outer bindings."""

    __slots__ = ("_opened", "_type_names", "_values")

    def __init__(self) -> None:
        self._opened: list[list[tuple[str, bool]]] = [[]]
        self._values: defaultdict[str, list[AccessPath]] = defaultdict(list)
        self._type_names: defaultdict[str, list[str]] = defaultdict(list)

    @property
    def depth(self) -> int:
        """Number of open scopes, not counting the scope of the file."""
        return len(self._opened) - 1

    def enter(self) -> None:
        """Open a scope."""
        self._opened.append([])

    def leave(self) -> None:
        """Close the innermost scope and drop its bindings."""
        for name, is_type in self._opened.pop():
            if is_type:
                self._type_names[name].pop()
            else:
                self._values[name].pop()

    def bind(self, name: str, path: AccessPath) -> None:
        """Bind a variable to an access path, which leads to the variable's value."""
        self._values[name].append(path)
        self._opened[-1].append((name, False))

    def bind_type(self, name: str, bound: str) -> None:
        """Bind a type parameter to its upper bound."""
        self._type_names[name].append(bound)
        self._opened[-1].append((name, True))

    def value(self, name: str) -> AccessPath | None:
        """Return the access path of a variable's value, or None if no open scope binds the name."""
        bound = self._values.get(name)
        return bound[-1] if bound else None

    def bound_of(self, name: str) -> str | None:
        """Return the upper bound of a type parameter, or None if the name is not a type parameter."""
        bound = self._type_names.get(name)
        return bound[-1] if bound else None
