"""Measure how often a commit is found by a question that consists of words of the commit's subject.

    python -m benchmarks.history_answers REPOSITORY …

Questions are subjects of commits, chosen by commit id: unchanged, preceded by `when did we`, and without every third
word. Another commit with the same subject counts as right. Half of the commits (by the last digit of the id) is held
out.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.domains.history.index import HistoryIndexer
from deltos.domains.history.search import search_commits
from deltos.isolated.process_pool import ProcessPool
from deltos.model import Project
from deltos.open_stores import open_projects
from deltos.progress import Silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from deltos.store.history import CommitRow, History

_COMMITS_PER_HALF = 100  # number of commits per repository in each half
_MIN_WORDS, _MAX_WORDS = 3, 12
_MAX_RESULTS = 5
_PULL_REQUEST_NUMBER = re.compile(r"\s*\(#\d+\)$")
_HALVES = {"development": "01234567", "held-out": "89abcdef"}


def main() -> None:
    """Print a table, one row per repository and half."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--half", choices=[*_HALVES, "both"], default="both")
    asked = parser.parse_args()
    titles = ("repository", "commits asked for", *(f"{name}: first / in {_MAX_RESULTS}" for name in _QUESTION_FORMS))
    print(f"| {' | '.join(titles)} |\n|---{'|--:' * (len(titles) - 1)}|")
    for root in asked.repositories:
        with (
            tempfile.TemporaryDirectory() as home,
            closing(open_projects(Path(home)).store_of(root.resolve())) as store,
        ):
            with closing(ProcessPool()) as workers:
                project = Project(root.resolve(), "benchmark")
                HistoryIndexer(workers=workers, makes_vectors=False).catch_up(project, store, Silent())
            for half in _HALVES if asked.half == "both" else [asked.half]:
                print(_measure_half(f"{root.name}, {half}", store.history, _HALVES[half]), flush=True)


def _measure_half(name: str, history: History, last_digits: str) -> str:
    rows = history.commits_in([], limit=50_000)
    commits = sorted(_usable_commits([row for row in rows if row.hash[-1] in last_digits]), key=lambda row: row.hash)[
        :_COMMITS_PER_HALF
    ]
    cells = []
    for form in _QUESTION_FORMS.values():
        places = [_position(history, form(_subject_terms(commit)), commit) for commit in commits]
        first, shown = sum(place == 0 for place in places), sum(place < _MAX_RESULTS for place in places)
        cells.append(f"{first} / {shown}")
    return f"| {name} | {len(commits)} | {' | '.join(cells)} |"


def _usable_commits(rows: Sequence[CommitRow]) -> Iterator[CommitRow]:
    for row in rows:
        if not row.is_merge and _MIN_WORDS <= len(_subject_terms(row).split()) <= _MAX_WORDS:
            yield row


def _subject_terms(commit: CommitRow) -> str:
    return _PULL_REQUEST_NUMBER.sub("", commit.subject).rstrip(".")


def _position(history: History, question: str, commit: CommitRow) -> int:
    found = search_commits(history, question, datetime.now(UTC), limit=_MAX_RESULTS)
    subjects = [_subject_terms(hit.commit) for hit in found.hits]
    return subjects.index(_subject_terms(commit)) if _subject_terms(commit) in subjects else _MAX_RESULTS


def _as_when_question(subject: str) -> str:
    return f"when did we {subject[:1].lower()}{subject[1:]}"


def _drop_every_third_word(subject: str) -> str:
    return " ".join(word for place, word in enumerate(subject.split()) if place % 3 != 1)


_QUESTION_FORMS: dict[str, Callable[[str], str]] = {
    "word for word": str,
    "when did we": _as_when_question,
    "in fewer words": _drop_every_third_word,
}

if __name__ == "__main__":
    main()
