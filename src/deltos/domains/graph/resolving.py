"""Resolves files in a child process, one after the other, where a file that takes too long can be stopped.

The child reads facts from the store itself; what the running transaction changed, and nobody else sees yet,
comes with the request. A file that fails is tried once more by itself, noting what it reads in a file: whoever is
killed can tell no other way what it depends on.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import astuple

from deltos.domains.graph.facts import NotedFacts, StoredFacts
from deltos.domains.graph.kernel.resolver import Resolution
from deltos.domains.graph.languages import FAMILIES
from deltos.errors import ReadingStopped, StoreError
from deltos.garbage_collection import garbage_collection_paused
from deltos.isolated.wire import TaskLimits
from deltos.store.graph import PendingFacts, ResolutionRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deltos.domains.graph.kernel.resolver import ProjectFacts
    from deltos.isolated.process import Workers
    from deltos.isolated.wire import Reply
    from deltos.store.graph import FactSource

# The first file also pays for what all others share, which grows with the project.
CPU_SECONDS = 20.0
CPU_SECONDS_PER_FILE = 0.005
WALL_PER_CPU_SECOND = 8.0
SECOND_TRY_CPU_SECONDS = 5.0
MEMORY_BYTES = 4 << 30
# Where so many files had to be stopped, or broke the resolver, the others of their languages are left out too;
MOST_STOPPED = 10
MOST_BROKEN = 200
# and so they are where all together take longer than this.
ALL_CPU_SECONDS = 600.0
ALL_CPU_SECONDS_PER_FILE = 0.25
# Names that files which could not be resolved depend on. All of them on this, by which they are known;
UNRESOLVED = "!unresolved"
# and those that were left out on the others: if one of those is tried again, so are they.
OTHER_UNRESOLVED = "!others"


class EdgeRow(NamedTuple):
    """An edge as it comes from a child."""

    line: int
    source_key: str
    target_path: str
    target_key: str
    kind: str
    origin: str
    certain: bool


class ResolvedFile(NamedTuple):
    """What a child found out about one file; edges and imports are plain tuples, which are cheap to send."""

    cpu_seconds: float
    path: str
    edges: list[tuple[int, str, str, str, str, str, bool]]
    imports: list[tuple[int, str, str]]
    dependencies: tuple[str, ...]
    external_imports: int
    unresolved_imports: int


class Unresolved(NamedTuple):
    """A file whose references could not be resolved, and why."""

    path: str
    reason: str
    dependencies: Sequence[str] = (OTHER_UNRESOLVED,)

    def record(self) -> ResolutionRecord:
        """What is stored of it: nothing but what it depends on."""
        return ResolutionRecord(self.path, (), (), (UNRESOLVED, *self.dependencies), 0, 0)


@dataclass(slots=True)
class ResolvingSession:
    """The files that one child resolves; what it learns on the way stays with it."""

    source: FactSource
    languages: Mapping[str, str]
    pending: PendingFacts
    family: int
    paths: Sequence[str]
    notes: Path | None = None
    running: Iterator[Resolution] | None = field(default=None)
    ahead: Resolution | None = field(default=None)

    def resolve(self, path: str) -> Resolution:
        """The resolution of the next path."""
        if self.running is None:
            rest = self.paths[self.paths.index(path) :]
            self.running = FAMILIES[self.family].resolver().resolve(self._facts(), rest)
        if self.ahead is None:
            running, self.running = self.running, None  # one that raises cannot go on
            self.ahead = next(running, None)
            self.running = running
        if self.ahead is None or self.ahead.path != path:
            return Resolution(path, (), (), frozenset())  # a file that has nothing to resolve
        resolution, self.ahead = self.ahead, None
        return resolution

    def _facts(self) -> ProjectFacts:
        stored = StoredFacts(self.source.reader(), self.languages, self.pending)
        if self.notes is None:
            return stored
        file = self.notes.open("ab", buffering=0)  # whoever is killed flushes nothing
        return NotedFacts(stored, lambda name: file.write(name.encode("utf-8", "surrogateescape") + b"\0"))


def resolve_next(session: ResolvingSession, path: str) -> ResolvedFile:
    """In the child: the resolution of one path."""
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


def resolve_in_child(workers: Workers, session: ResolvingSession) -> Iterator[ResolutionRecord | Unresolved]:
    """The resolutions of all files of a session, and those that there are none of."""
    limits = _limits(CPU_SECONDS, session)
    spent = _Spent(ALL_CPU_SECONDS + ALL_CPU_SECONDS_PER_FILE * len(session.paths))
    with closing(workers.stream(resolve_next, (session,), session.paths, lambda _: limits)) as replies:
        for number, (path, reply) in enumerate(zip(session.paths, replies, strict=True), 1):
            _check_store(reply)
            spent.add(reply)
            yield _record(reply) if reply.error is None else _second_try(workers, session, path, _reason(reply.error))
            if too_much := spent.too_much():
                yield from (Unresolved(each, f"left out: {too_much}") for each in session.paths[number:])
                return


def _limits(cpu_seconds: float, session: ResolvingSession) -> TaskLimits:
    cpu_seconds += CPU_SECONDS_PER_FILE * len(session.languages)
    return TaskLimits(cpu_seconds, WALL_PER_CPU_SECOND * cpu_seconds, MEMORY_BYTES)


def _second_try(workers: Workers, session: ResolvingSession, path: str, reason: str) -> ResolutionRecord | Unresolved:
    """Resolve a file that failed by itself; if it fails again, it depends on what it has read."""
    with tempfile.TemporaryDirectory(prefix="deltos-notes-", ignore_cleanup_errors=True) as folder:
        notes = Path(folder, "notes")
        notes.touch()
        alone = replace(session, paths=[path], notes=notes)
        limits = _limits(min(CPU_SECONDS, SECOND_TRY_CPU_SECONDS), session)
        with closing(workers.stream(resolve_next, (alone,), [path], lambda _: limits)) as replies:
            (reply,) = replies
        _check_store(reply)
        if reply.error is None:
            return _record(reply)
        read = {name.decode("utf-8", "surrogateescape") for name in notes.read_bytes().split(b"\0")[:-1]}
    return Unresolved(path, reason, sorted(read - {path}))


@dataclass(slots=True)
class _Spent:
    """What the files of a session have cost so far."""

    most_cpu_seconds: float
    cpu_seconds: float = 0.0
    stopped: int = 0
    broken: int = 0

    def add(self, reply: Reply) -> None:
        """Count what came of one file."""
        if reply.error is None:
            found: ResolvedFile = reply.value
            self.cpu_seconds += found.cpu_seconds
        elif isinstance(reply.error, ReadingStopped):
            self.stopped += 1
        else:
            self.broken += 1

    def too_much(self) -> str:
        """Why the rest is left out; empty while it is not."""
        if self.stopped >= MOST_STOPPED or self.broken >= MOST_BROKEN:
            return f"{self.stopped + self.broken} others took too much or could not be resolved"
        if self.cpu_seconds > self.most_cpu_seconds:
            return f"the files before it took more than {self.most_cpu_seconds:.0f} s of CPU time"
        return ""


def _check_store(reply: Reply) -> None:
    """Raise what the child's store raised: that is no file's fault, and would be noted as one."""
    if isinstance(reply.error, StoreError):
        raise reply.error


def _record(reply: Reply) -> ResolutionRecord:
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
    return error.message if isinstance(error, ReadingStopped) else f"{type(error).__name__}: {error}"[:200]
