"""Secrets that stand beside a name: `DB_PASSWORD=…`, `"apiKey": "…"`, `the password is …`, a value on the next line.

Every place where a word of secrecy stands is looked at once, and no further than a bounded number of characters.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.memory.secrets.looks import (
    is_chosen,
    is_code,
    is_dense,
    is_number,
    is_placeholder,
    is_random,
    is_random_beside_a_name,
    is_secretive,
    is_type_name,
    is_word_like,
)
from deltos.domains.memory.secrets.spans import Span, places

if TYPE_CHECKING:
    from collections.abc import Iterator


class Strength(IntEnum):
    """How much a name tells about its value."""

    NONE = 0
    WEAK = 1  # only something random is a secret there
    SECRET = 2  # what is no word, name or code
    PASSWORD = 3  # whatever is no placeholder


class Value(NamedTuple):
    """What stands beside a name: where, in quotes or not, and what leads to it."""

    start: int
    end: int
    text: str
    quoted: bool
    separator: str


_STEMS = ["pass", "pwd", "pw", "secret", "token", "cred", "key", "auth", "sign", "sig=", "salt", "psk", "jwt", "cookie",
    "session", "sid", "saml", "mnemonic", "seed", "dsn", "webhook", "_pat", "otp", "kennwort", "contrase", "senha",
    "wachtwoord", "wif", "dockerconfigjson", "data:"]  # fmt: skip
_LONGEST_NAME = 80
_LONGEST_VALUE = 4_000
_NAME_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_REST_OF_NAME = re.compile(r"[A-Za-z0-9_-]{0,60}+(?:\.[A-Za-z0-9_-]{1,60}+){0,6}+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_PASSWORD_WORDS = frozenset(
    """password passwd passphrase passcode pwd pw pass psk bindpw rootpw requirepass masterauth storepass keypass
    passwort kennwort contraseña contrasena senha wachtwoord pgpass userpass adminpass dbpass sshpass passin passout
    pswd pword passkey passwordhash""".split()
)
_PASSWORD_ENDS = ("password", "passwd", "passphrase", "passcode", "_pass", "_pwd", "_pw")
_SECRET_WORDS = frozenset(
    """secret secrets token tokens credential credentials creds cred apikey authkey accesskey privatekey secretkey authtoken
    accesstoken apitoken jwt mnemonic signing authorization auth clientsecret appsecret apisecret secrettoken pat
    presharedkey sharedkey accountkey licensekey wif samlresponse samlrequest dockerconfigjson otp totp seed""".split()
)
# What makes a `key` a secret one.
_KEYS = frozenset(
    """api access secret private auth account encryption signing master service client shared license app storage deploy ssh
    admin subscription functions session cookie hmac aes rsa jwt registration preshared crypto cipher webhook server
    fernet sharedaccess decryption host tls ssl gpg pgp apns integration ingest write read writekey merchant""".split()
)
_WEAK_WORDS = frozenset(
    "key salt signature sig sid session cookie dsn webhook certificate hash code nonce sign seed auth bearer".split()
)
_QUALIFIERS = frozenset(
    """base value val prod production dev development staging stage test testing live old new current previous data raw plain
    text b64 base64 enc encrypted default primary secondary main backup local remote eu us id param string str env
    header first second literal hash""".split()
)
_NEVER_LAST = frozenset(
    """url uri file path name type field input label form view class count limit length len size max min reset change
    changed validator validators hasher hashers generator expiry expires expiration ttl at ref arn manager provider policy
    regex pattern required confirmation strength mode format prefix suffix algorithm method endpoint issuer audience scope
    timeout lifetime age rotation rules help hint error errors message usage index column table""".split()
)
_WORD_BEFORE = re.compile(r"\b([a-z]{2,12})[ ]$")
_CLOSERS = re.compile(r"[\\\"'`\])]{0,6}")
_BLANKS = re.compile(r"[ \t]{0,30}")
_SEPARATOR = re.compile(r"=>|:=|={1,3}|\?=|::?|->|→|>|,|\|")
_ANNOTATION = re.compile(r"[ \t]{0,4}[A-Za-z_][\w.\[\], |?&<>]{0,40}?[ \t]{0,4}=[ \t]{0,4}(?=[\"'`])")
_ATTRIBUTE_VALUE = re.compile(r"[^<>\n]{0,80}?value=(?=[\"'])")
_PROSE = re.compile(r"[^\n.;:=|<>{}()\"'`]{0,48}?[ \t](?:is|was|were|be|to|are|as|of|now|=)[ \t:]{1,3}(?![ \t])")
_BLOCK_MARK = re.compile(r"[|>][-+]?[ \t]*(?=\r?\n)|\\(?=\r?\n)")
_NEXT_LINE = re.compile(r"[ \t]*\r?\n(?:[ \t]*\r?\n){0,2}[ \t]*(?:[+>#|*-][ \t]*)?(?=\S)")
_STRING_PREFIX = re.compile(r"[bBfFrRuU@$]{0,2}(?=[\"'`])|\\{1,6}(?=[\"'])")
_UNQUOTED = re.compile(r"[^\s\"'`<>,;&()\[\]{}|]{1,2000}+")
_TO_BLANK = re.compile(r"[^\s\"'`]{1,2000}+")
_LINE_LEAD = re.compile(r"(?m)^[ \t]*(?:[+>#*|-]|//|\d+[.:\t→])?[ \t]*(?:export|set|ENV|ARG|-)?[ \t]*[\"']?$")
_ENV_LINE = re.compile(r"[ \t]*[+-]?[ \t]*(?:export[ \t]+|ENV[ \t]+|-[ \t]+)?$")


def find_named(text: str, lowered: str) -> Iterator[Span]:
    """Values beside names that tell of a secret."""
    seen: set[int] = set()
    for stem in _STEMS:
        for at in places(lowered, stem):
            start, end = _name_around(text, at, len(stem))
            start = _with_the_word_before(lowered, start)
            if end in seen:
                continue
            seen.add(end)
            strength = strength_of(text[start:end].strip("-."))
            if strength and (span := _beside(text, lowered, start, end, strength)) is not None:
                yield span


def _name_around(text: str, at: int, size: int) -> tuple[int, int]:
    start = at
    while start > 0 and at - start < _LONGEST_NAME and text[start - 1] in _NAME_LETTERS:
        start -= 1
    rest = _REST_OF_NAME.match(text, at + size)
    return start, rest.end() if rest else at + size


def _with_the_word_before(lowered: str, start: int) -> int:
    """Where the name begins that is written as two words: `API key`, `access token`."""
    before = _WORD_BEFORE.search(lowered, max(0, start - 16), start)
    return before.start() if before and before[1] in _KEYS else start


@lru_cache(2048)
def strength_of(name: str) -> Strength:
    """How much a name tells: its last telling word counts."""
    words = [word.lower() for word in _PART.findall(name)]
    if not words:
        return Strength.NONE
    told = [word for word in words if _is_telling(word)]
    if not told:
        return Strength.NONE
    core = list(words)
    while len(core) > 1 and (core[-1] in _QUALIFIERS or core[-1].isdigit()) and core[-1] not in _SECRET_WORDS:
        core.pop()
    last, joined = core[-1], "".join(core[-2:])
    if last in _PASSWORD_WORDS or last.endswith(_PASSWORD_ENDS):
        return Strength.PASSWORD if last != "pass" or len(core) > 1 or name == "PASS" else Strength.WEAK
    if last in _SECRET_WORDS or joined in _SECRET_WORDS:
        return Strength.SECRET
    if last == "key" and len(core) > 1 and core[-2] in _KEYS:
        return Strength.SECRET
    if last.endswith("key") and last[:-3] in _KEYS:
        return Strength.SECRET
    return Strength.WEAK


def _is_telling(word: str) -> bool:
    return (
        word in _PASSWORD_WORDS
        or word in _SECRET_WORDS
        or word in _WEAK_WORDS
        or word.endswith((*_PASSWORD_ENDS, "secret", "token", "key", "sessid", "session"))
    )


def _beside(text: str, lowered: str, start: int, end: int, strength: Strength) -> Span | None:
    value = _value_after(text, start, end)
    if value is None or not _is_secret(text, start, value, strength):
        return None
    return Span(value.start, value.end, "password" if strength is Strength.PASSWORD else "secret")


def _value_after(text: str, start: int, end: int) -> Value | None:
    """The value that belongs to the name at [start, end): what follows a sign, a verb or a flag."""
    at = _CLOSERS.match(text, end).end()  # type: ignore[union-attr] # matches everywhere
    closed = at > end
    at = _BLANKS.match(text, at).end()  # type: ignore[union-attr]
    sign = _SEPARATOR.match(text, at)
    if sign is not None and _may_separate(sign[0], text, start, closed=closed):
        return _value_at(text, _past_annotation(text, sign), sign[0])
    if text.startswith("-", start) or (start and text[start - 1] == "-"):
        return _value_at(text, at, "flag") if at > end else None
    if (attribute := _ATTRIBUTE_VALUE.match(text, at)) is not None and closed:
        return _value_at(text, attribute.end(), "=")
    if (verb := _PROSE.match(text, end)) is not None:
        return _value_at(text, verb.end(), "is")
    return _value_at(text, at, " ") if at > end else None


def _may_separate(sign: str, text: str, start: int, *, closed: bool) -> bool:
    if sign == ">":
        return start > 0 and text[start - 1] in "<:"
    return sign != "," or (closed and text[max(0, start - 4) : start].rstrip(" \"'`").endswith("("))


def _past_annotation(text: str, sign: re.Match[str]) -> int:
    """Where the value begins: in `password: str = "…"` after the second sign."""
    if sign[0] == ":" and (typed := _ANNOTATION.match(text, sign.end())) is not None:
        return typed.end()
    return sign.end()


def _value_at(text: str, at: int, separator: str) -> Value | None:
    at = _BLANKS.match(text, at).end()  # type: ignore[union-attr]
    if (mark := _BLOCK_MARK.match(text, at)) is not None:
        at = mark.end()
    if separator not in (" ", "flag") and (line := _NEXT_LINE.match(text, at)) is not None:
        return _on_the_next_line(text, line.end())
    prefix = _STRING_PREFIX.match(text, at)
    at = prefix.end() if prefix else at
    if at < len(text) and text[at] in "\"'`":
        return _quoted(text, at, separator)
    found = _UNQUOTED.match(text, at)
    if found is None:
        return None
    trimmed = found[0].rstrip(".:!?\\" if separator in ("is", " ") else "\\")
    return Value(at, at + len(trimmed), trimmed, quoted=False, separator=separator)


def _quoted(text: str, at: int, separator: str) -> Value | None:
    """What stands in quotes; to the end of the line where they are not closed."""
    quote, start = text[at], at + 1
    limit = text.find("\n", start, start + _LONGEST_VALUE)
    limit = limit if limit >= 0 else min(len(text), start + _LONGEST_VALUE)
    end = text.find(quote, start, limit)
    if end < 0:
        end = limit
    while end > start and text[end - 1] == "\\":
        if at > 0 and text[at - 1] == "\\":
            end -= 1  # closed as it was opened: \"…\"
            continue
        further = text.find(quote, end + 1, limit)
        if further < 0:
            break
        end = further
    return Value(start, end, text[start:end], quoted=True, separator=separator) if end > start else None


def _on_the_next_line(text: str, at: int) -> Value | None:
    """A value that has the line after its name for itself."""
    line_end = text.find("\n", at)
    line = text[at : line_end if line_end >= 0 else len(text)].rstrip().rstrip(",;")
    inner = line.strip("\"'`")
    if not inner or any(letter.isspace() for letter in inner) or len(inner) > _LONGEST_VALUE:
        return None
    start = at + line.find(inner)
    return Value(start, start + len(inner), inner, quoted=inner != line, separator="line")


def _is_secret(text: str, start: int, value: Value, strength: Strength) -> bool:
    plain = value.text
    if is_placeholder(plain) or (value.separator in ("is", " ", "line") and is_type_name(plain)):
        return False
    if strength is Strength.WEAK:
        return is_random(plain) or (value.separator != " " and is_random_beside_a_name(plain)) or is_dense(plain)
    if value.separator == ",":
        return value.quoted and (is_secretive(plain) or is_chosen(plain))
    if strength is Strength.PASSWORD:
        return _is_password(text, start, value)
    if value.separator == " " and not _has_digit_and_letter(plain):
        return False
    if _is_called(text, value):
        return False
    return is_secretive(plain) or _is_set(text, start, value)


def _is_set(text: str, start: int, value: Value) -> bool:
    """`API_TOKEN=abcd` as shells and .env files write it, or a chosen value with a sign in it: whatever it is."""
    if value.separator != "=" or len(value.text) < 4 or is_code(value.text) or is_number(value.text):
        return False
    name = text[start : value.start].rstrip("\"'").removesuffix("=")
    return (name.isupper() and " " not in name) or (is_chosen(value.text) and not value.text.isalnum())


def _is_password(text: str, start: int, value: Value) -> bool:
    plain = value.text
    if value.separator in (" ", "is", "line", "flag"):
        return is_secretive(plain) or (is_chosen(plain) and not is_code(plain))
    if value.quoted:
        return len(plain) >= 4 and not any(letter.isspace() for letter in plain) and not is_type_name(plain)
    if _is_called(text, value) or is_code(plain) or is_number(plain) or is_type_name(plain) or len(plain) < 4:
        return False
    if not is_word_like(plain) or _has_digit_and_letter(plain):
        return True
    return _is_plain_word_password(text, start, value)


def _has_digit_and_letter(value: str) -> bool:
    return any(letter.isdigit() for letter in value) and any(letter.isalpha() for letter in value)


def _is_called(text: str, value: Value) -> bool:
    return not value.quoted and text[value.end : value.end + 1] in ("(", "[")


def _is_plain_word_password(text: str, start: int, value: Value) -> bool:
    """`password: word` with the line to itself, or `password=word` in a list of such pairs: not code."""
    after = text[value.end : value.end + 1]
    if value.separator == ":":
        line_start = text.rfind("\n", 0, start) + 1
        return after in ("", "\n", "\r") and _LINE_LEAD.match(text[line_start:start]) is not None
    tight = text[value.start - 1 : value.start] == "="
    return value.separator == "=" and tight and after in ("", "\n", "\r", " ", "&", ";")
