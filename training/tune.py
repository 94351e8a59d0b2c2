"""Continue training a table on the pairs alone: without a teacher, with sparse steps, in minutes on a CPU.

python -m training.tune DATA TABLE.npz OUT.npz [--most N] [--seconds S] [--rate R] [--pull SHARE]
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (everybody calls it so)

from training.blend import unit_scale
from training.data import batches, load_pairs
from training.measure import format_row, mean_reciprocal_ranks
from training.table import Table

if TYPE_CHECKING:
    import numpy.typing as npt

    from training.data import Bags, Pairs

_TEMPERATURE = 0.05
_DROPOUT = 0.1
_SIMILAR_COSINE = 0.98  # cosine similarity above which neither text is a wrong answer to a question about the other
_WARM_UP_STEPS = 50
_REGULARISATION_INTERVAL_STEPS = 20


@dataclass(frozen=True, slots=True)
class TuningSettings:
    """Duration, learning rate, and strength of the regularisation towards the initial values."""

    seconds: float
    rate: float
    pull: float
    size: int = 2_048


def vectors(table: torch.Tensor, bags: Bags, rows: npt.NDArray[np.int64], dropout: float = 0.0) -> torch.Tensor:
    """Return the unit vectors of the bags of words in these rows."""
    ids, offsets = map(torch.from_numpy, bags.take(rows))
    kept = (torch.rand(len(ids)) >= dropout).float()
    sums = F.embedding_bag(ids, table, offsets, mode="sum", per_sample_weights=kept, sparse=True)
    return F.normalize(sums + 1e-9, dim=-1)


def contrastive_loss(queries: torch.Tensor, texts: torch.Tensor) -> torch.Tensor:
    """Return the cross-entropy of finding each question's own text, and each text's own question."""
    alike = (texts @ texts.T).detach() > _SIMILAR_COSINE
    alike.fill_diagonal_(fill_value=False)
    scores = (queries @ texts.T / _TEMPERATURE).masked_fill(alike, -1e4)
    right = torch.arange(len(scores))
    return (F.cross_entropy(scores, right) + F.cross_entropy(scores.T, right)) / 2


def tune(start: torch.Tensor, pairs: Pairs, settings: TuningSettings) -> torch.Tensor:
    """Train the table for a limited time; the learning rate decays to zero."""
    torch.manual_seed(0)
    table = start.clone().requires_grad_()
    optimizer = torch.optim.SparseAdam([table], lr=settings.rate)
    random = np.random.default_rng(0)
    started, step = time.monotonic(), 0
    while True:
        for rows in batches(pairs, min(settings.size, len(pairs) // 2), random):
            share = (time.monotonic() - started) / settings.seconds
            if share >= 1:
                print(f"{step} steps", flush=True)
                return table.detach()
            for group in optimizer.param_groups:
                group["lr"] = settings.rate * (1 - share) * min(1.0, (step + 1) / _WARM_UP_STEPS)
            queries, texts = (vectors(table, bags, rows, _DROPOUT) for bags in (pairs.query_bags, pairs.text_bags))
            optimizer.zero_grad()
            contrastive_loss(queries, texts).backward()
            optimizer.step()
            step += 1
            if step % _REGULARISATION_INTERVAL_STEPS == 0:
                with torch.no_grad():
                    table.lerp_(start, settings.pull)


def evaluate_table(table: torch.Tensor, held_out: Pairs) -> dict[str, float]:
    """Return the mean reciprocal rank of a table on held-out pairs, by group of kinds."""
    rows = np.arange(len(held_out))
    with torch.no_grad():
        queries, texts = (vectors(table, bags, rows) for bags in (held_out.query_bags, held_out.text_bags))
        return mean_reciprocal_ranks(held_out, queries, texts)


def main() -> None:
    """Tune the table that the command line names, and evaluate it before and after."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("data", "table", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--most", type=int, default=10_000_000, help="pairs that are read")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument(
        "--pull",
        type=float,
        default=0.0,
        help="share of the distance to the initial values that is undone every few steps",
    )
    arguments = parser.parse_args()
    pairs, held_out = load_pairs(arguments.data, most=arguments.most, workers=os.cpu_count() or 1)
    start = torch.from_numpy(unit_scale(Table.read(arguments.table).vectors()))
    print(format_row("before", evaluate_table(start, held_out)), flush=True)
    tuned = tune(start, pairs, TuningSettings(arguments.seconds, arguments.rate, arguments.pull))
    print(format_row("after", evaluate_table(tuned, held_out)), flush=True)
    Table.of(tuned.numpy()).write(arguments.out)


if __name__ == "__main__":
    main()
