"""Secrets next to a name: `DB_PASSWORD=…`, `"apiKey": "…"`, `the password is …`, or a value on the next line."""

# `from __future__ import annotations` is omitted, because a named tuple would then compile each annotation whenever a
# hook (a short process that the coding agent starts) starts.
import re
from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from deltos.redaction.predicates import (
    has_digit_and_letter,
    is_code,
    is_human_password,
    is_number,
    is_placeholder,
    is_printable_random,
    is_random,
    is_secret_like,
    is_type_name,
    is_weakly_random,
    is_word_like,
    is_word_with_digits,
)
from deltos.redaction.spans import SecretSpan, line_around, offsets, run_end, skip_blanks
from deltos.redaction.word_lists import word_list, word_set
from deltos.text.identifier_parts import ASCII_PART


class Strength(IntEnum):
    """How strongly a name indicates that its value is a secret."""

    NONE = 0
    WEAK = 1  # only random values count as secrets
    SECRET = 2  # values that are not words, names or code count as secrets
    AMBIGUOUS = 3  # for `pass`, which is also a verb: only values that look like passwords are secrets
    PASSWORD = 4  # all values except placeholders count as secrets


class NamedValue(NamedTuple):
    """The value next to a name.

    `lead` describes the separator between name and value: a sign such as `=`, `is`, a space, `flag` (a command option)
    or `line` (a line break).
    """

    start: int
    end: int
    text: str
    is_quoted: bool
    lead: str


_NAME_STEMS = word_list("stems of names")
# Short stems count only as a separate part of a name, because they occur inside many words.
_SHORT_STEMS = word_list("short stems of names")
_MAX_NAME_CHARACTERS = 80
_NAME_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_PASSWORD_WORDS = word_set("names of passwords")
# Names may contain accented letters, as in `contraseña`.
_NAME_END = re.compile(r"[^A-Za-z0-9_\u00c0-\u024f\u0300-\u036f-]")
_TILDE_REMOVAL = str.maketrans({"ñ": "n", "Ñ": "N", "\u0303": None})
_FRENCH_PREFIXES = word_list("French prefixes of passe")
_PASSWORD_ENDS = word_list("endings of names of passwords")
_SECRET_WORDS = word_set("names of secrets")
# Words that make a name secret if they precede `key`, as in `api_key`.
_KEY_QUALIFIERS = word_set("words before key")
_WEAK_WORDS = word_set("weak names")
_SECRET_WORD_ENDINGS = (*_PASSWORD_ENDS, "secret", "token", "key", "sessid", "session")
# Words that may follow the significant word of a name: `password_prod`, `secret_key_base`, `token2`.
_NAME_SUFFIXES = word_set("words after names")
_SEPARATORS = ("=>", ":=", "===", "==", "=", "?=", "::", ":", "->", "→", ">", ",", "|")
_VERBS = word_set("verbs before a value")
_ADVERBS = word_set("adverbs before a value")

# Prepositions between a name and its owner ("password of the box: …"); the value follows a later `:` or `=`.
_PREPOSITIONS = word_set("prepositions after a name")
_SENTENCE_STOP = re.compile(r"[\n;=|<>{}()\"`]|\.(?!\w)|(?<!\w)'|'(?!\w)")
_MAX_PHRASE_CHARACTERS = 64
_MAX_USER_DISTANCE = 80
_USER_WORDS = word_list("words for users")
_PASS_VERBS = word_set("verbs after pass")
_VALUE_STOP = re.compile(r"[\s\"'`<>,;&()\[\]{}|]")
_ANNOTATION = re.compile(r"[\w.\[\], |?&<>]*+")
_LINE_MARKERS = frozenset(["", "+", "-", ">", "#", "*", "|", "//", "export", "set", "ENV", "ARG"])
_CLOSING_CHARACTERS = frozenset("\\\"'`])")


def find_named(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield values whose names indicate a secret."""
    seen: set[int] = set()
    for stem in (*_NAME_STEMS, *_SHORT_STEMS):
        done = 0  # end of the last value; names inside a value are skipped, so that the search takes linear time
        for at in offsets(lowered, stem):
            if at < done or (len(stem) < 5 and stem in _SHORT_STEMS and _is_inside_a_word(text, at, len(stem))):
                continue
            start, end = _name_around(text, lowered, at, len(stem))
            if end in seen:
                continue
            seen.add(end)
            strength = strength_of(text[start:end].strip("-."))
            for value in _values_after(text, start, end) if strength else ():
                is_secret = _is_secret(text, start, value, strength)
                if is_secret or value.lead not in ("is", " "):
                    done = 0 if value.is_quoted else value.end
                if is_secret:
                    yield SecretSpan(value.start, value.end, "password" if strength > Strength.SECRET else "secret")
                    break


def _is_inside_a_word(text: str, at: int, size: int) -> bool:
    """Whether a short stem, such as `pwd`, is only a part of a longer word."""
    before, after = text[at - 1 : at], text[at + size : at + size + 1]
    return after.islower() or (before.isalpha() and text[at].islower()) or (before.isupper() and text[at].isupper())


def _name_around(text: str, lowered: str, at: int, size: int) -> tuple[int, int]:
    """Return the span of the complete name around a stem, such as `DB_PASSWORD` around `password`.

    `API key` and `access token` count as one name.
    """
    start = at
    while start > 0 and at - start < _MAX_NAME_CHARACTERS and text[start - 1] in _NAME_LETTERS:
        start -= 1
    end = run_end(text, at + size, _NAME_END, max_characters=_MAX_NAME_CHARACTERS)
    while end < len(text) - 1 and text[end] == "." and text[end + 1].isalnum() and end - at < _MAX_NAME_CHARACTERS:
        end = run_end(text, end + 1, _NAME_END, max_characters=_MAX_NAME_CHARACTERS)
    if lowered[start:end] == "passe" and (
        lead := next(filter(lowered[max(0, start - 8) : start].endswith, _FRENCH_PREFIXES), "")
    ):
        return start - len(lead), end
    word_before = lowered[max(0, start - 14) : start].rpartition(" ")[0].rpartition(" ")[2]
    if text[start - 1 : start] == " " and text[start] != "-" and word_before in _KEY_QUALIFIERS:
        start -= len(word_before) + 1
    return start, end


@lru_cache(2048)
def strength_of(name: str) -> Strength:
    """Return how strongly a name indicates a secret, according to its last significant word."""
    words = [word.lower() for word in ASCII_PART.findall(name.translate(_TILDE_REMOVAL))]
    if words[-1:] == ["passe"]:
        return Strength.PASSWORD if words[-2:-1] == ["de"] else Strength.NONE
    if not any(map(_is_secret_word, words)):
        return Strength.NONE
    while len(words) > 1 and (words[-1] in _NAME_SUFFIXES or words[-1].isdigit()):
        words.pop()
    last, joined = words[-1], "".join(words[-2:])
    if last in _PASSWORD_WORDS or last.endswith(_PASSWORD_ENDS):
        return Strength.PASSWORD if last != "pass" or len(words) > 1 or name == "PASS" else Strength.AMBIGUOUS
    if last in _SECRET_WORDS or joined in _SECRET_WORDS or _is_secret_key(words):
        return Strength.SECRET
    return Strength.WEAK


def _is_secret_key(words: list[str]) -> bool:
    """Whether a name ends with `key` and contains a word that makes the key secret, such as `api`."""
    last = words[-1]
    return (last == "key" and len(words) > 1 and words[-2] in _KEY_QUALIFIERS) or (
        last.endswith("key") and last[:-3] in _KEY_QUALIFIERS
    )


def _is_secret_word(word: str) -> bool:
    """Whether a word of a name may indicate a secret."""
    return (
        word in _PASSWORD_WORDS or word in _SECRET_WORDS or word in _WEAK_WORDS or word.endswith(_SECRET_WORD_ENDINGS)
    )


def _values_after(text: str, start: int, end: int) -> Iterator[NamedValue]:
    """Yield the possible values of the name at [start, end), most probable first."""
    for place, lead in _value_offsets_after(text, start, end):
        if value := _value_at(text, place, lead):
            yield value


def _value_offsets_after(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Yield the offsets at which the value of the name at [start, end) may begin, each with the separator before it."""
    closed = end
    while closed < len(text) and closed - end < 6 and text[closed] in _CLOSING_CHARACTERS:
        closed += 1
    at = skip_blanks(text, closed)
    sign = next((sign for sign in _SEPARATORS if text.startswith(sign, at)), "")
    if sign and _may_separate(sign, text, start, closed=closed > end):
        yield _skip_annotation(text, at + len(sign), sign), sign
    elif text.startswith("-", start):
        if at > end:
            yield at, "flag"
    elif closed > end and (attribute := _attribute_value_offset(text, at)):
        yield attribute, "="
    else:
        yield from ((place, "is") for place in _offsets_after_verbs(text, end))
        if at > end:
            yield at, " "


def _may_separate(sign: str, text: str, start: int, *, closed: bool) -> bool:
    """Whether a separator character after a name separates it from a value."""
    if sign == ">":
        return start > 0 and text[start - 1] in "<:"
    return sign != "," or (closed and text[max(0, start - 4) : start].rstrip(" \"'`").endswith("("))


def _skip_annotation(text: str, at: int, sign: str) -> int:
    """Return the start of the value after a type annotation (`str` in `password: str = "…"`)."""
    second = text.find("=", at, at + 48) if sign == ":" else -1
    if second < 0 or not _ANNOTATION.fullmatch(text, at, second):
        return at
    return second + 1 if text[skip_blanks(text, second + 1) :][:1] in ('"', "'", "`") else at


def _attribute_value_offset(text: str, at: int) -> int:
    """Return the offset after `value=` in the same tag (`<input name="token" value="…">`), or 0 if there is none."""
    found = text.find("value=", at, at + 90)
    return found + 6 if found >= 0 and not any(sign in text[at:found] for sign in "<>\n") else 0


def _offsets_after_verbs(text: str, at: int) -> Iterator[int]:
    """Yield the offsets of values after a verb (`password of the staging box is …`) or `:` (`password of it: …`)."""
    stop = run_end(text, at, _SENTENCE_STOP, max_characters=_MAX_PHRASE_CHARACTERS)
    phrase = text[at:stop]
    place = 0
    is_of_something = phrase[1:].partition(" ")[0].lower() in _PREPOSITIONS
    for word in phrase.split(" "):
        place += len(word) + 1
        is_verb = word.rstrip(":").lower() in _VERBS and place > 2
        if word.endswith(":") and (is_verb or is_of_something):
            yield at + place - 1
        elif is_verb:
            following = phrase[place:].partition(" ")[0]
            skipped = len(following) + 1 if following in _ADVERBS and phrase[place + len(following) :].strip() else 0
            yield at + place + skipped
    if is_of_something and text.startswith("=", stop):
        yield stop + 1


def _value_at(text: str, at: int, lead: str) -> NamedValue | None:
    """Return the value at an offset, which may be in quotes or on the next line, or None if there is none."""
    at = skip_blanks(text, at)
    if lead not in (" ", "flag") and (line := _next_line_start(text, at)):
        return _value_on_line(text, line)
    quote = at
    while quote < len(text) and quote - at < 6 and text[quote] in "bBfFrRuU@$\\":
        quote += 1
    if text[quote : quote + 1] in ('"', "'", "`"):
        return _quoted_value(text, quote, lead)
    end = _plain_value_end(text, at)
    plain = text[at:end].rstrip(".:!?\\" if lead in ("is", " ") else "\\")
    return NamedValue(at, at + len(plain), plain, is_quoted=False, lead=lead) if plain else None


def _plain_value_end(text: str, at: int) -> int:
    """Return the end of an unquoted value.

    `&` belongs to the value unless another `name=value` pair follows, as in a URL.
    """
    end = run_end(text, at, _VALUE_STOP)
    while text[end : end + 1] == "&":
        further = run_end(text, end + 1, _VALUE_STOP)
        if further == end + 1 or "=" in text[end + 1 : further]:
            break
        end = further
    return end


def _next_line_start(text: str, at: int) -> int:
    """Return the start of the next non-empty line if the value may begin there, or 0.

    The rest of the current line must be empty or a continuation mark.
    """
    mark = text[at : at + 2]
    at = skip_blanks(text, at + (2 if mark in (">-", "|-", ">+", "|+") else 1 if mark[:1] in (">", "|", "\\") else 0))
    found = 0
    for _ in range(3):
        if text[at : at + 1] == "\r":
            at += 1
        if text[at : at + 1] != "\n":
            break
        at = found = skip_blanks(text, at + 1)
    if found and text[found : found + 1] in ("+", ">", "#", "|", "*", "-"):
        found = skip_blanks(text, found + 1)
    return found


def _value_on_line(text: str, at: int) -> NamedValue | None:
    """Return the value if it is the only word on the line after the name, or None if the line has several words."""
    line = text[at : line_around(text, at)[1]].rstrip().rstrip(",;")
    plain = line.strip("\"'`")
    if not plain or any(letter.isspace() for letter in plain):
        return None
    start = at + line.find(plain)
    return NamedValue(start, start + len(plain), plain, is_quoted=plain != line, lead="line")


def _quoted_value(text: str, at: int, lead: str) -> NamedValue | None:
    """Return the value in quotation marks; without a closing mark, the value ends at the end of the line."""
    start, limit = at + 1, line_around(text, at)[1]
    escaped = text[at - 1 : at] == "\\"
    end = text.find(text[at], start, limit)
    while end > start and text[end - 1] == "\\" and not escaped:
        end = text.find(text[at], end + 1, limit)
    end = end if end >= 0 else limit
    plain = text[start:end].rstrip("\\") if escaped else text[start:end]
    return NamedValue(start, start + len(plain), plain, is_quoted=True, lead=lead) if plain else None


def _is_secret(text: str, start: int, value: NamedValue, strength: Strength) -> bool:
    """Whether the value is a secret, given how strongly its name indicates one."""
    plain = value.text
    if is_placeholder(plain) or (value.lead in ("is", " ", "line") and is_type_name(plain)):
        return False
    if value.lead == " " and plain.startswith("-") and plain[1:].isalpha():
        return False  # not a secret, but a command-line option, as in `htpasswd -nbB`
    if strength is Strength.WEAK:
        return _is_random_value(value)
    if value.lead == ",":
        return value.is_quoted and (
            is_secret_like(plain) or (strength is Strength.PASSWORD and is_human_password(plain))
        )
    if not value.is_quoted and text[value.end : value.end + 1] in ("(", "["):
        return False  # not a secret, but a function call or index expression
    if strength is Strength.PASSWORD:
        return _is_password(text, start, value)
    if strength is Strength.AMBIGUOUS:
        return _is_random_value(value) or _is_pass_value(text, start, value)
    if value.lead == " " and not has_digit_and_letter(plain):
        return False
    return is_secret_like(plain) or _is_assigned(text, start, value)


def _is_random_value(value: NamedValue) -> bool:
    """Whether the value next to a name looks random."""
    plain = value.text
    return is_random(plain) or (value.lead != " " and is_weakly_random(plain)) or is_printable_random(plain)


def _is_assigned(text: str, start: int, value: NamedValue) -> bool:
    """Whether the value of a name is assigned as in a shell, or looks like a password.

    Examples are `API_TOKEN=abcd`, and a value with a special character.
    """
    if (
        value.lead not in ("=", "line", ":" if value.is_quoted else "=")
        or len(value.text) < 4
        or is_code(value.text)
        or is_number(value.text)
    ):
        return False
    name = text[start : value.start].rstrip("\"'").removesuffix("=")
    return (value.lead == "=" and name.isupper() and " " not in name) or (
        is_human_password(value.text) and not value.text.isalnum()
    )


def _is_password(text: str, start: int, value: NamedValue) -> bool:
    """Whether the value next to a name for passwords is a password."""
    plain = value.text
    if value.lead in (" ", "is", "line", "flag"):
        if is_secret_like(plain) or (is_human_password(plain) and not is_code(plain)):
            return True
        return value.lead == "is" and is_word_with_digits(plain)
    if len(plain) < 4 or is_type_name(plain):
        return False
    if value.is_quoted:
        return not any(letter.isspace() for letter in plain)
    if is_code(plain) or is_number(plain):
        return False
    # Names in code are nearly always ASCII, so other values are words of a foreign language
    is_foreign_word = value.lead == "=" and not plain.isascii()
    return (
        not is_word_like(plain) or has_digit_and_letter(plain) or is_foreign_word or _is_plain_word(text, start, value)
    )


def _is_pass_value(text: str, start: int, value: NamedValue) -> bool:
    """Whether the value after `pass` looks like a password, or is in quotation marks and follows a user name."""
    plain = value.text
    before = text[max(0, start - _MAX_USER_DISTANCE) : start].lower()
    has_user = any(word in before for word in _USER_WORDS)
    if value.lead in (":", "=", "=>") and value.is_quoted and has_user:
        return _is_password(text, start, value)
    if not has_digit_and_letter(plain):
        return False
    if value.lead == " " and not has_user:
        return False
    if value.lead == "is" and text[start + len("pass") : value.start].strip(" :\"'`") not in _PASS_VERBS:
        return False  # not a password, because `pass` is a verb, as in `pass the file to …`
    if is_secret_like(plain):
        return True
    is_alone = value.is_quoted or has_user or _begins_line(text, start)
    return is_alone and not is_code(plain) and (is_human_password(plain) or is_word_with_digits(plain))


def _begins_line(text: str, start: int) -> bool:
    """Whether only a list mark, diff mark, line number or quotation mark precedes a name on its line."""
    before = text[line_around(text, start)[0] : start].strip().rstrip("\"'").strip()
    return before in _LINE_MARKERS or before.rstrip(".:→").isdigit()


def _is_plain_word(text: str, start: int, value: NamedValue) -> bool:
    """Whether a plain word is a value in a configuration, not in code.

    Examples are `password: word` on a line of its own, and `password=word`.
    """
    after = text[value.end : value.end + 1]
    if value.lead == ":":
        return after in ("", "\n", "\r") and _begins_line(text, start)
    return value.lead == "=" and text[value.start - 1] == "=" and after in ("", "\n", "\r", " ", "&", ";")
