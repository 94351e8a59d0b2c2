"""Extraction of many files in resource-limited child processes, with retries of files that exceed the limits.

The module `extract` handles a single file.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from deltos.errors import MemoryLimitExceeded, ParserCrashed, ParserStopped, TimeLimitExceeded
from deltos.isolated.wire import TaskLimits
from deltos.workspace.extract import Extracted, FileToRead, extract_as_text, extract_file, fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool
    from deltos.isolated.wire import Reply
    from deltos.workspace.indexer import Indexer

# Batches are large enough to be sent efficiently, and small enough that child processes finish at about the same time.
BATCH_BYTES = 400_000
BATCH_FILES = 64
# Minimum total size of the files for using several processes. For smaller totals, starting the processes takes longer
# than they save.
PARALLEL_BYTES = 1_500_000
# This limit is sufficient for the first file in a child process, which also needs CPU time for loading the grammar.
MIN_CPU_SECONDS = 10.0
CPU_SECONDS_PER_MB = 10.0
WALL_PER_CPU_SECOND = 8.0
MEMORY_BYTES = 2 << 30
# Maximum number of files that are retried separately with each indexer, to limit the time that a hostile repository can
# cost.
MAX_SEPARATE_ATTEMPTS = 20
SKIP_REASONS: dict[type[ParserStopped], str] = {
    TimeLimitExceeded: "took too long",
    MemoryLimitExceeded: "took too much memory",
    ParserCrashed: "parser crashed",
}

Batch: TypeAlias = "list[FileToRead]"


def file_limits(size: int) -> TaskLimits:
    """Return the resource limits for extracting a file of `size` bytes. Ordinary files need far less."""
    cpu_seconds = MIN_CPU_SECONDS + CPU_SECONDS_PER_MB * size / 1_000_000
    return TaskLimits(
        cpu_seconds=cpu_seconds, wall_seconds=WALL_PER_CPU_SECOND * cpu_seconds, memory_bytes=MEMORY_BYTES
    )


def extract_all(
    root: Path, candidates: Sequence[FileToRead], indexers: Sequence[Indexer], workers: ProcessPool | None
) -> Generator[list[Extracted]]:
    """Extract every candidate file and yield the results in batches, in any order.

    Several processes are used if there is enough work. If `workers` is None, extraction runs in this process and cannot
    be stopped, so this is safe only for trusted files.
    """
    batches = _group_into_batches(candidates)
    if workers is None:
        for batch in batches:
            yield [extract_file(root, indexers, candidate) for candidate in batch]
        return
    run = _ExtractionRun(root, tuple(indexers), workers)
    is_parallel = sum(candidate.stamp.size for candidate in candidates) >= PARALLEL_BYTES and len(batches) > 1
    yield from run.run_in_parallel(batches) if is_parallel else run.run_in_order(batches)


def warm_up(root: Path, indexers: Sequence[Indexer], workers: ProcessPool) -> None:
    """Start a child process before it is needed, so that it has already imported the modules for extraction."""
    workers.start_ahead(extract_file, root, tuple(indexers))


@dataclass(slots=True)
class _ExtractionRun:
    """State of one extraction run."""

    root: Path
    indexers: tuple[Indexer, ...]
    workers: ProcessPool
    separate_attempts: int = field(default=0)
    failed_text_attempts: int = field(default=0)

    def run_in_order(self, batches: Sequence[Batch]) -> Generator[list[Extracted]]:
        """Extract the batches one after another in one child process."""
        for batch in batches:
            replies = self.workers.run_each(extract_file, (self.root, self.indexers), batch, _limits_for)
            yield [self._handle_reply(candidate, reply) for candidate, reply in zip(batch, replies, strict=True)]

    def run_in_parallel(self, batches: Sequence[Batch]) -> Generator[list[Extracted]]:
        """Extract the batches at the same time in several child processes."""
        for replies in self.workers.run_batches(extract_file, (self.root, self.indexers), batches, _limits_for):
            yield [self._handle_reply(candidate, reply) for candidate, reply in replies]

    def _handle_reply(self, candidate: FileToRead, reply: Reply) -> Extracted:
        """Return the result in a child process's reply, after retrying or skipping a file whose extraction failed."""
        if isinstance(reply.error, ParserStopped):
            return self._retry_separately(candidate, reply.error)
        if reply.error is not None:
            return self._skip_file(candidate, "failed", f"{type(reply.error).__name__}: {reply.error}")
        extracted: Extracted = reply.value
        return extracted

    def _retry_separately(self, candidate: FileToRead, stopped: ParserStopped) -> Extracted:
        """Retry a file that exceeded its limits, with each indexer separately. Skip the file if all attempts fail."""
        self.separate_attempts += 1
        reason = SKIP_REASONS.get(type(stopped), "stopped")
        if self.separate_attempts > MAX_SEPARATE_ATTEMPTS:
            return self._extract_as_text(candidate, reason, stopped.message)
        parts = [self._extract_with(indexer, candidate, stopped.message) for indexer in self.indexers]
        for part in parts:
            if part.facts is None and not part.failure:
                return part  # the file was deleted during the retry, or is now skipped
        extracted_parts = [part for part in parts if part.facts is not None]
        if not extracted_parts or len({part.hash for part in extracted_parts}) > 1:
            return self._skip_file(candidate, reason, stopped.message)
        return replace(
            extracted_parts[0],
            facts=tuple(part.facts[0] if part.facts is not None else None for part in parts),
            failures=tuple(failure for part in parts for failure in part.failures),
        )

    def _extract_with(self, indexer: Indexer, candidate: FileToRead, reason: str) -> Extracted:
        """Extract a file with one indexer, or as plain text if the indexer exceeds the limits."""
        try:
            if len(self.indexers) > 1:  # a single indexer has already failed for this file
                return self._run_indexer(extract_file, indexer, candidate)
        except ParserStopped as exc:
            reason = exc.message
        failures = ((indexer.name, reason),)
        try:
            part = self._run_indexer(extract_as_text, indexer, candidate)
        except ParserStopped:
            return Extracted(candidate.path, candidate.stamp, 0, failures=failures, failure=reason)
        return part if part.facts is None and not part.failure else replace(part, failures=failures)

    def _extract_as_text(self, candidate: FileToRead, reason: str, message: str) -> Extracted:
        """Extract a file as plain text with all indexers at once, and skip the file if this also exceeds the limits."""
        if self.failed_text_attempts >= MAX_SEPARATE_ATTEMPTS:
            return self._skip_file(candidate, reason, message)
        try:
            extracted_parts = self.workers.run(
                extract_as_text, self.root, self.indexers, candidate, limits=_limits_for(candidate)
            )
        except ParserStopped:
            self.failed_text_attempts += 1
            return self._skip_file(candidate, reason, message)
        if extracted_parts.facts is None:
            return extracted_parts
        return replace(extracted_parts, failures=tuple((indexer.name, message) for indexer in self.indexers))

    def _run_indexer(self, function: Callable[..., Extracted], indexer: Indexer, candidate: FileToRead) -> Extracted:
        return self.workers.run(function, self.root, (indexer,), candidate, limits=_limits_for(candidate))

    def _skip_file(self, candidate: FileToRead, reason: str, failure: str) -> Extracted:
        """Return a result that skips the file until its content changes."""
        try:
            now = self.workers.run(fingerprint, self.root, candidate, limits=_limits_for(candidate))
        except ParserStopped:
            now = Extracted(candidate.path, candidate.stamp, 0)
        if now.stamp != candidate.stamp:
            # The file has changed since it was read, so the new hash does not belong to the content that failed.
            now = Extracted(candidate.path, candidate.stamp, 0)
        return replace(now, skip_reason=reason, failure=failure)


def _limits_for(candidate: FileToRead) -> TaskLimits:
    return file_limits(candidate.stamp.size)


def _group_into_batches(candidates: Sequence[FileToRead]) -> list[Batch]:
    """Group candidates into batches of similar size, keeping their order."""
    batches: list[Batch] = []
    size = BATCH_BYTES
    for candidate in candidates:
        if size >= BATCH_BYTES or len(batches[-1]) >= BATCH_FILES:
            batches.append([])
            size = 0
        batches[-1].append(candidate)
        size += candidate.stamp.size
    return batches
