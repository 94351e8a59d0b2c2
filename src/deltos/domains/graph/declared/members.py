"""What a use means: the type of what it goes through, and the member of that type, its bases and its aliases."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from deltos.domains.graph.declared.facts import (
    CALLABLE,
    DOCUMENTED,
    ELEMENT,
    KEY,
    TYPE_SIGN,
    UNKNOWN,
    UNNAMED,
    UNWRAPPED,
)
from deltos.domains.graph.declared.macros import TYPE_ALONE
from deltos.domains.graph.declared.shapes import SHAPES
from deltos.domains.graph.declared.types import UNTYPED, UNWRAPPING, ResolvedType, held_by, is_pointer, parse_type
from deltos.domains.graph.declared.visibility import LOCAL_SCOPES, NOTHING, Lookup
from deltos.domains.graph.declared.world import DefinedSymbol, outward

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.graph.declared.facts import AccessPath
    from deltos.domains.graph.declared.visibility import Visibility
    from deltos.domains.graph.declared.world import Unit

_DEEPEST = 12
"""How many bases, aliases and declarations are followed from one to the next."""
_MOST_BASES = 64
_TYPE_KINDS = frozenset({"class", "interface", "enum", "type"})
_CALLABLE_KINDS = frozenset({"function", "method"})
_TYPE_ROLES = frozenset({"type", "inherit", "create", DOCUMENTED})
_BUILT_IN = frozenset({"[]", "{}", "()", "fn", "chan", UNNAMED})
_OWN_TYPE = frozenset({"Self", "self", "static", "this"})


class Members:
    """Follows the paths of one file's uses."""

    def __init__(self, names: Visibility, unit: Unit) -> None:
        self._names = names
        self._unit = unit
        self._shape = SHAPES[unit.language]
        self._followed: dict[tuple[str, AccessPath], ResolvedType] = {}
        self._members: dict[tuple[DefinedSymbol, str], tuple[DefinedSymbol, ...]] = {}
        self._bases_of: dict[DefinedSymbol, tuple[DefinedSymbol, ...]] = {}
        self._meant: dict[tuple[str, str, str, AccessPath | None], Lookup] = {}
        self._nesting = 0

    def meant(self, source: str, name: str, role: str, receiver: AccessPath | None) -> Lookup:
        """The definitions that a use refers to; found once, however often a definition repeats it."""
        use = (source, name, role, receiver)
        if use not in self._meant:
            self._meant[use] = self._find(source, name, role, receiver)
        return self._meant[use]

    def _find(self, source: str, name: str, role: str, receiver: AccessPath | None) -> Lookup:
        if role == "construct":
            return self._constructors_of(source, name)
        plain = receiver is None
        found = self._plain(source, name, role) if plain else self._through(source, name, role, receiver or ())
        return self._with_constructors(found) if role == "create" else found

    def _through(self, source: str, name: str, role: str, receiver: AccessPath) -> Lookup:
        if self._unit.language == "php" and role in _TYPE_ROLES:  # a class may have the name of its namespace
            return Lookup(self._fitting(self._names.in_namespace(self._unit, source, receiver, name), role))
        through = self._pointed(self.followed(source, receiver))
        if through.owner is not None:
            return Lookup(self._fitting(self.member(through.owner, name), role), through.is_certain)
        package = self._names.package_of(receiver, self._unit, source)
        if package is None:
            return NOTHING
        if self._unit.language in ("c", "cpp"):
            return self._qualified(receiver, name)
        return Lookup(self._fitting(self._names.in_package(package, name), role))

    def _qualified(self, receiver: AccessPath, name: str) -> Lookup:
        """C++'s `ns::f`: what is visible of that name and stands in such a namespace."""
        ending = f".{'.'.join(receiver)}.{name}"
        for found in (self._names.visible(self._unit, name), self._names.linked(self._unit, name) or NOTHING):
            targets = tuple(t for t in found.targets if f".{t.key}".endswith(ending))
            if targets:
                return Lookup(targets, found.is_certain)
        return NOTHING

    def _plain(self, source: str, name: str, role: str) -> Lookup:
        """A name by itself: a member of an enclosing type, or what is visible."""
        local = self._local(source, name)
        if local:
            return Lookup(local)
        if self._shape.implicit_receiver:
            for owner in self._own_types(source):
                if owner.key.rpartition(".")[2] == name and role != "call":
                    return Lookup((self._names.first_opening(owner),))
                found = self._fitting(self.member(owner, name), role, is_strict=True)
                if found:
                    return Lookup(found)
        visible = self._names.visible(self._unit, name, source)
        return Lookup(self._fitting(visible.targets, role), visible.is_certain)

    def _local(self, source: str, name: str) -> tuple[DefinedSymbol, ...]:
        """A function or type that a function around the use defines for itself."""
        kinds = self._unit.kinds
        sibling = (
            f"{source.rpartition('.')[0]}.{name}"  # of a method that stands inside a function: an anonymous type's
        )
        for scope in outward(source):
            key = f"{scope}.{name}"
            kind = kinds.get(key) if kinds.get(scope) in LOCAL_SCOPES else None
            if kind is not None and (kind != "method" or (key == sibling and kinds.get(source) == "method")):
                return (DefinedSymbol(self._unit.path, key),)
        return ()

    def _fitting(
        self, targets: tuple[DefinedSymbol, ...], role: str, *, is_strict: bool = False
    ) -> tuple[DefinedSymbol, ...]:
        """Of several definitions of one name those that such a use can mean: a field, a method, a type may share it."""
        if not targets:
            return targets
        if role in _TYPE_ROLES:
            wanted = [t for t in targets if self._kind(t) in _TYPE_KINDS]
        elif role == TYPE_ALONE:
            return tuple(filter(self.is_type, targets))
        elif role == CALLABLE:
            return tuple(t for t in targets if self._kind(t) in _CALLABLE_KINDS)
        elif role == "call":
            wanted = [t for t in targets if self._kind(t) in _CALLABLE_KINDS]
            if self._unit.language == "c" and not wanted:
                return tuple(t for t in targets if not self.is_type(t))  # a struct of its name is no function
        elif role == "key":  # of a struct it is a field, of a map a constant; types and functions are neither
            return tuple(t for t in targets if self._kind(t) not in _CALLABLE_KINDS | _TYPE_KINDS)
        else:
            wanted = [t for t in targets if self._kind(t) not in _CALLABLE_KINDS]
        if wanted:
            return tuple(wanted)
        # Nothing but a type is inherited from: a base's constructor has its name.
        is_apart = self._shape.has_function_names or role == "inherit"
        return () if is_strict and is_apart else targets

    def _with_constructors(self, found: Lookup) -> Lookup:
        """A type that is created, and its constructors: which of several, its arguments would tell."""
        made: list[DefinedSymbol] = []
        for target in found.targets:
            name = target.key.partition("#")[0].rpartition(".")[2]
            own = self._names.own_member(target, name) if self.is_type(target) else ()
            made += [member for member in own if self._kind(member) in _CALLABLE_KINDS]
        return Lookup((*found.targets, *made), found.is_certain)

    def _constructors_of(self, source: str, name: str) -> Lookup:
        """Java's `super(…)` and `this(…)`."""
        owner = self._receiver(self._unit, source, name, 0).owner
        if owner is None:
            return NOTHING
        return Lookup(self._with_constructors(Lookup((owner,))).targets[1:])

    def _kind(self, target: DefinedSymbol) -> str:
        unit = self._names.read(target.path)
        return unit.kinds.get(target.key, "") if unit is not None else ""

    def is_type(self, target: DefinedSymbol) -> bool:
        """Whether a definition is a type."""
        return self._kind(target) in _TYPE_KINDS

    def _own_types(self, source: str) -> Iterator[DefinedSymbol]:
        """The types around a definition, innermost first."""
        for key in outward(source):
            if key in self._unit.type_keys:
                yield DefinedSymbol(self._unit.path, key)
            elif self._unit.language in ("cpp", "java") and self._unit.scope(key).bases:
                # A test of C++ is a method of its fixture, one of Java's unnamed classes has what it derives from.
                derived = self.type_named(self._unit, self._unit.scope(key).bases[0], key.rpartition(".")[0], 0)
                if derived.owner is not None:
                    yield derived.owner
        container = source.rpartition(".")[0]
        if container and container not in self._unit.type_keys:
            # A method outside its class, as C++, Go and Rust write it: the class may be in another file.
            scope, _, name = container.rpartition(".")
            for target in self._names.visible(self._unit, name, scope).targets:
                if self.is_type(target):
                    yield target

    # --- paths

    def followed(self, source: str, path: AccessPath, depth: int = 0) -> ResolvedType:
        """The type that a path leads to from inside a definition."""
        memo = (source, path)
        if memo not in self._followed:
            self._followed[memo] = self._follow(self._unit, source, path, depth)
        return self._followed[memo]

    def _follow(self, unit: Unit, within: str, path: AccessPath, depth: int) -> ResolvedType:
        if not path or UNKNOWN in path or depth > _DEEPEST:
            return UNTYPED
        found = self._first(unit, within, path[0], depth)
        rest = path[1:]
        for length in range(1, len(path)):
            if found.owner is not None or found.name:
                break
            package = self._names.package_of(path[:length], unit, within)
            if package is None:
                return UNTYPED
            found = self._from_package(package, path[length], depth)
            rest = path[length + 1 :]
        for step in rest:
            found = self._step(found, step, depth)
            if found.owner is None and not found.name:
                return UNTYPED
        return found

    def _first(self, unit: Unit, within: str, step: str, depth: int) -> ResolvedType:
        if step.startswith(TYPE_SIGN):
            return self.type_named(unit, step[1:], within, depth)
        name = step.removesuffix("()")
        if name in self._shape.receivers:
            return self._receiver(unit, within, name, depth)
        if unit is self._unit and (self._shape.implicit_receiver or name.startswith("@")):
            for owner in self._own_types(within):
                found = self._type_of_member(ResolvedType(owner), step, depth)
                if found.owner is not None or found.name:
                    return found
        declared = unit.scope("").types.get(step)
        if declared is not None:
            return self._follow(unit, "", declared, depth + 1)
        targets, is_certain = self._names.visible(unit, name, within)
        for target in targets:
            found = self._type_of(target, step, depth)
            if found.owner is not None or found.name:
                return found._replace(is_certain=found.is_certain and is_certain)
        return UNTYPED

    def _from_package(self, package: str, step: str, depth: int) -> ResolvedType:
        """The type that a qualified name is, or that the function or variable it names leads to."""
        for target in self._names.in_package(package, step.removesuffix("()")):
            found = self._type_of(target, step, depth)
            if found.owner is not None or found.name:
                return found
        return UNTYPED

    def _type_of(self, target: DefinedSymbol, step: str, depth: int) -> ResolvedType:
        """The type that a definition is, returns when it is called, or has."""
        if self.is_type(target):
            return ResolvedType(target)
        if step.endswith("()"):
            return self._returned(target, depth)
        unit = self._names.read(target.path)
        declared = unit.scope("").types.get(step) if unit is not None else None
        if unit is None or declared is None:
            return UNTYPED
        return self._follow(unit, "", declared, depth + 1)

    def _receiver(self, unit: Unit, within: str, name: str, depth: int) -> ResolvedType:
        owners = self._own_types(within) if unit is self._unit else self._types_around(unit, within)
        for owner in owners:
            if name in ("super", "base", "parent", "super_expression"):
                if unit.language == "java" and within not in unit.type_keys and unit.scope(within).bases:
                    return ResolvedType(owner)  # in a method of an unnamed class, whose base stands for it
                return next(self._bases(owner, depth), UNTYPED)
            return ResolvedType(owner)
        return UNTYPED

    def _types_around(self, unit: Unit, within: str) -> Iterator[DefinedSymbol]:
        yield from (DefinedSymbol(unit.path, key) for key in outward(within) if key in unit.type_keys)

    def _step(self, found: ResolvedType, step: str, depth: int) -> ResolvedType:
        if found.owner is not None:
            return self._step_inside(found, found.owner, step, depth)
        pointed = self._pointed(found)
        if pointed is not found:
            return self._step(pointed, step, depth + 1) if depth < _DEEPEST else UNTYPED
        if found.unit is None:
            return UNTYPED
        if step == "#0" and found.name != "()":
            return found
        return self.type_named(found.unit, held_by(found, step), found.within, depth + 1)

    def _pointed(self, found: ResolvedType) -> ResolvedType:
        """What a pointer points to; any other type is itself."""
        if found.owner is not None or not found.arguments or found.unit is None or not is_pointer(found.name):
            return found
        return self.type_named(found.unit, found.arguments[0], found.within, 1)

    def _step_inside(self, found: ResolvedType, owner: DefinedSymbol, step: str, depth: int) -> ResolvedType:
        """A step from a type of the project."""
        if step == "#0":
            return found
        if step in (ELEMENT, KEY, UNWRAPPED) or step.startswith("#"):
            return self._content(found, owner, step, depth)
        member = self._type_of_member(found, step, depth)
        if member.owner is None and not member.name and step.removesuffix("()") in UNWRAPPING:
            return found
        return member

    def _content(self, found: ResolvedType, owner: DefinedSymbol, step: str, depth: int) -> ResolvedType:
        """What a type of the project holds that stands for another: `type List []Item`, `type Result<T> = …`."""
        unit = self._names.read(owner.path)
        text = unit.scope(owner.key).returns if unit is not None else ""
        if unit is not None and text and depth < _DEEPEST:
            within = owner.key.rpartition(".")[0]
            alias = self.type_named(unit, text, within, depth + 1)
            if found.arguments and alias.arguments and alias.arguments[0] == UNKNOWN:
                alias = found._replace(owner=None, name=alias.name)
            if alias.owner != owner:
                return self._step(alias, step, depth + 1)
        if self._unit.language == "php" and step == ELEMENT and found.arguments and found.unit is not None:
            return self.type_named(found.unit, found.arguments[-1], found.within, depth + 1)
        return found if step == UNWRAPPED or self._unit.language in ("c", "cpp") else UNTYPED

    # --- types

    def type_named(self, unit: Unit, text: str, within: str, depth: int) -> ResolvedType:
        """The type that is written so in a place of a file."""
        name, arguments = parse_type(text)
        if depth > _DEEPEST or not name or name == UNKNOWN:
            return UNTYPED
        if name in _BUILT_IN:
            return ResolvedType(None, True, name, arguments, unit, within)
        if name in _OWN_TYPE:
            return self._receiver(unit, within, "this", depth)
        if name == "parent":
            return self._receiver(unit, within, "super", depth)
        found = self._type_definition(unit, name, within, depth)
        if found.targets:
            return ResolvedType(found.targets[0], found.is_certain, "", arguments, unit, within)
        return ResolvedType(None, True, name, arguments, unit, within) if arguments else UNTYPED

    def _type_definition(self, unit: Unit, name: str, within: str, depth: int) -> Lookup:
        qualifier, dot, last = name.rpartition(".")
        if not dot:
            return self._plain_type(unit, name, within, depth)
        path = tuple(qualifier.split("."))
        if unit.language == "php":
            return Lookup(tuple(filter(self.is_type, self._names.in_namespace(unit, within, path, last))))
        outer = self.type_named(unit, qualifier, within, depth + 1)
        if outer.owner is not None:
            found = self._fitting(self.member(outer.owner, last), "type")
            return Lookup(tuple(filter(self.is_type, found)), outer.is_certain)
        if unit.language in ("c", "cpp"):
            found_here = self._names.visible(unit, last)
            ending = f".{name}"
            fitting = [t for t in found_here.targets if f".{t.key}".endswith(ending) and self.is_type(t)]
            return Lookup(tuple(fitting), found_here.is_certain)
        package = self._names.package_of(path, unit, within)
        found = self._names.in_package(package, last) if package is not None else ()
        return Lookup(tuple(filter(self.is_type, found)))

    def _plain_type(self, unit: Unit, name: str, within: str, depth: int) -> Lookup:
        for key in outward(within):
            if key in unit.type_keys:
                if key.rpartition(".")[2] == name:
                    return Lookup((DefinedSymbol(unit.path, key),))
                inherited = self.member(DefinedSymbol(unit.path, key), name) if depth < _DEEPEST else ()
                types = tuple(filter(self.is_type, inherited))
                if types:
                    return Lookup(types)
        found = self._names.visible(unit, name, within)
        return Lookup(tuple(filter(self.is_type, found.targets)), found.is_certain)

    # --- members

    def member(self, owner: DefinedSymbol, name: str) -> tuple[DefinedSymbol, ...]:
        """A member of a type: in its file, beside it, or in the nearest base that has it."""
        memo = (owner, name)
        if memo not in self._members:
            self._members[memo] = ()  # what leads back here finds nothing new
            candidates = (owner, *self._all_bases(owner))
            found = (self._names.own_member(candidate, name) for candidate in candidates)
            self._members[memo] = next((members for members in found if members), ())
        return self._members[memo]

    def _type_of_member(self, found: ResolvedType, step: str, depth: int) -> ResolvedType:
        """The type of a field, or what a method returns."""
        owner = found.owner
        if owner is None or depth > _DEEPEST:
            return UNTYPED
        name = step.removesuffix("()")
        for candidate in (owner, *self._all_bases(owner)):
            unit = self._names.read(candidate.path)
            declared = unit.scope(candidate.key).types.get(step) if unit is not None else None
            if unit is not None and declared is not None:
                return self._follow(unit, candidate.key, declared, depth + 1)
        for member in self._fitting(self.member(owner, name), "call" if step.endswith("()") else "read"):
            if self.is_type(member):
                return ResolvedType(member)
            returned = self._returned(member, depth, found)
            if returned.owner is not None or returned.name:
                return returned
        if self._unit.language == "php" and step.endswith("()"):
            inherited = self._returned_by_base(found, owner, name, depth)
            if inherited.owner is not None or inherited.name:
                return inherited
        if name in ("new", "instance", "getInstance") and step.endswith("()") and not self.member(owner, name):
            return found
        return UNTYPED

    def _returned_by_base(self, found: ResolvedType, owner: DefinedSymbol, name: str, depth: int) -> ResolvedType:
        """What a method returns that a base says and the method itself does not."""
        for base in self._all_bases(owner):
            for member in self._names.own_member(base, name):
                returned = self._returned(member, depth, found)
                if returned.owner is not None or returned.name:
                    return returned
        return UNTYPED

    def _returned(self, function: DefinedSymbol, depth: int, through: ResolvedType = UNTYPED) -> ResolvedType:
        """What a function returns; `Self` is the type that it was called on."""
        unit = self._names.read(function.path)
        returns = unit.scope(function.key).returns if unit is not None else ""
        if unit is None or not returns or depth > _DEEPEST:
            return UNTYPED
        container = function.key.rpartition(".")[0]
        if returns in _OWN_TYPE and through.owner is not None:
            return through
        if container and container not in unit.type_keys and parse_type(returns).name in _OWN_TYPE:
            scope, _, name = container.rpartition(".")
            return self.type_named(unit, name, scope, depth + 1)
        return self.type_named(unit, returns, function.key, depth + 1)

    def _bases(self, owner: DefinedSymbol, depth: int = 0) -> Iterator[ResolvedType]:
        unit = self._names.read(owner.path)
        if unit is None or depth > _DEEPEST:
            return
        scope = unit.scope(owner.key)
        outside = owner.key.rpartition(".")[0]
        for base in (*scope.bases, *([scope.returns] if scope.returns else ())):
            found = self.type_named(unit, base, outside, depth + 1)
            if found.owner is not None and found.owner != owner:
                yield found

    def _all_bases(self, owner: DefinedSymbol) -> tuple[DefinedSymbol, ...]:
        """The bases of a type, nearest first."""
        if owner in self._bases_of:
            return self._bases_of[owner]
        if self._nesting > _DEEPEST:  # bases are looked up in the types around them, which have bases too
            return ()
        self._bases_of[owner] = ()  # what leads back here finds nothing new
        self._nesting += 1
        seen = {owner: None}
        pending = deque([owner])
        while pending and len(seen) < _MOST_BASES:
            for base in self._bases(pending.popleft()):
                if base.owner is not None and base.owner not in seen:
                    seen[base.owner] = None
                    pending.append(base.owner)
        self._nesting -= 1
        self._bases_of[owner] = tuple(seen)[1:]
        return self._bases_of[owner]
