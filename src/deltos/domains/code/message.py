"""A query that is, or holds, a message somebody saw: the longest part of it that stands in the code as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.text.stop_words import CHANGE_VERBS, INTERROGATIVES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LEAST_WORDS, _LEAST_CHARACTERS = 3, 12
_LEAST_SHARE = 0.6  # of the query's words that the text has: values that were put into it are others
_QUOTES = "\"'`"
_COMMENTS = ("#", "//", "/*", "*", "--", ";")
_NO_MESSAGE = INTERROGATIVES | CHANGE_VERBS  # what begins so is a question, or the subject of a commit
_MOST_WORDS = 60
_LONGEST_LINE = 2_000
_MOST_LINES, _MOST_MESSAGES = 100, 4
_KINDS = ("error", "exception", "panic", "fatal", "warning", "failure", "fault", "caused by")
END_MARKS = ".!… \t"


@dataclass(frozen=True, slots=True)
class Message:
    """A text that may be a message; `is_told` where the query says so, by quotes or by the kind of error before it."""

    text: str
    is_told: bool = False


def messages_in(query: str) -> list[Message]:
    """What may be a message in a query, the likeliest first: what follows `ValueError: `, what stands in quotes, and
    all of a query of one line that is no question."""
    told = [text for line in query.split("\n")[:_MOST_LINES] for text in (*_after_kinds(line), *_in_quotes(line))]
    found = [Message(text, is_told=True) for text in dict.fromkeys(told) if _is_long_enough(text)]
    whole = [Message(query)] if _may_be_whole(query) else []
    return [*found[:_MOST_MESSAGES], *whole]


def _is_long_enough(text: str) -> bool:
    return len(text) >= _LEAST_CHARACTERS and len(text.split()) >= _LEAST_WORDS


def _may_be_whole(query: str) -> bool:
    first = query.split(maxsplit=1)[:1]
    return (
        "\n" not in query and not query.rstrip().endswith("?") and bool(first) and first[0].lower() not in _NO_MESSAGE
    )


def _after_kinds(line: str) -> list[str]:
    """What follows the kind of an error in a line: `RuntimeError: `, `panic: `."""
    parts = line[:_LONGEST_LINE].split(": ")
    for number, part in enumerate(parts[:-1]):
        if part.lower().endswith(_KINDS):
            return [": ".join(parts[number + 1 :]).strip()]
    return []


def _in_quotes(line: str) -> list[str]:
    """What stands between quotes in a line."""
    found: list[str] = []
    at, line = 0, line[:_LONGEST_LINE]
    while at < len(line):
        mark = line[at]
        if mark in _QUOTES and not line[at - 1 : at].isalnum() and (closed := _closing(line, mark, at + 1)) > 0:
            found.append(line[at + 1 : closed].strip())
            at = closed
        at += 1
    return found


def _closing(line: str, mark: str, start: int) -> int:
    """Where a quotation ends: at a mark that no word follows; -1 where it does not."""
    at = line.find(mark, start)
    while at >= 0 and line[at + 1 : at + 2].isalnum():
        at = line.find(mark, at + 1)
    return at


def message_part(message: Message, contents: Iterable[str]) -> str:
    """What a message and a text in one of the contents have in common, word for word: a text between quotes, or a whole
    message that is told as one wherever code has it."""
    spans = _spans(message.text)
    spoken = [message.text[start:end] for start, end in spans]
    words = [word for word in spoken if any(char.isalpha() for char in word)]
    whole = message.text.rstrip(END_MARKS)
    best = ""
    for content in contents:
        for line in content.split("\n"):
            if message.is_told and whole in line and not line.lstrip().startswith(_COMMENTS):
                return whole
            quoted = _quoted(line[:_LONGEST_LINE])
            if quoted and sum(word in quoted for word in words) >= len(words) * _LEAST_SHARE:
                best = max(best, _longest(message.text, spans, quoted), key=len)
    return best


def _spans(text: str) -> list[tuple[int, int]]:
    """Where the words of a text begin and end."""
    spans: list[tuple[int, int]] = []
    at = 0
    for word in text.split()[:_MOST_WORDS]:
        start = text.index(word, at)
        at = start + len(word)
        spans.append((start, at))
    return spans


def _longest(query: str, spans: Sequence[tuple[int, int]], quoted: str) -> str:
    """The longest run of words that stands in a text."""
    best = ""
    for first, (start, _) in enumerate(spans):
        last = first - 1
        while last + 1 < len(spans) and query[start : spans[last + 1][1]] in quoted:
            last += 1
        run = query[start : spans[last][1]] if last >= first else ""
        if last - first + 1 >= _LEAST_WORDS and len(run) >= _LEAST_CHARACTERS and len(run) > len(best):
            best = run
    return best


def _quoted(line: str) -> str:
    """A line from where a text begins in it; empty for comments and the first line of documentation."""
    if line.lstrip().startswith(_COMMENTS):
        return ""
    for at, mark in enumerate(line):
        if mark in _QUOTES and not _is_apostrophe(line, at):
            return "" if line[at : at + 3] == mark * 3 else line[at + 1 :]
    return ""


def _is_apostrophe(line: str, at: int) -> bool:
    """Whether a mark stands inside prose: after a word that is longer than the prefix of a text (`f"`)."""
    return line[at - 1 : at].isalnum() and line[max(0, at - 2) : at].isalnum() and at > 1
