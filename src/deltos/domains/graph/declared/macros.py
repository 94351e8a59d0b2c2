"""Find the names in the bodies of C macros, which become uses wherever the macro is expanded."""

from __future__ import annotations

import re
from typing import NamedTuple

_MAX_BODY_CHARACTERS = 4_000  # longer macro bodies are ignored
_MAX_NAMES = 48
TYPE_ONLY = "type alone"  # role of a name that is a use only if it refers to a type
_TOKEN = re.compile(r"\\.|//|/\*|\*/|[A-Za-z_]\w*+|[0-9][\w.]*+|->|##|\n|\S", re.DOTALL)
_END_TOKENS = {"//": "\n", "/*": "*/", '"': '"', "'": "'"}  # end tokens of comments and literals, by start token
_MEMBER_OPERATORS = frozenset({".", "->", "##", "#"})  # a name after one of these tokens is not looked up
_STATEMENT_TOKENS = frozenset("{;")  # tokens that mark a body with statements, whose names may be local variables
_KEYWORDS = frozenset(
    "if else for while do switch case default return goto break continue sizeof typeof struct union enum const void "
    "volatile int char long short unsigned signed float double static inline extern typedef register auto bool true "
    "false NULL nullptr defined template typename class namespace using new delete this throw try catch operator "
    "static_cast dynamic_cast reinterpret_cast const_cast constexpr noexcept alignof decltype _Generic __typeof__ "
    "__attribute__ __extension__ __VA_ARGS__ __FILE__ __LINE__ __func__".split()
)


class NameInMacro(NamedTuple):
    """A name in a macro body, its role, and its line relative to the first line of the body."""

    name: str
    role: str
    line: int


def names_in_macro(body: str, parameters: set[str]) -> list[NameInMacro]:
    """Return the called functions and possible types in a macro body; if the body is an expression, also other names.

    The list is empty if the body is too long or contains too many names.
    """
    if len(body) > _MAX_BODY_CHARACTERS:
        return []
    tokens = _code_tokens(_TOKEN.findall(body))
    is_expression = _STATEMENT_TOKENS.isdisjoint(tokens)
    found: list[NameInMacro] = []
    line, before = 0, ""
    for token, after in zip(tokens, _next_tokens(tokens), strict=True):
        is_name = (token[0].isalpha() or token[0] == "_") and token not in _KEYWORDS and token not in parameters
        if is_name and before not in _MEMBER_OPERATORS and after != "##":
            role = "call" if after == "(" else "read" if is_expression else TYPE_ONLY
            found.append(NameInMacro(token, role, line))
        line += token.count("\n")
        before = before if _is_blank(token) else token
    return found if len({each.name for each in found}) <= _MAX_NAMES else []


def _next_tokens(tokens: list[str]) -> list[str]:
    """Return the token after each token, ignoring line ends."""
    after, found = "", []
    for token in reversed(tokens):
        found.append(after)
        after = after if _is_blank(token) else token
    return found[::-1]


def _is_blank(token: str) -> bool:
    return token.endswith("\n")


def _code_tokens(tokens: list[str]) -> list[str]:
    """Return the tokens outside comments and literals, and all line ends."""
    kept: list[str] = []
    end = ""  # token that ends the open comment or literal
    for token in tokens:
        if end:
            kept += [token] if _is_blank(token) else []
            end = "" if token == end else end
        elif token in _END_TOKENS:
            end = _END_TOKENS[token]
        else:
            kept.append(token)
    return kept
