"""Find the commits that changed certain lines of a file, by reading the file's diffs from newest to oldest.

Unlike `git blame` and `git log -L`, which walk the whole history, this module reads only the commits that changed the
file according to the index. It uses `git log --follow` only if the file was created as a copy of another file.
"""

from __future__ import annotations

import re
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from deltos.errors import FileRefused
from deltos.files import FileTree
from deltos.workspace.commits import SAFE_OPTIONS, open_project_git, pathspec_arguments
from deltos.workspace.git import GitFailed, GitStopped

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence
    from pathlib import Path

    from deltos.store.history import CommitRow, History
    from deltos.workspace.git import Git

MAX_COMMITS = 150  # maximum number of commits whose diffs are read
MAX_SECONDS = 1.0  # time limit of each git command
MAX_FILE_BYTES = 2_000_000
MAX_DIFF_BYTES = 20_000_000
_MAX_FORMER_PATHS = 10  # maximum number of former paths of a file
_HUNK = re.compile(r"^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_COMMIT_HEADER = "commit "
_FILE_HEADER = "diff --git "
_NEW_FILE_HEADER = "new file mode "
_RENAME_FROM_HEADER = "rename from "
_RENAME_TO_HEADER = "rename to "
_HEADER_PREFIXES = (
    b"@",
    *(
        header.encode()
        for header in (_COMMIT_HEADER, _FILE_HEADER, _NEW_FILE_HEADER, _RENAME_FROM_HEADER, _RENAME_TO_HEADER)
    ),
)
_MAX_HEADER_BYTES = 10_000


class Hunk(NamedTuple):
    """A hunk of a diff without context lines, with line numbers as in git's output."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int


@dataclass(slots=True)
class FileDiff:
    """Diff of one file in a commit. A path is an empty string if git printed it in quotation marks."""

    path: str
    previous_path: str
    is_new: bool = False
    hunks: list[Hunk] = field(default_factory=list)


class LineRange(NamedTuple):
    """A range of lines, with the numbers of its first and last line."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class LineCommits:
    """The latest commits that changed given lines, newest first.

    `is_whole_file` is set if none of the `commits_read` commits changed the lines. In this case, `commits` contains the
    latest commits that changed the file.
    """

    commits: tuple[CommitRow, ...]
    is_whole_file: bool = False
    commits_read: int = 0


def commits_of_lines(history: History, root: Path, path: str, lines: LineRange, *, limit: int) -> LineCommits:
    """Return the latest commits that changed lines of a file. The search stops at a time limit."""
    known = [row for row in history.commits_of(path, limit=MAX_COMMITS) if not row.is_merge]
    if not known:
        return LineCommits(())
    names = [path, *_former_paths(history, path)]
    try:
        hashes, commits_read = _find_changing_commits(root, names, lines, [row.hash for row in known], limit)
    except GitFailed:
        hashes, commits_read = [], 0
    rows = {row.hash: row for row in known}
    rows |= {row.hash: row for each in hashes if each not in rows for row in history.commits_by_hash(each, limit=1)}
    found = [rows[each] for each in hashes if each in rows]
    return LineCommits(tuple(found or known[:limit]), is_whole_file=not found, commits_read=commits_read)


def _former_paths(history: History, path: str) -> list[str]:
    """Return the former paths of a renamed file."""
    renamed = history.renamed_files()
    return [name for name, now in renamed.items() if now == path or renamed.get(now) == path][:_MAX_FORMER_PATHS]


def _find_changing_commits(
    root: Path, names: Sequence[str], lines: LineRange, hashes: Sequence[str], limit: int
) -> tuple[list[str], int]:
    """Return the hashes of at most `limit` commits that changed the lines, and the number of commits read."""
    with open_project_git(root) as (git, prefix):
        tracker = _LineTracker(_lines_at_head(git, root, names[0], prefix + names[0], lines), prefix + names[0], limit)
        paths = [pathspec_arguments(prefix + name)[1] for name in names]
        _track_lines(tracker, git, "--no-walk=unsorted", *hashes, "--", *paths)
        # The file may have been created as a changed copy of another file, which git does not report as a rename.
        creating_commit = tracker.creating_commit
        if creating_commit and _is_copy_of_another_file(tracker, git, creating_commit):
            _track_lines(
                tracker,
                git,
                "--follow",
                "--no-merges",
                f"--max-count={MAX_COMMITS}",
                creating_commit,
                "--",
                tracker.pathspec,
            )
        if tracker.creating_commit and not tracker.is_done:
            tracker.changing_commits.append(tracker.creating_commit)
    return tracker.changing_commits, tracker.commits_read


@dataclass(slots=True)
class _LineTracker:
    """Follows a line range back through the history and collects the commits that changed it.

    `creating_commit` is the commit that added the file, or an empty string before this commit is reached.
    """

    lines: LineRange | None
    path: str
    limit: int
    changing_commits: list[str] = field(default_factory=list)
    commits_read: int = 0
    creating_commit: str = ""

    @property
    def is_done(self) -> bool:
        """Whether tracking can stop."""
        return self.lines is None or len(self.changing_commits) >= self.limit

    @property
    def pathspec(self) -> str:
        """The git pathspec of the file."""
        return pathspec_arguments(self.path)[1]

    def step_back(self, commit_hash: str, files: Iterable[FileDiff]) -> None:
        """Update the line range to the version before a commit, and record the commit if it changed the lines."""
        file = next((each for each in files if each.path in (self.path, "")), None)
        if file is None or self.lines is None:
            return  # the commit did not change the tracked file
        if file.is_new:
            self.creating_commit = commit_hash
            return
        previous = lines_before_commit(self.lines, file.hunks)
        if touches(self.lines, file.hunks):
            self.changing_commits.append(commit_hash)
            self.lines = previous
        else:
            self.lines = previous or self.lines
        self.path = file.previous_path or self.path


def _track_lines(tracker: _LineTracker, git: Git, *revisions: str) -> None:
    """Follow the lines back until enough commits are found or the commit that added the file is reached."""
    tracker.creating_commit = ""
    arguments = (
        "log", *SAFE_OPTIONS, "--patch", "--unified=0", "--find-renames", "--src-prefix=a/", "--dst-prefix=b/",
        f"--format=tformat:{_COMMIT_HEADER}%H", *revisions,
    )  # fmt: skip
    chunks = git.stream(*arguments, max_bytes=MAX_DIFF_BYTES, timeout_seconds=MAX_SECONDS)
    # The output that git printed before a timeout or limit is valid.
    with suppress(GitStopped), closing(_parse_diffs(chunks)) as diffs:
        for commit_hash, files in diffs:
            if tracker.is_done or tracker.creating_commit:
                break
            tracker.commits_read += 1
            tracker.step_back(commit_hash, files)


def _is_copy_of_another_file(tracker: _LineTracker, git: Git, creating_commit: str) -> bool:
    """Whether the commit that added the file created it by renaming or copying another file."""
    if tracker.is_done:
        return False
    followed = replace(tracker, changing_commits=[])
    _track_lines(followed, git, "--follow", "--max-count=1", creating_commit, "--", tracker.pathspec)
    return followed.path != tracker.path


def touches(lines: LineRange, hunks: Iterable[Hunk]) -> bool:
    """Whether a commit changed any of the lines or removed lines that were between them."""
    return any(
        hunk.new_start <= lines.last and hunk.new_start + hunk.new_count > lines.first
        if hunk.new_count
        else lines.first <= hunk.new_start < lines.last
        for hunk in hunks
    )


def lines_before_commit(lines: LineRange, hunks: Iterable[Hunk]) -> LineRange | None:
    """Return the line range in the version before a commit, or None if the commit added all lines."""
    first, last = lines
    shift_first = shift_last = 0
    for hunk in hunks:
        added = hunk.new_count - hunk.old_count
        # If a hunk only removes lines, git reports the number of the line before the removed lines.
        start = hunk.new_start if hunk.new_count else hunk.new_start + 1
        end = start + hunk.new_count  # first line after the hunk
        if end <= lines.first:
            shift_first = shift_last = shift_last - added
        elif start <= lines.last:
            old_start = hunk.old_start if hunk.old_count else hunk.old_start + 1
            if start <= lines.first:
                first, shift_first = old_start, 0
            if end > lines.last:
                last, shift_last = old_start + hunk.old_count - 1, 0
            else:
                shift_last -= added
    found = LineRange(first + shift_first, last + shift_last)
    return found if 1 <= found.first <= found.last else None


def _parse_diffs(chunks: Generator[bytes]) -> Generator[tuple[str, list[FileDiff]]]:
    """Yield each commit with its file diffs."""
    commit_hash, files = "", list[FileDiff]()
    # Content lines begin with "+", "-" or a space, so they cannot be mistaken for headers.
    for line in _header_lines(chunks):
        if line.startswith(_COMMIT_HEADER):
            if commit_hash:
                yield commit_hash, files
            commit_hash, files = line.removeprefix(_COMMIT_HEADER), []
        elif line.startswith(_FILE_HEADER):
            name = _path_from_header(line.removeprefix(_FILE_HEADER))
            files.append(FileDiff(name, name))
        elif files:
            _add_header_line(files[-1], line)
    if commit_hash:
        yield commit_hash, files


def _add_header_line(file: FileDiff, line: str) -> None:
    """Update `file` with the information in a header line of its diff."""
    if match := _HUNK.match(line):
        old_start, old_count, new_start, new_count = (int(number) if number else 1 for number in match.groups())
        file.hunks.append(Hunk(old_start, old_count, new_start, new_count))
    elif line.startswith(_NEW_FILE_HEADER):
        file.is_new = True
    elif line.startswith(_RENAME_FROM_HEADER):
        file.previous_path = _path_unless_quoted(line.removeprefix(_RENAME_FROM_HEADER))
    elif line.startswith(_RENAME_TO_HEADER):
        file.path = _path_unless_quoted(line.removeprefix(_RENAME_TO_HEADER))


def _path_from_header(paths: str) -> str:
    """Return the path in `a/PATH b/PATH`, or an empty string if the paths are quoted or differ."""
    half = len(paths) // 2
    name = paths[:half].removeprefix("a/")
    return name if paths == f"a/{name} b/{name}" else ""


def _path_unless_quoted(name: str) -> str:
    """Return a path, or an empty string if git quoted it."""
    return "" if name.startswith('"') else name


def _header_lines(chunks: Generator[bytes]) -> Iterator[str]:
    """Yield the complete lines of a diff that may be header lines."""
    incomplete_line = b""
    with closing(chunks):
        for chunk in chunks:
            *complete_lines, incomplete_line = (incomplete_line + chunk).split(b"\n")
            incomplete_line = incomplete_line[:_MAX_HEADER_BYTES]
            for line in complete_lines:
                if line.startswith(_HEADER_PREFIXES) and len(line) < _MAX_HEADER_BYTES:
                    yield line.decode("utf-8", "replace")


def _lines_at_head(git: Git, root: Path, path: str, repository_path: str, lines: LineRange) -> LineRange | None:
    """Return the committed range that corresponds to lines of the file on disk, or None if all lines are new."""
    try:
        with FileTree(root) as tree:
            now = tree.read(path, MAX_FILE_BYTES).split(b"\n")
    except FileRefused as refused:
        raise GitFailed(refused.message) from None
    content = git.run(
        "cat-file", "blob", f"HEAD:{repository_path}", max_bytes=MAX_FILE_BYTES, timeout_seconds=MAX_SECONDS
    )
    committed = content.split(b"\n")
    if now == committed:
        return lines
    wanted = b"\n".join(now[lines.first - 1 : lines.last])
    if (at := content.find(wanted)) >= 0 and (not at or content[at - 1 : at] == b"\n"):
        first = content.count(b"\n", 0, at) + 1
        return LineRange(first, first + lines.last - lines.first)
    return lines_before_commit(lines, [_single_hunk(committed, now)])


def _single_hunk(committed: list[bytes], now: list[bytes]) -> Hunk:
    """Return a single hunk that contains all differences between two versions of a file."""
    shorter = min(len(committed), len(now))
    common_start = next((n for n in range(shorter) if committed[n] != now[n]), shorter)
    rest = shorter - common_start
    common_end = next((n for n in range(rest) if committed[-1 - n] != now[-1 - n]), rest)
    old_count, new_count = len(committed) - common_start - common_end, len(now) - common_start - common_end
    return Hunk(common_start + (old_count > 0), old_count, common_start + (new_count > 0), new_count)
