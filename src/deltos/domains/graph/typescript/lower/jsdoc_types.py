"""Parse the type expressions in JSDoc comments; expressions that cannot be parsed are unknown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.domains.graph.typescript import nodes

if TYPE_CHECKING:
    from deltos.domains.graph.typescript.lower.walk import Walk
    from deltos.domains.graph.typescript.nodes import Term

_TOKEN = re.compile(r"import\(\s*['\"]([^'\"]+)['\"]\s*\)|[\w$]+|'[^']*'|\"[^\"]*\"|=>|\.\.\.|[^\s\w]")
_MAX_DEPTH = 20  # maximum nesting of types
_UNIONS_PER_TOKEN = 4  # maximum number of parsed unions per token
_MAX_NAME_PARTS = 100  # maximum number of parts in a dotted name
_PRIMITIVE_TYPES = frozenset(
    ("number", "boolean", "any", "unknown", "void", "null", "undefined", "never", "symbol", "bigint", "object")
)


def parse_type(walk: Walk, text: str) -> Term:
    """Return the term for a JSDoc type expression."""
    if text.startswith("..."):
        return nodes.ArrayType(parse_type(walk, text.lstrip(".")))
    return _TypeParser(walk, list(_TOKEN.finditer(text.replace("\n", " ").replace(" * ", " ")))).parse_union(0)


class _TypeParser:
    """Recursive-descent parser of one type expression."""

    def __init__(self, walk: Walk, tokens: list[re.Match[str]]) -> None:
        self._walk = walk
        self._tokens = tokens
        self._position = 0
        # Text in parentheses may be parsed twice at every nesting level; this limit prevents exponential time.
        self._unions_left = _UNIONS_PER_TOKEN * (len(tokens) + 1)

    def _peek(self) -> str:
        return self._tokens[self._position].group() if self._position < len(self._tokens) else ""

    def _take(self, text: str) -> bool:
        if self._peek() != text:
            return False
        self._position += 1
        return True

    def parse_union(self, depth: int) -> Term:
        """Parse a union or intersection."""
        self._unions_left -= 1
        if depth > _MAX_DEPTH or self._unions_left < 0:
            self._position = len(self._tokens)
            return None
        self._take("|")
        terms = [self._parse_postfix(depth)]
        while self._take("|") or self._take("&"):
            terms.append(self._parse_postfix(depth))
        return terms[0] if len(terms) == 1 else nodes.OneOf(tuple(terms))

    def _parse_postfix(self, depth: int) -> Term:
        term = self._parse_primary(depth)
        brackets = 0
        while self._peek() == "[":
            self._position += 1
            brackets += 1
            if self._take("]"):
                term = nodes.ArrayType(term) if brackets <= _MAX_DEPTH else None
            else:
                self.parse_union(depth + 1)
                self._take("]")
                term = None
        self._take("=")
        return term

    def _parse_primary(self, depth: int) -> Term:
        while self._peek() in ("?", "!", "readonly"):
            self._position += 1
        word = self._peek()
        if word == "(":
            return self._parse_parenthesis(depth)
        if word == "{":
            return self._parse_object(depth)
        if word == "typeof":
            self._position += 1
            return self._parse_entity()
        if word[:1] in ("'", '"'):
            self._position += 1
            return nodes.StringTerm(word[1:-1])
        if not (word[:1].isalpha() or word[:1] in "_$") or not word:
            self._position += 1
            return None
        return self._parse_reference(depth)

    def _parse_entity(self) -> Term:
        match = self._tokens[self._position] if self._position < len(self._tokens) else None
        if match is None:
            return None
        self._position += 1
        name = match.group()
        entity: Term = nodes.ImportedModule(match[1]) if match[1] else self._lookup(name)
        names = 0
        while (
            self._peek() == "."
            and self._position + 1 < len(self._tokens)
            and self._tokens[self._position + 1].group() != "<"
        ):
            entity = nodes.MemberAccess(entity, self._tokens[self._position + 1].group())
            self._position += 2
            names += 1
        return entity if names <= _MAX_NAME_PARTS else None

    def _lookup(self, name: str) -> Term:
        binding = self._walk.scopes.types.get(name)
        return binding if binding is not None else self._walk.scopes.values.get(name, name)

    def _parse_reference(self, depth: int) -> Term:
        name = self._peek()
        entity = self._parse_entity()
        arguments = self._parse_arguments(depth)
        if name in _PRIMITIVE_TYPES:
            return nodes.ANY
        if name in ("string", "String"):
            return nodes.StringTerm()
        if isinstance(entity, nodes.TypeParameterUse):
            return entity
        return nodes.TypeReference(entity, arguments)

    def _parse_arguments(self, depth: int) -> tuple[Term, ...]:
        self._take(".")
        if not self._take("<"):
            return ()
        arguments = [self.parse_union(depth + 1)]
        while self._take(","):
            arguments.append(self.parse_union(depth + 1))
        self._take(">")
        return tuple(arguments)

    def _parse_parenthesis(self, depth: int) -> Term:
        """Parse a parenthesised type or the parameters of a function type."""
        start = self._position
        self._position += 1
        parameters: list[nodes.FunctionParameter] = []
        while self._peek() not in (")", ""):
            name = self._peek()
            self._take("...")
            self._position += 1
            optional = self._take("?")
            term = self.parse_union(depth + 1) if self._take(":") else None
            parameters.append(nodes.FunctionParameter(name, term, nodes.IS_OPTIONAL if optional else 0))
            if not self._take(","):
                break
        if self._take(")") and self._take("=>"):
            return nodes.FunctionTerm((), tuple(parameters), self.parse_union(depth + 1))
        self._position = start + 1
        term = self.parse_union(depth + 1)
        self._take(")")
        return term

    def _parse_object(self, depth: int) -> Term:
        self._position += 1
        members: list[nodes.ObjectMember] = []
        while self._peek() not in ("}", ""):
            name = self._peek().strip("'\"")
            self._position += 1
            optional = self._take("?")
            term = self.parse_union(depth + 1) if self._take(":") else None
            members.append(nodes.ObjectMember(name, term, None, optional))
            if not (self._take(",") or self._take(";")) and self._peek() not in ("}", ""):
                self._position += 1
        self._take("}")
        return nodes.ObjectTerm(tuple(members))
