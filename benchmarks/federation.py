"""Measure how often the search over all domains puts the right kind of knowledge first.

    python -m benchmarks.federation

The questions and the project are those of tests/relevance. Two simple ways to merge the same lists serve as baselines:
alternating between providers, and ranking by each provider's scores relative to its best score.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from contextlib import closing
from itertools import chain, pairwise, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from tests.relevance.parcels import build_parcels, first_hits, goldens

from deltos.app import App
from deltos.config import Config
from deltos.federation.model import SearchRequest
from deltos.progress import Silent

if TYPE_CHECKING:
    from tests.relevance.parcels import Golden

    from deltos.federation.model import Hit

KINDS = {"code": "code", "doc": "documentation", "api": "API", "obs": "memory"}
PROVIDERS = ("code", "docs", "apis", "memory")
RESULTS_PER_PROVIDER = 10


def main() -> None:
    """Ask the questions, merge the results in several ways, and print a table."""
    questions = goldens()
    with tempfile.TemporaryDirectory() as folder, closing(App(Config(Path(folder) / "home"))) as app:
        root = build_parcels(app, Path(folder) / "parcels")
        separate = [_separate_lists(app, root, golden.question) for golden in questions]
        started = [time.perf_counter()]
        ours = []
        for golden in questions:
            ours.append(first_hits(app, root, golden.question, limit=RESULTS_PER_PROVIDER))
            started.append(time.perf_counter())
    ways = {
        "alternating": [_alternate(lists) for lists in separate],
        "by providers' scores": [_merge_by_scores(lists) for lists in separate],
        "ours": ours,
    }
    print(f"{len(questions)} questions; share with the right kind first (the right answer among the first three)\n")
    print(f"| merged | {' | '.join(KINDS.values())} | all |")
    print("|---|" + "--:|" * (len(KINDS) + 1))
    for name, found in ways.items():
        print(f"| {name} | {' | '.join(_format_shares(questions, found, kind) for kind in (*KINDS, ''))} |")
    times = sorted(1_000 * (after - before) for before, after in pairwise(started))
    slow = times[int(0.95 * len(times))]
    print(f"\nA search took {statistics.median(times):.0f} ms at the median, {slow:.0f} ms at p95.")


def _separate_lists(app: App, root: Path, question: str) -> list[list[Hit]]:
    asked = SearchRequest(question, root, Silent(), limit=RESULTS_PER_PROVIDER)
    return [[ranked.hit for ranked in app.federation.search(asked, [provider]).ranked] for provider in PROVIDERS]


def _alternate(lists: list[list[Hit]]) -> list[Hit]:
    return [hit for hit in chain.from_iterable(zip_longest(*lists)) if hit is not None]


def _merge_by_scores(lists: list[list[Hit]]) -> list[Hit]:
    scaled = [(hit.own_score / (hits[0].own_score or 1.0), hit) for hits in lists for hit in hits]
    return [hit for _, hit in sorted(scaled, key=lambda pair: -pair[0])]


def _format_shares(questions: list[Golden], found: list[list[Hit]], kind: str) -> str:
    pairs = [(g, hits) for g, hits in zip(questions, found, strict=True) if not kind or g.kind == kind]
    first = sum(bool(hits) and hits[0].kind == golden.kind for golden, hits in pairs)
    answered = sum(any(map(golden.is_answered_by, hits[:3])) for golden, hits in pairs)
    return f"{first / len(pairs):.0%} ({answered / len(pairs):.0%})"


if __name__ == "__main__":
    main()
