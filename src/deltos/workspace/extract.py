"""Read, parse and extract one file: runs in a child process and touches no database. Leaves children to `batches`."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from deltos.files import FileTree
from deltos.store.contents import pack
from deltos.workspace.admission import Admitted, admit
from deltos.workspace.indexer import Indexer, ParsedFile
from deltos.workspace.walk import Stamp, stamp

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import tree_sitter

    from deltos.languages.table import Language

_REASON_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class FileToRead:
    """A file that may have changed; `known_hash` is what was read of it before, empty when nothing was."""

    path: str
    stamp: Stamp
    known_hash: bytes = b""
    is_kept: bool = False  # its content too


@dataclass(frozen=True, slots=True)
class Extracted:
    """What came of one candidate: facts per indexer, or a reason to skip it, or neither if its content is unchanged.

    `failures` are the names of indexers that could not read the whole file, each with its reason. Their facts are those
    of the part that was parsed, or of plain text; None where even that failed. `failure` is why a file is skipped that
    ought to have been read.
    """

    path: str
    stamp: Stamp
    seen_at_ns: int
    hash: bytes = b""
    language: str = ""
    lines: int = 0
    facts: tuple[Any, ...] | None = None
    failures: tuple[tuple[str, str], ...] = ()
    skip_reason: str = ""
    failure: str = ""
    content: bytes = b""
    is_generated: bool = False


def extract_file(root: Path, indexers: Sequence[Indexer], candidate: FileToRead, *, as_text: bool = False) -> Extracted:
    """Extract one candidate here and now; `as_text` without its language."""
    blank, admitted = _look(root, candidate, with_generated=any(indexer.reads_generated for indexer in indexers))
    if admitted is None or blank.hash == candidate.known_hash:
        return blank
    language = None if as_text else admitted.language
    try:
        file = parse_file(blank.path, Admitted(admitted.data, language))
        broken = _unread(file)
    except MemoryError:
        raise
    except Exception as exc:  # noqa: BLE001 (whatever is wrong with one file must not stop the run: it is reported)
        file, broken = ParsedFile(blank.path, admitted.data, None, None), reason_of(exc)
    read = [
        _read(indexer, file, broken) if indexer.reads_generated or not admitted.is_generated else (None, "")
        for indexer in indexers
    ]
    failures = tuple((indexer.name, reason) for indexer, (_, reason) in zip(indexers, read, strict=True) if reason)
    if failures and all(facts is None for facts, _ in read):
        return replace(blank, skip_reason="failed", failure=failures[0][1], failures=failures)
    return replace(
        blank,
        language=admitted.language.name if admitted.language else "",
        lines=file.data.count(b"\n") + (not file.data.endswith(b"\n")),
        facts=tuple(facts for facts, _ in read),
        failures=failures,
        content=pack(admitted.data) if candidate.is_kept else b"",
        is_generated=admitted.is_generated,
    )


def extract_as_text(root: Path, indexers: Sequence[Indexer], candidate: FileToRead) -> Extracted:
    """Extract one candidate without its language."""
    return extract_file(root, indexers, candidate, as_text=True)


def look_at(root: Path, candidate: FileToRead) -> Extracted:
    """A candidate's stamp and hash as they are now, without reading anything into it."""
    return _look(root, candidate, with_generated=True)[0]


def parse_file(path: str, admitted: Admitted) -> ParsedFile:
    """Parse content with the grammar of its language, if there is one."""
    return ParsedFile(path, admitted.data, admitted.language, _tree(admitted.language, admitted.data))


def _unread(file: ParsedFile) -> str:
    """Why only the beginning of a file was parsed; empty where all of it was."""
    if file.tree is None or file.tree.root_node.end_byte >= len(file.data.rstrip()):
        return ""
    line, lines = file.data.count(b"\n", 0, file.tree.root_node.end_byte) + 1, file.data.count(b"\n") + 1
    return f"its syntax is so broken that it was parsed to line {line:,} of {lines:,} only"


def _look(root: Path, candidate: FileToRead, *, with_generated: bool) -> tuple[Extracted, Admitted | None]:
    """The candidate as it is now, with its content if that is worth indexing, else with the reason why not."""
    seen_at_ns = time.time_ns()
    with FileTree(root) as tree:
        current = stamp(tree, candidate.path)
        if current is None:
            return Extracted(candidate.path, candidate.stamp, seen_at_ns, skip_reason="vanished"), None
        admitted = admit(tree, candidate.path, current.size, with_generated=with_generated)
    blank = Extracted(candidate.path, current, seen_at_ns)
    if isinstance(admitted, str):
        return replace(blank, skip_reason=admitted), None
    return replace(blank, hash=hashlib.sha256(admitted.data).digest()), admitted


def _read(indexer: Indexer, file: ParsedFile, broken: str) -> tuple[Any, str]:
    """An indexer's facts, and why they are only those of plain text, or none at all."""
    reason = broken
    for attempt in (file, ParsedFile(file.path, file.data, None, None)):
        try:
            return indexer.extract(attempt), reason
        except MemoryError:
            raise
        except Exception as exc:  # noqa: BLE001 (each indexer fails alone, and is named)
            reason = reason or reason_of(exc)
    return None, reason


def reason_of(exc: Exception) -> str:
    """What is told of an error, in one line."""
    said = " ".join(str(exc).split())
    return f"{type(exc).__name__}: {said}"[:_REASON_CHARACTERS]


def _tree(language: Language | None, data: bytes) -> tree_sitter.Tree | None:
    if language is None:
        return None
    from deltos.languages.grammar import parse  # deferred: loads the parser library where something is parsed

    return parse(language, data)
