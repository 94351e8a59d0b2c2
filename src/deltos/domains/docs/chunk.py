"""Split documents into chunks. Long sections are split, short reference entries are merged, code stays whole."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, replace
from itertools import chain, groupby, pairwise
from typing import TYPE_CHECKING

from deltos.budget import CHARACTERS_PER_TOKEN, estimate_tokens
from deltos.markup.model import NO_TRAITS, Block, join_blocks
from deltos.markup.text import is_named_anchor, reads_as_prose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from deltos.markup.model import Document, Section, Trait

    _SplitLines = Callable[[Iterable[str], int], Iterator[str]]

MAX_TOKENS = 400  # maximum size of a text chunk; about ten passages fit the default token budget of an answer
SMALL_TOKENS = 40  # smaller chunks are merged with the next chunk of the same section
TINY_TOKENS = 12  # smaller reference entries are merged with the next entry
_MAX_CODE_TOKENS = 3_000  # only larger code blocks are split, because half an example is useless
_MIN_CHUNK_TO_HEADER_RATIO = 4  # a table header is repeated in a chunk only if the chunk is at least 4 times as long
_MAX_FENCE_CHARACTERS = 500  # if the fence lines are longer, the parts of a long code block have no fences
MERGED_HEADING_PREFIX = "### "  # added before the heading of an entry that is merged into the previous chunk
_EMPTY_OR_FENCE_LINE = re.compile(r"(?:[`~]{3,99}[\w+#.-]*)?")
_IDENTIFIER = re.compile(r"[\w.:#/-]*")
_SENTENCE_END = re.compile(r"(?<=[.!?;:])\s+|\n")


@dataclass(frozen=True, slots=True)
class DocsChunk:
    """Part of a page that is shown as one search result. The citation uses the first anchor."""

    path: tuple[str, ...]
    anchors: tuple[str, ...]
    text: str
    is_definition: bool = False
    traits: Trait = NO_TRAITS

    @property
    def tokens(self) -> int:
        """Estimated number of tokens in the text."""
        return estimate_tokens(self.text)


def chunk_document(
    document: Document, *, max_tokens: int = MAX_TOKENS, small_tokens: int = SMALL_TOKENS
) -> list[DocsChunk]:
    """Split a page into non-empty chunks in reading order. Every anchor of the page belongs to a chunk."""
    chunks = [chunk for section in document.sections for chunk in _split_section(document.title, section, max_tokens)]
    return _drop_empty(_merge_small_chunks(chunks, max_tokens=max_tokens, small_tokens=small_tokens))


def has_text(text: str) -> bool:
    """Whether a passage contains any text besides code fences."""
    return any(_EMPTY_OR_FENCE_LINE.fullmatch(line.strip()) is None for line in text.split("\n"))


def _drop_empty(chunks: Iterable[DocsChunk]) -> list[DocsChunk]:
    """Drop empty chunks, and move their anchors to the next chunk, or to the previous one at the end of a page."""
    kept: list[DocsChunk] = []
    waiting: list[str] = []
    for chunk in chunks:
        if has_text(chunk.text):
            kept.append(_with_anchors(chunk, waiting))
            waiting = []
        elif chunk.is_definition and chunk.path and not _IDENTIFIER.fullmatch(chunk.path[-1]):
            kept.append(
                replace(_with_anchors(chunk, waiting), text=chunk.path[-1])
            )  # the heading of a definition is its signature, which is used as the text
            waiting = []
        else:
            waiting += chunk.anchors
    if kept:
        kept[-1] = _with_anchors(kept[-1], waiting)
    return kept


def _with_anchors(chunk: DocsChunk, more: Iterable[str]) -> DocsChunk:
    """Return a copy of a chunk with additional anchors."""
    return replace(chunk, anchors=tuple(dict.fromkeys((*chunk.anchors, *more))))


def _split_section(title: str, section: Section, max_tokens: int) -> Iterator[DocsChunk]:
    """Split a section into chunks of at most `max_tokens`."""
    path = section.path if not title or section.path[:1] == (title,) else (title, *section.path)
    anchors = section.anchors
    named: tuple[str, ...] = ()
    for group in _group_blocks(section.blocks, max_tokens):
        inner = [name for block in group for name in block.anchors]
        named = tuple(filter(is_named_anchor, group[0].anchors)) or named
        inside = tuple(dict.fromkeys((*named, *anchors, *inner)))
        yield DocsChunk(path, inside, join_blocks(group), section.is_definition, section.traits)
        anchors = section.anchors[:1]
        named = _last_named_anchor(group) or named[:1]
    if not section.blocks:
        yield DocsChunk(path, anchors, "", section.is_definition, section.traits)


def _last_named_anchor(group: Iterable[Block]) -> tuple[str, ...]:
    """Return the first named anchor of the last block with a named anchor, as a tuple that may be empty."""
    named_anchors = (tuple(filter(is_named_anchor, block.anchors))[:1] for block in group)
    return next(filter(None, reversed(list(named_anchors))), ())


def _group_blocks(blocks: Iterable[Block], max_tokens: int) -> Iterator[list[Block]]:
    """Group consecutive blocks up to `max_tokens`. A sentence that introduces a code block or list stays with it."""
    group: list[Block] = []
    size = 0
    header_rows: list[Block] = []  # header rows of the current table
    parts = (part for whole in blocks for part in _split_block(whole, max_tokens))
    for block, following in pairwise(chain(parts, (None,))):
        if block is None:  # unreachable, because only `following` can be None
            break
        tokens = estimate_tokens(block.text)
        header_rows = _table_header(header_rows, block, following, max_tokens)
        if group and size + tokens > max_tokens:
            opening_blocks = _opening_blocks(group, header_rows, block)
            yield group
            group, size = opening_blocks, sum(estimate_tokens(part.text) for part in opening_blocks)
        group.append(block)
        size += tokens
    if group:
        yield group


def _opening_blocks(group: list[Block], header_rows: list[Block], block: Block) -> list[Block]:
    """Return the blocks to place before `block` in the next group: an introductory sentence or the table header.

    An introductory sentence is removed from the end of `group`.
    """
    if block.kind != "row":
        return [group.pop()] if _ends_with_introduction(group) else []
    if group[-1].kind != "row" or not _is_complete_header(header_rows) or block is header_rows[0]:
        return []
    if block is header_rows[-1]:
        return [group.pop()] if len(group) > 1 else []
    return [replace(row, anchors=()) for row in header_rows]  # table rows are meaningless without the header


def _table_header(header_rows: list[Block], block: Block, following: Block | None, max_tokens: int) -> list[Block]:
    """Return the header rows of the table that contains `block`: its first row and the separator row.

    A table may directly follow another one.
    """
    if block.kind != "row":
        return []
    if _is_table_header(block, following, is_first=not header_rows):
        return [block] if estimate_tokens(block.text) <= max_tokens // _MIN_CHUNK_TO_HEADER_RATIO else []
    return (
        [*header_rows, block]
        if len(header_rows) == 1 and not _is_complete_header(header_rows) and _is_separator(block.text)
        else header_rows
    )


def _is_table_header(row: Block, following: Block | None, *, is_first: bool) -> bool:
    """Whether a table row is the header of a table."""
    if _is_separator(row.text):
        return False
    if _is_complete_header([row]) or following is None or following.kind != "row":
        return _is_complete_header([row])
    # Inside a table, single dashes mark empty cells.
    return _is_separator(following.text) and (is_first or "---" in following.text)


def _is_complete_header(header_rows: list[Block]) -> bool:
    """Whether the header rows of a table include the line that separates the header from the rows."""
    return bool(header_rows) and _is_separator(header_rows[-1].text.rpartition("\n")[2])


def _is_separator(line: str) -> bool:
    """Whether a line separates the table header from the rows: `| --- | :-: |`."""
    return "-" in line and not line.strip("|:- \t")


def _ends_with_introduction(group: list[Block]) -> bool:
    """Whether the last block of a group is a short sentence ending in a colon."""
    last = group[-1]
    return (
        len(group) > 1
        and last.kind == "prose"
        and last.text.rstrip("*_").endswith(":")
        and estimate_tokens(last.text) < SMALL_TOKENS * 2
    )


def _split_block(block: Block, max_tokens: int) -> Iterator[Block]:
    """Yield a block unchanged or, if it is long prose or a very large code block, split into parts."""
    if estimate_tokens(block.text) <= max_tokens:
        yield block
    elif block.kind != "code":
        yield from _split_prose(block, max_tokens)
    elif reads_as_prose(block.text):
        yield from _split_code(block, max_tokens, _paragraphs)
    elif estimate_tokens(block.text) <= _MAX_CODE_TOKENS:
        yield block
    else:
        yield from _split_code(block, _MAX_CODE_TOKENS, _whole_lines)


def _whole_lines(lines: Iterable[str], _max_characters: int) -> Iterator[str]:
    return (f"{line}\n" for line in lines)


def _paragraphs(lines: Iterable[str], max_characters: int) -> Iterator[str]:
    """Yield paragraphs and blank lines. A paragraph over `max_characters` is yielded line by line."""
    for is_blank, group in groupby(lines, key=lambda line: not line.strip()):
        paragraph = [f"{line}\n" for line in group]
        if is_blank or sum(map(len, paragraph)) > max_characters:
            yield from paragraph
        else:
            yield "".join(paragraph)


def _split_code(block: Block, limit: int, split_lines: _SplitLines) -> Iterator[Block]:
    """Split a long code block into parts with code fences, or without fences if the fence lines are too long."""
    opening, *lines = block.text.split("\n")
    closing = lines.pop() if lines else ""
    if len(opening) + len(closing) > _MAX_FENCE_CHARACTERS:
        yield from _split_prose(block, limit)
        return
    anchors = block.anchors
    max_characters = limit * CHARACTERS_PER_TOKEN
    for part in _join_up_to(split_lines(lines, max_characters), max_characters):
        if text := part.strip("\n"):
            yield Block("\n".join((opening, text, closing)), "code", anchors)
            anchors = ()


def _split_prose(block: Block, limit: int) -> Iterator[Block]:
    """Split long prose at the ends of sentences or lines."""
    anchors = block.anchors
    for part in _join_up_to(_sentences(block.text), limit * CHARACTERS_PER_TOKEN):
        if part.strip():
            yield Block(part.strip("\n").rstrip(), block.kind, anchors)
            anchors = ()


def _sentences(text: str) -> Iterator[str]:
    """Yield sentences and lines, each with the white space after it."""
    start = 0
    for end in _SENTENCE_END.finditer(text):
        yield text[start : end.end()]
        start = end.end()
    yield text[start:]


def _join_up_to(parts: Iterable[str], max_characters: int) -> Iterator[str]:
    """Join consecutive strings up to `max_characters`. Longer strings are split."""
    current = ""
    for part in parts:
        if current and len(current) + len(part) > max_characters:
            yield current
            current = ""
        current += part
        start = 0
        while len(current) - start > max_characters:
            yield current[start : start + max_characters]
            start += max_characters
        current = current[start:] if start else current
    if current:
        yield current


def _merge_small_chunks(chunks: list[DocsChunk], *, max_tokens: int, small_tokens: int) -> Iterator[DocsChunk]:
    """Merge adjacent small chunks of a section, and adjacent small reference entries."""
    current: DocsChunk | None = None
    anchors: deque[tuple[str, ...]] = deque()  # joined only once, because thousands of empty sections may be merged
    for following in chunks:
        if current is not None and _should_merge(current, following, max_tokens, small_tokens):
            (anchors.append if current.text else anchors.appendleft)(following.anchors)
            current = _merge_pair(current, following)
        else:
            if current is not None:
                yield replace(current, anchors=tuple(dict.fromkeys(chain.from_iterable(anchors))))
            current, anchors = following, deque((following.anchors,))
    if current is not None:
        yield replace(current, anchors=tuple(dict.fromkeys(chain.from_iterable(anchors))))


def _should_merge(current: DocsChunk, following: DocsChunk, max_tokens: int, small_tokens: int) -> bool:
    """Whether two adjacent chunks are small and related enough to be merged."""
    if current.tokens + following.tokens > max_tokens:
        return False
    if not current.text:
        return following.path[: len(current.path)] == current.path
    siblings = current.path[:-1] == following.path[:-1] or current.path == following.path[:-1]
    if current.is_definition and following.is_definition:
        # Large entries stay separate, because users look up single entries.
        small_tokens = min(small_tokens, TINY_TOKENS)
    elif current.path != following.path and following.text:
        return False  # a section with a heading is a separate topic, even if it is short
    return siblings and min(current.tokens, following.tokens) < small_tokens


def _merge_pair(current: DocsChunk, following: DocsChunk) -> DocsChunk:
    """Merge two chunks. If they have different headings, the heading of the second becomes part of the text."""
    heading = "" if following.path == current.path else f"{MERGED_HEADING_PREFIX}{following.path[-1]}\n\n"
    text = f"{current.text}\n\n{heading}{following.text}" if current.text else following.text
    path = current.path if current.text else following.path
    traits = current.traits & following.traits if current.text else following.traits
    return DocsChunk(path, (), text, current.is_definition or following.is_definition, traits)
