"""Globs as in Python's `fnmatch`: `*` matches any text, `?` one character, `[a-z]` a set.

They run on RE2, because the standard library needs quadratic time for some globs.
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
_SHOWN_CHARACTERS = 60


def matches_glob(text: str, glob: str) -> bool:
    """Whether the glob matches the whole text; raises BadArgument for a glob that is too long."""
    return bool(_compiled(glob).fullmatch(text.encode("utf-8", "replace")))


def check_globs(globs: Sequence[str]) -> None:
    """Refuse invalid globs, and too many of them."""
    if len(globs) > MAX_GLOBS:
        raise BadArgument(f"{len(globs):,} patterns are too many", hint=f"Give at most {MAX_GLOBS}.")
    for glob in globs:
        _compiled(glob)


@lru_cache(maxsize=256)
def _compiled(glob: str) -> re.Pattern[bytes]:
    import re2  # deferred: a compiled library that few calls need

    if len(glob) > MAX_GLOB_CHARACTERS:
        raise BadArgument(
            f"The pattern '{glob[:_SHOWN_CHARACTERS]}…' is too long ({len(glob):,} characters)",
            hint=f"Give at most {MAX_GLOB_CHARACTERS} characters, such as 'docs/*'.",
        )
    options = re2.Options()
    options.log_errors = False
    found: re.Pattern[bytes] = re2.compile(f"(?s){_translated(glob)}".encode("utf-8", "replace"), options)
    return found


def _translated(glob: str) -> str:
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
            pieces.append(_literal(character))
        at += 1
    return "".join(pieces)


def _end_of_set(glob: str, at: int) -> int:
    """Return the end of the set that begins at `at`, or -1; a bracket in first position is a member."""
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
            ranges.append(f"{_literal(low)}-{_literal(high)}")
        at += 3 if is_range else 1
    if not ranges:
        return "." if is_negated else r"[^\x00-\x{10FFFF}]"
    return f"[{'^' if is_negated else ''}{''.join(ranges)}]"


def _literal(character: str) -> str:
    return f"\\x{{{ord(character):x}}}"
