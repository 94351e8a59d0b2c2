"""Tables of trial results: success, calls and tokens, by kind of task and by setup."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean
from typing import TYPE_CHECKING

from benchmarks.agents.tasks import KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.agents.look_log import Cost
    from benchmarks.agents.scoring import Score
    from benchmarks.agents.tasks import Task


@dataclass(frozen=True, slots=True)
class Result:
    """Result of one task in one setup."""

    task: Task
    setup: str
    score: Score
    cost: Cost


def format_result(result: Result) -> str:
    """Format one result as a line."""
    cost, verdict = result.cost, "right" if result.score.right else f"wrong ({result.score.problem})"
    spent = f"{cost.calls} calls, {cost.tokens} tokens, {cost.all_tokens} with the tool list"
    return f"{result.task.id} {result.setup}: {verdict}; {spent}"


def format_table(results: Sequence[Result]) -> str:
    """Format success, calls and tokens by kind of task and setup, then by group of tasks."""
    setups = sorted({result.setup for result in results}, key=lambda setup: (setup != "grep", setup))
    lines = [
        "| tasks | setup | n | right | P / R | calls | tokens | with the tool list |",
        "|---|---|---|---|---|---|---|---|",
    ]
    groups = [(kind, [result for result in results if result.task.kind == kind]) for kind in KINDS]
    groups += [
        ("unseen", [result for result in results if result.task.unseen and not result.task.easy]),
        ("easy", [result for result in results if result.task.easy]),
        ("all", list(results)),
    ]
    for name, group in groups:
        for setup in setups:
            part = [result for result in group if result.setup == setup]
            if part:
                lines.append(_format_row(name, setup, part))
    return "\n".join(lines)


def _format_row(name: str, setup: str, part: Sequence[Result]) -> str:
    right = sum(result.score.right for result in part)
    precision, recall = mean(result.score.precision for result in part), mean(result.score.recall for result in part)
    calls, tokens = mean(result.cost.calls for result in part), mean(result.cost.tokens for result in part)
    everything = mean(result.cost.all_tokens for result in part)
    found = f"{len(part)} | {right} | {precision:.2f} / {recall:.2f}"
    return f"| {name} | {setup} | {found} | {calls:.1f} | {tokens:,.0f} | {everything:,.0f} |"
