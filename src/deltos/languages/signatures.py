"""Extract the signatures and doc comments of definitions from source bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltos.languages.table import Language

SIGNATURE_CHARS = 200  # maximum number of characters of a signature
DOC_CHARS = 300  # maximum number of characters of a doc comment
_MAX_READ_BYTES = 1200  # maximum number of bytes read for a signature or doc comment

# Words that begin a definition when they follow `@`, such as `@interface`, instead of an annotation.
_AT_KEYWORDS = "type|typep|opaque|callback|macrocallback|interface|protocol|property|mixin|function|keyframes"
_ARGUMENTS = r"\((?:[^()]++|\([^()]*+\))*+\)"
_ANNOTATION = re.compile(rf"@(?!(?:{_AT_KEYWORDS})\b)[\w.:]++(?:{_ARGUMENTS})?+\s*+")
_ATTRIBUTE_START = re.compile(r"[@#\[]")
_HEADER_SIGNS = tuple("{(:=;,")
_HEADER_ENDS = ("=>", *_HEADER_SIGNS, " do", " where", " end")
_HEADER_WORDS = ("do", "where", "end")
_DOC_STRINGS = ("@", '"')
_DOC_STRING_START = re.compile(r'(?:@\w++\s++(?:~[sS])?)?"+')
_OPENING_QUOTE = rb"(\"\"\"|'''|\"|')"
_PLAIN_DOCSTRING = re.compile(rb"[rRuU]?" + _OPENING_QUOTE)
_MODULE_DOC = re.compile(rb"do\s++@moduledoc\s++(?:~[sS])?" + _OPENING_QUOTE)
_DOCSTRINGS = {"plain": _PLAIN_DOCSTRING, "moduledoc": _MODULE_DOC}


@dataclass(frozen=True, slots=True)
class CommentStyle:
    """Comment syntax of a language: comment markers, line comment prefixes and docstring pattern."""

    markers: str
    line_comments: tuple[str, ...]
    docstring: re.Pattern[bytes] | None


@cache
def comment_style(language: Language) -> CommentStyle:
    """Return the comment syntax of a language."""
    prefixes = language.line_comments
    markers = " \t\r/*!" + ("".join(prefixes) or "()") + ("{}|^" if "--" in prefixes else "")
    return CommentStyle(markers, prefixes, _DOCSTRINGS[language.docstring] if language.docstring else None)


def signature(data: bytes, start: int, end: int, comment_style: CommentStyle) -> str:
    """Return the header of a definition as one line."""
    text = data[start : min(end, start + _MAX_READ_BYTES)].decode("utf-8", "replace")
    if "\n" in text:
        text = "\n".join([_without_comment(line, comment_style.line_comments) for line in text.split("\n")])
    text = " ".join(text.split()).lstrip(", ")
    if text[:1] in ("@", "[", "#"):
        text = _without_attributes(text) or text
    if text.endswith(_HEADER_ENDS):
        text = _without_header_end(text)
    return text if len(text) <= SIGNATURE_CHARS else text[: SIGNATURE_CHARS - 1] + "…"


def comment(data: bytes, start: int, end: int, comment_style: CommentStyle) -> str:
    """Return the text of a comment as one line without its markers."""
    text = data[start : min(end, start + _MAX_READ_BYTES)].decode("utf-8", "replace")
    if text.startswith(_DOC_STRINGS):
        text = _without_quotes(text)
    return _shorten_doc(" ".join([line.strip(comment_style.markers) for line in text.split("\n")]))


def docstring(data: bytes, start: int, comment_style: CommentStyle) -> str:
    """Return the docstring at the start of a body, or an empty string if there is none."""
    opening = comment_style.docstring.match(data, start) if comment_style.docstring else None
    if opening is None:
        return ""
    limit = opening.end() + _MAX_READ_BYTES
    end = data.find(opening[1], opening.end(), limit)
    return _shorten_doc(data[opening.end() : limit if end < 0 else end].decode("utf-8", "replace"))


def _without_comment(line: str, starts: tuple[str, ...]) -> str:
    """Return a line without its trailing comment, given the marks that start a comment."""
    for start in starts:
        at = line.find(start)
        while at > 0 and not line[at - 1].isspace():
            at = line.find(start, at + 1)
        if at >= 0:
            line = line[:at]
    return line


def _without_attributes(text: str) -> str:
    """Return a header without the annotations and attributes before its first word."""
    start = _ATTRIBUTE_START.search(text)
    while start is not None:
        end = _attributes_end(text, start.start())
        if end > start.start() and text[end : end + 1] and (text[end] in "<_" or text[end].isalnum()):
            return text[: start.start()] + text[end:]
        start = _ATTRIBUTE_START.search(text, max(end, start.end()))
    return text


def _attributes_end(text: str, at: int) -> int:
    """Return the offset after the annotations and attributes that start at `at`."""
    last_bracket = text.rfind("]")
    while True:
        if found := _ANNOTATION.match(text, at):
            at = found.end()
        elif text.startswith(("[", "#["), at) and at < last_bracket:
            at = text.index("]", at) + 1
            while text[at : at + 1].isspace():
                at += 1
        else:
            return at


def _without_header_end(text: str) -> str:
    """Return a header without the trailing characters and words that open its body, such as `{` and `do`."""
    while True:
        bare = text.rstrip()
        if bare.endswith("=>"):
            text = bare[:-2]
        elif bare.endswith(_HEADER_SIGNS):
            text = bare[:-1]
        elif word := _last_word(bare):
            text = bare[: -len(word)]
        else:
            return bare


def _last_word(text: str) -> str:
    """Return the word at the end of a header that opens its body, such as `do`, or an empty string."""
    for word in _HEADER_WORDS:
        if text.endswith(word):
            before = text[-len(word) - 1 : -len(word)]
            return "" if before.isalnum() or before == "_" else word
    return ""


def _without_quotes(text: str) -> str:
    """Return a docstring without its quotes and without an attribute such as `@doc`."""
    if start := _DOC_STRING_START.match(text):
        text = text[start.end() :]
    bare = text.rstrip()
    return bare.rstrip('"') if bare.endswith('"') else text


def _shorten_doc(text: str) -> str:
    return " ".join(text.split())[:DOC_CHARS].rstrip()
