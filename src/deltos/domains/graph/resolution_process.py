"""Resolution of files in a child process, which is stopped if a file takes too long.

The child process reads facts from the store. Uncommitted changes of the running transaction are sent with the request.
A file that fails is retried alone. During the retry, the child process writes the names of the facts that it reads to a
temporary file, because a process that is killed cannot report dependencies.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import astuple

from deltos.domains.graph.facts import StoredProjectFacts
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

# CPU time limit per file. The limit grows with the number of files in the project, because resolving the first file
# includes work for the whole project.
CPU_LIMIT_SECONDS = 20.0
CPU_LIMIT_SECONDS_PER_FILE = 0.005
WALL_SECONDS_PER_CPU_SECOND = 8.0
RETRY_CPU_LIMIT_SECONDS = 5.0
MEMORY_LIMIT_BYTES = 4 << 30
# Maximum number of stopped files, and maximum number of failed files. If either is exceeded, the remaining files of the
# language family are skipped.
MAX_STOPPED_FILES = 10
MAX_FAILED_FILES = 200
# Total CPU time after which the remaining files are skipped.
TOTAL_CPU_LIMIT_SECONDS = 600.0
TOTAL_CPU_LIMIT_SECONDS_PER_FILE = 0.25
# Dependency name that marks a file that could not be resolved.
UNRESOLVED = "!unresolved"
# Dependency name that marks a file that was skipped, which is retried together with the failed files.
OTHER_UNRESOLVED = "!others"


class EdgeRow(NamedTuple):
    """A reference (edge of the graph) as received from a child process."""

    line: int
    source_key: str
    target_path: str
    target_key: str
    kind: str
    origin: str
    certain: bool


class ResolvedFile(NamedTuple):
    """Result of resolving one file in a child process. Edges and imports are plain tuples, which are cheap to send."""

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

    def to_record(self) -> ResolutionRecord:
        """Return a record of the file for the store, which contains only dependencies."""
        return ResolutionRecord(self.path, (), (), (UNRESOLVED, *self.dependencies), 0, 0)


@dataclass(slots=True)
class ResolvingSession:
    """Files that one child process resolves, with caches that all files share."""

    source: FactSource
    languages: Mapping[str, str]
    pending: PendingFacts
    family: int  # index of the language family in FAMILIES
    paths: Sequence[str]
    read_names_path: Path | None = None  # file to which the dependencies of a retried file are written
    running: Iterator[Resolution] | None = field(default=None)  # generator of the remaining resolutions
    next_resolution: Resolution | None = field(default=None)  # result that is already computed but not yet returned

    def resolve(self, path: str) -> Resolution:
        """Return the resolution of `path`, which must be the first path that has not been resolved yet."""
        if self.running is None:
            rest = self.paths[self.paths.index(path) :]
            self.running = FAMILIES[self.family].resolver().resolve(self._facts(), rest)
        if self.next_resolution is None:
            running, self.running = self.running, None  # a generator cannot be resumed after an exception
            self.next_resolution = next(running, None)
            self.running = running
        if self.next_resolution is None or self.next_resolution.path != path:
            return Resolution(path, (), (), frozenset())  # the resolver has skipped this path
        resolution, self.next_resolution = self.next_resolution, None
        return resolution

    def _facts(self) -> ProjectFacts:
        if self.read_names_path is None:
            return StoredProjectFacts(self.source.reader(), self.languages, self.pending)
        # Unbuffered, because a killed process does not write its buffers.
        file = self.read_names_path.open("ab", buffering=0)

        def record(name: str) -> None:
            file.write(name.encode("utf-8", "surrogateescape") + b"\0")

        return StoredProjectFacts(self.source.reader(), self.languages, self.pending, record)


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
            _raise_store_error(reply)
            spent.add(reply)
            yield (
                _resolution_of_reply(reply)
                if reply.error is None
                else _retry(workers, session, path, _reason(reply.error))
            )
            if skip_reason := spent.skip_reason():
                yield from (Unresolved(each, f"skipped: {skip_reason}") for each in session.paths[number:])
                return


def _limits(cpu_seconds: float, session: ResolvingSession) -> TaskLimits:
    """Return the resource limits for one file."""
    cpu_seconds += CPU_LIMIT_SECONDS_PER_FILE * len(session.languages)
    return TaskLimits(cpu_seconds, WALL_SECONDS_PER_CPU_SECOND * cpu_seconds, MEMORY_LIMIT_BYTES)


def _retry(workers: ProcessPool, session: ResolvingSession, path: str, reason: str) -> ResolutionRecord | Unresolved:
    """Resolve a failed file alone. If it fails again, record the facts that were read as dependencies of the file."""
    with tempfile.TemporaryDirectory(prefix="deltos-notes-", ignore_cleanup_errors=True) as folder:
        read_names_path = Path(folder, "names")
        read_names_path.touch()
        alone = replace(session, paths=[path], read_names_path=read_names_path)
        limits = _limits(min(CPU_LIMIT_SECONDS, RETRY_CPU_LIMIT_SECONDS), session)
        with closing(workers.stream(resolve_next, (alone,), [path], lambda _: limits)) as replies:
            (reply,) = replies
        _raise_store_error(reply)
        if reply.error is None:
            return _resolution_of_reply(reply)
        read = {name.decode("utf-8", "surrogateescape") for name in read_names_path.read_bytes().split(b"\0")[:-1]}
    return Unresolved(path, reason, sorted(read - {path}))


@dataclass(slots=True)
class _Usage:
    """CPU time and number of failures in a session so far."""

    max_cpu_seconds: float
    cpu_seconds: float = 0.0
    stopped_count: int = 0
    failed_count: int = 0

    def add(self, reply: Reply) -> None:
        """Add the CPU time and the outcome of one file."""
        if reply.error is None:
            found: ResolvedFile = reply.value
            self.cpu_seconds += found.cpu_seconds
        elif isinstance(reply.error, ParserStopped):
            self.stopped_count += 1
        else:
            self.failed_count += 1

    def skip_reason(self) -> str:
        """Return why the remaining files must be skipped, or an empty string if no limit is exceeded."""
        if self.stopped_count >= MAX_STOPPED_FILES or self.failed_count >= MAX_FAILED_FILES:
            return f"{counted(self.stopped_count + self.failed_count, 'other file')} exceeded a limit or failed"
        if self.cpu_seconds > self.max_cpu_seconds:
            return f"earlier files took more than {self.max_cpu_seconds:.0f} s of CPU time"
        return ""


def _raise_store_error(reply: Reply) -> None:
    """Raise an error that the store raised in the child process, because the file did not cause it."""
    if isinstance(reply.error, StoreError):
        raise reply.error


def _resolution_of_reply(reply: Reply) -> ResolutionRecord:
    """Convert the reply of a child process to the record that is stored."""
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
    """Return the message of an error, preceded by the class name unless the parser was stopped."""
    return error.message if isinstance(error, ParserStopped) else f"{type(error).__name__}: {error}"[:200]
