"""One commit as text: message, files and diff from git, within limits that the text mentions."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.history.state import day
from deltos.workspace.commits import (
    MAX_COMMIT_FILES,
    SAFE_OPTIONS,
    CommitRange,
    pathspec_arguments,
    read_commits,
    reading_commits,
    without_control_characters,
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
    """Message, files and diff of a commit."""

    message: str
    files: tuple[str, ...]
    diff: str


def headline(commit: CommitRow) -> str:
    """Return a commit in one line: day, author, subject and number of files."""
    count = f"{commit.file_count:,} file{'' if commit.file_count == 1 else 's'}"
    return f"{day(commit.time)} {commit.author}: {commit.subject} ({'merge' if commit.is_merge else count})"


def text_of(commit: CommitRow, root: Path) -> str:
    """Return message, files and diff; if git fails, the indexed message and the reason."""
    try:
        shown = _ask(commit, root)
    except GitFailed as failed:
        kept = f"{commit.subject}\n\n{commit.body}".strip()
        return f"{kept}\n\n(files and diff are not available: {failed.message})"
    listed = shown.files[:_FILES_LISTED]
    more = f"\n… and {len(shown.files) - len(listed):,} more" if len(shown.files) > len(listed) else ""
    files = "\n".join(listed) + more if listed else "(none listed)"
    return f"{shown.message}\n\n--- files ---\n{files}\n\n--- diff ---\n{shown.diff}"


def _ask(commit: CommitRow, root: Path) -> ShownCommit:
    with reading_commits(root) as (git, prefix):
        message, is_cut = _head(git, MAX_MESSAGE_BYTES, "log", *SAFE_OPTIONS, "-1", "--format=%B", commit.hash, "--")
        if is_cut:
            message += "\n… (message truncated)"
        if commit.hash in git.shallow():
            return ShownCommit(message, (), "(not available: the shallow clone ends here)")
        return ShownCommit(message, _files(git, commit, prefix), _diff(git, commit, prefix))


def _files(git: Git, commit: CommitRow, prefix: str) -> tuple[str, ...]:
    """Return the files that a commit touched below the project's root; none for a merge."""
    wanted = CommitRange(commit.hash, limit=1)
    for found in read_commits(git, wanted, prefix, max_seconds=MAX_SECONDS):
        if found.hash == commit.hash:
            paths = [f"{file.path} (was {file.before})" if file.before else file.path for file in found.files]
            if found.file_count > MAX_COMMIT_FILES:
                return (f"{found.file_count:,} files, too many to list",)
            return tuple(map(without_control_characters, paths))
    return ()


def _diff(git: Git, commit: CommitRow, prefix: str) -> str:
    """Return the diff against the first parent; a last line mentions truncation."""
    arguments = (
        "log", *SAFE_OPTIONS, "-1", "-m", "--first-parent", "--patch", "--unified=3", "--find-renames", "-l200",
        "--format=", "--src-prefix=a/", "--dst-prefix=b/", commit.hash, *pathspec_arguments(prefix),
    )  # fmt: skip
    try:
        text, is_cut = _head(git, MAX_DIFF_BYTES, *arguments)
    except GitStopped as stopped:
        return f"(not available: {stopped.message})"
    lines = [_shortened(line) for line in text.split("\n")]
    if is_cut:
        lines.append(f"… (diff truncated at {MAX_DIFF_BYTES // 1000:,} kB)")
    return "\n".join(lines).strip("\n") or "(no changes below this project's folder)"


def _shortened(line: str) -> str:
    if len(line) <= MAX_LINE_CHARACTERS:
        return line
    return f"{line[:MAX_LINE_CHARACTERS]}… ({len(line) - MAX_LINE_CHARACTERS:,} more characters)"


def _head(git: Git, max_bytes: int, *arguments: str) -> tuple[str, bool]:
    """Return the beginning of git's output, and whether there is more."""
    output = bytearray()
    with closing(git.stream(*arguments, max_bytes=max_bytes + (1 << 17), timeout_seconds=MAX_SECONDS)) as pieces:
        for piece in pieces:
            output += piece
            if len(output) > max_bytes:
                break
    return without_control_characters(bytes(output[:max_bytes]).decode("utf-8", "replace")).strip("\n"), len(
        output
    ) > max_bytes
