"""Data classes for parsed documents: sections with a heading and blocks, each block with its anchors."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from typing import Literal

BlockKind = Literal["prose", "code", "row", "item"]


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a code block, a table row or a list item, as Markdown text."""

    text: str
    kind: BlockKind = "prose"
    anchors: tuple[str, ...] = ()


class Trait(IntFlag):
    """Properties that lower the rank of a definition in search results."""

    TYPE = 1  # a type that only contains options or data, without behaviour
    DEEP_IMPORT = 2  # the import path is long, or a shorter import path exists
    INTERNAL = 4  # users cannot import the definition, or its documentation marks it as internal
    DEPRECATED = 8
    ERROR = 16
    UNDOCUMENTED = 32


NO_TRAITS = Trait(0)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the blocks up to the next heading.

    `path` contains the headings from the outermost heading to the heading of this section.
    """

    path: tuple[str, ...]
    anchors: tuple[str, ...]
    blocks: tuple[Block, ...]
    is_definition: bool = False
    traits: Trait = NO_TRAITS


@dataclass(frozen=True, slots=True)
class Link:
    """A link to another page: the absolute URL, including the fragment, and the text of the link."""

    url: str
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed page: sections in reading order, links and metadata."""

    title: str
    sections: tuple[Section, ...]
    links: tuple[Link, ...] = ()
    canonical_url: str = ""
    requires_login: bool = False
    is_noindex: bool = False
    moved_to: str = ""
    window_title: str = ""  # contents of the HTML `title` element


def join_blocks(blocks: tuple[Block, ...] | list[Block]) -> str:
    """Join consecutive blocks into Markdown text. Table rows and list items stay on adjacent lines."""
    parts: list[str] = []
    previous = ""
    for block in blocks:
        if parts:
            parts.append("\n" if block.kind == previous and block.kind in ("row", "item") else "\n\n")
        parts.append(block.text)
        previous = block.kind
    return "".join(parts)
