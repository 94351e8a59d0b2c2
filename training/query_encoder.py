"""Learn to read questions: an encoder that puts a question where its answers are, and other vectors for words of APIs.

    python -m training.query_encoder MATERIAL.npz ENCODER_FOLDER OUT_FOLDER [--steps N]

MATERIAL.npz is what query_pairs.py wrote, ENCODER_FOLDER the published files of all-MiniLM-L6-v2. Texts stay sums of
word vectors. First words of APIs learn their vectors: a question must find its operation among others of the same API
and those of other questions, a term of the lexicon another term of its group; the table is pulled back to its start.
Then the encoder learns to say of questions what the sums of their words say, and at last to find the answers:
operations, whose words go on learning, and pieces of code, observations and sections of documentation, whose words stay
as they are, and to whose sums what the encoder says is added. Needs PyTorch and
transformers; four minutes of a large GPU. Prints how often the right text is first, among three and among ten of its
API or project, by cosine similarity alone. Writes OUT_FOLDER/apis and OUT_FOLDER/queries.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (everybody calls it so)
from transformers import BertModel

from deltos.embed.transformer import Shape, piece_vectors, prepared
from training.further import DEVICE, Ragged, vectors
from training.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

IDENTITY = "deltos-static-4/apis-2"
LEARNED, SEEN, TRAINED_RANKER, TITLE = range(4)  # as in query_pairs.py, which needs the product
GENERAL, APIS = range(2)
HEADS = ("general", "apis")
WORD_STEPS, WORD_RATE = 1_200, 2e-3
ALIGNING_STEPS, READING_STEPS = 400, 1_100
ENCODER_RATE, HEAD_RATE, TABLE_RATE = 1e-4, 1e-3, 1e-3
WARM_UP_STEPS = 50
QUESTIONS_PER_STEP, TITLES_PER_STEP, GENERAL_PER_STEP = 896, 128, 640
OTHERS_OF_GROUP, TERMS_PER_STEP = 24, 1_024
TEMPERATURE, LEXICON_TEMPERATURE = 0.06, 0.1
LEXICON_WEIGHT = 1.5
PULL = 0.5 / 2_000  # by the sum over all words
KEPT_WEIGHT = 0.5  # of staying near the sum of a question's words, where little is known of its kind
DROPOUT = 0.1
FEWEST = 3  # times that a word must be there to be changed
HELD_OUT = 8  # one project in so many is only measured on
_ALIKE = 0.9  # texts that are nearly one: neither is a wrong answer to the other's question
_NEVER = -99.0
_PIECE_LEVELS = 127


class Material:
    """Questions, texts and the lexicon on the device."""

    def __init__(self, arrays: Mapping[str, npt.NDArray[np.int64]]) -> None:
        self.texts, self.questions, self.pieces, self.terms = (
            Ragged.of(arrays, name) for name in ("text", "question", "piece", "lexicon")
        )
        self.groups, self.spaces, self.answers, self.origins, self.term_groups = (
            torch.from_numpy(arrays[name].astype(np.int64)).to(DEVICE)
            for name in ("text_groups", "text_spaces", "question_answers", "question_origins", "lexicon_groups")
        )
        # Texts stand group by group.
        self.first_of_group = torch.searchsorted(self.groups, torch.arange(int(self.groups.max()) + 2, device=DEVICE))
        spaces, is_held_out = self.spaces[self.answers], self.groups[self.answers] % HELD_OUT == 0
        learned = self.origins == LEARNED
        self.about_apis = torch.nonzero(learned & (spaces == APIS))[:, 0]
        self.titles = torch.nonzero(self.origins == TITLE)[:, 0]
        self.about_others = torch.nonzero(learned & (spaces == GENERAL) & ~is_held_out)[:, 0]
        self.measured = {
            "seen": torch.nonzero(self.origins == SEEN)[:, 0],
            "training of the ranker": torch.nonzero(self.origins == TRAINED_RANKER)[:, 0],
            "projects held out": torch.nonzero(learned & (spaces == GENERAL) & is_held_out)[:, 0],
        }

    def others(self, answers: torch.Tensor) -> torch.Tensor:
        """Texts of the same group for each of some answers, by lot."""
        first, end = (self.first_of_group[self.groups[answers] + more] for more in (0, 1))
        shares = torch.rand(len(answers), OTHERS_OF_GROUP, device=DEVICE)
        return first[:, None] + (shares * (end - first)[:, None]).long()

    def synonyms(self, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Two terms each of some groups of the lexicon."""
        groups = torch.randint(len(self.term_groups) - 1, (count,), device=DEVICE)
        first, sizes = self.term_groups[groups], self.term_groups[groups + 1] - self.term_groups[groups]
        one, other = (first + (torch.rand(count, device=DEVICE) * sizes).long() for _ in range(2))
        return one, other

    def often(self, words: int) -> torch.Tensor:
        """Which words operations and questions about them have often enough."""
        operations = torch.nonzero(self.spaces == APIS)[:, 0]
        ids = torch.cat([self.texts.take(operations)[0], self.questions.take(self.about_apis)[0]])
        return torch.bincount(ids, minlength=words) >= FEWEST

    def word_pieces(self, questions: torch.Tensor) -> torch.Tensor:
        """The word pieces of questions, one row each, zeros behind them."""
        ids, offsets = self.pieces.take(questions)
        lengths = torch.diff(offsets, append=torch.tensor([len(ids)], device=DEVICE))
        rows = torch.zeros(len(questions), int(lengths.max()), dtype=torch.long, device=DEVICE)
        rows[torch.arange(rows.shape[1], device=DEVICE)[None] < lengths[:, None]] = ids
        return rows


class Encoder(torch.nn.Module):  # type: ignore[misc]  # no types are installed for it
    """The encoder with a head for each of the two tables."""

    def __init__(self, folder: Path, dimensions: int) -> None:
        super().__init__()
        self.bert = BertModel.from_pretrained(folder, add_pooling_layer=False)
        width = self.bert.config.hidden_size
        self.heads = torch.nn.ModuleDict({name: torch.nn.Linear(width, dimensions) for name in HEADS})
        torch.nn.init.zeros_(self.heads["general"].weight)
        torch.nn.init.zeros_(self.heads["general"].bias)

    def forward(self, pieces: torch.Tensor, head: str, sums: torch.Tensor) -> torch.Tensor:
        """Unit vectors of questions; where few questions teach it, what the encoder says is added to their words."""
        is_there = (pieces != 0).long()
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            state = self.bert(pieces, attention_mask=is_there).last_hidden_state
        state = state.float() * is_there[..., None]
        pooled = state.sum(1) / is_there.sum(1, keepdim=True)
        read = self.heads[head](pooled)
        return F.normalize(read + sums if head == "general" else read, dim=1)


def chosen(among: torch.Tensor, count: int) -> torch.Tensor:
    """So many of some, by lot."""
    return among[torch.randint(len(among), (count,), device=DEVICE)]


def contrast(questions: torch.Tensor, table: torch.Tensor, material: Material, answers: torch.Tensor) -> torch.Tensor:
    """How far questions are from finding their text first, among others of its group and those of other questions."""
    others = material.others(answers)
    right = vectors(table, material.texts.take(answers), DROPOUT)
    wrong = vectors(table, material.texts.take(others.reshape(-1))).view(*others.shape, -1)
    own = (questions * right).sum(1, keepdim=True)
    of_group = torch.einsum("qd,qod->qo", questions, wrong).masked_fill(others == answers[:, None], _NEVER)
    is_own = torch.eye(len(answers), device=DEVICE, dtype=torch.bool)
    of_batch = (questions @ right.T).masked_fill(is_own | (right @ right.T > _ALIKE), _NEVER)
    scores = torch.cat([own, of_group, of_batch], 1) / TEMPERATURE
    return F.cross_entropy(scores, torch.zeros(len(answers), dtype=torch.long, device=DEVICE))


def word_loss(table: torch.Tensor, start: torch.Tensor, material: Material, asked: torch.Tensor) -> torch.Tensor:
    """How far the sums of questions' words are from their operations, and terms from others of their group."""
    questions = vectors(table, material.questions.take(asked), DROPOUT)
    one, other = (vectors(table, material.terms.take(rows)) for rows in material.synonyms(TERMS_PER_STEP))
    is_own = torch.eye(TERMS_PER_STEP, device=DEVICE, dtype=torch.bool)
    scores = (one @ other.T / LEXICON_TEMPERATURE).masked_fill((other @ other.T > _ALIKE) & ~is_own, _NEVER)
    of_terms = F.cross_entropy(scores, torch.arange(TERMS_PER_STEP, device=DEVICE))
    found = contrast(questions, table, material, material.answers[asked])
    return found + LEXICON_WEIGHT * of_terms + PULL * ((table - start) ** 2).sum()


def descend(
    rates: list[tuple[list[torch.nn.Parameter], float]], steps: int, loss_of: Callable[[], torch.Tensor]
) -> None:
    """Adam, each rate falling to nothing."""
    optimizer = torch.optim.AdamW([{"params": params, "lr": rate} for params, rate in rates], weight_decay=0.0)
    for step in range(steps):
        for group, (_, rate) in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * (1 - step / steps) * min(1.0, (step + 1) / WARM_UP_STEPS)
        loss = loss_of()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()


@dataclass(frozen=True, slots=True)
class Training:
    """What learns, and what it learns from."""

    material: Material
    start: torch.Tensor
    table: torch.nn.Parameter
    encoder: Encoder

    def words(self) -> None:
        """The words of APIs alone."""
        asked = self.material.about_apis
        descend(
            [([self.table], WORD_RATE)],
            WORD_STEPS,
            lambda: word_loss(self.table, self.start, self.material, chosen(asked, 1_024)),
        )

    def align(self) -> None:
        """The encoder, to say what the sums of words say."""
        asked = torch.cat([self.material.about_apis, self.material.about_others, self.material.titles])
        descend(self._encoder_rates(), ALIGNING_STEPS, lambda: self._unlike_sums(chosen(asked, 1_024), "apis"))

    def read(self, steps: int) -> None:
        """The encoder, to find answers."""
        rates = [([self.table], TABLE_RATE), *self._encoder_rates()]
        descend(rates, steps, self._reading_loss)

    def _encoder_rates(self) -> list[tuple[list[torch.nn.Parameter], float]]:
        return [
            (list(self.encoder.bert.parameters()), ENCODER_RATE),
            (list(self.encoder.heads.parameters()), HEAD_RATE),
        ]

    def _read(self, asked: torch.Tensor, head: str) -> tuple[torch.Tensor, torch.Tensor]:
        """Some questions as they are read, and as sums of their words."""
        table = self.start if head == "general" else self.table.detach()
        sums = vectors(table, self.material.questions.take(asked))
        return self.encoder(self.material.word_pieces(asked), head, sums), sums

    def _unlike_sums(self, asked: torch.Tensor, head: str) -> torch.Tensor:
        read, sums = self._read(asked, head)
        return (1 - (read * sums).sum(1)).mean()

    def _reading_loss(self) -> torch.Tensor:
        material = self.material
        asked = torch.cat([chosen(material.about_apis, QUESTIONS_PER_STEP), chosen(material.titles, TITLES_PER_STEP)])
        others = chosen(material.about_others, GENERAL_PER_STEP)
        of_apis, _ = self._read(asked, "apis")
        of_others, _ = self._read(others, "general")
        return (
            contrast(of_apis, self.table, material, material.answers[asked])
            + contrast(of_others, self.start, material, material.answers[others])
            + word_loss(self.table, self.start, material, asked[:QUESTIONS_PER_STEP])
            + KEPT_WEIGHT * self._unlike_sums(chosen(material.titles, TITLES_PER_STEP), "general")
        )

    def judge(self, title: str) -> None:
        """Print the share of questions whose text is first, among three and ten of its group."""
        self.encoder.eval()
        with torch.no_grad():
            self._judge(title)
        self.encoder.train()

    def _judge(self, title: str) -> None:
        material = self.material
        everything = torch.arange(len(material.texts), device=DEVICE)
        texts = torch.cat(
            [
                vectors(table, material.texts.take(rows))
                for table, rows in (
                    (self.table, everything[material.spaces == APIS]),
                    (self.start, everything[material.spaces == GENERAL]),
                )
            ]
        )
        for name, asked in material.measured.items():
            head = HEADS[int(material.spaces[material.answers[asked[0]]])]
            read, sums = self._read(asked, head)
            shares = [
                f"{way} {_shares(found, texts, material, asked)}" for way, found in (("sums", sums), ("read", read))
            ]
            print(f"{title}: {name} ({len(asked)}): {', '.join(shares)}", flush=True)


def _shares(questions: torch.Tensor, texts: torch.Tensor, material: Material, asked: torch.Tensor) -> str:
    answers = material.answers[asked]
    scores = (questions @ texts.T).masked_fill(material.groups[None] != material.groups[answers][:, None], _NEVER)
    before = (scores > scores.gather(1, answers[:, None])).sum(1)
    return "/".join(f"{(before < most).float().mean().item():.3f}" for most in (1, 3, 10))


def write_words(table: torch.Tensor, is_kept: torch.Tensor, folder: Path) -> None:
    """The vectors of words that changed."""
    folder.mkdir(parents=True, exist_ok=True)
    changed = Table.of(table[is_kept].cpu().numpy())
    np.save(folder / "numbers.npy", torch.nonzero(is_kept)[:, 0].cpu().numpy().astype(np.int32))
    np.save(folder / "rows.npy", changed.rows)
    np.save(folder / "scales.npy", changed.scales)
    about = {"identity": IDENTITY, "words": len(changed.rows)}
    (folder / "model.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")


def write_encoder(encoder: Encoder, vocabulary: list[str], folder: Path) -> None:
    """The encoder as whole numbers with a scale for each column, without the word pieces that no English text has."""
    folder.mkdir(parents=True, exist_ok=True)
    config = encoder.bert.config
    given = {name: value.float().cpu().numpy() for name, value in encoder.bert.state_dict().items()}
    about = {
        "layers": config.num_hidden_layers,
        "attention_heads": config.num_attention_heads,
        "epsilon": config.layer_norm_eps,
    }
    shape = Shape(about["layers"], about["attention_heads"], about["epsilon"], config.max_position_embeddings)
    weights = prepared(given, shape)
    weights["places"] = weights["places"][:64]
    head = encoder.heads["apis"]  # the other one is no better than sums of words (LOG.md)
    weights["head.apis"] = head.weight.detach().float().cpu().numpy().T
    weights["head.apis.bias"] = head.bias.detach().float().cpu().numpy()
    arrays = {}
    for name, values in weights.items():
        if values.ndim == 2 and name != "places":
            scales = np.abs(values).max(axis=0) / _PIECE_LEVELS + 1e-12
            arrays[name] = np.round(values / scales).astype(np.int8)
            arrays[f"{name}.scales"] = scales.astype(np.float32)
        else:
            arrays[name] = values.astype(np.float16)
    np.savez(folder / "weights.npz", allow_pickle=False, **arrays)
    kept = [n for n, piece in enumerate(vocabulary) if piece.isascii() and not piece.startswith("[unused")]
    pieces = Table.of(piece_vectors(given)[kept])
    np.save(folder / "pieces.npy", pieces.rows)
    np.save(folder / "piece_scales.npy", pieces.scales)
    (folder / "pieces.txt").write_text("\n".join(vocabulary[n] for n in kept), "utf-8")
    (folder / "model.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")


def main() -> None:
    """Train and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("material", type=Path)
    parser.add_argument("encoder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--start", type=Path, default=Path("src/deltos/embed/model"), help="the table to begin with")
    parser.add_argument("--steps", type=int, default=READING_STEPS)
    arguments = parser.parse_args()
    torch.manual_seed(1)
    material = Material(np.load(arguments.material))
    stored = Table(np.load(arguments.start / "rows.npy"), np.load(arguments.start / "scales.npy"))
    base = torch.from_numpy(stored.vectors()).to(DEVICE)
    usual = base.norm(dim=1).mean()
    start = base / usual
    encoder = Encoder(arguments.encoder, base.shape[1]).to(DEVICE)
    training = Training(material, start, torch.nn.Parameter(start.clone()), encoder)
    training.words()
    training.align()
    training.judge("aligned")
    training.read(arguments.steps)
    training.judge("after")
    is_kept = material.often(len(base))
    training.table.data[~is_kept] = start[~is_kept]
    training.judge("with rare words as they were")
    write_words(training.table.detach() * usual, is_kept, arguments.out / "apis")
    vocabulary = (arguments.encoder / "vocab.txt").read_text("utf-8").split("\n")
    write_encoder(encoder, vocabulary[: encoder.bert.config.vocab_size], arguments.out / "queries")


if __name__ == "__main__":
    main()
