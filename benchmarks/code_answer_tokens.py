"""Measure the size of answers of `search_code`, and how often they show the right lines.

    python -m benchmarks.code_answer_tokens [--all] [--confidence] [--slots]

Asks the development questions of `questions/code.jsonl` about ten repositories in ten languages; with `--all`, about
all 48 development repositories. An answer names a target if the target's file is among the results, and shows it if the
excerpt of the first result contains a target line. `--confidence` prints the share of right first results by
confidence; `--slots` prints the share of results that are tests or prose.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.code_dataset import matches_target, open_index, questions
from deltos.budget import estimate_tokens
from deltos.domains.code.paths import is_prose
from deltos.domains.code.present.render import render_hits
from deltos.domains.code.search import CodeSearch
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.code_dataset import Query
    from deltos.domains.code.model import CodeAnswer
    from deltos.tool import Answer, JsonObject

TOKEN_BUDGET = 5_000
REPOSITORIES = (
    "simonw/datasette PyCQA/bandit slimphp/Slim serilog/serilog casey/just google/leveldb junegunn/fzf"
    " markedjs/marked jekyll/jekyll dropwizard/dropwizard"
).split()
CONFIDENCE_BOUNDARIES = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.01)


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question with its full and its concise answer."""

    query: Query
    answer: CodeAnswer
    full: Answer
    concise: Answer

    @property
    def named(self) -> list[bool]:
        """For each result of the full answer, whether it is in a right file."""
        return [is_right(result["file_path"], self.query) for result in _parse_results(self.full)]

    @property
    def shows_lines(self) -> bool:
        """Whether the first result is in a right file and shows a line of the target."""
        first = _parse_results(self.full)[:1]
        return any(_shows_target(result, self.query) for result in first)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--confidence", action="store_true")
    parser.add_argument("--slots", action="store_true")
    arguments = parser.parse_args()
    asked = list(_ask(None if arguments.all else {name.replace("/", "+") for name in REPOSITORIES}))
    print_sizes(asked)
    if arguments.confidence:
        print_confidence(asked)
    if arguments.slots:
        print_tests_and_prose(asked)


def is_right(path: str, query: Query) -> bool:
    """Return whether the path is one of the answers."""
    return any(matches_target(path, target) for target in query.targets)


def _ask(repositories: set[str] | None) -> Iterator[AnsweredQuestion]:
    for query in questions():
        if query.held_out or (repositories is not None and query.repository not in repositories):
            continue
        answer = CodeSearch(open_index(query.root), query.root.resolve()).search(query.text)
        yield AnsweredQuestion(
            query, answer, _render(answer, query, concise=False), _render(answer, query, concise=True)
        )


def _render(answer: CodeAnswer, query: Query, *, concise: bool) -> Answer:
    return render_hits(
        answer,
        query=query.text,
        project_id=query.repository,
        database_name="project.db",
        latency_ms=10,
        concise=concise,
        token_budget=TOKEN_BUDGET,
    )


def _parse_results(answer: Answer) -> list[JsonObject]:
    return answer.structured["results"] if answer.structured else []


def _shows_target(result: JsonObject, query: Query) -> bool:
    shown = range(result["start_line"], result["end_line"] + 1)
    return any(
        matches_target(result["file_path"], target) and "start" in target and _ranges_overlap(shown, target)
        for target in query.targets
    )


def _ranges_overlap(shown: range, target: dict[str, object]) -> bool:
    return shown.start <= int(str(target["end"])) and int(str(target["start"])) < shown.stop


def print_sizes(asked: Sequence[AnsweredQuestion]) -> None:
    """Print the tokens of full and concise answers, and the share of answers that name and show the target."""
    forms: dict[str, Callable[[AnsweredQuestion], str]] = {
        "text": lambda each: each.full.text,
        "text, concise": lambda each: each.concise.text,
        "structured": lambda each: json.dumps(each.full.structured, ensure_ascii=False),
        "structured, concise": lambda each: json.dumps(each.concise.structured, ensure_ascii=False),
    }
    print(f"{len(asked)} questions\n\n| form | median tokens | p90 tokens |\n|---|--:|--:|")
    for name, form in forms.items():
        tokens = [estimate_tokens(form(each)) for each in asked]
        print(f"| {name} | {statistics.median(tokens):,.0f} | {statistics.quantiles(tokens, n=10)[-1]:,.0f} |")
    shown = {
        "right file first": lambda each: each.named[:1] == [True],
        "right file named": lambda each: any(each.named),
        "right file first and target's lines in the excerpt": lambda each: each.shows_lines,
    }
    print("\n| | share of the questions |\n|---|--:|")
    for name, is_shown in shown.items():
        print(f"| {name} | {statistics.fmean(map(is_shown, asked)):.3f} |")
    print(f"\nresults per answer: {statistics.fmean(len(each.named) for each in asked):.1f}")


def print_confidence(asked: Sequence[AnsweredQuestion]) -> None:
    """Print the shares of answers with a right first result and with any right result, by confidence."""
    groups: dict[float, list[AnsweredQuestion]] = defaultdict(list)
    for each in asked:
        best = each.answer.hits[0].score if each.answer.hits else 0.0
        groups[max(bound for bound in CONFIDENCE_BOUNDARIES if bound <= best)].append(each)
    print("\n| confidence from | questions | right file first | right file named |\n|--:|--:|--:|--:|")
    for bound in sorted(groups):
        first = statistics.fmean(each.named[:1] == [True] for each in groups[bound])
        named = statistics.fmean(any(each.named) for each in groups[bound])
        print(f"| {bound:.2f} | {len(groups[bound])} | {first:.2f} | {named:.2f} |")


def print_tests_and_prose(asked: Sequence[AnsweredQuestion]) -> None:
    """Print how many results are tests or prose, and how many of them rank above the right file."""
    kinds: dict[str, Callable[[str], bool]] = {"test": is_test, "prose": is_prose}
    shown = [(each, [result["file_path"] for result in _parse_results(each.full)]) for each in asked]
    total = sum(len(paths) for _, paths in shown)
    print("\n| kind | share of results | first | before the right file, per question |\n|---|--:|--:|--:|")
    for name, is_kind in kinds.items():
        share = sum(is_kind(path) for _, paths in shown for path in paths) / total
        first = statistics.fmean(any(map(is_kind, paths[:1])) for _, paths in shown)
        before = statistics.fmean(
            sum(map(is_kind, paths[: each.named.index(True)])) for each, paths in shown if any(each.named)
        )
        print(f"| {name} | {share:.3f} | {first:.3f} | {before:.2f} |")


if __name__ == "__main__":
    main()
