"""References in the form of answers: one use per line, grouped by certainty and by how they reach the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.graph.model import UNPARSED, UNPARSED_MACRO
from deltos.store.symbols import bare_key
from deltos.wording import possible_references
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.domains.graph.search import FoundReferences
    from deltos.store.graph import ReferenceRow

OVERRIDE = "override"
UNDER_ANOTHER_NAME = "--- under another name (import … as, or a macro) ---"
BROKEN_IMPORT = "imported from a module that does not define it"
IN_MACRO = "a macro call, or inside a macro that is not parsed as code"
IN_BROKEN_CODE = "in code that cannot be parsed"
UNKNOWN_RECEIVER = "same name, receiver type unknown"
AMBIGUOUS_NAME = "ambiguous name"


@dataclass(frozen=True, slots=True)
class Use:
    """A line that refers to a target; `label` is the definition around it, empty at the top level of a file."""

    path: str
    line: int
    kinds: tuple[str, ...]
    label: str

    @property
    def place(self) -> tuple[str, int]:
        """The path and line."""
        return self.path, self.line


@dataclass(frozen=True, slots=True)
class UseGroup:
    """Uses of one sort: `reason` says why they are not certain, `through` what sort of related definition they
    name."""

    title: str
    uses: tuple[Use, ...]
    reason: str = ""
    through: str = ""


def grouped_uses(found: FoundReferences) -> list[UseGroup]:
    """Group all uses of a target: certain, through a base or override, by another name, possible."""
    shown: set[tuple[str, int]] = set()
    direct = [row for row in found.certain if not found.via_label(row)]
    through = [row for row in (*found.certain, *found.through) if row.origin != OVERRIDE]
    groups = [UseGroup("", _uses(direct, shown))]
    for via in dict.fromkeys(filter(None, map(found.via_label, through))):
        rows = [row for row in through if found.via_label(row) == via]
        is_wrapper = any(row.target_id in found.wrapper_ids for row in rows)
        sort = "a wrapper of the same name" if is_wrapper else "a base or override"
        groups.append(UseGroup(_via_title(found, via, rows), _uses(rows, shown), through=sort))
    groups.append(UseGroup(UNDER_ANOTHER_NAME, _uses(found.aliased, shown)))
    for reason in dict.fromkeys(map(reason_of, found.possible)):
        rows = [row for row in found.possible if reason_of(row) == reason]
        uses = _uses(rows, set())
        groups.append(UseGroup(_possible_title(found, reason, len(uses)), uses, reason))
    return [group for group in groups if group.uses]


def overriding_definitions(found: FoundReferences) -> list[Use]:
    """Return the definitions that override a target; they are not uses."""
    return merge_by_line(row for row in found.through if row.origin == OVERRIDE)


def reason_of(row: ReferenceRow) -> str:
    """Return why a possible use is not certain."""
    if row.origin == BROKEN_IMPORT:
        return BROKEN_IMPORT
    if row.kind == UNPARSED_MACRO:
        return IN_MACRO
    if row.kind == UNPARSED:
        return IN_BROKEN_CODE
    return UNKNOWN_RECEIVER if row.target_id == 0 else AMBIGUOUS_NAME


def as_group(title: str, rows: Sequence[ReferenceRow]) -> tuple[UseGroup, ...]:
    """Return rows as one group; no group if there are no rows."""
    return (UseGroup(title, tuple(merge_by_line(rows))),) if rows else ()


def merge_by_line(rows: Iterable[ReferenceRow]) -> list[Use]:
    """Return rows as uses, one per line, code before tests."""
    lines: dict[tuple[str, int], list[ReferenceRow]] = {}
    for row in sorted(rows, key=lambda row: (is_test(row.path), row.path, row.line)):
        lines.setdefault((row.path, row.line), []).append(row)
    return [
        Use(path, line, tuple(dict.fromkeys(map(_kind, here))), bare_key(here[0].source_key))
        for (path, line), here in lines.items()
    ]


def _uses(rows: Iterable[ReferenceRow], shown: set[tuple[str, int]]) -> tuple[Use, ...]:
    """Return the uses on lines that no earlier group has, and add them to `shown`."""
    uses = [use for use in merge_by_line(rows) if use.place not in shown]
    shown.update(use.place for use in uses)
    return tuple(uses)


def _kind(row: ReferenceRow) -> str:
    return OVERRIDE if row.origin == OVERRIDE else row.kind


def _via_title(found: FoundReferences, via: str, rows: Sequence[ReferenceRow]) -> str:
    """Return the title of uses that name the related definition `via`."""
    if any(row.target_id in found.wrapper_ids for row in rows):
        definition = next(found.related_definitions[row.target_id] for row in rows)
        return f"--- through {via} {definition.path}:{definition.line}, which calls it ---"
    if any(row.target_id in found.base_ids for row in rows):
        return f"--- through {via}, which it implements or overrides ---"
    return f"--- on {via}, which overrides it or a common base ---"


def _possible_title(found: FoundReferences, reason: str, count: int) -> str:
    """Return the title of possible uses, with the number of definitions that they may refer to."""
    share = f"; {found.definition_count} definitions have the name" if found.definition_count > 1 else ""
    return f"--- {possible_references(count, reason + share)} ---"
