"""Declarations as types: what a name stands for, its type parameters, what it extends and which members it has."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Never, TypeAlias, cast

from deltos.domains.graph.typescript import nodes
from deltos.domains.graph.typescript.types import (
    Both,
    Declared,
    Either,
    Environment,
    Function,
    Instance,
    Keys,
    Mapped,
    Member,
    Namespace,
    Opaque,
    Overloaded,
    Property,
    Static,
    Structure,
    Text,
    Tuple,
    Type,
    either,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deltos.domains.graph.typescript.check.checker import Checker
    from deltos.domains.graph.typescript.modules.module import Module
    from deltos.domains.graph.typescript.nodes import Term

_MAX_BASES = 24

Generic: TypeAlias = (
    "nodes.ClassDeclaration | nodes.InterfaceDeclaration | nodes.AliasDeclaration"  # has type parameters
)
Entity: TypeAlias = "Declared | Namespace | Property | Member"


def members(checker: Checker, owner: Type | None, name: str) -> list[Property]:
    """The members of this name that a type has: several where it is a union."""
    finder = _FINDERS.get(type(owner))
    return finder(checker, cast("Never", owner), name) if finder is not None else []


def bindings(checker: Checker, declared: Declared, part: Generic, arguments: tuple[Type | None, ...]) -> Environment:
    """What the type parameters of a declaration stand for, given its arguments."""
    environment: Environment = {}
    for position, parameter in enumerate(part.type_parameters):
        if position < len(arguments):
            bound = arguments[position]
        elif parameter.default is not None:
            bound = checker.of(declared.module, parameter.default, environment)
        elif parameter.constraint:
            bound = Opaque(parameter.name, checker.of(declared.module, parameter.constraint, environment))
        else:
            bound = None
        environment[parameter.name] = bound
    return environment


def entity(checker: Checker, module: Module, name: Term) -> Entity | None:
    """What a possibly dotted name in a type stands for."""
    if isinstance(name, str):
        return checker.program.lookup(module, name)
    if isinstance(name, int):
        return local_declared(checker, module, name)
    if isinstance(name, nodes.ImportedModule):
        target = checker.program.import_module(module, name.specifier)
        return Namespace(target) if target is not None else None
    if isinstance(name, nodes.MemberAccess):
        return _part_of(checker, entity(checker, module, name.owner), name.name)
    return None


def _part_of(checker: Checker, owner: Entity | None, name: str) -> Entity | None:
    if type(owner) is Namespace:
        return checker.program.exported(owner.module, name)
    if type(owner) is Declared:
        inner = owner.module.declared(f"{owner.name}.{name}")
        if inner is not None:
            return inner
        if any(isinstance(part, nodes.EnumDeclaration) for part in owner.parts):
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
    return checker.inner_declared(module, term) if isinstance(term, nodes.LocalType) else None


def this_declared(checker: Checker, module: Module, binding: Term) -> Declared | None:
    """The class that `this` belongs to."""
    if isinstance(binding, str):
        return module.declared(binding)
    if isinstance(binding, int):
        return local_declared(checker, module, binding)
    return checker.inner_declared(module, binding) if isinstance(binding, nodes.LocalType) else None


def as_type(checker: Checker, declared: Declared, arguments: tuple[Type | None, ...]) -> Type | None:
    """What a declaration stands for as a type."""
    checker.memo.depend(declared.module.path)
    for part in declared.parts:
        if isinstance(part, nodes.EnumDeclaration):
            return Instance(declared, arguments)
        if isinstance(part, nodes.WITH_MEMBERS):
            return Instance(declared, _filled(checker, declared, part, arguments))
        if isinstance(part, nodes.AliasDeclaration):
            if not part.type_parameters:
                return checker.memo.ask(("type", declared), partial(checker.of, declared.module, part.term))
            return checker.of(declared.module, part.term, bindings(checker, declared, part, arguments))
    return constructed(checker.value(declared), arguments)


def _filled(
    checker: Checker, declared: Declared, part: Generic, arguments: tuple[Type | None, ...]
) -> tuple[Type | None, ...]:
    """The arguments, completed by the defaults of the type parameters."""
    if len(arguments) >= len(part.type_parameters):
        return arguments
    return tuple(bindings(checker, declared, part, arguments).values())


def bases(checker: Checker, instance: Instance) -> Iterator[Type]:
    """The types that a class or interface directly extends or implements."""
    module = instance.declared.module
    checker.memo.depend(module.path)
    for part in instance.declared.parts:
        if isinstance(part, nodes.ClassDeclaration):
            environment = bindings(checker, instance.declared, part, instance.arguments)
            arguments = tuple([checker.of(module, term, environment) for term in part.base_arguments])
            base = constructed(checker.of(module, part.base, environment), arguments)
            if base is None and isinstance(named := entity(checker, module, part.base), Declared):
                base = as_type(checker, named, arguments)  # a class that is an interface and a constructor apart
            if base is not None:
                yield base
            for term in part.implemented:
                found = checker.of(module, term, environment)
                if found is not None:
                    yield found
        elif isinstance(part, nodes.InterfaceDeclaration):
            environment = bindings(checker, instance.declared, part, instance.arguments)
            for term in part.bases:
                found = checker.of(module, term, environment)
                if found is not None:
                    yield found


def promise_of(checker: Checker, value: Type | None) -> Type | None:
    """The type of a promise of this."""
    declared = checker.program.library.declared("Promise")
    return Instance(declared, (value,)) if declared is not None else None


def ancestors(checker: Checker, instance: Type | None) -> Iterator[Instance]:
    """A type and everything that it extends or implements, each once."""
    seen: set[Declared] = set()
    pending: list[Type | None] = [instance]
    while pending:
        current = pending.pop(0)
        if type(current) is Both:
            pending.extend(current.parts)
        elif type(current) is Opaque:
            pending.append(current.bound)
        elif type(current) is Instance and current.declared not in seen:
            seen.add(current.declared)
            yield current
            pending.extend(bases(checker, current))


def as_instance_of(checker: Checker, value: Type | None, declared: Declared) -> Instance | None:
    """A value seen as an instance of one of the types that it extends or implements."""
    return next((each for each in ancestors(checker, value) if each.declared is declared), None)


def library_base(checker: Checker, value: Instance) -> Instance | None:
    """The type of the library that a class of the project extends."""
    return next((each for each in ancestors(checker, value) if each.declared.module.is_library), None)


def is_assignable(checker: Checker, value: Type | None, wanted: Type | None) -> bool:
    """Whether a value surely is of the wanted type, by name."""
    if type(wanted) is Instance:
        return as_instance_of(checker, value, wanted.declared) is not None
    return value == wanted


def index_type(checker: Checker, owner: Type | None) -> Type | None:
    """What the index signature of a type gives."""
    for each in ancestors(checker, owner):
        for part in each.declared.parts:
            if isinstance(part, nodes.InterfaceDeclaration) and part.index is not None:
                environment = bindings(checker, each.declared, part, each.arguments)
                return checker.of(each.declared.module, part.index, environment)
    return None


def constructed(base: Type | None, arguments: tuple[Type | None, ...] = ()) -> Type | None:
    """What `new` makes of a class value."""
    if type(base) is Static:
        return Instance(base.declared, arguments)
    if type(base) is Both:
        parts = [constructed(part, arguments) for part in base.parts]
        known = tuple([part for part in parts if part is not None])
        return Both(known) if known else None
    return None


def _of_instance(checker: Checker, owner: Instance, name: str) -> list[Property]:
    found: list[Property] = []
    seen: set[Declared] = set()
    pending: list[Type] = [owner]
    while pending and len(seen) < _MAX_BASES:
        level, pending = pending, []
        for current in level:
            if type(current) is not Instance:
                found += members(checker, current, name)
            elif current.declared not in seen:
                seen.add(current.declared)
                own = _own_members(checker, current, name, owner)
                found += own
                if not own:
                    pending += dict.fromkeys(bases(checker, current))
        if found:
            return found
    return found


def _own_members(checker: Checker, owner: Instance, name: str, this: Instance) -> list[Property]:
    declared = owner.declared
    checker.memo.depend(declared.module.path)
    found: list[Property] = []
    for part in declared.parts:
        if not isinstance(part, nodes.WITH_MEMBERS):
            continue
        member = part.members.get(name)
        if member is not None:
            environment = bindings(checker, declared, part, owner.arguments)
            environment["this"] = this
            found.append(Property(declared.module, member.key, member.term, environment))
    return found


def _of_static(checker: Checker, owner: Static, name: str) -> list[Property]:
    declared = owner.declared
    module = declared.module
    checker.memo.depend(module.path)
    for part in declared.parts:
        if isinstance(part, nodes.ClassDeclaration) and name in part.statics:
            member = part.statics[name]
            return [Property(module, member.key, member.term, {"this": owner})]
        if isinstance(part, nodes.EnumDeclaration) and name in part.members:
            return [Property(module, part.members[name], None, None, Member(declared, name))]
        if isinstance(part, nodes.NamespaceDeclaration):
            inner = module.declared(f"{declared.name}.{name}")
            if inner is not None:
                return [declared_property(checker, inner)]
    return _inherited_static(checker, owner, name)


def declared_property(checker: Checker, declared: Declared) -> Property:
    """A declaration seen as a member of its namespace or module."""
    key = declared.parts[0].key
    return Property(declared.module, key, None, None, checker.value(declared))


def _inherited_static(checker: Checker, owner: Static, name: str) -> list[Property]:
    module = owner.declared.module
    for part in owner.declared.parts:
        if isinstance(part, nodes.ClassDeclaration):
            if name == "constructor" and name in part.members:
                return [Property(module, part.members[name].key, part.members[name].term)]
            base = checker.of(module, part.base)
            if base is not None and base != owner:
                found = members(checker, base, name)
                if found:
                    return found
        elif isinstance(part, nodes.ValueDeclaration):
            value = checker.of(module, part.term)
            if value is not None and type(value) is not Static:
                found = members(checker, value, name)
                if found:
                    return found
    if name == "prototype":
        return [Property(module, "", None, None, Instance(owner.declared))]
    return []


def _of_structure(checker: Checker, owner: Structure, name: str) -> list[Property]:
    found = [
        Property(owner.module, member.key or "", member.term, owner.environment)
        for member in owner.term.members
        if member.name == name
    ]
    if found:
        return found[:1] if len(found) == 1 or found[0].key else found[-1:]
    for spread in reversed(owner.term.spreads):
        inherited = members(checker, checker.of(owner.module, spread, owner.environment), name)
        if inherited:
            return inherited
    return []


def _of_namespace(checker: Checker, owner: Namespace, name: str) -> list[Property]:
    found = checker.program.exported(owner.module, name)
    if found is None:
        return []
    if type(found) is Property:
        return [found]
    if type(found) is Declared:
        return [declared_property(checker, found)]
    return [Property(found.module, "", None, None, found)]  # type: ignore[arg-type]


def _of_either(checker: Checker, owner: Either, name: str) -> list[Property]:
    options = [option for option in owner.options if type(option) is not Text]
    if len(options) < len(owner.options):
        options.append(Text())  # however many strings, their members are the same
    return [found for option in options for found in members(checker, option, name)]


def _of_both(checker: Checker, owner: Both, name: str) -> list[Property]:
    return [found for part in owner.parts for found in members(checker, part, name)]


def _of_mapped(checker: Checker, owner: Mapped, name: str) -> list[Property]:
    environment: Environment = {**(owner.environment or {}), owner.term.parameter: Text(name)}
    known = checker.of(owner.module, owner.term.value, environment)
    source = _mapped_source(checker, owner)
    origin = members(checker, source, name)
    if origin:
        return [Property(each.module, each.key, each.term, each.environment, known or each.known) for each in origin]
    return [Property(owner.module, "", None, None, known)] if known is not None else []


def _mapped_source(checker: Checker, owner: Mapped) -> Type | None:
    """The type whose members a mapped type goes over."""
    value = owner.term.value
    keys = checker.of(owner.module, owner.term.constraint, owner.environment)
    if type(keys) is Keys:
        return keys.of
    index = value.index if isinstance(value, nodes.ElementAccess) else None
    if (
        isinstance(value, nodes.ElementAccess)
        and isinstance(index, nodes.TypeParameterUse)
        and index.name == owner.term.parameter
    ):
        return checker.of(owner.module, value.owner, owner.environment)
    return None


def _of_function(checker: Checker, _owner: Function | Overloaded, name: str) -> list[Property]:
    return _of_library(checker, "Function", (), name)


def _of_library(checker: Checker, library_name: str, arguments: tuple[Type | None, ...], name: str) -> list[Property]:
    declared = checker.program.library.declared(library_name)
    return _of_instance(checker, Instance(declared, arguments), name) if declared is not None else []


def _of_tuple(checker: Checker, owner: Tuple, name: str) -> list[Property]:
    return _of_library(checker, "Array", (either(list(owner.items)),), name)


def _of_text(checker: Checker, _owner: Text, name: str) -> list[Property]:
    return _of_library(checker, "String", (), name)


def _of_opaque(checker: Checker, owner: Opaque, name: str) -> list[Property]:
    return members(checker, owner.bound, name)


def array_of(checker: Checker, element: Type | None) -> Type | None:
    """The type of arrays of this element."""
    declared = checker.program.library.declared("Array")
    return Instance(declared, (element,)) if declared is not None else None


# A finder takes the type that it is listed under.
_FINDERS: dict[type, Callable[[Checker, Never, str], list[Property]]] = {
    Instance: _of_instance,
    Static: _of_static,
    Structure: _of_structure,
    Namespace: _of_namespace,
    Either: _of_either,
    Both: _of_both,
    Mapped: _of_mapped,
    Function: _of_function,
    Overloaded: _of_function,
    Tuple: _of_tuple,
    Text: _of_text,
    Opaque: _of_opaque,
}
