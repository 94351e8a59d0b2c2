"""Multi-line secrets: private keys with or without a header, and seed phrases."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.redaction.predicates import is_random
from deltos.redaction.spans import SecretSpan, offsets

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEGIN_MARK = "-----begin "
_MAX_LABEL_CHARACTERS = 80
# Text allowed before the content of a line: marks of diffs, quotations and lists, and line numbers.
_LINE_PREFIX = r"[ \t+>|#*-]*+(?:\d{1,6}[:\t→|][ \t]*+)?"
_LINE_SUFFIX_CHARACTERS = "\r \t\"',\\;"
_BASE64 = r"[A-Za-z0-9+/]++={0,2}"
_ARMOUR_HEADERS = ("Proc-Type:", "DEK-Info:", "Version:", "Comment:", "Charset:", "Hash:", "Key:")
_MAX_BODY_LINE_CHARACTERS = 100
_KEY_WIDTHS = (64, 70)  # line widths of keys: 64 in PEM and PuTTY, 70 in OpenSSH
_MIN_FIRST_LINE_CHARACTERS = 20  # minimum length of the first line of a key, which may be truncated
_WORD = r"[A-Za-z]++"
_WORD_SEPARATOR = r"[\s,\"'+>|*-]{1,12}(?:\d{1,2}[.):]?\s{1,4})?"
_NON_LETTERS_TO_SPACES = {ord(sign): " " for sign in "0123456789\"'`.,:;()[]{}=<>|/\\+-_*#"}
_MIN_PHRASE_WORDS = 12
_PHRASE_LENGTHS = (12, 15, 18, 21, 24)
_TWELVE_KNOWN_WORDS = b"\1" * _MIN_PHRASE_WORDS


def find_blocks(text: str, lowered: str, words: list[tuple[int, str]]) -> Iterator[SecretSpan]:
    """Yield private keys and seed phrases."""
    for at, end, label in _armoured_blocks(text, lowered):
        if "private" in label:
            yield SecretSpan(at, end, "private-key")
    yield from _putty_private_parts(text, lowered)
    if any(len(word) >= min(_KEY_WIDTHS) and _base64_width(word)[0] in _KEY_WIDTHS for _, word in words):
        yield from _keys_without_header(text)
    yield from _seed_phrases(text, lowered)


def public_blocks(text: str, lowered: str) -> list[tuple[int, int]]:
    """Return the spans of certificates, public keys and signatures, which look random but are not secret."""
    return [(at, end) for at, end, label in _armoured_blocks(text, lowered) if "private" not in label]


def _armoured_blocks(text: str, lowered: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and label of each block that begins with a BEGIN line, as in PEM files."""
    done = 0
    for at, following in pairwise((*offsets(lowered, _BEGIN_MARK), len(text))):
        label_end = lowered.find("-----", at + len(_BEGIN_MARK), at + len(_BEGIN_MARK) + _MAX_LABEL_CHARACTERS)
        if at >= done and label_end >= 0:
            done = _block_end(text, lowered, label_end + 5, following)
            yield at, done, lowered[at + len(_BEGIN_MARK) : label_end]


def _block_end(text: str, lowered: str, at: int, limit: int) -> int:
    """Return the end of a block: after its END line, or before the first line that cannot belong to a key."""
    ending = lowered.find("-----end ", at, limit)
    if ending >= 0:
        closed = lowered.find("-----", ending + 9, ending + 9 + _MAX_LABEL_CHARACTERS)
        return closed + 5 if closed >= 0 else len(text)
    last = place = at
    for number, line in enumerate(text[at:limit].split("\n")):
        if number and line.strip() and not _base64_width(line)[0] and not _is_header(line):
            break
        place += len(line) + 1
        last = place - 1 if line.strip() else last
    return min(last, limit)


def _base64_width(line: str) -> tuple[int, int]:
    """Return the length and the start of the base64 text in a line; the length is 0 if the line contains other text."""
    lead = re.match(_LINE_PREFIX, line)
    start = lead.end() if lead else 0
    inner = line[start:].rstrip(_LINE_SUFFIX_CHARACTERS)
    width = len(inner)
    return (width, start) if 3 < width <= _MAX_BODY_LINE_CHARACTERS and re.fullmatch(_BASE64, inner) else (0, start)


def _is_header(line: str) -> bool:
    """Whether a line is a header (such as `Proc-Type:`) in a block that begins with a BEGIN line."""
    lead = re.match(_LINE_PREFIX, line)
    return line.startswith(_ARMOUR_HEADERS, lead.end() if lead else 0)


def _putty_private_parts(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield the private part of PuTTY key files."""
    done = 0
    for begin in offsets(lowered, "private-lines:"):
        if begin >= done:
            mac = lowered.find("private-mac:", begin)
            end = lowered.find("\n", mac) if mac >= 0 else -1
            done = end if end >= 0 else len(text)
            yield SecretSpan(begin, done, "private-key")


def _keys_without_header(text: str) -> Iterator[SecretSpan]:
    """Yield the lines of keys without a BEGIN line, as at the end of a file or in a diff."""
    place = 0
    # Consecutive base64 lines; the flag of each is whether it is random and has the full width of a key.
    run: list[tuple[SecretSpan, bool]] = []
    for line in text.split("\n"):
        width, start = _base64_width(line)
        if width:
            whole = width in _KEY_WIDTHS and is_random(line[start : start + width])
            run.append((SecretSpan(place + start, place + start + width, "private-key"), whole))
        else:
            yield from _key_lines(run)
            run = []
        place += len(line) + 1
    yield from _key_lines(run)


def _key_lines(run: list[tuple[SecretSpan, bool]]) -> Iterator[SecretSpan]:
    """Yield the lines of a key: from the first long base64 line to the line after the last full-width line."""
    last = max((number for number, (_, whole) in enumerate(run) if whole), default=-1)
    if last < 0:
        return
    long_enough = (
        number for number, (span, _) in enumerate(run) if span.end - span.start >= _MIN_FIRST_LINE_CHARACTERS
    )
    for span, _ in run[min(long_enough) : last + 2]:
        yield span


def _seed_phrases(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield seed phrases of crypto wallets: twelve or more consecutive words of the BIP-39 list, numbered or not."""
    known = seed_words()
    if _TWELVE_KNOWN_WORDS not in bytes(map(known.__contains__, lowered.translate(_NON_LETTERS_TO_SPACES).split())):
        return
    run: list[re.Match[str]] = []
    for word in re.finditer(_WORD, text):
        is_known = word[0].islower() and word[0] in known
        if is_known and (not run or re.fullmatch(_WORD_SEPARATOR, text[run[-1].end() : word.start()])):
            run.append(word)
            continue
        yield from _phrase_span(run)
        run = [word] if is_known else []
    yield from _phrase_span(run)


def _phrase_span(run: list[re.Match[str]]) -> Iterator[SecretSpan]:
    """Yield the span of consecutive listed words if it is a seed phrase: twelve or more words, few repetitions."""
    # Few repetitions are required, because lists of field names repeat words more often than seed phrases.
    first = {word[0] for word in run[:_MIN_PHRASE_WORDS]}
    if len(run) >= _MIN_PHRASE_WORDS and (len(first) >= 0.7 * _MIN_PHRASE_WORDS or _has_checksum(run)):
        yield SecretSpan(run[0].start(), run[-1].end(), "seed-phrase")


def _has_checksum(run: list[re.Match[str]]) -> bool:
    """Whether the first or last words are a phrase whose final word contains a valid BIP-39 checksum."""
    words = [word[0] for word in run]
    return any(_is_valid_phrase(words[:size]) or _is_valid_phrase(words[-size:]) for size in _PHRASE_LENGTHS)


def _is_valid_phrase(words: list[str]) -> bool:
    """Whether the checksum of a BIP-39 phrase is valid.

    The last bits of a phrase are the checksum: the first bits of the digest of the other bits.
    """
    from deltos.digest import sha256  # deferred, because hooks rarely need it

    if len(words) not in _PHRASE_LENGTHS:
        return False
    numbers = list(seed_words())
    bits = "".join(f"{numbers.index(word):011b}" for word in words)
    checksum_bits = len(bits) // 33
    entropy = int(bits[:-checksum_bits], 2).to_bytes((len(bits) - checksum_bits) // 8, "big")
    return f"{sha256(entropy).digest()[0]:08b}"[:checksum_bits] == bits[-checksum_bits:]


@cache
def seed_words() -> dict[str, None]:
    """Return the 2,048 English words of BIP-39 in the order of the standard."""
    return dict.fromkeys(Path(__file__).with_name("seed_words.txt").read_text("ascii").split())
