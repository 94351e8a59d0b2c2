"""Train an adapter of the encoder for one kind of text: low-rank changes to its matrices (LoRA), and a head.

    python -m training.adapter PAIRS.npz src/deltos/embed/model OUT.npz [--rank N] [--rounds N] [--rate R]

PAIRS.npz is the output of memory_pairs.py (observations) or docs_pairs.py (passages of documentation). A question must
find its answers among all texts of its project and of two others; partial answers are ignored. Projects with a
name in `groups` are held out: for them, the share of questions with an answer in the first 1, 3 and 10 of the project
is printed, by cosine similarity (plus that of summed word vectors, if the file has them). Copy OUT.npz as adapter.npz
into the model folder for that kind of text.

Needs PyTorch; a minute or two on a large GPU.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (everybody calls it so)

if TYPE_CHECKING:
    from collections.abc import Mapping

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
MATRICES = ("qkv", "out", "up", "down")
RANK, ROUNDS = 8, 8
RATE, HEAD_RATE, WARM_UP_STEPS = 1e-3, 5e-4, 20
PROJECTS_PER_STEP, QUESTIONS_PER_STEP = 3, 192
TEMPERATURE, DROPOUT = 0.05, 0.1
_MASKED_SCORE = -99.0
_BATCH_ROWS = 2_048


class AdaptedEncoder(torch.nn.Module):  # type: ignore[misc]  # no types are installed for it
    """The encoder of Deltos with an adapter for each matrix, computed as in src/deltos/embed/transformer.py."""

    def __init__(self, folder: Path, rank: int, places: np.ndarray | None = None) -> None:
        super().__init__()
        about = json.loads((folder / "encoder/model.json").read_text("utf-8"))
        self.layers, self.heads, self.epsilon = about["layers"], about["attention_heads"], about["epsilon"]
        with np.load(folder / "encoder/weights.npz") as arrays:
            self.weights = {
                name: self._as_tensor(arrays[name], arrays.get(f"{name}.scales"))
                for name in arrays.files
                if not name.endswith(".scales")
            }
        self.own_places = len(self.weights["places"])
        if places is not None:
            further = self._as_tensor(places[self.own_places :], None)
            self.weights["places"] = torch.cat([self.weights["places"], further])
        rows, scales = np.load(folder / "encoder/pieces.npy"), np.load(folder / "encoder/piece_scales.npy")
        self.pieces = self._as_tensor(rows, scales[:, None])
        self.head = torch.nn.Parameter(self.weights["head.texts"].clone())
        self.adapter = torch.nn.ParameterDict()
        for layer in range(self.layers):
            for matrix in MATRICES:
                width, out = self.weights[f"{layer}.{matrix}"].shape
                start = torch.randn(width, rank, device=DEVICE) / math.sqrt(width)
                self.adapter[f"{layer}_{matrix}_a"] = torch.nn.Parameter(start)
                self.adapter[f"{layer}_{matrix}_b"] = torch.nn.Parameter(torch.zeros(rank, out, device=DEVICE))

    @staticmethod
    def _as_tensor(values: np.ndarray, scales: np.ndarray | None) -> torch.Tensor:
        whole = values.astype(np.float32) * (1.0 if scales is None else scales.astype(np.float32))
        return torch.from_numpy(np.ascontiguousarray(whole)).to(DEVICE)

    def forward(self, numbers: torch.Tensor) -> torch.Tensor:
        """Return the unit vectors of rows of word pieces."""
        numbers = numbers[:, : max(3, int((numbers != 0).sum(1).max()))]
        is_there = numbers != 0
        state = self.pieces[numbers] + self.weights["places"][: numbers.shape[1]] + self.weights["kind"]
        state = self._normalise(state, "first")
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            for layer in range(self.layers):
                state = self._apply_layer(state, is_there, f"{layer}.")
        mean = (state.float() * is_there[..., None]).sum(1) / is_there.sum(1, keepdim=True).clamp(min=1)
        return F.normalize(F.normalize(mean, dim=1) @ self.head, dim=1)

    def _apply_layer(self, state: torch.Tensor, is_there: torch.Tensor, name: str) -> torch.Tensor:
        count, length, width = state.shape
        asked = self._multiply(state, name + "qkv").view(count, length, 3, self.heads, width // self.heads)
        query, key, value = asked.permute(2, 0, 3, 1, 4)
        mask = is_there[:, None, None, :]
        seen = F.scaled_dot_product_attention(query, key, value, attn_mask=mask).transpose(1, 2).reshape(state.shape)
        state = self._normalise(state + self._apply_dropout(self._multiply(seen, name + "out")), name + "after")
        worked = self._multiply(F.gelu(self._multiply(state, name + "up")), name + "down")
        return self._normalise(state + self._apply_dropout(worked), name + "end")

    def _multiply(self, rows: torch.Tensor, name: str) -> torch.Tensor:
        adapter = name.replace(".", "_")
        low = (rows @ self.adapter[f"{adapter}_a"]) @ self.adapter[f"{adapter}_b"]
        return rows @ self.weights[name] + self.weights[f"{name}.bias"] + low

    def _normalise(self, state: torch.Tensor, name: str) -> torch.Tensor:
        scale, bias = self.weights[name], self.weights[f"{name}.bias"]
        return F.layer_norm(state.float(), state.shape[-1:], scale, bias, self.epsilon)

    def _apply_dropout(self, state: torch.Tensor) -> torch.Tensor:
        return F.dropout(state, DROPOUT, self.training)

    def all(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the vectors of many rows, computed without gradients."""
        self.eval()
        with torch.no_grad():
            return torch.cat([self(rows[start : start + _BATCH_ROWS]) for start in range(0, len(rows), _BATCH_ROWS)])

    def write(self, path: Path) -> None:
        """Write the adapter in the format that Deltos reads."""
        arrays = {"head.texts": self.head.detach()}
        if len(self.weights["places"]) > self.own_places:
            arrays["places"] = self.weights["places"]
        for name, values in self.adapter.items():
            layer, matrix, side = name.split("_")
            arrays[f"{layer}.{matrix}.lora_{side}"] = values.detach()
        np.savez(path, allow_pickle=False, **{name: values.half().cpu().numpy() for name, values in arrays.items()})


class Pairs:
    """Questions and texts as arrays on the device."""

    def __init__(self, path: Path) -> None:
        with np.load(path) as arrays:
            groups = [str(name) for name in arrays["groups"]]
            self.places = arrays.get("places")
            self.texts, self.questions, self.text_projects, self.projects, answers, partial_answers = (
                torch.from_numpy(arrays[name].astype(np.int64)).to(DEVICE)
                for name in ("texts", "questions", "text_projects", "question_projects", "answers", "partial_answers")
            )
            self.text_words, self.question_words = (self._summed_words(arrays, name) for name in ("text", "question"))
        self.answers, self.partial_answers = (self._mark_positions(places) for places in (answers, partial_answers))
        self.partial_answers &= ~self.answers
        of_question = [groups[project] for project in self.projects.tolist()]
        self.learned = self._positions_in(of_question, "")
        self.measured = {name: self._positions_in(of_question, name) for name in dict.fromkeys(groups) if name}

    @staticmethod
    def _summed_words(arrays: Mapping[str, np.ndarray], name: str) -> torch.Tensor:
        """Return the sums of word vectors that are added to the embeddings, or None if the file has none."""
        rows = arrays[f"{name}_words"] if f"{name}_words" in arrays else np.zeros((len(arrays[f"{name}s"]), 1))
        return torch.from_numpy(rows.astype(np.float32)).to(DEVICE)

    @staticmethod
    def _positions_in(groups: list[str], wanted: str) -> torch.Tensor:
        return torch.tensor([place for place, name in enumerate(groups) if name == wanted], device=DEVICE)

    def _mark_positions(self, places: torch.Tensor) -> torch.Tensor:
        marked = torch.zeros(len(self.questions), len(self.texts) + 1, dtype=torch.bool, device=DEVICE)
        return marked.scatter_(1, places, value=True)[:, 1:]

    def shares(self, questions: torch.Tensor, texts: torch.Tensor, asked: torch.Tensor) -> str:
        """Return the shares of questions with an answer in the first 1, 3 and 10 texts of their project."""
        scores = questions[asked] @ texts.T + self.question_words[asked] @ self.text_words.T
        scores = scores.masked_fill(self.text_projects[None] != self.projects[asked][:, None], _MASKED_SCORE)
        best = scores.masked_fill(~self.answers[asked], _MASKED_SCORE).max(1, keepdim=True).values
        before = (scores > best).sum(1)
        return " / ".join(f"{(before < most).float().mean().item():.3f}" for most in (1, 3, 10))


def train_adapter(encoder: AdaptedEncoder, pairs: Pairs, rounds: int, top_rate: float = RATE) -> None:
    """Train for `rounds` passes over all projects, a few projects per step; the learning rates decay to zero."""
    rates = [([*encoder.adapter.values()], top_rate), ([encoder.head], HEAD_RATE)]
    optimizer = torch.optim.AdamW([{"params": params, "lr": rate} for params, rate in rates], weight_decay=0.01)
    chosen = [each for _ in range(rounds) for each in _make_batches(pairs)]
    for step, (projects, asked) in enumerate(chosen):
        for group, (_, rate) in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * (1 - step / len(chosen)) * min(1.0, (step + 1) / WARM_UP_STEPS)
        encoder.train()
        among = torch.nonzero(torch.isin(pairs.text_projects, projects))[:, 0]
        scores = encoder(pairs.questions[asked]) @ encoder(pairs.texts[among]).T / TEMPERATURE
        scores = scores.masked_fill(pairs.partial_answers[asked][:, among], _MASKED_SCORE)
        right = scores.masked_fill(~pairs.answers[asked][:, among], _MASKED_SCORE)
        loss = (torch.logsumexp(scores, 1) - torch.logsumexp(right, 1)).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()


def _make_batches(pairs: Pairs) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return batches of questions from a few projects each, in random order."""
    order = pairs.learned[torch.randperm(len(pairs.learned), device=DEVICE)]
    projects = torch.unique(pairs.projects[order])
    steps = []
    for some in projects[torch.randperm(len(projects), device=DEVICE)].split(PROJECTS_PER_STEP):
        asked = order[torch.isin(pairs.projects[order], some)]
        steps += [(some, part) for part in asked.split(QUESTIONS_PER_STEP)]
    return steps


def main() -> None:
    """Train the adapter, print its figures, and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rank", type=int, default=RANK)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--rate", type=float, default=RATE)
    given = parser.parse_args()
    began = time.monotonic()
    torch.manual_seed(1)
    pairs = Pairs(given.pairs)
    encoder = AdaptedEncoder(given.model, given.rank, pairs.places)
    print(f"{len(pairs.learned):,} training questions", {name: len(asked) for name, asked in pairs.measured.items()})
    for rounds in (0, given.rounds):
        train_adapter(encoder, pairs, rounds, given.rate)
        questions, texts = encoder.all(pairs.questions), encoder.all(pairs.texts)
        shares = {name: pairs.shares(questions, texts, asked) for name, asked in pairs.measured.items()}
        print(f"after {rounds} rounds, {time.monotonic() - began:.0f} s: {shares}", flush=True)
    encoder.write(given.out)


if __name__ == "__main__":
    main()
