"""The model that ships: a table of word vectors, a weight per word, and what a run adds to the query's side."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (everybody calls it so)
from torch import nn

from training.data import batches

if TYPE_CHECKING:
    import numpy.typing as npt

    from training.data import Bags, Pairs


@dataclass(frozen=True, slots=True)
class Settings:
    """One configuration; the log keeps what each gave."""

    name: str
    dimensions: int = 256
    seconds: float = 40.0
    size: int = 8_192
    rate: float = 2e-3
    temperature: float = 0.05
    dropout: float = 0.2
    distil: float = 0.0  # how much the teacher's view of a batch counts
    hard: bool = False  # negatives by BM25 beside those of the batch
    query: str = "same"  # same | weights | map | table | transformer: what the query's side has of its own
    from_teacher: bool = True  # where the table starts: the teacher's view of each word, or nothing
    overlap: float = 0.0  # for so many texts, the words that they share with their question are taken away
    mask_margin: float = 0.05  # a text that the teacher likes better than the right one is no negative


class Student(nn.Module):
    """Weighted mean of word vectors, normalised."""

    def __init__(self, start: torch.Tensor, rarity: torch.Tensor, settings: Settings) -> None:
        super().__init__()
        _, dimensions = start.shape
        self.settings = settings
        self.table = nn.Parameter(start.clone())
        self.weights = nn.Parameter(rarity.clone())
        if settings.query != "same":
            self.query_weights = nn.Parameter(rarity.clone())
        if settings.query == "map":
            self.map = nn.Parameter(torch.eye(dimensions, device=start.device))
        if settings.query == "table":
            self.query_table = nn.Parameter(start.clone())
        if settings.query == "transformer":
            layer = nn.TransformerEncoderLayer(dimensions, 8, 2 * dimensions, 0.1, batch_first=True, norm_first=True)
            self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.scale = nn.Parameter(torch.tensor(0.1))

    def texts(self, ids: torch.Tensor, offsets: torch.Tensor, kept: torch.Tensor | None = None) -> torch.Tensor:
        """Unit vectors of texts; `kept` is 0 for words that do not count."""
        return self._bag(self.table, self.weights, ids, offsets, kept)

    def queries(self, ids: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        """Unit vectors of questions."""
        kind = self.settings.query
        if kind == "same":
            return self.texts(ids, offsets)
        bag = self._bag(self.query_table if kind == "table" else self.table, self.query_weights, ids, offsets)
        if kind == "map":
            return F.normalize(bag @ self.map, dim=-1)
        if kind == "transformer":
            return F.normalize(bag + self.scale * self._context(ids, offsets), dim=-1)
        return bag

    def _bag(
        self,
        table: torch.Tensor,
        weights: torch.Tensor,
        ids: torch.Tensor,
        offsets: torch.Tensor,
        kept: torch.Tensor | None = None,
    ) -> torch.Tensor:
        share = torch.exp(weights[ids])
        if kept is not None:
            share = share * kept
        if self.training and self.settings.dropout:
            share = share * (torch.rand_like(share) >= self.settings.dropout)
        return F.normalize(F.embedding_bag(ids, table, offsets, mode="sum", per_sample_weights=share) + 1e-9, dim=-1)

    def _context(self, ids: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        ends = torch.cat([offsets[1:], torch.tensor([len(ids)], device=ids.device)])
        lengths = ends - offsets
        longest = int(lengths.max())
        grid = torch.arange(longest, device=ids.device)[None] < lengths[:, None]
        padded = torch.zeros(len(offsets), longest, dtype=torch.long, device=ids.device)
        padded[grid] = ids
        states = self.layers(self.table[padded] * 8, src_key_padding_mask=~grid)
        share = torch.exp(self.query_weights[padded]) * grid
        return (states * share[..., None]).sum(1) / share.sum(1, keepdim=True)


@dataclass(frozen=True, slots=True)
class Lessons:
    """What a student learns from: pairs, the teacher's vectors of both sides, hard negatives by row."""

    pairs: Pairs
    teacher_queries: torch.Tensor
    teacher_texts: torch.Tensor
    negatives: npt.NDArray[np.int64]


def on(device: torch.device, bags: Bags, rows: npt.NDArray[np.int64]) -> tuple[torch.Tensor, torch.Tensor]:
    """Some rows as tensors for `embedding_bag`."""
    ids, offsets = bags.take(rows)
    return torch.from_numpy(ids).to(device), torch.from_numpy(offsets).to(device)


def train(student: Student, lessons: Lessons, device: torch.device) -> None:
    """Contrastive training within the configuration's time."""
    settings = student.settings
    tables = [p for name, p in student.named_parameters() if "layers" not in name]
    others = [p for name, p in student.named_parameters() if "layers" in name]
    optimizer = torch.optim.Adam([{"params": tables, "scale": 1.0}, {"params": others, "scale": 0.2}], lr=settings.rate)
    random = np.random.default_rng(1)
    student.train()
    started, step, epoch, done = time.monotonic(), 0, 0, False
    while not done:
        epoch += 1
        for rows in batches(lessons.pairs, min(settings.size, len(lessons.pairs) // 2), random):
            share = (time.monotonic() - started) / settings.seconds
            if done := share >= 1:
                break
            for group in optimizer.param_groups:
                group["lr"] = settings.rate * group["scale"] * (1 - share)
            loss = _loss(student, lessons, rows, random, device)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            step += 1
    student.eval()
    print(f"{settings.name}: {step} steps, {epoch} epochs, last loss {loss.item():.3f}", flush=True)


def _loss(
    student: Student, lessons: Lessons, rows: npt.NDArray[np.int64], random: np.random.Generator, device: torch.device
) -> torch.Tensor:
    settings, pairs = student.settings, lessons.pairs
    columns = rows
    if settings.hard:
        some = random.choice(len(rows), len(rows) // 2, replace=False)
        picked = lessons.negatives[rows[some], random.integers(0, lessons.negatives.shape[1], len(some))]
        columns = np.concatenate([rows, picked[picked >= 0]])
    queries = student.queries(*on(device, pairs.query_bags, rows))
    kept = torch.from_numpy(_kept(pairs, columns, settings.overlap, random)).to(device)
    texts = student.texts(*on(device, pairs.text_bags, columns), kept)
    scores = queries @ texts.T / settings.temperature
    where = torch.from_numpy(rows).to(device), torch.from_numpy(columns).to(device)
    view = (lessons.teacher_queries[where[0]] @ lessons.teacher_texts[where[1]].T).float()
    right = torch.arange(len(rows), device=device)
    own = view[right, right][:, None]
    # The same text may stand in a batch twice, and another may answer as well: neither is a negative.
    other = (view > own + settings.mask_margin) | (where[0][:, None] == where[1][None, :])
    other[right, right] = False
    scores = scores.masked_fill(other, -1e4)
    square = scores[:, : len(rows)]
    loss = (F.cross_entropy(scores, right) + F.cross_entropy(square.T, right)) / 2
    if settings.distil:
        wanted = F.softmax(view / 0.05, dim=-1)
        given = F.log_softmax(queries @ texts.T / settings.temperature, dim=-1)
        loss = loss + settings.distil * F.kl_div(given, wanted, reduction="batchmean")
    return loss


def _kept(
    pairs: Pairs, rows: npt.NDArray[np.int64], overlap: float, random: np.random.Generator
) -> npt.NDArray[np.float32]:
    """Which words of the texts count: not those that a question shares, where chance has it so."""
    places, offsets = pairs.text_bags.places(rows)
    chosen = np.repeat(random.random(len(rows)) < overlap, np.diff([*offsets, len(places)]))
    return (~(chosen & pairs.shared[places])).astype(np.float32)
