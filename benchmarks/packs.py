"""Measure how much of the code that answers a question is shown by one answer of `explore`, and of `search_code`.

    python -m benchmarks.packs [--budget N] [--held-out] [--answers DIR]

The questions are in the folder `packs` of the benchmark data. They are about six Python repositories at pinned commits,
which must be among the mirrors. The three held-out repositories were not used for tuning; `--held-out` measures them
too.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.paths import MIRRORS, SCRATCH, SHARED
from deltos.app import App
from deltos.budget import CHARACTERS_PER_TOKEN
from deltos.config import Config
from deltos.progress import Silent
from deltos.server.conversation import Conversation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deltos.tool import Tool

PACKS = SHARED / "packs"
TREES = SCRATCH / "packs" / "trees"
_HELD_OUT = frozenset({"xarray", "sympy", "astropy"})
_PLACE = re.compile(r"([\w./-]*[\w-]+\.\w{1,5}):(\d+)")
_NUMBER = re.compile(r"^\s*\d+[:|\t ]\s?")
_MIN_LINE_CHARACTERS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A question with the files and line ranges that its reference answer cites."""

    id: str
    repo: str
    question: str
    files: tuple[str, ...]
    lines: Mapping[str, Sequence[tuple[int, int]]]

    def cited(self) -> dict[str, set[int]]:
        """Return the numbers of the cited lines that are not blank, by file."""
        found: dict[str, set[int]] = {}
        for path, spans in self.lines.items():
            source = source_lines(self.repo, path)
            numbers = {n for first, last in spans for n in range(first, min(last, len(source)) + 1)}
            found[path] = {n for n in numbers if len(_normalise(source[n - 1])) >= _MIN_LINE_CHARACTERS}
        return found


@dataclass(frozen=True, slots=True)
class Score:
    """Shares of the cited files and of the cited lines that an answer shows."""

    file_recall: float
    is_first_right: bool
    lines_shown: float | None
    tokens: float


def main() -> None:
    """Print one row per repository and answer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, nargs="*", default=[2500, 5000])
    parser.add_argument("--held-out", action="store_true", help="measure the held-out repositories too")
    parser.add_argument("--repository", nargs="*", default=[], help="only these")
    parser.add_argument(
        "--answers", type=Path, metavar="DIR", help="write the answers in the format that score.py reads"
    )
    arguments = parser.parse_args()
    asked = [q for q in questions() if arguments.held_out or not is_held_out(q.repo)]
    asked = [q for q in asked if not arguments.repository or q.repo in arguments.repository]
    app = open_app()
    for repo in dict.fromkeys(question.repo for question in asked):
        app.domains.projects.index_of(repository_folder(repo)).index()  # answers wait only 20 s for a first index
    tools = {tool.name: tool for tool in app.tools()}
    print("| answer | repository | questions | file recall | right file first | cited lines shown | tokens | seconds |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for name, given in [("search_code", {}), *(("explore", {"budget": budget}) for budget in arguments.budget)]:
        label = f"{name} {given.get('budget', '')}".strip()
        answers = dict(_read_answers(tools[name], asked, given))
        if arguments.answers:
            lines = [json.dumps({"id": q.id, "text": answers[q][0]}) for q in asked]
            (arguments.answers / f"{label.replace(' ', '-')}.jsonl").write_text("\n".join(lines) + "\n")
        groups = {repo: [q for q in asked if q.repo == repo] for repo in dict.fromkeys(q.repo for q in asked)}
        groups["development"] = [q for q in asked if not is_held_out(q.repo)]
        groups["held out"] = [q for q in asked if is_held_out(q.repo)]
        for group, members in groups.items():
            if members:
                print(_format_row(label, group, members, answers), flush=True)
    app.close()


def _read_answers(
    tool: Tool, asked: Sequence[Question], given: Mapping[str, int]
) -> Iterator[tuple[Question, tuple[str, float]]]:
    key = "question" if tool.name == "explore" else "query"
    for question in asked:
        session = Conversation(repository_folder(question.repo))
        started = time.perf_counter()
        answer = tool.answer({key: question.question, **given}, session, Silent())
        yield question, (answer.text, time.perf_counter() - started)


def _format_row(
    label: str, group: str, members: Sequence[Question], answers: Mapping[Question, tuple[str, float]]
) -> str:
    scores = [score(question, answers[question][0]) for question in members]
    lined = [each.lines_shown for each in scores if each.lines_shown is not None]
    means = [
        sum(each.file_recall for each in scores) / len(scores),
        sum(each.is_first_right for each in scores) / len(scores),
        sum(lined) / max(1, len(lined)),
    ]
    tokens = sum(each.tokens for each in scores) / len(scores)
    seconds = sum(answers[question][1] for question in members) / len(members)
    numbers = " | ".join(f"{mean:.3f}" for mean in means)
    return f"| {label} | {group} | {len(members)} | {numbers} | {tokens:,.0f} | {seconds:.2f} |"


def score(question: Question, text: str) -> Score:
    """Score the text of an answer like score.py of the shared benchmark, but without truncation."""
    lines = {_normalise(_NUMBER.sub("", line)) for line in text.splitlines()}
    named = next((match[1] for match in _PLACE.finditer(text)), "")
    shown = total = 0
    for path, numbers in question.cited().items():
        source = source_lines(question.repo, path)
        total += len(numbers)
        shown += sum(_normalise(source[n - 1]) in lines for n in numbers) if path in text else 0
    return Score(
        sum(path in text for path in question.files) / len(question.files),
        bool(named) and any(named.endswith(path) or path.endswith(named) for path in question.files),
        shown / total if total else None,
        len(text) / CHARACTERS_PER_TOKEN,
    )


def is_held_out(repo: str) -> bool:
    """Return whether a repository is held out for evaluation."""
    return repo in _HELD_OUT


def questions() -> list[Question]:
    """Return all questions."""
    rows = map(json.loads, (PACKS / "questions.jsonl").read_text("utf-8").splitlines())
    return [_parse_question(row) for row in rows]


def _parse_question(row: dict[str, object]) -> Question:
    return Question(**{**row, "files": tuple(row["files"])})  # type: ignore[arg-type]


def repository_folder(repo: str) -> Path:
    """Return the folder with the files of a repository, which is written on first use."""
    if not (TREES / repo).is_dir():
        command = [sys.executable, str(PACKS / "lay_out.py"), "--mirrors", str(MIRRORS), "--out", str(TREES)]
        subprocess.run(command, check=True)
    return TREES / repo


@cache
def source_lines(repo: str, path: str) -> list[str]:
    """Return the lines of a file."""
    return (repository_folder(repo) / path).read_text("utf-8", errors="replace").split("\n")


def open_app() -> App:
    """Open the application with the data folder of this benchmark."""
    config = replace(Config.from_environment(), home=SCRATCH / "packs" / "home")
    return App(config, ends_with_its_answer=True)


def _normalise(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


if __name__ == "__main__":
    main()
