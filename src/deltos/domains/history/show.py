"""One commit in full: its message, its files and its diff, asked of git, within bounds that are named when met."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.history.state import day
from deltos.workspace.commits import (
    MAX_COMMIT_FILES,
    SAFE_OPTIONS,
    CommitRange,
    limited_to,
    read_commits,
    reading_commits,
    safe,
)
from deltos.workspace.git import GitFailed, GitStopped

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.store.history import CommitRow
    from deltos.workspace.git import Git

MAX_MESSAGE_BYTES = 40_000
MAX_DIFF_BYTES = 400_000
MAX_LINE_CHARACTERS = 500
MAX_SECONDS = 10.0
_FILES_LISTED = 200
SHORT_HASH = 10


@dataclass(frozen=True, slots=True)
class ShownCommit:
    """A commit as a reader sees it: what was said, which files, and what changed in them."""

    message: str
    files: tuple[str, ...]
    diff: str


def headline(commit: CommitRow) -> str:
    """A commit in one line: day, author, subject and number of files."""
    count = f"{commit.file_count:,} file{'' if commit.file_count == 1 else 's'}"
    return f"{day(commit.time)} {commit.author}: {commit.subject} ({'merge' if commit.is_merge else count})"


def text_of(commit: CommitRow, root: Path) -> str:
    """Message, files and diff; where git cannot tell, what is kept, and why there is no more."""
    try:
        shown = _ask(commit, root)
    except GitFailed as failed:
        kept = f"{commit.subject}\n\n{commit.body}".strip()
        return f"{kept}\n\n(no more: {failed.message})"
    listed = shown.files[:_FILES_LISTED]
    more = f"\n… and {len(shown.files) - len(listed):,} more" if len(shown.files) > len(listed) else ""
    files = "\n".join(listed) + more if listed else "(none told)"
    return f"{shown.message}\n\n--- files ---\n{files}\n\n--- diff ---\n{shown.diff}"


def _ask(commit: CommitRow, root: Path) -> ShownCommit:
    with reading_commits(root) as (git, prefix):
        message, is_cut = _head(git, MAX_MESSAGE_BYTES, "log", *SAFE_OPTIONS, "-1", "--format=%B", commit.hash, "--")
        if is_cut:
            message += "\n… (the message is longer)"
        if commit.hash in git.shallow():
            return ShownCommit(message, (), "(not there: the clone is shallow and ends here)")
        return ShownCommit(message, _files(git, commit, prefix), _diff(git, commit, prefix))


def _files(git: Git, commit: CommitRow, prefix: str) -> tuple[str, ...]:
    """The files that a commit touched below the project's root; of a merge, none."""
    wanted = CommitRange(commit.hash, limit=1)
    for found in read_commits(git, wanted, prefix, max_seconds=MAX_SECONDS):
        if found.hash == commit.hash:
            paths = [f"{file.path} (was {file.before})" if file.before else file.path for file in found.files]
            if found.file_count > MAX_COMMIT_FILES:
                return (f"{found.file_count:,} files, more than are listed",)
            return tuple(map(safe, paths))
    return ()


def _diff(git: Git, commit: CommitRow, prefix: str) -> str:
    """What changed, against the first parent; what is left out of it is said at the end."""
    arguments = (
        "log", *SAFE_OPTIONS, "-1", "-m", "--first-parent", "--patch", "--unified=3", "--find-renames", "-l200",
        "--format=", "--src-prefix=a/", "--dst-prefix=b/", commit.hash, *limited_to(prefix),
    )  # fmt: skip
    try:
        text, is_cut = _head(git, MAX_DIFF_BYTES, *arguments)
    except GitStopped as stopped:
        return f"(not shown: {stopped.message})"
    lines = [_shortened(line) for line in text.split("\n")]
    if is_cut:
        lines.append(f"… (the diff is longer than {MAX_DIFF_BYTES // 1000:,} kB; the rest is left out)")
    return "\n".join(lines).strip("\n") or "(no changes below this project's folder)"


def _shortened(line: str) -> str:
    if len(line) <= MAX_LINE_CHARACTERS:
        return line
    return f"{line[:MAX_LINE_CHARACTERS]}… ({len(line) - MAX_LINE_CHARACTERS:,} more characters)"


def _head(git: Git, max_bytes: int, *arguments: str) -> tuple[str, bool]:
    """The beginning of what git prints, and whether there is more."""
    output = bytearray()
    with closing(git.stream(*arguments, max_bytes=max_bytes + (1 << 17), timeout_seconds=MAX_SECONDS)) as pieces:
        for piece in pieces:
            output += piece
            if len(output) > max_bytes:
                break
    return safe(bytes(output[:max_bytes]).decode("utf-8", "replace")).strip("\n"), len(output) > max_bytes
