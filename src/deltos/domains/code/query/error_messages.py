"""Detect error messages in a query, and find the string literals in code that produce them.

This module does not access the index; the callers choose the code to compare.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from deltos.text.stop_words import CHANGE_VERBS, INTERROGATIVES, QUESTION_WORDS, STOP_WORDS
from deltos.text.words import plain_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_MIN_WORDS, _MIN_CHARACTERS = 3, 12  # minimum size of a text that is only possibly an error message
_MIN_CERTAIN_WORDS, _MIN_CERTAIN_CHARACTERS = 2, 8  # minimum size of a text that is definitely an error message

# Minimum share of a message's words that the string literals must contain, for possible and for definite messages. The
# remaining words may be values that the program inserted.
_MIN_SHARE, _MIN_CERTAIN_SHARE = 0.6, 0.5
_QUOTES = "\"'`"
_QUOTE = re.compile("[\"'`]")
_COMMENT_PREFIXES = ("#", "//", "/*", "*", "--", ";")
_NON_MESSAGE_WORDS = INTERROGATIVES | CHANGE_VERBS  # words at the start of questions or commit subjects
_MAX_WORDS = 60
_MAX_LINE_CHARACTERS = 2_000
_MAX_LINES, _MAX_MESSAGES = 100, 4
_MAX_ERROR_CLASS_WORDS = 2  # maximum number of words in an error class, such as `Uncaught TypeError`
_ERROR_KINDS = ("error", "exception", "panic", "fatal", "warning", "failure", "fault", "caused by")
_MAX_JOINED_LINES = 5  # maximum number of lines of one concatenated string
_MAX_LITERALS = 20  # maximum number of string literals compared with a message at once
END_MARKS = ".!… \t"

# Words that are typical of error messages.
_ERROR_WORDS = frozenset(
    """not cannot can't couldn't doesn't isn't wasn't won't didn't unable failed fails failure invalid illegal missing
    unexpected expected unknown unsupported undefined unrecognized unresolved must required denied refused forbidden
    exceeded exceeds already no malformed deprecated timed expired corrupt conflict unreachable unavailable
    mismatch duplicate too""".split()
)
# Placeholders and escape sequences in string literals, such as `%s`, `{a!r}`, `${a}`, `\(a)`, `~p` and `\n`.
_PLACEHOLDER = re.compile(
    r"%(?:\([^()]*\))?[-+#0-9.*$]*(?:[A-Za-z@]|$)|[#$@%]?\{[^{}]*\}|[{}]|\$[A-Za-z_]\w*|\\\([^()]*\)|\\.|~[a-zA-Z]\b"
)
# Values that a program inserted into a message: text in quotation marks or brackets.
_INSERTED_VALUE = re.compile(r"\"[^\"]*\"|(?<!\w)'[^']*'|`[^`]*`|[\[{(<][^\[\](){}<>]*[\])}>]")
_VALUE_SIGNS = frozenset("0123456789/\\=")  # characters that occur in numbers, paths and addresses


@dataclass(frozen=True, slots=True)
class ErrorMessage:
    """A text that may be an error message.

    `is_certain` is set if the text is definitely an error message because of quotation marks, a preceding error class
    or the wording. Matching code must contain at least `min_words` words of the message.
    """

    text: str
    is_certain: bool = False
    min_words: int = _MIN_WORDS


class MessageMatch(NamedTuple):
    """String literals in code that occur in a message in the same order.

    `score` increases with the number of matching letters and digits. `is_complete` is set if the message contains all
    the literals.
    """

    score: float = 0.0
    parts: tuple[str, ...] = ()
    is_complete: bool = False


def find_messages(query: str) -> list[ErrorMessage]:
    """Return the possible messages in a query, most probable first.

    Possible messages are the text after an error class such as `ValueError: `, quoted texts, and one-line queries.
    """
    certain = [
        text
        for line in query.split("\n")[:_MAX_LINES]
        for text in (*_texts_after_error_kind(line), *_quoted_texts(line))
    ]
    found = [certain_message(text) for text in dict.fromkeys(certain) if _is_long_enough(text)]
    whole = [_query_as_message(query)] if _may_be_message(query) else []
    first = whole if whole and whole[0].is_certain and not _texts_after_error_kind(query) else []
    return [*first, *found[:_MAX_MESSAGES], *(whole if not first else ())]


def certain_message(text: str) -> ErrorMessage:
    """Convert a text that is definitely an error message to an ErrorMessage."""
    return ErrorMessage(text, is_certain=True, min_words=_MIN_CERTAIN_WORDS)


def _query_as_message(query: str) -> ErrorMessage:
    """Convert a query to an ErrorMessage. The wording decides whether it is definitely an error message."""
    refuses, is_filled = _contains_error_word(query), _INSERTED_VALUE.search(query[:_MAX_LINE_CHARACTERS]) is not None
    is_sentence = query[:1].isupper() and query[1:2].islower()
    if refuses + is_filled + is_sentence > 1 or _texts_after_error_kind(query):
        return certain_message(query)
    return ErrorMessage(query, is_certain=refuses and len(query.split()) >= _MIN_WORDS)


def reads_as_message(text: str) -> bool:
    """Whether a text is worded like an error message."""
    return _query_as_message(text).is_certain


def is_quotation(query: str, message: ErrorMessage) -> bool:
    """Whether the query quotes the message and contains other meaningful words."""
    quoted = [text for line in query.split("\n")[:_MAX_LINES] for text in _quoted_texts(line)]
    if message.text not in quoted or _texts_after_error_kind(query):
        return False
    outside = plain_words(query.replace(message.text, " "))
    return any(word.lower() not in STOP_WORDS | QUESTION_WORDS for word in outside)


def _is_long_enough(text: str) -> bool:
    return len(text) >= _MIN_CERTAIN_CHARACTERS and len(text.split()) >= _MIN_CERTAIN_WORDS


def _may_be_message(query: str) -> bool:
    """Whether a query is a single line that is neither a question nor a commit subject."""
    first = query.split(maxsplit=1)[:1]
    return (
        "\n" not in query
        and not query.rstrip().endswith("?")
        and bool(first)
        and first[0].lower() not in _NON_MESSAGE_WORDS
    )


def _contains_error_word(query: str) -> bool:
    """Whether a query contains a word that is typical of error messages, such as `cannot`."""
    words = query.lower().replace("’", "'").split()[:_MAX_WORDS]
    return any(word.strip(".,:;!()") in _ERROR_WORDS for word in words)


def _texts_after_error_kind(line: str) -> list[str]:
    """Return a list with the text after an error class such as `RuntimeError: ` in a line, or an empty list."""
    parts = line[:_MAX_LINE_CHARACTERS].split(": ")
    for number, part in enumerate(parts[:-1]):
        if part.lower().endswith(_ERROR_KINDS) and not _begins_with_error_kind(parts[number + 1 :]):
            return [": ".join(parts[number + 1 :]).strip()]
    return []


def _begins_with_error_kind(parts: Sequence[str]) -> bool:
    """Whether a line (already split at the colons) begins with an error class that is followed by a message."""
    name = parts[0].rpartition(" ")[2]
    is_class = not name.islower() and name.lower().endswith(_ERROR_KINDS)
    return len(parts) > 1 and is_class and len(parts[0].split()) <= _MAX_ERROR_CLASS_WORDS


def _quoted_texts(line: str) -> list[str]:
    """Return the quoted texts in a line."""
    found: list[str] = []
    at, line = 0, line[:_MAX_LINE_CHARACTERS]
    while at < len(line):
        mark = line[at]
        if mark in _QUOTES and not line[at - 1 : at].isalnum() and (closed := _closing_quote(line, mark, at + 1)) > 0:
            found.append(line[at + 1 : closed].strip())
            at = closed
        at += 1
    return found


def _closing_quote(line: str, mark: str, start: int) -> int:
    """Return the offset of the closing quotation mark, or -1. A letter or digit must not follow the quotation mark."""
    at = line.find(mark, start)
    while at >= 0 and line[at + 1 : at + 2].isalnum():
        at = line.find(mark, at + 1)
    return at


def match_message(message: ErrorMessage, contents: Iterable[str]) -> MessageMatch:
    """Return the best match between a message and the string literals in the given texts of code.

    The match consists of the texts around placeholders, or of the longest sequence of words that also occurs in the
    code. A definite error message also matches a line of code that contains the whole message.
    """
    matcher = _MessageMatcher(message)
    best = MessageMatch()
    for content in contents:
        lines = content.split("\n")
        if (
            message.is_certain
            and matcher.is_enough
            and any(matcher.whole in line and not _is_comment(line) for line in lines)
        ):
            return MessageMatch(_alphanumeric_count(matcher.whole), (matcher.whole,), is_complete=True)
        best = max(
            best, matcher.match_placeholders(lines), matcher.longest_run_match(lines), key=lambda match: match.score
        )
    return best


def fixed_text(message: ErrorMessage) -> str:
    """Return the message without the values that the program inserted, such as numbers, paths and quoted texts."""
    return " ".join(_fixed_parts(message)) or message.text


def _fixed_parts(message: ErrorMessage) -> list[str]:
    """Split a message at the values that the program inserted, and return the texts between them."""
    literal_parts = _INSERTED_VALUE.sub("\n", message.text[:_MAX_LINE_CHARACTERS])
    lines = []
    for line in literal_parts.split("\n"):
        words = ["\n" if _VALUE_SIGNS.intersection(word) else word for word in line.split(" ")]
        lines.append(" ".join(words))
    return [piece.strip() for piece in "\n".join(lines).split("\n") if _has_letter(piece)]


class _MessageMatcher:
    """Compares one message with the string literals of code."""

    def __init__(self, message: ErrorMessage) -> None:
        self._text = message.text[:_MAX_LINE_CHARACTERS]
        self._is_certain, self._min_words = message.is_certain, message.min_words
        self.whole = message.text.rstrip(END_MARKS)
        self._spans = _word_spans(self._text)
        self._words = [self._text[start:end] for start, end in self._spans if _has_letter(self._text[start:end])]
        self._word_count = max(1, len(_words_with_letters(self._text)))
        self.is_enough = self._word_count >= message.min_words

    def match_placeholders(self, lines: Sequence[str]) -> MessageMatch:
        """Return the best match between the error message and string literals on adjacent lines of code."""
        texts = {
            number: literal_parts
            for number, line in enumerate(lines)
            if (literal_parts := _string_parts(line[:_MAX_LINE_CHARACTERS]))
        }
        known = {
            number
            for number, literal_parts in texts.items()
            if any(part in self._text for text in literal_parts for part in text)
        }
        best = MessageMatch()
        for number in sorted(known):
            near = [text for at in range(number, number + _MAX_JOINED_LINES) for text in texts.get(at, ())]
            best = max(best, self._match_in_order(near[:_MAX_LITERALS]), key=lambda match: match.score)
        return best

    def _match_in_order(self, texts: Iterable[Sequence[str]]) -> MessageMatch:
        """Match string literals with the message, in which their parts must occur in the same order."""
        parts: list[str] = []
        at, begin, missing_total = 0, -1, 0
        for text in texts:
            matched_parts, missing_letters, end = [], 0, at
            for part in text:
                if (place := self._find_part(part, end)) < 0:
                    missing_letters += _alphanumeric_count(part)
                    continue
                matched_parts.append(part)
                begin = begin if begin >= 0 else place
                end = place + len(part)
            if matched_parts and _alphanumeric_count("".join(matched_parts)) > missing_letters:
                parts, missing_total, at = [*parts, *matched_parts], missing_total + missing_letters, end
            elif parts:
                break  # the remaining literals belong to another message
            else:
                begin = -1
        score = _alphanumeric_count("".join(parts)) - missing_total
        is_match = bool(parts) and self._is_match(parts, begin, missing_total)
        return MessageMatch(score, tuple(parts), is_complete=not missing_total) if is_match else MessageMatch()

    def _find_part(self, part: str, start: int) -> int:
        """Return the offset of a text in the message, or -1 if the message does not contain it as whole words."""
        at = self._text.find(part, start)
        while at >= 0:
            before, after = self._text[at - 1 : at] if at else "", self._text[at + len(part) : at + len(part) + 1]
            if not (before.isalnum() and part[0].isalnum()) and not (after.isalnum() and part[-1].isalnum()):
                return at
            at = self._text.find(part, at + 1)
        return -1

    def _is_match(self, parts: Sequence[str], begin: int, missing_total: int) -> bool:
        """Whether the matched parts of string literals cover enough of the message."""
        matched_words = [word for part in parts for word in _words_with_letters(part)]
        share = len(matched_words) / self._word_count
        letters = _alphanumeric_count("".join(parts))
        if len(matched_words) < self._min_words or letters < _MIN_CERTAIN_CHARACTERS:
            return False
        if not self._is_certain:
            return share >= _MIN_SHARE
        begins = not _words_with_letters(self._text[:begin]) or self._text[:begin].endswith(": ")
        return share >= _MIN_CERTAIN_SHARE or (begins and not missing_total and len(matched_words) >= _MIN_WORDS)

    def longest_run_match(self, lines: Sequence[str]) -> MessageMatch:
        """Return the longest sequence of message words that occurs after a quotation mark in one of the lines."""
        best = ""
        for line in lines:
            quoted = _text_after_quote(line[:_MAX_LINE_CHARACTERS])
            if quoted and sum(word in quoted for word in self._words) >= len(self._words) * _MIN_SHARE:
                best = max(best, _longest_run(self._text, self._spans, quoted), key=len)
        return MessageMatch(_alphanumeric_count(best) - 0.5, (best,)) if best else MessageMatch()


def _words_with_letters(text: str) -> list[str]:
    return [word for word in text.split() if _has_letter(word)]


def _has_letter(text: str) -> bool:
    return any(char.isalpha() for char in text)


def _alphanumeric_count(text: str) -> int:
    return sum(char.isalnum() for char in text)


def _string_parts(line: str) -> list[list[str]]:
    """Return the string literals in a line of code; each literal is split at the placeholders."""
    if not _QUOTE.search(line) or _is_comment(line):
        return []
    literal_parts = (
        [part for part in _PLACEHOLDER.sub("\n", text).split("\n") if _alphanumeric_count(part) > 1]
        for text in _string_literals(line)
    )
    return [parts for parts in literal_parts if parts]


def _string_literals(line: str) -> Iterator[str]:
    """Yield the string literals in a line of code; an unclosed literal extends to the end of the line."""
    at = 0
    while found := _QUOTE.search(line, at):
        at, mark = found.start(), found[0]
        if _is_apostrophe(line, at):
            at += 1
            continue
        if line[at : at + 3] == mark * 3:
            if not line[:at].strip("rRfFbBuU \t"):
                return  # the line begins with a docstring
            at += 2
        closed = _unescaped_quote(line, mark, at + 1)
        yield line[at + 1 : closed]
        at = closed + 1


def _unescaped_quote(line: str, mark: str, start: int) -> int:
    """Return the offset of the next quotation mark that is not escaped, or the end of the line."""
    at = line.find(mark, start)
    while at > 0 and line[at - 1] == "\\" and line[at - 2] != "\\":
        at = line.find(mark, at + 1)
    return at if at >= 0 else len(line)


def _word_spans(text: str) -> list[tuple[int, int]]:
    """Return the start and end offsets of the words in a text."""
    spans: list[tuple[int, int]] = []
    at = 0
    for word in text.split()[:_MAX_WORDS]:
        start = text.index(word, at)
        at = start + len(word)
        spans.append((start, at))
    return spans


def _longest_run(query: str, spans: Sequence[tuple[int, int]], quoted: str) -> str:
    """Return the longest sequence of query words that occurs in a text."""
    best = ""
    for first, (start, _) in enumerate(spans):
        last = first - 1
        while last + 1 < len(spans) and query[start : spans[last + 1][1]] in quoted:
            last += 1
        longest_run_match = query[start : spans[last][1]] if last >= first else ""
        if (
            last - first + 1 >= _MIN_WORDS
            and len(longest_run_match) >= _MIN_CHARACTERS
            and len(longest_run_match) > len(best)
        ):
            best = longest_run_match
    return best


def _text_after_quote(line: str) -> str:
    """Return the part of a line after the first quotation mark; an empty string for comments and docstrings."""
    if not _QUOTE.search(line) or _is_comment(line):
        return ""
    for found in _QUOTE.finditer(line):
        at, mark = found.start(), found[0]
        if not _is_apostrophe(line, at):
            return "" if line[at : at + 3] == mark * 3 else line[at + 1 :]
    return ""


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(_COMMENT_PREFIXES)


def _is_apostrophe(line: str, at: int) -> bool:
    """Whether a quotation mark is an apostrophe: it follows a word that is longer than a string prefix such as `f`."""
    return line[at - 1 : at].isalnum() and line[max(0, at - 2) : at].isalnum() and at > 1
