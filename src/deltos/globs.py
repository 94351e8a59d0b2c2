"""Globs as in Python's `fnmatch`: `*` matches any text, `?` one character, `[a-z]` a set.

They are matched by RE2, because the standard library needs quadratic time for some globs.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from deltos.errors import BadArgument

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

MAX_GLOB_CHARACTERS = 500
MAX_GLOBS = 100
_MAX_SHOWN_CHARACTERS = 60  # maximum length of a glob in an error message


def matches_glob(text: str, glob: str) -> bool:
    """Whether the glob matches the entire text. Raise BadArgument if the glob is too long."""
    return bool(_compile_glob(glob).fullmatch(text.encode("utf-8", "replace")))


def check_globs(globs: Sequence[str]) -> None:
    """Raise BadArgument if a glob is invalid or there are too many."""
    if len(globs) > MAX_GLOBS:
        raise BadArgument(f"{len(globs):,} patterns are too many", hint=f"Pass at most {MAX_GLOBS} patterns.")
    for glob in globs:
        _compile_glob(glob)


@lru_cache(maxsize=256)
def _compile_glob(glob: str) -> re.Pattern[bytes]:
    import re2  # deferred import: few calls need this compiled library

    if len(glob) > MAX_GLOB_CHARACTERS:
        raise BadArgument(
            f"The pattern '{glob[:_MAX_SHOWN_CHARACTERS]}…' is too long ({len(glob):,} characters)",
            hint=f"Pass at most {MAX_GLOB_CHARACTERS} characters, such as 'docs/*'.",
        )
    options = re2.Options()
    options.log_errors = False
    found: re.Pattern[bytes] = re2.compile(f"(?s){_translate_glob(glob)}".encode("utf-8", "replace"), options)
    return found


def _translate_glob(glob: str) -> str:
    pieces: list[str] = []
    at = 0
    while at < len(glob):
        character = glob[at]
        end = _end_of_set(glob, at + 1) if character == "[" else -1
        if character == "*":
            pieces.append(".*")
        elif character == "?":
            pieces.append(".")
        elif end > 0:
            pieces.append(_translate_set(glob[at + 1 : end]))
            at = end
        else:
            pieces.append(_escape_character(character))
        at += 1
    return "".join(pieces)


def _end_of_set(glob: str, at: int) -> int:
    """Return the end of a character set, or -1 if it is not closed. A leading bracket belongs to the set."""
    at += glob[at : at + 1] == "!"
    return glob.find("]", at + 1)


def _translate_set(members: str) -> str:
    is_negated = members.startswith("!")
    members = members[is_negated:]
    ranges: list[str] = []
    at = 0
    while at < len(members):
        low = members[at]
        is_range = members[at + 1 : at + 2] == "-" and at + 2 < len(members)
        high = members[at + 2] if is_range else low
        if low <= high:
            ranges.append(f"{_escape_character(low)}-{_escape_character(high)}")
        at += 3 if is_range else 1
    if not ranges:
        return "." if is_negated else r"[^\x00-\x{10FFFF}]"
    return f"[{'^' if is_negated else ''}{''.join(ranges)}]"


def _escape_character(character: str) -> str:
    return f"\\x{{{ord(character):x}}}"
