"""Impact of working tree changes: the definitions on changed lines and everything that depends on them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.errors import BadArgument
from deltos.workspace.changes import changes_since
from deltos.workspace.file_purpose import is_test
from deltos.workspace.git import GitFailed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.domains.graph.search import GraphSearch, Impact
    from deltos.store.symbols import Symbol
    from deltos.workspace.changes import ChangedFile, ChangedFiles
    from deltos.workspace.walk import WalkedFiles

_REVISION = re.compile(r"[\w./@{}~^-]{1,200}")
MAX_CHANGED_SYMBOLS = 25


@dataclass(frozen=True, slots=True)
class ChangeImpact:
    """The changed definitions with their dependants, and the changed files without changed definitions."""

    impacts: tuple[Impact, ...]
    files_without_definitions: tuple[str, ...]
    omitted_count: int = 0


def changed_files(root: Path, base: str, found: WalkedFiles | None = None) -> ChangedFiles:
    """Return the files that differ from the commit `base`, including untracked ones. `found` lists known files."""
    revision = base.strip() or "HEAD"
    # Only commits are allowed, because `HEAD:path` and `HEAD^{/text}` would reveal other contents of the repository.
    if revision.startswith("-") or "^{" in revision or not _REVISION.fullmatch(revision):
        raise BadArgument(f"Not a revision: {revision[:80]!r}", hint="Give a commit or branch, such as main.")
    try:
        return changes_since(root, revision, found)
    except GitFailed as failed:
        raise BadArgument(
            f"git cannot compare with '{revision}' here ({failed.message})",
            hint="Use a git repository, and give a commit, branch or tag that exists in it.",
        ) from None


def analyse_change(search: GraphSearch, files: Sequence[ChangedFile]) -> ChangeImpact:
    """Return the innermost definitions on changed lines, most used first, with their dependants."""
    rows: dict[int, Symbol] = {}
    without_definitions: list[str] = []
    for file in files:
        inner = _innermost_definitions(search.reader.symbols_in(file.path), file.lines)
        rows.update((row.node_id, row) for row in inner)
        if not inner:
            without_definitions.append(file.path)
    uses = search.reader.reference_counts(rows)
    ordered = sorted(rows.values(), key=lambda row: (is_test(row.path), -uses.get(row.node_id, 0)))
    chosen = ordered[:MAX_CHANGED_SYMBOLS]
    impacts = tuple(search.impact(search.target_of(row)) for row in chosen)
    return ChangeImpact(impacts, tuple(without_definitions), len(rows) - len(chosen))


def _innermost_definitions(symbols: Sequence[Symbol], lines: frozenset[int] | None) -> list[Symbol]:
    """Return the innermost definition on each changed line, or the top-level definitions of a new file."""
    if lines is None:
        return [row for row in symbols if "." not in row.key]
    found: dict[int, Symbol] = {}
    for line in sorted(lines):
        around = [row for row in symbols if row.line <= line <= row.end_line]
        if around:
            inner = min(around, key=lambda row: row.end_line - row.line)
            found[inner.node_id] = inner
    return list(found.values())
