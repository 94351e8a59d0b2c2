"""Calls: which signature is meant, what its type parameters stand for, what comes back, and what iterating gives.

Type parameters are found by laying a parameter's type over that of its argument.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from deltos.domains.graph.typescript import nodes
from deltos.domains.graph.typescript.check.members import (
    as_instance_of,
    bases,
    bindings,
    constructed,
    entity,
    index_type,
    library_base,
    members,
    promise_of,
)
from deltos.domains.graph.typescript.types import (
    Both,
    Declared,
    Either,
    Environment,
    Function,
    Instance,
    Keys,
    Mapped,
    Opaque,
    Overloaded,
    Static,
    Structure,
    Text,
    Tuple,
    Type,
    either,
)

if TYPE_CHECKING:
    from deltos.domains.graph.typescript.check.checker import Checker
    from deltos.domains.graph.typescript.modules.module import Module
    from deltos.domains.graph.typescript.nodes import Term

_MAX_CONTEXTS = 3  # overloads that tell what a callback's parameter may be
_MAX_MATCHED_DEPTH = 6  # of types that are laid over each other
_MAX_UNIFORM_MEMBERS = 30  # of an object that is indexed by a key which is not known
_LIBRARY_ITERABLES = frozenset(
    (
        "Array ReadonlyArray ArrayLike Set ReadonlySet Iterable Iterator IterableIterator Generator AsyncIterable "
        "AsyncGenerator AsyncIterableIterator"
    ).split()
)
_MATCHED_BY_ITEM = frozenset(("Iterable", "ArrayLike", "ReadonlyArray", "AsyncIterable"))
_NAMED_VARIABLES = (nodes.TypeParameterUse, nodes.InferredType)


class Given(Struct, frozen=True):
    """What a call passes, as terms of the calling module."""

    module: Module
    arguments: tuple[Term, ...]
    type_arguments: tuple[Term, ...]
    environment: Environment | None


def signatures(checker: Checker, callee: Type | None) -> list[Function]:
    """The ways in which a value can be called."""
    if type(callee) is Function:
        return [callee]
    if type(callee) is Overloaded:
        return _functions(callee.module, callee.term.terms, callee.environment)
    if type(callee) is Structure:
        return _functions(callee.module, callee.term.calls, callee.environment)
    if type(callee) is Instance:
        return _instance_signatures(checker, callee)
    if type(callee) is Static:
        return _static_signatures(checker, callee)
    if type(callee) is Opaque:
        return signatures(checker, callee.bound)
    if type(callee) is Both:
        return [each for part in callee.parts for each in signatures(checker, part)]
    if type(callee) is Either:
        return [each for part in callee.options for each in signatures(checker, part)]
    return []


def _functions(module: Module, terms: tuple[Term, ...], environment: Environment | None = None) -> list[Function]:
    return [Function(module, term, environment) for term in terms if isinstance(term, nodes.FunctionTerm)]


def _instance_signatures(checker: Checker, callee: Instance) -> list[Function]:
    found: list[Function] = []
    declared = callee.declared
    for part in declared.parts:
        if isinstance(part, nodes.InterfaceDeclaration) and part.calls:
            environment = bindings(checker, declared, part, callee.arguments)
            found += _functions(declared.module, part.calls, environment)
    return found or [each for base in bases(checker, callee) for each in signatures(checker, base)]


def _static_signatures(checker: Checker, callee: Static) -> list[Function]:
    """A function that also has members."""
    found: list[Function] = []
    for part in callee.declared.parts:
        if isinstance(part, nodes.ValueDeclaration):
            value = checker.of(callee.declared.module, part.term)
            if type(value) is not Static:
                found += signatures(checker, value)
    return found


def call(checker: Checker, callee: Type | None, given: Given) -> Type | None:
    """The type of a call."""
    if type(callee) is Either:
        return either([call(checker, option, given) for option in callee.options])
    options = signatures(checker, callee)
    if not options:
        return None
    chosen = _choose(checker, options, given)
    return returned(checker, chosen, instantiate(checker, chosen, given))


def _choose(checker: Checker, options: list[Function], given: Given) -> Function:
    """The first signature that takes these arguments."""
    if len(options) == 1:
        return options[0]
    return next((option for option in options if _takes(checker, option, given)), options[-1])


def _takes(checker: Checker, option: Function, given: Given) -> bool:
    parameters = option.term.parameters
    count = len(given.arguments)
    required = sum(1 for parameter in parameters if not parameter.flags)
    is_open = bool(parameters) and parameters[-1].is_rest
    if count < required or (count > len(parameters) and not is_open):
        return False
    pairs = zip(given.arguments, parameters, strict=False)
    return all(_fits(checker, argument, option, parameter) for argument, parameter in pairs)


def _fits(checker: Checker, argument: Term, option: Function, parameter: nodes.Parameter) -> bool:
    """Whether an argument may be passed; only what is surely wrong is refused."""
    if parameter.is_rest or not isinstance(argument, nodes.FunctionTerm | nodes.StringTerm):
        return True
    wanted = checker.of(option.module, parameter.term, option.environment)
    if isinstance(argument, nodes.FunctionTerm):
        return wanted is None or type(wanted) is Opaque or bool(signatures(checker, wanted))
    if type(wanted) is Text:
        return wanted.value is None or argument.value is None or wanted.value == argument.value
    return not isinstance(wanted, Function | Overloaded | Instance | Structure)


def instantiate(checker: Checker, function: Function, given: Given) -> Environment | None:
    """The function's environment with its own type parameters bound."""
    parameters = function.term.type_parameters
    if not parameters:
        return function.environment
    found = _stated(checker, parameters, given) if given.type_arguments else _inferred(checker, function, given)
    bound: Environment = dict(function.environment or {})
    for parameter in parameters:
        if found.get(parameter.name) is None:
            fallback = parameter.default if parameter.default is not None else parameter.constraint
            found[parameter.name] = checker.of(function.module, fallback, {**bound, **found})
    bound.update(found)
    return bound


def _stated(checker: Checker, parameters: tuple[nodes.TypeParameter, ...], given: Given) -> Environment:
    pairs = zip(parameters, given.type_arguments, strict=False)
    return {parameter.name: checker.of(given.module, term, given.environment) for parameter, term in pairs}


def _inferred(checker: Checker, function: Function, given: Given) -> Environment:
    inference = ParameterInference(checker, function.module, _names(function.term.type_parameters))
    for parameter, argument in _matched(function.term.parameters, given.arguments):
        if argument is not None and inference.concerns(parameter.term):
            value = checker.of(given.module, argument, given.environment)
            inference.take(parameter.term, value, is_rest=parameter.is_rest)
    return inference.found


def _names(parameters: tuple[nodes.TypeParameter, ...]) -> frozenset[str]:
    return frozenset([parameter.name for parameter in parameters])


def _matched(
    parameters: tuple[nodes.Parameter, ...], arguments: tuple[Term, ...]
) -> list[tuple[nodes.Parameter, Term]]:
    """Arguments with the parameters that take them; a rest parameter takes all that are left."""
    pairs: list[tuple[nodes.Parameter, Term]] = []
    for position, argument in enumerate(arguments):
        if position < len(parameters):
            pairs.append((parameters[position], argument))
        elif parameters and parameters[-1].is_rest:
            pairs.append((parameters[-1], argument))
    return pairs


def returned(checker: Checker, function: Function, environment: Environment | None) -> Type | None:
    """What a function returns, with its type parameters bound."""
    term = function.term
    if term.result is not None:
        return checker.of(function.module, term.result, environment)
    if not term.returned or term.flags & nodes.IS_GENERATOR:
        return None

    def compute() -> Type | None:
        return either([checker.of(function.module, value, environment) for value in term.returned])

    found = checker.memo.ask(("returned", function), compute) if environment is None else compute()
    return promise_of(checker, found) if term.flags & nodes.IS_ASYNC else found


def construct(checker: Checker, callee: Type | None, given: Given) -> Type | None:
    """The type of `new callee(…)`."""
    if type(callee) is Either:
        return either([construct(checker, option, given) for option in callee.options])
    if type(callee) is Static:
        return _construct_class(checker, callee, given)
    if type(callee) is Both:
        return constructed(callee)
    return call(checker, callee, given)


def _construct_class(checker: Checker, callee: Static, given: Given) -> Type | None:
    declared = callee.declared
    part = next((part for part in declared.parts if isinstance(part, nodes.ClassDeclaration)), None)
    if part is None:
        return call(checker, callee, given)
    if not part.type_parameters:
        return Instance(declared)
    constructor = part.members.get("constructor")
    if not given.type_arguments and (constructor is None or not given.arguments):
        return Instance(declared, tuple(bindings(checker, declared, part, ()).values()))
    stated = constructor.term if constructor is not None else None
    heads = _functions(declared.module, stated.terms if isinstance(stated, nodes.Overloads) else (stated,))
    head = nodes.FunctionTerm(part.type_parameters, heads[0].term.parameters if heads else ())
    bound = instantiate(checker, Function(declared.module, head), given) or {}
    return Instance(declared, tuple([bound.get(parameter.name) for parameter in part.type_parameters]))


def parameter_type(checker: Checker, function: Type | None, position: int) -> Type | None:
    """What a function takes at a position."""
    found: list[Type | None] = []
    for option in signatures(checker, function):
        parameters = option.term.parameters
        if not parameters or (position >= len(parameters) and not parameters[-1].is_rest):
            continue
        parameter = parameters[min(position, len(parameters) - 1)]
        value = checker.of(option.module, parameter.term, option.environment)
        found.append(item_type(checker, value) if parameter.is_rest else value)
    return either(found[:_MAX_CONTEXTS])


def argument_type(checker: Checker, callee: Type | None, position: int, given: Given) -> Type | None:
    """What a call expects at a position, given the arguments before it."""
    found: list[Type | None] = []
    for option in signatures(checker, callee):
        parameters = option.term.parameters
        if position < len(parameters) or (parameters and parameters[-1].is_rest):
            bound = instantiate(checker, option, given)
            found.append(parameter_type(checker, Function(option.module, option.term, bound), position))
    return either([each for each in found if each is not None][:_MAX_CONTEXTS])


def result_type(checker: Checker, function: Type | None) -> Type | None:
    """What a function type promises to return."""
    options = signatures(checker, function)
    return returned(checker, options[0], options[0].environment) if options else None


def element_type(checker: Checker, owner: Type | None, index: Type | None) -> Type | None:
    """The type of `owner[index]`."""
    if owner is None:
        return None
    if type(index) is Text and index.value is not None:
        return checker.member_type(owner, index.value)
    if type(index) is Either:
        return either([element_type(checker, owner, option) for option in index.options])
    if type(owner) is Either:
        return either([element_type(checker, option, index) for option in owner.options])
    if type(owner) is Structure:
        return _indexed_structure(checker, owner, index)
    if type(owner) is Mapped:
        return checker.of(owner.module, owner.term.value, {**(owner.environment or {}), owner.term.parameter: index})
    if type(owner) is Opaque:
        return element_type(checker, owner.bound, index)
    return item_type(checker, owner) or index_type(checker, owner)


def _indexed_structure(checker: Checker, owner: Structure, index: Type | None) -> Type | None:
    if owner.term.index is not None:
        return checker.of(owner.module, owner.term.index, owner.environment)
    if len(owner.term.members) > _MAX_UNIFORM_MEMBERS or (
        index is not None and type(index) not in (Text, Keys, Opaque)
    ):
        return None
    return either([checker.of(owner.module, member.term, owner.environment) for member in owner.term.members])


def item_type(checker: Checker, owner: Type | None) -> Type | None:
    """What iterating over a value gives."""
    if type(owner) is Tuple:
        return either(list(owner.items))
    if type(owner) is Either:
        return either([item_type(checker, option) for option in owner.options])
    if type(owner) is Opaque:
        return item_type(checker, owner.bound)
    if type(owner) is not Instance:
        return None
    name = owner.declared.name
    if owner.declared.module.is_library:
        if name in _LIBRARY_ITERABLES:
            return owner.arguments[0] if owner.arguments else None
        if name in ("Map", "ReadonlyMap"):
            return Tuple(owner.arguments)
        return None
    return _own_iteration(checker, owner)


def _own_iteration(checker: Checker, owner: Instance) -> Type | None:
    """What the iterator that a class of the project defines gives; or what the array it extends holds."""
    for found in members(checker, owner, "[Symbol.iterator]"):
        iterator = result_type(checker, checker.property_type(found))
        if iterator is not None and iterator != owner:
            return item_type(checker, iterator)
    inherited = library_base(checker, owner)
    return item_type(checker, inherited) if inherited is not None else None


class ParameterInference:
    """The type parameters of one signature, and what has been found out about them."""

    def __init__(self, checker: Checker, module: Module, names: frozenset[str]) -> None:
        self._checker = checker
        self._module = module
        self._names = names
        self.found: Environment = {}

    def concerns(self, term: Term) -> bool:
        """Whether a term speaks of one of the type parameters."""
        return any(isinstance(each, _NAMED_VARIABLES) and each.name in self._names for each in nodes.holders(term))

    def take(self, wanted: Term, given: Type | None, *, is_rest: bool = False) -> None:
        """Learn from a value that was passed where a type was wanted."""
        if is_rest and isinstance(wanted, nodes.ArrayType):
            wanted = wanted.element
        self._match(wanted, given, 0)

    def _match(self, wanted: Term, given: Type | None, depth: int) -> None:
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
                if type(given) is Tuple:
                    for part, item in zip(items, given.items, strict=False):
                        self._match(part, item, depth)
            case nodes.ObjectTerm():
                self._match_object(wanted, given, depth)
            case nodes.FunctionTerm():
                self._match_function(wanted, given, depth)
            case nodes.TypeReference():
                self._match_reference(wanted, given, depth)

    def _bind(self, name: str, given: Type) -> None:
        """A type parameter stands for what is given."""
        if name in self._names:
            known = self.found.get(name)
            self.found[name] = given if known is None else either([known, given])

    def _match_object(self, wanted: nodes.ObjectTerm, given: Type, depth: int) -> None:
        """An object type, member by member."""
        for member in wanted.members:
            if self.concerns(member.term):
                self._match(member.term, self._checker.member_type(given, member.name), depth)
        if self.concerns(wanted.index):
            self._match(wanted.index, element_type(self._checker, given, None), depth)

    def _match_function(self, wanted: nodes.FunctionTerm, given: Type, depth: int) -> None:
        """A function type: what the given function returns and takes."""
        if self.concerns(wanted.result):
            self._match(wanted.result, result_type(self._checker, given), depth)
        if type(given) is not Function:
            return
        for parameter, known in zip(wanted.parameters, given.term.parameters, strict=False):
            # What a callback's parameter is expected to be is what is being inferred: it tells nothing.
            if isinstance(known.term, nodes.TermNode) and not isinstance(
                known.term, nodes.MemberAccess | nodes.ParameterOf
            ):
                self._match(parameter.term, self._checker.of(given.module, known.term, given.environment), depth)

    def _match_reference(self, wanted: nodes.TypeReference, given: Type, depth: int) -> None:
        """A named type: the arguments with which what is given has it."""
        declared = entity(self._checker, self._module, wanted.entity)
        if type(declared) is not Declared:
            return
        alias = next((part for part in declared.parts if isinstance(part, nodes.AliasDeclaration)), None)
        if alias is not None:
            self._alias(wanted, declared, alias, given, depth)
            return
        interface = next((part for part in declared.parts if isinstance(part, nodes.InterfaceDeclaration)), None)
        for option in given.options if type(given) is Either else (given,):
            if type(option) is Structure and interface is not None and not declared.module.is_library:
                self._interface(wanted, declared, interface, option, depth)
                continue
            base = as_instance_of(self._checker, option, declared)
            if base is not None:
                for part, argument in zip(wanted.arguments, base.arguments, strict=False):
                    self._match(part, argument, depth)
            elif declared.module.is_library and declared.name in _MATCHED_BY_ITEM and wanted.arguments:
                self._match(wanted.arguments[0], item_type(self._checker, option), depth)

    def _interface(
        self,
        wanted: nodes.TypeReference,
        declared: Declared,
        interface: nodes.InterfaceDeclaration,
        given: Structure,
        depth: int,
    ) -> None:
        """Match an object literal with an interface, member by member, then carry its parameters over."""
        inner = ParameterInference(self._checker, declared.module, _names(interface.type_parameters))
        for name, member in interface.members.items():
            if inner.concerns(member.term):
                inner._match(member.term, self._checker.member_type(given, name), depth)
        for parameter, argument in zip(interface.type_parameters, wanted.arguments, strict=False):
            self._match(argument, inner.found.get(parameter.name), depth)

    def _alias(
        self, wanted: nodes.TypeReference, declared: Declared, alias: nodes.AliasDeclaration, given: Type, depth: int
    ) -> None:
        """Match what an alias stands for, then carry its parameters over to the arguments it was given."""
        inner = ParameterInference(self._checker, declared.module, _names(alias.type_parameters))
        inner._match(alias.term, given, depth)
        for parameter, argument in zip(alias.type_parameters, wanted.arguments, strict=False):
            self._match(argument, inner.found.get(parameter.name), depth)
