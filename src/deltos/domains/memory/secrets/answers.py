"""Secrets in the answer to a question that asks for one: `Which password?`, answered with nothing but its value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.domains.memory.secrets.looks import (
    is_chosen,
    is_code,
    is_placeholder,
    is_secretive,
    is_type_name,
    is_word_with_digits,
)
from deltos.domains.memory.secrets.names import Strength, strength_of
from deltos.domains.memory.secrets.spans import SecretSpan, lower

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORD = re.compile(r"[^\s,;?!.:()\"'`]++")
_ANSWERED = re.compile(r"[^\s\"'`]++")
_FRENCH = ("mot de passe", "mots de passe")
# Codes of digits alone.
_PIN_WORDS = frozenset("pin pins otp totp tan 2fa mfa passcode passcodes".split())
_SECRET_WORDS = frozenset(
    "key keys secret secrets token tokens credential credentials schlüssel clé clave chave".split()
)
_PLURALS = ("passwords", "passphrases", "passwörter", "kennwörter", "contraseñas", "senhas", "wachtwoorden")
# What comes after `password` where the question is about passwords in general.
_ABOUT = frozenset(
    """hash hashes hashing hasher policy policies manager managers algorithm format type types length rotation field
    fields storage store strength rules reset check validation prompt encoding encryption method flow library backend
    scheme provider generator""".split()
)
# How a question begins that asks for the value itself, not whether something is to be done with it.
_YES_OR_NO = frozenset(
    """should shall do does did is are was can could may must will would have has how why where when soll sollen ist
    sind darf kann wie warum wo wann""".split()
)
_ASKS_FOR_IT = frozenset(["lautet", "ist", "heißt"])  # after `wie`
_SHORTEST_CODE = 4
_LONGEST_CODE = 10
_ENDS = ".,;:?!"
_OPENING = "([{<"
_CLOSING = ")]}>"


def secrets_asked_for(question: str, answer: str, *, is_typed: bool) -> Iterator[SecretSpan]:
    """The secrets in an answer, if the question asks for one. What the user did not type was offered by the agent:
    there only a password is looked for."""
    words = [word[0] for word in _WORD.finditer(lower(question))]
    strength = _asked_for(words, lower(question))
    if strength is Strength.NONE or (strength is not Strength.PASSWORD and not is_typed):
        return
    asks_for_it = words[0] not in _YES_OR_NO or not _ASKS_FOR_IT.isdisjoint(words[1:2])
    is_value = is_typed and strength is Strength.PASSWORD and asks_for_it
    kind = "password" if strength is Strength.PASSWORD else "secret"
    given = [span for word in _ANSWERED.finditer(answer) if (span := _bare(word, kind))]
    last = answer.rpartition(": ")[2].split()
    for span in given:
        value = answer[span.start : span.end]
        is_only = is_value and len(last) == 1 and value in last[0]
        if _is_credential(value) or (is_only and _is_word_or_code(value)):
            yield span


def _asked_for(words: list[str], question: str) -> Strength:
    """How sure it is that a question asks for a secret: a password, or a key or several of something."""
    if any(french in question for french in _FRENCH):
        return Strength.PASSWORD
    found = Strength.NONE
    for word, following in zip(words, (*words[1:], ""), strict=True):
        if following in _ABOUT:
            continue
        if word in _PIN_WORDS or (word != "pass" and strength_of(word) is Strength.PASSWORD):
            return Strength.PASSWORD
        if word in _SECRET_WORDS or word in _PLURALS or strength_of(word) is Strength.SECRET:
            found = Strength.SECRET
    return found


def _bare(word: re.Match[str], kind: str) -> SecretSpan | None:
    """A word of an answer without the punctuation around it; a `!` may be part of a password."""
    text = word[0].lstrip(_OPENING)
    start = word.end() - len(text)
    text = text.rstrip(_CLOSING).rstrip(_ENDS.replace("!", "") if any(map(str.isdigit, text)) else _ENDS)
    return SecretSpan(start, start + len(text), kind) if text else None


def _is_credential(value: str) -> bool:
    if is_placeholder(value) or is_code(value):
        return False
    return is_secretive(value) or is_chosen(value) or is_word_with_digits(value)


def _is_word_or_code(value: str) -> bool:
    """Whether a word that is all of an answer may be the value: no `yes`, `later` or `${VARIABLE}`."""
    if value.isdigit():
        return _SHORTEST_CODE <= len(value) <= _LONGEST_CODE
    return len(value) >= _SHORTEST_CODE and not is_placeholder(value) and not is_type_name(value) and not is_code(value)
