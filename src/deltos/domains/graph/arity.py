"""Count the arguments of a call and the parameters of a definition, each from one line of text.

Only languages in which every call passes exactly the declared parameters are supported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.declared.languages import traits_of
from deltos.domains.graph.source_lines import occurrences

if TYPE_CHECKING:
    from deltos.store.symbols import Symbol

_CLOSING_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_TYPE_PARAMETER_BRACKETS = {"<": ">", "[": "]"}
_MAX_LINE_CHARACTERS = 2_000


def parameter_count(row: Symbol) -> int | None:
    """Return the number of arguments that every call of a definition must pass, or None if the number is unknown."""
    if not traits_of(row.path).has_exact_arity or "..." in row.signature:
        return None
    text = row.signature[:_MAX_LINE_CHARACTERS]
    for at in occurrences(text, row.name):
        start = _skip_type_parameters(text, at + len(row.name))
        if text[start : start + 1] == "(":
            # Quotes are not treated as string delimiters here, because `'` begins a lifetime in Rust.
            parts = _split_arguments(text, start, {**_CLOSING_BRACKETS, "<": ">"}, quotes="")
            return None if parts is None else sum(not _takes_no_argument(part) for part in parts)
    return None


def argument_count(line: str, name: str) -> int | None:
    """Return the number of arguments in the only call of `name` on a line, or None if the number is unknown."""
    places = occurrences(line[:_MAX_LINE_CHARACTERS], name)
    if len(places) != 1:
        return None
    start = places[0] + len(name)
    if line[start : start + 1] != "(":
        return None
    parts = _split_arguments(line[:_MAX_LINE_CHARACTERS], start, _CLOSING_BRACKETS)
    # The count is unknown if a `<` occurs, because commas between type arguments separate no arguments. It is also
    # unknown if the only argument is a call, because a call in Go may return several values.
    if parts is None or any("<" in part for part in parts) or (len(parts) == 1 and parts[0].endswith(")")):
        return None
    return len(parts)


def _skip_type_parameters(text: str, at: int) -> int:
    """Return the offset after the type parameters that begin at `at`."""
    if text[at : at + 1] not in _TYPE_PARAMETER_BRACKETS:
        return at
    closing, opening, depth = _TYPE_PARAMETER_BRACKETS[text[at]], text[at], 0
    for place in range(at, len(text)):
        depth += (text[place] == opening) - (text[place] == closing)
        if not depth:
            return place + 1
    return at


def _split_arguments(text: str, start: int, closing: dict[str, str], quotes: str = "\"'`") -> list[str] | None:
    """Return the items of the bracketed list that begins at `start`, or None if the list is not closed on this line."""
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


def _takes_no_argument(part: str) -> bool:
    """Whether a parameter needs no argument in a call, such as Rust's `&mut self` or C's `void`."""
    return part == "void" or part.partition(":")[0].rpartition(" ")[2].lstrip("&") == "self"
