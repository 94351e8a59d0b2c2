"""Secrets that can be recognised without context: tokens with a known prefix, and long random values."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltos.redaction.predicates import is_hexadecimal, is_random, is_weakly_random
from deltos.redaction.spans import TOKEN_END, SecretSpan, line_around, offsets, run_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_VALUE_END = re.compile(r"[^A-Za-z0-9_+/~=-]")
_SEGMENT_END = re.compile(r"[^A-Za-z0-9_+~=-]")
_DIGIT = re.compile(r"[0-9]")
MIN_TOKEN_CHARACTERS = 16
# Prefixes that also occur in ordinary text. named_values.py finds tokens with these prefixes by the name next to the
# token.
_COMMON_PREFIXES = frozenset(["test_", "live_", "test_pub_", "live_pub_", "key-", "pubkey-", "API-", "v1.0-"])
# Tokens without a prefix; each entry has kind, required substring, minimum length and pattern.
_PATTERN_TOKENS: tuple[tuple[str, str, int, Callable[[], re.Pattern[str]]], ...] = (
    ("aws-access-key", "A", 20, lambda: re.compile(r"(?<![A-Z0-9])A(?:[KSB]IA|CCA|3T.)[A-Z0-9]{16}(?![A-Za-z0-9])")),
    ("telegram-token", ":", 37, lambda: re.compile(r"(?<![0-9])[0-9]{6,12}:[A-Za-z0-9_-]{30,50}+")),
    ("firebase-key", ":APA91b", 40, lambda: re.compile(r"[A-Za-z0-9_-]{4,20}:APA91b[A-Za-z0-9_-]{20,200}+")),
    ("asana-token", ":", 45, lambda: re.compile(r"(?<![0-9])[0-9]/[0-9]{10,20}(?:/[0-9]{10,20})?:[0-9a-f]{32}")),
    (
        "discord-token",
        ".",
        49,
        lambda: re.compile(r"(?<![A-Za-z0-9_-])[MNO][A-Za-z0-9_-]{20,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{20,60}+"),
    ),
    (
        "terraform-token",
        ".atlasv1.",
        39,
        lambda: re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{10,20}\.atlasv1\.[A-Za-z0-9_=-]{20,100}+"),
    ),
    ("sendgrid-key", "SG.", 23, lambda: re.compile(r"SG\.[A-Za-z0-9_-]{10,40}\.?[A-Za-z0-9_-]{10,60}+")),
    ("airtable-token", "pat", 38, lambda: re.compile(r"(?<![A-Za-z0-9])pat[A-Za-z0-9]{14}\.[0-9a-f]{20,64}+")),
    ("facebook-token", "|", 43, lambda: re.compile(r"(?<![0-9])[0-9]{15,16}\|[A-Za-z0-9_-]{27,40}")),
    ("mailchimp-key", "-us", 36, lambda: re.compile(r"(?<![0-9a-f])[0-9a-f]{32}-us[0-9]{1,2}")),
    ("maxmind-key", "_mmk", 31, lambda: re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{6}_[A-Za-z0-9]{20,40}_mmk")),
    (
        "azure-secret",
        "Q~",
        30,
        lambda: re.compile(r"(?<![A-Za-z0-9_~.])[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{24,40}+"),
    ),
    ("twilio-key", "SK", 34, lambda: re.compile(r"(?<![A-Za-z0-9])SK[0-9a-f]{32}(?![A-Za-z0-9])")),
    ("mailgun-key", "-", 50, lambda: re.compile(r"(?<![0-9a-f])[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![0-9a-f-])")),
)
_SECRECY_PATTERN = (
    r"(?<![a-z])(?:pass|secret|tokens?\b|key|auth|cred|pwd|login|bearer|signature)|password|passwd|secret|token\b|"
    r"(?:api|access|auth|private)key"
)
_DIGEST_PATTERN = r"commit|sha-?[0-9]|hash|digest|checksum|md5|rev(?:ision|-parse)?\b|etag|sum\b|tree\b|blob\b|id\b"
# Prefixes of random values that are public: digests of files, public keys.
_PUBLIC_PREFIX = r"(?:sha(?:1|224|256|384|512)|md5|h1)[-_:=]|AAAA[BCE][23N]"
_CASE_CHANGE = re.compile(r"[a-z](?=[A-Z])")
_KEY_WIDTHS = (64, 70)
# Text that precedes public keys, digests and embedded images.
_PUBLIC_VALUE_PREFIXES = (";base64,", "ssh-rsa ", "ssh-dss ", "ssh-ed25519 ", "sha256 ", 'integrity="', "integrity: ")


@cache
def _prefix_table() -> list[tuple[str, str, int]]:
    """Return each known token prefix with the kind of token and the minimum length of the text after the prefix.

    tokens.json contains formats from the documentation of the services, which are missing or outdated in gitleaks.
    """
    known = [row for row in _load("gitleaks.json")["tokens"] if row[1] not in _COMMON_PREFIXES]
    return [*_load("tokens.json")["tokens"], *known]


@cache
def _services() -> list[tuple[str, str, int, int]]:
    """Return, for each service: kind of secret, service name, and minimum and maximum length of its keys."""
    return [*_load("gitleaks.json")["services"]]


@cache
def _load(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(__file__).with_name(name).read_text("utf-8"))
    return data


def long_words(text: str) -> list[tuple[int, str]]:
    """Return the words that are long enough to contain a token, with the offsets of the words."""
    found: list[tuple[int, str]] = []
    at = 0
    # Short words are skipped, which makes the search fast.
    for word in [word for word in text.split() if len(word) >= MIN_TOKEN_CHARACTERS]:
        at = text.find(word, at)
        found.append((at, word))
        at += len(word)
    return found


def find_tokens(text: str, lowered: str, words: list[tuple[int, str]]) -> Iterator[SecretSpan]:
    """Yield tokens with a known prefix or pattern, and long random values."""
    joined = "\n".join(word for _, word in words if not (word.isalpha() and word.islower()))
    known = [row for row in _prefix_table() if row[1] in joined]
    for start, word in words:
        for kind, literal, min_characters in known:
            yield from _match_prefix(start, word, kind, literal, min_characters)
        yield from _match_patterns(start, word)
        if _DIGIT.search(word):
            yield from _random_values(text, lowered, start, word)


def _match_prefix(start: int, word: str, kind: str, literal: str, min_characters: int) -> Iterator[SecretSpan]:
    """Yield the tokens in a word that start with a known prefix."""
    done = 0
    for at in offsets(word, literal):
        if at < done or (at > 0 and word[at - 1].isalnum()):
            continue
        done = run_end(word, at + len(literal), TOKEN_END)
        tail = word[at + len(literal) : done].rstrip(".$%")
        first = tail.partition("/")[0]
        if (
            len(tail) >= min_characters
            and _looks_generated(first if len(first) >= min_characters else tail)
            and (kind != "jwt" or "." in tail)
        ):
            yield SecretSpan(start + at, start + at + len(literal) + len(tail), kind)


def _looks_generated(tail: str) -> bool:
    """Whether the text after a prefix looks machine-generated, because it has digits or irregular case."""
    digits = len(_DIGIT.findall(tail))
    changes = len(_CASE_CHANGE.findall(tail))
    return digits >= 2 or (digits == 1 and len(tail) < 12) or changes >= max(2, len(tail) // 8)


def _match_patterns(start: int, word: str) -> Iterator[SecretSpan]:
    """Yield the tokens in a word that are recognised by a pattern instead of a prefix."""
    for kind, sign, min_characters, pattern in _PATTERN_TOKENS:
        if len(word) >= min_characters and sign in word:
            for found in pattern().finditer(word):
                yield SecretSpan(start + found.start(), start + found.end(), kind)


def _random_values(text: str, lowered: str, start: int, word: str) -> Iterator[SecretSpan]:
    """Yield the random values in a word; the parts of a URL or path are checked separately."""
    stop = _SEGMENT_END if "://" in word or _is_path(word) else _VALUE_END
    at = 0
    while at < len(word):
        end = run_end(word, at, stop, max_characters=len(word))
        value = word[at:end].strip("=") if end - at >= MIN_TOKEN_CHARACTERS else ""
        place = start + at + word[at:end].find(value)
        if value and _is_secret_value(text, lowered, place, value):
            yield SecretSpan(place, start + end, "high-entropy")
        at = end + 1


def _is_secret_value(text: str, lowered: str, start: int, value: str) -> bool:
    """Whether a value is secret: random and not public, or weakly random next to a word such as `key`."""
    if is_random(value):
        return not _is_public(text, start, start + len(value))
    return is_weakly_random(value) and _is_on_line_with_secret_word(lowered, start, start + len(value), value)


def _is_path(word: str) -> bool:
    """Whether most segments between slashes are words, as in `/django/commit/…` but not in random text."""
    parts = [part for part in word.split("/") if len(part) > 2]
    return 2 * sum(part.isalpha() and (part.islower() or part.istitle()) for part in parts) >= len(parts) > 0


def _is_public(text: str, start: int, end: int) -> bool:
    """Whether a random value is public: a digest, a public key, a message id, or a line of an encoded file."""
    before = text[max(0, start - 80) : start]
    if (
        re.match(_PUBLIC_PREFIX, text[start : start + 8])
        or before.rstrip("\"' ").endswith(_PUBLIC_VALUE_PREFIXES)
        or "lore.kernel.org/" in before
    ):
        return True
    if text.startswith("@", end) and "://" not in before:
        return True
    return _is_encoded_file_line(text, start, end)


def _is_encoded_file_line(text: str, start: int, end: int) -> bool:
    """Whether a value is a line of an encoded file.

    Such a value is the only text on its line and is next to a line of the same width.
    """
    line_start, line_end = line_around(text, start)
    width = end - start
    if width in _KEY_WIDTHS or width < 40 or text[line_start:start].strip() or text[end:line_end].strip():
        return False
    return _has_line_of_width(text[max(0, line_start - width - 40) : line_start], width) or _has_line_of_width(
        text[line_end : line_end + 2 * width + 40], width
    )


def _has_line_of_width(nearby_lines: str, width: int) -> bool:
    """Whether a neighbouring line has the given width."""
    # Encoded files have lines of 60, 72 or 76 characters, keys have lines of 64 or 70.
    return any(len(line.strip()) == width and " " not in line.strip() for line in nearby_lines.split("\n"))


def _is_on_line_with_secret_word(lowered: str, start: int, end: int, value: str) -> bool:
    """Whether the line with a value mentions a key or password, or a service whose keys are as long as the value."""
    line_start = lowered.rfind("\n", max(0, start - 60), start) + 1 or max(0, start - 60)
    before = lowered[line_start:start]
    hexadecimal = is_hexadecimal(value)
    if hexadecimal and (before[-1:] in ("@", "#", ".") or re.search(_DIGEST_PATTERN, before)):
        return False
    if re.search(_SECRECY_PATTERN, before[-40:]):
        return True
    if any(
        name in before
        for _, name, min_characters, max_characters in _services()
        if min_characters <= len(value) <= max_characters
    ):
        return True
    after = lowered[end : end + 40].partition("\n")[0]
    return not hexadecimal and "foreign key" not in after and re.search(_SECRECY_PATTERN, after) is not None
