"""Many files in child processes that can be stopped: what each may take, and what becomes of one that takes more.

Leaves the reading of one file to `extract`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from deltos.errors import ParserCrashed, ReadingStopped, TookTooLong, TookTooMuchMemory
from deltos.isolated.wire import TaskLimits
from deltos.workspace.extract import Extracted, FileToRead, extract_as_text, extract_file, look_at

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

    from deltos.isolated.process import Workers
    from deltos.isolated.wire import Reply
    from deltos.workspace.indexer import Indexer

# Large enough that sending a batch costs little, small enough that children end at about the same time.
BATCH_BYTES = 400_000
BATCH_FILES = 64
# Below this much source, starting several processes costs more than it saves.
PARALLEL_BYTES = 1_500_000
# The first file that a child reads also pays for loading its grammar.
LEAST_CPU_SECONDS = 10.0
CPU_SECONDS_PER_MB = 10.0
WALL_PER_CPU_SECOND = 8.0
MEMORY_BYTES = 2 << 30
# Whoever fills a repository with files that cannot be read must not have each of them tried in every way.
MOST_READ_APART = 20
SKIP_REASONS: dict[type[ReadingStopped], str] = {
    TookTooLong: "took too long",
    TookTooMuchMemory: "took too much memory",
    ParserCrashed: "parser crashed",
}

Batch: TypeAlias = "list[FileToRead]"


def limits_of(size: int) -> TaskLimits:
    """What reading a file of so many bytes may take: many times what any real file does."""
    cpu_seconds = LEAST_CPU_SECONDS + CPU_SECONDS_PER_MB * size / 1_000_000
    return TaskLimits(
        cpu_seconds=cpu_seconds, wall_seconds=WALL_PER_CPU_SECOND * cpu_seconds, memory_bytes=MEMORY_BYTES
    )


def extract_all(
    root: Path, candidates: Sequence[FileToRead], indexers: Sequence[Indexer], workers: Workers | None
) -> Generator[list[Extracted]]:
    """Extract every candidate, batch by batch in any order; in several processes when there is much to do.

    Without workers it happens here, where nothing can be stopped: that is for files that we wrote ourselves.
    """
    batches = _batches(candidates)
    if workers is None:
        for batch in batches:
            yield [extract_file(root, indexers, candidate) for candidate in batch]
        return
    reading = _Reading(root, tuple(indexers), workers)
    many = sum(candidate.stamp.size for candidate in candidates) >= PARALLEL_BYTES and len(batches) > 1
    yield from reading.in_parallel(batches) if many else reading.in_turn(batches)


def warm_up(root: Path, indexers: Sequence[Indexer], workers: Workers) -> None:
    """Start a child that has imported what extraction needs by the time that it is asked."""
    workers.start_ahead(extract_file, root, tuple(indexers))


@dataclass(slots=True)
class _Reading:
    """One run over some files."""

    root: Path
    indexers: tuple[Indexer, ...]
    workers: Workers
    read_apart: int = field(default=0)
    stopped_as_text: int = field(default=0)

    def in_turn(self, batches: Sequence[Batch]) -> Generator[list[Extracted]]:
        for batch in batches:
            replies = self.workers.run_each(extract_file, (self.root, self.indexers), batch, _limits)
            yield [self._settle(candidate, reply) for candidate, reply in zip(batch, replies, strict=True)]

    def in_parallel(self, batches: Sequence[Batch]) -> Generator[list[Extracted]]:
        for replies in self.workers.run_batches(extract_file, (self.root, self.indexers), batches, _limits):
            yield [self._settle(candidate, reply) for candidate, reply in replies]

    def _settle(self, candidate: FileToRead, reply: Reply) -> Extracted:
        if isinstance(reply.error, ReadingStopped):
            return self._after_stop(candidate, reply.error)
        if reply.error is not None:
            return self._skipped(candidate, "failed", f"{type(reply.error).__name__}: {reply.error}")
        extracted: Extracted = reply.value
        return extracted

    def _after_stop(self, candidate: FileToRead, stopped: ReadingStopped) -> Extracted:
        """What the indexers make of the file one by one, or of its plain text; skipped where that is nothing."""
        self.read_apart += 1
        reason = SKIP_REASONS.get(type(stopped), "stopped")
        if self.read_apart > MOST_READ_APART:
            return self._as_text(candidate, reason, stopped.message)
        parts = [self._alone(indexer, candidate, stopped.message) for indexer in self.indexers]
        for part in parts:
            if part.facts is None and not part.failure:
                return part  # it changed meanwhile: vanished, or no longer worth indexing
        read = [part for part in parts if part.facts is not None]
        if not read or len({part.hash for part in read}) > 1:
            return self._skipped(candidate, reason, stopped.message)
        return replace(
            read[0],
            facts=tuple(part.facts[0] if part.facts is not None else None for part in parts),
            failures=tuple(failure for part in parts for failure in part.failures),
        )

    def _alone(self, indexer: Indexer, candidate: FileToRead, reason: str) -> Extracted:
        """What one indexer makes of the file; if it has to be stopped, what it makes of plain text, if anything."""
        try:
            if len(self.indexers) > 1:  # else it was alone already
                return self._run(extract_file, indexer, candidate)
        except ReadingStopped as exc:
            reason = exc.message
        failures = ((indexer.name, reason),)
        try:
            part = self._run(extract_as_text, indexer, candidate)
        except ReadingStopped:
            return Extracted(candidate.path, candidate.stamp, 0, failures=failures, failure=reason)
        return part if part.facts is None and not part.failure else replace(part, failures=failures)

    def _as_text(self, candidate: FileToRead, reason: str, message: str) -> Extracted:
        """What the indexers together make of its plain text, in one attempt; skipped where that is stopped too."""
        if self.stopped_as_text >= MOST_READ_APART:
            return self._skipped(candidate, reason, message)
        try:
            read = self.workers.run(extract_as_text, self.root, self.indexers, candidate, limits=_limits(candidate))
        except ReadingStopped:
            self.stopped_as_text += 1
            return self._skipped(candidate, reason, message)
        if read.facts is None:
            return read
        return replace(read, failures=tuple((indexer.name, message) for indexer in self.indexers))

    def _run(self, function: Callable[..., Extracted], indexer: Indexer, candidate: FileToRead) -> Extracted:
        return self.workers.run(function, self.root, (indexer,), candidate, limits=_limits(candidate))

    def _skipped(self, candidate: FileToRead, reason: str, failure: str) -> Extracted:
        """The file with its hash, so that it is tried again only when it has changed."""
        try:
            now = self.workers.run(look_at, self.root, candidate, limits=_limits(candidate))
        except ReadingStopped:
            now = Extracted(candidate.path, candidate.stamp, 0)
        if now.stamp != candidate.stamp:
            now = Extracted(candidate.path, candidate.stamp, 0)  # changed meanwhile: what was read is not known
        return replace(now, skip_reason=reason, failure=failure)


def _limits(candidate: FileToRead) -> TaskLimits:
    return limits_of(candidate.stamp.size)


def _batches(candidates: Sequence[FileToRead]) -> list[Batch]:
    """Groups of similar cost; neighbours stay together."""
    batches: list[Batch] = []
    size = BATCH_BYTES
    for candidate in candidates:
        if size >= BATCH_BYTES or len(batches[-1]) >= BATCH_FILES:
            batches.append([])
            size = 0
        batches[-1].append(candidate)
        size += candidate.stamp.size
    return batches
