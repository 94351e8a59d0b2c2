"""Secrets on command lines, found by the options of known programs: `mysql -p…`, `curl -u user:…`, `sshpass -p …`."""

# `from __future__ import annotations` is omitted, because a named tuple would then compile each annotation whenever a
# hook (a short process that the coding agent starts) starts.
import re
from collections.abc import Iterator
from typing import NamedTuple

from deltos.redaction.predicates import (
    has_digit_and_letter,
    is_human_password,
    is_number,
    is_placeholder,
    is_secret_like,
    is_type_name,
    is_word_with_digits,
)
from deltos.redaction.spans import SecretSpan, offsets, run_end, skip_blanks
from deltos.redaction.word_lists import word_table

# Password options by program. Each entry says where the password is:
#   `-p`         the word after this option
#   `-p*`        the text after this option, without a space
#   `-u:`        the text after a user name and `:`
#   `@login`     the word after `login`
#   `@user+`     the second word after `user`
#   `@passwd#1`  the first word after `passwd` that is not an option
#   `-nb#2`      the second such word after these options
# An entry without a sign, such as `login`, is a word that the command must contain.
_OPTIONS_BY_PROGRAM = {
    name: options.split() for names, options in word_table("password options") for name in names.split()
}
_PROGRAM_NAMES = frozenset(_OPTIONS_BY_PROGRAM)
_WORD_SEPARATORS = {ord(sign): " " for sign in "\"'`$()|&;/"}
_NAME_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_WORD_END = re.compile(r"[\s\"'`|;&<>]")
_MAX_COMMAND_CHARACTERS = 600
_MAX_WORDS = 60
_OPTIONS_WITH_VALUES = frozenset(["-C", "-r", "-salt"])  # command-line options that take a value

# Substrings that identify commands that read a password from standard input.
_PASSWORD_READERS = (
    *("--password-stdin", "sudo -s", "chpasswd", "passwd --stdin", "--with-token", "login", "cryptsetup"),
    *("| passwd ", "|passwd ", "smbpasswd", "vncpasswd", "kinit", "--passphrase-fd", "htpasswd -"),
)


class CommandWord(NamedTuple):
    """A word of a command without its quotes; `is_attached` is whether it directly follows the previous word."""

    start: int
    text: str
    is_attached: bool


def find_arguments(text: str, lowered: str) -> Iterator[SecretSpan]:
    """Yield passwords in the arguments of programs with known password options."""
    for program in _PROGRAM_NAMES.intersection(lowered.translate(_WORD_SEPARATORS).split()):
        options = _OPTIONS_BY_PROGRAM[program]
        done = 0
        for at in offsets(lowered, program):
            end = at + len(program)
            if at >= done and _is_whole_word(text, at, end):
                words = command_words(text, end)
                done = words[-1].start if words else end
                yield from _find_passwords(words, options)
    for mark in ("echo ", "printf "):
        for at in offsets(lowered, mark):
            yield from _piped_password(text, lowered, at + len(mark))


def _is_whole_word(text: str, at: int, end: int) -> bool:
    """Whether the text between two offsets is a word followed by a space or tab."""
    return (at == 0 or text[at - 1] not in _NAME_LETTERS) and text[end : end + 1] in (" ", "\t")


def command_words(text: str, at: int) -> list[CommandWord]:
    """Return the words of a command from `at` to the end of the command.

    The command ends at a line break, or at an operator before the next command.
    """
    words: list[CommandWord] = []
    limit, last = min(len(text), at + _MAX_COMMAND_CHARACTERS), -1
    while len(words) < _MAX_WORDS:
        at = skip_blanks(text, at)
        if text.startswith("\\\n", at):
            at += 2
            continue
        if at >= limit or text[at] in "\n|;&":
            return words
        start, end = _word_at(text, at, limit)
        words.append(CommandWord(start, text[start:end], at == last))
        at = last = max(at + 1, end + (start > at))
    return words


def _word_at(text: str, at: int, limit: int) -> tuple[int, int]:
    """Return the span of the word at `at`, excluding quotation marks."""
    if text[at] not in "\"'":
        return at, run_end(text, at, _WORD_END, max_characters=limit - at)
    end = text.find(text[at], at + 1, limit)
    return at + 1, end if end >= 0 else limit


def _find_passwords(words: list[CommandWord], options: list[str]) -> Iterator[SecretSpan]:
    """Yield the passwords in the words of one command."""
    given = {word.text for word in words}
    if any(option.isalpha() and option not in given for option in options):
        return
    for option in options:
        if "#" in option and (found := _positional_password(words, option)):
            yield found
    flags = [option for option in options if not option.isalpha() and "#" not in option]
    for number, word in enumerate(words):
        following = words[number + 1] if number + 1 < len(words) else None
        for option in flags:
            if found := _option_password(word, following, words[number + 2 :], option):
                yield found


def _option_password(
    word: CommandWord, following: CommandWord | None, rest: list[CommandWord], option: str
) -> SecretSpan | None:
    """Return the password of an option, in the same word or in one of the following words, or None."""
    if option.endswith("+"):
        return _password_span(rest[0], "") if word.text == option[1:-1] and rest else None
    if option.endswith("*"):
        return _attached_value(word, following, option[:-1])
    sign = option[-1] if option[-1] in ":%,=" else ""
    flag = option.removesuffix(sign).removeprefix("@")
    if word.text == flag:
        return _password_span(following, sign) if following else None
    if sign and len(flag) == 2 and word.text.startswith(flag) and word.text[2:3] != "-":
        return _password_span(word, sign, skip=2)
    if flag.startswith("--") and word.text.startswith(flag + "="):
        return _password_span(word, sign, skip=len(flag) + 1)
    return None


def _positional_password(words: list[CommandWord], option: str) -> SecretSpan | None:
    """Return the password at a fixed position among the words that are not options.

    An example is `htpasswd -b FILE USER PASSWORD`. If more words follow, as in a sentence, the password must look like
    one.
    """
    flag, _, position = option.partition("#")
    start = _position_of(words, flag)
    if start is None:
        return None
    following, plain = words[start + 1 :], list[CommandWord]()
    for before, word in zip(words[start:], following, strict=False):
        if not word.text:
            break  # the argument is missing or redirected
        if not word.text.startswith("-") and before.text not in _OPTIONS_WITH_VALUES:
            plain.append(word)
    number = int(position)
    if len(plain) < number:
        return None
    value = plain[number - 1]
    if len(plain) > number and not any(
        judge(value.text) for judge in (is_secret_like, is_human_password, is_word_with_digits)
    ):
        return None
    return _password_span(value, "")


def _position_of(words: list[CommandWord], flag: str) -> int | None:
    """Return the index of `word` for the flag `@word`, or of the first of several required short options.

    Several short options may be written as `-nb` or `-B -n -b`.
    """
    if flag.startswith("@"):
        return next((number for number, word in enumerate(words) if word.text == flag[1:]), None)
    required = set(flag[1:])
    given = {number: set(word.text[1:]) for number, word in enumerate(words) if _is_short_options(word.text)}
    if not required <= set().union(*given.values()):
        return None
    return next(number for number, letters in given.items() if letters & required)


def _is_short_options(word: str) -> bool:
    return word.startswith("-") and word[1:].isalpha()


def _attached_value(word: CommandWord, following: CommandWord | None, flag: str) -> SecretSpan | None:
    """Return the value of `-pVALUE`, or of `-p'VALUE'`, which is split into two attached words."""
    if word.text == flag:
        return _password_span(following, "") if following and following.is_attached else None
    return _password_span(word, "", skip=len(flag)) if word.text.startswith(flag) else None


def _password_span(word: CommandWord, sign: str, skip: int = 0) -> SecretSpan | None:
    """Return the password in a word after `skip` characters, or after a user name and `sign`.

    Return None if it is a placeholder.
    """
    start, value = word.start + skip, word.text[skip:]
    if sign:
        user, found, rest = value.partition(sign)
        if not found or (sign == "=" and not is_secret_like(rest)):
            return None
        if rest:
            start, value = start + len(user) + 1, rest
        else:
            value = user  # use the user name, which may be a key, as in `curl -u sk_live_…:`
    if value.startswith("pass:"):
        start, value = start + 5, value[5:]
    if (
        value.startswith(("env:", "file:", "fd:", "-"))
        or len(value) < 3
        or (is_placeholder(value) and not _has_password_letters(value))
        or is_type_name(value)
    ):
        return None
    return SecretSpan(start, start + len(value), "password")


def _has_password_letters(value: str) -> bool:
    """Whether a value mixes upper case, lower case and digits as passwords do, such as `SecretWord1`."""
    return value.isalnum() and has_digit_and_letter(value) and not value.islower() and not value.isupper()


def _piped_password(text: str, lowered: str, at: int) -> Iterator[SecretSpan]:
    """Yield the password in `echo … | docker login --password-stdin`."""
    words = [word for word in command_words(text, at) if not word.text.startswith("-")]
    if len(words) != 1:
        return
    end = words[0].start + len(words[0].text)
    joined = text.find("|", end, end + 4)
    reader = lowered[joined : joined + 160].partition("\n")[0] if joined >= 0 else ""
    if is_number(words[0].text) or is_placeholder(words[0].text):
        return
    if any(mark in reader for mark in _PASSWORD_READERS):
        yield SecretSpan(words[0].start, end, "password")
