"""Secrets in answers to questions that ask for them, such as `Which password?`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.redaction.named_values import Strength, strength_of
from deltos.redaction.predicates import (
    is_code,
    is_human_password,
    is_placeholder,
    is_secret_like,
    is_type_name,
    is_word_with_digits,
)
from deltos.redaction.spans import SecretSpan, lower
from deltos.redaction.word_lists import word_list, word_set

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORD = re.compile(r"[^\s,;?!.:()\"'`]++")
_ANSWER_WORD = re.compile(r"[^\s\"'`]++")
_FRENCH_PASSWORD_PHRASES = word_list("French password phrases")
# Words for codes that may consist only of digits, such as `PIN`.
_PIN_WORDS = word_set("words for codes")
_SECRET_WORDS = word_set("words for secrets in questions")
_PASSWORD_PLURALS = word_list("plurals of password")
# Words after `password` in questions about passwords in general.
_GENERAL_TOPIC_WORDS = word_set("words after password in general questions")
# First words of questions that do not ask for the value itself: yes-or-no questions, and questions about how or when.
_NON_VALUE_QUESTION_WORDS = word_set("first words of questions that ask for no value")
_VALUE_VERBS = word_set("verbs of questions for a value")
_MIN_CODE_DIGITS = 4
_MAX_CODE_DIGITS = 10
_END_PUNCTUATION = ".,;:?!"
_OPENING_BRACKETS = "([{<"
_CLOSING_BRACKETS = ")]}>"


def find_answer_secrets(question: str, answer: str, *, is_typed: bool) -> Iterator[SecretSpan]:
    """Yield the secrets in an answer if the question asks for one.

    `is_typed` is false if the user selected an option; then only questions about passwords count.
    """
    words = [word[0] for word in _WORD.finditer(lower(question))]
    strength = _question_strength(words, lower(question))
    if strength is Strength.NONE or (strength is not Strength.PASSWORD and not is_typed):
        return
    asks_for_value = words[0] not in _NON_VALUE_QUESTION_WORDS or not _VALUE_VERBS.isdisjoint(words[1:2])
    is_value = is_typed and strength is Strength.PASSWORD and asks_for_value
    kind = "password" if strength is Strength.PASSWORD else "secret"
    candidates = [span for word in _ANSWER_WORD.finditer(answer) if (span := _strip_punctuation(word, kind))]
    last = answer.rpartition(": ")[2].split()
    for span in candidates:
        value = answer[span.start : span.end]
        is_only = is_value and len(last) == 1 and value in last[0]
        if _is_credential(value) or (is_only and _is_word_or_code(value)):
            yield span


def _question_strength(words: list[str], question: str) -> Strength:
    """Return how strongly a question indicates that its answer is a secret."""
    if any(french in question for french in _FRENCH_PASSWORD_PHRASES):
        return Strength.PASSWORD
    found = Strength.NONE
    for word, following in zip(words, (*words[1:], ""), strict=True):
        if following in _GENERAL_TOPIC_WORDS:
            continue
        if word in _PIN_WORDS or (word != "pass" and strength_of(word) is Strength.PASSWORD):
            return Strength.PASSWORD
        if word in _SECRET_WORDS or word in _PASSWORD_PLURALS or strength_of(word) is Strength.SECRET:
            found = Strength.SECRET
    return found


def _strip_punctuation(word: re.Match[str], kind: str) -> SecretSpan | None:
    """Return the span of a word without surrounding punctuation, or None if nothing remains.

    A final `!` is kept if the word has digits, because it may be part of a password.
    """
    text = word[0].lstrip(_OPENING_BRACKETS)
    start = word.end() - len(text)
    text = text.rstrip(_CLOSING_BRACKETS).rstrip(
        _END_PUNCTUATION.replace("!", "") if any(map(str.isdigit, text)) else _END_PUNCTUATION
    )
    return SecretSpan(start, start + len(text), kind) if text else None


def _is_credential(value: str) -> bool:
    """Whether a word of an answer looks like a password or key."""
    if is_placeholder(value) or is_code(value):
        return False
    return is_secret_like(value) or is_human_password(value) or is_word_with_digits(value)


def _is_word_or_code(value: str) -> bool:
    """Whether a one-word answer may be a password or numeric code, unlike `yes` or `${VARIABLE}`."""
    if value.isdigit():
        return _MIN_CODE_DIGITS <= len(value) <= _MAX_CODE_DIGITS
    return (
        len(value) >= _MIN_CODE_DIGITS and not is_placeholder(value) and not is_type_name(value) and not is_code(value)
    )
