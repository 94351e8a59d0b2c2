"""The names that declarations bind while a file is read, by lexical scope. Knows nothing of trees or languages."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltos.domains.graph.declared.facts import AccessPath


class Environment:
    """Bindings of the scopes that are open: the innermost one of a name hides the others."""

    __slots__ = ("_opened", "_type_names", "_values")

    def __init__(self) -> None:
        self._opened: list[list[tuple[str, bool]]] = [[]]
        self._values: defaultdict[str, list[AccessPath]] = defaultdict(list)
        self._type_names: defaultdict[str, list[str]] = defaultdict(list)

    @property
    def depth(self) -> int:
        """How many scopes are open beside the file's own."""
        return len(self._opened) - 1

    def enter(self) -> None:
        """Enter a scope."""
        self._opened.append([])

    def leave(self) -> None:
        """Leave the innermost scope and forget what it bound."""
        for name, is_type in self._opened.pop():
            if is_type:
                self._type_names[name].pop()
            else:
                self._values[name].pop()

    def bind(self, name: str, path: AccessPath) -> None:
        """Bind a variable to what it holds."""
        self._values[name].append(path)
        self._opened[-1].append((name, False))

    def bind_type(self, name: str, bound: str) -> None:
        """Bind the name of a type parameter to the type that it is at least."""
        self._type_names[name].append(bound)
        self._opened[-1].append((name, True))

    def value(self, name: str) -> AccessPath | None:
        """What a variable holds; None where no open scope binds the name."""
        bound = self._values.get(name)
        return bound[-1] if bound else None

    def bound_of(self, name: str) -> str | None:
        """The type that a type parameter is at least; None where the name is no type parameter."""
        bound = self._type_names.get(name)
        return bound[-1] if bound else None
