"""Write questions and the observations that answer them as word pieces, for adapter.py.

    python -m training.memory_pairs OUT.npz

Reads benchmarks/questions/memory_projects.jsonl: observations by project, with the questions that each of them answers
(`queries`) and answers in part (`nearly`).
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.memory_week import QUESTIONS

from deltos.embed.bundled_encoder import MAX_PIECES, MAX_TEXT_PIECES
from deltos.embed.identity import ENCODER_FOLDER
from deltos.embed.word_pieces import WordPieces
from deltos.text.translation import translate_to_english

if TYPE_CHECKING:
    from collections.abc import Sequence

PROJECTS = QUESTIONS / "memory_projects.jsonl"
MAX_ANSWERS = 8
HELD_OUT = ("week seventh", "week thirteenth", "week fourteenth")
HELD_OUT_OF_TWELVE = 5


def held_out_group(project: str, place: int) -> str:
    """Return the group of a held-out project, or "" for other projects.

    Three weeks and one project in twelve are held out.
    """
    if project.startswith("week "):
        return "weeks" if project in HELD_OUT else ""
    return "projects" if place % 12 == HELD_OUT_OF_TWELVE else ""


def pad_rows(rows: Sequence[Sequence[int]], width: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    """Return rows of numbers, padded with zeros."""
    out = np.zeros((len(rows), width), np.int32)
    for place, row in enumerate(rows):
        out[place, : len(row[:width])] = row[:width]
    return out


def main() -> None:
    """Write the arrays."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    out: Path = parser.parse_args().out
    pieces = WordPieces((ENCODER_FOLDER / "pieces.txt").read_text("utf-8").split("\n"))
    rows: list[dict[str, Any]] = [json.loads(line) for line in PROJECTS.read_text("utf-8").splitlines()]
    projects = list(dict.fromkeys(row["project"] for row in rows))
    number = {project: place for place, project in enumerate(projects)}
    rows.sort(key=lambda row: number[row["project"]])
    answers: dict[tuple[int, str], list[int]] = defaultdict(list)
    partial_answers: dict[tuple[int, str], list[int]] = defaultdict(list)
    for place, row in enumerate(rows, start=1):  # The id 0 means that there is no text.
        for found, asked in ((answers, row["queries"]), (partial_answers, row.get("nearly", ()))):
            for question in asked:
                found[number[row["project"]], question].append(place)
    np.savez_compressed(
        out,
        projects=np.array(projects),
        groups=np.array([held_out_group(project, place) for place, project in enumerate(projects)]),
        texts=pad_rows(
            [pieces.of(translate_to_english(row["text"]) or row["text"], MAX_TEXT_PIECES) for row in rows],
            MAX_TEXT_PIECES,
        ),
        text_projects=np.array([number[row["project"]] for row in rows]),
        questions=pad_rows(
            [pieces.of(translate_to_english(text) or text, MAX_PIECES) for _, text in answers], MAX_PIECES
        ),
        question_projects=np.array([project for project, _ in answers]),
        answers=pad_rows([*answers.values()], MAX_ANSWERS),
        partial_answers=pad_rows([partial_answers[key] for key in answers], MAX_ANSWERS),
    )
    print(f"{len(rows):,} observations of {len(projects)} projects, {len(answers):,} questions")


if __name__ == "__main__":
    main()
