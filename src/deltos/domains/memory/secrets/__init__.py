"""Finds secrets in a text: by their own form, by their name, by their surroundings, by the command they are given to.

Nothing here searches with a pattern that could take more than linear time: literals are found with `str.find`, and
patterns look a bounded number of characters ahead from there.
"""

from __future__ import annotations

import re

from deltos.domains.memory.secrets.answers import secrets_asked_for
from deltos.domains.memory.secrets.arguments import find_arguments
from deltos.domains.memory.secrets.blocks import find_blocks, public_blocks
from deltos.domains.memory.secrets.names import find_named
from deltos.domains.memory.secrets.shapes import find_shapes
from deltos.domains.memory.secrets.spans import SecretSpan, lower, merged
from deltos.domains.memory.secrets.tokens import find_tokens, long_words

__all__ = ["MARK", "SecretSpan", "find_answered", "find_secrets"]

MARK = "[redacted:"
_MARKED = r"\[redacted:[0-9]?[a-z-]{2,40}\]"
_ESCAPE = r"\\{1,8}(?:u00([0-7][0-9a-fA-F])|([\"'/nrt])|(\r?\n))"
_ESCAPED = {"n": "\n", "r": "\n", "t": "\t"}


def find_secrets(text: str) -> list[SecretSpan]:
    """Where secrets stand in a text, in order and apart from each other. Marks of those taken out earlier are none."""
    text = _without_marks(text)
    spans = _found(text)
    if "\\" in text:
        spans += _found_unescaped(text)
    return merged(spans)


def find_answered(question: str, answer: str, *, is_typed: bool) -> list[SecretSpan]:
    """Where the secret stands in an answer that the question asks for. `is_typed`: the user wrote it."""
    return list(secrets_asked_for(question, _without_marks(answer), is_typed=is_typed))


def _without_marks(text: str) -> str:
    """The text at the same offsets, with nothing to be found where something was taken out earlier."""
    return re.sub(_MARKED, lambda mark: "*" * len(mark[0]), text) if MARK in text else text


def _found(text: str) -> list[SecretSpan]:
    lowered = lower(text)
    words = long_words(text)
    spans = [
        *find_blocks(text, lowered, words),
        *find_shapes(text, lowered),
        *find_arguments(text, lowered),
        *find_named(text, lowered),
        *find_tokens(text, lowered, words),
    ]
    public = public_blocks(text, lowered)
    return [span for span in spans if not any(start <= span.start < end for start, end in public)]


def _found_unescaped(text: str) -> list[SecretSpan]:
    """Secrets that only show once JSON's and the shell's escapes are undone, at their offsets in the text itself."""
    plain: list[str] = []
    starts: list[tuple[int, int]] = [(0, 0)]  # offsets in the unescaped text, and the same in the text
    last = size = 0
    for escape in re.finditer(_ESCAPE, text):
        kept = text[last : escape.start()]
        letter = _undone(escape)
        plain += (kept, letter)
        size += len(kept)
        starts.append((size, escape.start()))
        size += len(letter)
        last = escape.end()
        starts.append((size, last))
    if not plain:
        return []
    plain.append(text[last:])
    return [SecretSpan(_original(starts, s), _original(starts, e), kind) for s, e, kind in _found("".join(plain))]


def _undone(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16))
    return "" if escape[3] else _ESCAPED.get(escape[2], escape[2])


def _original(starts: list[tuple[int, int]], place: int) -> int:
    from bisect import bisect_right  # deferred: few texts have escapes

    plain, original = starts[bisect_right(starts, (place, 1 << 60)) - 1]
    return original + place - plain
