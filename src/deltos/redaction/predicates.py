"""Predicates for single values: whether a value is random, a placeholder, a word or code.

Rarely used patterns are stored as strings, because compiling all patterns would delay the start of every hook (a short
process that the coding agent starts) by 10 ms.
"""

from __future__ import annotations

import re
from functools import lru_cache

from deltos.redaction.word_lists import word_set
from deltos.text.identifier_parts import ASCII_PART

_CHARACTER_CLASS_CHANGE = re.compile(r"[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])")
_ALPHANUMERIC_RUN = re.compile(r"[A-Za-z0-9]++")
_DIGIT = re.compile(r"[0-9]")
_UPPER = re.compile(r"[A-Z]")
_LOWER = re.compile(r"[a-z]")
_LETTER = re.compile(r"[A-Za-z]")
_SPECIAL_CHARACTER = r"[!@#$%^&*+~?]"
_SIGN_BETWEEN_LETTERS = r"[A-Za-z][!#$%^~][A-Za-z]"
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]+")
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_NUMBER = r"[-+]?[0-9][0-9_.,:/ -]*[a-zA-Z%]{0,3}"
_WORDS_AND_NUMBER = r"[a-z_-]++[0-9]{0,3}"
_CONSTANT = r"[A-Z]{2,}(?:_[A-Z0-9]+)+"
# Names that contain digits but are not secrets, such as `sha256`.
_KNOWN_NAMES = (
    r"(?i)(?:sha|md|utf|aes|rsa|http|oauth|base|argon|pbkdf|ed|curve|ecdsa|x|ipv|ec|win|int|uint|float|str|v|i18n|l10n|k8s|s3)"
    r"[0-9]{0,5}"
)
_ATTRIBUTE = r"[A-Za-z_$@:][\w$]*+(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*+)+"
_CALL = r"[A-Za-z_$][\w.$:]*+(?:[(\[]|\.\.\.)"
_TEMPLATE_MARKS = ("$", "{", "%s", "%(", "#{", "<", "@@", "((", "&", "*", "•", "…", "...")
_MIN_RANDOM_CHARACTERS = 20
_MIN_SINGLE_CASE_CHARACTERS = 30
_MIN_NAMED_SECRET_CHARACTERS = 16
_MAX_LIST_PIECE_CHARACTERS = 14
_DIGEST_LENGTHS = (32, 37, 40, 48, 64, 128)

_TYPE_NAMES = word_set("types and common words")
# Values that are placeholders for a secret in examples, tests and templates.
_PLACEHOLDERS = word_set("placeholders")
# Values that consist only of these words are also placeholders.
_PLACEHOLDER_PARTS = word_set("parts of placeholders")
_PLACEHOLDER_SEQUENCES = "1234567890" * 8 + "abcdefghijklmnopqrstuvwxyz" + "0123456789abcdef" * 8


@lru_cache(4096)
def is_placeholder(value: str) -> bool:
    """Whether a value is a placeholder for a secret: `changeme`, `<password>`, `your-api-key`, `xxx`, `${TOKEN}`."""
    plain = value.strip().strip("\"'`")
    if not plain or "[redacted" in plain or plain.endswith("..."):
        return True
    if plain.startswith(_TEMPLATE_MARKS):
        return not _is_scrambled(plain)
    if (plain[0] == "[" and plain[-1] == "]") or plain.count("\\x") > 1 or re.fullmatch(_CONSTANT, plain):
        return True
    lowered = plain.lower()
    if lowered in _PLACEHOLDERS or lowered in _PLACEHOLDER_SEQUENCES:
        return True
    return _contains_secret_word(lowered) or _is_repeated(lowered) or _has_only_placeholder_words(plain)


def _contains_secret_word(value: str) -> bool:
    """Whether a value is a word that contains `password` or `secret`, such as `mypassword2` and `not_a_secret`."""
    named = any(word in value for word in ("password", "passwd", "secret"))
    return named and re.fullmatch(_WORDS_AND_NUMBER, value) is not None


def _is_repeated(value: str) -> bool:
    """Whether a value repeats one character: `xxxxxxxx`, `aaaa-aaaa`, `00000000`."""
    letters = {letter for letter in value if letter.isalnum()}
    return len(letters) == 1 and len(value) > 2


def _has_only_placeholder_words(value: str) -> bool:
    """Whether a value consists only of words that are typical of placeholders."""
    if len(value) > 12 and _DIGIT.search(value):
        return False
    parts = [part.lower() for part in ASCII_PART.findall(value)]
    words = [part for part in parts if len(part) > 1]
    return bool(words) and all(word in _PLACEHOLDER_PARTS for word in words) and len(parts) < 3 * len(words)


@lru_cache(4096)
def is_word_like(value: str) -> bool:
    """Whether a value consists of words, like names, paths and prose, instead of irregular letters and digits."""
    return all(map(_is_word, _ALPHANUMERIC_RUN.findall(value)))


def _is_word(text: str) -> bool:
    """Whether a string of letters and digits consists of words, possibly with a short number at the end."""
    if re.fullmatch(_KNOWN_NAMES, text):
        return True
    parts = ASCII_PART.findall(text)
    numbers = [part for part in parts if part.isdigit()]
    letters = [part for part in parts if not part.isdigit()]
    if not letters:
        return len(text) < 9
    if len(numbers) > 1 or (numbers and (len(numbers[0]) > 4 or not text.endswith(numbers[0]))):
        return False
    short = sum(len(part) < 3 for part in letters)
    return len(letters) == 1 or (short <= 1 + len(letters) // 4 and sum(map(len, letters)) >= 3 * len(letters))


def is_code(value: str) -> bool:
    """Whether a value is a code expression: an attribute, a call or an index."""
    return is_word_like(value) and (re.fullmatch(_ATTRIBUTE, value) is not None or re.match(_CALL, value) is not None)


def is_human_password(value: str) -> bool:
    """Whether a value looks like a password chosen by a person.

    Such a password contains letters and one of the following: two digits; a digit and a special character; a special
    character between letters that are not all in lower case.
    """
    if len(value) < 6 or is_number(value) or not _LETTER.search(value) or re.fullmatch(_KNOWN_NAMES, value):
        return False
    digits = len(_DIGIT.findall(value))
    if digits >= 2 or (digits and re.search(_SPECIAL_CHARACTER, value)):
        return True
    return len(value) > 7 and not value.islower() and re.search(_SIGN_BETWEEN_LETTERS, value) is not None


def is_word_with_digits(value: str) -> bool:
    """Whether a value is a word followed by digits, such as `hunter2`, and not the name of a method or encoding."""
    word = value.rstrip("0123456789")
    return (
        len(value) >= 6
        and len(word) >= 4
        and word != value
        and word.isalpha()
        and not re.fullmatch(_KNOWN_NAMES, value)
    )


def is_mixed_case(value: str) -> bool:
    """Whether letters change their case as often as in random text, and more often than in camelCase."""
    return len(value) >= 8 and len(_UPPER.findall(value)) >= 3 and len(_LOWER.findall(value)) >= 3 and value.isalpha()


def is_printable_random(value: str) -> bool:
    """Whether a value is random text with all kinds of printable characters, such as WordPress salts."""
    signs = sum(not letter.isalnum() and letter != " " for letter in value)
    is_mixed = len(_DIGIT.findall(value)) >= 2 and len(_UPPER.findall(value)) >= 3
    return len(value) >= 32 and signs >= 0.2 * len(value) and is_mixed


def _is_scrambled(value: str) -> bool:
    """Whether a value has more different special characters than a template or format string."""
    if len(value) < 32 or len(_DIGIT.findall(value)) < 2:
        return False
    signs = {letter for letter in value if not letter.isalnum() and letter != " "}
    return len(signs) > 4 and max(map(len, re.findall(r"[A-Za-z]++", value)), default=0) < 8


def is_type_name(value: str) -> bool:
    """Whether a value is the name of a type, the name of a constant or a common word, which is not a password."""
    return value.lower().strip("?!.*|") in _TYPE_NAMES


def is_number(value: str) -> bool:
    """Whether a value is a number, a time or a size."""
    return re.fullmatch(_NUMBER, value) is not None and not (len(value) > 15 and value.isdigit())


def has_digit_and_letter(value: str) -> bool:
    """Whether a value has both digits and letters."""
    return _DIGIT.search(value) is not None and _LETTER.search(value) is not None


def is_secret_like(value: str) -> bool:
    """Whether a value next to the name of a secret is a secret: not a word, name, code, number or placeholder."""
    if len(value) < 4 or is_placeholder(value) or is_code(value) or is_number(value):
        return False
    if len(value) >= _MIN_NAMED_SECRET_CHARACTERS and is_hexadecimal(value):
        return True
    return not is_word_like(value)


@lru_cache(4096)
def is_random(value: str) -> bool:
    """Whether a value looks random, regardless of the context; hexadecimal digests and UUIDs do not count."""
    if len(value) < _MIN_RANDOM_CHARACTERS or len(_DIGIT.findall(value)) < 2:
        return False
    pieces = [piece for piece in _ALPHANUMERIC_RUN.findall(value) if not _is_digest(piece)]
    if "/" in value and max(map(len, pieces), default=0) < _MAX_LIST_PIECE_CHARACTERS:
        return False
    letters = sum(map(len, pieces))
    if letters < _MIN_RANDOM_CHARACTERS - 2 or letters < 0.75 * len(value):
        return False
    plain = " ".join(pieces)
    switches, digits = len(_CHARACTER_CLASS_CHANGE.findall(plain)), len(_DIGIT.findall(plain))
    if digits >= 2 and len(_UPPER.findall(plain)) >= 3 and len(_LOWER.findall(plain)) >= 3:
        return switches >= 0.27 * letters  # random text has about 0.45 changes of case per letter, camelCase about 0.2
    return letters >= _MIN_SINGLE_CASE_CHARACTERS and digits >= 5 and switches >= 0.25 * letters


def _is_digest(text: str) -> bool:
    """Whether a string of letters and digits is hexadecimal, like digests and UUIDs, which are usually public."""
    return len(text) > 3 and _HEX.fullmatch(text) is not None


def is_weakly_random(value: str) -> bool:
    """Whether a value is random enough to be a secret if its line mentions keys or passwords."""
    if len(value) < _MIN_NAMED_SECRET_CHARACTERS or is_number(value) or is_placeholder(value):
        return False
    digits = len(_DIGIT.findall(value))
    if _HEX.fullmatch(value):
        return len(value) in _DIGEST_LENGTHS and digits > 0
    letters = len(_LETTER.findall(value))
    return digits >= 2 and letters >= 4 and len(_CHARACTER_CLASS_CHANGE.findall(value)) >= 0.25 * (letters + digits)


def is_hexadecimal(value: str) -> bool:
    """Whether a value is a digest, an address or an id: only hexadecimal digits, or a UUID."""
    return _HEX.fullmatch(value) is not None or re.fullmatch(_UUID, value) is not None
