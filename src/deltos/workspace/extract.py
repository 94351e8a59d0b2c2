"""Reading, parsing and extraction of one file in a child process, without access to the database."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from deltos import wording
from deltos.files import FileTree
from deltos.store.content_compression import pack
from deltos.workspace.admission import Admitted, admit
from deltos.workspace.indexer import Indexer, ParsedFile
from deltos.workspace.walk import Stamp, stamp

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import tree_sitter

    from deltos.languages.table import Language

_MAX_REASON_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class FileToRead:
    """A file that may have changed. `known_hash` is the hash of the content in the index, or empty for a new file."""

    path: str
    stamp: Stamp
    known_hash: bytes = b""
    keeps_content: bool = False  # whether the index also stores the content


@dataclass(frozen=True, slots=True)
class Extracted:
    """Result for one file: facts of each indexer, a reason to skip the file, or neither if the content is unchanged.

    Facts are the data that an indexer extracts. `failures` contains the name of each indexer that could not parse the
    entire file, and the reason. The facts of such an indexer come from the parsed part or from plain text, or are
    missing. `failure` is the error that caused the file to be skipped.
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
    """Extract the facts of one file in this process. If `as_text` is true, treat the file as plain text."""
    blank, admitted = _admit_candidate(
        root, candidate, with_generated=any(indexer.reads_generated for indexer in indexers)
    )
    if admitted is None or blank.hash == candidate.known_hash:
        return blank
    language = None if as_text else admitted.language
    try:
        file = parse_file(blank.path, Admitted(admitted.data, language))
        parse_error_note = _parse_error_note(file)
    except MemoryError:
        raise
    except Exception as exc:  # noqa: BLE001 (one bad file must not stop the run: it is reported)
        file, parse_error_note = ParsedFile(blank.path, admitted.data, None, None), describe_error(exc)
    read = [
        _extract_facts(indexer, file, parse_error_note)
        if indexer.reads_generated or not admitted.is_generated
        else (None, "")
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
        content=pack(admitted.data) if candidate.keeps_content else b"",
        is_generated=admitted.is_generated,
    )


def extract_as_text(root: Path, indexers: Sequence[Indexer], candidate: FileToRead) -> Extracted:
    """Extract the facts of one file, treating the file as plain text."""
    return extract_file(root, indexers, candidate, as_text=True)


def fingerprint(root: Path, candidate: FileToRead) -> Extracted:
    """Return a file's current stamp (size and times) and content hash without parsing the file."""
    return _admit_candidate(root, candidate, with_generated=True)[0]


def parse_file(path: str, admitted: Admitted) -> ParsedFile:
    """Parse the content of a file with the grammar of its language.

    Without a grammar, the result has no syntax tree.
    """
    return ParsedFile(path, admitted.data, admitted.language, _parse_tree(admitted.language, admitted.data))


def _parse_error_note(file: ParsedFile) -> str:
    """Return why only the beginning of a file was parsed, or an empty string if the entire file was parsed."""
    if file.tree is None or file.tree.root_node.end_byte >= len(file.data.rstrip()):
        return ""
    line, lines = file.data.count(b"\n", 0, file.tree.root_node.end_byte) + 1, file.data.count(b"\n") + 1
    return wording.parse_error(line, lines).removesuffix(".")


def _admit_candidate(root: Path, candidate: FileToRead, *, with_generated: bool) -> tuple[Extracted, Admitted | None]:
    """Return a result with the file's stamp and hash, and the file's content or None if the file is skipped."""
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


def _extract_facts(indexer: Indexer, file: ParsedFile, parse_error_note: str) -> tuple[Any, str]:
    """Return the facts that an indexer extracts, and why they are incomplete.

    The facts are None if even extraction from plain text fails.
    """
    reason = parse_error_note
    for attempt in (file, ParsedFile(file.path, file.data, None, None)):
        try:
            return indexer.extract(attempt), reason
        except MemoryError:
            raise
        except Exception as exc:  # noqa: BLE001 (the failure of one indexer is recorded)
            reason = reason or describe_error(exc)
    return None, reason


def describe_error(exc: Exception) -> str:
    """Return the type and message of an error as one truncated line."""
    message = " ".join(str(exc).split())
    return f"{type(exc).__name__}: {message}"[:_MAX_REASON_CHARACTERS]


def _parse_tree(language: Language | None, data: bytes) -> tree_sitter.Tree | None:
    if language is None:
        return None
    # Deferred import: the parser library is loaded only when a file is parsed.
    from deltos.languages.grammar import parse

    return parse(language, data)
