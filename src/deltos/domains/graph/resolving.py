"""Resolves files in a child process, one after the other, where a file that takes too long can be stopped.

The child reads facts from the store itself; what the running transaction changed, and nobody else sees yet,
comes with the request.
"""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import astuple

from deltos.domains.graph.facts import StoredFacts
from deltos.domains.graph.kernel.resolver import Resolution
from deltos.domains.graph.languages import FAMILIES
from deltos.errors import ReadingStopped
from deltos.garbage_collection import garbage_collection_paused
from deltos.isolated.wire import TaskLimits
from deltos.store.graph import PendingFacts, ResolutionRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deltos.isolated.process import Workers
    from deltos.isolated.wire import Reply
    from deltos.store.graph import FactSource

# The first file also pays for what all others share, which grows with the project.
CPU_SECONDS = 20.0
CPU_SECONDS_PER_FILE = 0.005
WALL_PER_CPU_SECOND = 8.0
MEMORY_BYTES = 4 << 30
# Where so many files had to be stopped, or broke the resolver, the others of their languages are left out too;
MOST_STOPPED = 10
MOST_BROKEN = 200
# and so they are where all together take longer than this.
ALL_CPU_SECONDS = 600.0
ALL_CPU_SECONDS_PER_FILE = 0.25
# What a file depends on that could not be resolved: on the others like it. If one changes, they all get another try.
OTHER_UNRESOLVED = "!unresolved"


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

    def record(self) -> ResolutionRecord:
        """What is stored of it: nothing but what it depends on."""
        return ResolutionRecord(self.path, (), (), (OTHER_UNRESOLVED,), 0, 0)


@dataclass(slots=True)
class ResolvingSession:
    """The files that one child resolves; what it learns on the way stays with it."""

    source: FactSource
    languages: Mapping[str, str]
    pending: PendingFacts
    family: int
    paths: Sequence[str]
    running: Iterator[Resolution] | None = field(default=None)
    ahead: Resolution | None = field(default=None)

    def resolve(self, path: str) -> Resolution:
        """The resolution of the next path."""
        if self.running is None:
            rest = self.paths[self.paths.index(path) :]
            facts = StoredFacts(self.source.reader(), self.languages, self.pending)
            self.running = FAMILIES[self.family].resolver().resolve(facts, rest)
        if self.ahead is None:
            running, self.running = self.running, None  # one that raises cannot go on
            self.ahead = next(running, None)
            self.running = running
        if self.ahead is None or self.ahead.path != path:
            return Resolution(path, (), (), frozenset())  # a file that has nothing to resolve
        resolution, self.ahead = self.ahead, None
        return resolution


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
    cpu_seconds = CPU_SECONDS + CPU_SECONDS_PER_FILE * len(session.languages)
    limits = TaskLimits(cpu_seconds, WALL_PER_CPU_SECOND * cpu_seconds, MEMORY_BYTES)
    spent = _Spent(ALL_CPU_SECONDS + ALL_CPU_SECONDS_PER_FILE * len(session.paths))
    with closing(workers.stream(resolve_next, (session,), session.paths, lambda _: limits)) as replies:
        for number, (path, reply) in enumerate(zip(session.paths, replies, strict=True), 1):
            spent.add(reply)
            yield Unresolved(path, _reason(reply.error)) if reply.error is not None else _record(reply)
            if too_much := spent.too_much():
                yield from (Unresolved(each, f"left out: {too_much}") for each in session.paths[number:])
                return


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
