"""Learn the weights that decide which code `explore` shows.

    python -m benchmarks.train_packs [--write] [--cache FILE]

Fits a logistic regression to the code units of the candidate files: the target is the share of a unit's lines that the
reference answer cites. Prints the share of cited lines that fit into a budget, cross-validated by repository;
repositories that are held out in `benchmarks.packs` are not read.
"""

from __future__ import annotations

import argparse
import json
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.packs import is_held_out, open_app, questions, repository_folder, source_lines
from deltos.budget import CHARACTERS_PER_TOKEN
from deltos.federation.explore.evidence import FEATURES, WEIGHTS_FILE
from deltos.federation.explore.gather import MAX_HITS, OpenProject, gather

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from deltos.app import App

    Floats = npt.NDArray[np.float64]

_TOKEN_BUDGETS = (1_800, 2_500, 5_000)
_RIDGE = 10.0
_STEPS = 12
_HEADING_CHARACTERS = 15  # estimated length of a heading without the name of the symbol
_MAX_WEIGHTED_LINES = 40


@dataclass(frozen=True, slots=True)
class Example:
    """The candidates of one question: their features, cited lines, tokens and numbers of lines."""

    repo: str
    rows: Floats
    cited: Floats
    tokens: Floats
    lines: Floats
    cited_lines: int


def main() -> None:
    """Print cross-validated figures and write the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the weights")
    parser.add_argument("--cache", type=Path, metavar="FILE", help="file in which examples are stored between runs")
    arguments = parser.parse_args()
    if arguments.cache and arguments.cache.exists():
        every = pickle.loads(arguments.cache.read_bytes())
    else:
        every = _read_examples()
        if arguments.cache:
            arguments.cache.write_bytes(pickle.dumps(every))
    for repo in dict.fromkeys(each.repo for each in every):
        weights, midpoint = fit([each for each in every if each.repo != repo])
        own = [each for each in every if each.repo == repo]
        print(repo, [round(_mean_cited_share(own, weights, midpoint, budget), 3) for budget in _TOKEN_BUDGETS])
    weights, midpoint = fit(every)
    stored = {name: round(float(weight), 4) for name, weight in zip(FEATURES, weights, strict=True)}
    print(json.dumps(stored, indent=1))
    if arguments.write:
        document = {"weights": stored, "midpoint": round(midpoint, 4), "slope": 1.0}
        WEIGHTS_FILE.write_text(json.dumps(document, indent=1) + "\n", "utf-8")


def _read_examples() -> list[Example]:
    app = open_app()
    found = [_build_example(app, each) for each in questions() if not is_held_out(each.repo)]
    app.close()
    return [each for each in found if each.cited_lines and len(each.rows)]


def _build_example(app: App, question) -> Example:  # type: ignore[no-untyped-def]
    index = app.domains.projects.index_of(repository_folder(question.repo))
    search = app.code_search(index)
    answer = search.search(question.question, limit=MAX_HITS)
    gathered = gather(question.question, [OpenProject(index)], answer, [search])
    cited = question.cited()
    rows, hits, tokens, lines = [], [], [], []
    for candidate in gathered.candidates:
        unit = candidate.unit
        span = range(unit.start, unit.end + 1)
        text = source_lines(question.repo, unit.path)[unit.start - 1 : unit.end]
        size = sum(len(line) + len(str(unit.end)) + 2 for line in text) + len(unit.symbol) + _HEADING_CHARACTERS
        rows.append([candidate.features[name] for name in FEATURES])
        hits.append(len(cited.get(unit.path, set()).intersection(span)))
        tokens.append(size / CHARACTERS_PER_TOKEN)
        lines.append(len(span))
    return Example(
        question.repo,
        np.array(rows, float),
        np.array(hits, float),
        np.array(tokens, float),
        np.array(lines, float),
        sum(map(len, cited.values())),
    )


def fit(examples: Sequence[Example]) -> tuple[Floats, float]:
    """Fit a logistic regression. Return the weights, and the score at which the probability is one half."""
    rows = np.vstack([each.rows for each in examples])
    target = np.concatenate([each.cited / each.lines for each in examples])
    importance = np.concatenate([np.minimum(each.lines, _MAX_WEIGHTED_LINES) ** 0.5 for each in examples])
    importance /= importance.mean()
    mean, deviation = rows.mean(0), rows.std(0) + 1e-9
    scaled = np.c_[(rows - mean) / deviation, np.ones(len(rows))]
    weights = np.zeros(scaled.shape[1])
    penalty = _RIDGE * np.r_[np.ones(len(weights) - 1), 0]
    for _ in range(_STEPS):  # Newton's method
        probability = 1 / (1 + np.exp(-scaled @ weights))
        gradient = scaled.T @ (importance * (probability - target)) + penalty * weights
        curvature = (scaled * (importance * probability * (1 - probability))[:, None]).T @ scaled
        weights -= np.linalg.solve(curvature + np.diag(penalty + 1e-6), gradient)
    own = weights[:-1] / deviation
    return own, float((weights[:-1] * mean / deviation).sum() - weights[-1])


def _mean_cited_share(examples: Sequence[Example], weights: Floats, midpoint: float, budget: int) -> float:
    """Return the mean share of cited lines in the best code blocks that fit into the budget."""
    shares = []
    for each in examples:
        left, shown = float(budget), 0.0
        for number in np.argsort(midpoint - each.rows @ weights):
            if each.tokens[number] <= left:
                left -= each.tokens[number]
                shown += each.cited[number]
        shares.append(shown / each.cited_lines)
    return float(np.mean(shares))


if __name__ == "__main__":
    main()
