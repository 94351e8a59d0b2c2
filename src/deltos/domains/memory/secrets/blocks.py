"""Secrets of several lines: private keys, with or without their first line, and seed phrases."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.domains.memory.secrets.looks import is_random
from deltos.domains.memory.secrets.spans import SecretSpan, offsets

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEGIN = "-----begin "
_LONGEST_LABEL = 80
# What may stand before and after a line: marks of diffs, quotations and lists, line numbers, quotes.
_LEAD = r"[ \t+>|#*-]*+(?:\d{1,6}[:\t→|][ \t]*+)?"
_ENDS = "\r \t\"',\\;"
_BASE64 = r"[A-Za-z0-9+/]++={0,2}"
_HEADERS = ("Proc-Type:", "DEK-Info:", "Version:", "Comment:", "Charset:", "Hash:", "Key:")
_LONGEST_BODY_LINE = 100
_KEY_WIDTHS = (64, 70)  # PEM and PuTTY, OpenSSH
_SHORTEST_REST = 20  # of a line that `tail -c` cut
_WORD = r"[A-Za-z]++"
_BETWEEN = r"[\s,\"'+>|*-]{1,12}(?:\d{1,2}[.):]?\s{1,4})?"
_LETTERS_ONLY = {ord(sign): " " for sign in "0123456789\"'`.,:;()[]{}=<>|/\\+-_*#"}
_SHORTEST_PHRASE = 12
_TWELVE = b"\1" * _SHORTEST_PHRASE


def find_blocks(text: str, lowered: str, words: list[tuple[int, str]]) -> Iterator[SecretSpan]:
    """Private keys and seed phrases."""
    for at, end, label in _armoured(text, lowered):
        if "private" in label:
            yield SecretSpan(at, end, "private-key")
    yield from _putty(text, lowered)
    if any(len(word) >= min(_KEY_WIDTHS) and _body(word)[0] in _KEY_WIDTHS for _, word in words):
        yield from _bodies(text)
    yield from _seed_phrases(text, lowered)


def public_blocks(text: str, lowered: str) -> list[tuple[int, int]]:
    """Where certificates, public keys and signatures stand: random-looking, but public."""
    return [(at, end) for at, end, label in _armoured(text, lowered) if "private" not in label]


def _armoured(text: str, lowered: str) -> Iterator[tuple[int, int, str]]:
    """Blocks that begin with a BEGIN line: where, and what it says."""
    done = 0
    for at, following in pairwise((*offsets(lowered, _BEGIN), len(text))):
        label_end = lowered.find("-----", at + len(_BEGIN), at + len(_BEGIN) + _LONGEST_LABEL)
        if at >= done and label_end >= 0:
            done = _block_end(text, lowered, label_end + 5, following)
            yield at, done, lowered[at + len(_BEGIN) : label_end]


def _block_end(text: str, lowered: str, at: int, limit: int) -> int:
    """Where a block ends: after its END line, or where lines no longer look like a key's; before the next one."""
    ending = lowered.find("-----end ", at, limit)
    if ending >= 0:
        closed = lowered.find("-----", ending + 9, ending + 9 + _LONGEST_LABEL)
        return closed + 5 if closed >= 0 else len(text)
    last = place = at
    for number, line in enumerate(text[at:limit].split("\n")):
        if number and line.strip() and not _body(line)[0] and not _is_header(line):
            break
        place += len(line) + 1
        last = place - 1 if line.strip() else last
    return min(last, limit)


def _body(line: str) -> tuple[int, int]:
    """How many letters of base64 a line has besides marks, and where they begin; 0 when it has anything else."""
    lead = re.match(_LEAD, line)
    start = lead.end() if lead else 0
    inner = line[start:].rstrip(_ENDS)
    width = len(inner)
    return (width, start) if 3 < width <= _LONGEST_BODY_LINE and re.fullmatch(_BASE64, inner) else (0, start)


def _is_header(line: str) -> bool:
    lead = re.match(_LEAD, line)
    return line.startswith(_HEADERS, lead.end() if lead else 0)


def _putty(text: str, lowered: str) -> Iterator[SecretSpan]:
    done = 0
    for begin in offsets(lowered, "private-lines:"):
        if begin >= done:
            mac = lowered.find("private-mac:", begin)
            end = lowered.find("\n", mac) if mac >= 0 else -1
            done = end if end >= 0 else len(text)
            yield SecretSpan(begin, done, "private-key")


def _bodies(text: str) -> Iterator[SecretSpan]:
    """Lines of a key whose first line is not there: a tail of it, or the changed lines of a diff."""
    place = 0
    run: list[tuple[SecretSpan, bool]] = []  # consecutive lines of base64, and whether each is a whole line of a key
    for line in text.split("\n"):
        width, start = _body(line)
        if width:
            whole = width in _KEY_WIDTHS and is_random(line[start : start + width])
            run.append((SecretSpan(place + start, place + start + width, "private-key"), whole))
        else:
            yield from _key_lines(run)
            run = []
        place += len(line) + 1
    yield from _key_lines(run)


def _key_lines(run: list[tuple[SecretSpan, bool]]) -> Iterator[SecretSpan]:
    """What belongs to a key in a run of lines that look like base64: from its first long line to the one after its
    last whole line, which is the rest of it."""
    last = max((number for number, (_, whole) in enumerate(run) if whole), default=-1)
    if last < 0:
        return
    long_enough = (number for number, (span, _) in enumerate(run) if span.end - span.start >= _SHORTEST_REST)
    for span, _ in run[min(long_enough) : last + 2]:
        yield span


def _seed_phrases(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Twelve or more words of the list in a row, numbered or not."""
    known = seed_words()
    if _TWELVE not in bytes(map(known.__contains__, lowered.translate(_LETTERS_ONLY).split())):
        return
    run: list[re.Match[str]] = []
    for word in re.finditer(_WORD, text):
        is_known = word[0].islower() and word[0] in known
        if is_known and (not run or re.fullmatch(_BETWEEN, text[run[-1].end() : word.start()])):
            run.append(word)
            continue
        yield from _phrase(run)
        run = [word] if is_known else []
    yield from _phrase(run)


def _phrase(run: list[re.Match[str]]) -> Iterator[SecretSpan]:
    """A run of twelve or more that begins with few words twice: lists of fields repeat themselves sooner."""
    first = {word[0] for word in run[:_SHORTEST_PHRASE]}
    if len(run) >= _SHORTEST_PHRASE and len(first) >= 0.7 * _SHORTEST_PHRASE:
        yield SecretSpan(run[0].start(), run[-1].end(), "seed-phrase")


@cache
def seed_words() -> frozenset[str]:
    """The 2,048 English words of BIP-39."""
    return frozenset(Path(__file__).with_name("seed_words.txt").read_text("ascii").split())
