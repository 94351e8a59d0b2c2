"""Search for names in the bodies of C macros. Each use of a macro counts as a use of these names."""

from __future__ import annotations

import re
from typing import NamedTuple

_MAX_BODY_CHARACTERS = 4_000  # maximum length of a macro body; the names in longer bodies are ignored
_MAX_NAMES = 48
TYPE_ONLY = "type alone"  # role of a name that counts as a use only if it refers to a type
_TOKEN = re.compile(r"\\.|//|/\*|\*/|[A-Za-z_]\w*+|[0-9][\w.]*+|->|##|\n|\S", re.DOTALL)
# Token that ends a comment or literal, by the token that starts it.
_END_TOKENS = {"//": "\n", "/*": "*/", '"': '"', "'": "'"}
_MEMBER_OPERATORS = frozenset({".", "->", "##", "#"})  # tokens before names that are not looked up
# Tokens that occur only in macro bodies with statements. Names in such bodies may be local variables.
_STATEMENT_TOKENS = frozenset("{;")
_KEYWORDS = frozenset(
    "if else for while do switch case default return goto break continue sizeof typeof struct union enum const void "
    "volatile int char long short unsigned signed float double static inline extern typedef register auto bool true "
    "false NULL nullptr defined template typename class namespace using new delete this throw try catch operator "
    "static_cast dynamic_cast reinterpret_cast const_cast constexpr noexcept alignof decltype _Generic __typeof__ "
    "__attribute__ __extension__ __VA_ARGS__ __FILE__ __LINE__ __func__".split()
)


class NameInMacro(NamedTuple):
    """A name in a macro body, with its role and its line relative to the first line of the body."""

    name: str
    role: str
    line: int


def names_in_macro(body: str, parameters: set[str]) -> list[NameInMacro]:
    """Return the called functions and possible types in a macro body.

    If the body is an expression, other names are returned, too. If the body is too long or contains too many names,
    none are returned.
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
    end = ""  # the token that ends the current comment or literal, if any
    for token in tokens:
        if end:
            kept += [token] if _is_blank(token) else []
            end = "" if token == end else end
        elif token in _END_TOKENS:
            end = _END_TOKENS[token]
        else:
            kept.append(token)
    return kept
