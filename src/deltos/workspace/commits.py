"""The commits of a repository as `git log` tells them: read as they come, each within bounds, whatever they hold.

Starts git through `git`, with options that let nothing of the repository decide what runs.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from deltos.errors import FileRefused
from deltos.files import FileTree
from deltos.workspace.git import GitFailed

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence
    from pathlib import Path

    from deltos.workspace.git import Git
    from deltos.workspace.repository import Repository

MAX_SUBJECT_CHARACTERS = 300
MAX_BODY_CHARACTERS = 2_000
MAX_AUTHOR_CHARACTERS = 100
# Of a commit with more files, which is no change to any one of them, only the number is kept.
MAX_COMMIT_FILES = 1_000
MAX_LOG_BYTES = 400_000_000
_MAX_FIELD_BYTES = 16_384
_LOG_SECONDS = 120.0
_COUNT_SECONDS = 10.0
_FIELDS = "%H%x00%P%x00%ct%x00%an%x00%s%x00%b"
_FIELD_COUNT = 6
_STATUSES = frozenset("AMDTRCUX")
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


@dataclass(frozen=True, slots=True)
class Commit:
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
    arguments = (
        "log", *SAFE_OPTIONS, "-z", "--name-status", "--find-renames=100%", "-l1000", f"--format=tformat:{_FIELDS}",
        f"--max-count={wanted.limit}", f"--skip={wanted.skip}", wanted.tip,
        *([f"^{wanted.base}"] if wanted.base else []), *limited_to(prefix),
    )  # fmt: skip
    ends = git.shallow()
    with closing(git.stream(*arguments, max_bytes=MAX_LOG_BYTES, timeout_seconds=max_seconds)) as pieces:
        for commit in parse_log(pieces, prefix):
            # A shallow clone shows its last commits as if they had brought all files.
            yield commit if commit.hash not in ends else _without_files(commit)


def limited_to(prefix: str) -> Sequence[str]:
    """The arguments that keep git to a folder."""
    return ("--", f":(literal){prefix}") if prefix else ("--",)


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


def head_stamp(repository: Repository) -> tuple[object, ...]:
    """Something that differs when another commit was checked out or made; reads stamps and one small file."""
    try:
        with FileTree(repository.git_folder) as tree:
            head = tree.read("HEAD", 1_000).decode("utf-8", "replace").strip()
    except FileRefused:
        return ()
    name = head.removeprefix("ref:").strip() if head.startswith("ref:") else ""
    places = [repository.common / "packed-refs", repository.common / "shallow"]
    if name.startswith("refs/") and ".." not in name and "\0" not in name:
        places.append(repository.common / name)
    return (head, *map(_stamp, places))


def _stamp(place: Path) -> tuple[int, int, int] | None:
    try:
        status = place.lstat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def parse_log(pieces: Iterable[bytes], prefix: str) -> Iterator[Commit]:
    """The commits in the output of `git log`, however it is cut into pieces."""
    return _commits(_fields(pieces), prefix)


def _fields(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """What stands between zero bytes, each without what exceeds the longest that anybody needs."""
    begun = b""
    for piece in pieces:
        parts = piece.split(b"\0")
        if len(begun) < _MAX_FIELD_BYTES:
            begun += parts[0]
        if len(parts) == 1:
            continue
        yield begun[:_MAX_FIELD_BYTES]
        for part in parts[1:-1]:
            yield part[:_MAX_FIELD_BYTES]
        begun = parts[-1]


@dataclass(slots=True)
class _Begun:
    """A commit whose files are still to come."""

    fields: list[bytes]
    files: list[TouchedFile] = field(default_factory=list)
    file_count: int = 0

    def add(self, path: str, before: str, prefix: str) -> None:
        """Take note of a file."""
        self.file_count += 1
        if self.file_count > MAX_COMMIT_FILES:
            self.files.clear()
        elif _is_text(path):
            inside = before if before.startswith(prefix) and _is_text(before) else ""
            self.files.append(TouchedFile(path.removeprefix(prefix), inside.removeprefix(prefix)))

    def finished(self) -> Commit:
        """The commit, cleaned and cut to size."""
        commit_hash, parents, time, author, subject, body = (part.decode("utf-8", "replace") for part in self.fields)
        return Commit(
            hash=commit_hash,
            parents=tuple(parents.split()),
            time=int(time) if time.isdecimal() and len(time) < 16 else 0,
            author=_cut(_one_line(author), MAX_AUTHOR_CHARACTERS),
            subject=_cut(_one_line(subject), MAX_SUBJECT_CHARACTERS),
            body=_cut(safe(body.strip()), MAX_BODY_CHARACTERS),
            files=tuple(self.files),
            file_count=self.file_count,
        )


def _commits(fields: Iterator[bytes], prefix: str) -> Iterator[Commit]:
    """The commits in the fields of a log. What follows a commit's own is a status and its one or two names, or the next
    commit's id: no status is as long as an id, so no name and no message can pass for either."""
    begun: _Begun | None = None
    for token in fields:
        status = token.removeprefix(b"\n").decode("ascii", "replace")
        if begun is not None and 0 < len(status) <= 4 and status[0] in _STATUSES:
            before = _decoded(next(fields, b"")) if status[0] in "RC" else ""
            begun.add(_decoded(next(fields, b"")), before if status[0] == "R" else "", prefix)
            continue
        if begun is not None:
            yield begun.finished()
        begun = _Begun([token, *(next(fields, b"") for _ in range(_FIELD_COUNT - 1))])
    if begun is not None:
        yield begun.finished()


def safe(text: str) -> str:
    """Text of a commit without characters that act on a terminal or turn the order of others around."""
    return text if text.replace("\n", "").isprintable() else text.translate(_UNSAFE)


def _one_line(text: str) -> str:
    return " ".join(safe(text).split())


def _without_files(commit: Commit) -> Commit:
    return Commit(commit.hash, commit.parents, commit.time, commit.author, commit.subject, commit.body, (), 0)


def _decoded(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def _is_text(path: str) -> bool:
    """Whether a name is one that the index can have: valid Unicode, as the walk wants it."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return bool(path)


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[: characters - 1]}…"
