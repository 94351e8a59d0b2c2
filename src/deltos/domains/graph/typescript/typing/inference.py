"""Type parameters: what they stand for, found by laying a parameter's type over its argument's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.typescript.terms import (
    ALIAS_DECLARATION,
    ARRAY,
    EITHER,
    FUNCTION,
    INFER,
    MEMBER,
    OBJECT,
    PARAMETER,
    REF,
    TUPLE,
    TYPE_PARAMETER,
    Term,
)
from deltos.domains.graph.typescript.typing.types import (
    Declared,
    Either,
    Environment,
    Function,
    Tuple,
    Type,
    either,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.domains.graph.typescript.project.module import Module
    from deltos.domains.graph.typescript.typing.checker import Checker

_MAX_DEPTH = 6
_ITERABLES = frozenset(("Iterable", "ArrayLike", "ReadonlyArray", "AsyncIterable"))
_CONTEXTUAL = frozenset((MEMBER, PARAMETER))  # parameters whose type is what is being inferred


class Inference:
    """The type parameters of one signature, and what has been found out about them."""

    def __init__(self, checker: Checker, module: Module, names: frozenset[str]) -> None:
        self._checker = checker
        self._module = module
        self._names = names
        self.found: Environment = {}

    def concerns(self, term: Term) -> bool:
        """Whether a term speaks of one of the type parameters."""
        if type(term) is not tuple:
            return False
        if len(term) > 1 and term[0] in (TYPE_PARAMETER, INFER) and term[1] in self._names:
            return True
        return any(self.concerns(part) for part in term if type(part) is tuple)

    def take(self, wanted: Term, given: Type | None, *, is_rest: bool = False) -> None:
        """Learn from a value that was passed where a type was wanted."""
        if is_rest and type(wanted) is tuple and wanted[0] == ARRAY:
            wanted = wanted[1]
        self._match(wanted, given, 0)

    def _match(self, wanted: Term, given: Type | None, depth: int) -> None:
        if given is None or type(wanted) is not tuple or depth > _MAX_DEPTH:
            return
        matcher = _MATCHERS.get(wanted[0])
        if matcher is not None:
            matcher(self, wanted, given, depth + 1)

    def match_parameter(self, wanted: Term, given: Type, _depth: int) -> None:
        """A type parameter stands for what is given."""
        name = wanted[1]
        if name in self._names:
            known = self.found.get(name)
            self.found[name] = given if known is None else either([known, given])

    def match_array(self, wanted: Term, given: Type, depth: int) -> None:
        """An array, for the elements of what is given."""
        self._match(wanted[1], self._checker.item_type(given), depth)

    def match_either(self, wanted: Term, given: Type, depth: int) -> None:
        """A union: any of its options may be meant."""
        for option in wanted[1:]:
            self._match(option, given, depth)

    def match_tuple(self, wanted: Term, given: Type, depth: int) -> None:
        """A tuple, position by position."""
        if isinstance(given, Tuple):
            for part, item in zip(wanted[1:], given.items, strict=False):
                self._match(part, item, depth)

    def match_object(self, wanted: Term, given: Type, depth: int) -> None:
        """An object type, member by member."""
        for name, term, _, _ in wanted[1]:
            if self.concerns(term):
                self._match(term, self._checker.member_type(given, name), depth)
        if wanted[4] is not None and self.concerns(wanted[4]):
            self._match(wanted[4], self._checker.element_type(given), depth)

    def match_function(self, wanted: Term, given: Type, depth: int) -> None:
        """A function type: what the given function returns and takes."""
        if self.concerns(wanted[3]):
            self._match(wanted[3], self._checker.result_type(given), depth)
        if not isinstance(given, Function) or given.term[0] != FUNCTION:
            return
        for (_, term, _), (_, known, _) in zip(wanted[2], given.term[2], strict=False):
            if type(known) is tuple and known[0] not in _CONTEXTUAL:
                self._match(term, self._checker.of(given.module, known, given.environment), depth)

    def match_reference(self, wanted: Term, given: Type, depth: int) -> None:
        """A named type: the arguments with which what is given has it."""
        declared = self._checker.entity(self._module, wanted[1])
        if not isinstance(declared, Declared):
            return
        alias = next((part for part in declared.parts if part[0] == ALIAS_DECLARATION), None)
        if alias is not None:
            self._alias(wanted, declared, alias, given, depth)
            return
        for option in given.options if isinstance(given, Either) else (given,):
            base = self._checker.as_instance_of(option, declared)
            if base is not None:
                for part, argument in zip(wanted[2], base.arguments, strict=False):
                    self._match(part, argument, depth)
            elif declared.module.is_library and declared.name in _ITERABLES and wanted[2]:
                self._match(wanted[2][0], self._checker.item_type(option), depth)

    def _alias(self, wanted: Term, declared: Declared, alias: Term, given: Type, depth: int) -> None:
        """Match what an alias stands for, then carry its parameters over to the arguments it was given."""
        parameters, term = alias[2], alias[3]
        inner = Inference(self._checker, declared.module, frozenset([name for name, _, _ in parameters]))
        inner._match(term, given, depth)
        for (name, _, _), argument in zip(parameters, wanted[2], strict=False):
            self._match(argument, inner.found.get(name), depth)


_MATCHERS: dict[str, Callable[[Inference, Term, Type, int], None]] = {
    TYPE_PARAMETER: Inference.match_parameter,
    INFER: Inference.match_parameter,
    ARRAY: Inference.match_array,
    EITHER: Inference.match_either,
    TUPLE: Inference.match_tuple,
    OBJECT: Inference.match_object,
    FUNCTION: Inference.match_function,
    REF: Inference.match_reference,
}
