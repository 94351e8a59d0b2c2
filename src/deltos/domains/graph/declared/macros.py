"""The names in the body of a macro of C, which stand wherever the macro is used. Knows tokens, not what they mean."""

from __future__ import annotations

import re
from typing import NamedTuple

_LONGEST_BODY = 4_000  # characters; longer ones are programs of their own
_MOST_NAMES = 48
TYPE_ALONE = "type alone"  # the role of a name that counts only where it means a type
_TOKEN = re.compile(r"\\.|//|/\*|\*/|[A-Za-z_]\w*+|[0-9][\w.]*+|->|##|\n|\S", re.DOTALL)
_ENDS = {"//": "\n", "/*": "*/", '"': '"', "'": "'"}  # of comments and literals, by what they begin with
_MEMBER = frozenset({".", "->", "##", "#"})  # before a name that is none of its own
_STATEMENT = frozenset("{;")  # what only statements have, whose names may be those of their own variables
_WORDS = frozenset(
    "if else for while do switch case default return goto break continue sizeof typeof struct union enum const void "
    "volatile int char long short unsigned signed float double static inline extern typedef register auto bool true "
    "false NULL nullptr defined template typename class namespace using new delete this throw try catch operator "
    "static_cast dynamic_cast reinterpret_cast const_cast constexpr noexcept alignof decltype _Generic __typeof__ "
    "__attribute__ __extension__ __VA_ARGS__ __FILE__ __LINE__ __func__".split()
)


class NameInMacro(NamedTuple):
    """A name, what it is used as, and how many lines below the first of the body."""

    name: str
    role: str
    line: int


def names_in_macro(body: str, parameters: set[str]) -> list[NameInMacro]:
    """The functions that a macro calls and the types that it names; where it is a mere expression, whatever else it
    names. Nothing of a macro that is too long to be plain."""
    if len(body) > _LONGEST_BODY:
        return []
    tokens = _code(_TOKEN.findall(body))
    is_expression = _STATEMENT.isdisjoint(tokens)
    found: list[NameInMacro] = []
    line, before = 0, ""
    for token, after in zip(tokens, _following(tokens), strict=True):
        is_name = (token[0].isalpha() or token[0] == "_") and token not in _WORDS and token not in parameters
        if is_name and before not in _MEMBER and after != "##":
            role = "call" if after == "(" else "read" if is_expression else TYPE_ALONE
            found.append(NameInMacro(token, role, line))
        line += token.count("\n")
        before = before if _is_blank(token) else token
    return found if len({each.name for each in found}) <= _MOST_NAMES else []


def _following(tokens: list[str]) -> list[str]:
    """The token after each, line ends passed over."""
    after, found = "", []
    for token in reversed(tokens):
        found.append(after)
        after = after if _is_blank(token) else token
    return found[::-1]


def _is_blank(token: str) -> bool:
    return token.endswith("\n")


def _code(tokens: list[str]) -> list[str]:
    """The tokens outside comments and literals, with all ends of lines."""
    kept: list[str] = []
    end = ""  # what ends the comment or literal that is open
    for token in tokens:
        if end:
            kept += [token] if _is_blank(token) else []
            end = "" if token == end else end
        elif token in _ENDS:
            end = _ENDS[token]
        else:
            kept.append(token)
    return kept
