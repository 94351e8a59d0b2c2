"""Measure the CPU time of a search in a warm process, over about 20 thousand and about 200 thousand chunks.

    python -m benchmarks.query_speed [REPOSITORY]

The repositories consist of source trees of the labelled benchmark and of packages from PyPI; the questions are about
the included trees. The times include matching, ranking and reading the results from disk. The check of the disk for
changed files is reported separately, because one check serves all searches within a second.

With a checkout of Django as REPOSITORY, `questions/django.txt` is asked with embeddings. The CPU time of embedding the
question is not included.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.code_dataset import Query, lay_out, projects, queries
from benchmarks.packages import unpack_wheel
from benchmarks.paths import REPOSITORY, SCRATCH
from deltos.domains.code.query.parse import parse_query
from deltos.domains.code.retrieve.chunk_similarity import query_vector
from deltos.domains.code.search import CodeSearch
from deltos.text.words import shared_words
from deltos.workspace.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Iterable

MEDIUM_TREES = ("redis", "tokio", "pandoc", "aiohttp", "fastapi")
PACKAGES = (
    "django==5.1.4",
    "sympy==1.13.3",
    "transformers==4.57.1",
    "twisted==24.11.0",
    "networkx==3.4.2",
    "sqlalchemy==2.0.36",
)
DISK_CHECKS = 20
DJANGO_QUESTIONS = REPOSITORY / "benchmarks" / "questions" / "django.txt"
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Figures:
    """CPU milliseconds of each search, and of one check of the disk for changes."""

    chunks: int
    lines: int
    questions: list[float]
    symbols: list[float]
    check: float


def main() -> None:
    """Print the table, or the figures of one repository."""
    if sys.argv[1:]:
        print_with_embeddings(Path(sys.argv[1]))
        return
    lay_out()
    print("| chunks | lines | questions p50 | questions p95 | names p50 | names p95 | check of the disk |")
    print("|--:|--:|--:|--:|--:|--:|--:|")
    for repository, asked in (medium_repository(), large_repository()):
        row = measure(repository, asked)
        figures = [quantile(values, share) for values in (row.questions, row.symbols) for share in (0.5, 0.95)]
        columns = " | ".join(f"{figure:.1f} ms" for figure in [*figures, row.check])
        print(f"| {row.chunks:,} | {row.lines:,} | {columns} |")


def medium_repository() -> tuple[Path, list[Query]]:
    """Return a repository of about 20 thousand chunks in five languages, and questions about it."""
    asked = [query for query in queries() if query.set == "labelled" and query.repository in MEDIUM_TREES]
    return compose_repository("medium", {query.repository: query.root for query in asked}), asked


def large_repository() -> tuple[Path, list[Query]]:
    """Return about 200 thousand chunks from all labelled trees and large packages, and questions."""
    asked = [query for query in queries() if query.set == "labelled"]
    parts = {query.repository: query.root for query in asked}
    return compose_repository("large", parts | {name.partition("=")[0]: unpack_wheel(name) for name in PACKAGES}), asked


def compose_repository(name: str, parts: dict[str, Path]) -> Path:
    """Create one repository from several source trees. Files are hard-linked if possible."""
    target = SCRATCH / name
    for part, source in parts.items():
        if not (target / part).exists():
            shutil.copytree(source.resolve(), target / part, copy_function=_link_tree, symlinks=True)
    return target


def _link_tree(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def measure(repository: Path, asked: Iterable[Query]) -> Figures:
    """Index a repository, run all queries once without measuring them, then run them again and measure them."""
    index = projects().index_of(repository)
    index.index()
    search = CodeSearch(index.store, index.project.root)
    times: dict[bool, list[float]] = {True: [], False: []}
    for round_counts in (False, True):
        for query in asked:
            started = time.process_time()
            search.search(query.text)
            if round_counts:
                times[query.category == "symbol"].append((time.process_time() - started) * 1000)
    watch = Watch(index.project.root, index.store)
    checks = []
    for _ in range(DISK_CHECKS):
        started = time.process_time()
        watch.sees_change(index.store.facts().synced_at)
        checks.append((time.process_time() - started) * 1000)
    return Figures(
        index.store.code.chunk_count(), index.store.totals().lines, times[False], times[True], statistics.median(checks)
    )


def print_with_embeddings(repository: Path) -> None:
    """Print the CPU time of the first question in this process, and that of warm questions."""
    index = projects().index_of(repository.resolve())
    index.index()
    search = CodeSearch(index.store, index.project.root)
    questions = DJANGO_QUESTIONS.read_text("utf-8").splitlines()
    started = time.process_time()
    search.search(questions[0])
    first = (time.process_time() - started) * 1000
    times = []
    for number in range(ROUNDS + 1):
        for question in questions:
            query = parse_query(question, shared_words())
            query_vector(query.text, " ".join(query.terms))  # cached, so that the measured search does not embed
            started = time.process_time()
            search.search(question)
            times += [(time.process_time() - started) * 1000] if number else []
    print(f"{index.store.code.chunk_count():,} chunks: first question {first:.0f} ms;", end=" ")
    print(f"p50 {quantile(times, 0.5):.1f} ms, p95 {quantile(times, 0.95):.1f} ms")


def quantile(values: list[float], share: float) -> float:
    """Return the value below which a share of the values lies."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


if __name__ == "__main__":
    main()
