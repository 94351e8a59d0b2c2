"""The shipped model, a table of word vectors with a weight per word, and its training with pairs and a teacher."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (everybody calls it so)

from training.data import batches
from training.table import Table

if TYPE_CHECKING:
    import numpy.typing as npt

    from training.data import Bags, Pairs
    from training.teacher import View

    Rows = npt.NDArray[np.int64]

TeacherKind = Literal["tuned", "as it is"]
_TEACHER_TEMPERATURE = 0.05


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of one training run. LOG.md has the results of the runs."""

    name: str
    teacher: TeacherKind = "tuned"
    contrast: float = 1.0  # weight of the loss for finding the right text in the batch
    distil: float = 0.0  # weight of the loss for reproducing the teacher's similarities within the batch
    regress: float = 0.0  # weight of the loss for the distance to the teacher's vectors
    hard: bool = False  # whether texts with high BM25 scores are added to the wrong texts
    seconds: float = 40.0
    size: int = 8_192
    rate: float = 2e-3
    temperature: float = 0.05
    dropout: float = 0.2
    mask_margin: float = 0.05  # a text that the teacher scores higher than the right text does not count as wrong


class Student:
    """Weighted sum of the vectors of all words of a text, scaled to unit length."""

    def __init__(self, start: torch.Tensor, rarity: torch.Tensor) -> None:
        self.table = start.clone().requires_grad_()
        self.weights = rarity.clone().requires_grad_()

    def vectors(self, ids: torch.Tensor, offsets: torch.Tensor, dropout: float = 0.0) -> torch.Tensor:
        """Return the unit vectors of concatenated bags of words. `dropout` is the share of randomly omitted words."""
        share = torch.exp(self.weights[ids])
        if dropout:
            share = share * (torch.rand_like(share) >= dropout)
        sums = F.embedding_bag(ids, self.table, offsets, mode="sum", per_sample_weights=share)
        return F.normalize(sums + 1e-9, dim=-1)

    def stored(self) -> Table:
        """Return the word vectors multiplied by the weights of the words."""
        return Table.of((self.table * torch.exp(self.weights)[:, None]).detach().cpu().numpy())


@dataclass(frozen=True, slots=True)
class Lessons:
    """Training data of a student: pairs, the teacher's vectors, and hard negatives of each pair (-1 if missing)."""

    pairs: Pairs
    view: View
    negatives: Rows


@dataclass(frozen=True, slots=True)
class Batch:
    """Vectors of questions and texts by student and teacher. The first texts answer the questions, in order."""

    queries: torch.Tensor
    texts: torch.Tensor
    teacher_queries: torch.Tensor
    teacher_texts: torch.Tensor
    plain: torch.Tensor  # 1 if the question does not occur in its text, otherwise 0
    repeated: torch.Tensor  # whether a text is a copy of the question's answer, by question and text


def to_device(device: torch.device, bags: Bags, rows: Rows) -> tuple[torch.Tensor, torch.Tensor]:
    """Return some rows as tensors for `embedding_bag`."""
    ids, offsets = bags.take(rows)
    return torch.from_numpy(ids).to(device), torch.from_numpy(offsets).to(device)


def train(student: Student, lessons: Lessons, settings: Settings) -> None:
    """Train for the time in the settings; the learning rate decays to zero."""
    optimizer = torch.optim.Adam([student.table, student.weights], lr=settings.rate)
    random = np.random.default_rng(1)
    started, step, epoch, done = time.monotonic(), 0, 0, False
    loss = torch.zeros(())
    while not done:
        epoch += 1
        for rows in batches(lessons.pairs, min(settings.size, len(lessons.pairs) // 2), random):
            share = (time.monotonic() - started) / settings.seconds
            if done := share >= 1:
                break
            for group in optimizer.param_groups:
                group["lr"] = settings.rate * (1 - share)
            loss = batch_loss(_make_batch(student, lessons, rows, settings, random), settings)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            step += 1
    print(f"{settings.name}: {step} steps, {epoch} epochs, last loss {loss.item():.3f}", flush=True)


def _make_batch(
    student: Student, lessons: Lessons, rows: Rows, settings: Settings, random: np.random.Generator
) -> Batch:
    columns = np.concatenate([rows, _sample_negatives(lessons, rows, random)]) if settings.hard else rows
    device, pairs, view = student.table.device, lessons.pairs, lessons.view
    asked, given = torch.from_numpy(rows).to(device), torch.from_numpy(columns).to(device)
    repeated = asked[:, None] == given[None, :]
    repeated.fill_diagonal_(fill_value=False)
    return Batch(
        student.vectors(*to_device(device, pairs.query_bags, rows), settings.dropout),
        student.vectors(*to_device(device, pairs.text_bags, columns), settings.dropout),
        view.queries[asked].float(),
        view.texts[given].float(),
        torch.from_numpy(~pairs.joined[rows]).to(device).float(),
        repeated,
    )


def _sample_negatives(lessons: Lessons, rows: Rows, random: np.random.Generator) -> Rows:
    """Return one hard negative each for half of the questions that have a hard negative."""
    some = random.choice(len(rows), len(rows) // 2, replace=False)
    picked = lessons.negatives[rows[some], random.integers(0, lessons.negatives.shape[1], len(some))]
    return picked[picked >= 0]


def batch_loss(batch: Batch, settings: Settings) -> torch.Tensor:
    """Return the loss of a batch: the weighted sum of the three terms in the settings."""
    scores = batch.queries @ batch.texts.T / settings.temperature
    view = batch.teacher_queries @ batch.teacher_texts.T
    loss = scores.new_zeros(())
    if settings.contrast:
        loss = loss + settings.contrast * _contrastive_loss(batch, scores, view, settings.mask_margin)
    if settings.distil:
        wanted = F.softmax(view / _TEACHER_TEMPERATURE, dim=-1)
        loss = loss + settings.distil * F.kl_div(F.log_softmax(scores, dim=-1), wanted, reduction="batchmean")
    if settings.regress:
        loss = loss + settings.regress * (
            _mean_distance(batch.queries, batch.teacher_queries) + _mean_distance(batch.texts, batch.teacher_texts)
        )
    return loss


def _contrastive_loss(batch: Batch, scores: torch.Tensor, view: torch.Tensor, margin: float) -> torch.Tensor:
    """Return the cross-entropy of finding a question's text, and a text's question.

    Copies of the right text and other good answers are not negatives. A text that contains its question is ignored.
    """
    right = torch.arange(len(scores), device=scores.device)
    also_right = (view > view.diagonal()[:, None] + margin) | batch.repeated
    scores = scores.masked_fill(also_right, -1e4)
    by_question = F.cross_entropy(scores, right, reduction="none")
    by_text = F.cross_entropy(scores[:, : len(scores)].T, right, reduction="none")
    return ((by_question + by_text) / 2 * batch.plain).sum() / batch.plain.sum().clamp(min=1)


def _mean_distance(ours: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    return (1 - (ours * wanted).sum(dim=-1)).mean()
