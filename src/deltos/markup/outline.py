"""Builder of sections from headings and blocks, shared by the parsers of all formats."""

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
    """Builds the sections of a page from headings and blocks, which are added in reading order."""

    def __init__(self) -> None:
        self._sections: list[Section] = []
        self._trail: list[tuple[int, str]] = []
        # More names for the last heading. They are joined only once, because there may be thousands of names.
        self._alias_names: list[str] = []
        self._anchors: list[str] = []
        self._blocks: list[Block] = []
        self._is_definition = False
        self._traits = NO_TRAITS
        self._is_section_started = False
        self._pending: list[str] = []

    def start_section(
        self, rank: int, text: str, anchors: Iterable[str], *, is_definition: bool = False, traits: Trait = NO_TRAITS
    ) -> None:
        """Start a section. Sections of the same or a deeper rank are closed."""
        self._close_section()
        self._pop_headings(rank)
        self._trail.append((rank, visible(text)))
        self._anchors = [*anchors, *reversed(self._pending)]  # the anchor closest to the heading comes first
        self._pending = []
        self._is_definition = is_definition
        self._traits = traits
        self._is_section_started = True

    def add_heading_name(self, rank: int, text: str, anchors: Iterable[str]) -> bool:
        """Add a name to the heading of a definition that has no text yet. Return False if there is none."""
        if self._blocks or not self._is_definition or not self._trail or self._trail[-1][0] != rank:
            return False
        self._alias_names.append(visible(text))
        self._anchors += (*anchors, *self._pending)
        self._pending = []
        return True

    def close_sections(self, rank: int) -> None:
        """Close the open sections of the given rank and of deeper ranks."""
        if self._trail and self._trail[-1][0] >= rank:
            self._close_section()
            self._pop_headings(rank)
            self._is_definition, self._traits = False, NO_TRAITS

    def add_anchor(self, name: str) -> None:
        """Attach an anchor to the next block or heading. Spaces in the anchor's name are percent-encoded."""
        name = "%20".join(name.split())
        if name:
            self._pending.append(name)

    def pending_count(self) -> int:
        """Return the number of anchors that are not attached to a block or heading yet."""
        return len(self._pending)

    def take_pending(self, start: int = 0) -> list[str]:
        """Remove and return the unattached anchors, starting at index `start`."""
        taken = self._pending[start:]
        del self._pending[start:]
        return taken

    def add_block(self, text: str, kind: BlockKind = "prose") -> None:
        """Add a block to the open section. Empty text is ignored."""
        text = visible(text).rstrip()
        if text.strip():
            self._blocks.append(Block(text, kind, tuple(self._pending)))
            self._pending = []

    def sections(self) -> tuple[Section, ...]:
        """Close the open section and return all sections.

        If an anchor occurs several times, only the first one is kept.
        """
        self._close_section()
        counts = Counter(
            name for section in self._sections for anchors in _anchor_groups(section) for name in set(anchors)
        )
        if all(count == 1 for count in counts.values()):
            return tuple(self._sections)
        seen: set[str] = set()

        def first_occurrences(anchors: tuple[str, ...]) -> tuple[str, ...]:
            first = [name for name in dict.fromkeys(anchors) if name not in seen]
            seen.update(first)
            # Anchors that occur once come before repeated anchors.
            return tuple(sorted(first, key=lambda name: counts[name] > 1))

        def drop_repeated_anchors(section: Section) -> Section:
            anchors = first_occurrences(section.anchors)
            blocks = tuple(replace(block, anchors=first_occurrences(block.anchors)) for block in section.blocks)
            return replace(section, anchors=anchors, blocks=blocks)

        return tuple(map(drop_repeated_anchors, self._sections))

    def _pop_headings(self, rank: int) -> None:
        while self._trail and self._trail[-1][0] >= rank:
            self._trail.pop()

    def _close_section(self) -> None:
        if self._alias_names:
            rank, name = self._trail[-1]
            self._trail[-1] = (rank, " / ".join((name, *self._alias_names)))
            self._alias_names = []
        if self._blocks or self._anchors or self._is_section_started:
            path = tuple(text for _, text in self._trail)
            anchors, blocks = tuple(self._anchors), tuple(self._blocks)
            self._sections.append(Section(path, anchors, blocks, self._is_definition, self._traits))
        self._blocks, self._anchors, self._is_section_started = [], [], False


def _anchor_groups(section: Section) -> tuple[tuple[str, ...], ...]:
    """Return the anchors of a section, and the anchors of each of its blocks."""
    return (section.anchors, *(block.anchors for block in section.blocks))


def first_heading(sections: Iterable[Section], default: str = "") -> str:
    """Return the outermost heading of the first section that has a heading, or `default`."""
    return next((section.path[0] for section in sections if section.path), default)
