"""Shortening of a long function or class to its header and the statements most relevant to the question."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_MAX_HEADER_LINES = 12  # maximum length of a function or class header
_MAX_DOC_LINES = 4  # maximum number of docstring lines that are always kept
_MAX_BLOCK_LINES = 20  # maximum length of a statement that is not split into its inner statements
_MIN_GAP_LINES = 5  # minimum number of consecutive lines that may be omitted
_MAX_DEPTH = 8  # maximum nesting depth of statements that are split
_CLOSING_PREFIXES = (")", "]", "}", "end")
# Words that begin a branch of the preceding statement, unless all lines of that indentation begin with such words.
_BRANCH_PREFIXES = ("else", "elif", "except", "finally", "catch", "case", "default", "rescue", "when")
# Share of the size limit for kept statements. The rest is for short gaps and for notes about omitted lines.
_KEPT_SHARE = 0.85
_DOC_QUOTES = ('"""', "'''")


class Span(NamedTuple):
    """Range of lines, counted from 0. `last` belongs to the range."""

    first: int
    last: int


# A statement, and the first lines of the statements that enclose it
_Statement = tuple[Span, tuple[Span, ...]]


def kept_ranges(lines: Sequence[str], head: int, characters: int, share: Callable[[Span], float]) -> list[Span]:
    """Return the line ranges to show of a function or class, in order, with about `characters` characters in total.

    The header, which starts at line `head`, is always kept. Statements are kept or omitted as a whole. Those with the
    highest `share` of the question's terms are kept first, with the first lines of the statements that enclose them.
    """
    header_end = _header_end(lines, head)
    doc_end = _doc_end(lines, header_end + 1)
    fixed = Span(0, min(doc_end, header_end + _MAX_DOC_LINES))
    left = int(characters * _KEPT_SHARE) - _character_count(lines, fixed)
    kept = [fixed]
    rest: list[_Statement] = [(Span(fixed.last + 1, doc_end), ())] if doc_end > fixed.last else []
    statements = _split_into_statements(lines, Span(doc_end + 1, len(lines) - 1))
    headers: set[Span] = set()
    for block, parents in sorted([*rest, *statements], key=lambda each: (-share(each[0]), each[0].first)):
        missing = [each for each in parents if each not in headers]
        size = sum(_character_count(lines, each) for each in (block, *missing))
        if size <= left:
            kept += [block, *missing]
            headers.update(missing)
            left -= size
    return _join_close_ranges(sorted(kept), lines)


def _character_count(lines: Sequence[str], span: Span) -> int:
    return sum(len(line) + 1 for line in lines[span.first : span.last + 1])


def _header_end(lines: Sequence[str], head: int) -> int:
    """Return the number of the last line of a function or class header, where all parentheses are closed."""
    opened = 0
    for number in range(head, min(len(lines), head + _MAX_HEADER_LINES)):
        opened += lines[number].count("(") - lines[number].count(")")
        if opened <= 0:
            return number
    return head


def _doc_end(lines: Sequence[str], start: int) -> int:
    """Return the number of the last docstring line, or `start - 1` if no docstring begins on line `start`."""
    text = lines[start].lstrip(" \trRuUbB") if start < len(lines) else ""
    quotes = next((each for each in _DOC_QUOTES if text.startswith(each)), "")
    if not quotes:
        return start - 1
    if text.count(quotes) > 1:
        return start
    return next((n for n in range(start + 1, len(lines)) if quotes in lines[n]), start)


def _split_into_statements(lines: Sequence[str], span: Span, parents: tuple[Span, ...] = ()) -> list[_Statement]:
    """Split lines into statements by indentation. Long statements are split into their inner statements."""
    written = [number for number in range(span.first, span.last + 1) if lines[number].strip()]
    opening = [number for number in written if not lines[number].lstrip().startswith(_CLOSING_PREFIXES)]
    if not written:
        return []
    if written[-1] - written[0] < _MAX_BLOCK_LINES // 2 or not opening:
        return [(Span(written[0], written[-1]), parents)]
    base = min(_indentation(lines[number]) for number in opening)
    outer = [number for number in opening if _indentation(lines[number]) == base]
    starts = [number for number in outer if not lines[number].lstrip().startswith(_BRANCH_PREFIXES)] or outer
    bounds = [written[0], *[n for n in starts if n != written[0]], span.last + 1]
    blocks: list[_Statement] = []
    for first, following in pairwise(bounds):
        block, header = Span(first, following - 1), Span(first, first)
        is_long = block.last - block.first >= _MAX_BLOCK_LINES and len(parents) < _MAX_DEPTH
        inner = _split_into_statements(lines, Span(first + 1, block.last), (*parents, header)) if is_long else []
        blocks += inner if len(inner) > 1 else [(block, parents)]
    return blocks


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _join_close_ranges(kept: Sequence[Span], lines: Sequence[str]) -> list[Span]:
    """Join ranges that are separated by only a few lines."""
    joined = [kept[0]]
    for each in kept[1:]:
        if each.first - joined[-1].last - 1 < _MIN_GAP_LINES:
            joined[-1] = Span(joined[-1].first, each.last)
        else:
            joined.append(each)
    while joined[-1].last > joined[-1].first and not lines[joined[-1].last].strip():
        joined[-1] = Span(joined[-1].first, joined[-1].last - 1)
    return joined
