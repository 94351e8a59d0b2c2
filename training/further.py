"""Continue training a table with the lexicon and with pairs from repositories, regularised towards its initial values.

    python -m training.further MATERIAL.npz OUT_FOLDER [--start FOLDER] [--run STEPS,LEXICON,PULL,TEMPERATURES ...]

MATERIAL.npz is the output of project_pairs.py. Some terms of a lexicon group must find the other terms, and the
question of a pair must find its text. Needs PyTorch; minutes on a GPU. Writes one table per run, and prints its figures
on held-out repositories and groups.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (everybody calls it so)

from training.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
LEARNING_RATE = 3e-3
DROPOUT = 0.2
GROUPS_PER_STEP, PAIRS_PER_STEP = 2_048, 4_096
MAX_TERMS = 40  # maximum number of sampled terms per group
HELD_OUT_GROUPS = 400
_SIMILAR_COSINE = 0.9  # cosine similarity above which neither text is a wrong answer to a question about the other
_WARM_UP_STEPS = 50
_MASKED_SCORE = -1e4


@dataclass(frozen=True, slots=True)
class Run:
    """Settings of a run: steps, weight of the lexicon relative to the pairs, and strength of the regularisation."""

    steps: int = 1_500
    lexicon: float = 6.0
    pull: float = 1.0
    lexicon_temperature: float = 0.1
    pairs_temperature: float = 0.05

    @classmethod
    def parse(cls, text: str) -> Run:
        """Parse settings such as `1500,6,1,0.1,0.05`."""
        steps, *others = text.split(",")
        return cls(int(steps), *map(float, others))


@dataclass(frozen=True, slots=True)
class RaggedRows:
    """Rows of word ids with different lengths, on the device."""

    ids: torch.Tensor
    starts: torch.Tensor

    @classmethod
    def of(cls, arrays: Mapping[str, npt.NDArray[np.int64]], name: str) -> RaggedRows:
        """Read the two arrays of a ragged array."""
        return cls(
            *(torch.from_numpy(arrays[f"{name}_{part}"].astype(np.int64)).to(DEVICE) for part in ("ids", "starts"))
        )

    def __len__(self) -> int:
        return len(self.starts) - 1

    def take(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the concatenated ids of the selected rows, and the start of each row."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        offsets = torch.cumsum(lengths, 0) - lengths
        places = torch.repeat_interleave(self.starts[rows] - offsets, lengths)
        return self.ids[places + torch.arange(len(places), device=DEVICE)], offsets


def vectors(table: torch.Tensor, bags: tuple[torch.Tensor, torch.Tensor], dropout: float = 0.0) -> torch.Tensor:
    """Return the unit vectors of bags of words."""
    ids, offsets = bags
    kept = (torch.rand(len(ids), device=DEVICE) >= dropout).float() if dropout else None
    return F.normalize(F.embedding_bag(ids, table, offsets, mode="sum", per_sample_weights=kept) + 1e-9, dim=-1)


def contrastive_loss(queries: torch.Tensor, texts: torch.Tensor, temperature: float) -> torch.Tensor:
    """Return the cross-entropy of finding each question's own text, and each text's own question."""
    alike = (texts @ texts.T).detach() > _SIMILAR_COSINE
    alike.fill_diagonal_(fill_value=False)
    scores = (queries @ texts.T / temperature).masked_fill(alike, _MASKED_SCORE)
    right = torch.arange(len(scores), device=DEVICE)
    return (F.cross_entropy(scores, right) + F.cross_entropy(scores.T, right)) / 2


class Groups:
    """Groups of related terms. Some terms of a group are used to find the other terms of the group."""

    def __init__(self, terms: RaggedRows, groups: npt.NDArray[np.int64]) -> None:
        self._terms = terms
        self._edges = torch.from_numpy(groups.astype(np.int64)).to(DEVICE)
        order = np.random.default_rng(0).permutation(len(groups) - 1)
        self._held_out = torch.from_numpy(order[:HELD_OUT_GROUPS]).to(DEVICE)
        self._used = torch.from_numpy(order[HELD_OUT_GROUPS:]).to(DEVICE)

    def draw(self, count: int) -> tuple[tuple[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
        """Draw one to three terms of `count` random groups, and three to eleven other terms of each."""
        chosen = self._used[torch.randint(len(self._used), (count,), device=DEVICE)]
        asking = torch.randint(1, 4, (count,), device=DEVICE)
        return self._split_groups(chosen, asking, asking + torch.randint(3, 12, (count,), device=DEVICE))

    def held_out(self) -> tuple[tuple[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
        """Hold out a third of the terms of each group; return them and the others."""
        sizes = self._edges[self._held_out + 1] - self._edges[self._held_out]
        return self._split_groups(self._held_out, torch.clamp(sizes // 3, min=1), sizes)

    def _split_groups(
        self, chosen: torch.Tensor, asking: torch.Tensor, ends: torch.Tensor
    ) -> tuple[tuple[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
        first, sizes = self._edges[chosen], self._edges[chosen + 1] - self._edges[chosen]
        keys = torch.rand(len(chosen), MAX_TERMS, device=DEVICE)
        places = torch.arange(MAX_TERMS, device=DEVICE)[None]
        keys[places >= sizes[:, None]] = 2.0  # Missing terms get this key, which sorts after all existing terms.
        rows = first[:, None] + keys.argsort(1)
        asked = places < asking[:, None]
        answers = ~asked & (places < torch.minimum(ends, sizes)[:, None])
        return self._group_bags(rows, asked), self._group_bags(rows, answers)

    def _group_bags(self, rows: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the words of the masked terms, as one bag of words per group."""
        terms = rows[mask]
        owners = torch.arange(len(rows), device=DEVICE)[:, None].expand_as(rows)[mask]
        lengths = self._terms.starts[terms + 1] - self._terms.starts[terms]
        per_group = torch.zeros(len(rows), dtype=torch.long, device=DEVICE).scatter_add_(0, owners, lengths)
        return self._terms.take(terms)[0], torch.cumsum(per_group, 0) - per_group


@dataclass(frozen=True, slots=True)
class Material:
    """Training data and held-out data."""

    queries: RaggedRows
    texts: RaggedRows
    held_out_queries: RaggedRows
    held_out_texts: RaggedRows
    held_out_kinds: torch.Tensor
    groups: Groups

    @classmethod
    def read(cls, path: Path) -> Material:
        """Read the output of project_pairs.py."""
        arrays = np.load(path)
        return cls(
            RaggedRows.of(arrays, "trained_query"),
            RaggedRows.of(arrays, "trained_text"),
            RaggedRows.of(arrays, "held_out_query"),
            RaggedRows.of(arrays, "held_out_text"),
            torch.from_numpy(arrays["held_out_kinds"]).to(DEVICE),
            Groups(RaggedRows.of(arrays, "lexicon"), arrays["lexicon_groups"]),
        )


def train(start: torch.Tensor, material: Material, run: Run) -> torch.Tensor:
    """Train a table for one run; the learning rate decays to zero."""
    torch.manual_seed(0)
    table = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([table], lr=LEARNING_RATE)
    for step in range(run.steps):
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * (1 - step / run.steps) * min(1.0, (step + 1) / _WARM_UP_STEPS)
        asked, answers = material.groups.draw(GROUPS_PER_STEP)
        rows = torch.randint(len(material.queries), (PAIRS_PER_STEP,), device=DEVICE)
        queries, texts = (vectors(table, bags.take(rows), DROPOUT) for bags in (material.queries, material.texts))
        loss = contrastive_loss(queries, texts, run.pairs_temperature) + run.pull * ((table - start) ** 2).sum(1).mean()
        asked_vectors, answer_vectors = vectors(table, asked), vectors(table, answers, DROPOUT)
        loss = loss + run.lexicon * contrastive_loss(asked_vectors, answer_vectors, run.lexicon_temperature)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return table.detach()


def evaluate(table: torch.Tensor, material: Material) -> str:
    """Return the mean reciprocal rank on held-out data, by kind of pair and for lexicon groups."""
    with torch.no_grad():
        rows = torch.arange(len(material.held_out_queries), device=DEVICE)
        bags = (material.held_out_queries, material.held_out_texts)
        ranks = _reciprocal_ranks(*(vectors(table, bag.take(rows)) for bag in bags))
        figures = [ranks[material.held_out_kinds == kind].mean().item() for kind in range(4)]
        asked, answers = material.groups.held_out()
        figures.append(_reciprocal_ranks(vectors(table, asked), vectors(table, answers)).mean().item())
    return " ".join(f"{name} {figure:.3f}" for name, figure in zip((*_KINDS, "lexicon"), figures, strict=True))


_KINDS = ("doc", "heading", "commit", "body")  # kinds of pairs; the positions are the numbers in project_pairs.py


def _reciprocal_ranks(queries: torch.Tensor, texts: torch.Tensor) -> torch.Tensor:
    scores = queries @ texts.T
    return 1.0 / ((scores > scores.diag()[:, None]).sum(1) + 1).float()


def main() -> None:
    """Train the runs that the command line lists."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("material", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--start", type=Path, default=Path("src/deltos/embed/model"), help="the model to begin with")
    parser.add_argument("--run", type=Run.parse, action="append", metavar="STEPS,LEXICON,PULL,TEMPERATURES")
    arguments = parser.parse_args()
    material = Material.read(arguments.material)
    stored = Table(np.load(arguments.start / "rows.npy"), np.load(arguments.start / "scales.npy"))
    start = torch.from_numpy(stored.vectors()).to(DEVICE)
    start = start / start.norm(dim=1).mean()
    print("start", evaluate(start, material), flush=True)
    for number, run in enumerate(arguments.run or [Run()]):
        began = time.monotonic()
        table = train(start, material, run)
        print(number, run, evaluate(table, material), f"{time.monotonic() - began:.0f} s", flush=True)
        Table.of(table.cpu().numpy()).write(arguments.out / f"further-{number}.npz")


if __name__ == "__main__":
    main()
