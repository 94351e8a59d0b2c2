"""The commits of a repository as `git log` tells them: read as they come, each within bounds, whatever they hold.

Starts git through `git`, with options that let nothing of the repository decide what runs.
"""

from __future__ import annotations

import os
import secrets
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from deltos.errors import FileRefused
from deltos.files import FileTree
from deltos.workspace.git import GitFailed, GitStopped, reading
from deltos.workspace.repository import find_repository

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterator, Sequence
    from pathlib import Path

    from deltos.workspace.git import Git
    from deltos.workspace.repository import Repository

MAX_SUBJECT_CHARACTERS = 300
MAX_BODY_CHARACTERS = 2_000
MAX_AUTHOR_CHARACTERS = 100
# Of a commit with more files, which is no change to any one of them, only the number is kept.
MAX_COMMIT_FILES = 1_000
MAX_LOG_BYTES = 400_000_000
MAX_COMMIT_BYTES = 32_000_000
# How much of a log is handed on at a time: some hundred commits, which hold the interpreter for some milliseconds.
CHUNK_BYTES = 200_000
_MAX_FIELD_BYTES = 16_384
_LOG_SECONDS = 120.0
_COUNT_SECONDS = 10.0
_FIELDS = "%H%x00%P%x00%ct%x00%an%x00%s%x00%b"
_FIELD_COUNT = 6
# Nothing that a message holds may act on a terminal or show text in another order.
_UNSAFE = dict.fromkeys(
    [*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)], " "
)
# What every question to git about commits says: no colours, no signatures, notes, mailmaps or programs for contents.
SAFE_OPTIONS = (
    "--no-color", "--no-decorate", "--no-show-signature", "--no-notes", "--no-mailmap", "--encoding=UTF-8",
    "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-indent-heuristic",
)  # fmt: skip


class TouchedFile(NamedTuple):
    """A file that a commit changed, below the project's root; `before` is its name until then where it was renamed."""

    path: str
    before: str = ""


class Commit(NamedTuple):
    """A commit. `files` are those below the root; none where there are too many, which `file_count` tells."""

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
        """Whether it joins branches; then no files are told."""
        return len(self.parents) > 1


@dataclass(frozen=True, slots=True)
class CommitRange:
    """Which commits: reachable from `tip` and not from `base`, newest first, `skip` of them passed over."""

    tip: str
    base: str = ""
    skip: int = 0
    limit: int = 1


def read_commits(git: Git, wanted: CommitRange, prefix: str, *, max_seconds: float = _LOG_SECONDS) -> Generator[Commit]:
    """Commits that touch `prefix` (a folder with a slash at its end, or empty for all), newest first.

    Raises GitFailed, and GitStopped after those that could be read.
    """
    marker = new_marker()
    with closing(log_chunks(git, wanted, prefix, marker, max_seconds=max_seconds)) as chunks:
        for chunk in chunks:
            yield from parse_log(marker, git.shallow(), prefix, chunk)


def new_marker() -> bytes:
    """What stands before each commit of one reading: drawn anew, so that nothing in a repository can pass for it."""
    return secrets.token_hex(16).encode()


def log_chunks(
    git: Git,
    wanted: CommitRange,
    prefix: str,
    marker: bytes,
    *,
    chunk_bytes: int = CHUNK_BYTES,
    max_seconds: float = _LOG_SECONDS,
) -> Generator[bytes]:
    """The log of some commits in pieces of whole commits, for `parse_log`; raises as `read_commits` does."""
    arguments = (
        "log", *SAFE_OPTIONS, "-z", "--name-status", "--find-renames=100%", "-l1000",
        f"--format=tformat:%x00{marker.decode()}%x00{_FIELDS}",
        f"--max-count={wanted.limit}", f"--skip={wanted.skip}", wanted.tip,
        *([f"^{wanted.base}"] if wanted.base else []), *limited_to(prefix),
    )  # fmt: skip
    separator = b"\0" + marker + b"\0"
    begun, last = bytearray(), 0  # `last` is where its last commit begins
    try:
        with closing(git.stream(*arguments, max_bytes=MAX_LOG_BYTES, timeout_seconds=max_seconds)) as pieces:
            for piece in pieces:
                # Only what is new is searched: a commit of many pieces would take time in the square of its size.
                searched = max(0, len(begun) - len(separator))
                begun += piece
                last = max(last, begun.rfind(separator, searched))
                if len(begun) >= chunk_bytes and last:
                    yield bytes(begun[:last])
                    del begun[:last]
                    last = 0
                elif len(begun) > MAX_COMMIT_BYTES + chunk_bytes:
                    raise GitStopped(f"a commit has more than {MAX_COMMIT_BYTES // 1_000_000} MB")
    except GitFailed:
        if last:  # the last commit may not be whole; those before it are
            yield bytes(begun[:last])
        raise
    if begun:
        yield bytes(begun)


def limited_to(prefix: str) -> Sequence[str]:
    """The arguments that keep git to a folder."""
    return ("--", f":(literal){prefix}") if prefix else ("--",)


@contextmanager
def reading_commits(root: Path) -> Iterator[tuple[Git, str]]:
    """git for the repository that a project lies in, and where it lies there; raises GitFailed without one."""
    repository = find_repository(root)
    if repository is None:
        raise GitFailed("this is not a git repository")
    with reading(repository) as git:
        yield git, prefix_of(root, repository)


def prefix_of(root: Path, repository: Repository) -> str:
    """Where a project lies in its repository: empty, or a folder with a slash at its end."""
    return "".join(f"{step}/" for step in root.relative_to(repository.top).parts)


def files_at(git: Git, commit: str, prefix: str) -> set[str]:
    """The paths of all files below `prefix` at a commit, relative to it."""
    below = ("--", prefix) if prefix else ()
    output = git.run("ls-tree", "-r", "-z", "--full-tree", "--name-only", commit, *below)
    return {path.removeprefix(prefix) for path in map(_decoded, output.split(b"\0")) if path}


def count_commits(git: Git, tip: str) -> int:
    """How many commits are reachable from `tip`."""
    return int(git.run("rev-list", "--count", tip, "--", max_bytes=100, timeout_seconds=_COUNT_SECONDS))


def commits_between(git: Git, tip: str, base: str, *, limit: int) -> list[str] | None:
    """The ids of commits that `tip` has and `base` has not; None where there are more than `limit` or git fails."""
    try:
        output = git.run("rev-list", f"--max-count={limit + 1}", tip, f"^{base}", "--")
    except GitFailed:
        return None
    found = output.decode("ascii", "replace").split()
    return found if len(found) <= limit else None


_Stamp = tuple[int, int, int] | None


def head_stamp(repository: Repository) -> tuple[object, ...]:
    """Something that differs when another commit was checked out or made; reads stamps and one small file."""
    try:
        with FileTree(repository.git_folder) as tree:
            head = tree.read("HEAD", 1_000).decode("utf-8", "replace").strip()
    except FileRefused:
        return ()
    return (head, *map(_stamp, _telling_places(repository, head)))


def _telling_places(repository: Repository, head: str) -> list[str]:
    """The files that change with what HEAD refers to."""
    name = head.removeprefix("ref:").strip() if head.startswith("ref:") else ""
    places = [repository.common / "packed-refs", repository.common / "shallow"]
    if name.startswith("refs/") and ".." not in name and "\0" not in name:
        places.append(repository.common / name)
    return [str(place) for place in places]


def _stamp(place: str) -> _Stamp:
    try:
        status = os.lstat(place)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


class CheckedOut(NamedTuple):
    """The repository of a folder, and what is checked out there; None and nothing where there is none."""

    repository: Repository | None
    stamp: tuple[object, ...]


class Heads:
    """What is checked out in folders. Looks at a repository again only where the stamp of a file that tells differs."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[list[str], list[_Stamp], CheckedOut]] = {}

    def at(self, folder: Path) -> CheckedOut:
        """What is checked out there now."""
        places, stamps, known = self._known.get(folder, ([], [], None))
        if known is not None and stamps == [_stamp(place) for place in places]:
            return known
        repository = find_repository(folder)
        before = head_stamp(repository) if repository else ()
        places = _deciding_places(folder, repository, before)
        stamps = [_stamp(place) for place in places]
        seen = CheckedOut(repository, head_stamp(repository) if repository else ())
        if seen.stamp == before:  # else something changed while it was looked at
            self._known[folder] = places, stamps, seen
        return seen


def _deciding_places(folder: Path, repository: Repository | None, head: tuple[object, ...]) -> list[str]:
    """The files that decide which repository a folder belongs to, and what is checked out there."""
    above = [folder, *folder.parents]
    if repository is None:
        return [f"{each}/.git" for each in above]
    # A folder called .git has another stamp after every command; what is in it tells more.
    nearer = [each / ".git" for each in above[: above.index(repository.top) + 1] if not (each / ".git").is_dir()]
    own = [*nearer, repository.git_folder / "HEAD", repository.git_folder / "commondir"]
    return [*map(str, own), *_telling_places(repository, str(head[0]) if head else "")]


def parse_log(marker: bytes, ends: Collection[str], prefix: str, chunk: bytes) -> list[Commit]:
    """The commits in a piece of a log; `ends` are those where a shallow clone ends."""
    records = chunk.split(b"\0" + marker + b"\0")[1:]
    return [_commit(record.split(b"\0"), ends, prefix) for record in records]


def _commit(tokens: list[bytes], ends: Collection[str], prefix: str) -> Commit:
    """One commit: its fields, then a status and one or two names for each file."""
    fields = [token[:_MAX_FIELD_BYTES].decode("utf-8", "replace") for token in tokens[:_FIELD_COUNT]]
    commit_hash, parents, time, author, subject, body = fields + [""] * (_FIELD_COUNT - len(fields))
    # A shallow clone shows its last commits as if they had brought all files.
    files, file_count = _files(tokens[_FIELD_COUNT:], prefix) if commit_hash not in ends else ((), 0)
    return Commit(
        hash=commit_hash,
        parents=tuple(parents.split()),
        time=int(time) if time.isascii() and time.isdecimal() and len(time) < 16 else 0,
        author=_cut(_one_line(author), MAX_AUTHOR_CHARACTERS),
        subject=_cut(_one_line(subject), MAX_SUBJECT_CHARACTERS),
        body=_cut(safe(body.strip()), MAX_BODY_CHARACTERS),
        files=files,
        file_count=file_count,
    )


def _files(tokens: list[bytes], prefix: str) -> tuple[tuple[TouchedFile, ...], int]:
    """The files of a commit, none where there are too many, and how many there are."""
    files: list[TouchedFile] = []
    file_count, at = 0, 0
    while at + 1 < len(tokens):
        status = tokens[at].removeprefix(b"\n")[:1]
        if not status:  # nothing follows but the end
            break
        has_two = status in (b"R", b"C")
        before, path = (tokens[at + 1], tokens[at + 2]) if has_two and at + 2 < len(tokens) else (b"", tokens[at + 1])
        at += 3 if has_two else 2
        file_count += 1
        if file_count <= MAX_COMMIT_FILES and (name := _name(path, prefix)):
            files.append(TouchedFile(name, _name(before, prefix) if status == b"R" else ""))
    return (tuple(files), file_count) if file_count <= MAX_COMMIT_FILES else ((), file_count)


def _name(path: bytes, prefix: str) -> str:
    """A name as the index can have it, below the project; empty when it is no Unicode or elsewhere."""
    try:
        text = path.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return text.removeprefix(prefix) if text.startswith(prefix) else ""


def safe(text: str) -> str:
    """Text of a commit without characters that act on a terminal or turn the order of others around."""
    return text if text.replace("\n", "").isprintable() else text.translate(_UNSAFE)


def _one_line(text: str) -> str:
    return " ".join(safe(text).split())


def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: characters - 1]}…"
