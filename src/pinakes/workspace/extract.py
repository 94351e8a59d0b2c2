"""Read, parse and extract files: the part of indexing that runs in worker processes and touches no database."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinakes.workspace.admission import Admitted, admit
from pinakes.workspace.indexer import Indexer, ParsedFile
from pinakes.workspace.walk import Stamp, stamp

if TYPE_CHECKING:
    from pinakes.languages.table import Language

MAX_WORKERS = 4
BATCH_BYTES = 400_000
BATCH_FILES = 64
# Below this much source, starting processes costs more than it saves.
PARALLEL_BYTES = 1_500_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that may have changed; `known_hash` is what was indexed of it, empty when nothing was."""

    path: str
    stamp: Stamp
    known_hash: bytes = b""


@dataclass(frozen=True, slots=True)
class Extracted:
    """What came of one candidate: facts per indexer, or a reason to skip it, or neither when its content is unchanged."""

    path: str
    stamp: Stamp
    seen_at_ns: int
    hash: bytes = b""
    language: str = ""
    lines: int = 0
    facts: tuple[Any, ...] | None = None
    skip_reason: str = ""
    error: str = ""


def extract_all(root: Path, candidates: Sequence[Candidate], indexers: Sequence[Indexer]) -> Iterator[list[Extracted]]:
    """Extract every candidate, batch by batch in any order; in processes when there is much to do."""
    batches = _batches(candidates)
    if sum(candidate.stamp.size for candidate in candidates) < PARALLEL_BYTES or len(batches) < 2:
        for batch in batches:
            yield extract_batch(root, batch, indexers)
    else:
        yield from _extract_in_processes(root, batches, indexers)


def extract_batch(root: Path, batch: Sequence[Candidate], indexers: Sequence[Indexer]) -> list[Extracted]:
    """Extract some candidates here and now."""
    return [_extract(root, candidate, indexers) for candidate in batch]


def _extract(root: Path, candidate: Candidate, indexers: Sequence[Indexer]) -> Extracted:
    seen_at_ns = time.time_ns()
    current = stamp(root / candidate.path)
    if current is None:
        return Extracted(candidate.path, candidate.stamp, seen_at_ns, skip_reason="vanished")
    admitted = admit(root, candidate.path, current.size)
    if isinstance(admitted, str):
        return Extracted(candidate.path, current, seen_at_ns, skip_reason=admitted)
    digest = hashlib.sha256(admitted.data).digest()
    if digest == candidate.known_hash:
        return Extracted(candidate.path, current, seen_at_ns, hash=digest)
    return _parse(candidate.path, current, seen_at_ns, digest, admitted, indexers)


def _parse(
    path: str, current: Stamp, seen_at_ns: int, digest: bytes, admitted: Admitted, indexers: Sequence[Indexer]
) -> Extracted:
    file = parse_file(path, admitted)
    return Extracted(
        path,
        current,
        seen_at_ns,
        hash=digest,
        language=file.language.name if file.language else "",
        lines=file.data.count(b"\n") + (not file.data.endswith(b"\n")),
        facts=tuple(indexer.extract(file) for indexer in indexers),
    )


def parse_file(path: str, admitted: Admitted) -> ParsedFile:
    """Parse content with the grammar of its language, if there is one."""
    return ParsedFile(path, admitted.data, admitted.language, _tree(admitted.language, admitted.data))


def _tree(language: Language | None, data: bytes) -> Any:
    if language is None:
        return None
    from pinakes.languages.grammar import parse  # deferred: loads the parser library only where something is parsed

    return parse(language, data)


def _batches(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Groups of similar cost; neighbours stay together."""
    batches: list[list[Candidate]] = []
    size = BATCH_BYTES
    for candidate in candidates:
        if size >= BATCH_BYTES or len(batches[-1]) >= BATCH_FILES:
            batches.append([])
            size = 0
        batches[-1].append(candidate)
        size += candidate.stamp.size
    return batches


def _extract_in_processes(
    root: Path, batches: list[list[Candidate]], indexers: Sequence[Indexer]
) -> Iterator[list[Extracted]]:
    """Run batches in a pool; a file that kills its worker is found by itself and reported, the others go on."""
    suspects: list[Candidate] = []
    todo = iter(batches)
    with _pool(len(batches)) as pool:
        running: dict[Future[list[Extracted]], list[Candidate]] = {}
        broken = False
        while True:
            while not broken and len(running) < MAX_WORKERS * 2 and (batch := next(todo, None)):
                try:
                    running[pool.submit(extract_batch, root, batch, tuple(indexers))] = batch
                except BrokenProcessPool:
                    broken = True
                    suspects += batch
            if not running:
                break
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                batch = running.pop(future)
                try:
                    yield future.result()
                except BrokenProcessPool:
                    broken = True
                    suspects += batch
    for batch in todo:
        suspects += batch
    for candidate in suspects:
        yield [_extract_alone(root, candidate, indexers)]


def _extract_alone(root: Path, candidate: Candidate, indexers: Sequence[Indexer]) -> Extracted:
    """One file in a process of its own, so that a crash names its culprit."""
    with _pool(1) as pool:
        try:
            return pool.submit(extract_batch, root, [candidate], tuple(indexers)).result()[0]
        except BrokenProcessPool:
            return Extracted(
                candidate.path, candidate.stamp, time.time_ns(), skip_reason="parser crashed", error="its parser crashed"
            )


def _pool(tasks: int) -> ProcessPoolExecutor:
    workers = min(MAX_WORKERS, os.cpu_count() or 1, tasks)
    # Never fork: a server that calls us runs threads.
    return ProcessPoolExecutor(max_workers=workers, mp_context=get_context("spawn"), initializer=_ignore_interrupt)


def _ignore_interrupt() -> None:
    """Leave Ctrl-C to the parent, which stops us in an orderly way."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
