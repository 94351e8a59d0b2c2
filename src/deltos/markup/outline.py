"""Collects headings and blocks into sections, whatever the format they are read from."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from deltos.markup.model import NO_TRAITS, Block, BlockKind, Section
from deltos.markup.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deltos.markup.model import Trait


class Outline:
    """Sections in the making: a trail of open headings and the blocks under the last one."""

    def __init__(self) -> None:
        self._sections: list[Section] = []
        self._trail: list[tuple[int, str]] = []
        self._more_names: list[str] = []  # of the last heading; there can be as many as a page is long
        self._anchors: list[str] = []
        self._blocks: list[Block] = []
        self._is_definition = False
        self._traits = NO_TRAITS
        self._is_new = False
        self._pending: list[str] = []

    def heading(
        self, rank: int, text: str, anchors: Iterable[str], *, is_definition: bool = False, traits: Trait = NO_TRAITS
    ) -> None:
        """Begin a section; it closes all open ones of the same or a lower rank."""
        self._close()
        self._pop(rank)
        self._trail.append((rank, visible(text)))
        self._anchors = [*anchors, *reversed(self._pending)]  # the nearest to the heading first
        self._pending = []
        self._is_definition = is_definition
        self._traits = traits
        self._is_new = True

    def another_heading(self, rank: int, text: str, anchors: Iterable[str]) -> bool:
        """Add a second heading to a definition that has no text yet; False when none of that rank is open."""
        if self._blocks or not self._is_definition or not self._trail or self._trail[-1][0] != rank:
            return False
        self._more_names.append(visible(text))
        self._anchors += (*anchors, *self._pending)
        self._pending = []
        return True

    def leave(self, rank: int) -> None:
        """End the open sections of `rank` and below it; what follows belongs to the one around them."""
        if self._trail and self._trail[-1][0] >= rank:
            self._close()
            self._pop(rank)
            self._is_definition, self._traits = False, NO_TRAITS

    def anchor(self, name: str) -> None:
        """Note a place that the next block or heading can be reached by; blanks in its name as an address has them."""
        name = "%20".join(name.split())
        if name:
            self._pending.append(name)

    def pending(self) -> int:
        """How many noted places wait for their block or heading."""
        return len(self._pending)

    def take_pending(self, start: int = 0) -> list[str]:
        """The noted places from number `start` on; they no longer wait."""
        taken = self._pending[start:]
        del self._pending[start:]
        return taken

    def block(self, text: str, kind: BlockKind = "prose") -> None:
        """Add a block to the open section; empty text adds nothing."""
        text = visible(text).rstrip()
        if text.strip():
            self._blocks.append(Block(text, kind, tuple(self._pending)))
            self._pending = []

    def sections(self) -> tuple[Section, ...]:
        """All sections, the open one included. An anchor is kept where it stands first, which is where its address
        opens; of several, those that stand nowhere else come first."""
        self._close()
        counts = Counter(name for section in self._sections for place in _places(section) for name in set(place))
        if all(count == 1 for count in counts.values()):
            return tuple(self._sections)
        known: set[str] = set()

        def opening(anchors: tuple[str, ...]) -> tuple[str, ...]:
            first = [name for name in dict.fromkeys(anchors) if name not in known]
            known.update(first)
            return tuple(sorted(first, key=lambda name: counts[name] > 1))

        def with_opening(section: Section) -> Section:
            anchors = opening(section.anchors)
            blocks = tuple(replace(block, anchors=opening(block.anchors)) for block in section.blocks)
            return replace(section, anchors=anchors, blocks=blocks)

        return tuple(map(with_opening, self._sections))

    def _pop(self, rank: int) -> None:
        while self._trail and self._trail[-1][0] >= rank:
            self._trail.pop()

    def _close(self) -> None:
        if self._more_names:
            rank, name = self._trail[-1]
            self._trail[-1] = (rank, " / ".join((name, *self._more_names)))
            self._more_names = []
        if self._blocks or self._anchors or self._is_new:
            path = tuple(text for _, text in self._trail)
            anchors, blocks = tuple(self._anchors), tuple(self._blocks)
            self._sections.append(Section(path, anchors, blocks, self._is_definition, self._traits))
        self._blocks, self._anchors, self._is_new = [], [], False


def _places(section: Section) -> tuple[tuple[str, ...], ...]:
    """The anchors of a section and of each of its blocks."""
    return (section.anchors, *(block.anchors for block in section.blocks))


def first_heading(sections: Iterable[Section], otherwise: str = "") -> str:
    """The outermost heading of the first section that has one."""
    return next((section.path[0] for section in sections if section.path), otherwise)
