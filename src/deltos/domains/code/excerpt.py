"""What to show of a hit when it is not shown whole: one line that says what it is, and the lines around the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.text.identifiers import last_part

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.code.model import CodeHit
    from deltos.domains.code.query import CodeQuery

CONCISE_CHARACTERS = 200
_SIGNATURE_LINES = 4  # a header that goes on longer is cut
_DOC_LINES = 3  # looked at for the first sentence
_JOINT = " — "
_COMMENT_SIGNS = "#/*!-;\"'% \t"
_CUT_MARK = "… (cut)"


@dataclass(frozen=True, slots=True)
class Telling:
    """What a hit is and where it answers: the header of its definition, and the line or sentence that answers."""

    signature: str = ""
    answer: str = ""
    needles: tuple[str, ...] = ()

    def line(self, characters: int) -> str:
        """Both as one line of at most so many characters; where they do not fit, what answers stays."""
        whole = _JOINT.join(filter(None, (self.signature, self.answer)))
        if len(whole) <= characters:
            return whole
        if not self.answer:
            return _around(self.signature, self.needles, characters)
        room = characters - len(self.answer) - len(_JOINT)
        if room >= len(self.signature) // 2:
            return f"{self.signature[: room - 1].rstrip()}…{_JOINT}{self.answer}"
        return _around(self.answer, self.needles, characters)


def tell(hit: CodeHit, query: CodeQuery) -> Telling:
    """What a hit is and where it answers the query."""
    lines = hit.content.split("\n")
    needles = _needles(query)
    head = _head_at(hit, lines)
    signature = _signature(lines, head) if head is not None else ""
    best = answering_line(hit, query)
    sentence = _doc_sentence(lines, head) if head is not None else ""
    matching = lines[best].strip() if best != head else ""
    told = signature + sentence
    adds = sum(needle in matching.lower() and needle not in told.lower() for needle in needles)
    if matching and (hit.line or adds or not sentence):
        return Telling(signature, matching, needles)
    return Telling(signature, sentence, needles)


def answering_line(hit: CodeHit, query: CodeQuery) -> int:
    """Which of the content's lines answers: the one asked for, or the one with the most words that are rare here."""
    lines = hit.content.split("\n")
    if hit.line:
        # The header of a long definition may precede the hit's own lines.
        return max(0, min(len(lines) - 1, hit.line - hit.end_line - 1 + len(lines)))
    lowered = [line.lower() for line in lines]
    worth = [0.0] * len(lines)
    for needle in _needles(query):
        holding = [number for number, line in enumerate(lowered) if needle in line]
        for number in holding:
            worth[number] += 1 / len(holding)
    best = max(worth)
    if best:
        return worth.index(best)
    return next((number for number, line in enumerate(lines) if line.strip()), 0)


def cut_around(text: str, line: int, characters: int) -> str:
    """Whole lines of a text around one of them, at most so many characters; where something is missing, a mark."""
    if len(text) <= characters:
        return text
    lines = text.split("\n")
    room = max(0, characters - 2 * (len(_CUT_MARK) + 1))
    if len(lines[line]) > room:
        return f"{lines[line][:room]}\n{_CUT_MARK}"
    first = last = line
    room -= len(lines[line])
    while True:
        # Two lines below for each above: what follows a line explains it better.
        above = first > 0 and (line - first) * 2 <= last - line
        wanted = first - 1 if above or last + 1 >= len(lines) else last + 1
        if wanted < 0 or len(lines[wanted]) + 1 > room:
            break
        room -= len(lines[wanted]) + 1
        first, last = min(first, wanted), max(last, wanted)
    shown = lines[first : last + 1]
    return "\n".join([*([_CUT_MARK] if first else []), *shown, *([_CUT_MARK] if last + 1 < len(lines) else [])])


def _needles(query: CodeQuery) -> tuple[str, ...]:
    """What to look for in lines, in lower case: stems begin most of their words."""
    return tuple(term.lower() for term in query.terms) or (query.text.lower(),)


def _head_at(hit: CodeHit, lines: Sequence[str]) -> int | None:
    """The line of the content that begins the hit's definition."""
    name = last_part(hit.symbol) if hit.symbol else ""
    if not name:
        return None
    return next((number for number, line in enumerate(lines) if name in line and not _is_comment(line)), None)


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(("#", "//", "/*", "*", "--", '"""', "'''", "@"))


def _signature(lines: Sequence[str], head: int) -> str:
    """The header of a definition on one line."""
    text = lines[head].strip()
    for line in lines[head + 1 : head + _SIGNATURE_LINES]:
        if text.count("(") <= text.count(")"):
            break
        text = f"{text} {line.strip()}"
    return text.rstrip(" {:")


def _doc_sentence(lines: Sequence[str], head: int) -> str:
    """The first sentence of a docstring below the header, or of a comment above it."""
    below = [line.strip() for line in lines[head + 1 : head + _SIGNATURE_LINES + _DOC_LINES]]
    opened = next((n for n, line in enumerate(below) if line.startswith(('"""', "'''", 'r"""'))), None)
    if opened is not None:
        text = " ".join(line.strip("\"'r ") if n == 0 else line for n, line in enumerate(below[opened:]))
        return _first_sentence(text.split('"""')[0].split("'''")[0])
    above = []
    for line in reversed(lines[:head]):
        if not line.strip() or not _is_comment(line) or line.lstrip().startswith("@"):
            break
        above.append(line.strip(_COMMENT_SIGNS))
    return _first_sentence(" ".join(reversed(above)))


def _first_sentence(text: str) -> str:
    flat = " ".join(text.split())
    end = flat.find(". ")
    return flat[: end + 1] if end >= 0 else flat


def _around(text: str, needles: Sequence[str], characters: int) -> str:
    """At most so many characters of a line, with the first needle among them."""
    if len(text) <= characters:
        return text
    lowered = text.lower()
    first = min((at for needle in needles if (at := lowered.find(needle)) >= 0), default=0)
    start = 0 if first < characters // 2 else min(first - characters // 4, len(text) - characters + 1)
    end = start + characters - (2 if start else 1)
    return f"{'…' if start else ''}{text[start:end].rstrip()}{'…' if end < len(text) else ''}"
