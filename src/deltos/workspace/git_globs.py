"""Translation of git's glob patterns to regular expressions for RE2. All patterns are bytes."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re

_SLASH = ord("/")
# Globs are matched against lists of names that are separated by NUL bytes, so no part of a pattern may match a NUL
# byte.
_ONE_CHARACTER = b"[^/\\x00]"
_ANY_CHARACTERS = b"[^\\x00]*"
_SPECIAL_CHARACTERS = frozenset(b"*?[\\")
_SPECIAL_REGEX_CHARACTERS = frozenset(b".^$*+?{}[]\\|()")
_CHARACTER_CLASSES = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, (*range(32), 127))),
    "digit": string.digits,
    "graph": "".join(map(chr, range(33, 127))),
    "lower": string.ascii_lowercase,
    "print": "".join(map(chr, range(32, 127))),
    "punct": string.punctuation,
    "space": string.whitespace,
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}


def compile_globs(regex: bytes) -> re.Pattern[bytes]:
    """Compile a regular expression that contains results of `translate`."""
    import re2  # deferred import of a compiled library that few ignore files need

    options = re2.Options()
    options.log_errors = False
    options.encoding = re2.Options.Encoding.LATIN1
    found: re.Pattern[bytes] = re2.compile(regex, options)
    return found


def translate(glob: bytes, *, is_path: bool) -> bytes | None:
    """Return a glob as a regular expression, or None if the glob never matches. `**` matches slashes only in paths."""
    pieces: list[bytes] = []
    at = 0
    while at < len(glob):
        match glob[at : at + 1]:
            case b"*":
                piece, at = _translate_stars(glob, at, is_path=is_path)
            case b"?":
                piece, at = _ONE_CHARACTER, at + 1
            case b"[":
                found = _translate_set(glob, at + 1)
                if found is None:
                    return None
                piece, at = found
            case b"\\":
                if at + 1 == len(glob):
                    return None
                piece, at = _literal_pattern(glob[at + 1]), at + 2
            case _:
                piece, at = _literal_pattern(glob[at]), at + 1
        pieces.append(piece)
    return b"".join(pieces)


def _translate_stars(glob: bytes, at: int, *, is_path: bool) -> tuple[bytes, int]:
    """Return the regular expression for a run of stars, and the end of the run.

    Two stars between slashes match any number of folders.
    """
    end = at
    while glob[end : end + 1] == b"*":
        end += 1
    # git compares the literal prefix separately, so two stars directly after that prefix match folders too.
    opens = glob[at - 1 : at] == b"/" or _SPECIAL_CHARACTERS.isdisjoint(glob[:at])
    if is_path and end - at > 1 and opens:
        if end == len(glob) or glob[end : end + 2] == b"\\/":
            return _ANY_CHARACTERS, end
        if glob[end : end + 1] == b"/":
            return b"(?:" + _ANY_CHARACTERS + b"/)?", end + 1
    return _ONE_CHARACTER + b"*", end


def _translate_set(glob: bytes, at: int) -> tuple[bytes, int] | None:
    """Return the regular expression for a set such as `[a-z]` and the end of the set, or None if the set is invalid."""
    is_negated = glob[at : at + 1] in (b"!", b"^")
    at += is_negated
    members: set[int] = set()
    first = at
    while at == first or glob[at : at + 1] != b"]":
        named = _parse_named_class(glob, at)
        found = _parse_range(glob, at) if named is None else named
        if not found:
            return None
        added, at = found
        members |= added
    if is_negated:
        members = set(range(1, 256)) - members
    return _byte_set_pattern(members - {_SLASH}), at + 1  # a set never matches a slash


def _parse_named_class(glob: bytes, at: int) -> tuple[set[int], int] | tuple[()] | None:
    """Parse a character class such as `[:alpha:]`. Return the class's members and end, or `()` for an unknown class."""
    end = glob.find(b"]", at + 2)
    if glob[at : at + 2] != b"[:" or end < at + 3 or glob[end - 1 : end] != b":":
        return None
    characters = _CHARACTER_CLASSES.get(glob[at + 2 : end - 1].decode("latin-1"))
    return () if characters is None else (set(characters.encode("ascii")), end + 1)


def _parse_range(glob: bytes, at: int) -> tuple[set[int], int] | tuple[()]:
    """Return the members and the end of a character or range, or `()` if the glob ends before the range does."""
    low, at = _parse_member(glob, at)
    if low is None:
        return ()
    if glob[at : at + 1] != b"-" or glob[at + 1 : at + 2] in (b"]", b""):
        return {low}, at
    high, at = _parse_member(glob, at + 1)
    return () if high is None else ({low, *range(low, high + 1)}, at)


def _parse_member(glob: bytes, at: int) -> tuple[int | None, int]:
    at += glob[at : at + 1] == b"\\"
    return (glob[at], at + 1) if at < len(glob) else (None, at)


def _byte_set_pattern(members: set[int]) -> bytes:
    if not members:
        return b"[^\\x00-\\xff]"
    return b"[" + b"".join(b"\\x%02x" % member for member in sorted(members)) + b"]"


def _literal_pattern(byte: int) -> bytes:
    return b"\\" + bytes((byte,)) if byte in _SPECIAL_REGEX_CHARACTERS else bytes((byte,))
