"""Distil the encoder and its adapters into a small encoder that embeds texts while they are indexed.

    python -m training.distill MATERIAL.npz MODEL OUT [--seconds N] [--runs NAME,...] [--start OUT.npz]

MATERIAL.npz is what distill_material.py wrote. MODEL is a model folder with the encoder to distil (`encoder`, and the
adapters `docs` and `memory`) and the table of word vectors. The student reads texts as index words through the static
word vectors, and questions as word pieces. It learns to return the vectors of the encoder (regression), to order texts
like it (KL divergence over the batch), and to find the answers of questions (cross-entropy). Held-out groups are used
for evaluation only: how often an answer is first, and among the first three texts of its group.

Needs PyTorch, and some minutes on a large GPU.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
APIS, MEMORY, DOCS, CODE = range(4)
DOMAIN_NAMES = ("apis", "memory", "docs", "code")
DIMENSIONS = 256  # dimensions of the encoder's vectors
TEXTS_PER_STEP, QUESTIONS_PER_STEP = 1_536, 768
TEXTS_PER_GROUP, QUESTIONS_PER_GROUP = 96, 64
WORKERS = 12
TEMPERATURE, TEACHER_TEMPERATURE = 0.05, 0.05
MIN_COSINE_OF_EQUAL_TEXTS = (
    0.93  # texts with a higher cosine similarity count as equal, so neither is a wrong answer for the other
)
DOMAIN_SHARES = (0.25, 0.25, 0.25, 0.25)
WARM_UP_STEPS = 200
_MASKED_SCORE = -1e4
_BATCH_ROWS = 4_096


@dataclass(frozen=True, slots=True)
class Settings:
    """Size of a student model, and the weights of the terms of its loss."""

    name: str
    width: int = 128
    layers: int = 2
    inner: int = 256
    words: int = 64
    question_width: int = 192
    question_layers: int = 3
    question_inner: int = 512
    rate: float = 2e-3
    regress: float = 3.0
    distil: float = 1.0
    contrast: float = 1.0
    dropout: float = 0.05
    word_dropout: float = 0.1


RUNS = [
    Settings("w128x2"),
    Settings("w160x2", width=160, inner=320, words=80),
    Settings("w192x2", width=192, inner=384, words=96),
    Settings("w192x3", width=192, layers=3, inner=384, words=96, question_width=256, question_inner=768),
]


class Teacher:
    """The encoder to be distilled, with or without an adapter, computed as in src/deltos/embed/transformer.py."""

    def __init__(self, folder: Path, adapter: str = "") -> None:
        about = json.loads((folder / "encoder/model.json").read_text("utf-8"))
        self.layers, self.heads, self.epsilon = about["layers"], about["attention_heads"], about["epsilon"]
        self.weights = read_arrays(folder / "encoder/weights.npz")
        if adapter:
            self.weights |= read_arrays(folder / adapter / "adapter.npz")
        rows, scales = np.load(folder / "encoder/pieces.npy"), np.load(folder / "encoder/piece_scales.npy")
        self.pieces = torch.from_numpy(rows.astype(np.float32) * scales[:, None]).to(DEVICE)

    def vectors(self, numbers: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the unit vectors of rows of word pieces, and their projections into the space of word vectors."""
        found = [self._encode(numbers[start : start + _BATCH_ROWS]) for start in range(0, len(numbers), _BATCH_ROWS)]
        mean = torch.cat(found)
        texts = F.normalize(F.normalize(mean, dim=1) @ self.weights["head.texts"], dim=1)
        return texts, F.normalize(mean @ self.weights["head.words"] + self.weights["head.words.bias"], dim=1)

    def _encode(self, numbers: torch.Tensor) -> torch.Tensor:
        numbers = numbers[:, : max(3, int((numbers != 0).sum(1).max()))]
        is_real = numbers != 0
        state = self.pieces[numbers] + self.weights["places"][: numbers.shape[1]] + self.weights["kind"]
        state = self._normalise(state, "first")
        with torch.no_grad(), torch.autocast(DEVICE, dtype=torch.bfloat16):
            for layer in range(self.layers):
                state = self._apply_layer(state, is_real, f"{layer}.")
        return (state.float() * is_real[..., None]).sum(1) / is_real.sum(1, keepdim=True)

    def _apply_layer(self, state: torch.Tensor, is_real: torch.Tensor, name: str) -> torch.Tensor:
        count, length, width = state.shape
        projected = self._apply_linear(state, name + "qkv").view(count, length, 3, self.heads, width // self.heads)
        query, key, value = projected.permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=is_real[:, None, None, :])
        attended = attended.transpose(1, 2).reshape(state.shape)
        state = self._normalise(state + self._apply_linear(attended, name + "out"), name + "after")
        transformed = self._apply_linear(F.gelu(self._apply_linear(state, name + "up")), name + "down")
        return self._normalise(state + transformed, name + "end")

    def _apply_linear(self, rows: torch.Tensor, name: str) -> torch.Tensor:
        product = rows @ self.weights[name] + self.weights[f"{name}.bias"]
        if f"{name}.lora_a" in self.weights:
            product = product + (rows @ self.weights[f"{name}.lora_a"]) @ self.weights[f"{name}.lora_b"]
        return product

    def _normalise(self, state: torch.Tensor, name: str) -> torch.Tensor:
        scale, bias = self.weights[name], self.weights[f"{name}.bias"]
        return F.layer_norm(state.float(), state.shape[-1:], scale, bias, self.epsilon)


def read_arrays(path: Path) -> dict[str, torch.Tensor]:
    """Read the weights of a model file: integers with a scale per column, or half-precision floats."""
    with np.load(path) as arrays:
        found = {}
        for name in arrays.files:
            if not name.endswith(".scales"):
                values = arrays[name].astype(np.float32)
                values = values * arrays[f"{name}.scales"] if f"{name}.scales" in arrays.files else values
                found[name] = torch.from_numpy(np.ascontiguousarray(values)).to(DEVICE)
    return found


class Material:
    """Texts and questions as arrays on the device, with the teacher's vectors."""

    def __init__(self, path: Path, folder: Path) -> None:
        with np.load(path) as arrays:
            self.words = padded_rows(arrays, "words", add=1)
            text_pieces, self.question_pieces = (
                padded_rows(arrays, "text_pieces"),
                padded_rows(arrays, "question_pieces"),
            )
            names = (
                "text_groups",
                "text_domains",
                "question_groups",
                "answers",
                "partial_answers",
                "group_is_held_out",
            )
            self.text_groups, self.domains, self.question_groups, answers, partial_answers, held_out = (
                torch.from_numpy(arrays[name].astype(np.int64)).to(DEVICE) for name in names
            )
        self.answers, self.partial_answers = answers - 1, partial_answers - 1
        self.question_domains = self.domains[self.answers[:, 0]]
        self.text_held_out = held_out[self.text_groups] > 0
        self.question_held_out = held_out[self.question_groups] > 0
        self.group_starts = torch.searchsorted(self.text_groups, torch.arange(len(held_out) + 1, device=DEVICE))
        self.texts = torch.zeros(len(self.words), DIMENSIONS, device=DEVICE)
        self.questions = torch.zeros(len(self.answers), DIMENSIONS, device=DEVICE)
        self.in_word_space = torch.zeros(len(self.answers), DIMENSIONS, device=DEVICE)
        for domain in range(4):
            teacher = Teacher(folder, {DOCS: "docs", MEMORY: "memory"}.get(domain, ""))
            some, asked = self.domains == domain, self.question_domains == domain
            self.texts[some] = teacher.vectors(text_pieces[some])[0]
            self.questions[asked], self.in_word_space[asked] = teacher.vectors(self.question_pieces[asked])
        self.groups_by_domain = []
        first = self.text_groups[self.group_starts[:-1].clamp(max=len(self.words) - 1)]
        for domain in range(4):
            of_domain = self.domains[self.group_starts[:-1].clamp(max=len(self.words) - 1)] == domain
            sizes = self.group_starts[1:] - self.group_starts[:-1]
            self.groups_by_domain.append(first[of_domain & (sizes > 0) & (held_out == 0)].unique())
        self.questions_of_text: torch.Tensor = self.answers[:, 0]
        order = torch.argsort(self.question_groups, stable=True)
        self.question_order = order
        self.question_starts = torch.searchsorted(
            self.question_groups[order], torch.arange(len(held_out) + 1, device=DEVICE)
        )


def padded_rows(arrays: Mapping[str, np.ndarray], name: str, *, add: int = 0) -> torch.Tensor:
    """Return rows of numbers, padded with zeros."""
    lengths = arrays[f"{name}_lengths"].astype(np.int64)
    rows = np.zeros((len(lengths), max(3, int(lengths.max()))), np.int64)
    rows[np.arange(rows.shape[1])[None, :] < lengths[:, None]] = arrays[name].astype(np.int64) + add
    return torch.from_numpy(rows).to(DEVICE)


class TransformerLayers(torch.nn.Module):  # type: ignore[misc]  # no types are installed for it
    """Transformer layers with ReLU and pre-normalisation. The output is the mean over all positions."""

    def __init__(self, width: int, layers: int, inner: int, places: int, dropout: float) -> None:
        super().__init__()
        self.width, self.layers, self.heads, self.dropout = width, layers, width // 32, dropout
        self.places = torch.nn.Parameter(torch.randn(places, width) * 0.02)
        self.domains = torch.nn.Parameter(torch.zeros(4, width))
        shapes = {"qkv": (width, 3 * width), "out": (width, width), "up": (width, inner), "down": (inner, width)}
        self.matrices = torch.nn.ParameterDict()
        for layer in range(layers):
            for name, (rows, columns) in shapes.items():
                scale = 1 / math.sqrt(rows) / (math.sqrt(2 * layers) if name in ("out", "down") else 1)
                self.matrices[f"{layer}_{name}"] = torch.nn.Parameter(torch.randn(rows, columns) * scale)
                self.matrices[f"{layer}_{name}_bias"] = torch.nn.Parameter(torch.zeros(columns))

    def forward(self, state: torch.Tensor, is_real: torch.Tensor, domain: int | None) -> torch.Tensor:
        """Return the pooled state of each row."""
        count, length, width = state.shape
        state = state + self.places[:length]
        if domain is not None:
            state = state + self.domains[domain]
        for layer in range(self.layers):
            projected = self._apply_linear(scale_rows(state), f"{layer}_qkv").view(count, length, 3, self.heads, -1)
            query, key, value = projected.permute(2, 0, 3, 1, 4)
            attended = F.scaled_dot_product_attention(query, key, value, attn_mask=is_real[:, None, None, :])
            attended = attended.transpose(1, 2).reshape(count, length, width)
            state = state + self._apply_dropout(self._apply_linear(attended, f"{layer}_out"))
            inner = F.relu(self._apply_linear(scale_rows(state), f"{layer}_up"))
            state = state + self._apply_dropout(self._apply_linear(inner, f"{layer}_down"))
        return (scale_rows(state) * is_real[..., None]).sum(1) / is_real.sum(1, keepdim=True).clamp(min=1)

    def _apply_linear(self, rows: torch.Tensor, name: str) -> torch.Tensor:
        return rows @ self.matrices[name] + self.matrices[f"{name}_bias"]

    def _apply_dropout(self, state: torch.Tensor) -> torch.Tensor:
        return F.dropout(state, self.dropout, self.training)


def scale_rows(state: torch.Tensor) -> torch.Tensor:
    """Scale rows to a mean square of 1."""
    return state * torch.rsqrt(state.float().pow(2).mean(-1, keepdim=True) + 1e-6).to(state.dtype)


class Student(torch.nn.Module):  # type: ignore[misc]
    """Small encoder that reads texts as words and questions as word pieces."""

    def __init__(self, settings: Settings, table: torch.Tensor, pieces: torch.Tensor) -> None:
        super().__init__()
        self.settings = settings
        lengths = table.norm(dim=1)
        rows = torch.cat([torch.zeros(1, table.shape[1], device=DEVICE), table / lengths.mean()])
        self.register_buffer("table", rows.bfloat16())  # Row 0 is padding.
        self.project = torch.nn.Parameter(torch.randn(table.shape[1], settings.width) / 16)
        self.text_mixer = TransformerLayers(
            settings.width, settings.layers, settings.inner, settings.words, settings.dropout
        )
        self.text_heads = torch.nn.Parameter(torch.randn(4, settings.width, DIMENSIONS) / math.sqrt(settings.width))
        self.sum_heads = torch.nn.Parameter(torch.zeros(4, table.shape[1], DIMENSIONS))
        width = settings.question_width
        centred = pieces - pieces.mean(0)
        _, _, axes = torch.linalg.svd(centred[:8_000], full_matrices=False)
        start = centred @ axes[:width].T
        self.pieces = torch.nn.Parameter(start / start.norm(dim=1).mean() * math.sqrt(width) * 0.5)
        self.question_mixer = TransformerLayers(
            width, settings.question_layers, settings.question_inner, 40, settings.dropout
        )
        self.question_heads = torch.nn.Parameter(torch.randn(4, width, DIMENSIONS) / math.sqrt(width))
        self.word_head = torch.nn.Parameter(torch.randn(width, DIMENSIONS) / math.sqrt(width))

    def texts(self, words: torch.Tensor, domain: int) -> torch.Tensor:
        """Return the unit vectors of texts."""
        words = words[:, : self.settings.words]
        is_real = words > 0
        is_real = torch.cat([torch.ones_like(is_real[:, :1]), is_real[:, 1:]], 1)
        vectors = self.table[words]
        sums = F.normalize(vectors.sum(1, dtype=torch.float32), dim=1)
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            pooled = self.text_mixer(vectors @ self.project, is_real, domain).float()
        return F.normalize(pooled @ self.text_heads[domain] + sums @ self.sum_heads[domain], dim=1)

    def questions(self, pieces: torch.Tensor, domain: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the unit vectors of questions, and their projections into the space of word vectors."""
        is_real = pieces != 0
        is_real = torch.cat([torch.ones_like(is_real[:, :1]), is_real[:, 1:]], 1)
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            pooled = self.question_mixer(self.pieces[pieces], is_real, None).float()
        return F.normalize(pooled @ self.question_heads[domain], dim=1), F.normalize(pooled @ self.word_head, dim=1)


class Batches(torch.utils.data.IterableDataset):  # type: ignore[misc]
    """Endless iterator over batches, created in worker processes.

    A batch has texts from groups of one domain, and questions about these texts.
    """

    def __init__(self, material: Material) -> None:
        self.starts = material.group_starts.cpu().numpy()
        self.question_starts = material.question_starts.cpu().numpy()
        self.question_order = material.question_order.cpu().numpy()
        self.answers = material.answers.cpu().numpy()
        self.groups = [groups.cpu().numpy() for groups in material.groups_by_domain]

    def __iter__(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        worker = torch.utils.data.get_worker_info()
        random = np.random.default_rng(worker.id if worker else 0)
        while True:
            domain = int(random.choice(4, p=DOMAIN_SHARES))
            texts, questions, count = [], [], 0
            # Groups with more texts are chosen more often.
            sizes = np.sqrt(self.starts[self.groups[domain] + 1] - self.starts[self.groups[domain]])
            order = np.argsort(-sizes * random.random(len(sizes)))
            for group in self.groups[domain][order]:
                asked = self.question_order[self.question_starts[group] : self.question_starts[group + 1]]
                asked = random.permutation(asked)[:QUESTIONS_PER_GROUP]
                answers = self.answers[asked].reshape(-1)
                first, end = self.starts[group], self.starts[group + 1]
                others = random.integers(first, end, min(TEXTS_PER_GROUP, end - first))
                chosen = np.unique(np.concatenate([answers[answers >= 0], others]))
                texts.append(chosen)
                questions.append(asked)
                count += len(chosen)
                if count >= TEXTS_PER_STEP:
                    break
            yield domain, np.concatenate(texts), np.concatenate(questions)[:QUESTIONS_PER_STEP]


def train(material: Material, settings: Settings, table: torch.Tensor, pieces: torch.Tensor, seconds: float) -> Student:
    """Train for `seconds`; the learning rate decays to zero."""
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = True
    student: Student = Student(settings, table, pieces).to(DEVICE)
    optimizer = torch.optim.AdamW(student.parameters(), lr=settings.rate, weight_decay=0.01, fused=DEVICE == "cuda")
    began, step = time.monotonic(), 0
    losses = torch.zeros(3, device=DEVICE)
    batches = iter(
        torch.utils.data.DataLoader(Batches(material), batch_size=None, num_workers=WORKERS, prefetch_factor=8)
    )
    while (share := (time.monotonic() - began) / seconds) < 1:
        rate = settings.rate * min(1.0, (step + 1) / WARM_UP_STEPS) * (0.5 + 0.5 * math.cos(math.pi * share))
        for group in optimizer.param_groups:
            group["lr"] = rate
        domain, *numbers = next(batches)
        texts, asked = (torch.as_tensor(each, dtype=torch.long).to(DEVICE) for each in numbers)
        words, asked_pieces = material.words[texts], material.question_pieces[asked]
        words = words * (torch.rand(words.shape, device=DEVICE) >= settings.word_dropout)
        asked_pieces = asked_pieces * (torch.rand(asked_pieces.shape, device=DEVICE) >= settings.word_dropout / 2)
        ours = student.texts(words, domain)
        theirs = material.texts[texts]
        loss = settings.regress * (1 - (ours * theirs).sum(1)).mean()
        losses[0] += loss.detach()
        if len(asked):
            questions, in_words = student.questions(asked_pieces, domain)
            wanted = material.questions[asked]
            loss = loss + settings.regress * (1 - (questions * wanted).sum(1)).mean()
            if domain == APIS:
                loss = loss + settings.regress * (1 - (in_words * material.in_word_space[asked]).sum(1)).mean()
            scores, view = questions @ ours.T, wanted @ theirs.T
            target = F.softmax(view / TEACHER_TEMPERATURE, dim=1)
            kl = F.kl_div(F.log_softmax(scores / TEMPERATURE, dim=1), target, reduction="batchmean")
            contrast = _contrastive_loss(material, texts, asked, scores, theirs)
            losses[1:] += torch.stack([kl.detach(), contrast.detach()])
            loss = loss + settings.distil * kl + settings.contrast * contrast
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimizer.step()
        step += 1
    print(f"{settings.name}: {step} steps, mean losses {(losses / step).tolist()}", flush=True)
    return student


def _contrastive_loss(
    material: Material, texts: torch.Tensor, asked: torch.Tensor, scores: torch.Tensor, theirs: torch.Tensor
) -> torch.Tensor:
    """Return the cross-entropy of finding the answers among the texts of the batch.

    Texts that are similar to an answer are ignored.
    """
    answers, partial_answers = material.answers[asked], material.partial_answers[asked]
    is_answer = (texts[None, :, None] == answers[:, None, :]).any(2)
    is_partial_answer = (texts[None, :, None] == partial_answers[:, None, :]).any(2)
    first = material.texts[answers[:, 0]]
    is_same = (first @ theirs.T > MIN_COSINE_OF_EQUAL_TEXTS) & ~is_answer
    scaled = (scores / TEMPERATURE).masked_fill(is_partial_answer | is_same, _MASKED_SCORE)
    right = torch.logsumexp(scaled.masked_fill(~is_answer, _MASKED_SCORE), dim=1)
    return (torch.logsumexp(scaled, dim=1) - right)[is_answer.any(1)].mean()


def measure_held_out(material: Material, student: Student | None) -> dict[str, list[float]]:
    """Return the shares of held-out questions with an answer first, and among the first three, for each domain."""
    texts, questions = material.texts, material.questions
    if student is not None:
        student.eval()
        texts, questions = torch.zeros_like(texts), torch.zeros_like(questions)
        with torch.no_grad():
            for domain in range(4):
                for some in torch.nonzero((material.domains == domain) & material.text_held_out)[:, 0].split(
                    _BATCH_ROWS
                ):
                    texts[some] = student.texts(material.words[some], domain)
                is_asked = (material.question_domains == domain) & material.question_held_out
                for some in torch.nonzero(is_asked)[:, 0].split(_BATCH_ROWS):
                    questions[some] = student.questions(material.question_pieces[some], domain)[0]
        student.train()
    found: dict[str, list[float]] = {}
    pairs = {"": (questions, texts), "/q": (questions, material.texts), "/t": (material.questions, texts)}
    for kind, (asked, given) in pairs.items():
        if student is None and kind:
            continue
        for domain, name in enumerate(DOMAIN_NAMES):
            ranks = []
            is_asked = (material.question_domains == domain) & material.question_held_out
            for group in material.question_groups[is_asked].unique().tolist():
                first, end = (int(material.group_starts[group + more]) for more in (0, 1))
                first_question, end_question = (int(material.question_starts[group + more]) for more in (0, 1))
                numbers = material.question_order[first_question:end_question]
                scores = asked[numbers] @ given[first:end].T
                answers = material.answers[numbers] - first
                right = scores.gather(1, answers.clamp(min=0)).masked_fill(answers < 0, _MASKED_SCORE)
                best = right.max(1).values
                ranks.append((scores > best[:, None] + 1e-6).sum(1))
            every = torch.cat(ranks)
            found[name + kind] = [round(float((every < count).float().mean()), 3) for count in (1, 3)]
    return found


def export(student: Student, path: Path) -> None:
    """Write the weights: vectors of word pieces as int8 with a scale each, all others as half-precision floats."""
    state = {name: values.detach().cpu().numpy() for name, values in student.state_dict().items() if name != "table"}
    pieces = state.pop("pieces")
    scales = np.abs(pieces).max(axis=1) / 127 + 1e-9
    arrays = {name: values.astype(np.float16) for name, values in state.items()}
    arrays |= {"pieces": np.round(pieces / scales[:, None]).astype(np.int8), "piece_scales": scales.astype(np.float32)}
    np.savez(path, allow_pickle=False, settings=json.dumps(asdict(student.settings)), **arrays)


def rows_and_scales(rows: Path, scales: Path) -> torch.Tensor:
    """Load vectors that are stored as int8 with a scale each."""
    return torch.from_numpy(np.load(rows).astype(np.float32) * np.load(scales)[:, None]).to(DEVICE)


def main() -> None:
    """Train the selected runs and write the student models."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("material", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--runs", default="")
    given = parser.parse_args()
    began = time.monotonic()
    material = Material(given.material, given.model)
    seconds = time.monotonic() - began
    print(f"{len(material.words)} texts, {len(material.answers)} questions, {seconds:.0f} s", flush=True)
    print("teacher", measure_held_out(material, None), flush=True)
    table = rows_and_scales(given.model / "rows.npy", given.model / "scales.npy")
    pieces = rows_and_scales(given.model / "encoder/pieces.npy", given.model / "encoder/piece_scales.npy")
    given.out.mkdir(parents=True, exist_ok=True)
    for settings in RUNS:
        if not given.runs or settings.name in given.runs.split(","):
            student = train(material, settings, table, pieces, given.seconds)
            print(settings.name, measure_held_out(material, student), flush=True)
            export(student, given.out / f"{settings.name}.npz")


if __name__ == "__main__":
    main()
