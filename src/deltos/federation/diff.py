"""What a change of the working tree touches: from changed lines to definitions, and to all that depends on them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.graph.search import Target
from deltos.errors import BadArgument
from deltos.workspace.changes import changes_since
from deltos.workspace.git import GitFailed
from deltos.workspace.purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.domains.graph.search import GraphSearch, Impact
    from deltos.store.symbols import Symbol
    from deltos.workspace.changes import ChangedFile, ChangedFiles
    from deltos.workspace.walk import WalkedFiles

_REVISION = re.compile(r"[\w./@{}~^-]{1,200}")
MOST_SYMBOLS = 25


@dataclass(frozen=True, slots=True)
class Touched:
    """The definitions that a change touched, with what depends on each; files that no definition was found for."""

    impacts: tuple[Impact, ...]
    bare_files: tuple[str, ...]
    left_out: int = 0


def changed_files(root: Path, base: str, found: WalkedFiles | None = None) -> ChangedFiles:
    """The files that differ from `base`, untracked ones included; `found` are all files, if they were listed before."""
    revision = base.strip() or "HEAD"
    # Commits only: `HEAD:path` and `HEAD^{/text}` would tell what else there is in the repository.
    if revision.startswith("-") or "^{" in revision or not _REVISION.fullmatch(revision):
        raise BadArgument(f"Not a revision: {revision[:80]!r}", hint="Give a commit or branch, such as main.")
    try:
        return changes_since(root, revision, found)
    except GitFailed as failed:
        raise BadArgument(
            f"git cannot compare with '{revision}' here ({failed.message})",
            hint="Work in a git repository, and name a commit, branch or tag that it has.",
        ) from None


def touched_by(search: GraphSearch, files: Sequence[ChangedFile]) -> Touched:
    """The innermost definitions on changed lines, most used first, and what depends on them."""
    rows: dict[int, Symbol] = {}
    bare: list[str] = []
    for file in files:
        inner = _innermost(search.reader.symbols_in(file.path), file.lines)
        rows.update((row.node_id, row) for row in inner)
        if not inner:
            bare.append(file.path)
    uses = search.reader.reference_counts(rows)
    ordered = sorted(rows.values(), key=lambda row: (is_test(row.path), -uses.get(row.node_id, 0)))
    chosen = ordered[:MOST_SYMBOLS]
    impacts = tuple(search.impact(_target(row)) for row in chosen)
    return Touched(impacts, tuple(bare), len(rows) - len(chosen))


def _innermost(symbols: Sequence[Symbol], lines: frozenset[int] | None) -> list[Symbol]:
    """The innermost definition on each changed line; of a file that is new, what stands at its top level."""
    if lines is None:
        return [row for row in symbols if "." not in row.key]
    found: dict[int, Symbol] = {}
    for line in sorted(lines):
        around = [row for row in symbols if row.line <= line <= row.end_line]
        if around:
            inner = min(around, key=lambda row: row.end_line - row.line)
            found[inner.node_id] = inner
    return list(found.values())


def _target(row: Symbol) -> Target:
    return Target(row, (row.node_id,), frozenset({(row.path, row.line)}))
