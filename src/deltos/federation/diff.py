"""What a change of the working tree touches: from `git diff` to definitions, and to all that stands on them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltos.domains.graph.search import Target
from deltos.errors import BadArgument
from deltos.workspace.git import run_git
from deltos.workspace.purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from deltos.domains.graph.search import GraphSearch, Impact
    from deltos.store.graph_read import SymbolRow

_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")
_REVISION = re.compile(r"[\w./@{}~^-]{1,200}")
MOST_SYMBOLS = 25


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file and the lines of it, as it is now, that a change touched; None means all of them."""

    path: str
    lines: frozenset[int] | None


@dataclass(frozen=True, slots=True)
class Touched:
    """The definitions that a change touched, with what depends on each; files that no definition was found for."""

    impacts: tuple[Impact, ...]
    bare_files: tuple[str, ...]
    left_out: int = 0


@dataclass(slots=True)
class _Reader:
    """Reads a diff without context, line by line."""

    found: dict[str, set[int]] = field(default_factory=dict)
    path: str = ""

    def read(self, line: str) -> None:
        """Take note of a file or a hunk."""
        if line.startswith("+++ "):
            self.path = "" if line.endswith("/dev/null") else line[4:].rstrip("\t").removeprefix("b/")
            if self.path:
                self.found.setdefault(self.path, set())
        elif self.path and (hunk := _HUNK.match(line)):
            start, count = int(hunk[1]), int(hunk[2] or 1)
            # Where lines only went, the change is between the line named and the next.
            self.found[self.path].update(range(start, start + max(1, count)))


def changed_files(root: Path, base: str) -> list[ChangedFile]:
    """The files that differ from `base`, untracked ones included."""
    revision = base.strip() or "HEAD"
    # Commits only: `HEAD:path` and `HEAD^{/text}` would tell what else there is in the repository.
    if revision.startswith("-") or "^{" in revision or not _REVISION.fullmatch(revision):
        raise BadArgument(f"Not a revision: {revision[:80]!r}", hint="Give a commit or branch, such as main.")
    output = run_git(
        root, "-c", "core.quotePath=false", "diff", "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv",
        "--relative", "--src-prefix=a/", "--dst-prefix=b/", revision, "--",
    )  # fmt: skip
    if output is None:
        raise BadArgument(
            f"git cannot compare with '{revision}' here", hint="Work in a git repository, and name a revision it has."
        )
    files = read_diff(output.decode("utf-8", "replace").splitlines())
    return [*files, *_untracked(root)]


def read_diff(lines: Iterable[str]) -> list[ChangedFile]:
    """The changed lines of each file, out of a diff without context."""
    reader = _Reader()
    for line in lines:
        reader.read(line)
    return [ChangedFile(path, frozenset(numbers)) for path, numbers in reader.found.items()]


def touched_by(search: GraphSearch, files: Sequence[ChangedFile]) -> Touched:
    """The innermost definitions on changed lines, most used first, and what depends on them."""
    rows: dict[int, SymbolRow] = {}
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


def _untracked(root: Path) -> list[ChangedFile]:
    """Files that git does not know yet: all of each is new."""
    output = run_git(root, "ls-files", "--others", "--exclude-standard", "-z") or b""
    names = [name for name in output.decode("utf-8", "replace").split("\0") if name]
    return [ChangedFile(name, None) for name in names]


def _innermost(symbols: Sequence[SymbolRow], lines: frozenset[int] | None) -> list[SymbolRow]:
    """The innermost definition on each changed line; of a file that is new, what stands at its top level."""
    if lines is None:
        return [row for row in symbols if "." not in row.key]
    found: dict[int, SymbolRow] = {}
    for line in sorted(lines):
        around = [row for row in symbols if row.line <= line <= row.end_line]
        if around:
            inner = min(around, key=lambda row: row.end_line - row.line)
            found[inner.node_id] = inner
    return list(found.values())


def _target(row: SymbolRow) -> Target:
    return Target(row, (row.node_id,), frozenset({(row.path, row.line)}))
