"""The operators of value terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.typescript.terms import (
    ARGUMENT,
    AWAIT,
    CALL,
    CLASS_DECLARATION,
    EACH,
    ELEMENT,
    IMPORT,
    IS_TYPE,
    ITEM,
    LIST,
    MEMBER,
    NARROW,
    NEW,
    PARAMETER,
    REQUIRE,
    RESULT,
    SPREAD,
    SUPER,
    Term,
)
from deltos.domains.graph.typescript.typing.calls import (
    Given,
    argument_type,
    call,
    construct,
    parameter_type,
    result_type,
)
from deltos.domains.graph.typescript.typing.members import array_of, bindings, constructed
from deltos.domains.graph.typescript.typing.narrowing import narrow
from deltos.domains.graph.typescript.typing.type_terms import this_declared
from deltos.domains.graph.typescript.typing.types import (
    Either,
    Environment,
    Instance,
    Keys,
    Mapped,
    Namespace,
    Opaque,
    Structure,
    Text,
    Tuple,
    Type,
    either,
)

if TYPE_CHECKING:
    from deltos.domains.graph.typescript.project.module import Module
    from deltos.domains.graph.typescript.typing.checker import Checker
    from deltos.domains.graph.typescript.typing.type_terms import Operator

_PROMISES = frozenset(("Promise", "PromiseLike"))
_ITERABLES = frozenset(
    (
        "Array",
        "ReadonlyArray",
        "ArrayLike",
        "Set",
        "ReadonlySet",
        "Iterable",
        "Iterator",
        "IterableIterator",
        "Generator",
        "AsyncIterable",
        "AsyncGenerator",
        "AsyncIterableIterator",
    )
)


def _member(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    return checker.member_type(checker.of(module, term[1], environment), term[2])


def _call(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    _, target, arguments, type_arguments = term
    callee = checker.of(module, target, environment)
    return call(checker, callee, Given(module, arguments, type_arguments, environment))


def _new(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    _, target, arguments, type_arguments = term
    callee = checker.of(module, target, environment)
    return construct(checker, callee, Given(module, arguments, type_arguments, environment))


def _element(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    owner = checker.of(module, term[1], environment)
    if len(term) > 3:
        keyed = checker.member_type(owner, term[3])
        if keyed is not None:
            return keyed
    index = checker.of(module, term[2], environment)
    return element_type(checker, owner, index)


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
        return checker.of(owner.module, owner.term[3], {**(owner.environment or {}), owner.term[1]: index})
    if type(owner) is Opaque:
        return element_type(checker, owner.bound, index)
    return item_type(checker, owner) or checker.index_type(owner)


def _indexed_structure(checker: Checker, owner: Structure, index: Type | None) -> Type | None:
    _, entries, _, _, value = owner.term
    if value is not None:
        return checker.of(owner.module, value, owner.environment)
    if len(entries) > 30 or (index is not None and type(index) not in (Text, Keys, Opaque)):
        return None
    return either([checker.of(owner.module, term, owner.environment) for _, term, _, _ in entries])


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
        if name in _ITERABLES:
            return owner.arguments[0] if owner.arguments else None
        if name in ("Map", "ReadonlyMap"):
            return Tuple(owner.arguments)
        return None
    return _own_iteration(checker, owner)


def _own_iteration(checker: Checker, owner: Instance) -> Type | None:
    """What the iterator that a class of the project defines gives; or what the array it extends holds."""
    for found in checker.members(owner, "[Symbol.iterator]"):
        iterator = result_type(checker, checker.property_type(found))
        if iterator is not None and iterator != owner:
            return item_type(checker, iterator)
    inherited = checker.library_base(owner)
    return item_type(checker, inherited) if inherited is not None else None


def _await(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    return awaited(checker.of(module, term[1], environment))


def awaited(value: Type | None) -> Type | None:
    """What a promise comes to; anything else is itself."""
    if type(value) is Either:
        return either([awaited(option) for option in value.options])
    if (
        type(value) is Instance
        and value.declared.module.is_library
        and value.declared.name in ("Promise", "PromiseLike")
    ):
        return awaited(value.arguments[0]) if value.arguments else None
    return value


def _list(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    items: list[Type | None] = []
    for part in term[1:]:
        if type(part) is tuple and part[0] == SPREAD:
            items.append(item_type(checker, checker.of(module, part[1], environment)))
        else:
            items.append(checker.of(module, part, environment))
    if len(items) > 1 and not any(type(part) is tuple and part[0] == SPREAD for part in term[1:]):
        return Tuple(tuple(items))
    return array_of(checker, either(items))


def _item(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    return positioned(checker, checker.of(module, term[1], environment), term[2])


def positioned(checker: Checker, owner: Type | None, position: int) -> Type | None:
    """The type at one position of a list."""
    if type(owner) is Tuple:
        return owner.items[position] if position < len(owner.items) else None
    if type(owner) is Either:
        return either([positioned(checker, option, position) for option in owner.options])
    return item_type(checker, owner)


def _each(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    return item_type(checker, checker.of(module, term[1], environment))


def _spread(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    return item_type(checker, checker.of(module, term[1], environment))


def _super(checker: Checker, module: Module, term: Term, _environment: Environment | None) -> Type | None:
    declared = this_declared(checker, module, term[1])
    if declared is None:
        return None
    for part in declared.parts:
        if part[0] == CLASS_DECLARATION:
            environment = bindings(checker, declared, part, ())
            base = checker.of(module, part[3], environment)
            arguments = tuple([checker.of(module, each, environment) for each in part[4]])
            return base if term[2] else constructed(base, arguments)
    return None


def _require(checker: Checker, module: Module, term: Term, _environment: Environment | None) -> Type | None:
    found = checker.program.imported(module, term[1], "=")
    return checker.value(found) if found is not None else None


def _import(checker: Checker, module: Module, term: Term, _environment: Environment | None) -> Type | None:
    target = checker.program.import_module(module, term[1])
    return Namespace(target) if target is not None else None


def _parameter(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    return parameter_type(checker, checker.of(module, term[1], environment), term[2])


def _argument(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    _, target, position, earlier, type_arguments = term
    callee = checker.of(module, target, environment)
    return argument_type(checker, callee, position, Given(module, earlier, type_arguments, environment))


def _result(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    return result_type(checker, checker.of(module, term[1], environment))


def _narrow(checker: Checker, module: Module, term: Term, environment: Environment | None) -> Type | None:
    return narrow(checker, module, term, environment)


def _text(_checker: Checker, _module: Module, _term: Term, _environment: Environment | None) -> Type | None:
    return Text()


VALUE_OPERATORS: dict[str, Operator] = {
    MEMBER: _member,
    CALL: _call,
    NEW: _new,
    ELEMENT: _element,
    AWAIT: _await,
    LIST: _list,
    ITEM: _item,
    EACH: _each,
    SPREAD: _spread,
    SUPER: _super,
    REQUIRE: _require,
    IMPORT: _import,
    PARAMETER: _parameter,
    ARGUMENT: _argument,
    RESULT: _result,
    NARROW: _narrow,
    IS_TYPE: _text,
}
