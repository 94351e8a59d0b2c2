"""Cross-validate the ranking weights of memory by leaving each conversation out.

    python -m benchmarks.memory_folds

Each weight is set to zero, to half and to twice its value. The row `chosen without it` evaluates each conversation with
the setting that is best on the other four; a score clearly below that of the shipped weights would mean that they are
overfitted.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.memory import asked, locomo, opened, recall_of, table, turn_line
from deltos.domains.memory.core.transfer import import_lines
from deltos.domains.memory.search import search
from deltos.ranking import LinearRanker
from deltos.store.sqlite.memory.reader import SqliteObservations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.memory.core.memory import Memory

# Groups of features whose weights are changed together.
WEIGHT_GROUPS = {
    "words of neighbours": ("words_before", "words_after", "words_two_before", "words_two_after"),
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
    """Print R@10 of every setting for every conversation, then the two tables."""
    conversations = locomo()
    settings = ["as shipped", *(f"{name} × {factor:g}" for name in WEIGHT_GROUPS for factor in FACTORS)]
    with tempfile.TemporaryDirectory() as folder:
        memory = opened(SqliteObservations(Path(folder) / "memory.db"))
        for turns, _ in conversations:
            import_lines(memory, map(turn_line, turns), project_id="")
        figures = [recall_by_conversation(memory, conversations) for _ in weight_settings()]
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
        (score_held_out(number, settings, figures) for number in range(len(conversations))),
    )


def weight_settings() -> Iterator[None]:
    """Yield the current weights, then the weights with those of one group changed."""
    yield
    shipped = search.rankers
    for features in WEIGHT_GROUPS.values():
        for factor in FACTORS:
            changed = scale_weights(features, factor)
            setattr(search, "rankers", lambda changed=changed: changed)  # noqa: B010 (mypy refuses the assignment)
            yield
    setattr(search, "rankers", shipped)  # noqa: B010


def scale_weights(features: tuple[str, ...], factor: float) -> tuple[LinearRanker, LinearRanker]:
    """Return both rankers with some weights multiplied by `factor`.

    The weight of a term in a neighbouring observation never exceeds the weight of the same term in the observation
    itself.
    """
    weights = json.loads(search.WEIGHTS_FILE.read_text())["weights"]
    for name in features:
        weights[name] = min(1.0, weights[name] * factor) if name.startswith("words_") else weights[name] * factor
    stages = (search.WordFeatures._fields, search.ObservationFeatures._fields)
    first, second = (LinearRanker(tuple(weights[name] for name in names)) for names in stages)
    return first, second


def recall_by_conversation(memory: Memory, conversations: list[Any]) -> list[float]:
    """Return R@10 of each conversation."""
    rows = (recall_of([one], lambda _, question: asked(memory, question))["all"] for one in conversations)
    return [statistics.fmean(ten for _, ten in row) for row in rows]


def worst_change(row: list[float], shipped: list[float]) -> float:
    """Return the largest loss of R@10 for any conversation, compared with the current weights."""
    return min(now - was for now, was in zip(row, shipped, strict=True))


def score_held_out(number: int, settings: list[str], figures: list[list[float]]) -> tuple[str, str, str, str]:
    """Return the result for one conversation with the weights that are best on the other conversations."""
    others = [statistics.fmean(row[:number] + row[number + 1 :]) for row in figures]
    best = others.index(max(others))
    return str(number + 1), f"{figures[0][number]:.3f}", f"{figures[best][number]:.3f}", settings[best]


if __name__ == "__main__":
    main()
