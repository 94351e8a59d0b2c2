"""References as a reader sees them: one use per line, in groups by how sure they are and how they reach the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.graph.model import UNPARSED, UNREAD
from deltos.store.symbols import bare_key
from deltos.workspace.purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.domains.graph.search import FoundReferences
    from deltos.store.graph import ReferenceRow

OVERRIDE = "override"
UNDER_ANOTHER_NAME = "--- under another name (import … as, or a macro) ---"
BROKEN_IMPORT = "imported from where it is not"
IN_MACRO = "a macro, or inside one that is not read as code"
IN_BROKEN_CODE = "in code that cannot be parsed"


@dataclass(frozen=True, slots=True)
class Use:
    """One line that refers to a target; `label` is the definition around it, empty at the top of a file."""

    path: str
    line: int
    kinds: tuple[str, ...]
    label: str

    @property
    def place(self) -> tuple[str, int]:
        """Its path and line."""
        return self.path, self.line


@dataclass(frozen=True, slots=True)
class UseGroup:
    """Uses of one sort. `reason` says why they are not certain; empty for those that are. `is_through`: of another
    definition, which may mean the target."""

    title: str
    uses: tuple[Use, ...]
    reason: str = ""
    is_through: bool = False


def grouped_uses(found: FoundReferences) -> list[UseGroup]:
    """All uses of a target: certain ones, those through a base or an override, under another name, possible ones."""
    shown: set[tuple[str, int]] = set()
    direct = [row for row in found.certain if not found.via(row)]
    through = [row for row in (*found.certain, *found.through) if row.origin != OVERRIDE]
    groups = [UseGroup("", _uses(direct, shown))]
    for via in dict.fromkeys(filter(None, map(found.via, through))):
        rows = [row for row in through if found.via(row) == via]
        groups.append(UseGroup(_via_title(found, via, rows), _uses(rows, shown), is_through=True))
    groups.append(UseGroup(UNDER_ANOTHER_NAME, _uses(found.aliased, shown)))
    for reason in dict.fromkeys(map(reason_of, found.possible)):
        rows = [row for row in found.possible if reason_of(row) == reason]
        groups.append(UseGroup(_possible_title(found, reason), _uses(rows, set()), reason))
    return [group for group in groups if group.uses]


def overriding_definitions(found: FoundReferences) -> list[Use]:
    """What overrides a target; it is not used there."""
    return merged(row for row in found.through if row.origin == OVERRIDE)


def reason_of(row: ReferenceRow) -> str:
    """Why a possible use is not certain, in a few words."""
    if row.origin == BROKEN_IMPORT:
        return BROKEN_IMPORT
    if row.kind == UNREAD:
        return IN_MACRO
    if row.kind == UNPARSED:
        return IN_BROKEN_CODE
    return "unknown receiver" if row.target_id == 0 else "ambiguous name"


def as_group(title: str, rows: Sequence[ReferenceRow]) -> tuple[UseGroup, ...]:
    """Rows as one group; none where there are no rows."""
    return (UseGroup(title, tuple(merged(rows))),) if rows else ()


def merged(rows: Iterable[ReferenceRow]) -> list[Use]:
    """Rows as uses, one per line, code before tests."""
    lines: dict[tuple[str, int], list[ReferenceRow]] = {}
    for row in sorted(rows, key=lambda row: (is_test(row.path), row.path, row.line)):
        lines.setdefault((row.path, row.line), []).append(row)
    return [
        Use(path, line, tuple(dict.fromkeys(map(_kind, here))), bare_key(here[0].source_key))
        for (path, line), here in lines.items()
    ]


def _uses(rows: Iterable[ReferenceRow], shown: set[tuple[str, int]]) -> tuple[Use, ...]:
    """The uses on lines that no group before shows."""
    uses = [use for use in merged(rows) if use.place not in shown]
    shown.update(use.place for use in uses)
    return tuple(uses)


def _kind(row: ReferenceRow) -> str:
    return OVERRIDE if row.origin == OVERRIDE else row.kind


def _via_title(found: FoundReferences, via: str, rows: Sequence[ReferenceRow]) -> str:
    if any(row.target_id in found.bases for row in rows):
        return f"--- through {via}, which it implements or overrides ---"
    return f"--- on {via}, which overrides it or a common base ---"


def _possible_title(found: FoundReferences, reason: str) -> str:
    share = f", {found.sharing} definitions share the name" if found.sharing > 1 else ""
    return f"--- possible: {reason}{share} ---"
