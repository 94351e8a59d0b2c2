"""Evaluators: one function per kind of term that returns the type of the term."""

from __future__ import annotations

from typing import TYPE_CHECKING, Never

from deltos.domains.graph.typescript import nodes
from deltos.domains.graph.typescript.check.calls import (
    ParameterInference,
    PassedArguments,
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
from deltos.domains.graph.typescript.check.narrowing import narrow
from deltos.domains.graph.typescript.facts import ImportOrigin
from deltos.domains.graph.typescript.types import (
    DeclaredEntity,
    EnumMember,
    Environment,
    FunctionType,
    InstanceType,
    IntersectionType,
    KeysType,
    MappedObject,
    NamespaceType,
    ObjectType,
    OverloadedType,
    Property,
    StaticType,
    StringType,
    Tuple,
    Type,
    UnboundTypeParameter,
    UnionType,
    union_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.domains.graph.typescript.check.checker import Checker
    from deltos.domains.graph.typescript.modules.module import Module


def _evaluate_member_access(
    checker: Checker, module: Module, term: nodes.MemberAccess, environment: Environment | None
) -> Type | None:
    return checker.member_type(checker.type_of(module, term.owner, environment), term.name)


def _evaluate_call(
    checker: Checker, module: Module, term: nodes.CallTerm, environment: Environment | None
) -> Type | None:
    callee = checker.type_of(module, term.callee, environment)
    return call_type(checker, callee, PassedArguments(module, term.arguments, term.type_arguments, environment))


def _evaluate_new(
    checker: Checker, module: Module, term: nodes.NewTerm, environment: Environment | None
) -> Type | None:
    callee = checker.type_of(module, term.callee, environment)
    return constructed_type(checker, callee, PassedArguments(module, term.arguments, term.type_arguments, environment))


def _evaluate_element_access(
    checker: Checker, module: Module, term: nodes.ElementAccess, environment: Environment | None
) -> Type | None:
    owner = checker.type_of(module, term.owner, environment)
    return element_type(checker, owner, checker.type_of(module, term.index, environment))


def _evaluate_keyed_access(
    checker: Checker, module: Module, term: nodes.KeyedAccess, environment: Environment | None
) -> Type | None:
    owner = checker.type_of(module, term.owner, environment)
    keyed = checker.member_type(owner, term.name)
    return (
        keyed if keyed is not None else element_type(checker, owner, checker.type_of(module, term.index, environment))
    )


def _evaluate_await(
    checker: Checker, module: Module, term: nodes.AwaitTerm, environment: Environment | None
) -> Type | None:
    return awaited_type(checker.type_of(module, term.value, environment))


def awaited_type(value: Type | None) -> Type | None:
    """Return the result type of a promise; other types are returned unchanged."""
    if type(value) is UnionType:
        return union_of([awaited_type(option) for option in value.options])
    if (
        type(value) is InstanceType
        and value.declared.module.is_library
        and value.declared.name in ("Promise", "PromiseLike")
    ):
        return awaited_type(value.arguments[0]) if value.arguments else None
    return value


def _evaluate_array_literal(
    checker: Checker, module: Module, term: nodes.ArrayLiteral, environment: Environment | None
) -> Type | None:
    items: list[Type | None] = []
    is_spread = False
    for part in term.terms:
        if isinstance(part, nodes.Spread):
            is_spread = True
            items.append(item_type(checker, checker.type_of(module, part.value, environment)))
        else:
            items.append(checker.type_of(module, part, environment))
    return Tuple(tuple(items)) if len(items) > 1 and not is_spread else array_type(checker, union_of(items))


def _evaluate_item_at(
    checker: Checker, module: Module, term: nodes.ItemAt, environment: Environment | None
) -> Type | None:
    return type_at_position(checker, checker.type_of(module, term.owner, environment), term.position)


def type_at_position(checker: Checker, owner: Type | None, position: int) -> Type | None:
    """Return the type of the item of a list with index `position`."""
    if type(owner) is Tuple:
        return owner.items[position] if position < len(owner.items) else None
    if type(owner) is UnionType:
        return union_of([type_at_position(checker, option, position) for option in owner.options])
    return item_type(checker, owner)


def _evaluate_each_item(
    checker: Checker, module: Module, term: nodes.EachItem, environment: Environment | None
) -> Type | None:
    return item_type(checker, checker.type_of(module, term.iterable, environment))


def _evaluate_spread(
    checker: Checker, module: Module, term: nodes.Spread, environment: Environment | None
) -> Type | None:
    return item_type(checker, checker.type_of(module, term.value, environment))


def _evaluate_super_reference(
    checker: Checker, module: Module, term: nodes.Super, _environment: Environment | None
) -> Type | None:
    declared = this_entity(checker, module, term.binding)
    if declared is None:
        return None
    for part in declared.parts:
        if isinstance(part, nodes.ClassDeclaration):
            environment = type_environment(checker, declared, part, ())
            base = checker.type_of(module, part.base, environment)
            arguments = tuple([checker.type_of(module, each, environment) for each in part.base_arguments])
            return base if term.is_static else instance_type_of_class(base, arguments)
    return None


def _evaluate_require(
    checker: Checker, module: Module, term: nodes.Require, _environment: Environment | None
) -> Type | None:
    found = checker.program.imported_entity(module, ImportOrigin(term.specifier, nodes.EXPORTED_VALUE))
    return checker.value_type(found) if found is not None else None


def _evaluate_imported_module(
    checker: Checker, module: Module, term: nodes.ImportedModule, _environment: Environment | None
) -> Type | None:
    target = checker.program.import_module(module, term.specifier)
    return NamespaceType(target) if target is not None else None


def _evaluate_parameter_of(
    checker: Checker, module: Module, term: nodes.ParameterOf, environment: Environment | None
) -> Type | None:
    return parameter_type(checker, checker.type_of(module, term.function, environment), term.position)


def _evaluate_argument_of(
    checker: Checker, module: Module, term: nodes.ArgumentOf, environment: Environment | None
) -> Type | None:
    callee = checker.type_of(module, term.callee, environment)
    given = PassedArguments(module, term.earlier, term.type_arguments, environment)
    return argument_type(checker, callee, term.position, given)


def _evaluate_result_of(
    checker: Checker, module: Module, term: nodes.ResultOf, environment: Environment | None
) -> Type | None:
    return result_type(checker, checker.type_of(module, term.function, environment))


def _evaluate_type_of(
    _checker: Checker, _module: Module, _term: nodes.TypeOf, _environment: Environment | None
) -> Type | None:
    return StringType()


def _evaluate_type_reference(
    checker: Checker, module: Module, term: nodes.TypeReference, environment: Environment | None
) -> Type | None:
    found = resolve_entity(checker, module, term.entity)
    if type(found) is DeclaredEntity:
        arguments = tuple([checker.type_of(module, argument, environment) for argument in term.arguments])
        return declared_type(checker, found, arguments)
    if type(found) is EnumMember:
        return found
    if type(found) is Property:
        return instance_type_of_class(checker.property_type(found))
    if type(found) is NamespaceType and found.module.exported_value is not None:
        return instance_type_of_class(checker.type_of(found.module, found.module.exported_value))
    return None


def _evaluate_type_parameter_use(
    checker: Checker, module: Module, term: nodes.TypeParameterUse, environment: Environment | None
) -> Type | None:
    if environment is not None and term.name in environment:
        return environment[term.name]
    return UnboundTypeParameter(term.name, checker.type_of(module, term.constraint, environment))


def _evaluate_array(
    checker: Checker, module: Module, term: nodes.ArrayType, environment: Environment | None
) -> Type | None:
    return array_type(checker, checker.type_of(module, term.element, environment))


def _evaluate_tuple(
    checker: Checker, module: Module, term: nodes.TupleType, environment: Environment | None
) -> Type | None:
    return Tuple(tuple([checker.type_of(module, item, environment) for item in term.terms]))


def _evaluate_union(
    checker: Checker, module: Module, term: nodes.OneOf, environment: Environment | None
) -> Type | None:
    return union_of([checker.type_of(module, option, environment) for option in term.terms])


def _evaluate_intersection(
    checker: Checker, module: Module, term: nodes.Intersection, environment: Environment | None
) -> Type | None:
    parts = [checker.type_of(module, part, environment) for part in term.terms]
    known = tuple([part for part in parts if part is not None])
    return known[0] if len(known) == 1 else IntersectionType(known) if known else None


def _evaluate_string(
    _checker: Checker, _module: Module, term: nodes.StringTerm, _environment: Environment | None
) -> Type | None:
    return StringType(term.value)


def _evaluate_function(
    _checker: Checker, module: Module, term: nodes.FunctionTerm, environment: Environment | None
) -> Type | None:
    return FunctionType(module, term, environment)


def _evaluate_overloads(
    _checker: Checker, module: Module, term: nodes.Overloads, environment: Environment | None
) -> Type | None:
    return OverloadedType(module, term, environment)


def _evaluate_object(
    _checker: Checker, module: Module, term: nodes.ObjectTerm, environment: Environment | None
) -> Type | None:
    return ObjectType(module, term, environment)


def _evaluate_mapped_type(
    _checker: Checker, module: Module, term: nodes.MappedType, environment: Environment | None
) -> Type | None:
    return MappedObject(module, term, environment)


def _evaluate_keyof(
    checker: Checker, module: Module, term: nodes.KeyOf, environment: Environment | None
) -> Type | None:
    owner = checker.type_of(module, term.owner, environment)
    return KeysType(owner) if owner is not None else None


def _evaluate_conditional_type(
    checker: Checker, module: Module, term: nodes.ConditionalType, environment: Environment | None
) -> Type | None:
    """Return the type of the selected branch of a conditional type, or unknown if the condition cannot be decided."""
    given = checker.type_of(module, term.checked, environment)
    if given is None:
        return None
    if type(given) is UnboundTypeParameter:
        given = given.bound
    names = frozenset(nodes.inferred_names(term.extended))
    if names:
        inference = ParameterInference(checker, module, names)
        inference.infer(term.extended, given)
        if inference.found:
            return checker.type_of(module, term.yes, {**(environment or {}), **inference.found})
        return checker.type_of(module, term.no, environment)
    wanted = checker.type_of(module, term.extended, environment)
    if wanted is None:
        return None
    return checker.type_of(module, term.yes if is_assignable(checker, given, wanted) else term.no, environment)


def _evaluate_this_instance(
    checker: Checker, module: Module, term: nodes.ThisInstance, environment: Environment | None
) -> Type | None:
    if environment is not None and "this" in environment:
        return environment["this"]
    found = this_entity(checker, module, term.binding)
    if found is None:
        return None if isinstance(term.binding, str) else checker.type_of(module, term.binding)
    for part in found.parts:
        if isinstance(part, nodes.WITH_MEMBERS):
            own = [
                UnboundTypeParameter(parameter.name, checker.type_of(module, parameter.constraint))
                for parameter in part.type_parameters
            ]
            return InstanceType(found, tuple(own))
    return checker.value_type(found)


def _evaluate_this_class(
    checker: Checker, module: Module, term: nodes.ThisClass, environment: Environment | None
) -> Type | None:
    if environment is not None and "this" in environment:
        return environment["this"]
    found = this_entity(checker, module, term.binding)
    return StaticType(found) if found is not None else None


def _evaluate_local_type(
    checker: Checker, module: Module, term: nodes.LocalType, _environment: Environment | None
) -> Type | None:
    return StaticType(checker.inner_entity(module, term))


# Evaluators by kind of term. Terms of other kinds have no type.
EVALUATORS: dict[type[nodes.TermNode], Callable[[Checker, Module, Never, Environment | None], Type | None]] = {
    nodes.MemberAccess: _evaluate_member_access,
    nodes.CallTerm: _evaluate_call,
    nodes.NewTerm: _evaluate_new,
    nodes.ElementAccess: _evaluate_element_access,
    nodes.KeyedAccess: _evaluate_keyed_access,
    nodes.AwaitTerm: _evaluate_await,
    nodes.ArrayLiteral: _evaluate_array_literal,
    nodes.ItemAt: _evaluate_item_at,
    nodes.EachItem: _evaluate_each_item,
    nodes.Spread: _evaluate_spread,
    nodes.Super: _evaluate_super_reference,
    nodes.Require: _evaluate_require,
    nodes.ImportedModule: _evaluate_imported_module,
    nodes.ParameterOf: _evaluate_parameter_of,
    nodes.ArgumentOf: _evaluate_argument_of,
    nodes.ResultOf: _evaluate_result_of,
    nodes.Narrowed: narrow,
    nodes.TypeOf: _evaluate_type_of,
    nodes.TypeReference: _evaluate_type_reference,
    nodes.TypeParameterUse: _evaluate_type_parameter_use,
    nodes.ArrayType: _evaluate_array,
    nodes.TupleType: _evaluate_tuple,
    nodes.OneOf: _evaluate_union,
    nodes.Intersection: _evaluate_intersection,
    nodes.StringTerm: _evaluate_string,
    nodes.FunctionTerm: _evaluate_function,
    nodes.Overloads: _evaluate_overloads,
    nodes.ObjectTerm: _evaluate_object,
    nodes.MappedType: _evaluate_mapped_type,
    nodes.KeyOf: _evaluate_keyof,
    nodes.ConditionalType: _evaluate_conditional_type,
    nodes.ThisInstance: _evaluate_this_instance,
    nodes.ThisClass: _evaluate_this_class,
    nodes.LocalType: _evaluate_local_type,
}
