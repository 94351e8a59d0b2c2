"""Train the search model: encode with the teacher; initialise, train, evaluate and save tables of word vectors.

    python -m training.train DATA OUT [--most N] [--teacher-seconds S] [--seconds S] [--runs a,b,...]

DATA is the output of prepare.py, with the teacher's files in DATA/teacher by default. Writes OUT/run-N.npz for each
run. Runs on a GPU, or with few pairs on a CPU.
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

from training.data import load_pairs, vocabulary
from training.measure import GROUPS, format_row, mean_reciprocal_ranks, mrr_of_word_scores
from training.negatives import hard_negatives, word_scores
from training.student import Lessons, Settings, Student, to_device, train
from training.teacher import QUERY_TOKENS, TEXT_TOKENS, Teacher, View

if TYPE_CHECKING:
    from training.data import Bags, Pairs
    from training.measure import Words
    from training.student import TeacherKind

_TUNED = Settings("contrast, distil, hard", distil=1.0, hard=True)
_UNTUNED = Settings("regress, distil", teacher="as it is", contrast=0.0, distil=1.0, regress=4.0, dropout=0.1)
# The first two runs are blended into the released table. The others show what each part of the training contributes.
RUNS = (
    _TUNED,
    _UNTUNED,
    replace(_TUNED, name="contrast", distil=0.0, hard=False),
    replace(_TUNED, name="contrast, distil", hard=False),
    replace(_TUNED, name="contrast, hard", distil=0.0),
    replace(_TUNED, name="contrast, distil 3, hard, dropout 0.1", distil=3.0, dropout=0.1),
    replace(_TUNED, name="contrast, distil, hard, regress", regress=4.0),
    replace(_UNTUNED, name="regress", distil=0.0),
    replace(_UNTUNED, name="regress, distil 3", distil=3.0),
    replace(_UNTUNED, name="regress, distil, contrast 0.1, hard", contrast=0.1, hard=True),
    replace(_UNTUNED, name="regress, distil, contrast 0.3, hard", contrast=0.3, hard=True),
)


def main() -> None:
    """Run all steps of training."""
    arguments = _parse_arguments()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_float32_matmul_precision("high")
    clock = Clock()
    pairs, held_out = load_pairs(arguments.data, most=arguments.most, workers=os.cpu_count() or 1)
    clock.report(f"{len(pairs)} pairs, {len(held_out)} held out")
    print("| run | " + " | ".join(GROUPS) + " |\n|---|" + "--:|" * len(GROUPS))
    words = vocabulary(arguments.data)
    negatives = hard_negatives(pairs, len(words), device)
    scores = word_scores(held_out, len(words), device)
    print(format_row("words alone", mrr_of_word_scores(held_out, scores)), flush=True)
    clock.report("word scores")
    lessons: dict[TeacherKind, Lessons] = {}
    for number in map(int, arguments.runs.split(",")):
        settings = replace(RUNS[number], seconds=arguments.seconds)
        kind = settings.teacher
        if kind not in lessons:
            taught = pairs.with_questions(np.random.default_rng(3)) if kind == "as it is" else pairs
            lessons[kind] = Lessons(taught, teacher_view(arguments, kind, taught, held_out, device), negatives)
            clock.report(f"teacher {kind}")
        student = train_student(lessons[kind], settings)
        print(format_row(settings.name, evaluate_student(student, held_out)))
        print(format_row("… with words", evaluate_student(student, held_out, scores)), flush=True)
        student.stored().write(arguments.out / f"run-{number}.npz")
        clock.report(f"run-{number}.npz")


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--teacher", type=Path, help="folder with the teacher's files")
    parser.add_argument("--most", type=int, default=10_000_000, help="pairs that are read")
    parser.add_argument("--teacher-seconds", type=float, default=180, help="how long the teacher is fine-tuned")
    parser.add_argument("--seconds", type=float, default=35, help="how long each table is trained")
    parser.add_argument("--runs", default="0,1", help="numbers of the runs: " + _numbered_runs())
    parser.add_argument("--views", type=Path, help="a folder where the teachers' views are kept for another call")
    return parser.parse_args()


def _numbered_runs() -> str:
    return "; ".join(f"{number} {run.name} ({run.teacher})" for number, run in enumerate(RUNS))


class Clock:
    """Prints the duration of each step."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def report(self, what: str) -> None:
        """Print a step and the seconds since the previous step."""
        now = time.monotonic()
        print(f"[{now - self._last:.1f} s] {what}", flush=True)
        self._last = now


def teacher_view(
    arguments: argparse.Namespace, kind: TeacherKind, pairs: Pairs, held_out: Pairs, device: torch.device
) -> View:
    """Return the teacher's vectors for the pairs. They are cached in the folder that `--views` names."""
    kept = arguments.views and arguments.views / f"{kind.replace(' ', '-')}.pt"
    if kept and kept.exists():
        return View(*(part.to(device) for part in torch.load(kept)))
    teacher = Teacher(arguments.teacher or arguments.data / "teacher", device)
    if kind == "tuned":
        teacher.fine_tune(pairs, seconds=arguments.teacher_seconds)
    print(format_row(f"teacher {kind}", evaluate_teacher(teacher, held_out)), flush=True)
    view = teacher.view(pairs, vocabulary(arguments.data))
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        torch.save((view.queries.cpu(), view.texts.cpu(), view.words.cpu()), kept)
    return view


def evaluate_teacher(teacher: Teacher, held_out: Pairs) -> dict[str, float]:
    """Return the mean reciprocal ranks of the teacher on held-out pairs."""
    queries, texts = teacher.encode(held_out.queries, QUERY_TOKENS), teacher.encode(held_out.texts, TEXT_TOKENS)
    return mean_reciprocal_ranks(held_out, queries, texts)


def train_student(lessons: Lessons, settings: Settings) -> Student:
    """Train a student. It starts with the teacher's vectors of single words, with higher weights for rare words."""
    torch.manual_seed(0)
    start = lessons.view.words.float()
    student = Student(start, word_rarity(lessons.pairs.text_bags, start))
    train(student, lessons, settings)
    return student


def word_rarity(bags: Bags, table: torch.Tensor) -> torch.Tensor:
    """Return the initial weight of each word, which is high for rare words."""
    frequency = bags.rows_with(len(table)) / len(bags)
    return torch.from_numpy(np.log(1e-3 / (1e-3 + frequency)) * 0.7).to(table)


def evaluate_student(student: Student, held_out: Pairs, scores: Words | None = None) -> dict[str, float]:
    """Return the mean reciprocal ranks of a student on held-out pairs. If word scores are given, they are added."""
    rows, device = np.arange(len(held_out)), student.table.device
    with torch.no_grad():
        queries = student.vectors(*to_device(device, held_out.query_bags, rows))
        texts = student.vectors(*to_device(device, held_out.text_bags, rows))
    return mean_reciprocal_ranks(held_out, queries, texts, scores)


if __name__ == "__main__":
    main()
