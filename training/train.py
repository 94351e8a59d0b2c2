"""Train the search model: fine-tune the teacher, start a table from it, train the table, measure, save.

    python -m training.train DATA OUT [--most N] [--teacher-seconds S] [--seconds S] [--runs a,b,...]

DATA is what prepare.py wrote, with the teacher's files in DATA/teacher. Runs on a GPU; on a CPU with few pairs as well.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from training.data import load, vocabulary
from training.measure import GROUPS, line, mean_reciprocal_ranks
from training.student import Lessons, Settings, Student, on, train
from training.teacher import QUERY_TOKENS, TEXT_TOKENS, Teacher

if TYPE_CHECKING:
    import numpy.typing as npt

    from training.data import Bags, Pairs

_BOTH = Settings("hard+distil", hard=True, distil=1.0)
RUNS = (
    Settings("base"),
    Settings("distil", distil=1.0),
    Settings("hard", hard=True),
    _BOTH,
    replace(_BOTH, name="hard+distil, query weights", query="weights"),
    replace(_BOTH, name="hard+distil, query map", query="map"),
    replace(_BOTH, name="hard+distil, query transformer", query="transformer"),
    replace(_BOTH, name="hard+distil, temperature 0.03", temperature=0.03),
    replace(_BOTH, name="hard+distil, batch 16384", size=16_384),
    replace(_BOTH, name="hard+distil, from nothing", from_teacher=False),
    replace(_BOTH, name="hard+distil, overlap 0.3", overlap=0.3),
    replace(_BOTH, name="hard+distil, overlap 0.6", overlap=0.6),
    replace(_BOTH, name="hard+distil, overlap 1", overlap=1.0),
    Settings("distil alone, overlap 0.6", distil=4.0, overlap=0.6),
    replace(_BOTH, name="hard+distil, overlap 0.6, dropout 0.4", overlap=0.6, dropout=0.4),
    replace(_BOTH, name="hard+distil, overlap 0.6, temperature 0.08", overlap=0.6, temperature=0.08),
    replace(_BOTH, name="hard+distil, overlap 0.6, rate 0.001", overlap=0.6, rate=1e-3),
)
_NEGATIVES = 6
_DENSE_ROWS = 2_000


def main() -> None:
    """Everything, in one go."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--most", type=int, default=10_000_000)
    parser.add_argument("--teacher-seconds", type=float, default=180)
    parser.add_argument("--seconds", type=float, default=35)
    parser.add_argument("--runs", default=",".join(str(n) for n in range(len(RUNS))))
    parser.add_argument("--saved", default="", help="the runs whose tables are kept")
    parser.add_argument("--lessons", type=Path, help="where the teacher's view is kept for another call")
    arguments = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_float32_matmul_precision("high")
    clock = Clock()
    pairs, held_out = load(arguments.data, most=arguments.most, workers=os.cpu_count() or 1)
    clock.say(f"{len(pairs)} pairs, {len(held_out)} held out")
    print("| run | " + " | ".join(GROUPS) + " |\n|---|" + "--:|" * len(GROUPS))
    kept = arguments.lessons and arguments.lessons / "lessons.pt"
    if kept and kept.exists():
        queries, texts, negatives, words = torch.load(kept, weights_only=False)
    else:
        queries, texts, words = taught(arguments, pairs, held_out, device, clock)
        negatives = hard_negatives(pairs, len(words), device)
        if kept:
            torch.save((queries, texts, negatives, words), kept)
    lessons = Lessons(pairs, queries, texts, negatives)
    clock.say("lessons")
    rarity = word_rarity(pairs.text_bags, len(words), device)
    spoken = word_scores(held_out, len(words), device)
    for run in arguments.runs.split(","):
        settings = replace(RUNS[int(run)], seconds=arguments.seconds)
        student = Student(start_of(words, settings), rarity, settings).to(device)
        if run == arguments.runs.split(",")[0]:
            print(line("words alone", judge(student.eval(), held_out, device, spoken, 0.0)))
            print(line("table as it starts", judge(student, held_out, device)), flush=True)
        train(student, lessons, device)
        print(line(settings.name, judge(student, held_out, device)))
        print(line("… with words", judge(student, held_out, device, spoken)), flush=True)
        if run in arguments.saved.split(","):
            save(student, arguments.out / f"run-{run}.npz")
        clock.say(settings.name)


class Clock:
    """Says how long each step took."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def say(self, what: str) -> None:
        """Print a step and the seconds since the one before."""
        now = time.monotonic()
        print(f"[{now - self._last:.1f} s] {what}", flush=True)
        self._last = now


def judge_teacher(teacher: Teacher, held_out: Pairs) -> dict[str, float]:
    """The teacher's own figures."""
    queries, texts = teacher.encode(held_out.queries, QUERY_TOKENS), teacher.encode(held_out.texts, TEXT_TOKENS)
    return mean_reciprocal_ranks(held_out, queries, texts)


def taught(
    arguments: argparse.Namespace, pairs: Pairs, held_out: Pairs, device: torch.device, clock: Clock
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The fine-tuned teacher's vectors of questions, of texts and of single words."""
    teacher = Teacher(arguments.data / "teacher", device)
    print(line("teacher as it is", judge_teacher(teacher, held_out)), flush=True)
    teacher.fine_tune(pairs, seconds=arguments.teacher_seconds)
    print(line("teacher fine-tuned", judge_teacher(teacher, held_out)), flush=True)
    clock.say("teacher")
    queries, texts = teacher.encode(pairs.queries, QUERY_TOKENS), teacher.encode(pairs.texts, TEXT_TOKENS)
    return queries, texts, teacher.encode(vocabulary(arguments.data), QUERY_TOKENS)


@torch.no_grad()
def judge(
    student: Student,
    held_out: Pairs,
    device: torch.device,
    spoken: dict[int, torch.Tensor] | None = None,
    weight: float = 0.5,
) -> dict[str, float]:
    """A student's figures."""
    rows = np.arange(len(held_out))
    queries = student.queries(*on(device, held_out.query_bags, rows))
    texts = student.texts(*on(device, held_out.text_bags, rows))
    return mean_reciprocal_ranks(held_out, queries, texts, spoken, weight)


def start_of(words: torch.Tensor, settings: Settings) -> torch.Tensor:
    """The teacher's vectors of single words in fewer dimensions; or small random ones."""
    if not settings.from_teacher:
        return torch.randn(len(words), settings.dimensions, device=words.device) * 0.05
    centred = words.float() - words.float().mean(0)
    _, _, directions = torch.linalg.svd(centred, full_matrices=False)
    projected = centred @ directions[: settings.dimensions].T
    return projected / projected.norm(dim=-1, keepdim=True).mean()


def word_rarity(bags: Bags, count: int, device: torch.device) -> torch.Tensor:
    """Where weights start: the logarithm of how telling a word is."""
    frequency = np.bincount(bags.ids, minlength=count) / len(bags)
    return torch.from_numpy(np.log(1e-3 / (1e-3 + frequency)) * 0.7).float().to(device)


def hard_negatives(pairs: Pairs, words: int, device: torch.device) -> npt.NDArray[np.int64]:
    """For each question, texts of the same package that BM25 without lengths likes, but for its own."""
    weights = _rarity_weights(pairs, words, device)
    negatives = np.full((len(pairs), _NEGATIVES), -1, np.int64)
    order = np.argsort(pairs.packages, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(pairs.packages[order])) + 1):
        for start in range(0, len(group), _DENSE_ROWS):
            rows = group[start : start + _DENSE_ROWS]
            if len(rows) > _NEGATIVES + 3:
                negatives[rows] = rows[_likeliest(pairs, rows, weights, device)]
    return negatives


def _likeliest(
    pairs: Pairs, rows: npt.NDArray[np.int64], weights: torch.Tensor, device: torch.device
) -> npt.NDArray[np.int64]:
    scores = _bm25(pairs, rows, weights, device)
    scores.fill_diagonal_(-1)
    chosen: npt.NDArray[np.int64] = scores.topk(_NEGATIVES, dim=1).indices.cpu().numpy()
    return chosen


def word_scores(pairs: Pairs, words: int, device: torch.device) -> dict[int, torch.Tensor]:
    """What words say of every question and text of a package."""
    weights = _rarity_weights(pairs, words, device)
    return {
        int(package): _bm25(pairs, np.flatnonzero(pairs.packages == package), weights, device)
        for package in np.unique(pairs.packages)
    }


def _rarity_weights(pairs: Pairs, words: int, device: torch.device) -> torch.Tensor:
    frequency = np.bincount(pairs.text_bags.ids, minlength=words) / len(pairs)
    return torch.from_numpy(np.log(1 + 1 / (frequency + 1e-6))).float().to(device)


def _bm25(pairs: Pairs, rows: npt.NDArray[np.int64], weights: torch.Tensor, device: torch.device) -> torch.Tensor:
    queries = _dense(pairs.query_bags, rows, len(weights), device) * weights
    texts = _dense(pairs.text_bags, rows, len(weights), device)
    lengths = texts.sum(1)
    return (queries @ texts.T) / (1 + 0.3 * lengths / lengths.mean())


def _dense(bags: Bags, rows: npt.NDArray[np.int64], words: int, device: torch.device) -> torch.Tensor:
    ids, offsets = bags.take(rows)
    owner = np.repeat(np.arange(len(rows)), np.diff([*offsets, len(ids)]))
    matrix = torch.zeros(len(rows), words, device=device)
    matrix[torch.from_numpy(owner).to(device), torch.from_numpy(ids).to(device)] = 1
    return matrix


def save(student: Student, path: Path) -> None:
    """The table with its weights inside, as whole numbers with a scale per row, and what else the query's side has."""
    arrays = {}
    with torch.no_grad():
        rows = student.table * torch.exp(student.weights)[:, None]
        scales = rows.abs().amax(1) / 127
        arrays["rows"] = torch.round(rows / scales[:, None]).to(torch.int8).cpu().numpy()
        arrays["scales"] = scales.cpu().numpy()
        for name, value in student.named_parameters():
            if name not in ("table", "weights", "query_table"):
                arrays[name] = value.half().cpu().numpy()
    np.savez_compressed(path, **arrays)
    print(path.name, path.stat().st_size, flush=True)


if __name__ == "__main__":
    main()
