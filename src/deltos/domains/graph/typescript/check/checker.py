"""Turns terms into types, in a bounded number of steps. What each kind of term means is left to operators.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Never, cast

from deltos.domains.graph.typescript import nodes
from deltos.domains.graph.typescript.check.members import members
from deltos.domains.graph.typescript.check.operators import OPERATORS
from deltos.domains.graph.typescript.modules.program import Program
from deltos.domains.graph.typescript.types import (
    Declared,
    Environment,
    Overloaded,
    Property,
    Static,
    Type,
    either,
    is_plain,
)

if TYPE_CHECKING:
    from deltos.domains.graph.kernel.resolver import ProjectFacts
    from deltos.domains.graph.typescript.modules.module import Module
    from deltos.domains.graph.typescript.modules.program import Found
    from deltos.domains.graph.typescript.nodes import Term

_MAX_DEPTH = 60
_MAX_STEPS = 4000


class Checker:
    """Types of terms, for all files of a program; one file at a time is resolved with its locals."""

    def __init__(self, project: ProjectFacts, library: Module) -> None:
        self.program = Program(project, library, self._member_of_value)
        self.memo = self.program.memo
        self._current: Module | None = None
        self._known: dict[int, Type | None] = {}
        self._depth = 0
        self._steps_left = _MAX_STEPS
        self._inner: dict[int, tuple[nodes.LocalType, Declared]] = {}

    def begin(self, module: Module | None) -> None:
        """From here on, resolve this file's own body."""
        self._current = module
        self._known = {}

    def question(self, module: Module, term: Term) -> Type | None:
        """The type of a term of the body, given a bounded number of steps; past them it is unknown."""
        if type(term) in nodes.TERM_KINDS and id(term) in self._known:
            return self._known[id(term)]
        self._steps_left = _MAX_STEPS
        self.memo.spoiled = False
        return self.of(module, term)

    def of(self, module: Module, term: Term, environment: Environment | None = None) -> Type | None:
        """The type of a term of a module."""
        if term is None:
            return None
        if isinstance(term, str):
            return self._named(module, term)
        self._steps_left -= 1
        if self._depth > _MAX_DEPTH or self._steps_left < 0:
            self.memo.spoiled = True
            return None
        if isinstance(term, int):
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

    def _evaluate(self, module: Module, term: nodes.TermNode, environment: Environment | None) -> Type | None:
        operator = OPERATORS.get(type(term))
        if operator is None:
            return None
        self._depth += 1
        found = operator(self, module, cast("Never", term), environment)
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

    def value(self, found: Found) -> Type | None:
        """The type of what a name stands for, as a value."""
        if isinstance(found, Declared):
            return self.memo.ask(("value", found), lambda: self._declared_value(found))
        return self.property_type(found) if isinstance(found, Property) else found

    def _declared_value(self, declared: Declared) -> Type | None:
        self.memo.depend(declared.module.path)
        if any(
            isinstance(part, nodes.ClassDeclaration | nodes.EnumDeclaration | nodes.NamespaceDeclaration)
            for part in declared.parts
        ):
            return Static(declared)
        terms = [part.term for part in declared.parts if isinstance(part, nodes.ValueDeclaration)]
        functions = [term for term in terms if isinstance(term, nodes.FunctionTerm)]
        if len(functions) > 1:
            return Overloaded(declared.module, nodes.Overloads(tuple(functions)))
        return either([self.of(declared.module, term) for term in terms])

    def _member_of_value(self, module: Module, value: Term, name: str) -> Property | None:
        """The first member of this name that a value of a module has."""
        return next(iter(members(self, self.of(module, value), name)), None)

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
        found = members(self, owner, name)
        if not found:
            return None
        return self.property_type(found[0]) if len(found) == 1 else either([self.property_type(each) for each in found])

    def inner_declared(self, module: Module, term: nodes.LocalType) -> Declared:
        """The declaration of a class or type that is declared inside a function."""
        known = self._inner.get(id(term))
        if known is None or known[0] is not term:
            declared = Declared(module, term.declaration.key, (term.declaration,))
            known = self._inner[id(term)] = (term, declared)
        return known[1]
