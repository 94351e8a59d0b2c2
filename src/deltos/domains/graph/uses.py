"""Grouping of references for answers by certainty and by relation to the target, with one use per line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.graph.model import THROUGH, UNPARSED, UNPARSED_MACRO
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
IN_MACRO = "a macro call, or a name in a macro that is not parsed as code"
IN_BROKEN_CODE = "in code that cannot be parsed"
UNKNOWN_RECEIVER = "same name, receiver type unknown"
THROUGH_UNKNOWN_TYPE = f"{THROUGH}a type of another package, which its type may implement"
AMBIGUOUS_NAME = "ambiguous name"


@dataclass(frozen=True, slots=True)
class Use:
    """A line that refers to a target.

    `label` is the name of the enclosing definition, or empty at the top level of a file.
    """

    path: str
    line: int
    kinds: tuple[str, ...]
    label: str

    @property
    def location(self) -> tuple[str, int]:
        """The path and line."""
        return self.path, self.line


@dataclass(frozen=True, slots=True)
class UseGroup:
    """Uses with a common title.

    `reason` explains why the uses are uncertain. `related_kind` describes the related definition to which the uses
    refer.
    """

    title: str
    uses: tuple[Use, ...]
    reason: str = ""
    related_kind: str = ""


def group_uses(found: FoundReferences) -> list[UseGroup]:
    """Group all uses of a target.

    The groups are definite uses, uses through a base or override, uses by another name, and possible uses.
    """
    shown: set[tuple[str, int]] = set()
    direct = [row for row in found.certain if not found.via_label(row)]
    through = [row for row in (*found.certain, *found.indirect) if row.origin != OVERRIDE]
    groups = [UseGroup("", _take_new_uses(direct, shown))]
    for via in dict.fromkeys(filter(None, map(found.via_label, through))):
        rows = [row for row in through if found.via_label(row) == via]
        is_wrapper = any(row.target_id in found.wrapper_ids for row in rows)
        related = "a wrapper of the same name" if is_wrapper else "a base or override"
        groups.append(UseGroup(_via_title(found, via, rows), _take_new_uses(rows, shown), related_kind=related))
    groups.append(UseGroup(UNDER_ANOTHER_NAME, _take_new_uses(found.aliased, shown)))
    for reason in dict.fromkeys(map(reason_of, found.possible)):
        rows = [row for row in found.possible if reason_of(row) == reason]
        uses = _take_new_uses(rows, set())
        groups.append(UseGroup(_possible_title(found, reason, len(uses)), uses, reason))
    return [group for group in groups if group.uses]


def overriding_definitions(found: FoundReferences) -> list[Use]:
    """Return the definitions that override a target, which are not counted as uses."""
    return merge_by_line(row for row in found.indirect if row.origin == OVERRIDE)


def reason_of(row: ReferenceRow) -> str:
    """Return why it is uncertain whether a possible use refers to the target."""
    if row.origin == BROKEN_IMPORT:
        return BROKEN_IMPORT
    if row.origin.startswith(THROUGH):
        return row.origin if row.origin == THROUGH_UNKNOWN_TYPE else f"{row.origin}, which its type implements"
    if row.kind == UNPARSED_MACRO:
        return IN_MACRO
    if row.kind == UNPARSED:
        return IN_BROKEN_CODE
    return UNKNOWN_RECEIVER if row.target_id == 0 else AMBIGUOUS_NAME


def as_use_groups(title: str, rows: Sequence[ReferenceRow]) -> tuple[UseGroup, ...]:
    """Return a tuple with one group that contains the rows, or an empty tuple if there are no rows."""
    return (UseGroup(title, tuple(merge_by_line(rows))),) if rows else ()


def merge_by_line(rows: Iterable[ReferenceRow]) -> list[Use]:
    """Return one use per line, merging references on the same line, with uses outside tests first."""
    lines: dict[tuple[str, int], list[ReferenceRow]] = {}
    for row in sorted(rows, key=lambda row: (is_test(row.path), row.path, row.line)):
        lines.setdefault((row.path, row.line), []).append(row)
    return [
        Use(path, line, tuple(dict.fromkeys(map(_use_kind, here))), bare_key(here[0].source_key))
        for (path, line), here in lines.items()
    ]


def _take_new_uses(rows: Iterable[ReferenceRow], shown: set[tuple[str, int]]) -> tuple[Use, ...]:
    """Return the uses on lines that are not in `shown`, and add these lines to `shown`."""
    uses = [use for use in merge_by_line(rows) if use.location not in shown]
    shown.update(use.location for use in uses)
    return tuple(uses)


def _use_kind(row: ReferenceRow) -> str:
    """Return the kind of a use as it is shown in answers."""
    return OVERRIDE if row.origin == OVERRIDE else row.kind


def _via_title(found: FoundReferences, via: str, rows: Sequence[ReferenceRow]) -> str:
    """Return the title of uses that refer to the related definition `via`."""
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
