"""How files that could not be read are told to people and agents: by name, by whom, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.store.project import FailedFile

_NAMED = 3
_REASON_CHARACTERS = 80
# What an indexer could not do, as people know it.
_TROUBLES = {
    "": "could not be read",
    "code": "could not be read by code search",
    "graph": "could not be read by the graph",
    "graph/edges": "could not be resolved by the graph, which has no edges from there",
}


def describe(failure: FailedFile) -> str:
    """One failure in one line."""
    return f"{failure.path}: {f'{_trouble(failure.indexer)}: ' if failure.indexer else ''}{failure.reason}"


def failure_notes(failures: Iterable[FailedFile], indexer: str = "") -> tuple[str, ...]:
    """Short notes on what an indexer, or any where none is named, could not read, and on what none could."""
    concerned = [failure for failure in failures if not indexer or failure.indexer.split("/")[0] in ("", indexer)]
    return tuple(f"Note: {summary}." for summary in summaries(concerned))


def summaries(failures: Iterable[FailedFile]) -> list[str]:
    """For each indexer that could not read some files, how many and a few by name."""
    by_indexer: dict[str, list[FailedFile]] = {}
    for failure in failures:
        by_indexer.setdefault(failure.indexer, []).append(failure)
    return [_summary(indexer, group) for indexer, group in by_indexer.items()]


def _summary(indexer: str, failures: Sequence[FailedFile]) -> str:
    named = ", ".join(f"{failure.path} ({_shortened(failure.reason)})" for failure in failures[:_NAMED])
    count = len(failures)
    more = f" and {count - _NAMED} more" if count > _NAMED else ""
    return f"{count} {'file' if count == 1 else 'files'} {_trouble(indexer)}: {named}{more}"


def _trouble(indexer: str) -> str:
    return _TROUBLES.get(indexer, f"could not be read by {indexer}")


def _shortened(reason: str) -> str:
    return reason if len(reason) <= _REASON_CHARACTERS else reason[: _REASON_CHARACTERS - 1] + "…"
