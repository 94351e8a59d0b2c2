"""Members of types: through base classes, interfaces, namespaces, unions and mapped types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltos.domains.graph.typescript.terms import (
    CLASS_DECLARATION,
    ELEMENT,
    ENUM_DECLARATION,
    INTERFACE_DECLARATION,
    NAMESPACE_DECLARATION,
    TYPE_PARAMETER,
    VALUE_DECLARATION,
)
from deltos.domains.graph.typescript.typing.types import (
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

    from deltos.domains.graph.typescript.typing.checker import Checker

_MAX_BASES = 24


def members(checker: Checker, owner: Type, name: str) -> list[Property]:
    """The members of this name that a type has."""
    finder = _FINDERS.get(type(owner))
    return finder(checker, owner, name) if finder is not None else []


def bindings(
    checker: Checker, declared: Declared, part: tuple[Any, ...], arguments: tuple[Type | None, ...]
) -> Environment:
    """What the type parameters of a declaration stand for, given its arguments."""
    environment: Environment = {}
    for position, (name, constraint, default) in enumerate(part[2]):
        if position < len(arguments):
            environment[name] = arguments[position]
        elif default is not None:
            environment[name] = checker.of(declared.module, default, environment)
        else:
            environment[name] = (
                Opaque(name, checker.of(declared.module, constraint, environment)) if constraint else None
            )
    return environment


def bases(checker: Checker, instance: Instance) -> Iterator[Type]:
    """The types that a class or interface directly extends or implements."""
    module = instance.declared.module
    checker.memo.depend(module.path)
    for part in instance.declared.parts:
        if part[0] == CLASS_DECLARATION:
            environment = bindings(checker, instance.declared, part, instance.arguments)
            arguments = tuple([checker.of(module, term, environment) for term in part[4]])
            base = constructed(checker.of(module, part[3], environment), arguments)
            if base is None and isinstance(named := checker.entity(module, part[3]), Declared):
                base = checker.as_type(named, arguments)  # a class that is an interface and a constructor apart
            if base is not None:
                yield base
            for term in part[5]:
                found = checker.of(module, term, environment)
                if found is not None:
                    yield found
        elif part[0] == INTERFACE_DECLARATION:
            environment = bindings(checker, instance.declared, part, instance.arguments)
            for term in part[3]:
                found = checker.of(module, term, environment)
                if found is not None:
                    yield found


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
                    pending += bases(checker, current)
        if found:
            return found
    return found


def _own_members(checker: Checker, owner: Instance, name: str, this: Instance) -> list[Property]:
    declared = owner.declared
    checker.memo.depend(declared.module.path)
    found: list[Property] = []
    for part in declared.parts:
        table = part[6] if part[0] == CLASS_DECLARATION else part[4] if part[0] == INTERFACE_DECLARATION else None
        member = table.get(name) if table is not None else None
        if member is not None:
            environment = bindings(checker, declared, part, owner.arguments)
            environment["this"] = this
            found.append(Property(declared.module, member[0], member[2], environment))
    return found


def _of_static(checker: Checker, owner: Static, name: str) -> list[Property]:
    declared = owner.declared
    module = declared.module
    checker.memo.depend(module.path)
    for part in declared.parts:
        if part[0] == CLASS_DECLARATION and name in part[7]:
            member = part[7][name]
            return [Property(module, member[0], member[2], {"this": owner})]
        if part[0] == ENUM_DECLARATION and name in part[2]:
            return [Property(module, part[2][name], None, None, Member(declared, name))]
        if part[0] == NAMESPACE_DECLARATION:
            inner = module.declared(f"{declared.name}.{name}")
            if inner is not None:
                return [declared_property(checker, inner)]
    return _inherited_static(checker, owner, name)


def declared_property(checker: Checker, declared: Declared) -> Property:
    """A declaration seen as a member of its namespace or module."""
    key = declared.parts[0][1]
    return Property(declared.module, key, None, None, checker.value(declared))


def _inherited_static(checker: Checker, owner: Static, name: str) -> list[Property]:
    module = owner.declared.module
    for part in owner.declared.parts:
        if part[0] == CLASS_DECLARATION:
            if name == "constructor" and name in part[6]:
                return [Property(module, part[6][name][0], part[6][name][2])]
            base = checker.of(module, part[3])
            if base is not None and base != owner:
                found = members(checker, base, name)
                if found:
                    return found
        elif part[0] == VALUE_DECLARATION:
            value = checker.of(module, part[2])
            if value is not None and type(value) is not Static:
                found = members(checker, value, name)
                if found:
                    return found
    if name == "prototype":
        return [Property(module, "", None, None, Instance(owner.declared))]
    return []


def _of_structure(checker: Checker, owner: Structure, name: str) -> list[Property]:
    _, entries, spreads, _, _ = owner.term
    found = [
        Property(owner.module, key or "", term, owner.environment) for entry, term, key, _ in entries if entry == name
    ]
    if found:
        return found[:1] if len(found) == 1 or found[0].key else found[-1:]
    for spread in reversed(spreads):
        inherited = checker.members(checker.of(owner.module, spread, owner.environment), name)
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
    _, parameter, _, value = owner.term
    environment: Environment = {**(owner.environment or {}), parameter: Text(name)}
    known = checker.of(owner.module, value, environment)
    source = _mapped_source(checker, owner)
    origin = checker.members(source, name)
    if origin:
        return [Property(each.module, each.key, each.term, each.environment, known or each.known) for each in origin]
    return [Property(owner.module, "", None, None, known)] if known is not None else []


def _mapped_source(checker: Checker, owner: Mapped) -> Type | None:
    """The type whose members a mapped type goes over."""
    _, parameter, constraint, value = owner.term
    keys = checker.of(owner.module, constraint, owner.environment)
    if type(keys) is Keys:
        return keys.of
    if (
        type(value) is tuple
        and value[0] == ELEMENT
        and type(value[2]) is tuple
        and value[2][:2] == (TYPE_PARAMETER, parameter)
    ):
        return checker.of(owner.module, value[1], owner.environment)
    return None


def _of_function(checker: Checker, _owner: Function, name: str) -> list[Property]:
    return _of_library(checker, "Function", (), name)


def _of_library(checker: Checker, library_name: str, arguments: tuple[Type | None, ...], name: str) -> list[Property]:
    declared = checker.program.library.declared(library_name)
    return _of_instance(checker, Instance(declared, arguments), name) if declared is not None else []


def _of_tuple(checker: Checker, owner: Tuple, name: str) -> list[Property]:
    return _of_library(checker, "Array", (either(list(owner.items)),), name)


def _of_text(checker: Checker, _owner: Text, name: str) -> list[Property]:
    return _of_library(checker, "String", (), name)


def _of_opaque(checker: Checker, owner: Opaque, name: str) -> list[Property]:
    return checker.members(owner.bound, name)


def array_of(checker: Checker, element: Type | None) -> Type | None:
    """The type of arrays of this element."""
    declared = checker.program.library.declared("Array")
    return Instance(declared, (element,)) if declared is not None else None


_FINDERS: dict[type, Callable[[Checker, Any, str], list[Property]]] = {
    Instance: _of_instance,
    Static: _of_static,
    Structure: _of_structure,
    Namespace: _of_namespace,
    Either: _of_either,
    Both: _of_both,
    Mapped: _of_mapped,
    Function: _of_function,
    Tuple: _of_tuple,
    Text: _of_text,
    Opaque: _of_opaque,
}
