"""Index the history of a repository. Updates add new commits and remove commits that no longer exist."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from deltos.digest import sha256
from deltos.domains.history.state import MAX_COMMITS, HistoryState, summary_of
from deltos.domains.history.terms import words_of
from deltos.embed.identity import model_identity
from deltos.errors import Cancelled, ParserStopped
from deltos.isolated.wire import TaskLimits
from deltos.store.history import MAX_RELATED_FILES, CommitRecord
from deltos.workspace.commits import (
    CHUNK_BYTES,
    CommitRange,
    Heads,
    commits_between,
    count_commits,
    files_in_commit,
    log_chunks,
    new_marker,
    parse_log,
    prefix_in_repository,
)
from deltos.workspace.git import GitFailed, find_git, open_git
from deltos.workspace.repository import find_repository

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool
    from deltos.model import Project
    from deltos.progress import Progress
    from deltos.store.project import ProjectStore
    from deltos.workspace.commits import Commit
    from deltos.workspace.git import Git
    from deltos.workspace.repository import Repository

# Increase this number when parsing or storage changes, so that all commits are indexed again.
INDEX_VERSION = 3
# If more commits or renames are missing from the index, the whole history is indexed again.
MAX_NEW_COMMITS = 2_000
MAX_REMOVED_COMMITS = 1_000
MAX_NEW_RENAMES = 20_000
# Number of removed commits at which the index is rebuilt. Until then, it still contains the terms of these commits.
MIN_REMOVED_FOR_REBUILD = 200
# Maximum number of commits in the index. If there are more, the index is rebuilt without the oldest commits.
MAX_KEPT_COMMITS = 60_000
# Time limit of one indexing run.
MAX_SECONDS = 300.0
# CPU time limit for parsing one chunk of git output, which usually takes far less than a second.
_MAX_PARSING_CPU_SECONDS = 30.0
_MAX_RENAMES_PER_FILE = 50
_FILE_TERMS_BATCH_SIZE = 500
_CHECK_INTERVAL_SECONDS = 1.0
_INDEXED_STATE_KEY = "history/seen"
_STATE_WITHOUT_REPOSITORY: tuple[object, ...] = ((), "")  # recorded for a project that is not in a git repository
# Maximum number of changed files per commit whose paths are indexed.
_MAX_INDEXED_PATHS = MAX_RELATED_FILES


class HistoryLimits(NamedTuple):
    """Limits on the number of commits, the duration of a run, and the size of a chunk of git output."""

    max_commits: int
    max_seconds: float
    chunk_bytes: int


class ParsedCommit(NamedTuple):
    """A commit with its index terms and vector, parsed in a child process."""

    commit: Commit
    subject_words: str
    body_words: str
    path_words: str
    vector: bytes


def parse_log_chunk(
    marker: bytes, ends: frozenset[str], prefix: str, makes_vectors: bool, chunk: bytes
) -> list[ParsedCommit]:
    """Parse a chunk of `git log` output and, if `makes_vectors` is set, embed the subjects."""
    # Runs in a child process.
    commits = parse_log(marker, ends, prefix, chunk)
    subjects = [words_of(commit.subject) for commit in commits]
    vectors = _embed_subjects(subjects) if makes_vectors else [b""] * len(commits)
    return [
        ParsedCommit(
            commit,
            subject,
            words_of(f"{commit.body} {commit.author}"),
            words_of(" ".join(file.path for file in commit.files[:_MAX_INDEXED_PATHS])),
            vector,
        )
        for commit, subject, vector in zip(commits, subjects, vectors, strict=True)
    ]


def _embed_subjects(subjects: list[str]) -> list[bytes]:
    from deltos.embed.static import shared_model
    from deltos.embed.vector_rows import quantised  # imported here, because it imports numpy

    return [vector.tobytes() for vector in quantised(shared_model().of_words(subjects))]


class HistoryIndexer:
    """Indexes the commits of a repository; implements `workspace.indexer.Follower`."""

    name = "history"

    def __init__(
        self,
        *,
        max_commits: int = MAX_COMMITS,
        max_seconds: float = MAX_SECONDS,
        chunk_bytes: int = CHUNK_BYTES,
        workers: ProcessPool | None = None,
        makes_vectors: bool = True,
    ) -> None:
        self._model = model_identity() if makes_vectors else ""
        self._limits = HistoryLimits(max_commits, max_seconds, chunk_bytes)
        self._workers = workers
        self._indexed_states: dict[Path, tuple[object, ...]] = {}
        self._checked_at: dict[Path, float] = {}
        self._heads = Heads()

    def is_behind(self, project: Project, store: ProjectStore, *, at_once: bool = False) -> bool:
        """Whether the checked-out commit differs from the commit that was indexed last.

        The repository is checked at most once a second, unless `at_once` is set.
        """
        now = time.monotonic()
        if not at_once and now < self._checked_at.get(project.root, float("-inf")) + _CHECK_INTERVAL_SECONDS:
            return False
        self._checked_at[project.root] = now
        current = self._checkout_state(project, store)
        if project.root not in self._indexed_states and store.meta(_INDEXED_STATE_KEY) == self._state_digest(
            project, current[0]
        ):
            self._indexed_states[project.root] = current  # another process has already indexed this commit
        return self._indexed_states.get(project.root, _STATE_WITHOUT_REPOSITORY) != current

    def leave(self, project: Project, store: ProjectStore) -> None:
        """Record that another process indexes the checked-out commit, so that this process does not."""
        self._indexed_states[project.root] = self._checkout_state(project, store)

    def catch_up(self, project: Project, store: ProjectStore, progress: Progress, *, again: bool = False) -> None:
        """Index new commits within the time limit; raise GitFailed or ParserStopped on failure."""
        stamp = self._repository_stamp(project)
        is_locked = False
        try:
            with store.try_lock(self.name) as held:
                is_locked = not held
                if held:
                    self._index_history(project, store, progress, again=again)
                    self._record_indexed(project, store, stamp)
        except (GitFailed, ParserStopped) as failed:
            _store_state(store, replace(HistoryState.read(store.meta), stopped=failed.message, seen=""))
            raise
        finally:
            # After a failure, indexing is retried only when the repository or the git program changes. If another
            # process holds the lock, the checkout is compared again, because that process may be indexing an earlier
            # commit.
            if not is_locked:
                self._indexed_states[project.root] = (stamp, store.meta("history/tip"))

    def _record_indexed(self, project: Project, store: ProjectStore, stamp: tuple[object, ...]) -> None:
        """Record that the repository is fully indexed, so that other processes need not check it."""
        state, seen = HistoryState.read(store.meta), self._state_digest(project, stamp)
        if state.complete and not state.stopped and state.seen != seen:
            with store.writing() as writer:
                writer.set_metadata({_INDEXED_STATE_KEY: seen})

    def _state_digest(self, project: Project, stamp: tuple[object, ...]) -> str:
        parts = (INDEX_VERSION, self._model, self._limits.max_commits, str(project.root), stamp)
        return sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def _checkout_state(self, project: Project, store: ProjectStore) -> tuple[tuple[object, ...], str]:
        return self._repository_stamp(project), store.meta("history/tip")

    def _repository_stamp(self, project: Project) -> tuple[object, ...]:
        repository, head = self._heads.state_of(project.root)
        return (*head, find_git(repository.top)) if repository else ()

    def _index_history(self, project: Project, store: ProjectStore, progress: Progress, *, again: bool) -> None:
        repository = find_repository(project.root)
        if repository is None:
            if project.root.is_dir():  # keep the index if the folder is missing, for example on an unmounted drive
                _clear_history(store)
            return
        with open_git(repository) as git:
            head = git.head()
            if not head:
                _clear_history(store)
                return
            run = _IndexRun(project, repository, store, git, progress, self._limits, self._workers, self._model)
            run.run(head, again=again)


def _store_state(store: ProjectStore, state: HistoryState) -> None:
    state = replace(state, summary=summary_of(store.history.totals(), state))
    with store.writing() as writer:
        writer.set_metadata(state.facts())


def _clear_history(store: ProjectStore) -> None:
    if HistoryState.read(store.meta).tip:
        with store.writing() as writer:
            writer.history.clear()
            writer.set_metadata(HistoryState().facts())


@dataclass(slots=True)
class _IndexRun:
    """One indexing run for a project. `current_paths` maps former paths of renamed files to their current paths."""

    project: Project
    repository: Repository
    store: ProjectStore
    git: Git
    progress: Progress
    limits: HistoryLimits
    workers: ProcessPool | None
    model: str  # identity of the embedding model; empty if subjects are not embedded
    state: HistoryState = field(default_factory=HistoryState)
    prefix: str = ""
    current_files: set[str] = field(default_factory=set)
    current_paths: dict[str, str] = field(default_factory=dict)
    deadline: float = 0.0

    def run(self, head: str, *, again: bool) -> None:
        """Index new commits and missing older commits, and update the index terms of the changed files."""
        self.deadline = time.monotonic() + self.limits.max_seconds
        self.state = HistoryState.read(self.store.meta)
        self.prefix = prefix_in_repository(self.project.root, self.repository)
        if self.state.layout == self._layout_key(model_identity()):
            self.model = model_identity()  # existing vectors are kept even if embedding is disabled in this process
        layout = self._layout_key(self.model)
        if not again and layout == self.state.layout and self.state.tip == head and self.state.complete:
            if self.state.stopped:  # remove the error message of an earlier run
                self._record_state(stopped="")
            self._update_file_terms()
            return
        self.current_files = files_in_commit(self.git, head, self.prefix)
        if again or layout != self.state.layout or not self._add_newer_commits(head):
            self._reset_index(HistoryState(layout=layout, tip=head, start=head))
        if not self.state.complete:
            self._add_older_commits()
        else:
            self._record_state()
        self._update_file_terms()

    def _layout_key(self, model: str) -> str:
        """Return a key computed from the settings of the index. If the key changes, the index must be rebuilt."""
        ends = (
            sha256("\n".join(sorted(self.git.shallow_commits())).encode()).hexdigest()[:16]
            if self.git.shallow_commits()
            else ""
        )
        return f"{INDEX_VERSION}:{model}:{self.limits.max_commits}:{ends}:{self.prefix}"

    def _reset_index(self, state: HistoryState) -> None:
        with self.store.writing() as writer:
            writer.history.clear()
            writer.set_metadata(state.facts())
        self.state = state
        self.current_paths = {}

    def _add_newer_commits(self, head: str) -> bool:
        """Add new commits, and remove commits that are no longer in the history (for example after a rebase).

        Return False if the index must be rebuilt.
        """
        if self.state.tip == head:
            self.current_paths = self.store.history.renamed_files()
            return True
        removed_hashes = commits_between(self.git, self.state.tip, head, limit=MAX_REMOVED_COMMITS)
        new = commits_between(self.git, head, self.state.tip, limit=MAX_NEW_COMMITS)
        known = self.store.history.totals().commits
        if (
            removed_hashes is None
            or new is None
            or known + len(new) > self.limits.max_commits * MAX_KEPT_COMMITS // MAX_COMMITS
        ):
            return False
        # The commit at which an incomplete run would be continued may have been removed.
        if removed_hashes and not self.state.complete:
            return False
        # Terms of removed commits stay in the index, so the index is rebuilt after many removals.
        if self.state.removed_count + len(removed_hashes) > max(MIN_REMOVED_FOR_REBUILD, known // 10):
            return False
        commit_range = CommitRange(head, base=self.state.tip, limit=MAX_NEW_COMMITS)
        with closing(self._read_chunks(commit_range)) as chunks:
            commits = [commit for chunk in chunks for commit in chunk]
        renames = self._renamed_files(commits)
        if len(renames) > MAX_NEW_RENAMES:
            return False
        self.current_paths = self.store.history.renamed_files() | dict(renames)
        self._write_newer_commits(head, commits, removed_hashes, renames)
        return True

    def _renamed_files(self, commits: Sequence[ParsedCommit]) -> list[tuple[str, str]]:
        """Return the old and new path of each renamed file, oldest rename first. Omit old paths that exist again."""
        return [
            (file.before, file.path)
            for parsed in reversed(commits)
            for file in parsed.commit.files
            if file.before and file.before not in self.current_files
        ]

    def _write_newer_commits(
        self,
        head: str,
        commits: Sequence[ParsedCommit],
        removed_hashes: Sequence[str],
        renames: Sequence[tuple[str, str]],
    ) -> None:
        with self.store.writing() as writer:
            writer.history.remove(removed_hashes)
            for before, path in renames:
                writer.history.rename(before, path)
            writer.history.add_newer([self._to_record(commit) for commit in commits], self.model)
            writer.history.add_renames(self.current_paths)
            writer.history.keep_files(self.current_files)
            removed = self.state.removed_count + len(removed_hashes)
            self.state = replace(self.state, tip=head, stopped="", removed=str(removed))
            writer.set_metadata(self.state.facts())

    def _add_older_commits(self) -> None:
        """Index older commits in batches. Each batch is stored, so that an interrupted run can be continued."""
        walked = self.state.walked_count
        commit_range = CommitRange(self.state.start, skip=walked, limit=self.limits.max_commits - walked + 1)
        read = walked
        try:
            with closing(self._read_chunks(commit_range)) as chunks:
                for chunk in chunks:
                    read += len(chunk)
                    kept = chunk[: self.limits.max_commits - walked]
                    walked += len(kept)
                    self._write_older_commits(kept, walked)
                    self.progress.report(walked, self.limits.max_commits, "commits")
        except (GitFailed, ParserStopped) as stopped:
            self._record_state(stopped=stopped.message)
            return
        has_more = read > walked
        ends = "limit" if has_more else "shallow" if self.git.shallow_commits() else ""
        self._record_state(complete="1", stopped="", ends=ends, older=self._count_unindexed() if has_more else "")

    def _write_older_commits(self, batch: Sequence[ParsedCommit], walked: int) -> None:
        before = dict(self.current_paths)
        records = [self._to_record(commit) for commit in batch]
        with self.store.writing() as writer:
            writer.history.add_older(records, self.model)
            writer.history.add_renames(
                {name: now for name, now in self.current_paths.items() if before.get(name) != now}
            )
            self.state = replace(self.state, walked=str(walked))
            writer.set_metadata(self.state.facts())

    def _to_record(self, parsed: ParsedCommit) -> CommitRecord:
        """Convert a parsed commit to a database record, with the current paths of the changed files."""
        commit = parsed.commit
        paths = []
        for file in commit.files:
            if path := self._current_path(file.path):
                paths.append(path)
                if file.before and file.before not in self.current_files:
                    self.current_paths.setdefault(file.before, path)
        return CommitRecord(
            hash=commit.hash,
            time=commit.time,
            author=commit.author,
            subject=commit.subject,
            body=commit.body,
            file_count=commit.file_count,
            is_merge=commit.is_merge,
            paths=tuple(paths),
            subject_words=parsed.subject_words,
            body_words=parsed.body_words,
            path_words=parsed.path_words,
            vector=parsed.vector,
        )

    def _current_path(self, path: str) -> str:
        """Return the current path of a file that may have been renamed, or an empty string if the file was deleted."""
        for _ in range(_MAX_RENAMES_PER_FILE):
            if path in self.current_files or not path:
                return path
            path = self.current_paths.get(path, "")
        return ""

    def _update_file_terms(self) -> None:
        """Update the index terms of files whose commits changed, in small batches, so that other writers do not wait
        long."""
        settled = _FILE_TERMS_BATCH_SIZE
        while settled == _FILE_TERMS_BATCH_SIZE:
            self._raise_if_cancelled()
            with self.store.writing() as writer:
                settled = writer.history.update_changed_files(limit=_FILE_TERMS_BATCH_SIZE)

    def _record_state(self, **changes: str) -> None:
        self.state = replace(self.state, **changes)
        _store_state(self.store, self.state)

    def _count_unindexed(self) -> str:
        if self.prefix:
            return ""  # counting the commits of a subfolder takes as long as reading them
        try:
            return str(max(0, count_commits(self.git, self.state.start) - self.limits.max_commits))
        except GitFailed:
            return ""

    def _read_chunks(self, commit_range: CommitRange) -> Generator[list[ParsedCommit]]:
        """Yield chunks of parsed commits with index terms; a child process parses the output of git."""
        marker, ends = new_marker(), self.git.shallow_commits()
        chunk_bytes, max_seconds = self.limits.chunk_bytes, self._seconds_left()
        chunks = log_chunks(
            self.git, commit_range, self.prefix, marker, chunk_bytes=chunk_bytes, max_seconds=max_seconds
        )
        with closing(chunks):
            for chunk in chunks:
                self._raise_if_cancelled()
                if self.workers is None:
                    yield parse_log_chunk(marker, ends, self.prefix, bool(self.model), chunk)
                else:
                    limits = TaskLimits(cpu_seconds=_MAX_PARSING_CPU_SECONDS, wall_seconds=_MAX_PARSING_CPU_SECONDS * 8)
                    yield self.workers.run(
                        parse_log_chunk, marker, ends, self.prefix, bool(self.model), chunk, limits=limits
                    )

    def _raise_if_cancelled(self) -> None:
        if self.progress.cancelled():
            raise Cancelled("Indexing the history was cancelled")

    def _seconds_left(self) -> float:
        return max(1.0, self.deadline - time.monotonic())
