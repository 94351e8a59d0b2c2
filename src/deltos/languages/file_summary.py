"""Summary of a file: the first sentence of its docstring or header comment.

Licences, shebang lines, editor settings and statements such as `package` are skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.languages.table import PROSE_LANGUAGES, detect

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MAX_READ_LINES = 80  # maximum number of lines that are read, which is enough to skip a licence
_MAX_LINE_CHARACTERS = 400  # maximum number of characters of a line; the rest is ignored
_MIN_PROSE_WORDS = 5  # minimum number of words of a sentence in a prose file
_MIN_LETTER_SHARE = 0.6  # minimum share of letters in a line of text; lines with a smaller share are drawings
_DOC_QUOTES = ('"""', "'''")
_BLOCK_COMMENT_MARKS = (("/*", "*/"), ("<!--", "-->"), ("{-", "-}"), ("(*", "*)"), ("=begin", "=end"), ("--[[", "]]"))
_LINE_COMMENT_MARKS = ("//", "#", "--", ";", "%", "*")
_STRIPPED_CHARACTERS = "/*#!-;%=~_+<>|{}()[]\"' \t"
_LEGAL_PHRASES = (
    "copyright",
    "license",
    "licence",
    "spdx",
    "all rights reserved",
    "redistribut",
    "warrant",
    "maintainer ",
)
_EDITOR_SETTINGS = (
    "-*-", "vim:", "eslint", "prettier", "@ts-", "noqa", "type: ignore", "pylint:", "frozen_string_literal", "go:build",
    "+build", "istanbul", "jshint", "@flow", "@generated", "shellcheck", "coding:", "#region", "@format", "rubocop:",
    "{-#", ":markup:", "this file is part of",
)  # fmt: skip
# Beginnings of statements that may come before the header comment.
_PREAMBLE_STARTS = (
    "<?php", "'use strict'", '"use strict"', "'use client'", '"use client"', "#ifndef", "#define", "#pragma", "#ifdef",
    "package ", "from __future__", "declare(strict_types", "namespace ", "<?xml", "defmodule ",
)  # fmt: skip


def summarise_file(path: str, head: str) -> str:
    """Return the first sentence of the description at the start of a file, or an empty string."""
    lines = [line[:_MAX_LINE_CHARACTERS] for line in head.split("\n", _MAX_READ_LINES)[:_MAX_READ_LINES]]
    language = detect(path, head[:200].encode())
    if language is not None and language.name in PROSE_LANGUAGES:
        return _summarise_prose(lines)
    marks = (language.line_comments if language else ()) or _LINE_COMMENT_MARKS
    for comment in _comments(lines, marks):
        for paragraph in comment:
            text = " ".join(paragraph)
            if _is_legal(text):
                break  # skip the rest of the comment
            return _first_sentence(text)
    return ""


def _is_legal(text: str) -> bool:
    lowered = text.lower()
    return any(word in lowered for word in _LEGAL_PHRASES)


def _summarise_prose(lines: Sequence[str]) -> str:
    """Return the first sentence of a prose file, or its first heading."""
    line_text = [line.strip() for line in lines]
    prose = (
        text
        for text in line_text
        if len(text.split()) >= _MIN_PROSE_WORDS and text[0].isalnum() and "](" not in text[:40]
    )
    heading = (text.strip(_STRIPPED_CHARACTERS) for text in line_text if any(char.isalpha() for char in text))
    return _first_sentence(next(prose, "")) or next(heading, "")


def _comments(lines: Sequence[str], marks: Sequence[str]) -> Iterator[list[list[str]]]:
    """Yield the comments and docstrings before the first statement, each as paragraphs of lines."""
    comment: list[list[str]] = [[]]
    end = ""  # closing mark of the comment that is currently open
    for number, line in enumerate(lines):
        text = line.strip().lstrip("\ufeff")
        if not end:
            opened = _block_marks(text)
            if opened is not None or not text.startswith(tuple(marks)):
                yield [paragraph for paragraph in comment if paragraph]
                comment = [[]]
            if opened is not None:
                start, end = opened
                text = text.partition(start)[2]
            elif not text or text.startswith(_PREAMBLE_STARTS):
                continue
            elif not text.startswith(tuple(marks)):
                return
        is_last = bool(end) and end in text
        line_text = _line_text(text.partition(end)[0] if is_last else text, number)
        if line_text:
            comment[-1].append(line_text)
        else:
            comment.append([])
        if is_last:
            end = ""
            yield [paragraph for paragraph in comment if paragraph]
            comment = [[]]
    yield [paragraph for paragraph in comment if paragraph]


def _block_marks(text: str) -> tuple[str, str] | None:
    """Return the opening and closing marks of a block comment or docstring, or None if none begins on the line."""
    bare = text.removeprefix("@moduledoc ").lstrip("rRuUsS~") if not text.startswith("/") else text
    for quote in _DOC_QUOTES:
        if bare.startswith(quote):
            return quote, quote
    if bare[:1] in ("'", '"') and bare.count(bare[0]) >= 2 and not bare.startswith(("'use", '"use')):
        return bare[0], bare[0]
    return next(((start, end) for start, end in _BLOCK_COMMENT_MARKS if text.startswith(start)), None)


def _line_text(text: str, number: int) -> str:
    """Return the text of a comment line without comment marks, or an empty string for a directive or a drawing."""
    lowered = text.lower()
    if (number == 0 and text.startswith("#!")) or any(mark in lowered for mark in _EDITOR_SETTINGS):
        return ""
    if "(c)" in lowered:
        return "copyright"
    line_text = text.strip(_STRIPPED_CHARACTERS)
    letters = sum(char.isalpha() for char in line_text)
    is_drawing = letters < _MIN_LETTER_SHARE * sum(not char.isspace() for char in line_text)
    return "" if is_drawing or line_text.startswith(("@", "\\")) else line_text


def _first_sentence(text: str) -> str:
    end = text.find(". ")
    return text if end < 0 else text[: end + 1]
