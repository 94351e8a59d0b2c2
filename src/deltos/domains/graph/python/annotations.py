"""What a value may be that is declared with a name, a generic, a type alias or a type variable."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from deltos.domains.graph.python.entities import ClassInfo, External, Instance, Scope, VariableInfo
from deltos.domains.graph.python.evaluate import index_parts, instances_of
from deltos.domains.graph.python.generics import substitute
from deltos.domains.graph.python.known import known_generic
from deltos.domains.graph.python.lookup import Lookup
from deltos.domains.graph.python.nodes import Assigned, Attribute, Call, Index, Name, Operation, last_name
from deltos.domains.graph.python.values import UNKNOWN, Types, TypeVariable, union

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.graph.python.entities import Entity
    from deltos.domains.graph.python.nodes import Expression


class Annotations(Lookup):
    """Turns the definitions that an annotation names into the types of what it declares."""

    def declared(self, entities: Sequence[Entity], types: Types) -> Types:
        """What a value may be that is annotated with the name of the entities."""
        found: list[Types] = []
        for entity in entities:
            match entity:
                case ClassInfo():
                    found.append((entity.instance,))
                case VariableInfo():
                    found.append(self.alias(entity))
                case External():
                    found.append(self._declared_external(entity.name))
                case _:
                    found.append(UNKNOWN)
        return union(found) if found else instances_of(types)

    def _declared_external(self, name: str) -> Types:
        return known_generic(name, ()) or UNKNOWN

    def alias(self, variable: VariableInfo) -> Types:
        """What a value may be that is annotated with a type alias or type variable."""
        return self.recall(("alias", variable), self._alias, variable)

    def _alias(self, variable: VariableInfo) -> Types:
        self.read(variable.module)
        found: list[Types] = []
        for binding in variable.bindings:
            if _type_variable(binding.value) is not None:
                return (TypeVariable(variable.path, variable.key),)
            if type(binding.value) in _ALIASES:
                found.append(self.annotated(variable.scope, binding.value))
        return union(found)

    def bound_of(self, variable: TypeVariable) -> Types:
        """The upper bound or the constraints of a type variable."""
        module = self.module(variable.path)
        if module is None:
            return UNKNOWN
        found: list[Types] = []
        for binding in module.bindings.get(variable.key, ()):
            call = _type_variable(binding.value) if type(binding) is Assigned else None
            if call is not None:
                found.extend(self.annotated(Scope(module), value) for name, value in call.keywords if name == "bound")
                found.extend(self.annotated(Scope(module), value) for value in call.arguments[1:])
        return union(found)

    def parameterised(self, entities: Sequence[Entity], arguments: list[Types]) -> Types:
        """What a value may be that is annotated with a generic and its type arguments."""
        found: list[Types] = []
        for entity in entities:
            match entity:
                case External():
                    found.append(known_generic(entity.name, arguments) or UNKNOWN)
                case ClassInfo():
                    found.append((Instance(entity, tuple(arguments)),))
                case VariableInfo():
                    found.append(self.alias(entity))
        return union(found)

    def solution_of(self, info: ClassInfo, arguments: tuple[Types, ...]) -> dict[TypeVariable, Types]:
        """What the type parameters of a class and of its bases are, given the arguments of the class."""
        own, inherited = self.recall(("parameters", info), self._parameters_of, info) or ((), {})
        given = dict(zip(own, arguments, strict=False))
        solution = {variable: substitute(types, given) for variable, types in inherited.items()}
        return {**solution, **given}

    def _parameters_of(self, info: ClassInfo) -> tuple[tuple[TypeVariable, ...], dict[TypeVariable, Types]]:
        """The type parameters of a class, in order, and what its bases' parameters are in terms of them."""
        self.read(info.module)
        scope = info.outer_scope()
        own: dict[TypeVariable, None] = {}
        inherited: dict[TypeVariable, Types] = {}
        for base in info.bases:
            parts = index_parts(base.index) if type(base) is Index else ()
            arguments = tuple([self.annotated(scope, part) for part in parts])
            for types in arguments:
                own.update(dict.fromkeys(value for value in types if isinstance(value, TypeVariable)))
            for parent in self.evaluated(scope, base):
                if isinstance(parent, ClassInfo) and parent is not info:
                    inherited.update(self.solution_of(parent, arguments))
        return tuple(own), inherited

    @abstractmethod
    def annotated(self, scope: Scope, node: Expression) -> Types:
        """What an annotation in an interface declares."""


_ALIASES = frozenset({Name, Attribute, Index, Operation})
_TYPE_VARIABLES = frozenset({"TypeVar", "ParamSpec", "TypeVarTuple"})


def _type_variable(value: Expression) -> Call | None:
    """The call that makes a type variable; None for anything else."""
    return value if type(value) is Call and last_name(value.function) in _TYPE_VARIABLES else None
