"""The teacher model all-MiniLM-L6-v2 (Apache-2.0), as published or fine-tuned. It is used only for training."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (everybody calls it so)
from tokenizers import Tokenizer

from training.data import batches
from training.table import DIMENSIONS, strongest_directions

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from training.data import Pairs

QUERY_TOKENS, TEXT_TOKENS = 48, 160
ENCODED_TOKENS = {"cuda": 400_000, "cpu": 10_000}  # maximum number of tokens per forward pass
_MAX_SAMPLED_VECTORS = 200_000  # enough vectors to compute the principal directions


@dataclass(frozen=True, slots=True)
class View:
    """A teacher's unit vectors of questions, texts and single words, reduced to the dimensions of the table."""

    queries: torch.Tensor
    texts: torch.Tensor
    words: torch.Tensor


class Teacher:
    """Sentence encoder with mean pooling."""

    def __init__(self, folder: Path, device: torch.device) -> None:
        from safetensors.torch import load_file
        from transformers import BertConfig, BertModel

        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self.device = device
        config = BertConfig.from_json_file(str(folder / "config.json"))
        self.model = BertModel(config, add_pooling_layer=False)
        weights = {
            name.removeprefix("bert."): value.float() for name, value in load_file(folder / "model.safetensors").items()
        }
        missing = self.model.load_state_dict(weights, strict=False)
        print("teacher: missing", [m for m in missing.missing_keys if "position_ids" not in m])
        self.model.to(device)

    def tokens(self, texts: Sequence[str], most: int) -> list[list[int]]:
        """Return the word pieces of texts."""
        self._tokenizer.enable_truncation(most)
        return [found.ids for found in self._tokenizer.encode_batch(list(texts))]

    def forward(self, rows: list[list[int]]) -> torch.Tensor:
        """Return the unit vectors of token rows."""
        longest = max(map(len, rows))
        ids = torch.zeros(len(rows), longest, dtype=torch.long)
        mask = torch.zeros(len(rows), longest)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = torch.tensor(row)
            mask[number, : len(row)] = 1
        ids, mask = ids.to(self.device), mask.to(self.device)
        with torch.autocast(self.device.type, torch.bfloat16):
            states = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        pooled = (states.float() * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return F.normalize(pooled, dim=-1)

    def encode(self, texts: Sequence[str], most: int) -> torch.Tensor:
        """Return the unit vectors of any number of texts, in half precision."""
        self.model.eval()
        rows = self.tokens(texts, most)
        order = np.argsort([len(row) for row in rows], kind="stable")
        out = torch.zeros(len(rows), self.model.config.hidden_size, dtype=torch.float16, device=self.device)
        start = 0
        while start < len(order):
            size = max(1, ENCODED_TOKENS[self.device.type] // len(rows[order[min(len(order) - 1, start + 2_000)]]))
            chosen = order[start : start + size]
            with torch.no_grad():
                vectors = self.forward([rows[n] for n in chosen])
            out[torch.from_numpy(chosen).to(self.device)] = vectors.half()
            start += size
        return out

    def view(self, pairs: Pairs, words: Sequence[str]) -> View:
        """Return the vectors of the pairs and words in the directions that best preserve their dot products."""
        queries, texts = self.encode(pairs.queries, QUERY_TOKENS), self.encode(pairs.texts, TEXT_TOKENS)
        directions = _main_directions(queries, texts)
        word_vectors = self.encode(words, QUERY_TOKENS)
        return View(
            *(F.normalize(found.float() @ directions, dim=-1).half() for found in (queries, texts, word_vectors))
        )

    def fine_tune(self, pairs: Pairs, *, seconds: float, size: int = 1_024, rate: float = 1e-4) -> None:
        """Train contrastively on the pairs for at most `seconds`."""
        self.model.train()
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=rate, weight_decay=0.01)
        random = np.random.default_rng(0)
        queries, texts = self.tokens(pairs.queries, QUERY_TOKENS), self.tokens(pairs.texts, TEXT_TOKENS)
        started, step, done = time.monotonic(), 0, False
        while not done:
            for rows in batches(pairs, min(size, len(pairs) // 8), random):
                share = (time.monotonic() - started) / seconds
                if done := share >= 1:
                    break
                for group in optimizer.param_groups:
                    group["lr"] = rate * min(1.0, (step + 1) / 50) * (1 - share)
                loss = self._contrastive_loss([queries[n] for n in rows], [texts[n] for n in rows])
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                optimizer.step()
                step += 1
                if step % 100 == 0:
                    print(f"teacher step {step} loss {loss.item():.3f} {time.monotonic() - started:.0f}s", flush=True)
        print(f"teacher: {step} steps", flush=True)

    def _contrastive_loss(self, queries: list[list[int]], texts: list[list[int]]) -> torch.Tensor:
        scores = self.forward(queries) @ self.forward(texts).T / 0.05
        right = torch.arange(len(queries), device=self.device)
        return (F.cross_entropy(scores, right) + F.cross_entropy(scores.T, right)) / 2


def _main_directions(queries: torch.Tensor, texts: torch.Tensor) -> torch.Tensor:
    some = torch.randperm(len(queries), device=queries.device)[:_MAX_SAMPLED_VECTORS]
    weighed = torch.cat([queries[some], texts[some]]).float()
    directions = strongest_directions((weighed.T @ weighed).double().cpu().numpy(), DIMENSIONS)
    return torch.from_numpy(directions.copy()).float().to(queries.device)
