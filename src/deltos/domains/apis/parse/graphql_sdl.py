"""Tolerant parser for the GraphQL schema language, which skips unknown text up to the next definition."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

from deltos.domains.apis.parse.graphql import ROOT_KINDS, Field, GraphqlSchema, TypeDefinition, describe
from deltos.text.counts import counted

if TYPE_CHECKING:
    from deltos.domains.apis.model import ApiDescription

_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|""?(?!"))*(?:"""|\\?\Z)|"(?:[^"\\\n]|\\.)*"?|[_A-Za-z]\w*|-?\d[\w.+-]*|\.\.\.|[!$&()\[\]{}:=@|]|\#[^\n]*',
    re.DOTALL,
)
_OPENING_BRACKETS = frozenset("([{")
_CLOSING_BRACKETS = frozenset(")]}")
_FIELD_KINDS = frozenset(("type", "interface", "input"))
_DEFINITION_KEYWORDS = frozenset(
    ("type", "interface", "input", "enum", "union", "scalar", "schema", "directive", "extend")
)


def parse_sdl(text: str) -> ApiDescription:
    """Parse a schema in the GraphQL schema language."""
    return describe(_SdlParser(text).parse())


class _SdlParser:
    """Parser that reads a list of tokens; every step consumes at least one token, so that parsing always ends."""

    def __init__(self, text: str) -> None:
        self._tokens = [token for token in _TOKEN.findall(text) if token[0] != "#"]
        self._at = 0
        self._schema = GraphqlSchema()

    def parse(self) -> GraphqlSchema:
        """Parse all definitions of the document."""
        skipped = 0
        while self._at < len(self._tokens):
            description = self._parse_description()
            keyword = self._next()
            if keyword == "extend":
                keyword = self._next()
            if keyword in ("type", "interface", "input", "enum", "union", "scalar"):
                self._parse_type(keyword, description)
            elif keyword == "schema":
                self._parse_roots(description)
            elif keyword == "directive":
                self._skip_directive_definition()
            else:
                skipped += bool(keyword)
        if skipped:
            self._schema.warnings.append(f"Skipped {counted(skipped, 'word')} outside of definitions.")
        return self._schema

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _take(self, token: str) -> bool:
        """Consume `token` if it is the next token; return whether the token was consumed."""
        if self._peek() != token:
            return False
        self._at += 1
        return True

    def _parse_description(self) -> str:
        """Consume a description string; return its text, or "" if there is none."""
        token = self._peek()
        if not token.startswith('"'):
            return ""
        self._at += 1
        if token.startswith('"""'):
            return textwrap.dedent(token[3:-3].replace('\\"""', '"""')).strip()
        return token[1:-1].replace('\\"', '"').replace("\\n", "\n")

    def _parse_type(self, kind: str, description: str) -> None:
        """Parse a type definition or extension, starting after the keyword."""
        name = self._next()
        definition = self._schema.types.setdefault(name, TypeDefinition(kind, name))
        definition.description = definition.description or description
        if self._take("implements"):
            definition.members += self._parse_names("&")
        self._skip_directives()
        if kind == "union" and self._take("="):
            definition.members += self._parse_names("|")
        if kind == "enum" and self._take("{"):
            definition.fields += self._parse_enum_values()
        if kind in _FIELD_KINDS and self._take("{"):
            definition.fields += self._parse_fields("}")

    def _parse_names(self, separator: str) -> list[str]:
        self._take(separator)
        names = [self._next()]
        while self._take(separator) or (separator == "&" and self._peek()[:1].isalpha()):
            names.append(self._next())
        return names

    def _parse_enum_values(self) -> list[Field]:
        values = []
        while self._peek() not in ("}", ""):
            description = self._parse_description()
            name = self._next()
            values.append(Field(name, description=description, deprecated=self._skip_directives()))
        self._next()
        return values

    def _parse_fields(self, end: str) -> list[Field]:
        """Parse fields or arguments up to the token `end`."""
        fields = []
        while self._peek() not in (end, ""):
            description = self._parse_description()
            if not self._peek()[:1].isidentifier():
                self._next()
                continue
            fields.append(self._parse_field(description, takes_arguments=end == "}"))
        self._next()
        return fields

    def _parse_field(self, description: str, *, takes_arguments: bool) -> Field:
        """Parse one field or argument."""
        member = Field(self._next(), description=description)
        if self._peek() == "(" and not takes_arguments:
            self._parse_value()
        elif self._take("("):
            member.arguments = self._parse_fields(")")
        if self._take(":"):
            member.type = self._parse_type_text()
        if self._take("="):
            member.default = self._parse_value()
        member.deprecated = self._skip_directives()
        return member

    def _parse_type_text(self) -> str:
        start = self._at
        while self._take("["):
            pass
        self._next()
        while self._peek() in ("]", "!"):
            self._at += 1
        return "".join(self._tokens[start : self._at])

    def _parse_value(self) -> str:
        """Return a default value as it is written, including nested values."""
        start = self._at
        depth = 0
        while self._at < len(self._tokens):
            token = self._next()
            depth += (token in _OPENING_BRACKETS) - (token in _CLOSING_BRACKETS)
            if depth <= 0:
                break
        return " ".join(self._tokens[start : self._at])

    def _skip_directives(self) -> bool:
        """Skip applied directives; return whether they include `@deprecated`."""
        deprecated = False
        while self._take("@"):
            deprecated |= self._next() == "deprecated"
            if self._peek() == "(":
                self._parse_value()
        return deprecated

    def _parse_roots(self, description: str) -> None:
        """Parse a `schema` definition, which declares the names of the root types."""
        self._schema.description = self._schema.description or description
        self._skip_directives()
        if self._take("{"):
            members = self._parse_fields("}")
            self._schema.roots |= {each.name: each.type for each in members if each.name in ROOT_KINDS}
            if others := sum(each.name not in ROOT_KINDS for each in members):
                self._schema.warnings.append(f"{others} entries of `schema` are not query, mutation or subscription.")

    def _skip_directive_definition(self) -> None:
        while self._peek() and not self._peek().startswith('"') and self._peek() not in _DEFINITION_KEYWORDS:
            if self._peek() == "(":
                self._parse_value()
            else:
                self._next()
