"""Which commits lines of a file come from: asked of `git blame` for a moment, else the last commits of the file."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.errors import FileRefused
from deltos.files import FileTree
from deltos.workspace.commits import prefix_of
from deltos.workspace.git import GitFailed, GitStopped, reading
from deltos.workspace.repository import find_repository

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.store.history import CommitRow, History
    from deltos.workspace.git import Git

MAX_SECONDS = 1.0
MAX_FILE_BYTES = 2_000_000
_MAX_BLAME_BYTES = 4_000_000
_CONTENT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class LineCommits:
    """The commits that lines come from, newest first; of the whole file where git could not tell in time."""

    commits: tuple[CommitRow, ...]
    of_file: bool = False


def commits_of_lines(history: History, root: Path, path: str, lines: tuple[int, int], *, limit: int) -> LineCommits:
    """The last commits that lines (first and last) of a file come from, as far as they are known."""
    known = history.commits_of(path, limit=limit)
    if not known:
        return LineCommits(())
    try:
        hashes = _blamed(root, path, lines)
    except GitFailed:
        hashes = set()
    found = [row for each in hashes for row in history.commits_named(each, limit=1)]
    if not found:
        return LineCommits(tuple(known), of_file=True)
    return LineCommits(tuple(sorted(found, key=lambda row: -row.id)[:limit]))


def _blamed(root: Path, path: str, lines: tuple[int, int]) -> set[str]:
    """The ids of the commits that lines come from; those found in time, the latest of which are found first."""
    repository = find_repository(root)
    if repository is None:
        raise GitFailed("this is not a git repository")
    whole = prefix_of(root, repository) + path
    found: set[str] = set()
    with reading(repository) as git:
        place = _lines_at_head(git, root, path, whole, lines)
        if place is None:
            return found
        arguments = ("blame", "--incremental", f"-L{place[0]},{place[1]}", "HEAD", "--", whole)
        pieces = git.stream(*arguments, max_bytes=_MAX_BLAME_BYTES, timeout_seconds=MAX_SECONDS)
        output = bytearray()
        with closing(pieces):
            try:
                for piece in pieces:
                    output += piece
            except GitStopped:
                pass  # what it found until then is true
    return _hashes(output.decode("utf-8", "replace"))


def _hashes(output: str) -> set[str]:
    """The ids in what blame prints: each begins a group of lines that ends with the name of a file."""
    found, begins = set(), True
    for line in output.split("\n"):
        if begins and line:
            found.add(line.partition(" ")[0])
        begins = line.startswith("filename ")
    return {each for each in found if len(each) in (40, 64)}


def _lines_at_head(git: Git, root: Path, path: str, whole: str, lines: tuple[int, int]) -> tuple[int, int] | None:
    """Where lines of a file on disk stand in what was committed last; None where they are all new."""
    try:
        with FileTree(root) as tree:
            now = tree.read(path, MAX_FILE_BYTES).split(b"\n")
    except FileRefused as refused:
        raise GitFailed(refused.message) from None
    content = git.run("cat-file", "blob", f"HEAD:{whole}", max_bytes=MAX_FILE_BYTES, timeout_seconds=_CONTENT_SECONDS)
    before = content.split(b"\n")
    wanted = b"\n".join(now[lines[0] - 1 : lines[1]])
    if now != before and (at := content.find(wanted)) >= 0 and (not at or content[at - 1 : at] == b"\n"):
        first = content.count(b"\n", 0, at) + 1
        return first, first + lines[1] - lines[0]
    return lines if now == before else _shifted(lines, before, now)


def _shifted(lines: tuple[int, int], before: list[bytes], now: list[bytes]) -> tuple[int, int] | None:
    """Lines of `now` in `before`: what both begin or end with is the same, what lies between is what lay there."""
    most = min(len(before), len(now))
    same = next((n for n in range(most) if before[n] != now[n]), most)
    rest = most - same
    same_end = next((n for n in range(rest) if before[-1 - n] != now[-1 - n]), rest)
    grown = len(now) - len(before)
    first, last = lines
    start = first if first <= same else first - grown if first > len(now) - same_end else same + 1
    end = last if last <= same else last - grown if last > len(now) - same_end else len(before) - same_end
    return (start, end) if 1 <= start <= end <= len(before) else None
