"""What a value may be that is declared with a name, a generic, a type alias or a type variable."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from deltos.domains.graph.python import ir
from deltos.domains.graph.python.entities import ClassInfo, External, Instance, Scope, VariableInfo
from deltos.domains.graph.python.evaluate import instances_of
from deltos.domains.graph.python.generics import substitute
from deltos.domains.graph.python.known import known_generic
from deltos.domains.graph.python.lookup import Lookup
from deltos.domains.graph.python.values import UNKNOWN, Types, TypeVariable, union

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.graph.python.entities import Entity
    from deltos.domains.graph.python.ir import Expression


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
            value = binding[1] if binding[0] == ir.BIND_VALUE else binding[2]
            if _is_type_variable(value):
                return (TypeVariable(variable.path, variable.key),)
            if value is not None and value[0] in (ir.NAME, ir.ATTR, ir.INDEX, ir.BINARY):
                found.append(self.annotated(variable.scope, value))
        return union(found)

    def bound_of(self, variable: TypeVariable) -> Types:
        """The upper bound or the constraints of a type variable."""
        module = self.module(variable.path)
        if module is None:
            return UNKNOWN
        found: list[Types] = []
        for binding in module.bindings.get(variable.key, ()):
            if binding[0] == ir.BIND_VALUE and _is_type_variable(binding[1]):
                found.extend(self.annotated(Scope(module), value) for name, value in binding[1][3] if name == "bound")
                found.extend(self.annotated(Scope(module), value) for value in binding[1][2][1:])
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
            is_generic = base is not None and base[0] == ir.INDEX
            arguments = tuple([self.annotated(scope, part) for part in _index_parts(base)]) if is_generic else ()
            for types in arguments:
                own.update(dict.fromkeys(value for value in types if isinstance(value, TypeVariable)))
            for parent in self.evaluated(scope, base):
                if isinstance(parent, ClassInfo) and parent is not info:
                    inherited.update(self.solution_of(parent, arguments))
        return tuple(own), inherited

    @abstractmethod
    def annotated(self, scope: Scope, node: Expression) -> Types:
        """What an annotation in an interface declares."""


def _index_parts(node: Expression) -> tuple[Expression, ...]:
    index = node[2] if node is not None else None
    return index[1] if index is not None and index[0] == ir.TUPLE else (index,)


def _is_type_variable(value: Expression) -> bool:
    if value is None or value[0] != ir.CALL or value[1] is None or value[1][0] not in (ir.NAME, ir.ATTR):
        return False
    return value[1][-1] in ("TypeVar", "ParamSpec", "TypeVarTuple")
