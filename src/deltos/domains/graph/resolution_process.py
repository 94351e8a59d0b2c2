"""Resolve files sequentially in a child process, where resolution of a file can be stopped if it takes too long.

The child reads facts from the store; uncommitted changes of the running transaction are sent with the request. A file
that fails is tried once more alone, with its reads recorded in a temporary file: a killed process cannot report its
dependencies in any other way.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import astuple

from deltos.domains.graph.facts import RecordingFacts, StoredProjectFacts
from deltos.domains.graph.kernel.resolver import Resolution
from deltos.domains.graph.languages import FAMILIES
from deltos.errors import ParserStopped, StoreError
from deltos.garbage_collection import garbage_collection_paused
from deltos.isolated.wire import TaskLimits
from deltos.store.graph import PendingFacts, ResolutionRecord
from deltos.text.counts import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deltos.domains.graph.kernel.resolver import ProjectFacts
    from deltos.isolated.process_pool import ProcessPool
    from deltos.isolated.wire import Reply
    from deltos.store.graph import FactSource

# The first file includes shared work, which grows with the project.
CPU_LIMIT_SECONDS = 20.0
CPU_LIMIT_SECONDS_PER_FILE = 0.005
WALL_SECONDS_PER_CPU_SECOND = 8.0
RETRY_CPU_LIMIT_SECONDS = 5.0
MEMORY_LIMIT_BYTES = 4 << 30
# After this many files were stopped or failed, the remaining files of the language family are skipped,
MAX_STOPPED_FILES = 10
MAX_FAILED_FILES = 200
# and also once all files together have used more CPU time than this.
TOTAL_CPU_LIMIT_SECONDS = 600.0
TOTAL_CPU_LIMIT_SECONDS_PER_FILE = 0.25
# Dependency name of all files that could not be resolved; it identifies them.
UNRESOLVED = "!unresolved"
# Dependency name of skipped files, so that they are retried together with the files that failed.
OTHER_UNRESOLVED = "!others"


class EdgeRow(NamedTuple):
    """An edge as received from a child process."""

    line: int
    source_key: str
    target_path: str
    target_key: str
    kind: str
    origin: str
    certain: bool


class ResolvedFile(NamedTuple):
    """Result of a child process for one file; edges and imports are plain tuples, which are cheap to send."""

    cpu_seconds: float
    path: str
    edges: list[tuple[int, str, str, str, str, str, bool]]
    imports: list[tuple[int, str, str]]
    dependencies: tuple[str, ...]
    external_imports: int
    unresolved_imports: int


class Unresolved(NamedTuple):
    """A file whose references could not be resolved, with the reason."""

    path: str
    reason: str
    dependencies: Sequence[str] = (OTHER_UNRESOLVED,)

    def record(self) -> ResolutionRecord:
        """Return the record to store, which contains only dependencies."""
        return ResolutionRecord(self.path, (), (), (UNRESOLVED, *self.dependencies), 0, 0)


@dataclass(slots=True)
class ResolvingSession:
    """Files that one child process resolves with caches that last for the session."""

    source: FactSource
    languages: Mapping[str, str]
    pending: PendingFacts
    family: int
    paths: Sequence[str]
    notes: Path | None = None
    running: Iterator[Resolution] | None = field(default=None)
    ahead: Resolution | None = field(default=None)

    def resolve(self, path: str) -> Resolution:
        """Return the resolution of the next path."""
        if self.running is None:
            rest = self.paths[self.paths.index(path) :]
            self.running = FAMILIES[self.family].resolver().resolve(self._facts(), rest)
        if self.ahead is None:
            running, self.running = self.running, None  # a generator that raises cannot continue
            self.ahead = next(running, None)
            self.running = running
        if self.ahead is None or self.ahead.path != path:
            return Resolution(path, (), (), frozenset())  # nothing to resolve
        resolution, self.ahead = self.ahead, None
        return resolution

    def _facts(self) -> ProjectFacts:
        stored = StoredProjectFacts(self.source.reader(), self.languages, self.pending)
        if self.notes is None:
            return stored
        file = self.notes.open("ab", buffering=0)  # unbuffered: a killed process does not flush
        return RecordingFacts(stored, lambda name: file.write(name.encode("utf-8", "surrogateescape") + b"\0"))


def resolve_next(session: ResolvingSession, path: str) -> ResolvedFile:
    """Resolve the next path of a session in the child process."""
    started = time.process_time()
    with garbage_collection_paused():
        found = session.resolve(path)
    return ResolvedFile(
        time.process_time() - started,
        found.path,
        [astuple(edge) for edge in found.edges],
        [(each.line, each.target_path, each.mode) for each in found.imports],
        tuple(found.dependencies),
        found.external_imports,
        found.unresolved_imports,
    )


def resolve_in_child(workers: ProcessPool, session: ResolvingSession) -> Iterator[ResolutionRecord | Unresolved]:
    """Yield the resolution of each file of a session, or the reason why it could not be resolved."""
    limits = _limits(CPU_LIMIT_SECONDS, session)
    spent = _Usage(TOTAL_CPU_LIMIT_SECONDS + TOTAL_CPU_LIMIT_SECONDS_PER_FILE * len(session.paths))
    with closing(workers.stream(resolve_next, (session,), session.paths, lambda _: limits)) as replies:
        for number, (path, reply) in enumerate(zip(session.paths, replies, strict=True), 1):
            _check_store(reply)
            spent.add(reply)
            yield (
                _resolution_of_reply(reply)
                if reply.error is None
                else _retry(workers, session, path, _reason(reply.error))
            )
            if limit_reached := spent.limit_reached():
                yield from (Unresolved(each, f"skipped: {limit_reached}") for each in session.paths[number:])
                return


def _limits(cpu_seconds: float, session: ResolvingSession) -> TaskLimits:
    """Return the resource limits for one file."""
    cpu_seconds += CPU_LIMIT_SECONDS_PER_FILE * len(session.languages)
    return TaskLimits(cpu_seconds, WALL_SECONDS_PER_CPU_SECOND * cpu_seconds, MEMORY_LIMIT_BYTES)


def _retry(workers: ProcessPool, session: ResolvingSession, path: str, reason: str) -> ResolutionRecord | Unresolved:
    """Resolve a failed file alone; if it fails again, record the names that it read as its dependencies."""
    with tempfile.TemporaryDirectory(prefix="deltos-notes-", ignore_cleanup_errors=True) as folder:
        notes = Path(folder, "notes")
        notes.touch()
        alone = replace(session, paths=[path], notes=notes)
        limits = _limits(min(CPU_LIMIT_SECONDS, RETRY_CPU_LIMIT_SECONDS), session)
        with closing(workers.stream(resolve_next, (alone,), [path], lambda _: limits)) as replies:
            (reply,) = replies
        _check_store(reply)
        if reply.error is None:
            return _resolution_of_reply(reply)
        read = {name.decode("utf-8", "surrogateescape") for name in notes.read_bytes().split(b"\0")[:-1]}
    return Unresolved(path, reason, sorted(read - {path}))


@dataclass(slots=True)
class _Usage:
    """CPU time and failures of a session so far."""

    max_cpu_seconds: float
    cpu_seconds: float = 0.0
    stopped: int = 0
    failed: int = 0

    def add(self, reply: Reply) -> None:
        """Count the result of one file."""
        if reply.error is None:
            found: ResolvedFile = reply.value
            self.cpu_seconds += found.cpu_seconds
        elif isinstance(reply.error, ParserStopped):
            self.stopped += 1
        else:
            self.failed += 1

    def limit_reached(self) -> str:
        """Return why the remaining files are skipped, or an empty string while no limit is reached."""
        if self.stopped >= MAX_STOPPED_FILES or self.failed >= MAX_FAILED_FILES:
            return f"{counted(self.stopped + self.failed, 'other file')} exceeded a limit or failed"
        if self.cpu_seconds > self.max_cpu_seconds:
            return f"earlier files took more than {self.max_cpu_seconds:.0f} s of CPU time"
        return ""


def _check_store(reply: Reply) -> None:
    """Raise the error of the child's store, which must not be recorded as a failure of the file."""
    if isinstance(reply.error, StoreError):
        raise reply.error


def _resolution_of_reply(reply: Reply) -> ResolutionRecord:
    found: ResolvedFile = reply.value
    return ResolutionRecord(
        found.path,
        [EdgeRow(*edge) for edge in found.edges],
        found.imports,
        found.dependencies,
        found.external_imports,
        found.unresolved_imports,
    )


def _reason(error: Exception) -> str:
    return error.message if isinstance(error, ParserStopped) else f"{type(error).__name__}: {error}"[:200]
