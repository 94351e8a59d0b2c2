"""Infer the types of calls: choose an overload, infer type parameters, and return result types and item types.

A type parameter is inferred by comparing the type of a parameter with the type of the corresponding argument.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from deltos.domains.graph.typescript import nodes, types
from deltos.domains.graph.typescript.check.members import (
    ancestors,
    bases,
    find_ancestor,
    find_members,
    index_type,
    instance_type_of_class,
    promise_type,
    resolve_entity,
    type_environment,
)
from deltos.domains.graph.typescript.types import union_of

if TYPE_CHECKING:
    from deltos.domains.graph.typescript.check.checker import Checker
    from deltos.domains.graph.typescript.modules.module import Module
    from deltos.domains.graph.typescript.nodes import Term
    from deltos.domains.graph.typescript.types import Environment, Type

_MAX_CALLBACK_OVERLOADS = 3  # maximum number of overloads from which the type of a callback's parameter is inferred
_MAX_MATCHED_DEPTH = 6  # maximum nesting depth at which two types are compared
_MAX_INDEXED_MEMBERS = 30  # maximum number of members whose types are combined for `object[key]` if the key is unknown
_LIBRARY_ITERABLES = frozenset(
    (
        "Array ReadonlyArray ArrayLike Set ReadonlySet Iterable Iterator IterableIterator Generator AsyncIterable "
        "AsyncGenerator AsyncIterableIterator"
    ).split()
)
_TYPES_MATCHED_BY_ITEM = frozenset(("Iterable", "ArrayLike", "ReadonlyArray", "AsyncIterable"))
_TYPE_VARIABLE_KINDS = (nodes.TypeParameterUse, nodes.InferredType)


class PassedArguments(Struct, frozen=True):
    """Arguments and type arguments of a call, as type expressions of the calling module."""

    module: Module
    arguments: tuple[Term, ...]
    type_arguments: tuple[Term, ...]
    environment: Environment | None


def signatures(checker: Checker, callee: Type | None) -> list[types.FunctionType]:
    """Return the signatures of a callable type."""
    if type(callee) is types.FunctionType:
        return [callee]
    if type(callee) is types.OverloadedType:
        return _function_types(callee.module, callee.term.terms, callee.environment)
    if type(callee) is types.ObjectType:
        return _function_types(callee.module, callee.term.calls, callee.environment)
    if type(callee) is types.InstanceType:
        return _instance_signatures(checker, callee)
    if type(callee) is types.StaticType:
        return _static_signatures(checker, callee)
    if type(callee) is types.UnboundTypeParameter:
        return signatures(checker, callee.bound)
    if type(callee) is types.IntersectionType:
        return [each for part in callee.parts for each in signatures(checker, part)]
    if type(callee) is types.UnionType:
        return [each for part in callee.options for each in signatures(checker, part)]
    return []


def _function_types(
    module: Module, terms: tuple[Term, ...], environment: Environment | None = None
) -> list[types.FunctionType]:
    """Return the function types of those type expressions that are functions."""
    return [types.FunctionType(module, term, environment) for term in terms if isinstance(term, nodes.FunctionTerm)]


def _instance_signatures(checker: Checker, callee: types.InstanceType) -> list[types.FunctionType]:
    """Return the call signatures of an interface or, if it has none, of its base types."""
    found: list[types.FunctionType] = []
    declared = callee.declared
    for part in declared.parts:
        if isinstance(part, nodes.InterfaceDeclaration) and part.calls:
            environment = type_environment(checker, declared, part, callee.arguments)
            found += _function_types(declared.module, part.calls, environment)
    return found or [each for base in bases(checker, callee) for each in signatures(checker, base)]


def _static_signatures(checker: Checker, callee: types.StaticType) -> list[types.FunctionType]:
    """Return the signatures of a function that also has members."""
    found: list[types.FunctionType] = []
    for part in callee.declared.parts:
        if isinstance(part, nodes.ValueDeclaration):
            value = checker.type_of(callee.declared.module, part.term)
            if type(value) is not types.StaticType:
                found += signatures(checker, value)
    return found


def call_type(checker: Checker, callee: Type | None, given: PassedArguments) -> Type | None:
    """Return the result type of a call."""
    if type(callee) is types.UnionType:
        return union_of([call_type(checker, option, given) for option in callee.options])
    options = signatures(checker, callee)
    if not options:
        return None
    chosen = _choose_signature(checker, options, given)
    return return_type(checker, chosen, instantiate(checker, chosen, given))


def _choose_signature(
    checker: Checker, options: list[types.FunctionType], given: PassedArguments
) -> types.FunctionType:
    """Return the first signature that accepts the arguments, or the last signature if none does."""
    if len(options) == 1:
        return options[0]
    return next((option for option in options if _accepts_arguments(checker, option, given)), options[-1])


def _accepts_arguments(checker: Checker, option: types.FunctionType, given: PassedArguments) -> bool:
    """Whether a signature accepts the number and kinds of the arguments."""
    parameters = option.term.parameters
    count = len(given.arguments)
    required = sum(1 for parameter in parameters if not parameter.flags)
    is_open = bool(parameters) and parameters[-1].is_rest
    if count < required or (count > len(parameters) and not is_open):
        return False
    pairs = zip(given.arguments, parameters, strict=False)
    return all(_accepts_argument(checker, argument, option, parameter) for argument, parameter in pairs)


def _accepts_argument(
    checker: Checker, argument: Term, option: types.FunctionType, parameter: nodes.FunctionParameter
) -> bool:
    """Whether an argument may be passed to a parameter; only definite mismatches are rejected."""
    if parameter.is_rest or not isinstance(argument, nodes.FunctionTerm | nodes.StringTerm):
        return True
    wanted = checker.type_of(option.module, parameter.term, option.environment)
    if isinstance(argument, nodes.FunctionTerm):
        return wanted is None or type(wanted) is types.UnboundTypeParameter or bool(signatures(checker, wanted))
    if type(wanted) is types.StringType:
        return wanted.value is None or argument.value is None or wanted.value == argument.value
    return not isinstance(wanted, types.FunctionType | types.OverloadedType | types.InstanceType | types.ObjectType)


def instantiate(checker: Checker, function: types.FunctionType, given: PassedArguments) -> Environment | None:
    """Return the types of a function's type parameters for one call, including the outer type parameters in scope."""
    parameters = function.term.type_parameters
    if not parameters:
        return function.environment
    found = (
        _explicit_arguments(checker, parameters, given)
        if given.type_arguments
        else _inferred_arguments(checker, function, given)
    )
    bound: Environment = dict(function.environment or {})
    for parameter in parameters:
        if found.get(parameter.name) is None:
            fallback = parameter.default if parameter.default is not None else parameter.constraint
            found[parameter.name] = checker.type_of(function.module, fallback, {**bound, **found})
    bound.update(found)
    return bound


def _explicit_arguments(
    checker: Checker, parameters: tuple[nodes.TypeParameter, ...], given: PassedArguments
) -> Environment:
    """Bind type parameters to the type arguments that the call states explicitly."""
    pairs = zip(parameters, given.type_arguments, strict=False)
    return {parameter.name: checker.type_of(given.module, term, given.environment) for parameter, term in pairs}


def _inferred_arguments(checker: Checker, function: types.FunctionType, given: PassedArguments) -> Environment:
    """Bind type parameters to types that are inferred from the arguments of a call."""
    inference = ParameterInference(checker, function.module, _parameter_names(function.term.type_parameters))
    for parameter, argument in _pair_arguments(function.term.parameters, given.arguments):
        if argument is not None and inference.contains_parameter(parameter.term):
            value = checker.type_of(given.module, argument, given.environment)
            inference.infer(parameter.term, value, is_rest=parameter.is_rest)
    return inference.found


def _parameter_names(parameters: tuple[nodes.TypeParameter, ...]) -> frozenset[str]:
    return frozenset([parameter.name for parameter in parameters])


def _pair_arguments(
    parameters: tuple[nodes.FunctionParameter, ...], arguments: tuple[Term, ...]
) -> list[tuple[nodes.FunctionParameter, Term]]:
    """Pair each argument with its parameter; a rest parameter takes all remaining arguments."""
    pairs: list[tuple[nodes.FunctionParameter, Term]] = []
    for position, argument in enumerate(arguments):
        if position < len(parameters):
            pairs.append((parameters[position], argument))
        elif parameters and parameters[-1].is_rest:
            pairs.append((parameters[-1], argument))
    return pairs


def return_type(checker: Checker, function: types.FunctionType, environment: Environment | None) -> Type | None:
    """Return the type that a function returns, given the types of its type parameters."""
    term = function.term
    if term.result is not None:
        return checker.type_of(function.module, term.result, environment)
    if not term.returned or term.flags & nodes.IS_GENERATOR:
        return None

    def compute() -> Type | None:
        return union_of([checker.type_of(function.module, value, environment) for value in term.returned])

    found = checker.memo.ask(("returned", function), compute) if environment is None else compute()
    return promise_type(checker, found) if term.flags & nodes.IS_ASYNC else found


def constructed_type(checker: Checker, callee: Type | None, given: PassedArguments) -> Type | None:
    """Return the type of the object that `new callee(…)` creates."""
    if type(callee) is types.UnionType:
        return union_of([constructed_type(checker, option, given) for option in callee.options])
    if type(callee) is types.StaticType:
        return _construct_class(checker, callee, given)
    if type(callee) is types.IntersectionType:
        return instance_type_of_class(callee)
    return call_type(checker, callee, given)


def _construct_class(checker: Checker, callee: types.StaticType, given: PassedArguments) -> Type | None:
    """Return the type of a new instance of a class, with inferred type arguments."""
    declared = callee.declared
    part = next((part for part in declared.parts if isinstance(part, nodes.ClassDeclaration)), None)
    if part is None:
        return call_type(checker, callee, given)
    if not part.type_parameters:
        return types.InstanceType(declared)
    constructor = part.members.get("constructor")
    if not given.type_arguments and (constructor is None or not given.arguments):
        return types.InstanceType(declared, tuple(type_environment(checker, declared, part, ()).values()))
    stated = constructor.term if constructor is not None else None
    heads = _function_types(declared.module, stated.terms if isinstance(stated, nodes.Overloads) else (stated,))
    head = nodes.FunctionTerm(part.type_parameters, heads[0].term.parameters if heads else ())
    bound = instantiate(checker, types.FunctionType(declared.module, head), given) or {}
    return types.InstanceType(declared, tuple([bound.get(parameter.name) for parameter in part.type_parameters]))


def parameter_type(checker: Checker, function: Type | None, position: int) -> Type | None:
    """Return the type of the parameter with index `position`."""
    found: list[Type | None] = []
    for option in signatures(checker, function):
        parameters = option.term.parameters
        if not parameters or (position >= len(parameters) and not parameters[-1].is_rest):
            continue
        parameter = parameters[min(position, len(parameters) - 1)]
        value = checker.type_of(option.module, parameter.term, option.environment)
        found.append(item_type(checker, value) if parameter.is_rest else value)
    return union_of(found[:_MAX_CALLBACK_OVERLOADS])


def argument_type(checker: Checker, callee: Type | None, position: int, given: PassedArguments) -> Type | None:
    """Return the expected type of an argument, given the preceding arguments of the call."""
    found: list[Type | None] = []
    for option in signatures(checker, callee):
        parameters = option.term.parameters
        if position < len(parameters) or (parameters and parameters[-1].is_rest):
            bound = instantiate(checker, option, given)
            found.append(parameter_type(checker, types.FunctionType(option.module, option.term, bound), position))
    return union_of([each for each in found if each is not None][:_MAX_CALLBACK_OVERLOADS])


def result_type(checker: Checker, function: Type | None) -> Type | None:
    """Return the declared or inferred return type of a function type."""
    options = signatures(checker, function)
    return return_type(checker, options[0], options[0].environment) if options else None


def element_type(checker: Checker, owner: Type | None, index: Type | None) -> Type | None:
    """Return the type of `owner[index]`."""
    if owner is None:
        return None
    if type(index) is types.StringType and index.value is not None:
        return checker.member_type(owner, index.value)
    if type(index) is types.UnionType:
        return union_of([element_type(checker, owner, option) for option in index.options])
    if type(owner) is types.UnionType:
        return union_of([element_type(checker, option, index) for option in owner.options])
    if type(owner) is types.ObjectType:
        return _unknown_key_type(checker, owner, index)
    if type(owner) is types.MappedObject:
        return checker.type_of(
            owner.module, owner.term.value, {**(owner.environment or {}), owner.term.parameter: index}
        )
    if type(owner) is types.UnboundTypeParameter:
        return element_type(checker, owner.bound, index)
    return item_type(checker, owner) or index_type(checker, owner)


def _unknown_key_type(checker: Checker, owner: types.ObjectType, index: Type | None) -> Type | None:
    """Return the type of `object[key]` for a key whose value is unknown."""
    if owner.term.index is not None:
        return checker.type_of(owner.module, owner.term.index, owner.environment)
    if len(owner.term.members) > _MAX_INDEXED_MEMBERS or (
        index is not None and type(index) not in (types.StringType, types.KeysType, types.UnboundTypeParameter)
    ):
        return None
    return union_of([checker.type_of(owner.module, member.term, owner.environment) for member in owner.term.members])


def item_type(checker: Checker, owner: Type | None) -> Type | None:
    """Return the type of the items that iteration over a value yields."""
    if type(owner) is types.Tuple:
        return union_of(list(owner.items))
    if type(owner) is types.UnionType:
        return union_of([item_type(checker, option) for option in owner.options])
    if type(owner) is types.UnboundTypeParameter:
        return item_type(checker, owner.bound)
    if type(owner) is not types.InstanceType:
        return None
    name = owner.declared.name
    if owner.declared.module.is_library:
        if name in _LIBRARY_ITERABLES:
            return owner.arguments[0] if owner.arguments else None
        if name in ("Map", "ReadonlyMap"):
            return types.Tuple(owner.arguments)
        return None
    return _own_item_type(checker, owner)


def _own_item_type(checker: Checker, owner: types.InstanceType) -> Type | None:
    """Return the item type of an iterable class of the project, from the class's iterator or a library base type."""
    for found in find_members(checker, owner, "[Symbol.iterator]"):
        iterator = result_type(checker, checker.property_type(found))
        if iterator is not None and iterator != owner:
            return item_type(checker, iterator)
    library_types = (each for each in ancestors(checker, owner) if each.declared.module.is_library)
    return item_type(checker, next(library_types, None))


class ParameterInference:
    """Inference of the type parameters of one signature."""

    def __init__(self, checker: Checker, module: Module, names: frozenset[str]) -> None:
        self._checker = checker
        self._module = module
        self._parameter_names = names
        self.found: Environment = {}

    def contains_parameter(self, term: Term) -> bool:
        """Whether a type expression contains one of the type parameters."""
        return any(
            isinstance(each, _TYPE_VARIABLE_KINDS) and each.name in self._parameter_names
            for each in nodes.holders(term)
        )

    def infer(self, wanted: Term, given: Type | None, *, is_rest: bool = False) -> None:
        """Infer type parameters by matching the expected type `wanted` with the argument type `given`."""
        if is_rest and isinstance(wanted, nodes.ArrayType):
            wanted = wanted.element
        self._match(wanted, given, 0)

    def _match(self, wanted: Term, given: Type | None, depth: int) -> None:
        """Compare the given type with the wanted type, and bind the type parameters that the wanted type contains."""
        if given is None or depth > _MAX_MATCHED_DEPTH:
            return
        depth += 1
        match wanted:
            case nodes.TypeParameterUse(name=name) | nodes.InferredType(name=name):
                self._bind(name, given)
            case nodes.ArrayType(element=element):
                self._match(element, item_type(self._checker, given), depth)
            case nodes.OneOf(terms=options) | nodes.Intersection(terms=options):
                for option in options:
                    self._match(option, given, depth)
            case nodes.TupleType(terms=items):
                if type(given) is types.Tuple:
                    for part, item in zip(items, given.items, strict=False):
                        self._match(part, item, depth)
            case nodes.ObjectTerm():
                self._match_object(wanted, given, depth)
            case nodes.FunctionTerm():
                self._match_function(wanted, given, depth)
            case nodes.TypeReference():
                self._match_reference(wanted, given, depth)

    def _bind(self, name: str, given: Type) -> None:
        """Bind a type parameter to a type; if it is already bound, to the union of both types."""
        if name in self._parameter_names:
            known = self.found.get(name)
            self.found[name] = given if known is None else union_of([known, given])

    def _match_object(self, wanted: nodes.ObjectTerm, given: Type, depth: int) -> None:
        """Compare an object type with the given type member by member."""
        for member in wanted.members:
            if self.contains_parameter(member.term):
                self._match(member.term, self._checker.member_type(given, member.name), depth)
        if self.contains_parameter(wanted.index):
            self._match(wanted.index, element_type(self._checker, given, None), depth)

    def _match_function(self, wanted: nodes.FunctionTerm, given: Type, depth: int) -> None:
        """Compare the return type and the parameter types of a function type with the given type."""
        if self.contains_parameter(wanted.result):
            self._match(wanted.result, result_type(self._checker, given), depth)
        if type(given) is not types.FunctionType:
            return
        for parameter, known in zip(wanted.parameters, given.term.parameters, strict=False):
            # Skip callback parameters whose type comes from the signature that is being inferred.
            if isinstance(known.term, nodes.TermNode) and not isinstance(
                known.term, nodes.MemberAccess | nodes.ParameterOf
            ):
                self._match(parameter.term, self._checker.type_of(given.module, known.term, given.environment), depth)

    def _match_reference(self, wanted: nodes.TypeReference, given: Type, depth: int) -> None:
        """Compare the type arguments of a named type with those of the given type or of the given type's ancestor."""
        declared = resolve_entity(self._checker, self._module, wanted.entity)
        if type(declared) is not types.DeclaredEntity:
            return
        alias = next((part for part in declared.parts if isinstance(part, nodes.AliasDeclaration)), None)
        if alias is not None:
            self._match_alias(wanted, declared, alias, given, depth)
            return
        interface = next((part for part in declared.parts if isinstance(part, nodes.InterfaceDeclaration)), None)
        for option in given.options if type(given) is types.UnionType else (given,):
            if type(option) is types.ObjectType and interface is not None and not declared.module.is_library:
                self._match_interface(wanted, declared, interface, option, depth)
                continue
            base = find_ancestor(self._checker, option, declared)
            if base is not None:
                for part, argument in zip(wanted.arguments, base.arguments, strict=False):
                    self._match(part, argument, depth)
            elif declared.module.is_library and declared.name in _TYPES_MATCHED_BY_ITEM and wanted.arguments:
                self._match(wanted.arguments[0], item_type(self._checker, option), depth)

    def _match_interface(
        self,
        wanted: nodes.TypeReference,
        declared: types.DeclaredEntity,
        interface: nodes.InterfaceDeclaration,
        given: types.ObjectType,
        depth: int,
    ) -> None:
        """Compare an interface with an object literal, then apply the inferred types to the arguments of `wanted`."""
        inner = ParameterInference(self._checker, declared.module, _parameter_names(interface.type_parameters))
        for name, member in interface.members.items():
            if inner.contains_parameter(member.term):
                inner._match(member.term, self._checker.member_type(given, name), depth)
        for parameter, argument in zip(interface.type_parameters, wanted.arguments, strict=False):
            self._match(argument, inner.found.get(parameter.name), depth)

    def _match_alias(
        self,
        wanted: nodes.TypeReference,
        declared: types.DeclaredEntity,
        alias: nodes.AliasDeclaration,
        given: Type,
        depth: int,
    ) -> None:
        """Compare an alias target with the given type, then apply the inferred types to the arguments of `wanted`."""
        inner = ParameterInference(self._checker, declared.module, _parameter_names(alias.type_parameters))
        inner._match(alias.term, given, depth)
        for parameter, argument in zip(alias.type_parameters, wanted.arguments, strict=False):
            self._match(argument, inner.found.get(parameter.name), depth)
