"""The operators of type terms."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from deltos.domains.graph.typescript.terms import (
    ALIAS_DECLARATION,
    ARRAY,
    BOTH,
    CLASS,
    CLASS_DECLARATION,
    CONDITIONAL,
    EITHER,
    ENUM_DECLARATION,
    FUNCTION,
    IMPORT,
    INTERFACE_DECLARATION,
    KEYOF,
    MAPPED,
    MEMBER,
    OBJECT,
    OVERLOADS,
    PREDICATE,
    REF,
    STATICS,
    TEXT,
    THIS,
    TUPLE,
    TYPE_PARAMETER,
    Term,
)
from deltos.domains.graph.typescript.typing.members import array_of, bindings, constructed
from deltos.domains.graph.typescript.typing.types import (
    Both,
    Declared,
    Environment,
    Function,
    Instance,
    Keys,
    Mapped,
    Member,
    Namespace,
    Opaque,
    Property,
    Static,
    Structure,
    Text,
    Tuple,
    Type,
    either,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.domains.graph.typescript.project.module import Module
    from deltos.domains.graph.typescript.typing.checker import Checker

    Operator = Callable[[Checker, Module, Term, Environment | None], Type | None]

_TYPE_PARTS = frozenset((CLASS_DECLARATION, INTERFACE_DECLARATION, ENUM_DECLARATION))


def entity(checker: Checker, module: Module, name: Term) -> Declared | Namespace | Property | Member | None:
    """What a possibly dotted name in a type stands for."""
    kind = type(name)
    if kind is str:
        return checker.program.lookup(module, name)
    if kind is int:
        return local_declared(checker, module, name)
    if kind is not tuple:
        return None
    if name[0] == IMPORT:
        target = checker.program.import_module(module, name[1])
        return Namespace(target) if target is not None else None
    if name[0] == MEMBER:
        return _part_of(checker, entity(checker, module, name[1]), name[2])
    return None


def _part_of(
    checker: Checker, owner: Declared | Namespace | Property | Member | None, name: str
) -> Declared | Namespace | Property | Member | None:
    if type(owner) is Namespace:
        return checker.program.exported(owner.module, name)
    if type(owner) is Declared:
        inner = owner.module.declared(f"{owner.name}.{name}")
        if inner is not None:
            return inner
        if any(part[0] == ENUM_DECLARATION for part in owner.parts):
            return Member(owner, name)
        value = checker.value(owner)
        if type(value) is Namespace:
            return checker.program.exported(value.module, name)
    if type(owner) is Property:
        value = checker.property_type(owner)
        if type(value) is Namespace:
            return checker.program.exported(value.module, name)
    return None


def local_declared(checker: Checker, module: Module, local: int) -> Declared | None:
    """A class, interface or alias declared inside a function."""
    if ~local >= len(module.locals):
        return None
    term = module.locals[~local]
    if type(term) is tuple and term[0] == CLASS:
        return checker.inner_declared(module, term)
    return None


def _ref(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    found = entity(checker, module, term[1])
    if type(found) is Declared:
        arguments = tuple([checker.of(module, argument, environment) for argument in term[2]])
        return as_type(checker, found, arguments)
    if type(found) is Member:
        return found
    if type(found) is Property:
        return constructed(checker.property_type(found))
    if type(found) is Namespace and found.module.whole is not None:
        return constructed(checker.of(found.module, found.module.whole))
    return None


def as_type(checker: Checker, declared: Declared, arguments: tuple[Type | None, ...]) -> Type | None:
    """What a declaration stands for as a type."""
    checker.memo.depend(declared.module.path)
    for part in declared.parts:
        if part[0] in _TYPE_PARTS:
            return Instance(declared, _filled(checker, declared, part, arguments))
        if part[0] == ALIAS_DECLARATION:
            if not part[2]:
                return checker.memo.ask(("type", declared), partial(checker.of, declared.module, part[3]))
            return checker.of(declared.module, part[3], bindings(checker, declared, part, arguments))
    return constructed(checker.value(declared), arguments)


def _filled(
    checker: Checker, declared: Declared, part: tuple[Any, ...], arguments: tuple[Type | None, ...]
) -> tuple[Type | None, ...]:
    """The arguments, completed by the defaults of the type parameters."""
    if part[0] == ENUM_DECLARATION or len(arguments) >= len(part[2]):
        return arguments
    return tuple(bindings(checker, declared, part, arguments).values())


def _type_parameter(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    if environment is not None and term[1] in environment:
        return environment[term[1]]
    return Opaque(term[1], checker.of(module, term[2], environment) if term[2] is not None else None)


def _array(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    return array_of(checker, checker.of(module, term[1], environment))


def _tuple(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    return Tuple(tuple([checker.of(module, item, environment) for item in term[1:]]))


def _either(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    return either([checker.of(module, option, environment) for option in term[1:]])


def _both(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    parts = [checker.of(module, part, environment) for part in term[1:]]
    known = tuple([part for part in parts if part is not None])
    return known[0] if len(known) == 1 else Both(known) if known else None


def _text(_checker: Checker, _module: Module, term: Term, _environment: Environment | None) -> Type | None:
    return Text(term[1])


def _function(_checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    return Function(module, term, environment)


def _object(_checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    return Structure(module, term, environment)


def _mapped(_checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    return Mapped(module, term, environment)


def _keyof(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    of = checker.of(module, term[1], environment)
    return Keys(of) if of is not None else None


def _conditional(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    return checker.conditional(module, term, environment)


def _nothing(_checker: Checker, _module: Module, _term: Term, _environment: Environment | None) -> Type | None:
    return None


def _this(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    if environment is not None and "this" in environment:
        return environment["this"]
    found = this_declared(checker, module, term[1])
    if found is None:
        return checker.of(module, term[1]) if type(term[1]) is not str else None
    for part in found.parts:
        if part[0] in (CLASS_DECLARATION, INTERFACE_DECLARATION):
            own = [
                Opaque(name, checker.of(module, constraint) if constraint else None) for name, constraint, _ in part[2]
            ]
            return Instance(found, tuple(own))
    return checker.value(found)


def this_declared(checker: Checker, module: Module, binding: Term) -> Declared | None:
    """The class that `this` belongs to."""
    if type(binding) is str:
        return module.declared(binding)
    if type(binding) is int:
        return local_declared(checker, module, binding)
    if type(binding) is tuple and binding[0] == CLASS:
        return checker.inner_declared(module, binding)
    return None


def _statics(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    if environment is not None and "this" in environment:
        return environment["this"]
    found = this_declared(checker, module, term[1])
    return Static(found) if found is not None else None


def _class(checker: Checker, module: Module, term: Term, _environment: Environment | None) -> Type | None:
    return Static(checker.inner_declared(module, term))


TYPE_OPERATORS: dict[str, Operator] = {
    REF: _ref,
    TYPE_PARAMETER: _type_parameter,
    ARRAY: _array,
    TUPLE: _tuple,
    EITHER: _either,
    BOTH: _both,
    TEXT: _text,
    FUNCTION: _function,
    OVERLOADS: _function,
    OBJECT: _object,
    MAPPED: _mapped,
    KEYOF: _keyof,
    CONDITIONAL: _conditional,
    PREDICATE: _nothing,
    THIS: _this,
    STATICS: _statics,
    CLASS: _class,
}
