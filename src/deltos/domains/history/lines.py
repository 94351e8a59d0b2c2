"""Which of a file's commits changed some of its lines: their diffs are followed back from what is on disk.

`git blame` and `git log -L` walk the whole history for that; here it is known which commits touched the file.
"""

from __future__ import annotations

import re
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from deltos.errors import FileRefused
from deltos.files import FileTree
from deltos.workspace.commits import SAFE_OPTIONS, limited_to, reading_commits
from deltos.workspace.git import GitFailed, GitStopped

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence
    from pathlib import Path

    from deltos.store.history import CommitRow, History
    from deltos.workspace.git import Git

MAX_COMMITS = 150
MAX_SECONDS = 1.0
MAX_FILE_BYTES = 2_000_000
MAX_DIFF_BYTES = 20_000_000
_MAX_NAMES = 10
_HUNK = re.compile(r"^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_COMMIT = "commit "
_MAX_HEADER_BYTES = 1_000


class Hunk(NamedTuple):
    """Lines that a commit put in place of others, as a diff without context counts them."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int


class LineRange(NamedTuple):
    """The first and the last of some lines."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class LineCommits:
    """The last commits that changed lines, newest first; of the whole file where none of the `read` ones did."""

    commits: tuple[CommitRow, ...]
    of_file: bool = False
    read: int = 0


def commits_of_lines(history: History, root: Path, path: str, lines: LineRange, *, limit: int) -> LineCommits:
    """The last commits that changed lines of a file, as far as they are known and can be told in a moment."""
    known = [row for row in history.commits_of(path, limit=MAX_COMMITS) if not row.is_merge]
    if not known:
        return LineCommits(())
    names = [path, *_former_names(history, path)]
    try:
        hashes, read = _changed(root, names, lines, [row.hash for row in known], limit)
    except GitFailed:
        hashes, read = set(), 0
    found = [row for row in known if row.hash in hashes]
    return LineCommits(tuple(found or known[:limit]), of_file=not found, read=read)


def _former_names(history: History, path: str) -> list[str]:
    renamed = history.renamed()
    return [name for name, now in renamed.items() if now == path or renamed.get(now) == path][:_MAX_NAMES]


def _changed(
    root: Path, names: Sequence[str], lines: LineRange, hashes: Sequence[str], limit: int
) -> tuple[set[str], int]:
    """The commits, newest first, that changed lines of a file, at most `limit`; and how many were looked at."""
    found: set[str] = set()
    read = 0
    with reading_commits(root) as (git, prefix):
        place: LineRange | None = _lines_at_head(git, root, names[0], prefix + names[0], lines)
        arguments = (
            "log", *SAFE_OPTIONS, "--no-walk=unsorted", "--patch", "--unified=0", "--find-renames=100%",
            f"--format=tformat:{_COMMIT}%H", *hashes, "--", *(limited_to(prefix + name)[1] for name in names),
        )  # fmt: skip
        pieces = git.stream(*arguments, max_bytes=MAX_DIFF_BYTES, timeout_seconds=MAX_SECONDS)
        # What git printed before it had to be stopped is true.
        with suppress(GitStopped), closing(_diffs(pieces)) as diffs:
            for commit_hash, hunks in diffs:
                if place is None or len(found) >= limit:
                    break
                read += 1
                if touches(place, hunks):
                    found.add(commit_hash)
                    place = before(place, hunks)
                else:
                    place = before(place, hunks) or place
    return found, read


def touches(lines: LineRange, hunks: Iterable[Hunk]) -> bool:
    """Whether a commit changed some of the lines, or took some away between them."""
    return any(
        hunk.new_start <= lines.last and hunk.new_start + hunk.new_count > lines.first
        if hunk.new_count
        else lines.first <= hunk.new_start < lines.last
        for hunk in hunks
    )


def before(lines: LineRange, hunks: Iterable[Hunk]) -> LineRange | None:
    """Where lines stood before a commit; None where all of them came with it."""
    first, last = lines
    shift_first = shift_last = 0
    for hunk in hunks:
        grown = hunk.new_count - hunk.old_count
        # A hunk that only takes lines away names the line before them.
        start = hunk.new_start if hunk.new_count else hunk.new_start + 1
        end = start + hunk.new_count  # the line after it
        if end <= lines.first:
            shift_first = shift_last = shift_last - grown
        elif start <= lines.last:
            old_start = hunk.old_start if hunk.old_count else hunk.old_start + 1
            if start <= lines.first:
                first, shift_first = old_start, 0
            if end > lines.last:
                last, shift_last = old_start + hunk.old_count - 1, 0
            else:
                shift_last -= grown
    found = LineRange(first + shift_first, last + shift_last)
    return found if 1 <= found.first <= found.last else None


def _diffs(pieces: Generator[bytes]) -> Generator[tuple[str, list[Hunk]]]:
    """Commits with their hunks. Lines of a file are printed with a sign before them: none can pass for a header."""
    commit_hash, hunks = "", list[Hunk]()
    for line in _lines(pieces):
        if line.startswith(_COMMIT):
            if commit_hash:
                yield commit_hash, hunks
            commit_hash, hunks = line.removeprefix(_COMMIT), []
        elif match := _HUNK.match(line):
            old_start, old_count, new_start, new_count = (int(number) if number else 1 for number in match.groups())
            hunks.append(Hunk(old_start, old_count, new_start, new_count))
    if commit_hash:
        yield commit_hash, hunks


def _lines(pieces: Generator[bytes]) -> Iterator[str]:
    """Whole lines of a diff that may be headers."""
    begun = b""
    with closing(pieces):
        for piece in pieces:
            *whole, begun = (begun + piece).split(b"\n")
            begun = begun[:_MAX_HEADER_BYTES]
            for line in whole:
                if line.startswith((b"@", b"c")) and len(line) < _MAX_HEADER_BYTES:
                    yield line.decode("ascii", "replace")


def _lines_at_head(git: Git, root: Path, path: str, whole: str, lines: LineRange) -> LineRange | None:
    """Where lines of a file on disk stand in what was committed last; None where they are all new."""
    try:
        with FileTree(root) as tree:
            now = tree.read(path, MAX_FILE_BYTES).split(b"\n")
    except FileRefused as refused:
        raise GitFailed(refused.message) from None
    content = git.run("cat-file", "blob", f"HEAD:{whole}", max_bytes=MAX_FILE_BYTES, timeout_seconds=MAX_SECONDS)
    committed = content.split(b"\n")
    if now == committed:
        return lines
    wanted = b"\n".join(now[lines.first - 1 : lines.last])
    if (at := content.find(wanted)) >= 0 and (not at or content[at - 1 : at] == b"\n"):
        first = content.count(b"\n", 0, at) + 1
        return LineRange(first, first + lines.last - lines.first)
    return before(lines, [_difference(committed, now)])


def _difference(committed: list[bytes], now: list[bytes]) -> Hunk:
    """All that differs, from the first line to the last, as one hunk."""
    most = min(len(committed), len(now))
    same = next((n for n in range(most) if committed[n] != now[n]), most)
    rest = most - same
    same_end = next((n for n in range(rest) if committed[-1 - n] != now[-1 - n]), rest)
    old_count, new_count = len(committed) - same - same_end, len(now) - same - same_end
    return Hunk(same + (old_count > 0), old_count, same + (new_count > 0), new_count)
