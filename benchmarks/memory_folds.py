"""Are the weights of memory's ranking fitted to the conversations they were chosen on? Leaves each one out in turn.

    python -m benchmarks.memory_folds

Every weight is tried at half, once and twice its size. `chosen without it` takes, for each conversation, the setting
that is best on the other four; if the shipped weights were fitted, that would score clearly lower than they do.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.memory import asked, locomo, opened, recall_of, table, turn_line
from deltos.domains.memory import search
from deltos.domains.memory.transfer import import_lines
from deltos.ranking import LinearRanker
from deltos.store.sqlite.memory.reader import SqliteObservations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.memory.memory import Memory

# What is changed together, and its features.
WEIGHTS = {
    "words beside": ("words_before", "words_after", "words_two_before", "words_two_after"),
    **{
        name: (name,)
        for name in (
            "session_words",
            "named",
            "dated",
            "soon_after_date",
            "recency",
            "excess_length",
            "similarity",
            "near_alone",
        )
    },
}
FACTORS = (0.0, 0.5, 2.0)


def main() -> None:
    """R@10 of every setting on every conversation, then the two tables."""
    conversations = locomo()
    settings = ["as shipped", *(f"{name} × {factor:g}" for name in WEIGHTS for factor in FACTORS)]
    with tempfile.TemporaryDirectory() as folder:
        memory = opened(SqliteObservations(Path(folder) / "memory.db"))
        for turns, _ in conversations:
            import_lines(memory, map(turn_line, turns), project_id="")
        figures = [recall_by_conversation(memory, conversations) for _ in each_setting()]
    table(
        ("setting", "R@10, all", "worst change in one conversation"),
        (
            (
                name,
                f"{statistics.fmean(row):.3f}",
                f"{min(now - was for now, was in zip(row, figures[0], strict=True)):+.3f}",
            )
            for name, row in zip(settings, figures, strict=True)
        ),
    )
    print()
    table(
        ("conversation left out", "R@10 as shipped", "chosen without it", "which"),
        (left_out(number, settings, figures) for number in range(len(conversations))),
    )


def each_setting() -> Iterator[None]:
    """The shipped weights, then each weight changed alone."""
    yield
    shipped = search.rankers
    for features in WEIGHTS.values():
        for factor in FACTORS:
            changed = scaled(features, factor)
            setattr(search, "rankers", lambda changed=changed: changed)  # noqa: B010 (mypy refuses the assignment)
            yield
    setattr(search, "rankers", shipped)  # noqa: B010


def scaled(features: tuple[str, ...], factor: float) -> tuple[LinearRanker, LinearRanker]:
    """Both rankers with some weights times a factor; a word beside an observation never counts more than one inside."""
    weights = json.loads(search.WEIGHTS_FILE.read_text())["weights"]
    for name in features:
        weights[name] = min(1.0, weights[name] * factor) if name.startswith("words_") else weights[name] * factor
    stages = (search.WordFeatures._fields, search.ObservationFeatures._fields)
    first, second = (LinearRanker(tuple(weights[name] for name in names)) for names in stages)
    return first, second


def recall_by_conversation(memory: Memory, conversations: list[Any]) -> list[float]:
    """R@10 of each conversation by itself."""
    rows = (recall_of([one], lambda _, question: asked(memory, question))["all"] for one in conversations)
    return [statistics.fmean(ten for _, ten in row) for row in rows]


def worst_change(row: list[float], shipped: list[float]) -> float:
    """How much the conversation loses that loses most."""
    return min(now - was for now, was in zip(row, shipped, strict=True))


def left_out(number: int, settings: list[str], figures: list[list[float]]) -> tuple[str, str, str, str]:
    """What one conversation scores with the setting that the others would have chosen."""
    others = [statistics.fmean(row[:number] + row[number + 1 :]) for row in figures]
    best = others.index(max(others))
    return str(number + 1), f"{figures[0][number]:.3f}", f"{figures[best][number]:.3f}", settings[best]


if __name__ == "__main__":
    main()
