"""Format the message, files and diff of a commit as text. A truncated diff ends with a note."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.history.state import commit_date
from deltos.workspace.commits import (
    MAX_COMMIT_FILES,
    SAFE_OPTIONS,
    CommitRange,
    open_project_git,
    pathspec_arguments,
    read_commits,
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
_MAX_LISTED_FILES = 200
SHORT_HASH_CHARACTERS = 10


@dataclass(frozen=True, slots=True)
class CommitContent:
    """Message, files and diff of a commit."""

    message: str
    files: tuple[str, ...]
    diff: str


def headline(commit: CommitRow) -> str:
    """Return a commit as one line with its date, author, subject and number of files."""
    count = f"{commit.file_count:,} file{'' if commit.file_count == 1 else 's'}"
    return f"{commit_date(commit.time)} {commit.author}: {commit.subject} ({'merge' if commit.is_merge else count})"


def text_of(commit: CommitRow, root: Path) -> str:
    """Return the message, files and diff of a commit. If git fails, return the message from the index."""
    try:
        shown = _read_from_git(commit, root)
    except GitFailed as failed:
        indexed = f"{commit.subject}\n\n{commit.body}".strip()
        return f"{indexed}\n\n(files and diff are not available: {failed.message})"
    listed = shown.files[:_MAX_LISTED_FILES]
    more = f"\n… and {len(shown.files) - len(listed):,} more" if len(shown.files) > len(listed) else ""
    files = "\n".join(listed) + more if listed else "(none listed)"
    return f"{shown.message}\n\n--- files ---\n{files}\n\n--- diff ---\n{shown.diff}"


def _read_from_git(commit: CommitRow, root: Path) -> CommitContent:
    with open_project_git(root) as (git, prefix):
        message, is_truncated = _read_output_start(
            git, MAX_MESSAGE_BYTES, "log", *SAFE_OPTIONS, "-1", "--format=%B", commit.hash, "--"
        )
        if is_truncated:
            message += "\n… (message truncated)"
        if commit.hash in git.shallow_commits():
            return CommitContent(message, (), "(not available: the shallow clone ends here)")
        return CommitContent(message, _list_files(git, commit, prefix), _read_diff(git, commit, prefix))


def _list_files(git: Git, commit: CommitRow, prefix: str) -> tuple[str, ...]:
    """Return the files that a commit changed below the project root. Merge commits have no files."""
    commit_range = CommitRange(commit.hash, limit=1)
    for found in read_commits(git, commit_range, prefix, max_seconds=MAX_SECONDS):
        if found.hash == commit.hash:
            paths = [f"{file.path} (was {file.before})" if file.before else file.path for file in found.files]
            if found.file_count > MAX_COMMIT_FILES:
                return (f"{found.file_count:,} files, too many to list",)
            return tuple(map(without_control_characters, paths))
    return ()


def _read_diff(git: Git, commit: CommitRow, prefix: str) -> str:
    """Return the diff against the first parent. The last line notes a truncated diff."""
    arguments = (
        "log", *SAFE_OPTIONS, "-1", "-m", "--first-parent", "--patch", "--unified=3", "--find-renames", "-l200",
        "--format=", "--src-prefix=a/", "--dst-prefix=b/", commit.hash, *pathspec_arguments(prefix),
    )  # fmt: skip
    try:
        text, is_truncated = _read_output_start(git, MAX_DIFF_BYTES, *arguments)
    except GitStopped as stopped:
        return f"(not available: {stopped.message})"
    lines = [_shorten_line(line) for line in text.split("\n")]
    if is_truncated:
        lines.append(f"… (diff truncated at {MAX_DIFF_BYTES // 1000:,} kB)")
    return "\n".join(lines).strip("\n") or "(no changes below this project's folder)"


def _shorten_line(line: str) -> str:
    if len(line) <= MAX_LINE_CHARACTERS:
        return line
    return f"{line[:MAX_LINE_CHARACTERS]}… ({len(line) - MAX_LINE_CHARACTERS:,} more characters)"


def _read_output_start(git: Git, max_bytes: int, *arguments: str) -> tuple[str, bool]:
    """Return at most `max_bytes` of git's output, and whether it was truncated."""
    output = bytearray()
    with closing(git.stream(*arguments, max_bytes=max_bytes + (1 << 17), timeout_seconds=MAX_SECONDS)) as chunks:
        for chunk in chunks:
            output += chunk
            if len(output) > max_bytes:
                break
    return without_control_characters(bytes(output[:max_bytes]).decode("utf-8", "replace")).strip("\n"), len(
        output
    ) > max_bytes
