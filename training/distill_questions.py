"""Distil the encoder and its adapters into the small encoder of questions and passages.

    python -m training.distill_questions TEACHER OUT --debs FOLDER [--seconds N]

TEACHER is a model folder with the encoder to distil (`encoder`, and the adapters `docs` and `memory`). FOLDER holds
Debian packages. The student reads at most 40 word pieces and learns the vectors of the teacher, without and with its
adapters (regression), and to order texts like it (KL divergence over texts of the same packages). The inputs are the
questions of benchmarks/questions, query-like texts of the packages, and the beginnings of passages and definitions.

Needs PyTorch. The shipped encoder was trained on 1,975 packages: 629,000 texts, 1.5 million inputs, 28,600 steps.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)

from deltos.embed.word_pieces import WordPieces
from training.distill import (
    DEVICE,
    DIMENSIONS,
    TEACHER_TEMPERATURE,
    TEMPERATURE,
    Teacher,
    TransformerLayers,
    rows_and_scales,
)
from training.unlabelled import CODE, DOCS, MEMORY, extract

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

QUESTIONS = Path(__file__).parent.parent / "benchmarks" / "questions"
QUESTION_FILES = (
    "apis_wordings",
    "code_wordings",
    "docs_passages",
    "docs_wordings",
    "memory_projects",
    "memory_sessions",
    "memory_wordings",
)
MAX_INPUT_PIECES = 40
MAX_TEXT_PIECES = {DOCS: 128, CODE: 96, MEMORY: 96}
ADAPTERS = ("", "docs", "memory")  # of the first three heads; the fourth predicts the sum of word vectors
HEAD_OF_DOMAIN = {CODE: 0, DOCS: 1, MEMORY: 2}
BATCH_INPUTS, BLOCKS_PER_STEP, BLOCK_TEXTS = 4_096, 16, 128
SHARES = (0.4, 0.45, 0.15)  # of questions, query-like texts, and beginnings of texts in a batch
DROPPED_PIECES = 0.02  # share of word pieces that are masked in training
WARM_UP_STEPS = 300


@dataclass(frozen=True, slots=True)
class Settings:
    """Size of the student, and its learning rate."""

    name: str = "q256x3"
    width: int = 256
    layers: int = 3
    inner: int = 768
    rate: float = 1.6e-3


class Student(torch.nn.Module):  # type: ignore[misc]  # PyTorch's types are not installed
    """Small encoder over word pieces, with a head for each space of vectors."""

    def __init__(self, settings: Settings, pieces: torch.Tensor) -> None:
        super().__init__()
        self.settings = settings
        centred = pieces - pieces.mean(0)
        _, _, axes = torch.linalg.svd(centred[:8_000], full_matrices=False)
        start = centred @ axes[: settings.width].T
        self.pieces = torch.nn.Parameter(start / start.norm(dim=1).mean() * math.sqrt(settings.width) * 0.5)
        self.question_mixer = TransformerLayers(settings.width, settings.layers, settings.inner, MAX_INPUT_PIECES, 0.0)
        heads = len(ADAPTERS) + 1
        self.question_heads = torch.nn.Parameter(
            torch.randn(heads, settings.width, DIMENSIONS) / math.sqrt(settings.width)
        )
        self.question_biases = torch.nn.Parameter(torch.zeros(heads, DIMENSIONS))

    def forward(self, pieces: torch.Tensor) -> torch.Tensor:
        """Return the unit vectors of all heads: heads × inputs × dimensions."""
        is_real = torch.cat([torch.ones_like(pieces[:, :1], dtype=torch.bool), pieces[:, 1:] != 0], 1)
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            pooled = self.question_mixer(F.embedding(pieces, self.pieces).bfloat16(), is_real, None).float()
        vectors = torch.einsum("nw,hwd->hnd", pooled, self.question_heads) + self.question_biases[:, None]
        return F.normalize(vectors, dim=2)


class Material:
    """Inputs by kind with the teacher's vectors, and vectors of texts by domain, on the device."""

    def __init__(self, model: Path, packages: Sequence[Path]) -> None:
        texts: dict[int, list[list[int]]] = {DOCS: [], CODE: [], MEMORY: []}
        queries: list[list[int]] = []
        with ProcessPoolExecutor() as pool:
            for numbered, asked in pool.map(partial(_numbered, model), packages, chunksize=2):
                queries += asked
                for domain, row in numbered:
                    texts[domain].append(row)
        pieces = _word_pieces(model)
        questions = [pieces.of(question, MAX_INPUT_PIECES) for question in sorted(set(read_questions()))]
        beginnings = [[*row[: MAX_INPUT_PIECES - 1], row[-1]] for rows in texts.values() for row in rows]
        teachers = [Teacher(model, adapter) for adapter in ADAPTERS]
        self.inputs = [pad(rows) for rows in (questions, queries, beginnings)]
        self.targets = [_targets(teachers, rows) for rows in self.inputs]
        # Texts of a package are contiguous, so that blocks of texts are similar.
        self.texts = {
            domain: teachers[HEAD_OF_DOMAIN[domain]].vectors(pad(rows))[0].half() for domain, rows in texts.items()
        }


@cache
def _word_pieces(model: Path) -> WordPieces:
    return WordPieces((model / "encoder/pieces.txt").read_text("utf-8").split("\n"))


def _numbered(model: Path, package: Path) -> tuple[list[tuple[int, list[int]]], list[list[int]]]:
    """Return the word pieces of the texts of a package with their domains, and of its query-like texts."""
    pieces, found = _word_pieces(model), extract(package)
    texts = [(domain, pieces.of(text, MAX_TEXT_PIECES[domain])) for domain, text in found.texts]
    return texts, [pieces.of(text, MAX_INPUT_PIECES) for text in found.queries]


def read_questions() -> Iterator[str]:
    """Yield the English questions of the training files."""
    for name in QUESTION_FILES:
        for line in (QUESTIONS / f"{name}.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            lists = [value for value in row.values() if isinstance(value, list)]
            if not row.get("held_out"):
                yield from (text for value in lists for text in value if isinstance(text, str) and text.isascii())


def pad(rows: Sequence[Sequence[int]]) -> torch.Tensor:
    """Return rows of word pieces, padded with zeros."""
    padded = np.zeros((len(rows), max(map(len, rows))), np.int32)
    for index, row in enumerate(rows):
        padded[index, : len(row)] = row
    return torch.from_numpy(padded).to(DEVICE)


def _targets(teachers: Sequence[Teacher], rows: torch.Tensor) -> torch.Tensor:
    """Return the vectors of the teachers, and the sums of word vectors that the first predicts."""
    found = [teacher.vectors(rows.long()) for teacher in teachers]
    return torch.stack([*(vectors for vectors, _ in found), found[0][1]]).half()


def train(material: Material, student: Student, seconds: float) -> int:
    """Train for `seconds` and return the number of steps; the learning rate decays to zero."""
    rate = student.settings.rate
    optimizer = torch.optim.AdamW(student.parameters(), lr=rate, weight_decay=0.01, betas=(0.9, 0.98))
    began, step = time.monotonic(), 0
    while (share := (time.monotonic() - began) / seconds) < 1:
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / WARM_UP_STEPS) * (0.5 + 0.5 * math.cos(math.pi * share))
        chosen = [
            torch.randint(len(rows), (int(BATCH_INPUTS * part),), device=DEVICE)
            for rows, part in zip(material.inputs, SHARES, strict=True)
        ]
        inputs = pad_to_width([rows[numbers] for rows, numbers in zip(material.inputs, chosen, strict=True)]).long()
        inputs = inputs * (torch.rand(inputs.shape, device=DEVICE) >= DROPPED_PIECES)
        targets = [each[:, numbers] for each, numbers in zip(material.targets, chosen, strict=True)]
        theirs, ours = torch.cat(targets, 1).float(), student(inputs)
        loss = 3 * len(theirs) * (1 - (ours * theirs).sum(2)).mean()
        for domain, head in HEAD_OF_DOMAIN.items():
            bank = sample_blocks(material.texts[domain])
            order = F.softmax(theirs[head] @ bank.T / TEACHER_TEMPERATURE, dim=1)
            scores = F.log_softmax(ours[head] @ bank.T / TEMPERATURE, dim=1)
            loss = loss + F.kl_div(scores, order, reduction="batchmean")
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimizer.step()
        step += 1
    return step


def pad_to_width(rows: Sequence[torch.Tensor]) -> torch.Tensor:
    """Concatenate rows of word pieces, padded to the same width."""
    return torch.cat([F.pad(each, (0, MAX_INPUT_PIECES - each.shape[1])) for each in rows])


def sample_blocks(vectors: torch.Tensor) -> torch.Tensor:
    """Return random blocks of contiguous vectors."""
    starts = torch.randint(max(1, len(vectors) - BLOCK_TEXTS), (BLOCKS_PER_STEP, 1), device=DEVICE)
    numbers = starts + torch.arange(BLOCK_TEXTS, device=DEVICE)
    return vectors[numbers.flatten().clamp(max=len(vectors) - 1)].float()


def export(student: Student, path: Path) -> None:
    """Write the weights for export_questions.py."""
    arrays = {name: values.detach().cpu().numpy() for name, values in student.state_dict().items()}
    np.savez(path, allow_pickle=False, settings=json.dumps(asdict(student.settings)), **arrays)


def main() -> None:
    """Extract the texts, train the student, and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--debs", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=1_200)
    given = parser.parse_args()
    torch.manual_seed(1)
    material = Material(given.model, sorted(given.debs.glob("*.deb")))
    pieces = rows_and_scales(given.model / "encoder/pieces.npy", given.model / "encoder/piece_scales.npy")
    student = Student(Settings(), pieces).to(DEVICE)
    print(f"{[len(rows) for rows in material.inputs]} inputs, {train(material, student, given.seconds)} steps")
    given.out.mkdir(parents=True, exist_ok=True)
    export(student, given.out / f"{student.settings.name}.npz")


if __name__ == "__main__":
    main()
