"""Which of a file's commits changed some of its lines: their diffs are followed back from what is on disk.

`git blame` and `git log -L` walk the whole history for that; here it is known which commits touched the file. Only
where a file began as another one with edits, git follows it.
"""

from __future__ import annotations

import re
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
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
_FILE = "diff --git "
_NEW = "new file mode "
_RENAMED_FROM = "rename from "
_RENAMED_TO = "rename to "
_HEADERS = (b"@", *(header.encode() for header in (_COMMIT, _FILE, _NEW, _RENAMED_FROM, _RENAMED_TO)))
_MAX_HEADER_BYTES = 10_000


class Hunk(NamedTuple):
    """Lines that a commit put in place of others, as a diff without context counts them."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int


@dataclass(slots=True)
class FileDiff:
    """What a commit did to one file, and its name before; names that git quotes are empty."""

    path: str
    before: str
    is_new: bool = False
    hunks: list[Hunk] = field(default_factory=list)


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
        hashes, read = [], 0
    rows = {row.hash: row for row in known}
    rows |= {row.hash: row for each in hashes if each not in rows for row in history.commits_named(each, limit=1)}
    found = [rows[each] for each in hashes if each in rows]
    return LineCommits(tuple(found or known[:limit]), of_file=not found, read=read)


def _former_names(history: History, path: str) -> list[str]:
    renamed = history.renamed()
    return [name for name, now in renamed.items() if now == path or renamed.get(now) == path][:_MAX_NAMES]


def _changed(
    root: Path, names: Sequence[str], lines: LineRange, hashes: Sequence[str], limit: int
) -> tuple[list[str], int]:
    """The commits, newest first, that changed lines of a file, at most `limit`; and how many were looked at."""
    with reading_commits(root) as (git, prefix):
        trail = _Trail(_lines_at_head(git, root, names[0], prefix + names[0], lines), prefix + names[0], limit)
        paths = [limited_to(prefix + name)[1] for name in names]
        _follow(trail, git, "--no-walk=unsorted", *hashes, "--", *paths)
        # Where the file begins, it may have come from another with some edits, which no list of names has.
        created = trail.created
        if created and _comes_from_another(trail, git, created):
            _follow(trail, git, "--follow", "--no-merges", f"--max-count={MAX_COMMITS}", created, "--", trail.pathspec)
        if trail.created and not trail.is_done:
            trail.found.append(trail.created)
    return trail.found, trail.read


@dataclass(slots=True)
class _Trail:
    """Lines on their way back through commits: where they stand, in which file, and which commits changed them.

    `created` is the commit that the file begins with, where they came that far.
    """

    place: LineRange | None
    path: str
    limit: int
    found: list[str] = field(default_factory=list)
    read: int = 0
    created: str = ""

    @property
    def is_done(self) -> bool:
        """Whether there is nothing more to find."""
        return self.place is None or len(self.found) >= self.limit

    @property
    def pathspec(self) -> str:
        """What keeps git to the file."""
        return limited_to(self.path)[1]

    def take(self, commit_hash: str, files: Iterable[FileDiff]) -> None:
        """Go back over one commit."""
        file = next((each for each in files if each.path in (self.path, "")), None)
        if file is None or self.place is None:
            return  # another file that had one of the names
        if file.is_new:
            self.created = commit_hash
            return
        were = before(self.place, file.hunks)
        if touches(self.place, file.hunks):
            self.found.append(commit_hash)
            self.place = were
        else:
            self.place = were or self.place
        self.path = file.before or self.path


def _follow(trail: _Trail, git: Git, *revisions: str) -> None:
    """Take the lines back over commits, until they are all found or the file begins."""
    trail.created = ""
    arguments = (
        "log", *SAFE_OPTIONS, "--patch", "--unified=0", "--find-renames", "--src-prefix=a/", "--dst-prefix=b/",
        f"--format=tformat:{_COMMIT}%H", *revisions,
    )  # fmt: skip
    pieces = git.stream(*arguments, max_bytes=MAX_DIFF_BYTES, timeout_seconds=MAX_SECONDS)
    # What git printed before it had to be stopped is true.
    with suppress(GitStopped), closing(_diffs(pieces)) as diffs:
        for commit_hash, files in diffs:
            if trail.is_done or trail.created:
                break
            trail.read += 1
            trail.take(commit_hash, files)


def _comes_from_another(trail: _Trail, git: Git, created: str) -> bool:
    """Whether the commit that a file begins with made it out of another one."""
    if trail.is_done:
        return False
    looked = replace(trail, found=[])
    _follow(looked, git, "--follow", "--max-count=1", created, "--", trail.pathspec)
    return looked.path != trail.path


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


def _diffs(pieces: Generator[bytes]) -> Generator[tuple[str, list[FileDiff]]]:
    """Commits with what they did to files. Lines of a file are printed with a sign before them: none can pass for a
    header."""
    commit_hash, files = "", list[FileDiff]()
    for line in _lines(pieces):
        if line.startswith(_COMMIT):
            if commit_hash:
                yield commit_hash, files
            commit_hash, files = line.removeprefix(_COMMIT), []
        elif line.startswith(_FILE):
            name = _name_of(line.removeprefix(_FILE))
            files.append(FileDiff(name, name))
        elif files:
            _add_header(files[-1], line)
    if commit_hash:
        yield commit_hash, files


def _add_header(file: FileDiff, line: str) -> None:
    """Note what a line among the headers of a diff says of its file."""
    if match := _HUNK.match(line):
        old_start, old_count, new_start, new_count = (int(number) if number else 1 for number in match.groups())
        file.hunks.append(Hunk(old_start, old_count, new_start, new_count))
    elif line.startswith(_NEW):
        file.is_new = True
    elif line.startswith(_RENAMED_FROM):
        file.before = _unquoted(line.removeprefix(_RENAMED_FROM))
    elif line.startswith(_RENAMED_TO):
        file.path = _unquoted(line.removeprefix(_RENAMED_TO))


def _name_of(both: str) -> str:
    """The name in `a/NAME b/NAME`; empty where it is quoted, or not the same twice, which other headers tell."""
    half = len(both) // 2
    name = both[:half].removeprefix("a/")
    return name if both == f"a/{name} b/{name}" else ""


def _unquoted(name: str) -> str:
    """A name; empty where git quotes it."""
    return "" if name.startswith('"') else name


def _lines(pieces: Generator[bytes]) -> Iterator[str]:
    """Whole lines of a diff that may be headers."""
    begun = b""
    with closing(pieces):
        for piece in pieces:
            *whole, begun = (begun + piece).split(b"\n")
            begun = begun[:_MAX_HEADER_BYTES]
            for line in whole:
                if line.startswith(_HEADERS) and len(line) < _MAX_HEADER_BYTES:
                    yield line.decode("utf-8", "replace")


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
