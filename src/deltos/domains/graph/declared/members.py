"""Resolve uses of names by the types of their receivers.

An access path, such as `("this", "store", "find()")`, lists the steps to a value. Each step is looked up as a member of
the type of the previous steps, or of its base types and aliases.
"""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING

from deltos.domains.graph.declared.facts import (
    ANONYMOUS_STRUCT,
    CALLABLE,
    CALLED,
    DEREFERENCED,
    DOCUMENTED,
    ELEMENT,
    KEY,
    TYPE_SIGN,
    UNKNOWN,
    UNWRAPPED,
    enclosing_keys,
)
from deltos.domains.graph.declared.macros import TYPE_ONLY
from deltos.domains.graph.declared.name_lookup import LOCAL_SCOPES, NO_DEFINITIONS, LookupResult
from deltos.domains.graph.declared.source_files import DefinedSymbol
from deltos.domains.graph.declared.types import (
    UNTYPED,
    UNWRAPPING_METHODS,
    ResolvedType,
    external_step_type,
    is_pointer,
    parse_type,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.graph.declared.facts import AccessPath
    from deltos.domains.graph.declared.name_lookup import NameLookup
    from deltos.domains.graph.declared.source_files import SourceFile

_MAX_DEPTH = 12
"""Maximum number of bases, aliases and declarations to follow."""
_MAX_BASES = 64
_TYPE_KINDS = frozenset({"class", "interface", "enum", "type"})
CALLABLE_KINDS = frozenset({"function", "method"})
_TYPE_ROLES = frozenset({"type", "inherit", "create", DOCUMENTED})
_BUILT_IN_TYPES = frozenset({"[]", "{}", "()", "fn", "chan", ANONYMOUS_STRUCT})
_WORD = re.compile(r"[A-Za-z_]\w*+")
_PRIMITIVES = frozenset({"int", "char", "bool", "float", "double", "long", "short", "unsigned", "signed", "void"})
_SELF_TYPES = frozenset({"Self", "self", "static", "this"})


class UseResolver:
    """Resolver of the uses of names in one file, based on the types of the receivers."""

    def __init__(self, names: NameLookup, file: SourceFile) -> None:
        self._names = names
        self._file = file
        self._traits = file.traits
        self._path_types: dict[tuple[str, AccessPath], ResolvedType] = {}
        self._members: dict[tuple[DefinedSymbol, str], tuple[DefinedSymbol, ...]] = {}
        self._bases_of: dict[DefinedSymbol, tuple[DefinedSymbol, ...]] = {}
        self._use_targets: dict[tuple[str, str, str, AccessPath | None], LookupResult] = {}
        self._nesting = 0

    def use_targets(self, source: str, name: str, role: str, receiver: AccessPath | None) -> LookupResult:
        """Return the definitions that a use refers to."""
        use = (source, name, role, receiver)
        if use not in self._use_targets:
            self._use_targets[use] = self._find_targets(source, name, role, receiver)
        return self._use_targets[use]

    def _find_targets(self, source: str, name: str, role: str, receiver: AccessPath | None) -> LookupResult:
        """Find the definitions that a use refers to, without the cache."""
        if role == "construct":
            return self._constructors_of(source, name)
        plain = receiver is None
        found = (
            self._plain_name_targets(source, name, role)
            if plain
            else self._targets_through(source, name, role, receiver or ())
        )
        # If the type of a literal has no such field, the key is a constant. A dot in the type name means that the type
        # belongs to another package, whose fields are unknown.
        if role == "key" and receiver and not found.targets and "." not in receiver[0]:
            return self._plain_name_targets(source, name, role)
        return self._add_constructors(found) if role == "create" else found

    def _targets_through(self, source: str, name: str, role: str, receiver: AccessPath) -> LookupResult:
        """Return the definitions to which a name after a receiver refers.

        The receiver is a value, a package or a namespace.
        """
        # In a type, the receiver is always a namespace, even if a class has the same name.
        if self._traits.has_relative_namespaces and role in _TYPE_ROLES:
            return LookupResult(
                self._filter_by_role(self._names.definitions_in_namespace(self._file, source, receiver, name), role)
            )
        through = self._dereference(self.type_of_path(source, receiver))
        if through.owner is not None:
            return LookupResult(self._filter_by_role(self.member(through.owner, name), role), through.is_certain)
        package = self._names.package_of(receiver, self._file, source)
        if package is None:
            return NO_DEFINITIONS
        if self._traits.links_by_name:
            return self._qualified_targets(receiver, name)
        return LookupResult(self._filter_by_role(self._names.definitions_in_package(package, name), role))

    def _qualified_targets(self, receiver: AccessPath, name: str) -> LookupResult:
        """Return the definitions to which C++'s `ns::f` may refer.

        These are the visible definitions whose qualified name ends with `ns.f`.
        """
        ending = f".{'.'.join(receiver)}.{name}"
        for found in (
            self._names.visible_definitions(self._file, name),
            self._names.linked_definitions(self._file, name) or NO_DEFINITIONS,
        ):
            targets = tuple(t for t in found.targets if f".{t.key}".endswith(ending))
            if targets:
                return LookupResult(targets, found.is_certain)
        return NO_DEFINITIONS

    def _plain_name_targets(self, source: str, name: str, role: str) -> LookupResult:
        """Return the definitions of an unqualified name: members of an enclosing type, or visible definitions."""
        local = self._local_definitions(source, name)
        if local:
            return LookupResult(local)
        if self._traits.has_implicit_receiver:
            for owner in self._enclosing_types(source):
                if owner.key.rpartition(".")[2] == name and role != "call":
                    return LookupResult((self._names.first_opening(owner),))
                found = self._filter_by_role(self.member(owner, name), role, is_strict=True)
                if found:
                    return LookupResult(found)
        visible_definitions = self._names.visible_definitions(self._file, name, source)
        return LookupResult(self._filter_by_role(visible_definitions.targets, role), visible_definitions.is_certain)

    def _local_definitions(self, source: str, name: str) -> tuple[DefinedSymbol, ...]:
        """Return the function or type with this name that is defined inside an enclosing function."""
        kinds = self._file.kinds
        sibling = f"{source.rpartition('.')[0]}.{name}"  # key of another method of an anonymous class inside a function
        for scope in enclosing_keys(source):
            key = f"{scope}.{name}"
            kind = kinds.get(key) if kinds.get(scope) in LOCAL_SCOPES else None
            if kind is not None and (kind != "method" or (key == sibling and kinds.get(source) == "method")):
                return (DefinedSymbol(self._file.path, key),)
        return ()

    def _filter_by_role(
        self, targets: tuple[DefinedSymbol, ...], role: str, *, is_strict: bool = False
    ) -> tuple[DefinedSymbol, ...]:
        """Return the definitions of a kind that fits the use's role, because kinds of symbols may share a name."""
        if not targets:
            return targets
        if role in _TYPE_ROLES:
            wanted = [t for t in targets if self._kind_of(t) in _TYPE_KINDS]
        elif role == TYPE_ONLY:
            return tuple(filter(self.is_type, targets))
        elif role == CALLABLE:
            return tuple(t for t in targets if self._kind_of(t) in CALLABLE_KINDS)
        elif role == "call":
            wanted = [t for t in targets if self._kind_of(t) in CALLABLE_KINDS]
            if self._traits.has_separate_tags and not wanted:
                # Types are excluded, because a struct cannot be called
                return tuple(t for t in targets if not self.is_type(t))
        elif role == "key":  # a key is a struct field or a constant, never a type or function
            return tuple(t for t in targets if self._kind_of(t) not in CALLABLE_KINDS | _TYPE_KINDS)
        else:
            wanted = [t for t in targets if self._kind_of(t) not in CALLABLE_KINDS]
        if wanted:
            return tuple(wanted)
        # In `DbSet<Person> Person`, the type `Person` must not resolve to the member `Person`.
        has_separate_names = self._traits.has_function_names or role in _TYPE_ROLES
        return () if is_strict and has_separate_names else targets

    def _add_constructors(self, found: LookupResult) -> LookupResult:
        """Return the given definitions and the constructors of the types among them.

        All overloads are added, because the types of arguments are unknown.
        """
        made: list[DefinedSymbol] = []
        for target in found.targets:
            name = target.key.partition("#")[0].rpartition(".")[2]
            own = self._names.own_member(target, name) if self.is_type(target) else ()
            made += [member for member in own if self._kind_of(member) in CALLABLE_KINDS]
        return LookupResult((*found.targets, *made), found.is_certain)

    def _constructors_of(self, source: str, name: str) -> LookupResult:
        """Return the constructors that Java's `super(…)` or `this(…)` calls."""
        owner = self._receiver_type(self._file, source, name, 0).owner
        if owner is None:
            return NO_DEFINITIONS
        return LookupResult(self._add_constructors(LookupResult((owner,))).targets[1:])

    def _kind_of(self, target: DefinedSymbol) -> str:
        """Return the kind of a definition, or an empty string if it is unknown."""
        file = self._names.read(target.path)
        return file.kinds.get(target.key, "") if file is not None else ""

    def is_type(self, target: DefinedSymbol) -> bool:
        """Whether a definition is a type."""
        return self._kind_of(target) in _TYPE_KINDS

    def _enclosing_types(self, source: str) -> Iterator[DefinedSymbol]:
        """Yield the types that contain a definition, innermost first."""
        for key in enclosing_keys(source):
            if key in self._file.type_keys:
                yield DefinedSymbol(self._file.path, key)
            elif self._traits.functions_have_bases and self._file.scope(key).bases:
                # A GoogleTest test uses the members of its fixture class, and an anonymous Java class those of its base
                # class.
                derived = self.resolve_type_name(self._file, self._file.scope(key).bases[0], key.rpartition(".")[0], 0)
                if derived.owner is not None:
                    yield derived.owner
        container = source.rpartition(".")[0]
        if container and container not in self._file.type_keys:
            # In C++, Go and Rust, a method may be defined outside its type, even in another file.
            scope, _, name = container.rpartition(".")
            for target in self._names.visible_definitions(self._file, name, scope).targets:
                if self.is_type(target):
                    yield target

    # --- access paths

    def type_of_path(self, source: str, path: AccessPath, depth: int = 0) -> ResolvedType:
        """Return the type of the value at an access path; names are looked up from the definition `source`."""
        memo = (source, path)
        if memo not in self._path_types:
            self._path_types[memo] = self._follow_path(self._file, source, path, depth)
        return self._path_types[memo]

    def _follow_path(self, file: SourceFile, within: str, path: AccessPath, depth: int) -> ResolvedType:
        """Return the type of the value at an access path; names are looked up from `within`, a definition in a file."""
        if not path or UNKNOWN in path or depth > _MAX_DEPTH:
            return UNTYPED
        found = self._first_step_type(file, within, path[0], depth)
        rest = path[1:]
        for length in range(1, len(path)):
            if found.owner is not None or found.name:
                break
            package = self._names.package_of(path[:length], file, within)
            if package is None:
                return UNTYPED
            found = self._type_from_package(package, path[length], depth)
            rest = path[length + 1 :]
        for step in rest:
            found = self._step_type(found, step, depth)
            if found.owner is None and not found.name:
                return UNTYPED
        return found

    def _first_step_type(self, file: SourceFile, within: str, step: str, depth: int) -> ResolvedType:
        """Return the type of an access path's first step: a written type, a receiver, a member or a visible name."""
        if step.startswith(TYPE_SIGN):
            return self.resolve_type_name(file, step[1:], within, depth)
        name = step.removesuffix("()")
        if name in self._traits.receivers:
            return self._receiver_type(file, within, name, depth)
        if file is self._file and (self._traits.has_implicit_receiver or name.startswith("@")):
            for owner in self._enclosing_types(within):
                found = self._type_of_member(ResolvedType(owner), step, depth)
                if found.owner is not None or found.name:
                    return found
        declared = file.scope("").types.get(step)
        if declared is not None:
            return self._follow_path(file, "", declared, depth + 1)
        targets, is_certain = self._names.visible_definitions(file, name, within)
        for target in targets:
            found = self._type_of(target, step, depth)
            if found.owner is not None or found.name:
                return found._replace(is_certain=found.is_certain and is_certain)
        return UNTYPED

    def _type_from_package(self, package: str, step: str, depth: int) -> ResolvedType:
        """Return the type of a name in a package: the named type, a function's return type, or a variable's type."""
        for target in self._names.definitions_in_package(package, step.removesuffix("()")):
            found = self._type_of(target, step, depth)
            if found.owner is not None or found.name:
                return found
        return UNTYPED

    def _type_of(self, target: DefinedSymbol, step: str, depth: int) -> ResolvedType:
        """Return the type of a definition: itself if it is a type, its return type for a call, or its declared type."""
        if self.is_type(target):
            return ResolvedType(target)
        if step.endswith("()"):
            return self._return_type(target, depth)
        file = self._names.read(target.path)
        declared = file.scope("").types.get(step) if file is not None else None
        if file is None or declared is None:
            return UNTYPED
        return self._follow_path(file, "", declared, depth + 1)

    def _receiver_type(self, file: SourceFile, within: str, name: str, depth: int) -> ResolvedType:
        """Return the type of a receiver keyword such as `this` or `super` inside a definition."""
        owners = self._enclosing_types(within) if file is self._file else self._enclosing_types_in(file, within)
        for owner in owners:
            if name in ("super", "base", "parent", "super_expression"):
                if file.traits.has_anonymous_classes and within not in file.type_keys and file.scope(within).bases:
                    return ResolvedType(owner)  # an anonymous class is represented by its base class
                return next(self._direct_bases(owner, depth), UNTYPED)
            return ResolvedType(owner)
        return UNTYPED

    def _enclosing_types_in(self, file: SourceFile, within: str) -> Iterator[DefinedSymbol]:
        """Yield the types that contain a definition of any file, innermost first."""
        yield from (DefinedSymbol(file.path, key) for key in enclosing_keys(within) if key in file.type_keys)

    def _step_type(self, found: ResolvedType, step: str, depth: int) -> ResolvedType:
        """Return the type of a value after one more step of an access path."""
        if step == DEREFERENCED:
            return found
        if found.owner is not None:
            return self._project_step_type(found, found.owner, step, depth)
        pointed = self._dereference(found)
        if pointed is not found:
            return self._step_type(pointed, step, depth + 1) if depth < _MAX_DEPTH else UNTYPED
        if found.file is None:
            return UNTYPED
        if step == "#0" and found.name != "()":
            return found
        return self.resolve_type_name(found.file, external_step_type(found, step), found.within, depth + 1)

    def _dereference(self, found: ResolvedType) -> ResolvedType:
        """Return the type to which a pointer type points; other types are returned unchanged."""
        if found.owner is not None or not found.arguments or found.file is None or not is_pointer(found.name):
            return found
        return self.resolve_type_name(found.file, found.arguments[0], found.within, 1)

    def _project_step_type(self, found: ResolvedType, owner: DefinedSymbol, step: str, depth: int) -> ResolvedType:
        """Return the type after one step of an access path from a type that the project defines."""
        if step == "#0":
            return found
        if step in (ELEMENT, KEY, UNWRAPPED, CALLED) or step.startswith("#"):
            return self._element_type(found, owner, step, depth)
        member = self._type_of_member(found, step, depth)
        if member.owner is None and not member.name and step.removesuffix("()") in UNWRAPPING_METHODS:
            return found
        return member

    def _element_type(self, found: ResolvedType, owner: DefinedSymbol, step: str, depth: int) -> ResolvedType:
        """Return the element type of a type that is defined as another type: `type List []Item`."""
        file = self._names.read(owner.path)
        text = file.scope(owner.key).returns if file is not None else ""
        if file is not None and text and depth < _MAX_DEPTH:
            within = owner.key.rpartition(".")[0]
            alias = self.resolve_type_name(file, text, within, depth + 1)
            if found.arguments and alias.arguments and alias.arguments[0] == UNKNOWN:
                alias = found._replace(owner=None, name=alias.name)
            if alias.owner != owner:
                return self._step_type(alias, step, depth + 1)
        if self._traits.has_documented_types and step == ELEMENT and found.arguments and found.file is not None:
            return self.resolve_type_name(found.file, found.arguments[-1], found.within, depth + 1)
        return found if step == UNWRAPPED or self._traits.links_by_name else UNTYPED

    # --- types

    def has_external_type(self, receiver: AccessPath) -> bool:
        """Whether a C++ variable has a qualified type that contains no project type: `std::vector<int>`."""
        if not self._traits.has_constructors or len(receiver) != 1 or not receiver[0].startswith(TYPE_SIGN):
            return False
        names = [each for each in _WORD.findall(receiver[0]) if each not in _PRIMITIVES]
        return "." in receiver[0] and not any(map(self._names.is_type_name, names))

    def resolve_type_name(self, file: SourceFile, text: str, within: str, depth: int) -> ResolvedType:
        """Return the type to which a type name refers inside the definition `within` of a file."""
        name, arguments = parse_type(text)
        if depth > _MAX_DEPTH or not name or name == UNKNOWN:
            return UNTYPED
        if name in _BUILT_IN_TYPES:
            return ResolvedType(None, True, name, arguments, file, within)
        if name in _SELF_TYPES:
            return self._receiver_type(file, within, "this", depth)
        if name == "parent":
            return self._receiver_type(file, within, "super", depth)
        found = self._type_definition(file, name, within, depth)
        if found.targets:
            return ResolvedType(found.targets[0], found.is_certain, "", arguments, file, within)
        return ResolvedType(None, True, name, arguments, file, within) if arguments else UNTYPED

    def _type_definition(self, file: SourceFile, name: str, within: str, depth: int) -> LookupResult:
        """Return the definition of a type name, which may be qualified."""
        qualifier, dot, last = name.rpartition(".")
        if not dot:
            return self._plain_type(file, name, within, depth)
        path = tuple(qualifier.split("."))
        if file.traits.has_relative_namespaces:
            return LookupResult(
                tuple(filter(self.is_type, self._names.definitions_in_namespace(file, within, path, last)))
            )
        outer = self.resolve_type_name(file, qualifier, within, depth + 1)
        if outer.owner is not None:
            found = self._filter_by_role(self.member(outer.owner, last), "type")
            return LookupResult(tuple(filter(self.is_type, found)), outer.is_certain)
        if file.traits.links_by_name:
            found_here = self._names.visible_definitions(file, last)
            ending = f".{name}"
            fitting = [t for t in found_here.targets if f".{t.key}".endswith(ending) and self.is_type(t)]
            return LookupResult(tuple(fitting), found_here.is_certain)
        package = self._names.package_of(path, file, within)
        found = self._names.definitions_in_package(package, last) if package is not None else ()
        return LookupResult(tuple(filter(self.is_type, found)))

    def _plain_type(self, file: SourceFile, name: str, within: str, depth: int) -> LookupResult:
        """Return the definition of an unqualified type name: an enclosing type, a member of one, or a visible type."""
        for key in enclosing_keys(within):
            if key in file.type_keys:
                if key.rpartition(".")[2] == name:
                    return LookupResult((DefinedSymbol(file.path, key),))
                inherited = self.member(DefinedSymbol(file.path, key), name) if depth < _MAX_DEPTH else ()
                types = tuple(filter(self.is_type, inherited))
                if types:
                    return LookupResult(types)
        found = self._names.visible_definitions(file, name, within)
        return LookupResult(tuple(filter(self.is_type, found.targets)), found.is_certain)

    # --- members

    def member(self, owner: DefinedSymbol, name: str) -> tuple[DefinedSymbol, ...]:
        """Return the members of a type with this name.

        If the type has none, return the members of the nearest base type that has one.
        """
        memo = (owner, name)
        if memo not in self._members:
            self._members[memo] = ()  # ends the recursion if base types form a cycle
            candidates = (owner, *self._all_bases(owner))
            found = (self._names.own_member(candidate, name) for candidate in candidates)
            self._members[memo] = next((members for members in found if members), ())
        return self._members[memo]

    def _type_of_member(self, found: ResolvedType, step: str, depth: int) -> ResolvedType:
        """Return the type of a field or the return type of a method."""
        owner = found.owner
        if owner is None or depth > _MAX_DEPTH:
            return UNTYPED
        name = step.removesuffix("()")
        for candidate in (owner, *self._all_bases(owner)):
            file = self._names.read(candidate.path)
            declared = file.scope(candidate.key).types.get(step) if file is not None else None
            if file is not None and declared is not None:
                return self._follow_path(file, candidate.key, declared, depth + 1)
        for member in self._filter_by_role(self.member(owner, name), "call" if step.endswith("()") else "read"):
            if self.is_type(member):
                return ResolvedType(member)
            returned = self._return_type(member, depth, found)
            if returned.owner is not None or returned.name:
                return returned
        if self._traits.has_documented_types and step.endswith("()"):
            inherited = self._return_type_in_bases(found, owner, name, depth)
            if inherited.owner is not None or inherited.name:
                return inherited
        if name in ("new", "instance", "getInstance") and step.endswith("()") and not self.member(owner, name):
            return found
        return UNTYPED

    def _return_type_in_bases(self, found: ResolvedType, owner: DefinedSymbol, name: str, depth: int) -> ResolvedType:
        """Return the return type that a base type declares for a method that does not declare one itself."""
        for base in self._all_bases(owner):
            for member in self._names.own_member(base, name):
                returned = self._return_type(member, depth, found)
                if returned.owner is not None or returned.name:
                    return returned
        return UNTYPED

    def _return_type(self, function: DefinedSymbol, depth: int, through: ResolvedType = UNTYPED) -> ResolvedType:
        """Return the return type of a function.

        The type `Self` is the type on which the function was called.
        """
        file = self._names.read(function.path)
        returns = file.scope(function.key).returns if file is not None else ""
        if file is None or not returns or depth > _MAX_DEPTH:
            return UNTYPED
        container = function.key.rpartition(".")[0]
        if returns in _SELF_TYPES and through.owner is not None:
            return through
        if container and container not in file.type_keys and parse_type(returns).name in _SELF_TYPES:
            scope, _, name = container.rpartition(".")
            return self.resolve_type_name(file, name, scope, depth + 1)
        return self.resolve_type_name(file, returns, function.key, depth + 1)

    def _direct_bases(self, owner: DefinedSymbol, depth: int = 0) -> Iterator[ResolvedType]:
        """Return the direct base types of a type, including the target of an alias."""
        file = self._names.read(owner.path)
        if file is None or depth > _MAX_DEPTH:
            return
        scope = file.scope(owner.key)
        outside = owner.key.rpartition(".")[0]
        for base in (*scope.bases, *([scope.returns] if scope.returns else ())):
            found = self.resolve_type_name(file, base, outside, depth + 1)
            if found.owner is not None and found.owner != owner:
                yield found

    def _all_bases(self, owner: DefinedSymbol) -> tuple[DefinedSymbol, ...]:
        """Return all base types of a type, nearest first."""
        if owner in self._bases_of:
            return self._bases_of[owner]
        if self._nesting > _MAX_DEPTH:  # base types are looked up in enclosing types, which may have base types, too
            return ()
        self._bases_of[owner] = ()  # ends the recursion if base types form a cycle
        self._nesting += 1
        seen = {owner: None}
        pending = deque([owner])
        while pending and len(seen) < _MAX_BASES:
            for base in self._direct_bases(pending.popleft()):
                if base.owner is not None and base.owner not in seen:
                    seen[base.owner] = None
                    pending.append(base.owner)
        self._nesting -= 1
        self._bases_of[owner] = tuple(seen)[1:]
        return self._bases_of[owner]
