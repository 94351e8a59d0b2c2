"""Read the commits of a repository with `git log`, as a stream with size and time limits.

The module `git` starts git with options that prevent the repository from running programs.
"""

from __future__ import annotations

import os
import secrets
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from deltos.errors import FileRefused
from deltos.files import FileTree
from deltos.workspace.git import GitFailed, GitStopped, open_git
from deltos.workspace.repository import find_repository

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterator, Sequence
    from pathlib import Path

    from deltos.workspace.git import Git
    from deltos.workspace.repository import Repository

MAX_SUBJECT_CHARACTERS = 300
MAX_BODY_CHARACTERS = 2_000
MAX_AUTHOR_CHARACTERS = 100
# Maximum number of files that are stored for a commit. A larger commit is not specific to any file, so only the number
# of its files is stored.
MAX_COMMIT_FILES = 1_000
MAX_LOG_BYTES = 400_000_000
MAX_COMMIT_BYTES = 32_000_000
# Size of a chunk of the log. A chunk contains a few hundred commits and takes a few milliseconds to parse.
CHUNK_BYTES = 200_000
_MAX_FIELD_BYTES = 16_384
_LOG_TIMEOUT_SECONDS = 120.0
_COUNT_TIMEOUT_SECONDS = 10.0
_COMMIT_FIELDS = "%H%x00%P%x00%ct%x00%an%x00%s%x00%b"
_FIELD_COUNT = 6
# Control characters, which can affect a terminal, and characters that change the text direction.
_UNSAFE_CHARACTERS = dict.fromkeys(
    [*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)], " "
)
# Options of every git command that reads commits: no colours, signatures, notes, mailmaps or external programs.
SAFE_OPTIONS = (
    "--no-color", "--no-decorate", "--no-show-signature", "--no-notes", "--no-mailmap", "--encoding=UTF-8",
    "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-indent-heuristic",
)  # fmt: skip


class TouchedFile(NamedTuple):
    """A file that a commit changed, relative to the project's root.

    `before` is the old path if the file was renamed.
    """

    path: str
    before: str = ""


class Commit(NamedTuple):
    """A commit. `files` contains the changed files of the project, or is empty if `file_count` exceeds the limit."""

    hash: str
    parents: tuple[str, ...]
    time: int
    author: str
    subject: str
    body: str
    files: tuple[TouchedFile, ...]
    file_count: int

    @property
    def is_merge(self) -> bool:
        """Whether the commit is a merge. git lists no files for merges."""
        return len(self.parents) > 1


@dataclass(frozen=True, slots=True)
class CommitRange:
    """Range of commits: reachable from `tip` but not from `base`, newest first, without the first `skip` commits."""

    tip: str
    base: str = ""
    skip: int = 0
    limit: int = 1


def read_commits(
    git: Git, wanted: CommitRange, prefix: str, *, max_seconds: float = _LOG_TIMEOUT_SECONDS
) -> Generator[Commit]:
    """Yield commits that touch `prefix` (a folder with a trailing slash, or empty for all), newest first.

    Raise GitFailed if git fails, or GitStopped after the last commit within the limits.
    """
    marker = new_marker()
    with closing(log_chunks(git, wanted, prefix, marker, max_seconds=max_seconds)) as chunks:
        for chunk in chunks:
            yield from parse_log(marker, git.shallow_commits(), prefix, chunk)


def new_marker() -> bytes:
    """Return a random separator between commits, which no commit message contains."""
    return secrets.token_hex(16).encode()


def log_chunks(
    git: Git,
    wanted: CommitRange,
    prefix: str,
    marker: bytes,
    *,
    chunk_bytes: int = CHUNK_BYTES,
    max_seconds: float = _LOG_TIMEOUT_SECONDS,
) -> Generator[bytes]:
    """Yield chunks of the output of `git log` for `parse_log`, each with complete commits.

    Raise the same errors as `read_commits`.
    """
    arguments = (
        "log", *SAFE_OPTIONS, "-z", "--name-status", "--find-renames=100%", "-l1000",
        f"--format=tformat:%x00{marker.decode()}%x00{_COMMIT_FIELDS}",
        f"--max-count={wanted.limit}", f"--skip={wanted.skip}", wanted.tip,
        *([f"^{wanted.base}"] if wanted.base else []), *pathspec_arguments(prefix),
    )  # fmt: skip
    separator = b"\0" + marker + b"\0"
    buffer, last = bytearray(), 0  # `last` is the offset of the last commit in the buffer
    try:
        with closing(git.stream(*arguments, max_bytes=MAX_LOG_BYTES, timeout_seconds=max_seconds)) as pieces:
            for piece in pieces:
                # Only new output is searched, because searching the entire buffer would take quadratic time for a large
                # commit.
                searched = max(0, len(buffer) - len(separator))
                buffer += piece
                last = max(last, buffer.rfind(separator, searched))
                if len(buffer) >= chunk_bytes and last:
                    yield bytes(buffer[:last])
                    del buffer[:last]
                    last = 0
                elif len(buffer) > MAX_COMMIT_BYTES + chunk_bytes:
                    raise GitStopped(f"a commit has more than {MAX_COMMIT_BYTES // 1_000_000} MB")
    except GitFailed:
        if last:  # the last commit may be incomplete; the commits before it are complete
            yield bytes(buffer[:last])
        raise
    if buffer:
        yield bytes(buffer)


def pathspec_arguments(prefix: str) -> Sequence[str]:
    """Return the git arguments that restrict a command to a folder."""
    return ("--", f":(literal){prefix}") if prefix else ("--",)


@contextmanager
def open_project_git(root: Path) -> Iterator[tuple[Git, str]]:
    """Open git for the repository of a project, and yield git and the path prefix of the project in the repository.

    Raise GitFailed on failure.
    """
    repository = find_repository(root)
    if repository is None:
        raise GitFailed("this is not a git repository")
    with open_git(repository) as git:
        yield git, prefix_in_repository(root, repository)


def prefix_in_repository(root: Path, repository: Repository) -> str:
    """Return the path of a project in its repository with a trailing slash, or an empty string for the top folder."""
    return "".join(f"{step}/" for step in root.relative_to(repository.top).parts)


def files_in_commit(git: Git, commit: str, prefix: str) -> set[str]:
    """Return the paths of all files below `prefix` in a commit, relative to `prefix`."""
    below = ("--", prefix) if prefix else ()
    output = git.run("ls-tree", "-r", "-z", "--full-tree", "--name-only", commit, *below)
    return {path.removeprefix(prefix) for path in map(_decode_name, output.split(b"\0")) if path}


def count_commits(git: Git, tip: str) -> int:
    """Return the number of commits reachable from `tip`."""
    return int(git.run("rev-list", "--count", tip, "--", max_bytes=100, timeout_seconds=_COUNT_TIMEOUT_SECONDS))


def commits_between(git: Git, tip: str, base: str, *, limit: int) -> list[str] | None:
    """Return the ids of the commits reachable from `tip` but not from `base`.

    Return None if there are more than `limit` commits or git fails.
    """
    try:
        output = git.run("rev-list", f"--max-count={limit + 1}", tip, f"^{base}", "--")
    except GitFailed:
        return None
    found = output.decode("ascii", "replace").split()
    return found if len(found) <= limit else None


_Stamp = tuple[int, int, int] | None


def head_stamp(repository: Repository) -> tuple[object, ...]:
    """Return a value that changes with every checkout and commit, determined without starting git."""
    try:
        with FileTree(repository.git_folder) as tree:
            head = tree.read("HEAD", 1_000).decode("utf-8", "replace").strip()
    except FileRefused:
        return ()
    return (head, *map(_file_stamp, _reference_files(repository, head)))


def _reference_files(repository: Repository, head: str) -> list[str]:
    """Return the git files whose content changes when HEAD refers to another commit."""
    name = head.removeprefix("ref:").strip() if head.startswith("ref:") else ""
    files_to_check = [repository.common / "packed-refs", repository.common / "shallow"]
    if name.startswith("refs/") and ".." not in name and "\0" not in name:
        files_to_check.append(repository.common / name)
    return [str(path) for path in files_to_check]


def _file_stamp(path: str) -> _Stamp:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


class CheckedOut(NamedTuple):
    """The repository that contains a folder, and its `head_stamp`. Without a repository, they are None and empty."""

    repository: Repository | None
    stamp: tuple[object, ...]


class Heads:
    """Cache of the repository and checked-out commit of folders.

    A repository is read again only if one of the files that determine this state has a different size or time.
    """

    def __init__(self) -> None:
        self._known: dict[Path, tuple[list[str], list[_Stamp], CheckedOut]] = {}

    def state_of(self, folder: Path) -> CheckedOut:
        """Return the repository that contains a folder, and its head stamp."""
        files_to_check, stamps, known = self._known.get(folder, ([], [], None))
        if known is not None and stamps == [_file_stamp(path) for path in files_to_check]:
            return known
        repository = find_repository(folder)
        before = head_stamp(repository) if repository else ()
        files_to_check = _watched_files(folder, repository, before)
        stamps = [_file_stamp(path) for path in files_to_check]
        checked_out = CheckedOut(repository, head_stamp(repository) if repository else ())
        if checked_out.stamp == before:  # otherwise the repository has changed while it was read
            self._known[folder] = files_to_check, stamps, checked_out
        return checked_out


def _watched_files(folder: Path, repository: Repository | None, head: tuple[object, ...]) -> list[str]:
    """Return the files that determine which repository contains a folder and which commit is checked out."""
    parents = [folder, *folder.parents]
    if repository is None:
        return [f"{each}/.git" for each in parents]
    # The size and time of a .git folder change with every git command, so files inside it are checked instead.
    dot_git_files = [
        each / ".git" for each in parents[: parents.index(repository.top) + 1] if not (each / ".git").is_dir()
    ]
    own = [*dot_git_files, repository.git_folder / "HEAD", repository.git_folder / "commondir"]
    return [*map(str, own), *_reference_files(repository, str(head[0]) if head else "")]


def parse_log(marker: bytes, ends: Collection[str], prefix: str, chunk: bytes) -> list[Commit]:
    """Return the commits in a chunk of a log. `ends` are the commits at which a shallow clone ends."""
    records = chunk.split(b"\0" + marker + b"\0")[1:]
    return [_parse_commit(record.split(b"\0"), ends, prefix) for record in records]


def _parse_commit(tokens: list[bytes], ends: Collection[str], prefix: str) -> Commit:
    """Parse one commit: its fields, then a status and one or two paths for each file."""
    fields = [token[:_MAX_FIELD_BYTES].decode("utf-8", "replace") for token in tokens[:_FIELD_COUNT]]
    commit_hash, parents, time, author, subject, body = fields + [""] * (_FIELD_COUNT - len(fields))
    # For the commits at which a shallow clone ends, git lists all files as added.
    files, file_count = _parse_files(tokens[_FIELD_COUNT:], prefix) if commit_hash not in ends else ((), 0)
    return Commit(
        hash=commit_hash,
        parents=tuple(parents.split()),
        time=int(time) if time.isascii() and time.isdecimal() and len(time) < 16 else 0,
        author=_truncate(_one_line(author), MAX_AUTHOR_CHARACTERS),
        subject=_truncate(_one_line(subject), MAX_SUBJECT_CHARACTERS),
        body=_truncate(without_control_characters(body.strip()), MAX_BODY_CHARACTERS),
        files=files,
        file_count=file_count,
    )


def _parse_files(tokens: list[bytes], prefix: str) -> tuple[tuple[TouchedFile, ...], int]:
    """Return the files that a commit changed and their number. No files are returned if there are too many."""
    files: list[TouchedFile] = []
    file_count, at = 0, 0
    while at + 1 < len(tokens):
        status = tokens[at].removeprefix(b"\n")[:1]
        if not status:  # an empty status marks the end of the commit
            break
        has_two = status in (b"R", b"C")
        before, path = (tokens[at + 1], tokens[at + 2]) if has_two and at + 2 < len(tokens) else (b"", tokens[at + 1])
        at += 3 if has_two else 2
        file_count += 1
        if file_count <= MAX_COMMIT_FILES and (name := _path_in_project(path, prefix)):
            files.append(TouchedFile(name, _path_in_project(before, prefix) if status == b"R" else ""))
    return (tuple(files), file_count) if file_count <= MAX_COMMIT_FILES else ((), file_count)


def _path_in_project(path: bytes, prefix: str) -> str:
    """Return a path relative to the project, or an empty string if the path is outside or not valid Unicode."""
    try:
        text = path.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return text.removeprefix(prefix) if text.startswith(prefix) else ""


def without_control_characters(text: str) -> str:
    """Replace characters that control a terminal or change the text direction with spaces."""
    return text if text.replace("\n", "").isprintable() else text.translate(_UNSAFE_CHARACTERS)


def _one_line(text: str) -> str:
    return " ".join(without_control_characters(text).split())


def _decode_name(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def _truncate(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: characters - 1]}…"
