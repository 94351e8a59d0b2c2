"""Read, parse and extract files: the part of indexing that touches no database. Leaves processes to `workers`."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from deltos.files import FileTree
from deltos.workspace.admission import Admitted, admit
from deltos.workspace.indexer import Indexer, ParsedFile
from deltos.workspace.walk import Stamp, stamp

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

    import tree_sitter

    from deltos.languages.table import Language

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
    """What came of one candidate: facts per indexer, or a reason to skip it, or neither if its content is unchanged."""

    path: str
    stamp: Stamp
    seen_at_ns: int
    hash: bytes = b""
    language: str = ""
    lines: int = 0
    facts: tuple[Any, ...] | None = None
    skip_reason: str = ""
    error: str = ""


Batch: TypeAlias = "list[Candidate]"


def extract_all(root: Path, candidates: Sequence[Candidate], indexers: Sequence[Indexer]) -> Generator[list[Extracted]]:
    """Extract every candidate, batch by batch in any order; in processes when there is much to do."""
    batches = _batches(candidates)
    if sum(candidate.stamp.size for candidate in candidates) < PARALLEL_BYTES or len(batches) < 2:
        for batch in batches:
            yield extract_batch(root, batch, indexers)
    else:
        from deltos.workspace.workers import extract_in_processes  # deferred: small changes need no processes

        yield from extract_in_processes(root, batches, tuple(indexers))


def extract_batch(root: Path, batch: Sequence[Candidate], indexers: Sequence[Indexer]) -> list[Extracted]:
    """Extract some candidates here and now."""
    with FileTree(root) as tree:
        return [_extract(tree, candidate, indexers) for candidate in batch]


def parse_file(path: str, admitted: Admitted) -> ParsedFile:
    """Parse content with the grammar of its language, if there is one."""
    return ParsedFile(path, admitted.data, admitted.language, _tree(admitted.language, admitted.data))


def _extract(tree: FileTree, candidate: Candidate, indexers: Sequence[Indexer]) -> Extracted:
    seen_at_ns = time.time_ns()
    current = stamp(tree, candidate.path)
    if current is None:
        return Extracted(candidate.path, candidate.stamp, seen_at_ns, skip_reason="vanished")
    blank = Extracted(candidate.path, current, seen_at_ns)
    admitted = admit(tree, candidate.path, current.size)
    if isinstance(admitted, str):
        return replace(blank, skip_reason=admitted)
    digest = hashlib.sha256(admitted.data).digest()
    if digest == candidate.known_hash:
        return replace(blank, hash=digest)
    try:
        return _parse(replace(blank, hash=digest), admitted, indexers)
    except Exception as exc:  # noqa: BLE001 (whatever is wrong with one file must not stop the run: it is reported)
        return replace(blank, skip_reason="failed", error=f"{type(exc).__name__}: {exc}")


def _parse(blank: Extracted, admitted: Admitted, indexers: Sequence[Indexer]) -> Extracted:
    file = parse_file(blank.path, admitted)
    return replace(
        blank,
        language=file.language.name if file.language else "",
        lines=file.data.count(b"\n") + (not file.data.endswith(b"\n")),
        facts=tuple(indexer.extract(file) for indexer in indexers),
    )


def _tree(language: Language | None, data: bytes) -> tree_sitter.Tree | None:
    if language is None:
        return None
    from deltos.languages.grammar import (
        parse,
    )  # deferred: loads the parser library only where something is parsed

    return parse(language, data)


def _batches(candidates: Sequence[Candidate]) -> list[Batch]:
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
