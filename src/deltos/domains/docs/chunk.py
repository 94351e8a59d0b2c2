"""Sections to chunks: whole code blocks, tiny entries of a reference merged, long sections split between paragraphs."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, replace
from itertools import chain, groupby, pairwise
from typing import TYPE_CHECKING

from deltos.budget import CHARACTERS_PER_TOKEN, estimate_tokens
from deltos.markup.model import NO_TRAITS, Block, join_blocks
from deltos.markup.text import is_telling, reads_as_prose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from deltos.markup.model import Document, Section, Trait

    _Pieces = Callable[[Iterable[str], int], Iterator[str]]

MAX_TOKENS = 400  # of prose: ten or so passages fit the default budget
SMALL_TOKENS = 40  # a part of a section below this shares a chunk with the next
TINY_TOKENS = 12  # the same for entries of a reference
_LARGEST_CODE_TOKENS = 3_000  # a code block is cut only beyond this: half an example is of no use
_HEAD_SHARE = 4  # a head that takes more of a chunk is not repeated
_LONGEST_FENCE_CHARACTERS = 500  # its two lines stand in every part
JOINED_HEADING = "### "  # before the heading of an entry that shares a chunk with the one before
_EMPTY_LINE = re.compile(r"(?:[`~]{3,99}[\w+#.-]*)?")
_NAME = re.compile(r"[\w.:#/-]*")
_SENTENCE_END = re.compile(r"(?<=[.!?;:])\s+|\n")


@dataclass(frozen=True, slots=True)
class DocsChunk:
    """What one search result shows. `anchors` are all anchors inside it; the first one opens it."""

    path: tuple[str, ...]
    anchors: tuple[str, ...]
    text: str
    is_definition: bool = False
    traits: Trait = NO_TRAITS

    @property
    def tokens(self) -> int:
        """About how many tokens its text costs."""
        return estimate_tokens(self.text)


def chunk_document(
    document: Document, *, max_tokens: int = MAX_TOKENS, small_tokens: int = SMALL_TOKENS
) -> list[DocsChunk]:
    """The chunks of a page in reading order, all with text; every anchor of the page is in at least one of them."""
    pieces = [piece for section in document.sections for piece in _split(document.title, section, max_tokens)]
    return _with_text(_merge(pieces, max_tokens=max_tokens, small_tokens=small_tokens))


def has_text(text: str) -> bool:
    """Whether a passage says anything: fences alone do not."""
    return any(_EMPTY_LINE.fullmatch(line.strip()) is None for line in text.split("\n"))


def _with_text(chunks: Iterable[DocsChunk]) -> list[DocsChunk]:
    """Chunks without those that have no text: the next takes their anchors, at the end of a page the last one."""
    kept: list[DocsChunk] = []
    waiting: list[str] = []
    for chunk in chunks:
        if has_text(chunk.text):
            kept.append(_with_anchors(chunk, waiting))
            waiting = []
        elif chunk.is_definition and chunk.path and not _NAME.fullmatch(chunk.path[-1]):
            kept.append(replace(_with_anchors(chunk, waiting), text=chunk.path[-1]))  # a signature says something
            waiting = []
        else:
            waiting += chunk.anchors
    if kept:
        kept[-1] = _with_anchors(kept[-1], waiting)
    return kept


def _with_anchors(chunk: DocsChunk, more: Iterable[str]) -> DocsChunk:
    return replace(chunk, anchors=tuple(dict.fromkeys((*chunk.anchors, *more))))


def _split(title: str, section: Section, max_tokens: int) -> Iterator[DocsChunk]:
    path = section.path if not title or section.path[:1] == (title,) else (title, *section.path)
    anchors = section.anchors
    nearest: tuple[str, ...] = ()
    for group in _groups(section.blocks, max_tokens):
        inner = [name for block in group for name in block.anchors]
        nearest = tuple(filter(is_telling, group[0].anchors)) or nearest
        inside = tuple(dict.fromkeys((*nearest, *anchors, *inner)))
        yield DocsChunk(path, inside, join_blocks(group), section.is_definition, section.traits)
        anchors = section.anchors[:1]
        nearest = _nearest_to_end(group) or nearest[:1]
    if not section.blocks:
        yield DocsChunk(path, anchors, "", section.is_definition, section.traits)


def _nearest_to_end(group: Iterable[Block]) -> tuple[str, ...]:
    """What opens the last block of some that has a telling anchor."""
    telling = (tuple(filter(is_telling, block.anchors))[:1] for block in group)
    return next(filter(None, reversed(list(telling))), ())


def _groups(blocks: Iterable[Block], max_tokens: int) -> Iterator[list[Block]]:
    """Consecutive blocks that together stay within `max_tokens`; an introduction stays with its code or list."""
    group: list[Block] = []
    size = 0
    head: list[Block] = []  # of the table that is open
    parts = (part for whole in blocks for part in _smaller(whole, max_tokens))
    for block, following in pairwise(chain(parts, (None,))):
        if block is None:  # never: it ends the parts
            break
        tokens = estimate_tokens(block.text)
        head = _head_with(head, block, following, max_tokens)
        if group and size + tokens > max_tokens:
            carried = _carried(group, head, block)
            yield group
            group, size = carried, sum(estimate_tokens(part.text) for part in carried)
        group.append(block)
        size += tokens
    if group:
        yield group


def _carried(group: list[Block], head: list[Block], block: Block) -> list[Block]:
    """What the group that begins with `block` has before it; what belongs to it alone leaves the one that ends."""
    if block.kind != "row":
        return [group.pop()] if _introduces(group) else []
    if block.kind != "row" or group[-1].kind != "row" or not _is_whole(head) or block is head[0]:
        return []
    if block is head[-1]:
        return [group.pop()] if len(group) > 1 else []
    return [replace(row, anchors=()) for row in head]  # rows without their head say nothing


def _head_with(head: list[Block], block: Block, following: Block | None, max_tokens: int) -> list[Block]:
    """The head of the table that `block` is in: its first row, with the line below it. Tables may follow each other."""
    if block.kind != "row":
        return []
    if _begins_table(block, following, is_first=not head):
        return [block] if estimate_tokens(block.text) <= max_tokens // _HEAD_SHARE else []
    return [*head, block] if len(head) == 1 and not _is_whole(head) and _is_rule(block.text) else head


def _begins_table(row: Block, following: Block | None, *, is_first: bool) -> bool:
    if _is_rule(row.text):
        return False
    if _is_whole([row]) or following is None or following.kind != "row":
        return _is_whole([row])
    # Within a table a row of single dashes says that there is nothing.
    return _is_rule(following.text) and (is_first or "---" in following.text)


def _is_whole(head: list[Block]) -> bool:
    return bool(head) and _is_rule(head[-1].text.rpartition("\n")[2])


def _is_rule(line: str) -> bool:
    """Whether a line parts the head of a table from its rows: `| --- | :-: |`."""
    return "-" in line and not line.strip("|:- \t")


def _introduces(group: list[Block]) -> bool:
    last = group[-1]
    return (
        len(group) > 1
        and last.kind == "prose"
        and last.text.rstrip("*_").endswith(":")
        and estimate_tokens(last.text) < SMALL_TOKENS * 2
    )


def _smaller(block: Block, max_tokens: int) -> Iterator[Block]:
    """The block itself, or its parts when it is prose longer than a chunk, preformatted or not, or code beyond all
    measure."""
    if estimate_tokens(block.text) <= max_tokens:
        yield block
    elif block.kind != "code":
        yield from _split_prose(block, max_tokens)
    elif reads_as_prose(block.text):
        yield from _split_code(block, max_tokens, _paragraphs)
    elif estimate_tokens(block.text) <= _LARGEST_CODE_TOKENS:
        yield block
    else:
        yield from _split_code(block, _LARGEST_CODE_TOKENS, _lines)


def _lines(lines: Iterable[str], _most_characters: int) -> Iterator[str]:
    return (f"{line}\n" for line in lines)


def _paragraphs(lines: Iterable[str], most_characters: int) -> Iterator[str]:
    """What stands between blank lines, with those behind it; the lines of what is too long by itself."""
    for is_blank, group in groupby(lines, key=lambda line: not line.strip()):
        paragraph = [f"{line}\n" for line in group]
        if is_blank or sum(map(len, paragraph)) > most_characters:
            yield from paragraph
        else:
            yield "".join(paragraph)


def _split_code(block: Block, limit: int, pieces: _Pieces) -> Iterator[Block]:
    """Parts of a long block, each within the fence of the whole; without it where the fence itself is what is long."""
    opening, *lines = block.text.split("\n")
    closing = lines.pop() if lines else ""
    if len(opening) + len(closing) > _LONGEST_FENCE_CHARACTERS:
        yield from _split_prose(block, limit)
        return
    anchors = block.anchors
    most_characters = limit * CHARACTERS_PER_TOKEN
    for part in _fill(pieces(lines, most_characters), most_characters):
        if text := part.strip("\n"):
            yield Block("\n".join((opening, text, closing)), "code", anchors)
            anchors = ()


def _split_prose(block: Block, limit: int) -> Iterator[Block]:
    """Parts of long prose, cut between sentences or lines; each is as it stands on the page."""
    anchors = block.anchors
    for part in _fill(_sentences(block.text), limit * CHARACTERS_PER_TOKEN):
        if part.strip():
            yield Block(part.strip("\n").rstrip(), block.kind, anchors)
            anchors = ()


def _sentences(text: str) -> Iterator[str]:
    """Sentences and lines, with the space behind each."""
    start = 0
    for end in _SENTENCE_END.finditer(text):
        yield text[start : end.end()]
        start = end.end()
    yield text[start:]


def _fill(parts: Iterable[str], most_characters: int) -> Iterator[str]:
    """Join consecutive parts up to a size; a part that is too long by itself is cut."""
    held = ""
    for part in parts:
        if held and len(held) + len(part) > most_characters:
            yield held
            held = ""
        held += part
        start = 0
        while len(held) - start > most_characters:
            yield held[start : start + most_characters]
            start += most_characters
        held = held[start:] if start else held
    if held:
        yield held


def _merge(pieces: list[DocsChunk], *, max_tokens: int, small_tokens: int) -> Iterator[DocsChunk]:
    held: DocsChunk | None = None
    anchors: deque[tuple[str, ...]] = deque()  # put together at the end: thousands of empty sections may be joined
    for piece in pieces:
        if held is not None and _belong_together(held, piece, max_tokens, small_tokens):
            (anchors.append if held.text else anchors.appendleft)(piece.anchors)
            held = _joined(held, piece)
        else:
            if held is not None:
                yield replace(held, anchors=tuple(dict.fromkeys(chain.from_iterable(anchors))))
            held, anchors = piece, deque((piece.anchors,))
    if held is not None:
        yield replace(held, anchors=tuple(dict.fromkeys(chain.from_iterable(anchors))))


def _belong_together(held: DocsChunk, piece: DocsChunk, max_tokens: int, small_tokens: int) -> bool:
    if held.tokens + piece.tokens > max_tokens:
        return False
    if not held.text:
        return piece.path[: len(held.path)] == held.path
    siblings = held.path[:-1] == piece.path[:-1] or held.path == piece.path[:-1]
    if held.is_definition and piece.is_definition:
        small_tokens = min(small_tokens, TINY_TOKENS)  # an entry of a reference is looked up by itself
    elif held.path != piece.path and piece.text:
        return False  # a section with a heading is a topic of its own, however short
    return siblings and min(held.tokens, piece.tokens) < small_tokens


def _joined(held: DocsChunk, piece: DocsChunk) -> DocsChunk:
    """Path and text of two chunks as one; headings that the first one's breadcrumb does not show stand in the text."""
    heading = "" if piece.path == held.path else f"{JOINED_HEADING}{piece.path[-1]}\n\n"
    text = f"{held.text}\n\n{heading}{piece.text}" if held.text else piece.text
    path = held.path if held.text else piece.path
    traits = held.traits & piece.traits if held.text else piece.traits
    return DocsChunk(path, (), text, held.is_definition or piece.is_definition, traits)
