"""A query that is, or holds, a message somebody saw: what of it stands in the code as text, around the values that were
put into it. Knows text only; which code is looked at is left to the search."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from deltos.text.stop_words import CHANGE_VERBS, INTERROGATIVES
from deltos.text.words import shared_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_LEAST_WORDS, _LEAST_CHARACTERS = 3, 12
_LEAST_TOLD_WORDS, _LEAST_TOLD_CHARACTERS = 2, 8  # where the query says that it is a message
# Of the message's words that the text has: values that were put into it are others.
_LEAST_SHARE, _LEAST_TOLD_SHARE = 0.6, 0.5
_QUOTES = "\"'`"
_QUOTE = re.compile("[\"'`]")
_COMMENTS = ("#", "//", "/*", "*", "--", ";")
_NO_MESSAGE = INTERROGATIVES | CHANGE_VERBS  # what begins so is a question, or the subject of a commit
_MOST_WORDS = 60
_LONGEST_LINE = 2_000
_MOST_LINES, _MOST_MESSAGES = 100, 4
_WORDS_OF_KIND = 2  # `Uncaught TypeError`
_KINDS = ("error", "exception", "panic", "fatal", "warning", "failure", "fault", "caused by")
_NEAR_LINES = 5  # over which the texts of one message may be joined together
_MOST_TEXTS = 20  # of those lines
_WINDOW_WORDS, _LEAST_WINDOW = 3, 8  # words of a run that is looked for, and its letters
_BESIDE, _BESIDE_TOLD = 3, 2  # words that a chunk has side by side, of what is told their parts
END_MARKS = ".!… \t"

# Words of which a message that refuses something mostly has one.
_REFUSING = frozenset(
    """not cannot can't couldn't doesn't isn't wasn't won't didn't unable failed fails failure invalid illegal missing
    unexpected expected unknown unsupported undefined unrecognized unresolved must required denied refused forbidden
    exceeded exceeds already no malformed deprecated timed expired corrupt conflict unreachable unavailable
    mismatch duplicate too""".split()
)
# A value where a text is filled in, in any language, and a character that is written otherwise in it: `%s`, `%(a)d`,
# `{}`, `{a!r}`, `${a}`, `#{a}`, `$a`, `\(a)`, `~p`, `\n`.
_FILLED = re.compile(
    r"%(?:\([^()]*\))?[-+#0-9.*$]*(?:[A-Za-z@]|$)|[#$@%]?\{[^{}]*\}|[{}]|\$[A-Za-z_]\w*|\\\([^()]*\)|\\.|~[a-zA-Z]\b"
)
# A value as somebody sees it, in quotes or brackets.
_ENCLOSED = re.compile(r"\"[^\"]*\"|(?<!\w)'[^']*'|`[^`]*`|[\[{(<][^\[\](){}<>]*[\])}>]")
_VALUE_SIGNS = frozenset("0123456789/\\=")  # of a number, a path, an address, a setting


@dataclass(frozen=True, slots=True)
class Message:
    """A text that may be a message; `is_told` where the query says so, by quotes, by the kind of error before it, or by
    refusing something. The code has at least so many words of it."""

    text: str
    is_told: bool = False
    least_words: int = _LEAST_WORDS


class Stated(NamedTuple):
    """The texts of some code that a message has in order, and how many letters and digits they have; `is_sure` where
    the message has all of them."""

    worth: float = 0.0
    parts: tuple[str, ...] = ()
    is_sure: bool = False


def messages_in(query: str) -> list[Message]:
    """What may be a message in a query, the likeliest first: what follows `ValueError: `, what stands in quotes, and
    all of a query of one line that is no question."""
    told = [text for line in query.split("\n")[:_MOST_LINES] for text in (*_after_kinds(line), *_in_quotes(line))]
    found = [told_message(text) for text in dict.fromkeys(told) if _is_long_enough(text)]
    whole = [_as_whole(query)] if _may_be_whole(query) else []
    first = whole if whole and whole[0].is_told and not _after_kinds(query) else []
    return [*first, *found[:_MOST_MESSAGES], *(whole if not first else ())]


def told_message(text: str) -> Message:
    """A text that is a message for certain."""
    return Message(text, is_told=True, least_words=_LEAST_TOLD_WORDS)


def _as_whole(query: str) -> Message:
    """All of a query, as the message that it may be."""
    refuses, is_filled = _refuses(query), _ENCLOSED.search(query[:_LONGEST_LINE]) is not None
    is_sentence = query[:1].isupper() and query[1:2].islower()
    if refuses + is_filled + is_sentence > 1 or _after_kinds(query):
        return told_message(query)
    return Message(query, is_told=refuses and len(query.split()) >= _LEAST_WORDS)


def _is_long_enough(text: str) -> bool:
    return len(text) >= _LEAST_TOLD_CHARACTERS and len(text.split()) >= _LEAST_TOLD_WORDS


def _may_be_whole(query: str) -> bool:
    first = query.split(maxsplit=1)[:1]
    return (
        "\n" not in query and not query.rstrip().endswith("?") and bool(first) and first[0].lower() not in _NO_MESSAGE
    )


def _refuses(query: str) -> bool:
    """Whether a query refuses something, as messages mostly do."""
    words = query.lower().replace("’", "'").split()[:_MOST_WORDS]
    return any(word.strip(".,:;!()") in _REFUSING for word in words)


def _after_kinds(line: str) -> list[str]:
    """What follows the kind of an error in a line: `RuntimeError: `, `panic: `, `Fatal error: Uncaught OSError: `."""
    parts = line[:_LONGEST_LINE].split(": ")
    for number, part in enumerate(parts[:-1]):
        if part.lower().endswith(_KINDS) and not _is_kind(parts[number + 1 :]):
            return [": ".join(parts[number + 1 :]).strip()]
    return []


def _is_kind(parts: Sequence[str]) -> bool:
    """Whether the first of what follows a kind is the name of one too, and something follows."""
    name = parts[0].rpartition(" ")[2]
    is_class = not name.islower() and name.lower().endswith(_KINDS)
    return len(parts) > 1 and is_class and len(parts[0].split()) <= _WORDS_OF_KIND


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


def stated_in(message: Message, contents: Iterable[str]) -> Stated:
    """What a message and the texts of one of the contents have in common, in order: the texts around the values that
    were put in, else the longest run of words. Of a message that is told as one, any line may have the whole."""
    seen = _Seen(message)
    best = Stated()
    for content in contents:
        lines = content.split("\n")
        if message.is_told and seen.is_enough and any(seen.whole in line and not _is_comment(line) for line in lines):
            return Stated(_letters(seen.whole), (seen.whole,), is_sure=True)
        best = max(best, seen.filled(lines), seen.run(lines), key=lambda stated: stated.worth)
    return best


def fixed_words(message: Message) -> str:
    """The message without what looks like values in it."""
    return " ".join(_fixed(message)) or message.text


def stems_beside(message: Message) -> tuple[str, ...]:
    """Index words of a message as a chunk has them that has it as text: side by side, between spaces. One that is told
    as a message may have more values than can be known, of others there are few."""
    count = _BESIDE_TOLD if message.is_told else _BESIDE
    found: dict[str, None] = {}
    for piece in _fixed(message):
        words = [stems for word in piece.split()[:_MOST_WORDS] if (stems := shared_words().of(word))]
        flat = " ".join(words).split()
        beside = flat if message.is_told else words
        for first in range(max(1, len(beside) - count + 1)) if len(flat) >= count else ():
            found[f" {' '.join(beside[first : first + count])} "] = None
    return tuple(found)


def windows(message: Message) -> tuple[str, ...]:
    """Runs of words of a message of which code that has it as text has one: none goes over what looks like a value.

    Nothing where none of it does: then its words find it.
    """
    pieces = _fixed(message)
    found: dict[str, None] = {}
    for piece in pieces if pieces != [message.text.strip()] else ():
        spans = _spans(piece)
        for first in range(max(1, len(spans) - _WINDOW_WORDS + 1)):
            within = spans[first : first + _WINDOW_WORDS]
            window = piece[within[0][0] : within[-1][1]]
            if len(within) > 1 and _letters(window) >= _LEAST_WINDOW:
                found[window] = None
    return tuple(found)


def _fixed(message: Message) -> list[str]:
    """The pieces of a message around what looks like values in it."""
    cut = _ENCLOSED.sub("\n", message.text[:_LONGEST_LINE])
    lines = []
    for line in cut.split("\n"):
        words = ["\n" if _VALUE_SIGNS.intersection(word) else word for word in line.split(" ")]
        lines.append(" ".join(words))
    return [piece.strip() for piece in "\n".join(lines).split("\n") if _tells(piece)]


class _Seen:
    """A message, to be compared with the texts of code."""

    def __init__(self, message: Message) -> None:
        self._text = message.text[:_LONGEST_LINE]
        self._is_told, self._least_words = message.is_told, message.least_words
        self.whole = message.text.rstrip(END_MARKS)
        self._spans = _spans(self._text)
        self._words = [self._text[start:end] for start, end in self._spans if _tells(self._text[start:end])]
        self._word_count = max(1, len(_words(self._text)))
        self.is_enough = self._word_count >= message.least_words

    def filled(self, lines: Sequence[str]) -> Stated:
        """The texts of near lines that the message has in order, where it may be made of them."""
        texts = {number: cut for number, line in enumerate(lines) if (cut := _texts(line[:_LONGEST_LINE]))}
        known = {number for number, cut in texts.items() if any(part in self._text for text in cut for part in text)}
        best = Stated()
        for number in sorted(known):
            near = [text for at in range(number, number + _NEAR_LINES) for text in texts.get(at, ())]
            best = max(best, self._in_order(near[:_MOST_TEXTS]), key=lambda stated: stated.worth)
        return best

    def _in_order(self, texts: Iterable[Sequence[str]]) -> Stated:
        """The parts of texts as far as they stand in the message one after the other."""
        parts: list[str] = []
        at, begin, missing = 0, -1, 0
        for text in texts:
            held, lacked, end = [], 0, at
            for part in text:
                if (place := self._place(part, end)) < 0:
                    lacked += _letters(part)
                    continue
                held.append(part)
                begin = begin if begin >= 0 else place
                end = place + len(part)
            if held and _letters("".join(held)) > lacked:
                parts, missing, at = [*parts, *held], missing + lacked, end
            elif parts:
                break  # what follows belongs to something else
            else:
                begin = -1
        worth = _letters("".join(parts)) - missing
        is_meant = bool(parts) and self._is_meant(parts, begin, missing)
        return Stated(worth, tuple(parts), is_sure=not missing) if is_meant else Stated()

    def _place(self, part: str, start: int) -> int:
        """Where a part stands in the message, not inside of a word; -1 where it does not."""
        at = self._text.find(part, start)
        while at >= 0:
            before, after = self._text[at - 1 : at] if at else "", self._text[at + len(part) : at + len(part) + 1]
            if not (before.isalnum() and part[0].isalnum()) and not (after.isalnum() and part[-1].isalnum()):
                return at
            at = self._text.find(part, at + 1)
        return -1

    def _is_meant(self, parts: Sequence[str], begin: int, missing: int) -> bool:
        """Whether so much of the message is text of the code that it comes from there."""
        spoken = [word for part in parts for word in _words(part)]
        share = len(spoken) / self._word_count
        letters = _letters("".join(parts))
        if len(spoken) < self._least_words or letters < _LEAST_TOLD_CHARACTERS:
            return False
        if not self._is_told:
            return share >= _LEAST_SHARE
        begins = not _words(self._text[:begin]) or self._text[:begin].endswith(": ")
        return share >= _LEAST_TOLD_SHARE or (begins and not missing and len(spoken) >= _LEAST_WORDS)

    def run(self, lines: Sequence[str]) -> Stated:
        """The longest run of words that stands after a quote in one of the lines."""
        best = ""
        for line in lines:
            quoted = _quoted(line[:_LONGEST_LINE])
            if quoted and sum(word in quoted for word in self._words) >= len(self._words) * _LEAST_SHARE:
                best = max(best, _longest(self._text, self._spans, quoted), key=len)
        return Stated(_letters(best) - 0.5, (best,)) if best else Stated()


def _words(text: str) -> list[str]:
    return [word for word in text.split() if _tells(word)]


def _tells(text: str) -> bool:
    return any(char.isalpha() for char in text)


def _letters(text: str) -> int:
    return sum(char.isalnum() for char in text)


def _texts(line: str) -> list[list[str]]:
    """The texts between quotes in a line of code, each as its parts around the values that are put into it."""
    if not _QUOTE.search(line) or _is_comment(line):
        return []
    cut = ([part for part in _FILLED.sub("\n", text).split("\n") if _letters(part) > 1] for text in _between(line))
    return [parts for parts in cut if parts]


def _between(line: str) -> Iterator[str]:
    """What stands between quotes in a line of code; one that is not closed goes on to its end."""
    at = 0
    while found := _QUOTE.search(line, at):
        at, mark = found.start(), found[0]
        if _is_apostrophe(line, at):
            at += 1
            continue
        if line[at : at + 3] == mark * 3:
            if not line[:at].strip("rRfFbBuU \t"):
                return  # documentation
            at += 2
        closed = _unescaped(line, mark, at + 1)
        yield line[at + 1 : closed]
        at = closed + 1


def _unescaped(line: str, mark: str, start: int) -> int:
    """Where a text ends that begins there."""
    at = line.find(mark, start)
    while at > 0 and line[at - 1] == "\\" and line[at - 2] != "\\":
        at = line.find(mark, at + 1)
    return at if at >= 0 else len(line)


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
    if not _QUOTE.search(line) or _is_comment(line):
        return ""
    for found in _QUOTE.finditer(line):
        at, mark = found.start(), found[0]
        if not _is_apostrophe(line, at):
            return "" if line[at : at + 3] == mark * 3 else line[at + 1 :]
    return ""


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(_COMMENTS)


def _is_apostrophe(line: str, at: int) -> bool:
    """Whether a mark stands inside prose: after a word that is longer than the prefix of a text (`f"`)."""
    return line[at - 1 : at].isalnum() and line[max(0, at - 2) : at].isalnum() and at > 1
