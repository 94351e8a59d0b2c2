"""Evaluate type expressions to types in a limited number of steps.

`evaluators` contains one function for each kind of type expression.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.typescript import nodes, types
from deltos.domains.graph.typescript.check.evaluators import EVALUATORS, TermContext
from deltos.domains.graph.typescript.check.members import find_members
from deltos.domains.graph.typescript.modules.program import Program
from deltos.domains.graph.typescript.types import is_shareable, union_of

if TYPE_CHECKING:
    from deltos.domains.graph.kernel.resolver import ProjectFacts
    from deltos.domains.graph.typescript.modules.module import Module
    from deltos.domains.graph.typescript.modules.program import LookupResult
    from deltos.domains.graph.typescript.nodes import Term
    from deltos.domains.graph.typescript.types import Environment, Type

_MAX_DEPTH = 60
_MAX_STEPS = 4000


class Checker:
    """Evaluator of type expressions. Local variables are available only in the module that is being resolved."""

    def __init__(self, project: ProjectFacts, library: Module) -> None:
        self.program = Program(project, library, self._member_of_value)
        self.memo = self.program.memo
        self._current: Module | None = None
        self._known_types: dict[int, Type | None] = {}
        self._depth = 0
        self._steps_left = _MAX_STEPS
        self._inner_entities: dict[int, tuple[nodes.LocalType, types.DeclaredEntity]] = {}

    def begin(self, module: Module | None) -> None:
        """Start resolving the body of a module, or stop if `module` is None."""
        self._current = module
        self._known_types = {}

    def type_in_body(self, module: Module, term: Term) -> Type | None:
        """Return the type of a type expression in the current body, or None if its evaluation takes too many steps."""
        if type(term) in nodes.TERM_KINDS and id(term) in self._known_types:
            return self._known_types[id(term)]
        self._steps_left = _MAX_STEPS
        self.memo.is_exhausted = False
        return self.type_of(module, term)

    def type_of(self, module: Module, term: Term, environment: Environment | None = None) -> Type | None:
        """Return the type of a type expression in a module."""
        if term is None:
            return None
        if isinstance(term, str):
            return self._name_type(module, term)
        self._steps_left -= 1
        if self._depth > _MAX_DEPTH or self._steps_left < 0:
            self.memo.is_exhausted = True
            return None
        if isinstance(term, int):
            return self._local_type(module, term, environment)
        if environment is None and module is self._current and not self.memo.is_busy:
            key = id(term)
            if key in self._known_types:
                return self._known_types[key]
            self._known_types[key] = None  # the type of a recursive type expression is unknown
            found = self._evaluate(module, term, None)
            self._known_types[key] = found
            return found
        return self._evaluate(module, term, environment)

    def _evaluate(self, module: Module, term: nodes.TermNode, environment: Environment | None) -> Type | None:
        """Evaluate a type expression with the evaluator of its kind."""
        operator = EVALUATORS.get(type(term))
        if operator is None:
            return None
        self._depth += 1
        found = operator(TermContext(self, module, environment), term)
        self._depth -= 1
        return found

    def _local_type(self, module: Module, local: int, environment: Environment | None) -> Type | None:
        """Return the type of a local variable or local type in a module's body."""
        if ~local >= len(module.locals):
            return None
        self._depth += 1
        found = self.type_of(module, module.locals[~local], environment)
        self._depth -= 1
        return found

    def _name_type(self, module: Module, name: str) -> Type | None:
        """Return the type of a module-level or global name that is used as a value."""
        found = self.program.lookup(module, name)
        return self.value_type(found) if found is not None else None

    def value_type(self, found: LookupResult) -> Type | None:
        """Return the type of a looked-up name that is used as a value."""
        if isinstance(found, types.DeclaredEntity):
            return self.memo.ask(("value", found), lambda: self._declared_value(found))
        return self.property_type(found) if isinstance(found, types.Property) else found

    def _declared_value(self, declared: types.DeclaredEntity) -> Type | None:
        """Return the type of a declared name that is used as a value."""
        self.memo.depend(declared.module.path)
        if any(
            isinstance(part, nodes.ClassDeclaration | nodes.EnumDeclaration | nodes.NamespaceDeclaration)
            for part in declared.parts
        ):
            return types.StaticType(declared)
        terms = [part.term for part in declared.parts if isinstance(part, nodes.ValueDeclaration)]
        functions = [term for term in terms if isinstance(term, nodes.FunctionTerm)]
        if len(functions) > 1:
            return types.OverloadedType(declared.module, nodes.Overloads(tuple(functions)))
        return union_of([self.type_of(declared.module, term) for term in terms])

    def _member_of_value(self, module: Module, value: Term, name: str) -> types.Property | None:
        """Return the first member with this name in a value."""
        return next(iter(find_members(self, self.type_of(module, value), name)), None)

    def property_type(self, found: types.Property) -> Type | None:
        """Return the type of a member."""
        if found.known_type is not None:
            return found.known_type
        return self.type_of(found.module, found.term, found.environment)

    def member_type(self, owner: Type | None, name: str) -> Type | None:
        """Return the type of the member `name` of a type."""
        if is_shareable(owner):
            return self.memo.ask(("member", owner, name), lambda: self._member_type(owner, name))
        return self._member_type(owner, name)

    def _member_type(self, owner: Type | None, name: str) -> Type | None:
        found = find_members(self, owner, name)
        if not found:
            return None
        return (
            self.property_type(found[0]) if len(found) == 1 else union_of([self.property_type(each) for each in found])
        )

    def inner_entity(self, module: Module, term: nodes.LocalType) -> types.DeclaredEntity:
        """Return the class or type that a type expression declares inside a function."""
        known = self._inner_entities.get(id(term))
        if known is None or known[0] is not term:
            declared = types.DeclaredEntity(module, term.declaration.key, (term.declaration,))
            known = self._inner_entities[id(term)] = (term, declared)
        return known[1]
