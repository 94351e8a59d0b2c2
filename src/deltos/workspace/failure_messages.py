"""Messages about files that could not be read, with paths, indexers and reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.store.project import FailedFile

_MAX_NAMED_FILES = 3
_MAX_REASON_CHARACTERS = 80
# Descriptions of failures, keyed by the name of the indexer.
_FAILURE_PHRASES = {
    "": "could not be read",
    "code": "could not be read by code search",
    "graph": "could not be read by the graph",
    "graph/edges": "could not be resolved by the graph and have no outgoing edges",
}


def describe_failure(failure: FailedFile) -> str:
    """Return a description of one failure on one line."""
    return f"{failure.path}: {f'{_failure_phrase(failure.indexer)}: ' if failure.indexer else ''}{failure.reason}"


def failure_notes(failures: Iterable[FailedFile], indexer: str = "") -> tuple[str, ...]:
    """Return notes about files that `indexer` could not read. If it is empty, include the failures of all indexers.

    Files that no indexer could read are always included.
    """
    relevant = [failure for failure in failures if not indexer or failure.indexer.split("/")[0] in ("", indexer)]
    return tuple(f"Note: {summary}." for summary in failure_summaries(relevant))


def failure_summaries(failures: Iterable[FailedFile]) -> list[str]:
    """Return one line per indexer with the number and the names of failed files."""
    by_indexer: dict[str, list[FailedFile]] = {}
    for failure in failures:
        by_indexer.setdefault(failure.indexer, []).append(failure)
    return [_summarise_indexer(indexer, group) for indexer, group in by_indexer.items()]


def _summarise_indexer(indexer: str, failures: Sequence[FailedFile]) -> str:
    named = ", ".join(f"{failure.path} ({_shorten_reason(failure.reason)})" for failure in failures[:_MAX_NAMED_FILES])
    count = len(failures)
    more = f" and {count - _MAX_NAMED_FILES} more" if count > _MAX_NAMED_FILES else ""
    return f"{count} {'file' if count == 1 else 'files'} {_failure_phrase(indexer)}: {named}{more}"


def _failure_phrase(indexer: str) -> str:
    return _FAILURE_PHRASES.get(indexer, f"could not be read by {indexer}")


def _shorten_reason(reason: str) -> str:
    return reason if len(reason) <= _MAX_REASON_CHARACTERS else reason[: _MAX_REASON_CHARACTERS - 1] + "…"
