"""Count the arguments of a call and the parameters of a definition, each from one line; None if the count is not
certain.

Only for languages in which a call must pass exactly the parameters that the definition declares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.declared.languages import traits_of
from deltos.domains.graph.source_lines import occurrences

if TYPE_CHECKING:
    from deltos.store.symbols import Symbol

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_GENERIC = {"<": ">", "[": "]"}
_MAX_CHARACTERS = 2_000


def parameter_count(row: Symbol) -> int | None:
    """Return the number of arguments that every call of a definition passes."""
    if not traits_of(row.path).has_exact_arity or "..." in row.signature:
        return None
    text = row.signature[:_MAX_CHARACTERS]
    for at in occurrences(text, row.name):
        start = _after_generics(text, at + len(row.name))
        if text[start : start + 1] == "(":
            parts = _split_arguments(text, start, {**_CLOSING, "<": ">"}, quotes="")  # `'` marks a lifetime
            return None if parts is None else sum(not _is_receiver(part) for part in parts)
    return None


def argument_count(line: str, name: str) -> int | None:
    """Return the number of arguments of the only call of a name on a line."""
    places = occurrences(line[:_MAX_CHARACTERS], name)
    if len(places) != 1:
        return None
    start = places[0] + len(name)
    if line[start : start + 1] != "(":
        return None
    parts = _split_arguments(line[:_MAX_CHARACTERS], start, _CLOSING)
    # `<` may open type arguments, whose commas do not separate arguments. In Go, one call may yield several arguments.
    if parts is None or any("<" in part for part in parts) or (len(parts) == 1 and parts[0].endswith(")")):
        return None
    return len(parts)


def _after_generics(text: str, at: int) -> int:
    """Return the offset after the type parameters that begin at `at`."""
    if text[at : at + 1] not in _GENERIC:
        return at
    closing, opening, depth = _GENERIC[text[at]], text[at], 0
    for place in range(at, len(text)):
        depth += (text[place] == opening) - (text[place] == closing)
        if not depth:
            return place + 1
    return at


def _split_arguments(text: str, start: int, closing: dict[str, str], quotes: str = "\"'`") -> list[str] | None:
    """Split the parenthesis at `start` at its commas; None if it does not end in this text."""
    open_marks = [")"]
    parts: list[str] = []
    begin, quote, place = start + 1, "", start + 1
    while place < len(text):
        mark = text[place]
        if quote:
            place += mark == "\\"
            quote = "" if mark == quote else quote
        elif mark in quotes:
            quote = mark
        elif mark in closing:
            open_marks.append(closing[mark])
        elif mark == open_marks[-1]:
            open_marks.pop()
            if not open_marks:
                return [part for part in (*parts, text[begin:place].strip()) if part]
        elif mark == "," and len(open_marks) == 1:
            parts.append(text[begin:place].strip())
            begin = place + 1
        place += 1
    return None


def _is_receiver(part: str) -> bool:
    """Whether a parameter takes no argument: Rust's `&mut self`, C's `void`."""
    return part == "void" or part.partition(":")[0].rpartition(" ")[2].lstrip("&") == "self"
