"""Judges values: whether one looks random, stands for a secret without being one, or is a word or a piece of code."""

from __future__ import annotations

import re
from functools import lru_cache

_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_SWITCH = re.compile(r"[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])")
_PIECE = re.compile(r"[A-Za-z0-9]+")
_DIGIT = re.compile(r"[0-9]")
_UPPER = re.compile(r"[A-Z]")
_LOWER = re.compile(r"[a-z]")
_LETTER = re.compile(r"[A-Za-z]")
_SIGN = re.compile(r"[!@#$%^&*+~?]")
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]+")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NUMBER = re.compile(r"[-+]?[0-9][0-9_.,:/ -]*(?:[a-zA-Z%]{1,3})?")
# Names with digits inside that are no secrets.
_KNOWN = re.compile(
    r"(?:sha|md|utf|aes|rsa|http|oauth|base|argon|pbkdf|ed|curve|ecdsa|x|ipv|i18n|l10n|k8s|s3|ec|win|int|uint|float|str|v)"
    r"[0-9]{1,5}",
    re.IGNORECASE,
)
_CODE = re.compile(r"[A-Za-z_$@:][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*)+$|[A-Za-z_$][\w.$:]*[(\[]|[A-Za-z_]\w*\.\.\.")
_TEMPLATE = ("$", "{", "%s", "%(", "#{", "<%", "@@", "[redacted", "((", "&", "...")
_TYPES = """string str text bool boolean int integer number float bytes byte char varchar object any unknown never void
    none null nil undefined true false yes no on off required optional default hidden input readonly self this new
    function lambda async await return if else and or not in is are was the a an of for to from with by as at
    enabled disabled invalid valid missing empty unset set given provided needed mandatory""".split()
_TYPE_NAMES = frozenset(_TYPES)
# What people write where a secret would stand: in examples, tests and templates. Whole values only.
_PLACEHOLDERS = frozenset(
    """secret secrets password passwords passwd passphrase pass pwd pw token tokens key keys credential credentials user
    username login admin root test tests testing tester testpw testclient foo bar baz qux foobar spam eggs bacon ham
    example examples sample dummy fake mock stub placeholder changeme changeit change replace replaceme redacted removed
    hidden masked value string qwerty letmein sekrit s3krit abc abcd abcdef abc123 xyz xxx xxxx none null hunter2 wrong
    incorrect bad good invalid something anything nothing whatever here todo fixme yes no blue red green default old new
    nopasswd nopassword notsecret insecure unknown empty blank current confirm confirmation postgres mysql guest django
    rails newuser myuser""".split()
)
_SAYS_SO = re.compile(r"[a-z_-]{0,20}(?:password|passwd|secret)[a-z_-]{0,20}[0-9]{0,3}")
_CONSTANT = re.compile(r"[A-Z]{2,30}(?:_[A-Z0-9]{1,30}){1,8}")
_PLACEHOLDER_PARTS = frozenset(
    """password passwords passwd passphrase pass pwd pw secret secrets token tokens key keys test tests testing example
    sample dummy fake mock my your our the a an some any this that new old current first second other another wrong
    correct invalid valid bad good not is no default raw plain clear user users username admin root name here goes put
    replace change me with in for of and to from real super very top only insert enter value string access api auth
    client server app service private public db database session id x xx xxx xxxx foo bar baz generated random long hash
    hashed encoded encrypted salt base option setting settings cmd field input form confirm confirmation reset""".split()
)
_REPEATED = re.compile(r"(.)\1{2,}(?:\1|[^A-Za-z0-9])*")
_SEQUENCE = "1234567890" * 8 + "abcdefghijklmnopqrstuvwxyz" + "0123456789abcdef" * 8


@lru_cache(4096)
def is_placeholder(value: str) -> bool:
    """Whether a value only stands for a secret: `changeme`, `<password>`, `your-api-key`, `xxx`, `12345`, `${TOKEN}`."""
    plain = value.strip().strip("\"'`")
    if not plain or plain[0] in "<*•…" or plain.startswith(_TEMPLATE) or "[redacted" in plain or plain.endswith("..."):
        return True
    if plain[0] == "[" and plain[-1] == "]":
        return True
    lowered = plain.lower()
    if lowered in _PLACEHOLDERS or lowered in _SEQUENCE or _REPEATED.fullmatch(lowered) or _SAYS_SO.fullmatch(lowered):
        return True
    if _CONSTANT.fullmatch(plain) or plain.count("\\x") > 1:
        return True
    return all(part.lower() in _PLACEHOLDER_PARTS or len(part) == 1 for part in _PART.findall(plain)) and not (
        any(letter.isdigit() for letter in plain) and len(plain) > 12
    )


@lru_cache(4096)
def is_word_like(value: str) -> bool:
    """Whether a value is made of words, as names, paths and prose are. Random letters change their kind too often."""
    return all(map(_is_word, _PIECE.findall(value)))


def _is_word(piece: str) -> bool:
    if _KNOWN.fullmatch(piece):
        return True
    parts = _PART.findall(piece)
    numbers = [part for part in parts if part.isdigit()]
    letters = [part for part in parts if not part.isdigit()]
    if not letters:
        return len(piece) < 9
    if len(numbers) > 1 or (numbers and (len(numbers[0]) > 4 or not piece.endswith(numbers[0]))):
        return False
    short = sum(len(part) < 3 for part in letters)
    return len(letters) == 1 or (short <= 1 + len(letters) // 4 and sum(map(len, letters)) >= 3 * len(letters))


def is_code(value: str) -> bool:
    """Whether a value is an expression: an attribute, a call, an index."""
    return _CODE.match(value) is not None and is_word_like(value)


def is_chosen(value: str) -> bool:
    """Whether a value is what people choose for a password: letters with two digits or more, or with a sign inside."""
    if len(value) < 6 or is_number(value) or not _LETTER.search(value) or _KNOWN.match(value):
        return False
    return len(_DIGIT.findall(value)) >= 2 or (_SIGN.search(value) is not None and _DIGIT.search(value) is not None)


def is_dense(value: str) -> bool:
    """Whether a value is drawn from all that can be printed, as WordPress draws its salts."""
    signs = sum(not letter.isalnum() and letter != " " for letter in value)
    return len(value) >= 32 and signs >= 6 and len(_DIGIT.findall(value)) >= 2 and len(_UPPER.findall(value)) >= 3


def is_type_name(value: str) -> bool:
    """Whether a value is a type, a constant or a function word rather than somebody's password."""
    return value.lower().strip("?!.*|") in _TYPE_NAMES


def is_number(value: str) -> bool:
    """Whether a value is a number, a time or a size."""
    return _NUMBER.fullmatch(value) is not None and not (len(value) > 15 and value.isdigit())


def is_secretive(value: str) -> bool:
    """Whether a value beside a telling name is a secret: no word, no name, no code, no number, no placeholder."""
    if len(value) < 4 or is_placeholder(value) or is_code(value) or is_number(value):
        return False
    if len(value) >= 16 and (_HEX.fullmatch(value) or _UUID.fullmatch(value)):
        return True
    return not is_word_like(value)


@lru_cache(4096)
def is_random(value: str) -> bool:
    """Whether a value is random by itself, whatever stands beside it. Hexadecimal digests and UUIDs are not."""
    if len(value) < 20 or len(_DIGIT.findall(value)) < 2:
        return False
    pieces = [piece for piece in _PIECE.findall(value) if not _is_digest(piece)]
    letters = sum(map(len, pieces))
    if "/" in value and max(map(len, pieces), default=0) < 14:
        return False  # a list of names
    if letters < 18 or letters < 0.75 * len(value):
        return False
    plain = " ".join(pieces)
    switches, digits = len(_SWITCH.findall(plain)), len(_DIGIT.findall(plain))
    if digits >= 2 and len(_UPPER.findall(plain)) >= 3 and len(_LOWER.findall(plain)) >= 3:
        return switches >= 0.27 * letters
    return letters >= 30 and digits >= 5 and switches >= 0.25 * letters


def _is_digest(piece: str) -> bool:
    """Whether a piece is a digest, a part of a UUID or a number, each of which is public more often than not."""
    return len(piece) > 3 and _HEX.fullmatch(piece) is not None


def is_random_beside_a_name(value: str) -> bool:
    """Whether a value is random enough where its line speaks of keys or passwords."""
    if len(value) < 16 or is_number(value) or is_placeholder(value):
        return False
    digits = len(_DIGIT.findall(value))
    if _HEX.fullmatch(value):
        return len(value) in (32, 37, 40, 48, 64, 128) and digits > 0
    letters = len(_LETTER.findall(value))
    return digits >= 2 and letters >= 4 and len(_SWITCH.findall(value)) >= 0.25 * (letters + digits)


def is_hexadecimal(value: str) -> bool:
    """Whether a value is a digest, an address or an id: hexadecimal digits, or a UUID."""
    return _HEX.fullmatch(value) is not None or _UUID.fullmatch(value) is not None
