"""Turns terms into types. What each operator means is left to the modules beside this one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.typescript.terms import (
    CLASS_DECLARATION,
    ENUM_DECLARATION,
    FUNCTION,
    INTERFACE_DECLARATION,
    NAMESPACE_DECLARATION,
    OVERLOADS,
    VALUE_DECLARATION,
    Term,
    inferred_names,
)
from deltos.domains.graph.typescript.typing.calls import result_type
from deltos.domains.graph.typescript.typing.inference import Inference
from deltos.domains.graph.typescript.typing.members import bases, bindings, members
from deltos.domains.graph.typescript.typing.type_terms import TYPE_OPERATORS, as_type, entity
from deltos.domains.graph.typescript.typing.types import (
    Both,
    Declared,
    Environment,
    Function,
    Instance,
    Namespace,
    Opaque,
    Property,
    Static,
    Type,
    either,
    is_plain,
)
from deltos.domains.graph.typescript.typing.value_terms import VALUE_OPERATORS, element_type, item_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.graph.typescript.project.module import Module
    from deltos.domains.graph.typescript.project.program import Program

_MAX_DEPTH = 60
_MAX_STEPS = 4000
_OPERATORS = {**TYPE_OPERATORS, **VALUE_OPERATORS}
_WITH_MEMBERS = frozenset((CLASS_DECLARATION, ENUM_DECLARATION, NAMESPACE_DECLARATION))


class Checker:
    """Types of terms, for all files of a program; one file at a time is resolved with its locals."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.memo = program.memo
        self._current: Module | None = None
        self._known: dict[int, Type | None] = {}
        self._depth = 0
        self._steps_left = _MAX_STEPS
        self._inner: dict[int, tuple[Term, Declared]] = {}
        program.members_of = self.members
        program.evaluate = self.of

    def begin(self, module: Module | None) -> None:
        """From here on, resolve this file's own body."""
        self._current = module
        self._known = {}

    def question(self, module: Module, term: Term) -> Type | None:
        """The type of a term of the body, given a bounded number of steps; past them it is unknown."""
        if type(term) is tuple and id(term) in self._known:
            return self._known[id(term)]
        self._steps_left = _MAX_STEPS
        self.memo.spoiled = False
        return self.of(module, term)

    def of(self, module: Module, term: Term, environment: Environment | None = None) -> Type | None:
        """The type of a term of a module."""
        if term is None:
            return None
        kind = type(term)
        if kind is str:
            return self._named(module, term)
        self._steps_left -= 1
        if self._depth > _MAX_DEPTH or self._steps_left < 0:
            self.memo.spoiled = True
            return None
        if kind is int:
            return self._local(module, term, environment)
        if environment is None and module is self._current and not self.memo.is_busy:
            key = id(term)
            if key in self._known:
                return self._known[key]
            self._known[key] = None  # a term that leads back to itself is unknown
            found = self._evaluate(module, term, None)
            self._known[key] = found
            return found
        return self._evaluate(module, term, environment)

    def _evaluate(self, module: Module, term: Term, environment: Environment | None) -> Type | None:
        operator = _OPERATORS.get(term[0])
        if operator is None:
            return None
        self._depth += 1
        found = operator(self, module, term, environment)
        self._depth -= 1
        return found

    def _local(self, module: Module, local: int, environment: Environment | None) -> Type | None:
        if ~local >= len(module.locals):
            return None
        self._depth += 1
        found = self.of(module, module.locals[~local], environment)
        self._depth -= 1
        return found

    def _named(self, module: Module, name: str) -> Type | None:
        """The type of a module-level name or a global, as a value."""
        found = self.program.lookup(module, name)
        return self.value(found) if found is not None else None

    def value(self, found: Declared | Namespace | Property) -> Type | None:
        """The type of what a name stands for, as a value."""
        if type(found) is Declared:
            return self.memo.ask(("value", found), lambda: self._declared_value(found))
        if type(found) is Property:
            return self.property_type(found)
        return found  # type: ignore[return-value]

    def _declared_value(self, declared: Declared) -> Type | None:
        self.memo.depend(declared.module.path)
        if any(part[0] in _WITH_MEMBERS for part in declared.parts):
            return Static(declared)
        terms = [part[2] for part in declared.parts if part[0] == VALUE_DECLARATION]
        functions = [term for term in terms if type(term) is tuple and term[0] == FUNCTION]
        if len(functions) > 1:
            return Function(declared.module, (OVERLOADS, *functions))
        return either([self.of(declared.module, term) for term in terms])

    def members(self, owner: Type | None, name: str) -> list[Property]:
        """The members of this name that a type has: several where it is a union."""
        return members(self, owner, name) if owner is not None else []

    def property_type(self, found: Property) -> Type | None:
        """The type of a member."""
        if found.known is not None:
            return found.known
        return self.of(found.module, found.term, found.environment)

    def member_type(self, owner: Type | None, name: str) -> Type | None:
        """The type of a member of this name."""
        if is_plain(owner):
            return self.memo.ask(("member", owner, name), lambda: self._member_type(owner, name))
        return self._member_type(owner, name)

    def _member_type(self, owner: Type | None, name: str) -> Type | None:
        found = self.members(owner, name)
        if not found:
            return None
        return self.property_type(found[0]) if len(found) == 1 else either([self.property_type(each) for each in found])

    def inner_declared(self, module: Module, term: Term) -> Declared:
        """The declaration of a class or type that is declared inside a function."""
        known = self._inner.get(id(term))
        if known is None or known[0] is not term:
            declaration = term[1]
            known = self._inner[id(term)] = (term, Declared(module, declaration[1], (declaration,)))
        return known[1]

    def entity(self, module: Module, name: Term) -> object:
        """What a possibly dotted name in a type stands for."""
        return entity(self, module, name)

    def as_type(self, declared: Declared, arguments: tuple[Type | None, ...]) -> Type | None:
        """What a declaration stands for as a type."""
        return as_type(self, declared, arguments)

    def item_type(self, value: Type | None) -> Type | None:
        """What iterating over a value gives."""
        return item_type(self, value)

    def element_type(self, value: Type | None) -> Type | None:
        """What a value gives at an index that is not known."""
        return element_type(self, value, None)

    def result_type(self, function: Type | None) -> Type | None:
        """What a function type promises to return."""
        return result_type(self, function)

    def bases(self, instance: Instance) -> Iterator[Type]:
        """The types that a class or interface directly extends or implements."""
        return bases(self, instance)

    def promise_of(self, value: Type | None) -> Type | None:
        """The type of a promise of this."""
        declared = self.program.library.declared("Promise")
        return Instance(declared, (value,)) if declared is not None else None

    def ancestors(self, instance: Type | None) -> Iterator[Instance]:
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
                pending.extend(bases(self, current))

    def as_instance_of(self, value: Type | None, declared: Declared) -> Instance | None:
        """A value seen as an instance of one of the types that it extends or implements."""
        return next((each for each in self.ancestors(value) if each.declared is declared), None)

    def library_base(self, value: Instance) -> Instance | None:
        """The type of the library that a class of the project extends."""
        return next((each for each in self.ancestors(value) if each.declared.module.is_library), None)

    def is_assignable(self, value: Type | None, wanted: Type | None) -> bool:
        """Whether a value surely is of the wanted type, by name."""
        if type(wanted) is Instance:
            return self.as_instance_of(value, wanted.declared) is not None
        return value == wanted

    def index_type(self, owner: Type | None) -> Type | None:
        """What the index signature of a type gives."""
        for each in self.ancestors(owner):
            for part in each.declared.parts:
                if part[0] == INTERFACE_DECLARATION and part[6] is not None:
                    return self.of(each.declared.module, part[6], bindings(self, each.declared, part, each.arguments))
        return None

    def conditional(self, module: Module, term: Term, environment: Environment | None) -> Type | None:
        """The branch of a conditional type, where it can be told."""
        _, checked, extended, yes, no = term
        given = self.of(module, checked, environment)
        if given is None:
            return None
        if type(given) is Opaque:
            given = given.bound
        names = frozenset(inferred_names(extended))
        if names:
            inference = Inference(self, module, names)
            inference.take(extended, given)
            if inference.found:
                return self.of(module, yes, {**(environment or {}), **inference.found})
            return self.of(module, no, environment)
        wanted = self.of(module, extended, environment)
        if wanted is None:
            return None
        return self.of(module, yes if self.is_assignable(given, wanted) else no, environment)
