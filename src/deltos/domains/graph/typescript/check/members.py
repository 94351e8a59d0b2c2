"""Find the type parameters, base types and members of declarations."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from deltos.domains.graph.typescript import nodes, types
from deltos.domains.graph.typescript.types import union_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deltos.domains.graph.typescript.check.checker import Checker
    from deltos.domains.graph.typescript.modules.module import Module
    from deltos.domains.graph.typescript.nodes import Term
    from deltos.domains.graph.typescript.types import Environment, Type

_MAX_SEARCHED_TYPES = 24  # maximum number of types searched for a member

Generic: TypeAlias = "nodes.ClassDeclaration | nodes.InterfaceDeclaration | nodes.AliasDeclaration"
Entity: TypeAlias = "types.DeclaredEntity | types.NamespaceType | types.Property | types.EnumMember"


def find_members(checker: Checker, owner: Type | None, name: str) -> list[types.Property]:
    """Return the members with this name in a type. A union may have several such members."""
    finder = _MEMBER_FINDERS.get(type(owner))
    return finder(checker, owner, name) if finder is not None else []


def type_environment(
    checker: Checker, declared: types.DeclaredEntity, part: Generic, arguments: tuple[Type | None, ...]
) -> Environment:
    """Return the types of a declaration's type parameters, given the type arguments."""
    environment: Environment = {}
    for position, parameter in enumerate(part.type_parameters):
        if position < len(arguments):
            bound = arguments[position]
        elif parameter.default is not None:
            bound = checker.type_of(declared.module, parameter.default, environment)
        elif parameter.constraint:
            bound = types.UnboundTypeParameter(
                parameter.name, checker.type_of(declared.module, parameter.constraint, environment)
            )
        else:
            bound = None
        environment[parameter.name] = bound
    return environment


def resolve_entity(checker: Checker, module: Module, name: Term) -> Entity | None:
    """Return the declaration or module to which a plain or dotted name in a type refers."""
    if isinstance(name, str):
        return checker.program.lookup(module, name)
    if isinstance(name, int):
        return local_entity(checker, module, name)
    if isinstance(name, nodes.ImportedModule):
        target = checker.program.import_module(module, name.specifier)
        return types.NamespaceType(target) if target is not None else None
    if isinstance(name, nodes.MemberAccess):
        return _entity_member(checker, resolve_entity(checker, module, name.owner), name.name)
    return None


def _entity_member(checker: Checker, owner: Entity | None, name: str) -> Entity | None:
    """Return the declaration of a name inside a namespace, module or enum."""
    if type(owner) is types.NamespaceType:
        return checker.program.exported_entity(owner.module, name)
    if type(owner) is types.DeclaredEntity:
        inner = owner.module.declared_entity(f"{owner.name}.{name}")
        if inner is not None:
            return inner
        if any(isinstance(part, nodes.EnumDeclaration) for part in owner.parts):
            return types.EnumMember(owner, name)
        value = checker.value_type(owner)
        if type(value) is types.NamespaceType:
            return checker.program.exported_entity(value.module, name)
    if type(owner) is types.Property:
        value = checker.property_type(owner)
        if type(value) is types.NamespaceType:
            return checker.program.exported_entity(value.module, name)
    return None


def local_entity(checker: Checker, module: Module, local: int) -> types.DeclaredEntity | None:
    """Return the declarations of a class, interface or alias that is declared inside a function."""
    if ~local >= len(module.locals):
        return None
    term = module.locals[~local]
    return checker.inner_entity(module, term) if isinstance(term, nodes.LocalType) else None


def this_entity(checker: Checker, module: Module, binding: Term) -> types.DeclaredEntity | None:
    """Return the declarations of the class to which `this` belongs."""
    if isinstance(binding, str):
        return module.declared_entity(binding)
    if isinstance(binding, int):
        return local_entity(checker, module, binding)
    return checker.inner_entity(module, binding) if isinstance(binding, nodes.LocalType) else None


def declared_type(checker: Checker, declared: types.DeclaredEntity, arguments: tuple[Type | None, ...]) -> Type | None:
    """Return the type that a declaration defines if the declared name is used as a type."""
    checker.memo.depend(declared.module.path)
    for part in declared.parts:
        if isinstance(part, nodes.EnumDeclaration):
            return types.InstanceType(declared, arguments)
        if isinstance(part, nodes.WITH_MEMBERS):
            return types.InstanceType(declared, _complete_arguments(checker, declared, part, arguments))
        if isinstance(part, nodes.AliasDeclaration):
            if not part.type_parameters:
                return checker.memo.ask(("type", declared), partial(checker.type_of, declared.module, part.term))
            return checker.type_of(declared.module, part.term, type_environment(checker, declared, part, arguments))
    return instance_type_of_class(checker.value_type(declared), arguments)


def _complete_arguments(
    checker: Checker, declared: types.DeclaredEntity, part: Generic, arguments: tuple[Type | None, ...]
) -> tuple[Type | None, ...]:
    """Return the type arguments, with defaults for type arguments that were not given."""
    if len(arguments) >= len(part.type_parameters):
        return arguments
    return tuple(type_environment(checker, declared, part, arguments).values())


def bases(checker: Checker, instance: types.InstanceType) -> Iterator[Type]:
    """Yield the types that a class or interface directly extends or implements."""
    module = instance.declared.module
    checker.memo.depend(module.path)
    for part in instance.declared.parts:
        if isinstance(part, nodes.ClassDeclaration):
            environment = type_environment(checker, instance.declared, part, instance.arguments)
            arguments = tuple([checker.type_of(module, term, environment) for term in part.base_arguments])
            base = instance_type_of_class(checker.type_of(module, part.base, environment), arguments)
            if base is None and isinstance(named := resolve_entity(checker, module, part.base), types.DeclaredEntity):
                # The class is declared as an interface with a separate constructor.
                base = declared_type(checker, named, arguments)
            if base is not None:
                yield base
            for term in part.implemented:
                found = checker.type_of(module, term, environment)
                if found is not None:
                    yield found
        elif isinstance(part, nodes.InterfaceDeclaration):
            environment = type_environment(checker, instance.declared, part, instance.arguments)
            for term in part.bases:
                found = checker.type_of(module, term, environment)
                if found is not None:
                    yield found


def promise_type(checker: Checker, value: Type | None) -> Type | None:
    """Return the promise type for a value type."""
    declared = checker.program.library.declared_entity("Promise")
    return types.InstanceType(declared, (value,)) if declared is not None else None


def ancestors(checker: Checker, instance: Type | None) -> Iterator[types.InstanceType]:
    """Yield a type and all types that it extends or implements, each once."""
    seen: set[types.DeclaredEntity] = set()
    pending: list[Type | None] = [instance]
    while pending:
        current = pending.pop(0)
        if type(current) is types.IntersectionType:
            pending.extend(current.parts)
        elif type(current) is types.UnboundTypeParameter:
            pending.append(current.bound)
        elif type(current) is types.InstanceType and current.declared not in seen:
            seen.add(current.declared)
            yield current
            pending.extend(bases(checker, current))


def find_ancestor(checker: Checker, value: Type | None, declared: types.DeclaredEntity) -> types.InstanceType | None:
    """Return the type itself or the first of its ancestors that is an instance of the given declaration."""
    return next((each for each in ancestors(checker, value) if each.declared is declared), None)


def is_assignable(checker: Checker, value: Type | None, wanted: Type | None) -> bool:
    """Whether a value is definitely assignable to the wanted type; compares declarations, not the members of types."""
    if type(wanted) is types.InstanceType:
        return find_ancestor(checker, value, wanted.declared) is not None
    return value == wanted


def index_type(checker: Checker, owner: Type | None) -> Type | None:
    """Return the element type of a type's index signature."""
    for each in ancestors(checker, owner):
        for part in each.declared.parts:
            if isinstance(part, nodes.InterfaceDeclaration) and part.index is not None:
                environment = type_environment(checker, each.declared, part, each.arguments)
                return checker.type_of(each.declared.module, part.index, environment)
    return None


def instance_type_of_class(base: Type | None, arguments: tuple[Type | None, ...] = ()) -> Type | None:
    """Return the type of the instances that `new` creates from a class value."""
    if type(base) is types.StaticType:
        return types.InstanceType(base.declared, arguments)
    if type(base) is types.IntersectionType:
        parts = [instance_type_of_class(part, arguments) for part in base.parts]
        known = tuple([part for part in parts if part is not None])
        return types.IntersectionType(known) if known else None
    return None


def _instance_members(checker: Checker, owner: types.InstanceType, name: str) -> list[types.Property]:
    """Return the members of an instance, or those of the nearest base types if the instance's type has none."""
    found: list[types.Property] = []
    seen: set[types.DeclaredEntity] = set()
    pending: list[Type] = [owner]
    while pending and len(seen) < _MAX_SEARCHED_TYPES:
        level, pending = pending, []
        for current in level:
            if type(current) is not types.InstanceType:
                found += find_members(checker, current, name)
            elif current.declared not in seen:
                seen.add(current.declared)
                own = _own_members(checker, current, name, owner)
                found += own
                if not own:
                    pending += dict.fromkeys(bases(checker, current))
        if found:
            return found
    return found


def _own_members(
    checker: Checker, owner: types.InstanceType, name: str, this: types.InstanceType
) -> list[types.Property]:
    """Return the members of a type without inherited members; `this` is the type of the receiver."""
    declared = owner.declared
    checker.memo.depend(declared.module.path)
    found: list[types.Property] = []
    for part in declared.parts:
        if not isinstance(part, nodes.WITH_MEMBERS):
            continue
        member = part.members.get(name)
        if member is not None:
            environment = type_environment(checker, declared, part, owner.arguments)
            environment["this"] = this
            found.append(types.Property(declared.module, member.key, member.term, environment))
    return found


def _static_members(checker: Checker, owner: types.StaticType, name: str) -> list[types.Property]:
    """Return the static members of a class, the members of an enum, or the contents of a namespace."""
    declared = owner.declared
    module = declared.module
    checker.memo.depend(module.path)
    for part in declared.parts:
        if isinstance(part, nodes.ClassDeclaration) and name in part.statics:
            member = part.statics[name]
            return [types.Property(module, member.key, member.term, {"this": owner})]
        if isinstance(part, nodes.EnumDeclaration) and name in part.members:
            return [types.Property(module, part.members[name], None, None, types.EnumMember(declared, name))]
        if isinstance(part, nodes.NamespaceDeclaration):
            inner = module.declared_entity(f"{declared.name}.{name}")
            if inner is not None:
                return [declared_property(checker, inner)]
    return _inherited_static_members(checker, owner, name)


def declared_property(checker: Checker, declared: types.DeclaredEntity) -> types.Property:
    """Convert a declaration to a member of the namespace or module that contains it."""
    key = declared.parts[0].key
    return types.Property(declared.module, key, None, None, checker.value_type(declared))


def _inherited_static_members(checker: Checker, owner: types.StaticType, name: str) -> list[types.Property]:
    module = owner.declared.module
    for part in owner.declared.parts:
        if isinstance(part, nodes.ClassDeclaration):
            if name == "constructor" and name in part.members:
                return [types.Property(module, part.members[name].key, part.members[name].term)]
            base = checker.type_of(module, part.base)
            if base is not None and base != owner:
                found = find_members(checker, base, name)
                if found:
                    return found
        elif isinstance(part, nodes.ValueDeclaration):
            value = checker.type_of(module, part.term)
            if value is not None and type(value) is not types.StaticType:
                found = find_members(checker, value, name)
                if found:
                    return found
    if name == "prototype":
        return [types.Property(module, "", None, None, types.InstanceType(owner.declared))]
    return []


def _object_members(checker: Checker, owner: types.ObjectType, name: str) -> list[types.Property]:
    found = [
        types.Property(owner.module, member.key or "", member.term, owner.environment)
        for member in owner.term.members
        if member.name == name
    ]
    if found:
        return found[:1] if len(found) == 1 or found[0].key else found[-1:]
    for spread in reversed(owner.term.spreads):
        inherited = find_members(checker, checker.type_of(owner.module, spread, owner.environment), name)
        if inherited:
            return inherited
    return []


def _namespace_members(checker: Checker, owner: types.NamespaceType, name: str) -> list[types.Property]:
    found = checker.program.exported_entity(owner.module, name)
    if found is None:
        return []
    if type(found) is types.Property:
        return [found]
    if type(found) is types.DeclaredEntity:
        return [declared_property(checker, found)]
    return [types.Property(found.module, "", None, None, found)]  # type: ignore[arg-type]


def _union_members(checker: Checker, owner: types.UnionType, name: str) -> list[types.Property]:
    options = [option for option in owner.options if type(option) is not types.StringType]
    if len(options) < len(owner.options):
        options.append(types.StringType())  # all string types have the same members
    return [found for option in options for found in find_members(checker, option, name)]


def _mapped_object_members(checker: Checker, owner: types.MappedObject, name: str) -> list[types.Property]:
    environment: Environment = {**(owner.environment or {}), owner.term.parameter: types.StringType(name)}
    known = checker.type_of(owner.module, owner.term.value, environment)
    source = _mapped_source(checker, owner)
    origin = find_members(checker, source, name)
    if origin:
        return [
            types.Property(each.module, each.key, each.term, each.environment, known or each.known_type)
            for each in origin
        ]
    return [types.Property(owner.module, "", None, None, known)] if known is not None else []


def _mapped_source(checker: Checker, owner: types.MappedObject) -> Type | None:
    """Return the type whose members a mapped type transforms."""
    value = owner.term.value
    keys = checker.type_of(owner.module, owner.term.constraint, owner.environment)
    if type(keys) is types.KeysType:
        return keys.owner
    index = value.index if isinstance(value, nodes.ElementAccess) else None
    if (
        isinstance(value, nodes.ElementAccess)
        and isinstance(index, nodes.TypeParameterUse)
        and index.name == owner.term.parameter
    ):
        return checker.type_of(owner.module, value.owner, owner.environment)
    return None


def _library_members(
    checker: Checker, library_name: str, arguments: tuple[Type | None, ...], name: str
) -> list[types.Property]:
    """Return the members of a library type with these type arguments."""
    declared = checker.program.library.declared_entity(library_name)
    return _instance_members(checker, types.InstanceType(declared, arguments), name) if declared is not None else []


def array_type(checker: Checker, element: Type | None) -> Type | None:
    """Return the array type for an element type."""
    declared = checker.program.library.declared_entity("Array")
    return types.InstanceType(declared, (element,)) if declared is not None else None


# Member lookup functions by owner type.
_MEMBER_FINDERS: dict[type, Callable[[Checker, Any, str], list[types.Property]]] = {
    types.InstanceType: _instance_members,
    types.StaticType: _static_members,
    types.ObjectType: _object_members,
    types.NamespaceType: _namespace_members,
    types.UnionType: _union_members,
    types.IntersectionType: lambda checker, owner, name: [
        found for part in owner.parts for found in find_members(checker, part, name)
    ],
    types.MappedObject: _mapped_object_members,
    types.FunctionType: lambda checker, _owner, name: _library_members(checker, "Function", (), name),
    types.OverloadedType: lambda checker, _owner, name: _library_members(checker, "Function", (), name),
    types.Tuple: lambda checker, owner, name: _library_members(checker, "Array", (union_of(owner.items),), name),
    types.StringType: lambda checker, _owner, name: _library_members(checker, "String", (), name),
    types.UnboundTypeParameter: lambda checker, owner, name: find_members(checker, owner.bound, name),
}
