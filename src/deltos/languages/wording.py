"""The words around a definition: its signature and doc, cut out of bytes. Knows text, not syntax trees."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltos.languages.table import Language

SIGNATURE_CHARS = 200
DOC_CHARS = 300
_READ_BYTES = 1200  # enough for either, indentation and markers included

# @ and one of these words starts a definition, not an annotation
_AT_KEYWORDS = "type|typep|opaque|callback|macrocallback|interface|protocol|property|mixin|function|keyframes"
_ARGUMENTS = r"\((?:[^()]|\([^()]*\))*\)"
_ANNOTATION = rf"@(?!(?:{_AT_KEYWORDS})\b)[\w.:]+(?:{_ARGUMENTS})?"
_ATTRIBUTES = re.compile(rf"(?:(?:{_ANNOTATION}|#?\[[^\]]*\])\s*)+(?=[\w<])")
_HEADER_ENDS = ("=>", "{", "(", ":", "=", ";", ",", " do", " where", " end")
_HEADER_END = re.compile(r"(?:\s*(?:=>|[{(:=;,]|\b(?:do|where|end)))+$")
_DOC_STRINGS = ("@", '"')
_DOC_STRING = re.compile(r'^(?:@\w+\s+(?:~[sS])?)?"+|"+\s*$')


@dataclass(frozen=True, slots=True)
class Style:
    """How a language comments: what surrounds the words, a remark within a header, how a docstring starts."""

    markers: str
    remark: re.Pattern[str]
    docstring: re.Pattern[bytes] | None


@cache
def style(language: Language) -> Style:
    """The style of a language's comments."""
    prefixes = language.line_comments
    markers = " \t\r/*!" + ("".join(prefixes) or "()") + ("{}|^" if "--" in prefixes else "")
    remark = "|".join(map(re.escape, prefixes)) or r"\Z"
    docstring = language.docstring
    return Style(
        markers,
        re.compile(rf"(?:^|\s)(?:{remark}).*$", re.MULTILINE),
        None if docstring is None else re.compile(docstring.encode() + rb"(\"\"\"|'''|\"|')"),
    )


def signature(data: bytes, start: int, end: int, style: Style) -> str:
    """The header of a definition on one line."""
    text = data[start : min(end, start + _READ_BYTES)].decode("utf-8", "replace")
    if "\n" in text:
        text = style.remark.sub("", text)
    text = " ".join(text.split()).lstrip(", ")
    if text[:1] in ("@", "[", "#"):
        text = _ATTRIBUTES.sub("", text, count=1) or text
    if text.endswith(_HEADER_ENDS):
        text = _HEADER_END.sub("", text)
    return text if len(text) <= SIGNATURE_CHARS else text[: SIGNATURE_CHARS - 1] + "…"


def comment(data: bytes, start: int, end: int, style: Style) -> str:
    """The words of a comment, without its markers."""
    text = data[start : min(end, start + _READ_BYTES)].decode("utf-8", "replace")
    if text.startswith(_DOC_STRINGS):
        text = _DOC_STRING.sub("", text)
    return _paragraph(" ".join([line.strip(style.markers) for line in text.split("\n")]))


def docstring(data: bytes, start: int, style: Style) -> str:
    """The docstring that starts a body, empty if something else does."""
    opening = style.docstring.match(data, start) if style.docstring else None
    if opening is None:
        return ""
    limit = opening.end() + _READ_BYTES
    end = data.find(opening[1], opening.end(), limit)
    return _paragraph(data[opening.end() : limit if end < 0 else end].decode("utf-8", "replace"))


def _paragraph(text: str) -> str:
    return " ".join(text.split())[:DOC_CHARS].rstrip()
