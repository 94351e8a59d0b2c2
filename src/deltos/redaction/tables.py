"""Secrets with unusual labels.

These are table columns, Wi-Fi codes and passphrases, and labels in scripts without spaces between words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.redaction.named_values import Strength, strength_of
from deltos.redaction.predicates import is_code, is_placeholder, is_type_name
from deltos.redaction.spans import SecretSpan, offsets, skip_blanks
from deltos.redaction.word_lists import word_list, word_set

if TYPE_CHECKING:
    from collections.abc import Iterator

_DELIMITERS = ("\t", ";", "|", ",")
_MAX_HEADER_CHARACTERS = 400
_MAX_TABLE_ROWS = 2_000
_MAX_VALUE_CHARACTERS = 200
_NETWORK_WORDS = word_list("words for networks")
_NETWORK_LABELS = word_list("labels of network passwords")
_MAX_LABEL_DISTANCE = 40
_MIN_PASSPHRASE_CHARACTERS, _MAX_PASSPHRASE_CHARACTERS = 6, 64
_NETWORK_VERBS = word_list("verbs after a network label")
_MIN_NETWORK_KEY_CHARACTERS = 8  # minimum length of a password for a Wi-Fi network with WPA
_PASSPHRASE = re.compile(r"[^\n.,;:!?\"'`()]++")
# First words of a sentence about a password that does not state it, as in "is on the fridge".
_PROSE_OPENINGS = word_set("first words of prose")
_WIFI_CODE = "wifi:"
_UNSPACED_LABELS = word_list("labels in scripts without spaces")
_UNSPACED_SEPARATORS = word_list("separators in scripts without spaces")
_UNSPACED_VALUE_ENDS = "。.」\"'` \t\r"
_NOT_IN_VALUE = re.compile(r"[\s，。、；,;：:！!?？「」\"'`]")
_MIN_UNSPACED_CHARACTERS = 3
_MAX_UNSPACED_CHARACTERS = 64


def find_labelled(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield the values of secret columns, Wi-Fi passwords, and values after labels in scripts without spaces."""
    yield from _secret_columns(text)
    yield from _network_passwords(text, lowered)
    if not text.isascii():
        yield from _unspaced_values(text, lowered)


def _secret_columns(text: str) -> Iterator[SecretSpan]:
    """Yield the values of table columns whose heading is the name of a password or another secret."""
    lines = text.split("\n")
    starts = _line_starts(lines)
    done = 0
    for number, line in enumerate(lines[:-1]):
        if number < done or len(line) > _MAX_HEADER_CHARACTERS or not any(mark in line for mark in _DELIMITERS):
            continue
        delimiter = next((mark for mark in _DELIMITERS if mark in line), "")
        names = [name.strip(" \"'\r") for name in line.split(delimiter)]
        secret = [at for at, name in enumerate(names) if " " not in name and strength_of(name) >= Strength.SECRET]
        inner = names[1:-1] if line.strip().startswith("|") else names  # a Markdown row has a delimiter at both ends
        if len(names) < 2 or not secret or not all(name and not name.isdigit() for name in inner):
            continue
        for row in range(number + 1, min(len(lines), number + 1 + _MAX_TABLE_ROWS)):
            if lines[row].count(delimiter) != len(names) - 1:
                break
            done = row + 1
            yield from _cells(lines[row], starts[row], delimiter, secret)


def _cells(line: str, start: int, delimiter: str, columns: list[int]) -> Iterator[SecretSpan]:
    """Yield the secret values in the given columns of a row, without quotation marks and surrounding blanks."""
    place = start
    for at, cell in enumerate(line.split(delimiter)):
        value = cell.strip(" \"'\r")
        if at in columns and len(value) <= _MAX_VALUE_CHARACTERS and _is_value(value):
            first = place + cell.index(value)
            yield SecretSpan(first, first + len(value), "password")
        place += len(cell) + len(delimiter)


def _is_value(value: str) -> bool:
    """Whether a table cell contains a value, and not a placeholder or a horizontal rule."""
    is_rule = not value.strip("-=: ")  # the delimiter row of a Markdown table
    return bool(value) and not (is_rule or is_placeholder(value) or is_type_name(value) or is_code(value))


def _network_passwords(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield passwords in Wi-Fi codes, and passphrases of several words after a word such as "Wi-Fi"."""
    for at in offsets(lowered, _WIFI_CODE):
        for field in text[at : at + _MAX_VALUE_CHARACTERS].split("\n", 1)[0].split(";"):
            if field.rpartition(":")[0].upper() in ("P", "WIFI:P") and field.rpartition(":")[2]:
                end = text.index(field, at) + len(field)
                yield SecretSpan(end - len(field.rpartition(":")[2]), end, "password")
    for word in _NETWORK_WORDS:
        for at in offsets(lowered, word):
            near = lowered[at : at + _MAX_LABEL_DISTANCE].partition("\n")[0]
            label = next((label for label in _NETWORK_LABELS if label in near), "")
            after = at + near.find(label) + len(label) if label else 0
            start = _value_start(lowered, after) if label else -1
            value = _PASSPHRASE.match(text, start) if start >= 0 else None
            if value and _is_passphrase(value[0].strip()):
                yield SecretSpan(value.start(), value.start() + len(value[0].rstrip()), "password")


def _value_start(lowered: str, at: int) -> int:
    """Return the start of the value after a label and a sign or verb, or -1 if neither a sign nor a verb follows."""
    at = skip_blanks(lowered, at, max_characters=3)
    if lowered.startswith((":", "="), at):
        return skip_blanks(lowered, at + 1, max_characters=3)
    verb = next((verb for verb in _NETWORK_VERBS if lowered.startswith(f"{verb} ", at)), "")
    return skip_blanks(lowered, at + len(verb), max_characters=3) if verb else -1


def _is_passphrase(value: str) -> bool:
    """Whether a value after a Wi-Fi label is a passphrase: a name, or a few words that are not a sentence."""
    words = value.split()
    if len(words) == 1:
        return len(value) >= _MIN_NETWORK_KEY_CHARACTERS and not value.islower() and not is_placeholder(value)
    fits = _MIN_PASSPHRASE_CHARACTERS <= len(value) <= _MAX_PASSPHRASE_CHARACTERS
    return fits and 2 <= len(words) <= 6 and not all(map(is_placeholder, words)) and not _is_prose_start(words)


def _is_prose_start(words: list[str]) -> bool:
    """Whether words continue a sentence instead of stating a value, such as "is on the fridge"."""
    return words[0].lower() in _PROSE_OPENINGS


def _unspaced_values(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield values after words for `password` in Russian and in scripts without spaces between words."""
    for label in _UNSPACED_LABELS:
        for at in offsets(lowered, label):
            line = text[at + len(label) : at + len(label) + 2 * _MAX_UNSPACED_CHARACTERS].partition("\n")[0].strip()
            if not line.startswith(_UNSPACED_SEPARATORS):
                continue
            value = line[1:].strip(_UNSPACED_VALUE_ENDS)
            fits = _MIN_UNSPACED_CHARACTERS <= len(value) <= _MAX_UNSPACED_CHARACTERS
            if fits and not _NOT_IN_VALUE.search(value) and not is_placeholder(value):
                start = text.index(value, at + len(label))
                yield SecretSpan(start, start + len(value), "password")


def _line_starts(lines: list[str]) -> list[int]:
    """Return the offset at which each line starts."""
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    return starts
