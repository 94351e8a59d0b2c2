"""What every format is turned into: a document of sections, each a heading over blocks that know their anchors."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from typing import Literal

BlockKind = Literal["prose", "code", "row", "item"]


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a whole code block, one table row or one list item, as Markdown text."""

    text: str
    kind: BlockKind = "prose"
    anchors: tuple[str, ...] = ()


class Trait(IntFlag):
    """What puts a definition behind those that users of a package call first."""

    TYPE = 1  # the shape of options or of data
    ELSEWHERE = 2  # imported from far inside the package, or nearer under the same name
    INTERNAL = 4  # nothing that users can import, or said to be internal
    DEPRECATED = 8
    ERROR = 16
    BARE = 32  # nobody says what it does


NO_TRAITS = Trait(0)


@dataclass(frozen=True, slots=True)
class Section:
    """What stands under one heading until the next one. `path` is its heading and those above, outermost first."""

    path: tuple[str, ...]
    anchors: tuple[str, ...]
    blocks: tuple[Block, ...]
    is_definition: bool = False
    traits: Trait = NO_TRAITS


@dataclass(frozen=True, slots=True)
class Link:
    """A reference to another place, with the words that name it. `url` is absolute and keeps its fragment."""

    url: str
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A page as a reader sees it: its sections in order, and where it leads."""

    title: str
    sections: tuple[Section, ...]
    links: tuple[Link, ...] = ()
    canonical_url: str = ""
    wants_login: bool = False
    asks_not_to_index: bool = False
    moved_to: str = ""
    window_title: str = ""  # what a browser shows above the page


def join_blocks(blocks: tuple[Block, ...] | list[Block]) -> str:
    """The Markdown text of consecutive blocks; rows and items stay on adjacent lines."""
    parts: list[str] = []
    previous = ""
    for block in blocks:
        if parts:
            parts.append("\n" if block.kind == previous and block.kind in ("row", "item") else "\n\n")
        parts.append(block.text)
        previous = block.kind
    return "".join(parts)
