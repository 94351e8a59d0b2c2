"""Compare search_code with ripgrep, plain FTS5 and semble by NDCG@10 and by the tokens read until the right file is
found.

    python -m benchmarks.code_search [relevance] [tokens]

The figures for Deltos are cross-validated: each repository is ranked with weights learned from the others.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
import statistics
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from benchmarks.code_dataset import Query, lay_out, matches_target, ndcg, open_index, queries, questions, subjects
from benchmarks.index_speed import SEMBLE
from benchmarks.paths import REPOSITORY
from benchmarks.processes import environment_with
from benchmarks.train_code_ranker import cross_validate, examples, weights_without_repository
from deltos.budget import estimate_tokens
from deltos.domains.code.present.render import render_hits
from deltos.domains.code.search import CodeSearch
from deltos.ranking import LinearRanker
from deltos.store.code import FileScope
from deltos.store.sqlite.fts_query import any_of
from deltos.text.stop_words import QUESTION_WORDS, STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

TOKEN_BUDGET = 5_000
NOT_FOUND = math.inf
SYSTEMS = ("ripgrep keywords", "plain FTS5", "semble, BM25 and ranking", "deltos")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The ranked paths that one search tool returned for one query."""

    system: str
    query: Query
    paths: list[str]

    @property
    def score(self) -> float:
        """NDCG@10."""
        return ndcg(self.paths, self.query.targets)


def main() -> None:
    """Print the tables."""
    tables = sys.argv[1:] or ["relevance", "tokens"]
    lay_out()
    asked = list(queries())
    found = examples(asked)
    weights = weights_without_repository(
        [*found, *examples(query for query in chain(questions(), subjects()) if not query.held_out)]
    )
    if "relevance" in tables:
        ours = [Outcome("deltos", query, paths) for query, paths in cross_validate(found, weights)]
        print_scores([*baseline_outcomes(asked), *ours])
        print()
    if "tokens" in tables:
        rankers = {repository: LinearRanker(tuple(vector)) for repository, vector in weights.items()}
        print_tokens([query for query in asked if query.set == "labelled"], rankers)


def baseline_outcomes(asked: Sequence[Query]) -> list[Outcome]:
    """Yield the results of ripgrep, plain FTS5 and semble for each repository."""
    outcomes: list[Outcome] = []
    for root, group in group_by_repository(asked).items():
        outcomes += [Outcome("ripgrep keywords", query, list(rank_by_keywords(query))) for query in group]
        outcomes += search_with_fts5(root, group)
        outcomes += search_with_semble(root, group)
    return outcomes


def group_by_repository(asked: Iterable[Query]) -> dict[Path, list[Query]]:
    """Group queries by repository."""
    groups: dict[Path, list[Query]] = defaultdict(list)
    for query in asked:
        groups[query.root].append(query)
    return groups


def keywords(text: str) -> list[str]:
    """Return the words of a query that a person would search for with grep."""
    words = re.findall(r"\w+", text)
    return [word for word in words if word.lower() not in STOP_WORDS | QUESTION_WORDS] or words


def rank_by_keywords(query: Query) -> dict[str, int]:
    """Rank files by their number of lines that contain a keyword."""
    patterns = [word for keyword in keywords(query.text) for word in ("-e", keyword)]
    command = ["rg", "--no-config", "--ignore-case", "--fixed-strings", "--count", "--with-filename", *patterns, "./"]
    listing = subprocess.run(command, cwd=query.root, capture_output=True, text=True, errors="replace").stdout
    counts = {}
    for line in listing.splitlines():
        path, _, count = line.rpartition(":")
        counts[path.removeprefix("./")] = int(count)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def search_with_fts5(root: Path, group: Sequence[Query]) -> list[Outcome]:
    """Rank files by their best chunk with SQLite's FTS5. Words are stemmed, and any word may match."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE chunk USING fts5 (path UNINDEXED, body, tokenize = 'porter unicode61')")
    store = open_index(root).code
    for file_id, path in store.paths(FileScope()):
        lines = (root / path).read_text("utf-8", "replace").split("\n")
        connection.executemany(
            "INSERT INTO chunk VALUES (?, ?)",
            [(path, "\n".join(lines[c.start_line - 1 : c.end_line])) for c in store.chunks_of_file(file_id)],
        )
    sql = "SELECT path FROM chunk WHERE chunk MATCH ? ORDER BY rank LIMIT 100"
    return [
        Outcome("plain FTS5", query, list(dict.fromkeys(row[0] for row in connection.execute(sql, (words,)))))
        for query in group
        if (words := any_of(keywords(query.text)))
    ]


def search_with_semble(root: Path, group: Sequence[Query]) -> list[Outcome]:
    """Rank files with semble, which runs without its embedding model."""
    command = [environment_with(SEMBLE), REPOSITORY / "benchmarks" / "semble_words.py", "search", root]
    asked = "\n".join(" ".join(query.text.split()) for query in group)
    done = subprocess.run([str(word) for word in command], input=asked, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return [Outcome("semble, BM25 and ranking", query, paths) for query, paths in zip(group, answers, strict=True)]


def print_scores(outcomes: Sequence[Outcome]) -> None:
    """Print a table with a row for each group of queries and a column for each search tool."""
    scores: dict[tuple[str, str], list[float]] = defaultdict(list)
    for outcome in outcomes:
        for group in groups_of(outcome.query):
            scores[group, outcome.system].append(outcome.score)
    print("NDCG@10\n")
    print(f"| queries | number | {' | '.join(SYSTEMS)} |")
    print(f"|---|--:|{'--:|' * len(SYSTEMS)}")
    for group in dict.fromkeys(group for group, _ in sorted(scores)):
        figures = " | ".join(f"{statistics.fmean(scores[group, system]):.3f}" for system in SYSTEMS)
        print(f"| {group} | {len(scores[group, SYSTEMS[-1]])} | {figures} |")


def groups_of(query: Query) -> list[str]:
    """Return the names of the groups that include a query."""
    groups = [f"{query.set}: all", f"{query.set}: {query.language}"]
    return [*groups, f"{query.set}, {query.category}"] if query.set == "labelled" else groups


def print_tokens(asked: Sequence[Query], rankers: dict[str, LinearRanker]) -> None:
    """Print how many tokens must be read until the right file is found, with ripgrep and with `search_code`."""
    ways: dict[str, Callable[[Query], float]] = {
        "ripgrep keywords, then whole files in order of matches": tokens_when_reading_files,
        "search_code": lambda query: tokens_when_searching(query, rankers[query.repository]),
    }
    print("| method | median tokens to the first relevant result | found within 5,000 tokens |")
    print("|---|--:|--:|")
    for name, way in ways.items():
        tokens = [way(query) for query in asked]
        share = sum(value <= TOKEN_BUDGET for value in tokens) / len(tokens)
        print(f"| {name} | {statistics.median(tokens):,.0f} | {share:.0%} |")


def tokens_when_reading_files(query: Query) -> float:
    """Return the total tokens of the ranked files, up to and including the right file."""
    read = 0
    for path in rank_by_keywords(query):
        read += estimate_tokens((query.root / path).read_text("utf-8", "replace"))
        if is_right(path, query):
            return read
    return NOT_FOUND


def tokens_when_searching(query: Query, ranker: LinearRanker) -> float:
    """Return the tokens of the answer, up to and including the first right result."""
    answer = CodeSearch(open_index(query.root), query.root.resolve(), ranker).search(query.text)
    text = render_hits(
        answer,
        query=query.text,
        project_id="",
        database_name="",
        latency_ms=0,
        concise=False,
        token_budget=TOKEN_BUDGET,
    ).text
    places = [(hit.path, text.find(f"{hit.path}:")) for hit in answer.hits]
    ends = [start for _, start in places[1:]] + [-1]
    for (path, start), end in zip(places, ends, strict=False):
        if start >= 0 and is_right(path, query):
            return estimate_tokens(text if end < 0 else text[:end])
    return NOT_FOUND


def is_right(path: str, query: Query) -> bool:
    """Return whether a path is one of the answers."""
    return any(matches_target(path, target) for target in query.targets)


if __name__ == "__main__":
    main()
