"""What to show of a hit: the lines that answer with the definition around them, or one line that says what it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from typing import TYPE_CHECKING, Literal

from deltos.pattern import compiled
from deltos.text.identifiers import last_part, split_identifier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.code.model import CodeHit
    from deltos.domains.code.query import CodeQuery
    from deltos.store.code import DefinitionRecord

CONTEXT_LINES = 3  # shown before and after an excerpt, as data
CONTEXT_CHARACTERS = 200  # per line
_HEADER_LINES = 8  # one that goes on longer is cut
_MOST_PARAMETERS = 60  # characters of a header's parameters, in a line that has more to say
_LEAST_PARAMETERS = 12  # fewer say nothing
_LEAST_ANSWER = 30  # characters of a line in which what answers says more than the parameters
_UNNAMED_CHARACTERS = 500  # shown where nothing is defined
_DOC_LINES = 4  # looked at for the first sentence
_ABOVE_LINES = 12  # comments and decorators that are shown with a definition
_FEWEST_LETTERS = 6  # of a line that stands for what has no name
_JOINT = " — "
_RECEIVERS = ("self", "cls", "&self", "&mut self")  # parameters that say nothing
_ATTRIBUTES = ("@", "#[")
_DOC_TAGS = ("@", "\\", ":param", ":return", ":raise", ":type", ":arg")
_OF_C = (
    ".c", ".h", ".cc", ".hh", ".cpp", ".hpp", ".cxx", ".hxx", ".inl", ".ipp", ".tpp", ".m", ".mm", ".cu", ".cuh",
)  # fmt: skip
_PREPROCESSED = (*_OF_C, ".cs")
_TAG = re.compile(r"</?[a-z]{1,20}/?>")  # of documentation written in XML
_ABBREVIATIONS = ("e.g.", "i.e.", "etc.", "vs.", "cf.")
_OF_FILE = 1  # the position of what a file says of itself among what may be told
_BESIDE_MATCH = 60  # characters shown with what was found: mostly what follows it was asked for
_MATCHED_LINES = 5  # over which a match that begins in a line may go
_COMMENT_SIGNS = "#/*!-;\"'% \t"
_CUT_MARK = "… (cut)"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a hit as they are shown, with the numbers of the first and the last, and what stands around them.

    `has_cut_line` says that one was too long to be shown whole.
    """

    start_line: int
    end_line: int
    text: str
    before: str = ""
    after: str = ""
    has_cut_line: bool = False


@dataclass(frozen=True, slots=True)
class Telling:
    """A hit in one line: where, what follows its name in the header, and the line or sentence that answers.

    `matched` is what a literal or a pattern found in that line; `is_said` where a sentence answers, no line of code.
    """

    line_number: int
    parameters: str = ""
    answer: str = ""
    needles: tuple[str, ...] = ()
    matched: str = ""
    is_said: bool = False

    @property
    def least(self) -> int:
        """How many characters show what was found, with a little of what is beside it; 0 where it need not be."""
        return min(len(self.answer), len(self.matched) + _BESIDE_MATCH) + len(_JOINT) if self.matched else 0

    def line(self, characters: int) -> str:
        """Header and answer in at most so many characters; where they do not fit, what answers stays."""
        parameters = _shortened(self.parameters, _MOST_PARAMETERS if self.answer else characters)
        if not self.answer or (self.parameters and characters < _LEAST_ANSWER and not self.matched):
            return _shortened(self.parameters, characters)
        room = characters - len(self.answer) - len(_JOINT)
        if len(parameters) > room:
            parameters = _shortened(parameters, room) if room >= _LEAST_PARAMETERS else ""
        room = characters - len(parameters) - len(_JOINT)
        needles = (self.matched.lower(),) if self.matched else self.needles
        shown = _shortened(self.answer, room) if self.is_said else _around(self.answer, needles, room)
        return f"{parameters}{_JOINT}{shown}"


def tell(hit: CodeHit, query: CodeQuery) -> Telling:
    """What a hit is and where it answers the query."""
    lines = hit.content.split("\n")
    needles = _needles(query)
    head = _head_at(hit, lines)
    header = _header(lines, head) if head is not None else ""
    parameters = _parameters(header, last_part(hit.symbol)) if hit.symbol else ""
    best = answering_line(hit, query)
    header_lines = header.count("\n") + 1
    matched = _matched(lines, best, query)
    is_header = head is not None and head <= best < head + header_lines
    shows = f"{last_part(hit.symbol)}{parameters[:_MOST_PARAMETERS]}" if hit.symbol else ""
    matching = "" if is_header and matched in shows else _bare(lines[best])
    at_line = _number(hit, best, lines)
    at_head = hit.head_line or (_number(hit, head, lines) if head is not None else at_line)
    if matched and matching:
        return Telling(at_line, parameters if not is_header else "", matching, needles, matched)
    if hit.line and hit.line != hit.head_line:
        return Telling(at_line, parameters, matching, needles)
    told = f"{hit.symbol} {header}".lower()
    sentence = _doc_sentence(hit.path, lines, head, header_lines) if head is not None else ""
    # What tells most that name and header do not; in doubt what was written to be told.
    sayings = [(sentence, at_head), (hit.about, at_head), (matching, at_line)]
    worth = [_told_more(text, needles, told) - number / 4 for number, (text, _) in enumerate(sayings)]
    # A file of C begins with a remark as often as with what it is about: that has to speak of what was asked.
    remarks = {_OF_FILE} if worth[_OF_FILE] < 0 and hit.path.endswith(_OF_C) else ()
    given = [number for number, (text, _) in enumerate(sayings) if text and number not in remarks]
    if not given:
        return Telling(at_head, parameters)
    chosen = max(given, key=lambda each: worth[each])
    answer, number = sayings[chosen]
    return Telling(number, parameters, answer, needles, is_said=chosen <= _OF_FILE)


def _matched(lines: Sequence[str], best: int, query: CodeQuery) -> str:
    """What a literal or a pattern found in a line, as far as that goes; empty for other queries."""
    if query.kind == "literal":
        return query.text.strip().split("\n")[0]
    if query.kind != "pattern":
        return ""
    following = "\n".join(lines[best : best + _MATCHED_LINES])
    found = compiled(query.text).search(following.encode("utf-8"))
    return found[0].decode("utf-8", "replace").strip().split("\n")[0] if found else ""


def _bare(line: str) -> str:
    """A line without what opens or closes documentation; quotes of a text stay, or it would lose one of them."""
    text = line.strip()
    for mark in ('"""', "'''"):
        text = text.removeprefix(mark).removesuffix(mark)
    return text.strip()


def _told_more(text: str, needles: Sequence[str], told: str) -> int:
    lowered = text.lower()
    return sum(needle in lowered and needle not in told for needle in needles)


def definition_asked(hit: CodeHit, inside: Sequence[DefinitionRecord], query: CodeQuery) -> DefinitionRecord | None:
    """The definition of a chunk that answers: the one with most words that are rare there, those of its name twice.

    None where no definition has any, or the words stand outside of all of them.
    """
    lines = [line.lower() for line in hit.content.split("\n")]
    first = hit.start_line - _preceding(hit, lines)
    owner = [_innermost(inside, first + number) for number in range(len(lines))]
    worth: dict[DefinitionRecord | None, float] = {}
    for needle in _needles(query):
        holding = {owner[number] for number, line in enumerate(lines) if needle in line}
        for each in holding:
            named = each is not None and needle in each.name.lower()
            worth[each] = worth.get(each, 0.0) + (2 if named else 1) / len(holding)
    words = set(query.text.lower().split())

    def merit(each: DefinitionRecord | None) -> tuple[float, int, int]:
        spoken = words.intersection(split_identifier(each.name)) if each else ()
        return round(worth[each], 6), len(spoken), -each.line if each else 0

    return max(worth, key=merit, default=None)


def _innermost(inside: Sequence[DefinitionRecord], line: int) -> DefinitionRecord | None:
    around = [each for each in inside if each.line <= line <= each.end_line]
    return around[-1] if around else None


def answering_line(hit: CodeHit, query: CodeQuery) -> int:
    """Which of the content's lines answers: the one asked for, or the one with the most words that are rare here."""
    lines = hit.content.split("\n")
    offset = _preceding(hit, lines)
    if hit.line:
        return max(0, min(len(lines) - 1, hit.line - hit.start_line + offset))
    lowered = [line.lower() for line in lines]
    start, end = _own_lines(hit, lines)
    worth = [0.0] * len(lines)
    for needle in _needles(query):
        holding = [number for number in range(start, end) if needle in lowered[number]]
        for number in holding:
            worth[number] += 1 / len(holding)
    best = max(worth)
    if best:
        return worth.index(best)
    written = [number for number in range(start, end) if lines[number].strip()]
    # A brace or `const (` opens what nothing names, and tells nothing of it.
    telling = [] if hit.symbol else [each for each in written if sum(map(str.isalpha, lines[each])) >= _FEWEST_LETTERS]
    return next(iter((*telling, *written)), start)


def excerpt(hit: CodeHit, query: CodeQuery, characters: int) -> Excerpt:
    """The lines of the hit's definition, in at most so many characters those around the answer, below its header."""
    if not hit.symbol:  # imports and constants around a line say little
        characters = min(characters, _UNNAMED_CHARACTERS)
    lines = hit.content.split("\n")
    offset = _preceding(hit, lines)
    is_whole = hit.start_line <= hit.head_line <= hit.end_line
    own, end = _own_lines(hit, lines)
    start = _with_what_is_above(lines, own, offset) if is_whole else offset
    header = lines[:offset] if not is_whole else []
    best = min(max(answering_line(hit, query), start), end - 1)
    room = characters - sum(len(line) + 1 for line in header)
    first, last = _window(lines, best, (start, end), room)
    if first > own and is_whole:
        header = _header(lines, own).split("\n")[: first - own]
        header += [_CUT_MARK] if own + len(header) < first else []
    shown = [_cut_line(line, characters) for line in lines[first : last + 1]]
    above = [_CUT_MARK] if first > start and not header else []
    goes_on = is_whole and hit.tail_line > hit.end_line
    below = [_CUT_MARK] if last + 1 < end or goes_on else []
    number = hit.start_line - offset
    return Excerpt(
        number + first,
        number + last,
        "\n".join([*header, *above, *shown, *below]),
        _beside(lines[offset:first], "before") or hit.context_before,
        _beside(lines[last + 1 :], "after") or hit.context_after,
        has_cut_line=shown != lines[first : last + 1],
    )


def _beside(lines: Sequence[str], side: Literal["before", "after"]) -> str:
    """The few lines of a chunk that are nearest to an excerpt of it."""
    if side == "after":
        return "\n".join(nearest_lines(lines))
    return "\n".join(nearest_lines(lines[::-1])[::-1])


def nearest_lines(lines: Sequence[str]) -> Sequence[str]:
    """The first few lines, not counting blank ones before them; long ones shortened."""
    first = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    return [line[:CONTEXT_CHARACTERS] for line in lines[first : first + CONTEXT_LINES]]


def _cut_line(line: str, characters: int) -> str:
    return line if len(line) <= characters else f"{line[:characters]}{_CUT_MARK}"


def _window(lines: Sequence[str], best: int, bounds: tuple[int, int], characters: int) -> tuple[int, int]:
    """The first and last of the lines around the best one that fit, all of them if they do."""
    start, end = bounds
    if sum(len(line) + 1 for line in lines[start:end]) <= characters:
        return start, end - 1
    room = characters - 2 * (len(_CUT_MARK) + 1) - len(lines[best])
    first = last = best
    while True:
        # Two lines below for each above: what follows a line explains it better.
        above = first > start and (best - first) * 2 <= last - best
        wanted = first - 1 if above or last + 1 >= end else last + 1
        if wanted < start or len(lines[wanted]) + 1 > room:
            return first, last
        room -= len(lines[wanted]) + 1
        first, last = min(first, wanted), max(last, wanted)


def _preceding(hit: CodeHit, lines: Sequence[str]) -> int:
    """How many lines of the content stand before the hit's own: the header of a long definition."""
    return max(0, len(lines) - (hit.end_line - hit.start_line + 1))


def _number(hit: CodeHit, index: int, lines: Sequence[str]) -> int:
    """The number in the file of one of the content's lines."""
    return max(hit.start_line, hit.start_line + index - _preceding(hit, lines))


def _own_lines(hit: CodeHit, lines: Sequence[str]) -> tuple[int, int]:
    """Which of the content's lines belong to the hit's definition: all, unless it begins and ends among them."""
    offset = _preceding(hit, lines)
    if not hit.start_line <= hit.head_line <= hit.end_line:
        return 0, len(lines)
    start = hit.head_line - hit.start_line + offset
    end = min(hit.tail_line, hit.end_line) - hit.start_line + offset + 1
    return start, max(start + 1, end)


def _with_what_is_above(lines: Sequence[str], start: int, least: int) -> int:
    """Where a definition begins with the comments and decorators above its header."""
    first = start
    for number in range(start - 1, max(least - 1, start - 1 - _ABOVE_LINES), -1):
        if not lines[number].strip() or not _is_comment(lines[number]):
            break
        first = number
    return first


def _needles(query: CodeQuery) -> tuple[str, ...]:
    """What to look for in lines, in lower case: stems begin most of their words."""
    return tuple(term.lower() for term in query.terms) or (query.text.lower(),)


def _head_at(hit: CodeHit, lines: Sequence[str]) -> int | None:
    """The line of the content that begins the hit's definition."""
    name = last_part(hit.symbol) if hit.symbol else ""
    if not name:
        return None
    if hit.start_line <= hit.head_line <= hit.end_line:
        return hit.head_line - hit.start_line + _preceding(hit, lines)
    return next((number for number, line in enumerate(lines) if name in line and not _is_comment(line)), None)


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(("#", "//", "/*", "*", "--", '"""', "'''", "@"))


def _header(lines: Sequence[str], head: int) -> str:
    """The lines of a definition's header."""
    taken = [lines[head]]
    opened = lines[head].count("(") - lines[head].count(")")
    for line in lines[head + 1 : head + _HEADER_LINES]:
        if opened <= 0:
            break
        opened += line.count("(") - line.count(")")
        taken.append(line)
    return "\n".join(taken)


def _parameters(header: str, name: str) -> str:
    """What follows the name in a header, on one line: parameters, bases, a value."""
    flat = " ".join(header.split())
    flat = flat.replace("( ", "(").replace(", )", ")").replace(" )", ")")
    at = flat.find(f"{name}(")
    at = at if at >= 0 else flat.find(name)
    rest = flat[at + len(name) :].lstrip("]\"'") if at >= 0 else ""  # what closes the name: `[tool.ruff]`, `"name": 1`
    rest = f"{rest}…" if rest.count("(") > rest.count(")") else rest.rstrip(" {:\\=").removesuffix("=>").rstrip(" =")
    for receiver in _RECEIVERS:
        rest = rest.replace(f"({receiver}, ", "(", 1).replace(f"({receiver})", "()", 1)
    return rest if not rest[:1].isalnum() else ""


def _shortened(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: max(0, characters - 1)].rstrip()}…"


def _doc_sentence(path: str, lines: Sequence[str], head: int, header_lines: int) -> str:
    """The first sentence of a docstring right below the header, or of a comment right above it."""
    below = [line.strip() for line in lines[head + header_lines : head + header_lines + _DOC_LINES]]
    if below[:1] and below[0].startswith(('"""', "'''", 'r"""')):
        text = " ".join([below[0].lstrip("\"'r "), *below[1:]])
        return first_sentence(text.split('"""')[0].split("'''")[0])
    above = []
    for line in reversed(lines[:head]):
        if not line.strip() or not _is_comment(line) or is_directive(path, line):
            break
        if not line.lstrip().startswith(_ATTRIBUTES):
            above.append(line.strip(_COMMENT_SIGNS))
    return first_sentence(" ".join(first_paragraph(above[::-1])))


def first_paragraph(said: Sequence[str]) -> list[str]:
    """The first lines of a comment up to a blank one, or to what it says of parameters and the like."""
    begun = dropwhile(lambda text: not text, said)
    return list(takewhile(lambda text: bool(text) and not text.startswith(_DOC_TAGS), begun))


def is_directive(path: str, line: str) -> bool:
    """Whether a line is for the preprocessor: `#` begins a comment in other languages."""
    return line.lstrip().startswith("#") and path.endswith(_PREPROCESSED)


def first_sentence(text: str) -> str:
    """A text up to the end of its first sentence, on one line."""
    flat = " ".join(_TAG.sub(" ", text).split())
    end = flat.find(". ")
    while end >= 0 and flat[: end + 1].endswith(_ABBREVIATIONS):
        end = flat.find(". ", end + 1)
    return flat[: end + 1] if end >= 0 else flat


def _around(text: str, needles: Sequence[str], characters: int) -> str:
    """At most so many characters of a line, with the first needle among them: all of it, where it fits."""
    if len(text) <= characters:
        return text
    lowered = text.lower()
    found = [(at, len(needle)) for needle in needles if (at := lowered.find(needle)) >= 0]
    first, length = min(found, default=(0, 0))
    start = 0
    if first >= characters // 2 or first + length >= characters:
        start = max(first - characters // 4, first + length - characters + 2)
        start = _word_start(text, min(start, first, len(text) - characters + 1), first)
    end = start + characters - (2 if start else 1)
    return f"{'…' if start else ''}{text[start:end].rstrip()}{'…' if end < len(text) else ''}"


def _word_start(text: str, start: int, least: int) -> int:
    """Where the first word begins at or after a place, at most so far."""
    if not start or not text[start - 1].isalnum():
        return start
    return next((at for at in range(start, least) if not text[at - 1].isalnum()), least)
