"""Learn what words mean to those who ask for an operation of an API: other vectors for some words of a finished table.

    python -m training.api_words MATERIAL.npz OUT_FOLDER [--identity NAME]

MATERIAL.npz is what api_pairs.py wrote. A question must find its operation among others of the same API and those of
other questions; a term of the lexicon's groups another term of its group; the table is pulled back to its start. Kept
are words that operations and questions have at least three times; the others stay as they are. Needs PyTorch; half a
minute of a GPU. Prints how often the right operation is first, among three and among ten by cosine similarity alone.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (everybody calls it so)

from training.further import DEVICE, Ragged, vectors
from training.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

STEPS, RATE, WARM_UP_STEPS = 1_200, 2e-3, 50
QUESTIONS_PER_STEP, OTHERS_OF_API, TERMS_PER_STEP = 1_024, 24, 1_024
TEMPERATURE, LEXICON_TEMPERATURE = 0.06, 0.1
LEXICON_WEIGHT = 1.5
PULL = 0.5 / 2_000  # by the sum over all words
DROPOUT = 0.1
FEWEST = 3  # times that a word must be there to be changed
ORIGINS = ("learned", "seen", "training of the ranker")
_ALIKE = 0.9  # texts that are nearly one: neither is a wrong answer to the other's question
_NEVER = -99.0


class Material:
    """Questions, operations and the lexicon on the device."""

    def __init__(self, arrays: Mapping[str, npt.NDArray[np.int64]]) -> None:
        self.operations, self.questions, self.terms = (
            Ragged.of(arrays, name) for name in ("operation", "question", "lexicon")
        )
        self.apis, self.answers, self.origins, self.groups = (
            torch.from_numpy(arrays[name].astype(np.int64)).to(DEVICE)
            for name in ("operation_apis", "question_answers", "question_origins", "lexicon_groups")
        )
        self.learned = torch.nonzero(self.origins == 0)[:, 0]
        # Operations stand API by API.
        self.first_of_api = torch.searchsorted(self.apis, torch.arange(int(self.apis.max()) + 2, device=DEVICE))

    def others(self, answers: torch.Tensor) -> torch.Tensor:
        """Operations of the same API for each of some answers, by lot."""
        first, end = (self.first_of_api[self.apis[answers] + more] for more in (0, 1))
        shares = torch.rand(len(answers), OTHERS_OF_API, device=DEVICE)
        return first[:, None] + (shares * (end - first)[:, None]).long()

    def synonyms(self, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Two terms each of some groups."""
        groups = torch.randint(len(self.groups) - 1, (count,), device=DEVICE)
        first, sizes = self.groups[groups], self.groups[groups + 1] - self.groups[groups]
        one, other = (first + (torch.rand(count, device=DEVICE) * sizes).long() for _ in range(2))
        return one, other

    def often(self, words: int) -> torch.Tensor:
        """Which words operations and learned questions have often enough."""
        ids = torch.cat([self.operations.ids, self.questions.take(self.learned)[0]])
        return torch.bincount(ids, minlength=words) >= FEWEST


def question_loss(table: torch.Tensor, material: Material) -> torch.Tensor:
    """How far questions are from finding their operation first."""
    chosen = material.learned[torch.randint(len(material.learned), (QUESTIONS_PER_STEP,), device=DEVICE)]
    answers = material.answers[chosen]
    others = material.others(answers)
    questions = vectors(table, material.questions.take(chosen), DROPOUT)
    right = vectors(table, material.operations.take(answers), DROPOUT)
    wrong = vectors(table, material.operations.take(others.reshape(-1))).view(*others.shape, -1)
    own = (questions * right).sum(1, keepdim=True)
    of_api = torch.einsum("qd,qod->qo", questions, wrong).masked_fill(others == answers[:, None], _NEVER)
    is_own = torch.eye(len(chosen), device=DEVICE, dtype=torch.bool)
    of_batch = (questions @ right.T).masked_fill(is_own | (right @ right.T > _ALIKE), _NEVER)
    scores = torch.cat([own, of_api, of_batch], 1) / TEMPERATURE
    return F.cross_entropy(scores, torch.zeros(len(chosen), dtype=torch.long, device=DEVICE))


def lexicon_loss(table: torch.Tensor, material: Material) -> torch.Tensor:
    """How far terms are from finding another term of their group first."""
    one, other = (vectors(table, material.terms.take(rows)) for rows in material.synonyms(TERMS_PER_STEP))
    is_own = torch.eye(TERMS_PER_STEP, device=DEVICE, dtype=torch.bool)
    scores = (one @ other.T / LEXICON_TEMPERATURE).masked_fill((other @ other.T > _ALIKE) & ~is_own, _NEVER)
    return F.cross_entropy(scores, torch.arange(TERMS_PER_STEP, device=DEVICE))


def train(start: torch.Tensor, material: Material) -> torch.Tensor:
    """The table after all steps, the rate falling to nothing."""
    torch.manual_seed(1)
    table = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([table], lr=RATE)
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = RATE * (1 - step / STEPS) * min(1.0, (step + 1) / WARM_UP_STEPS)
        loss = question_loss(table, material) + LEXICON_WEIGHT * lexicon_loss(table, material)
        loss = loss + PULL * ((table - start) ** 2).sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return table.detach()


def judge(table: torch.Tensor, material: Material) -> str:
    """The share of questions whose operation is first, among three and ten of its API, by where they come from."""
    with torch.no_grad():
        operations = vectors(table, material.operations.take(torch.arange(len(material.operations), device=DEVICE)))
        before = torch.cat([_before(table, operations, material, rows) for rows in _all(material.questions).split(512)])
    figures = []
    for number, origin in enumerate(ORIGINS):
        places = before[material.origins == number]
        shares = "/".join(f"{(places < most).float().mean().item():.3f}" for most in (1, 3, 10))
        figures.append(f"{origin} {shares}")
    return ", ".join(figures)


def _all(rows: Ragged) -> torch.Tensor:
    return torch.arange(len(rows), device=DEVICE)


def _before(table: torch.Tensor, operations: torch.Tensor, material: Material, rows: torch.Tensor) -> torch.Tensor:
    """How many operations of the same API are nearer than the right one."""
    answers = material.answers[rows]
    scores = vectors(table, material.questions.take(rows)) @ operations.T
    scores = scores.masked_fill(material.apis[None] != material.apis[answers][:, None], _NEVER)
    return (scores > scores.gather(1, answers[:, None])).sum(1)


def main() -> None:
    """Train, and write the words that changed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("material", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--start", type=Path, default=Path("src/deltos/embed/model"), help="the model to begin with")
    parser.add_argument("--identity", default="deltos-static-4/apis-1")
    arguments = parser.parse_args()
    material = Material(np.load(arguments.material))
    stored = Table(np.load(arguments.start / "rows.npy"), np.load(arguments.start / "scales.npy"))
    base = torch.from_numpy(stored.vectors()).to(DEVICE)
    usual = base.norm(dim=1).mean()
    print("start:", judge(base, material), flush=True)
    is_kept = material.often(len(base))
    table = torch.where(is_kept[:, None], train(base / usual, material) * usual, base)
    print("after:", judge(table, material), flush=True)
    changed = Table.of(table[is_kept].cpu().numpy())
    arguments.out.mkdir(parents=True, exist_ok=True)
    np.save(arguments.out / "numbers.npy", torch.nonzero(is_kept)[:, 0].cpu().numpy().astype(np.int32))
    np.save(arguments.out / "rows.npy", changed.rows)
    np.save(arguments.out / "scales.npy", changed.scales)
    about = {"identity": arguments.identity, "words": len(changed.rows)}
    (arguments.out / "model.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
