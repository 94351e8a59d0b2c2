"""Expressions of an interface, where each name stands for the union of all that it is bound to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.python.evaluate import Evaluator
from deltos.domains.graph.python.values import UNKNOWN, SelfType, SuperOf, Types

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.graph.python.entities import Entity, Scope
    from deltos.domains.graph.python.infer import Inference


class InterfaceEvaluator(Evaluator):
    """Evaluates expressions that stand in one scope of an interface."""

    def __init__(self, inference: Inference, scope: Scope) -> None:
        super().__init__(inference)
        self._scope = scope

    def lookup(self, name: str) -> tuple[Sequence[Entity], Types | None]:
        """Look through the function's locals and those around it, then the class body, the module, and builtins."""
        function = self._scope.function
        while function is not None:
            local = self.inference.local(function, name)
            if local is not None:
                return local
            function = function.enclosing
        if self._scope.owner is not None and (name in self._scope.owner.bindings):
            entities = self.inference.own_member(self._scope.owner, name)
        else:
            entities = self.inference.name_in(self._scope.module, name)
        return entities, None

    def self_type(self) -> Types:
        """The class around the annotation, or whichever subclass it is used through."""
        owner = self._scope.owner or (self._scope.function.owner if self._scope.function is not None else None)
        return UNKNOWN if owner is None else (SelfType(owner, is_class=False),)

    def super_of(self) -> Types:
        """`super()` in the method that the expression stands in."""
        function = self._scope.function
        owner = function.owner if function is not None else None
        if function is None or owner is None or not function.parameters:
            return UNKNOWN
        return tuple([SuperOf(owner, value) for value in self.inference.receiver(function)])
