"""Detect secrets in text by format, by the name of the value, by context, and by command-line options.

All searches take linear time: fixed strings are found with `str.find`, and patterns look only a bounded distance ahead.
"""

from __future__ import annotations

import re

from deltos.redaction.arguments import find_arguments
from deltos.redaction.blocks import find_blocks, public_blocks
from deltos.redaction.formats import find_formatted
from deltos.redaction.named_values import find_named
from deltos.redaction.spans import SecretSpan, lower, merge_spans
from deltos.redaction.tables import find_labelled
from deltos.redaction.tokens import find_tokens, long_words

__all__ = ["MARK", "SecretSpan", "find_secrets", "find_secrets_in_answer"]

MARK = "[redacted:"
_REDACTION_MARK = r"\[redacted:[0-9]?[a-z-]{2,40}\]"
_ESCAPE = r"\\{1,8}(?:u00([0-7][0-9a-fA-F])|([\"'/nrt])|(\r?\n))"
_ESCAPED_CHARACTERS = {"n": "\n", "r": "\n", "t": "\t"}


def find_secrets(text: str) -> list[SecretSpan]:
    """Return the spans of secrets in a text, in order and without overlaps; existing redaction marks are ignored."""
    text = _mask_redaction_marks(text)
    spans = _find_in_text(text)
    if "\\" in text:
        spans += _find_in_unescaped_text(text)
    return merge_spans(spans)


def find_secrets_in_answer(question: str, answer: str, *, is_typed: bool) -> list[SecretSpan]:
    """Return the spans of the secrets in an answer that the question asks for."""
    from deltos.redaction.answers import find_answer_secrets  # deferred, because few events contain an answer

    return list(find_answer_secrets(question, _mask_redaction_marks(answer), is_typed=is_typed))


def _mask_redaction_marks(text: str) -> str:
    """Return the text with redaction marks overwritten by `*`, at the same offsets."""
    return re.sub(_REDACTION_MARK, lambda mark: "*" * len(mark[0]), text) if MARK in text else text


def _find_in_text(text: str) -> list[SecretSpan]:
    """Find secrets with all detectors, except in certificates, public keys and other public blocks."""
    lowered = lower(text)
    words = long_words(text)
    spans = [
        *find_blocks(text, lowered, words),
        *find_formatted(text, lowered),
        *find_arguments(text, lowered),
        *find_named(text, lowered),
        *find_labelled(text, lowered),
        *find_tokens(text, lowered, words),
    ]
    public = public_blocks(text, lowered)
    return [span for span in spans if not any(start <= span.start < end for start, end in public)]


def _find_in_unescaped_text(text: str) -> list[SecretSpan]:
    """Find secrets that appear only after JSON and shell escapes are resolved.

    The spans refer to the original text.
    """
    plain: list[str] = []
    # Pairs of corresponding offsets in the unescaped text and in the original text
    starts: list[tuple[int, int]] = [(0, 0)]
    last = size = 0
    for escape in re.finditer(_ESCAPE, text):
        kept = text[last : escape.start()]
        letter = _unescape(escape)
        plain += (kept, letter)
        size += len(kept)
        starts.append((size, escape.start()))
        size += len(letter)
        last = escape.end()
        starts.append((size, last))
    if not plain:
        return []
    plain.append(text[last:])
    return [
        SecretSpan(_original_offset(starts, s), _original_offset(starts, e), kind)
        for s, e, kind in _find_in_text("".join(plain))
    ]


def _unescape(escape: re.Match[str]) -> str:
    """Return the character that an escape sequence represents, or an empty string for a line continuation."""
    if escape[1]:
        return chr(int(escape[1], 16))
    return "" if escape[3] else _ESCAPED_CHARACTERS.get(escape[2], escape[2])


def _original_offset(starts: list[tuple[int, int]], offset: int) -> int:
    """Convert an offset in the unescaped text to an offset in the original text."""
    from bisect import bisect_right  # deferred, because few texts have escapes

    plain, original = starts[bisect_right(starts, (offset, 1 << 60)) - 1]
    return original + offset - plain
