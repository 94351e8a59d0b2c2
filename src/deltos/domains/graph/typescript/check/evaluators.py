"""Functions that evaluate type expressions to types, one for each kind of type expression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from deltos.domains.graph.typescript import nodes, types
from deltos.domains.graph.typescript.check.calls import (
    TypeArguments,
    argument_type,
    call_type,
    constructed_type,
    element_type,
    item_type,
    parameter_type,
    result_type,
)
from deltos.domains.graph.typescript.check.members import (
    array_type,
    declared_type,
    instance_type_of_class,
    is_assignable,
    resolve_entity,
    this_entity,
    type_environment,
)
from deltos.domains.graph.typescript.facts import ImportOrigin
from deltos.domains.graph.typescript.types import union_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.domains.graph.typescript.check.checker import Checker
    from deltos.domains.graph.typescript.modules.module import Module
    from deltos.domains.graph.typescript.nodes import Term
    from deltos.domains.graph.typescript.types import Environment, Type


class TermContext(Struct, frozen=True):
    """Position of a type expression: the module, and the types of the type parameters in scope."""

    checker: Checker
    module: Module
    environment: Environment | None

    def type_of(self, term: Term) -> Type | None:
        """Return the type of a type expression at this position."""
        return self.checker.type_of(self.module, term, self.environment)

    def types_of(self, terms: tuple[Term, ...]) -> tuple[Type | None, ...]:
        """Return the types of several type expressions at this position."""
        return tuple([self.checker.type_of(self.module, term, self.environment) for term in terms])

    def type_arguments(self, terms: tuple[Term, ...]) -> TypeArguments:
        """Return the type arguments of a call at this position."""
        return TypeArguments(self.module, terms, self.environment)


def awaited_type(value: Type | None) -> Type | None:
    """Return the result type of a promise; other types are returned unchanged."""
    if type(value) is types.UnionType:
        return union_of([awaited_type(option) for option in value.options])
    if (
        type(value) is types.InstanceType
        and value.declared.module.is_library
        and value.declared.name in ("Promise", "PromiseLike")
    ):
        return awaited_type(value.arguments[0]) if value.arguments else None
    return value


def _evaluate_array_literal(at: TermContext, term: nodes.ArrayLiteral) -> Type | None:
    items = at.types_of(term.terms)
    is_spread = any(isinstance(part, nodes.Spread) for part in term.terms)
    return types.Tuple(items) if len(items) > 1 and not is_spread else array_type(at.checker, union_of(items))


def type_at_position(checker: Checker, owner: Type | None, position: int) -> Type | None:
    """Return the type of the list item at index `position`."""
    if type(owner) is types.Tuple:
        return owner.items[position] if position < len(owner.items) else None
    if type(owner) is types.UnionType:
        return union_of([type_at_position(checker, option, position) for option in owner.options])
    return item_type(checker, owner)


def _evaluate_super_reference(at: TermContext, term: nodes.Super) -> Type | None:
    declared = this_entity(at.checker, at.module, term.binding)
    for part in declared.parts if declared is not None else ():
        if isinstance(part, nodes.ClassDeclaration) and declared is not None:
            inside = TermContext(at.checker, at.module, type_environment(at.checker, declared, part, ()))
            base = inside.type_of(part.base)
            return base if term.is_static else instance_type_of_class(base, inside.types_of(part.base_arguments))
    return None


def _evaluate_require(at: TermContext, term: nodes.Require) -> Type | None:
    found = at.checker.program.imported_entity(at.module, ImportOrigin(term.specifier, nodes.EXPORTED_VALUE))
    return at.checker.value_type(found) if found is not None else None


def _evaluate_imported_module(at: TermContext, term: nodes.ImportedModule) -> Type | None:
    target = at.checker.program.import_module(at.module, term.specifier)
    return types.NamespaceType(target) if target is not None else None


def _evaluate_argument_of(at: TermContext, term: nodes.ArgumentOf) -> Type | None:
    return argument_type(at.checker, at.type_of(term.callee), term.position, at.type_arguments(term.type_arguments))


def _evaluate_type_reference(at: TermContext, term: nodes.TypeReference) -> Type | None:
    found = resolve_entity(at.checker, at.module, term.entity)
    if type(found) is types.DeclaredEntity:
        arguments = at.types_of(term.arguments)
        if found.module.is_library and found.name in _LIBRARY_TYPE_FUNCTIONS and arguments:
            return _LIBRARY_TYPE_FUNCTIONS[found.name](at.checker, arguments[0])
        return declared_type(at.checker, found, arguments)
    if type(found) is types.Property:
        return instance_type_of_class(at.checker.property_type(found))
    if type(found) is types.NamespaceType:
        exported = found.module.exported_value
        return found if exported is None else instance_type_of_class(at.checker.type_of(found.module, exported))
    return found if type(found) is types.EnumMember else None


def _evaluate_type_parameter_use(at: TermContext, term: nodes.TypeParameterUse) -> Type | None:
    if at.environment is not None and term.name in at.environment:
        return at.environment[term.name]
    return types.UnboundTypeParameter(term.name, at.type_of(term.constraint))


def _evaluate_intersection(at: TermContext, term: nodes.Intersection) -> Type | None:
    known = tuple([part for part in at.types_of(term.terms) if part is not None])
    return known[0] if len(known) == 1 else types.IntersectionType(known) if known else None


def _evaluate_keyof(at: TermContext, term: nodes.KeyOf) -> Type | None:
    owner = at.type_of(term.owner)
    return types.KeysType(owner) if owner is not None else None


def _evaluate_conditional_type(at: TermContext, term: nodes.ConditionalType) -> Type | None:
    """Return the type of the selected branch of a conditional type, or unknown if the condition cannot be decided."""
    given = at.type_of(term.checked)
    if given is None:
        return None
    if type(given) is types.UnboundTypeParameter:
        given = given.bound
    wanted = at.type_of(term.extended)
    if wanted is None:
        return None
    return at.type_of(term.yes if is_assignable(at.checker, given, wanted) else term.no)


def _evaluate_this_instance(at: TermContext, term: nodes.ThisInstance) -> Type | None:
    if at.environment is not None and "this" in at.environment:
        return at.environment["this"]
    found = this_entity(at.checker, at.module, term.binding)
    if found is None:
        return None if isinstance(term.binding, str) else at.checker.type_of(at.module, term.binding)
    for part in found.parts:
        if isinstance(part, nodes.WITH_MEMBERS):
            own = [
                types.UnboundTypeParameter(parameter.name, at.checker.type_of(at.module, parameter.constraint))
                for parameter in part.type_parameters
            ]
            return types.InstanceType(found, tuple(own))
    return at.checker.value_type(found)


def _evaluate_this_class(at: TermContext, term: nodes.ThisClass) -> Type | None:
    if at.environment is not None and "this" in at.environment:
        return at.environment["this"]
    found = this_entity(at.checker, at.module, term.binding)
    return types.StaticType(found) if found is not None else None


# Library types that TypeScript defines with `infer`, which is not evaluated. A function computes each of them.
_LIBRARY_TYPE_FUNCTIONS: dict[str, Callable[[Checker, Type | None], Type | None]] = {
    "Awaited": lambda _checker, given: awaited_type(given),
    "InstanceType": lambda _checker, given: instance_type_of_class(given),
    "ReturnType": result_type,
}

# Evaluators by kind of type expression. The type of any other kind is unknown.
EVALUATORS: dict[type[nodes.TermNode], Callable[[TermContext, Any], Type | None]] = {
    nodes.MemberAccess: lambda at, term: at.checker.member_type(at.type_of(term.owner), term.name),
    nodes.CallTerm: lambda at, term: call_type(
        at.checker, at.type_of(term.callee), at.type_arguments(term.type_arguments)
    ),
    nodes.NewTerm: lambda at, term: constructed_type(
        at.checker, at.type_of(term.callee), at.type_arguments(term.type_arguments)
    ),
    nodes.ElementAccess: lambda at, term: element_type(at.checker, at.type_of(term.owner), at.type_of(term.index)),
    nodes.AwaitTerm: lambda at, term: awaited_type(at.type_of(term.value)),
    nodes.ArrayLiteral: _evaluate_array_literal,
    nodes.ItemAt: lambda at, term: type_at_position(at.checker, at.type_of(term.owner), term.position),
    nodes.EachItem: lambda at, term: item_type(at.checker, at.type_of(term.iterable)),
    nodes.Spread: lambda at, term: item_type(at.checker, at.type_of(term.value)),
    nodes.Super: _evaluate_super_reference,
    nodes.Require: _evaluate_require,
    nodes.ImportedModule: _evaluate_imported_module,
    nodes.ParameterOf: lambda at, term: parameter_type(at.checker, at.type_of(term.function), term.position),
    nodes.ArgumentOf: _evaluate_argument_of,
    nodes.ResultOf: lambda at, term: result_type(at.checker, at.type_of(term.function)),
    nodes.TypeReference: _evaluate_type_reference,
    nodes.TypeParameterUse: _evaluate_type_parameter_use,
    nodes.ArrayType: lambda at, term: array_type(at.checker, at.type_of(term.element)),
    nodes.TupleType: lambda at, term: types.Tuple(at.types_of(term.terms)),
    nodes.OneOf: lambda at, term: union_of(at.types_of(term.terms)),
    nodes.Intersection: _evaluate_intersection,
    nodes.StringTerm: lambda _at, term: types.StringType(term.value),
    nodes.FunctionTerm: lambda at, term: types.FunctionType(at.module, term, at.environment),
    nodes.Overloads: lambda at, term: types.OverloadedType(at.module, term, at.environment),
    nodes.ObjectTerm: lambda at, term: types.ObjectType(at.module, term, at.environment),
    nodes.MappedType: lambda at, term: types.MappedObject(at.module, term, at.environment),
    nodes.KeyOf: _evaluate_keyof,
    nodes.ConditionalType: _evaluate_conditional_type,
    nodes.ThisInstance: _evaluate_this_instance,
    nodes.ThisClass: _evaluate_this_class,
    nodes.LocalType: lambda at, term: types.StaticType(at.checker.inner_entity(at.module, term)),
}
