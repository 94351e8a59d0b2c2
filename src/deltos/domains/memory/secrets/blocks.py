"""Secrets of several lines: private keys, with or without their first line, and seed phrases."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.domains.memory.secrets.looks import is_random
from deltos.domains.memory.secrets.spans import Span, places

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEGIN = re.compile(r"-----BEGIN ([A-Z0-9 _-]{0,60}?)-----")
_END = re.compile(r"-----END [A-Z0-9 _-]{0,60}-----")
# What may stand before a line: marks of diffs and quotations, line numbers.
_LEAD = r"[ \t]*(?:[+>|#*-][ \t]*)?(?:\d{1,6}[:\t→|-][ \t]*)?"
_BODY_LINE = re.compile(rf"{_LEAD}[A-Za-z0-9+/]{{4,100}}={{0,2}}[ \t\"',\\]{{0,4}}$")
_HEADER_LINE = re.compile(rf"{_LEAD}(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash): .{{0,100}}$|{_LEAD}$")
_KEY_LINE = re.compile(rf"{_LEAD}([A-Za-z0-9+/]{{64}}|[A-Za-z0-9+/]{{70}})$")
_KEY_LINE_LENGTH = 64
_LINE_ENDS = "\r \t\"',\\"
_PUTTY = "putty-user-key-file"
_WORD = re.compile(r"[A-Za-z]+")
_LETTERS_ONLY = {ord(sign): " " for sign in "0123456789\"'`.,:;()[]{}=<>|/\\-_*#"}
_BETWEEN = re.compile(r"[\s,\"']{1,12}(?:\d{1,2}[.):]?\s{1,4})?")
_SHORTEST_PHRASE = 12
_TWELVE = b"\1" * _SHORTEST_PHRASE


def find_blocks(text: str, lowered: str, words: list[tuple[int, str]]) -> Iterator[Span]:
    """Private keys and seed phrases."""
    yield from _armoured(text, lowered)
    yield from _putty(text, lowered)
    if any(len(word) >= _KEY_LINE_LENGTH and _KEY_LINE.match(word.rstrip(_LINE_ENDS)) for _, word in words):
        yield from _bodies(text)
    yield from _seed_phrases(text, lowered)


def public_blocks(text: str, lowered: str) -> list[tuple[int, int]]:
    """Certificates, public keys and signatures: random, and nobody's secret."""
    found: list[tuple[int, int]] = []
    for at in places(lowered, "-----begin "):
        begin = _BEGIN.match(text, at)
        if begin is not None and "PRIVATE" not in begin[1]:
            found.append((at, _block_end(text, begin.end())))
    return found


def _armoured(text: str, lowered: str) -> Iterator[Span]:
    for at in places(lowered, "-----begin "):
        begin = _BEGIN.match(text, at)
        if begin is not None and "PRIVATE" in begin[1]:
            yield Span(at, _block_end(text, begin.end()), "private-key")


def _block_end(text: str, at: int) -> int:
    """Where a block ends: after its END line, or where lines no longer look like a key's."""
    ending = text.find("-----END ", at)
    following = text.find("-----BEGIN ", at)
    if ending >= 0 and (following < 0 or ending < following):
        match = _END.match(text, ending)
        return match.end() if match else len(text)
    line_start = at
    last = at
    while line_start < len(text):
        line_end = text.find("\n", line_start)
        line_end = line_end if line_end >= 0 else len(text)
        line = text[line_start:line_end].rstrip("\r")
        if line_start > at and not _BODY_LINE.match(line) and not _HEADER_LINE.match(line):
            return last
        last = line_end if line.strip() else last
        line_start = line_end + 1
    return len(text)


def _putty(text: str, lowered: str) -> Iterator[Span]:
    for at in places(lowered, _PUTTY):
        begin = lowered.find("private-lines:", at)
        if begin >= 0:
            mac = lowered.find("private-mac:", begin)
            end = lowered.find("\n", mac) if mac >= 0 else -1
            yield Span(begin, end if end >= 0 else len(text), "private-key")


def _bodies(text: str) -> Iterator[Span]:
    """Lines of a key whose first line is not there: a tail of it, or the changed lines of a diff."""
    inside = False
    at = 0
    for line in text.split("\n"):
        key = _KEY_LINE.match(line.rstrip(_LINE_ENDS))
        if key is not None and is_random(key[1]):
            yield Span(at + key.start(1), at + key.end(1), "private-key")
            inside = True
        elif inside and line.strip() and _BODY_LINE.match(line):
            start = len(line) - len(line.lstrip(" \t+>|#*-"))
            yield Span(at + start, at + len(line.rstrip()), "private-key")
            inside = False
        else:
            inside = False
        at += len(line) + 1


def _seed_phrases(text: str, lowered: str) -> Iterator[Span]:
    """Twelve or more words of the list in a row, numbered or not."""
    known = seed_words()
    marks = bytes(map(known.__contains__, lowered.translate(_LETTERS_ONLY).split()))
    if _TWELVE not in marks:
        return
    run: list[re.Match[str]] = []
    for word in _WORD.finditer(text):
        if word[0].islower() and word[0] in known and (not run or _BETWEEN.fullmatch(text, run[-1].end(), word.start())):
            run.append(word)
            continue
        yield from _phrase(run)
        run = [word] if word[0].islower() and word[0] in known else []
    yield from _phrase(run)


def _phrase(run: list[re.Match[str]]) -> Iterator[Span]:
    """A run of twelve or more, unless it repeats itself as lists of fields do."""
    if len(run) >= _SHORTEST_PHRASE and len({word[0] for word in run}) >= 0.8 * len(run):
        yield Span(run[0].start(), run[-1].end(), "seed-phrase")


@cache
def seed_words() -> frozenset[str]:
    """The 2,048 English words of BIP-39."""
    return frozenset(Path(__file__).with_name("seed_words.txt").read_text("ascii").split())
