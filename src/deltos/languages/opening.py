"""What a file says about itself where it begins: the first sentence of its docstring or header comment.

Licences, shebangs, editor settings and the statements that have to come first are passed over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.languages.table import PROSE_LANGUAGES, detect

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MOST_LINES = 80  # a licence may come first
_LONGEST_LINE = 400
_PROSE_WORDS = 5  # of a line that is a sentence, not a heading
_LEAST_LETTERS = 0.6  # share of the characters of a line that is no drawing
_DOC_QUOTES = ('"""', "'''")
_BLOCKS = (("/*", "*/"), ("<!--", "-->"), ("{-", "-}"), ("(*", "*)"), ("=begin", "=end"), ("--[[", "]]"))
_LINE_MARKS = ("//", "#", "--", ";", "%", "*")
_STRIPPED = "/*#!-;%=~_+<>|{}()[]\"' \t"
_LEGAL = ("copyright", "license", "licence", "spdx", "all rights reserved", "redistribut", "warrant", "maintainer ")
_SETTINGS = (
    "-*-", "vim:", "eslint", "prettier", "@ts-", "noqa", "type: ignore", "pylint:", "frozen_string_literal", "go:build",
    "+build", "istanbul", "jshint", "@flow", "@generated", "shellcheck", "coding:", "#region", "@format", "rubocop:",
    "{-#", ":markup:", "this file is part of",
)  # fmt: skip
# What may stand before the comment that tells about the file.
_PREAMBLE = (
    "<?php", "'use strict'", '"use strict"', "'use client'", '"use client"', "#ifndef", "#define", "#pragma", "#ifdef",
    "package ", "from __future__", "declare(strict_types", "namespace ", "<?xml", "defmodule ",
)  # fmt: skip


def opening_sentence(path: str, head: str) -> str:
    """The first sentence that a file says about itself, given its beginning; empty when it says nothing."""
    lines = [line[:_LONGEST_LINE] for line in head.split("\n", _MOST_LINES)[:_MOST_LINES]]
    language = detect(path, head[:200].encode())
    if language is not None and language.name in PROSE_LANGUAGES:
        return _title(lines)
    marks = (language.line_comments if language else ()) or _LINE_MARKS
    for comment in _comments(lines, marks):
        for paragraph in comment:
            text = " ".join(paragraph)
            if _is_legal(text):
                break  # and so is what follows it in the same comment
            return _sentence(text)
    return ""


def _is_legal(text: str) -> bool:
    lowered = text.lower()
    return any(word in lowered for word in _LEGAL)


def _title(lines: Sequence[str]) -> str:
    """The first sentence of prose that is no heading, badge or link; else its first heading."""
    told = [line.strip() for line in lines]
    prose = (text for text in told if len(text.split()) >= _PROSE_WORDS and text[0].isalnum() and "](" not in text[:40])
    heading = (text.strip(_STRIPPED) for text in told if any(char.isalpha() for char in text))
    return _sentence(next(prose, "")) or next(heading, "")


def _comments(lines: Sequence[str], marks: Sequence[str]) -> Iterator[list[list[str]]]:
    """The comments and docstrings before the first statement of the file, each as paragraphs of lines."""
    comment: list[list[str]] = [[]]
    end = ""  # of the block that is open
    for number, line in enumerate(lines):
        text = line.strip().lstrip("\ufeff")
        if not end:
            opened = _opened(text)
            if opened is not None or not text.startswith(tuple(marks)):
                yield [paragraph for paragraph in comment if paragraph]
                comment = [[]]
            if opened is not None:
                start, end = opened
                text = text.partition(start)[2]
            elif not text or text.startswith(_PREAMBLE):
                continue
            elif not text.startswith(tuple(marks)):
                return
        is_last = bool(end) and end in text
        told = _told(text.partition(end)[0] if is_last else text, number)
        if told:
            comment[-1].append(told)
        else:
            comment.append([])
        if is_last:
            end = ""
            yield [paragraph for paragraph in comment if paragraph]
            comment = [[]]
    yield [paragraph for paragraph in comment if paragraph]


def _opened(text: str) -> tuple[str, str] | None:
    """The marks of the block comment or docstring that a line opens."""
    bare = text.removeprefix("@moduledoc ").lstrip("rRuUsS~") if not text.startswith("/") else text
    for quote in _DOC_QUOTES:
        if bare.startswith(quote):
            return quote, quote
    if bare[:1] in ("'", '"') and bare.count(bare[0]) >= 2 and not bare.startswith(("'use", '"use')):
        return bare[0], bare[0]
    return next(((start, end) for start, end in _BLOCKS if text.startswith(start)), None)


def _told(text: str, number: int) -> str:
    """The words of a line, unless it is for machines or a drawing."""
    lowered = text.lower()
    if (number == 0 and text.startswith("#!")) or any(mark in lowered for mark in _SETTINGS):
        return ""
    if "(c)" in lowered:
        return "copyright"
    told = text.strip(_STRIPPED)
    letters = sum(char.isalpha() for char in told)
    is_drawn = letters < _LEAST_LETTERS * sum(not char.isspace() for char in told)
    return "" if is_drawn or told.startswith(("@", "\\")) else told


def _sentence(text: str) -> str:
    end = text.find(". ")
    return text if end < 0 else text[: end + 1]
