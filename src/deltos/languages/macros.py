"""Hides the macros that a C or C++ grammar stumbles over. Knows how they are written, not what they mean."""

from __future__ import annotations

import re

_WORD = rb"[A-Z][A-Z0-9_]{3,}"
_CALL = _WORD + rb"(?:\([^()\n]*\))?"
_STARTS = (
    rb"static|inline|constexpr|virtual|explicit|template|class|struct|void|bool|int|const|auto|friend|using|typename"
    rb"|extern|unsigned|enum|namespace"
)
_MACRO = re.compile(
    # alone at the start of a line: NAMESPACE_BEGIN
    rb"^(" + _WORD + rb")[ \t\r]*$"
    # before a declaration, on its line or above it: ALWAYS_INLINE void f()
    rb"|^[ \t]*(?:(" + _CALL + rb")[ \t\r]*(?=\n[ \t]*[A-Za-z_~]|(?:" + _STARTS + rb")\b)"
    # before the name of a class: class EXPORT Queue {
    rb"|(?:class|struct|union|enum)[ \t]+((?:" + _CALL + rb"[ \t]+)+)"
    rb"(?=\w+(?:<[^;{}]*>)?\s*(?:final\s*)?(?:\{|:[^:])))",
    re.MULTILINE,
)


def without_macros(data: bytes) -> bytes:
    """The source with blanks where such macros stood: every other byte keeps its place."""
    return _MACRO.sub(_blank, data)


def _blank(match: re.Match[bytes]) -> bytes:
    start, end = match.span(match.lastindex or 0)
    whole, offset = match[0], match.start()
    return whole[: start - offset] + b" " * (end - start) + whole[end - offset :]
