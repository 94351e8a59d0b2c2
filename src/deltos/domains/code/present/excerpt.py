"""Build excerpts of hits: the best matching lines with the enclosing definition, or a one-line summary."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from typing import TYPE_CHECKING, Literal

from deltos.budget import TRUNCATION_MARK
from deltos.linear_regex import compile_regex
from deltos.text.identifiers import last_part, split_identifier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.code.model import CodeHit
    from deltos.domains.code.query.parse import CodeQuery
    from deltos.store.code import DefinitionRecord

CONTEXT_LINES = 3  # number of context lines before and after an excerpt in structured data
CONTEXT_CHARACTERS = 200  # maximum length of a context line
_MAX_HEADER_LINES = 8  # maximum number of lines of a definition header
_MAX_PARAMETER_CHARACTERS = 60  # maximum length of a definition's parameters in a summary
_MIN_PARAMETER_CHARACTERS = 12  # parameters are omitted if there is less space for them
_MIN_ANSWER_CHARACTERS = 30  # minimum length of the text after the parameters
_MAX_UNNAMED_CHARACTERS = 500  # maximum length of an excerpt of code outside definitions
_MAX_DOC_LINES = 4  # number of docstring lines searched for the first sentence
_MAX_LINES_ABOVE = 12  # maximum number of comment and decorator lines shown above a definition
_MIN_LETTERS_PER_LINE = 6  # lines with fewer letters, such as `}`, are uninformative
_SEPARATOR = " — "
_RECEIVER_PARAMETERS = ("self", "cls", "&self", "&mut self")  # these parameters are not shown
_ATTRIBUTE_PREFIXES = ("@", "#[")
_CONTINUATION_SUFFIXES = ("(", "[", "{", ",", "\\", ":", "=", "+", "|", "&", "->", "=>")  # suffixes of unfinished lines
_MAX_WORD_CHARACTERS = 30  # only longer words may be split at the limit
_DOC_TAGS = ("@", "\\", ":param", ":return", ":raise", ":type", ":arg")
_C_SUFFIXES = (
    ".c", ".h", ".cc", ".hh", ".cpp", ".hpp", ".cxx", ".hxx", ".inl", ".ipp", ".tpp", ".m", ".mm", ".cu", ".cuh",
)  # fmt: skip
_PREPROCESSED_SUFFIXES = (*_C_SUFFIXES, ".cs")
_XML_TAG = re.compile(r"</?[a-z]{1,20}/?>")  # tags in XML documentation comments
_ABBREVIATIONS = ("e.g.", "i.e.", "etc.", "vs.", "cf.")
_MATCH_CONTEXT_CHARACTERS = 60  # number of characters shown around a match
_MAX_MATCH_LINES = 5  # maximum number of lines that a match may span
_COMMENT_SIGNS = "#/*!-;\"'% \t"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The displayed lines of a hit, with line numbers and a few lines of context.

    `has_truncated_line` is set if a line was too long to be shown completely.
    """

    start_line: int
    end_line: int
    text: str
    before: str = ""
    after: str = ""
    has_truncated_line: bool = False


@dataclass(frozen=True, slots=True)
class HitSummary:
    """One-line summary of a hit: line number, parameters of its definition, and `answer`, the best line or sentence.

    `needles` are the search terms. `matched` is the text in `answer` that matched an exact query (literal or regular
    expression). `is_sentence` is set if `answer` is a sentence of documentation, not code.
    """

    line_number: int
    parameters: str = ""
    answer: str = ""
    needles: tuple[str, ...] = ()
    matched: str = ""
    is_sentence: bool = False

    @property
    def min_characters(self) -> int:
        """Number of characters needed to show the match with some context; 0 without a match."""
        return (
            min(len(self.answer), len(self.matched) + _MATCH_CONTEXT_CHARACTERS) + len(_SEPARATOR)
            if self.matched
            else 0
        )

    def line(self, characters: int) -> str:
        """Return the parameters and the answer in at most `characters`; the parameters are truncated first."""
        if not self.answer or (self.parameters and characters < _MIN_ANSWER_CHARACTERS and not self.matched):
            return _truncate_at_word(self.parameters, characters)
        # Keep all parameters if at least part of the answer fits after them.
        parameters = self.parameters
        if (
            len(parameters) + len(_SEPARATOR) + min(len(self.answer), _MIN_ANSWER_CHARACTERS) > characters
            or self.matched
        ):
            parameters = _truncate_at_word(parameters, _MAX_PARAMETER_CHARACTERS)
            budget = characters - len(self.answer) - len(_SEPARATOR)
            if len(parameters) > budget:
                parameters = _truncate_at_word(parameters, budget) if budget >= _MIN_PARAMETER_CHARACTERS else ""
        budget = characters - len(parameters) - len(_SEPARATOR)
        needles = (self.matched.lower(),) if self.matched else self.needles
        shown = (
            _truncate_at_word(self.answer, budget)
            if self.is_sentence
            else _truncate_around_match(self.answer, needles, budget)
        )
        return f"{parameters}{_SEPARATOR}{shown}"


def summarise_hit(hit: CodeHit, query: CodeQuery) -> HitSummary:
    """Return the one-line summary of a hit."""
    lines = hit.content.split("\n")
    needles = _search_terms(query)
    head = _header_index(hit, lines)
    header = _header_text(lines, head) if head is not None else ""
    parameters = _parameters_after_name(header, last_part(hit.symbol)) if hit.symbol else ""
    best = answering_line(hit, query)
    header_lines = header.count("\n") + 1
    matched = _matched_text(lines, best, query)
    is_header = head is not None and head <= best < head + header_lines
    shows = f"{last_part(hit.symbol)}{parameters[:_MAX_PARAMETER_CHARACTERS]}" if hit.symbol else ""
    matching = "" if is_header and matched in shows else _strip_doc_quotes(lines[best])
    at_line = _line_number(hit, best, lines)
    at_head = hit.head_line or (_line_number(hit, head, lines) if head is not None else at_line)
    if matched and matching:
        return HitSummary(at_line, parameters if not is_header else "", matching, needles, matched)
    if hit.line and hit.line != hit.head_line:
        return HitSummary(at_line, parameters, matching, needles)
    already_shown = f"{hit.symbol} {header}".lower()
    sentence = _doc_sentence(hit.path, lines, head, header_lines) if head is not None else ""
    # Show the text that adds more query terms to those in the header. In a tie, show the documentation.
    new_terms = [_count_new_terms(text, needles, already_shown) for text in (sentence, matching)]
    if sentence and (not matching or new_terms[0] >= new_terms[1]):
        return HitSummary(at_head, parameters, sentence, needles, is_sentence=True)
    return HitSummary(at_line, parameters, matching, needles) if matching else HitSummary(at_head, parameters)


def _matched_text(lines: Sequence[str], best: int, query: CodeQuery) -> str:
    """Return the first line of the text that an exact query matched, or an empty string for other queries."""
    if query.kind == "literal":
        return query.text.strip().split("\n")[0]
    if query.kind != "pattern":
        return ""
    following = "\n".join(lines[best : best + _MAX_MATCH_LINES])
    found = compile_regex(query.text).search(following.encode("utf-8"))
    return found[0].decode("utf-8", "replace").strip().split("\n")[0] if found else ""


def _strip_doc_quotes(line: str) -> str:
    """Remove the quotation marks of a docstring from a line; keep other quotation marks."""
    text = line.strip()
    for mark in ('"""', "'''"):
        text = text.removeprefix(mark).removesuffix(mark)
    return text.strip()


def _count_new_terms(text: str, needles: Sequence[str], already_shown: str) -> int:
    """Count the query terms that occur in a text but not in the text `already_shown`."""
    lowered = text.lower()
    return sum(needle in lowered and needle not in already_shown for needle in needles)


def answering_definition(hit: CodeHit, inside: Sequence[DefinitionRecord], query: CodeQuery) -> DefinitionRecord | None:
    """Return the definition in a chunk that best matches the query; rare terms and terms in the name count more.

    Returns None if no definition matches, or if code outside all definitions matches better.
    """
    lines = [line.lower() for line in hit.content.split("\n")]
    first = hit.start_line - _header_line_count(hit, lines)
    owner = [_innermost_definition(inside, first + number) for number in range(len(lines))]
    scores: dict[DefinitionRecord | None, float] = {}
    for needle in _search_terms(query):
        matching = {owner[number] for number, line in enumerate(lines) if needle in line}
        for each in matching:
            named = each is not None and needle in each.name.lower()
            scores[each] = scores.get(each, 0.0) + (2 if named else 1) / len(matching)
    words = set(query.text.lower().split())

    def rank(each: DefinitionRecord | None) -> tuple[float, int, int]:
        matching_words = words.intersection(split_identifier(each.name)) if each else ()
        return round(scores[each], 6), len(matching_words), -each.line if each else 0

    return max(scores, key=rank, default=None)


def _innermost_definition(inside: Sequence[DefinitionRecord], line: int) -> DefinitionRecord | None:
    """Return the innermost definition that contains a line."""
    around = [each for each in inside if each.line <= line <= each.end_line]
    return around[-1] if around else None


def answering_line(hit: CodeHit, query: CodeQuery) -> int:
    """Return the index of the best line of a hit: the requested line, or the line with the rarest query terms."""
    lines = hit.content.split("\n")
    offset = _header_line_count(hit, lines)
    if hit.line:
        return max(0, min(len(lines) - 1, hit.line - hit.start_line + offset))
    lowered = [line.lower() for line in lines]
    start, end = _definition_lines(hit, lines)
    scores = [0.0] * len(lines)
    for needle in _search_terms(query):
        matching = [number for number in range(start, end) if needle in lowered[number]]
        for number in matching:
            scores[number] += 1 / len(matching)
    best = max(scores)
    if best:
        return scores.index(best)
    written = [number for number in range(start, end) if lines[number].strip()]
    # Without a symbol, skip uninformative lines such as a brace or `const (`.
    informative = (
        [] if hit.symbol else [each for each in written if sum(map(str.isalpha, lines[each])) >= _MIN_LETTERS_PER_LINE]
    )
    return next(iter((*informative, *written)), start)


def excerpt(hit: CodeHit, query: CodeQuery, characters: int) -> Excerpt:
    """Return an excerpt of at most `characters`: the header of the definition and the lines around the best line."""
    if not hit.symbol:  # lines around code outside definitions are rarely useful
        characters = min(characters, _MAX_UNNAMED_CHARACTERS)
    lines = hit.content.split("\n")
    offset = _header_line_count(hit, lines)
    is_whole = hit.start_line <= hit.head_line <= hit.end_line
    own, end = _definition_lines(hit, lines)
    start = _start_with_comments(lines, own, offset) if is_whole else offset
    header = lines[:offset] if not is_whole else []
    best = min(max(answering_line(hit, query), start), end - 1)
    budget = characters - sum(len(line) + 1 for line in header)
    first, last = _window_around(lines, best, (start, end), budget)
    if first > own and is_whole:
        header = _header_text(lines, own).split("\n")[: first - own]
        header += [TRUNCATION_MARK] if own + len(header) < first else []
    shown = [_truncate_line(line, characters) for line in lines[first : last + 1]]
    above = [TRUNCATION_MARK] if first > start and not header else []
    goes_on = is_whole and hit.tail_line > hit.end_line
    below = [TRUNCATION_MARK] if last + 1 < end or goes_on else []
    number = hit.start_line - offset
    return Excerpt(
        number + first,
        number + last,
        "\n".join([*header, *above, *shown, *below]),
        _context_lines(lines[offset:first], "before") or hit.context_before,
        _context_lines(lines[last + 1 :], "after") or hit.context_after,
        has_truncated_line=shown != lines[first : last + 1],
    )


def _context_lines(lines: Sequence[str], side: Literal["before", "after"]) -> str:
    """Return at most `CONTEXT_LINES` lines directly before or after an excerpt."""
    if side == "after":
        return "\n".join(nearest_lines(lines))
    return "\n".join(nearest_lines(lines[::-1])[::-1])


def nearest_lines(lines: Sequence[str]) -> Sequence[str]:
    """Return `CONTEXT_LINES` lines, starting with the first non-blank line; truncate each of them."""
    first = next((number for number, line in enumerate(lines) if line.strip()), len(lines))
    return [line[: _word_end(line, CONTEXT_CHARACTERS)] for line in lines[first : first + CONTEXT_LINES]]


def _truncate_line(line: str, characters: int) -> str:
    return line if len(line) <= characters else f"{line[: _word_end(line, characters)]}{TRUNCATION_MARK}"


def _word_end(text: str, characters: int) -> int:
    """Return the offset at which the last complete word within `characters` ends. A very long word is split."""
    if len(text) <= characters:
        return len(text)
    end = characters
    while end > characters - _MAX_WORD_CHARACTERS and end > 0 and text[end - 1].isalnum() and text[end].isalnum():
        end -= 1
    return end if end > max(0, characters - _MAX_WORD_CHARACTERS) else max(0, characters)


def _window_around(lines: Sequence[str], best: int, bounds: tuple[int, int], characters: int) -> tuple[int, int]:
    """Return the indexes of the first and last line of the largest excerpt around the best line within the limit."""
    start, end = bounds
    if sum(len(line) + 1 for line in lines[start:end]) <= characters:
        return start, end - 1
    budget = characters - 2 * (len(TRUNCATION_MARK) + 1) - len(lines[best])
    first = last = best
    while True:
        # Add two following lines for each preceding line, because following lines are more informative.
        above = first > start and (best - first) * 2 <= last - best
        wanted = first - 1 if above or last + 1 >= end else last + 1
        if wanted < start or len(lines[wanted]) + 1 > budget:
            return first, _statement_end(lines, best, first, last)
        budget -= len(lines[wanted]) + 1
        first, last = min(first, wanted), max(last, wanted)


def _statement_end(lines: Sequence[str], best: int, first: int, last: int) -> int:
    """Return the last line at which a statement ends, at or after the best line, or `last` if there is none."""
    opened, ends = 0, []
    for number in range(first, last + 1):
        text = lines[number].strip()
        opened = max(0, opened + sum(map(text.count, "([")) - sum(map(text.count, ")]")))
        if (
            text
            and not opened
            and not text.endswith(_CONTINUATION_SUFFIXES)
            and not text.startswith(_ATTRIBUTE_PREFIXES)
        ):
            ends.append(number)
    return max((number for number in ends if number >= best), default=last)


def _header_line_count(hit: CodeHit, lines: Sequence[str]) -> int:
    """Return the number of lines that were inserted before a hit's content to show the header of its definition."""
    return max(0, len(lines) - (hit.end_line - hit.start_line + 1))


def _line_number(hit: CodeHit, index: int, lines: Sequence[str]) -> int:
    """Return the line number in the file for the line at `index` in the content of a hit."""
    return max(hit.start_line, hit.start_line + index - _header_line_count(hit, lines))


def _definition_lines(hit: CodeHit, lines: Sequence[str]) -> tuple[int, int]:
    """Return the indexes of the first and last line of a hit's definition, or of all lines if it begins elsewhere."""
    offset = _header_line_count(hit, lines)
    if not hit.start_line <= hit.head_line <= hit.end_line:
        return 0, len(lines)
    start = hit.head_line - hit.start_line + offset
    end = min(hit.tail_line, hit.end_line) - hit.start_line + offset + 1
    return start, max(start + 1, end)


def _start_with_comments(lines: Sequence[str], start: int, min_index: int) -> int:
    """Return the index of the first comment or decorator line directly above a definition, or `start`."""
    first = start
    for number in range(start - 1, max(min_index - 1, start - 1 - _MAX_LINES_ABOVE), -1):
        if not lines[number].strip() or not _is_comment(lines[number]):
            break
        first = number
    return first


def _search_terms(query: CodeQuery) -> tuple[str, ...]:
    """Return the lower-case terms that are searched for in lines of code."""
    return tuple(term.lower() for term in query.terms) or (query.text.lower(),)


def _header_index(hit: CodeHit, lines: Sequence[str]) -> int | None:
    """Return the index of the line on which the definition of a hit begins, or None if it is unknown."""
    name = last_part(hit.symbol) if hit.symbol else ""
    if not name:
        return None
    if hit.start_line <= hit.head_line <= hit.end_line:
        return hit.head_line - hit.start_line + _header_line_count(hit, lines)
    return next((number for number, line in enumerate(lines) if name in line and not _is_comment(line)), None)


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(("#", "//", "/*", "*", "--", '"""', "'''", "@"))


def _header_text(lines: Sequence[str], head: int) -> str:
    """Return the lines of a definition's header: its first line, and more lines while parentheses are open."""
    taken = [lines[head]]
    opened = lines[head].count("(") - lines[head].count(")")
    for line in lines[head + 1 : head + _MAX_HEADER_LINES]:
        if opened <= 0:
            break
        opened += line.count("(") - line.count(")")
        taken.append(line)
    return "\n".join(taken)


def _parameters_after_name(header: str, name: str) -> str:
    """Return the text after the name in a definition's header, such as parameters or base classes, on one line."""
    flat = " ".join(header.split())
    flat = flat.replace("( ", "(").replace(", )", ")").replace(" )", ")")
    at = flat.find(f"{name}(")
    at = at if at >= 0 else flat.find(name)
    # Remove a closing bracket or quotation mark, as in `[tool.ruff]` and `"name": 1`.
    rest = flat[at + len(name) :].lstrip("]\"'") if at >= 0 else ""
    rest = f"{rest}…" if rest.count("(") > rest.count(")") else rest.rstrip(" {:\\=").removesuffix("=>").rstrip(" =")
    for receiver in _RECEIVER_PARAMETERS:
        rest = rest.replace(f"({receiver}, ", "(", 1).replace(f"({receiver})", "()", 1)
    return rest if not rest[:1].isalnum() else ""


def _truncate_at_word(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: _word_end(text, max(0, characters - 1))].rstrip()}…"


def _doc_sentence(path: str, lines: Sequence[str], head: int, header_lines: int) -> str:
    """Return the first sentence of the docstring below the header, or of the comment above it."""
    below = [line.strip() for line in lines[head + header_lines : head + header_lines + _MAX_DOC_LINES]]
    if below[:1] and below[0].startswith(('"""', "'''", 'r"""')):
        text = " ".join([below[0].lstrip("\"'r "), *below[1:]])
        return first_sentence(text.split('"""')[0].split("'''")[0])
    above = []
    for line in reversed(lines[:head]):
        if not line.strip() or not _is_comment(line) or is_directive(path, line):
            break
        if not line.lstrip().startswith(_ATTRIBUTE_PREFIXES):
            above.append(line.strip(_COMMENT_SIGNS))
    return first_sentence(" ".join(first_paragraph(above[::-1])))


def first_paragraph(lines: Sequence[str]) -> list[str]:
    """Return the first paragraph of a comment, up to a blank line or a tag such as `@param`."""
    begun = dropwhile(lambda text: not text, lines)
    return list(takewhile(lambda text: bool(text) and not text.startswith(_DOC_TAGS), begun))


def is_directive(path: str, line: str) -> bool:
    """Whether a line is a preprocessor directive and not a comment that starts with `#`."""
    return line.lstrip().startswith("#") and path.endswith(_PREPROCESSED_SUFFIXES)


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, on one line."""
    flat = " ".join(_XML_TAG.sub(" ", text).split())
    end = flat.find(". ")
    while end >= 0 and flat[: end + 1].endswith(_ABBREVIATIONS):
        end = flat.find(". ", end + 1)
    return flat[: end + 1] if end >= 0 else flat


def _truncate_around_match(text: str, needles: Sequence[str], characters: int) -> str:
    """Truncate a line to `characters` so that the first search term stays visible."""
    if len(text) <= characters:
        return text
    lowered = text.lower()
    found = [(at, len(needle)) for needle in needles if (at := lowered.find(needle)) >= 0]
    first, length = min(found, default=(0, 0))
    start = 0
    if first >= characters // 2 or first + length >= characters:
        start = max(first - characters // 4, first + length - characters + 2)
        start = _word_start(text, min(start, first, len(text) - characters + 1), first)
    end = start + _word_end(text[start:], characters - (2 if start else 1))
    return f"{'…' if start else ''}{text[start:end].rstrip()}{'…' if end < len(text) else ''}"


def _word_start(text: str, start: int, limit: int) -> int:
    """Return the offset of the first word that starts between `start` and `limit`, or `limit` if there is none."""
    if not start or not text[start - 1].isalnum():
        return start
    return next((at for at in range(start, limit) if not text[at - 1].isalnum()), limit)
