"""Train an encoder for questions and texts, and small transformers that replace it for operations and code.

    python -m training.encoder MATERIAL.npz ENCODER_FOLDER OUT_FOLDER [--steps N] [--reader-steps N]

MATERIAL.npz is the output of encoder_pairs.py, ENCODER_FOLDER has the published files of all-MiniLM-L6-v2. The encoder
embeds texts and questions. A question must find its text among others of the same API or project (after a third of the
steps, mostly similar ones) and among the texts of other questions. A second head maps questions about APIs to summed
word vectors, which are trained too, regularised towards their start. Then a transformer of two layers over word vectors
is distilled: it learns the encoder's vectors of operations, and to be found by their questions.

Needs PyTorch and transformers; eight minutes on a large GPU. Prints the share of held-out questions whose text is in
the first 1, 3 and 10 of its API or project, by cosine similarity. export_encoder.py converts the output.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (everybody calls it so)
from transformers import BertConfig, BertModel

from training.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    Arrays = Mapping[str, npt.NDArray[np.int64]]

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
LEARNED, SEEN, TRAINED_RANKER, TITLE, MINED = range(
    5
)  # the same values as in encoder_pairs.py, which cannot be imported where Deltos is not installed
APIS, MEMORY, DOCS, CODE, SESSIONS = range(5)
STEPS, READER_STEPS = 1_300, 4_000
ENCODER_RATE, HEAD_RATE, TABLE_RATE, READER_RATE = 1.3e-4, 1e-3, 5e-4, 1e-3
WARM_UP_STEPS, READER_WARM_UP_STEPS = 50, 100
QUESTIONS_PER_STEP, TITLES_PER_STEP = 512, 48
OTHERS_PER_STEP = {MEMORY: 96, DOCS: 48, CODE: 96, SESSIONS: 96}
MINED_PER_STEP = 96
EMBEDDED_BY_WORDS = {APIS: "apis", CODE: "code"}
GROUP_NAMES = {"memory": MEMORY, "sessions": SESSIONS, "documentation": DOCS, "code": CODE}
WRONG_OPERATIONS, WRONG_TEXTS, WRONG_FOR_READER, READER_TEXTS_PER_STEP = 5, 3, 6, 1_024
TEMPERATURE, WORDS_TEMPERATURE = 0.05, 0.06
WORDS_WEIGHT, READER_WEIGHT = 0.6, 8.0
REGULARISATION = 2.5e-4
DROPOUT = 0.1
TEXT_PIECES, QUESTION_PIECES, TEXT_WORDS = 96, 64, 200
READER_WORDS = {APIS: 40, CODE: 80}
DIMENSIONS, READER_LAYERS, READER_HEADS, READER_INNER = 256, 2, 4, 1_024
SIMILAR_TEXTS = 24
HELD_OUT_INTERVAL = 8  # one project in 8 is held out
_ALIKE, _THE_SAME = (
    0.95,
    0.93,
)  # cosine similarities above which neither text is a wrong answer to a question about the other
_MIN_NEIGHBOUR_COSINE = 0.2
_MASKED_SCORE = -99.0
_MAX_INT8 = 127
_BATCH_ROWS = 2_048


def padded_rows(arrays: Arrays, name: str, width: int, *, add: int = 0, is_once: bool = False) -> torch.Tensor:
    """Return rows of numbers, padded with zeros; `is_once` keeps each number once, for models that ignore order."""
    ids, starts = arrays[f"{name}_ids"].astype(np.int64), arrays[f"{name}_starts"]
    rows = np.zeros((len(starts) - 1, width), np.int64)
    for place, row in enumerate(rows):
        found = ids[starts[place] : starts[place + 1]]
        if is_once:
            found = found[np.sort(np.unique(found, return_index=True)[1])]
        row[: len(found[:width])] = found[:width] + add
    return torch.from_numpy(rows).to(DEVICE)


class Material:
    """Texts and questions on the device."""

    def __init__(self, arrays: Arrays) -> None:
        self.text_pieces = padded_rows(arrays, "text_piece", TEXT_PIECES)
        self.question_pieces = padded_rows(arrays, "piece", QUESTION_PIECES)
        self.words = padded_rows(arrays, "text", TEXT_WORDS, add=1)
        self.different_words = padded_rows(arrays, "text", max(READER_WORDS.values()), add=1, is_once=True)
        self.groups, self.domains, self.answers, self.origins = (
            torch.from_numpy(arrays[name].astype(np.int64)).to(DEVICE)
            for name in ("text_groups", "text_domains", "question_answers", "question_origins")
        )
        # Texts are stored in the order of their groups.
        self.first_of_group = torch.searchsorted(self.groups, torch.arange(int(self.groups.max()) + 2, device=DEVICE))
        self.neighbours: torch.Tensor | None = None
        domains, learned = self.domains[self.answers], self.origins == LEARNED
        is_held_out = self.groups[self.answers] % HELD_OUT_INTERVAL == 0
        self.about_apis = _numbers(learned & (domains == APIS))
        self.titles = _numbers(self.origins == TITLE)
        self.about_others = {
            domain: _numbers(learned & (domains == domain) & ~is_held_out) for domain in OTHERS_PER_STEP
        }
        self.mined = _numbers((self.origins == MINED) & ~is_held_out)
        self.measured = {
            "seen": _numbers(self.origins == SEEN),
            "training of the ranker": _numbers(self.origins == TRAINED_RANKER),
            **{
                f"{name} held out": _numbers(learned & (domains == domain) & is_held_out)
                for name, domain in GROUP_NAMES.items()
            },
        }
        asked = torch.cat([self.measured["seen"], self.measured["training of the ranker"]])
        self.is_measured = torch.isin(self.groups, self.groups[self.answers[asked]].unique())
        self.is_measured |= (self.domains != APIS) & (self.groups % HELD_OUT_INTERVAL == 0)

    def others(self, answers: torch.Tensor, count: int) -> torch.Tensor:
        """Return random texts of the same group for each answer.

        After `find_neighbours` has run, half of them are texts similar to the answer.
        """
        first, end = (self.first_of_group[self.groups[answers] + more] for more in (0, 1))
        found = first[:, None] + (torch.rand(len(answers), count, device=DEVICE) * (end - first)[:, None]).long()
        if self.neighbours is not None:
            near = self.neighbours[answers][:, torch.randint(SIMILAR_TEXTS, ((count + 1) // 2,), device=DEVICE)]
            found[:, : near.shape[1]] = torch.where(near < 0, found[:, : near.shape[1]], near)
        return found

    def find_neighbours(self, texts: torch.Tensor) -> None:
        """Find the most similar texts of the same group, except near duplicates."""
        self.neighbours = torch.full((len(texts), SIMILAR_TEXTS), -1, dtype=torch.long, device=DEVICE)
        for group in range(len(self.first_of_group) - 1):
            first, end = (int(self.first_of_group[group + more]) for more in (0, 1))
            for start in range(first, end, 2 * _BATCH_ROWS):
                stop = min(end, start + 2 * _BATCH_ROWS)
                scores = texts[start:stop] @ texts[first:end].T
                scores[scores > _THE_SAME] = _MASKED_SCORE
                values, places = scores.topk(min(SIMILAR_TEXTS, end - first), dim=1)
                self.neighbours[start:stop, : places.shape[1]] = torch.where(
                    values > _MIN_NEIGHBOUR_COSINE, places + first, -1
                )


def _numbers(which: torch.Tensor) -> torch.Tensor:
    return torch.nonzero(which)[:, 0]


def sample_numbers(among: torch.Tensor, count: int) -> torch.Tensor:
    """Return a random sample of at most `count` numbers."""
    return among[torch.randint(len(among), (count,), device=DEVICE)]


def in_batches(make: Callable[[torch.Tensor], torch.Tensor], rows: torch.Tensor) -> torch.Tensor:
    """Apply `make` to rows in batches and concatenate the results."""
    return torch.cat([make(rows[start : start + _BATCH_ROWS]) for start in range(0, len(rows), _BATCH_ROWS)])


def mean_state(state: torch.Tensor, is_there: torch.Tensor) -> torch.Tensor:
    """Return the mean state of the word pieces, without padding."""
    return (state.float() * is_there[..., None]).sum(1) / is_there.sum(1, keepdim=True).clamp(min=1)


def contrastive_loss(
    questions: torch.Tensor, right: torch.Tensor, wrong: torch.Tensor, others: torch.Tensor, answers: torch.Tensor,
    temperature: float,
) -> torch.Tensor:  # fmt: skip
    """Return the cross-entropy of finding the text of a question among texts of its group and of other questions."""
    own = (questions * right).sum(1, keepdim=True)
    of_group = torch.einsum("qd,qod->qo", questions, wrong).masked_fill(others == answers[:, None], _MASKED_SCORE)
    is_right = (answers[:, None] == answers[None]) | (right @ right.T > _ALIKE)
    scores = torch.cat([own, of_group, (questions @ right.T).masked_fill(is_right, _MASKED_SCORE)], 1) / temperature
    return F.cross_entropy(scores, torch.zeros(len(answers), dtype=torch.long, device=DEVICE))


def shares(questions: torch.Tensor, texts: torch.Tensor, material: Material, asked: torch.Tensor) -> str:
    """Return the shares of questions whose text is in the first 1, 3 and 10 of its group."""
    answers = material.answers[asked]
    scores = (questions @ texts.T).masked_fill(
        material.groups[None] != material.groups[answers][:, None], _MASKED_SCORE
    )
    before = (scores > scores.gather(1, answers[:, None])).sum(1)
    return " / ".join(f"{(before < most).float().mean().item():.3f}" for most in (1, 3, 10))


def minimise_loss(
    rates: list[tuple[list[torch.nn.Parameter], float]],
    steps: int,
    warm_up: int,
    loss_at: Callable[[int], torch.Tensor],
) -> None:
    """Minimise a loss with Adam; each learning rate decays to zero."""
    optimizer = torch.optim.AdamW([{"params": params, "lr": rate} for params, rate in rates], weight_decay=0.0)
    for step in range(steps):
        for group, (_, rate) in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * (1 - step / steps) * min(1.0, (step + 1) / warm_up)
        loss = loss_at(step)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()


def sum_word_vectors(table: torch.Tensor, words: torch.Tensor, dropout: float = 0.0) -> torch.Tensor:
    """Return the unit vectors of texts as sums of their word vectors."""
    counts = (words != 0).float() * (torch.rand_like(words, dtype=torch.float) >= dropout)
    return F.normalize(F.embedding_bag(words, table, mode="sum", per_sample_weights=counts), dim=1)


class Encoder(torch.nn.Module):  # type: ignore[misc]  # no types are installed for it
    """The encoder with its head for sums of word vectors."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.bert = BertModel.from_pretrained(folder, add_pooling_layer=False)
        self.words = torch.nn.Linear(self.bert.config.hidden_size, DIMENSIONS)

    def forward(self, pieces: torch.Tensor) -> torch.Tensor:
        """Return the vectors of texts. Each text is a row of word pieces."""
        pieces = pieces[:, : max(4, int((pieces != 0).sum(1).max()))]
        is_there = (pieces != 0).long()
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            state = self.bert(pieces, attention_mask=is_there).last_hidden_state
        return mean_state(state, is_there)


class JointTraining:
    """Joint training of the encoder and the word vectors of APIs."""

    def __init__(self, material: Material, encoder: Encoder, start: torch.Tensor) -> None:
        self.material = material
        self.encoder = encoder
        self.start = start
        self.table = torch.nn.Parameter(start.clone())

    def learn(self, steps: int) -> None:
        """Train both models for `steps` steps."""
        rates = [
            (list(self.encoder.bert.parameters()), ENCODER_RATE),
            (list(self.encoder.words.parameters()), HEAD_RATE),
            ([self.table], TABLE_RATE),
        ]
        again = (steps // 3, 2 * steps // 3)

        def loss_at(step: int) -> torch.Tensor:
            if step in again:
                self.material.find_neighbours(self.texts())
            return self._loss()

        minimise_loss(rates, steps, WARM_UP_STEPS, loss_at)

    def sums(self, texts: torch.Tensor, dropout: float = 0.0) -> torch.Tensor:
        """Return the unit vectors of texts as sums of their word vectors."""
        return sum_word_vectors(self.table, self.material.words[texts], dropout)

    def texts(self) -> torch.Tensor:
        """Return the unit vectors that the encoder computes for all texts."""
        self.encoder.eval()
        with torch.no_grad():
            every = torch.arange(len(self.material.groups), device=DEVICE)
            found = in_batches(lambda rows: F.normalize(self.encoder(self.material.text_pieces[rows]), dim=1), every)
        self.encoder.train()
        return found

    def _found(self, asked: torch.Tensor, count: int, *, is_about_apis: bool) -> torch.Tensor:
        answers = self.material.answers[asked]
        others = self.material.others(answers, count)
        rows = torch.cat([answers, others.reshape(-1)])
        read = self.encoder(self.material.question_pieces[asked])
        texts = F.normalize(self.encoder(self.material.text_pieces[rows]), dim=1)
        loss = self._contrastive_loss(F.normalize(read, dim=1), texts, others, answers, TEMPERATURE)
        if is_about_apis:
            words = F.normalize(self.encoder.words(read), dim=1)
            loss = loss + WORDS_WEIGHT * self._contrastive_loss(
                words, self.sums(rows, DROPOUT), others, answers, WORDS_TEMPERATURE
            )
        return loss

    @staticmethod
    def _contrastive_loss(
        questions: torch.Tensor, texts: torch.Tensor, others: torch.Tensor, answers: torch.Tensor, temperature: float
    ) -> torch.Tensor:
        right, wrong = texts[: len(answers)], texts[len(answers) :].view(*others.shape, -1)
        return contrastive_loss(questions, right, wrong, others, answers, temperature)

    def _about_others(self) -> torch.Tensor:
        asked = [sample_numbers(self.material.about_others[domain], count) for domain, count in OTHERS_PER_STEP.items()]
        return torch.cat([*asked, sample_numbers(self.material.mined, MINED_PER_STEP)])

    def _loss(self) -> torch.Tensor:
        material = self.material
        asked = torch.cat(
            [sample_numbers(material.about_apis, QUESTIONS_PER_STEP), sample_numbers(material.titles, TITLES_PER_STEP)]
        )
        return (
            self._found(asked, WRONG_OPERATIONS, is_about_apis=True)
            + self._found(self._about_others(), WRONG_TEXTS, is_about_apis=False)
            + REGULARISATION * ((self.table - self.start) ** 2).sum()
        )


class DistilledEncoder(torch.nn.Module):  # type: ignore[misc]  # no types are installed for it
    """Small transformer over the word vectors of a text."""

    def __init__(self) -> None:
        super().__init__()
        self.map = torch.nn.Linear(DIMENSIONS, DIMENSIONS)
        torch.nn.init.eye_(self.map.weight)
        config = BertConfig(
            vocab_size=2,
            hidden_size=DIMENSIONS,
            num_hidden_layers=READER_LAYERS,
            num_attention_heads=READER_HEADS,
            intermediate_size=READER_INNER,
            max_position_embeddings=max(READER_WORDS.values()),
            hidden_dropout_prob=0.05,
            attention_probs_dropout_prob=0.05,
        )
        self.bert = BertModel(config, add_pooling_layer=False)
        self.out = torch.nn.Linear(DIMENSIONS, DIMENSIONS)

    def forward(self, sums: torch.Tensor, vectors: torch.Tensor, is_there: torch.Tensor) -> torch.Tensor:
        """Return the unit vectors of texts from their summed words and the vectors of the words."""
        if self.training:
            is_kept = torch.rand_like(is_there, dtype=torch.float) >= DROPOUT
            is_kept[:, 0] = True
            is_there = is_there & is_kept
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            state = self.bert(inputs_embeds=vectors, attention_mask=is_there.long()).last_hidden_state
        return F.normalize(self.map(sums) + self.out(mean_state(state, is_there)), dim=1)


class Distillation:
    """Training of a small transformer on the encoder's vectors for texts of one domain."""

    def __init__(
        self, material: Material, domain: int, table: torch.Tensor, questions: torch.Tensor, texts: torch.Tensor
    ) -> None:
        self._material = material
        self._domain = domain
        self._table = table
        self._questions = questions
        self._texts = texts
        with torch.no_grad():
            every = torch.arange(len(texts), device=DEVICE)
            self._sums = in_batches(lambda rows: sum_word_vectors(table, material.words[rows]), every)
        self._learned_from = _numbers((material.domains == domain) & ~material.is_measured)
        self.reader = DistilledEncoder().to(DEVICE)

    def learn(self, steps: int) -> None:
        """Train on texts outside the held-out groups and on their questions."""
        minimise_loss(
            [(list(self.reader.parameters()), READER_RATE)], steps, READER_WARM_UP_STEPS, lambda _: self._loss()
        )

    def read(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the vectors of the texts in these rows."""
        words = self._material.different_words[rows, : READER_WORDS[self._domain]]
        return self.reader(self._sums[rows], self._table[words], words != 0)

    def _loss(self) -> torch.Tensor:
        material = self._material
        asked = self._asked()
        answers = material.answers[asked]
        others = material.others(answers, WRONG_FOR_READER)
        rows = torch.cat([answers, others.reshape(-1), sample_numbers(self._learned_from, READER_TEXTS_PER_STEP)])
        read = self.read(rows)
        unlike = (1 - (read * self._texts[rows]).sum(1))[~material.is_measured[rows]].mean()
        right, wrong = read[: len(answers)], read[len(answers) : -READER_TEXTS_PER_STEP].view(*others.shape, -1)
        found = contrastive_loss(self._questions[asked], right, wrong, others, answers, WORDS_TEMPERATURE)
        return READER_WEIGHT * unlike + found

    def _asked(self) -> torch.Tensor:
        material = self._material
        if self._domain == APIS:
            return torch.cat([sample_numbers(material.about_apis, 512), sample_numbers(material.titles, 64)])
        return torch.cat(
            [sample_numbers(material.about_others[self._domain], 384), sample_numbers(material.mined, 192)]
        )


def principal_directions(texts: torch.Tensor, material: Material) -> torch.Tensor:
    """Return the principal directions of the texts' vectors. Operations have twice the weight of other texts."""
    operations = _numbers((material.domains == APIS) & ~material.is_measured)
    sample = texts[
        torch.cat([sample_numbers(operations, 12_000), sample_numbers(_numbers(material.domains != APIS), 6_000)])
    ]
    return torch.linalg.svd((sample.T @ sample).cpu().double())[2][:DIMENSIONS].T.float().to(DEVICE)


def quantise_rows(rows: torch.Tensor) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Quantise rows to int8, each with a scale."""
    scales = rows.abs().amax(1) / _MAX_INT8 + 1e-12
    return (rows / scales[:, None]).round().to(torch.int8).cpu().numpy(), scales.cpu().numpy()


def write_encoder(encoder: Encoder, whole: torch.Tensor, folder: Path) -> None:
    """Write the encoder and its heads."""
    arrays = {
        "head.texts": whole.cpu().numpy(),
        "head.words": encoder.words.weight.detach().T.cpu().numpy(),
        "head.words.bias": encoder.words.bias.detach().cpu().numpy(),
    }
    for name, value in encoder.bert.state_dict().items():
        if "word_embeddings" in name:
            rows, scales = quantise_rows(value.float())
            np.savez(folder / "enc_pieces.npz", rows=rows, scales=scales)
        elif value.ndim == 2 and "position" not in name and "token_type" not in name:
            arrays[name], arrays[f"{name}#"] = quantise_rows(value.float())
        else:
            arrays[name] = value.half().cpu().numpy()
    np.savez(folder / "enc_weights.npz", allow_pickle=False, **arrays)


def load_first_table(folder: Path) -> tuple[torch.Tensor, torch.Tensor, float]:
    """Return the current word vectors for APIs, those of the general table, and their mean length. Row 0 is padding."""
    stored = Table(np.load(folder / "rows.npy"), np.load(folder / "scales.npy")).vectors()
    mean_length = float(np.linalg.norm(stored, axis=1).mean())
    words = stored.copy()
    apis = folder / "apis"
    words[np.load(apis / "numbers.npy")] = Table(np.load(apis / "rows.npy"), np.load(apis / "scales.npy")).vectors()
    both = [
        torch.from_numpy(np.vstack([np.zeros((1, DIMENSIONS), np.float32), each / mean_length]))
        for each in (words, stored)
    ]
    return both[0].to(DEVICE), both[1].to(DEVICE), mean_length


def main() -> None:
    """Train all models and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("material", type=Path)
    parser.add_argument("encoder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--start", type=Path, default=Path("src/deltos/embed/model"), help="the tables to begin with")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--reader-steps", type=int, default=READER_STEPS)
    arguments = parser.parse_args()
    torch.manual_seed(1)
    began = time.monotonic()
    material = Material(np.load(arguments.material))
    start, plain, mean_length = load_first_table(arguments.start)
    reading = JointTraining(material, Encoder(arguments.encoder).to(DEVICE).train(), start)
    reading.learn(arguments.steps)
    whole = reading.texts()
    with torch.no_grad():
        head = principal_directions(whole, material)
        texts = F.normalize(whole @ head, dim=1)
        reading.encoder.eval()
        every = torch.arange(len(material.answers), device=DEVICE)
        read = in_batches(lambda rows: reading.encoder(material.question_pieces[rows]), every)
        questions = F.normalize(F.normalize(read, dim=1) @ head, dim=1)
        for name, asked in material.measured.items():
            print(f"encoder, {name} ({len(asked)}): {shares(questions[asked], texts, material, asked)}", flush=True)
    write_encoder(reading.encoder, head, arguments.out)
    changed = _numbers((reading.table.detach() - plain).abs().amax(1) > 2e-3)
    rows, scales = quantise_rows(reading.table.detach()[changed] * mean_length)
    np.savez(arguments.out / "table.npz", numbers=(changed - 1).cpu().numpy(), rows=rows, scales=scales)
    tables = {APIS: reading.table.detach(), CODE: plain}
    for domain, measured in ((APIS, ("seen", "training of the ranker")), (CODE, ("code held out",))):
        distillation = Distillation(material, domain, tables[domain], questions, texts)
        distillation.learn(arguments.reader_steps)
        distillation.reader.eval()
        with torch.no_grad():
            by_words = in_batches(distillation.read, torch.arange(len(texts), device=DEVICE))
        for name in measured:
            asked = material.measured[name]
            print(f"reader of words, {name}: {shares(questions[asked], by_words, material, asked)}", flush=True)
        state = distillation.reader.state_dict()
        halves = {name: value.half().cpu().numpy() for name, value in state.items() if "word_embeddings" not in name}
        np.savez(arguments.out / f"reader_{EMBEDDED_BY_WORDS[domain]}.npz", allow_pickle=False, **halves)
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
