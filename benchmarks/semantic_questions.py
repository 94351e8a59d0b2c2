"""Measure search with questions that share no word with their answer, through the command line.

    python -m benchmarks.semantic_questions [--held-out] [--domain code] [--misses] [--repositories] [--language de]

Each small project of `questions/semantic/` is indexed in its own data folder. Counts the questions whose target is
shown by the first result, the first three and the first ten results. `--repositories` asks the paraphrases of
`questions/code.jsonl` about whole repositories instead; `--language` asks the same questions in another language about
the same English projects. By default, the development questions are asked; with `--held-out`, the held-out questions.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.paths import MIRRORS, REPOSITORY, SCRATCH, SHARED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

QUESTIONS = REPOSITORY / "benchmarks" / "questions"
TRANSLATED = QUESTIONS / "semantic_languages.jsonl"
DEPTH = 10
_BEGINNING_CHARACTERS = 40
_TAG = re.compile(r"<[^<>]*>")
LANGUAGES = ("de", "es", "fr", "pt", "ru", "zh", "ja", "ko")
DOMAINS = ("code", "docs", "memory", "apis")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one project, and the locations of its answers."""

    id: str
    domain: str
    project: str
    query: str
    targets: tuple[Row, ...]
    held_out: bool


class CommandLine:
    """Runs the command line of Deltos with a separate data folder."""

    def __init__(self, home: Path) -> None:
        self._environment = {**os.environ, "DELTOS_HOME": str(home)}

    def run(self, *arguments: str, given: str = "", folder: Path | None = None) -> str:
        """Run a command and return its output."""
        command = [sys.executable, "-P", "-m", "deltos", *arguments]
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, env=self._environment, cwd=folder or Path.home()
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(arguments)}: {done.stderr[-1_000:]}")
        return done.stdout

    def batch(self, questions: Sequence[Question], *arguments: str) -> dict[str, list[Row]]:
        """Return the results of many questions, by question."""
        lines = "".join(json.dumps({"id": question.id, "query": question.query}) + "\n" for question in questions)
        answers = map(json.loads, self.run(*arguments, "--limit", str(DEPTH), "--batch", "-", given=lines).splitlines())
        return {answer["id"]: answer["results"] for answer in answers}


def small_project_questions(language: str | None = None) -> Iterator[Question]:
    """Yield the questions about the small projects, asked in a language."""
    translated = {row["id"]: row["query"] for row in _rows(TRANSLATED) if row["language"] == language}
    for row in _rows(QUESTIONS / "semantic.jsonl"):
        query = translated[row["id"]] if language else row["query"]
        yield Question(row["id"], row["domain"], row["project"], query, tuple(row["targets"]), row["held_out"])


def paraphrases() -> Iterator[Question]:
    """Yield the paraphrased questions about whole repositories."""
    for row in _rows(QUESTIONS / "code.jsonl"):
        if row["kind"] == "paraphrase":
            targets = (*row["targets"], *({"path": path, "start": 1, "end": 1_000_000} for path in row["also"]))
            yield Question(row["id"], "code", f"{row['repo']}@{row['commit']}", row["query"], targets, row["held_out"])


def _rows(file: Path) -> Iterator[Row]:
    return map(json.loads, file.read_text("utf-8").splitlines())


def ask_code(product: CommandLine, folder: Path, questions: Sequence[Question]) -> dict[str, list[Row]]:
    """Search the code of the project."""
    product.run("index", str(folder))
    return product.batch(questions, "code", "search", "--project", str(folder), "--json")


def ask_docs(product: CommandLine, folder: Path, questions: Sequence[Question]) -> dict[str, list[Row]]:
    """Search the documentation of the project."""
    product.run("docs", "add", str(folder), "--name", "manual", "--wait")
    product.run("docs", "crawl", "manual")
    return product.batch(questions, "docs", "search", "--json")


def ask_memory(product: CommandLine, folder: Path, questions: Sequence[Question]) -> dict[str, list[Row]]:
    """Search the memory of the project."""
    rows = [json.loads(line) for line in (folder / "observations.jsonl").read_text("utf-8").splitlines()]
    lines = [json.dumps({"text": f"{row['title']}. {row['text']}", "source": row["id"]}) for row in rows]
    product.run("memory", "import", "-", "--project-id", "near", given="\n".join(lines) + "\n")
    return product.batch(questions, "memory", "search", "--project-id", "near", "--json")


def ask_apis(product: CommandLine, folder: Path, questions: Sequence[Question]) -> dict[str, list[Row]]:
    """Search the operations of the project."""
    for file in sorted(folder.iterdir()):
        product.run("api", "add", str(file))
    return product.batch(questions, "api", "search", "--type", "endpoint", "--json")


SEARCH_FUNCTIONS: dict[str, Callable[[CommandLine, Path, Sequence[Question]], dict[str, list[Row]]]] = {
    "code": ask_code,
    "docs": ask_docs,
    "memory": ask_memory,
    "apis": ask_apis,
}


def rank_of(question: Question, folder: Path, results: Sequence[Row]) -> int:
    """Return the rank of the first result that shows a target, or 0 if there is none."""
    is_right = {"code": _shows_lines, "docs": _shows_section, "memory": _is_observation, "apis": _is_operation}
    for rank, result in enumerate(results[:DEPTH], 1):
        if any(is_right[question.domain](result, target, folder) for target in question.targets):
            return rank
    return 0


def _shows_lines(result: Row, target: Row, folder: Path) -> bool:  # noqa: ARG001
    return bool(result["path"] == target["path"])


def _shows_section(result: Row, target: Row, folder: Path) -> bool:
    """Return whether the result is on the right page and contains the beginning of the right section."""
    lines = (folder / target["path"]).read_text("utf-8").splitlines()[target["start"] - 1 : target["end"]]
    text = _squashed(_TAG.sub(" ", " ".join(line for line in lines[1:] if any(map(str.isalnum, line)))))
    return target["path"] in result["url"] and text[:_BEGINNING_CHARACTERS] in _squashed(result["text"])


def _squashed(text: str) -> str:
    return "".join(char for char in text.lower() if char.isalnum())


def _is_observation(result: Row, target: Row, folder: Path) -> bool:  # noqa: ARG001
    return bool(str(result["source"]) == str(target["id"]))


def _is_operation(result: Row, target: Row, folder: Path) -> bool:  # noqa: ARG001
    # The id has the form `api:NAME:GET /path`. Ids of gRPC methods start with the package.
    operation = result["id"].split(":", 2)[-1]
    return _squashed(operation).endswith(_squashed(target["operation"]))


def repository_folder(project: str) -> Path:
    """Return the folder with a repository's files at the commit of the questions; it is created on first use."""
    name, _, commit = project.partition("@")
    target = SCRATCH / "questions" / name.replace("/", "+")
    if not target.exists():
        clone = MIRRORS / name.replace("/", "+") / "repo"
        repos = target.with_suffix(".json")
        repos.parent.mkdir(parents=True, exist_ok=True)
        repos.write_text(json.dumps([{"name": target.name, "github": name, "commit": commit, "root": ""}]))
        lay_out = SHARED / "code" / "lay_out.py"
        command = [sys.executable, lay_out, "--mirrors", clone.parent.parent, "--out", target.parent, "--repos", repos]
        subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)
    return target


def measure(questions: Sequence[Question], folder_of: Callable[[Question], Path]) -> dict[str, int]:
    """Return the rank of the first right result of each question."""
    projects: dict[tuple[str, str], list[Question]] = defaultdict(list)
    for question in questions:
        projects[question.domain, question.project].append(question)
    ranks: dict[str, int] = {}
    for (domain, _), asked in projects.items():
        folder = folder_of(asked[0])
        with tempfile.TemporaryDirectory() as home:
            answers = SEARCH_FUNCTIONS[domain](CommandLine(Path(home)), folder, asked)
        ranks |= {question.id: rank_of(question, folder, answers.get(question.id, [])) for question in asked}
    return ranks


def main() -> None:
    """Print a table; with `--misses`, also the questions without a right result among the first three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--held-out", action="store_true", help="ask the held-out questions")
    parser.add_argument("--domain", choices=DOMAINS)
    parser.add_argument("--repositories", action="store_true", help="paraphrases about whole repositories")
    parser.add_argument("--misses", action="store_true", help="print the missed questions; not allowed with --held-out")
    parser.add_argument("--language", choices=LANGUAGES, help="ask in this language, not in English")
    given = parser.parse_args()
    if given.misses and given.held_out:
        parser.error("--misses is not allowed with --held-out")
    asked = [
        question
        for question in (paraphrases() if given.repositories else small_project_questions(given.language))
        if question.held_out == given.held_out and given.domain in (None, question.domain)
    ]
    folder_of = (lambda question: repository_folder(question.project)) if given.repositories else _small_project_folder
    ranks = measure(asked, folder_of)
    print("| domain | questions | first | first three | first ten |\n|---|--:|--:|--:|--:|")
    for domain in DOMAINS:
        found = [ranks[question.id] for question in asked if question.domain == domain]
        if found:
            shares = [sum(0 < rank <= most for rank in found) / len(found) for most in (1, 3, 10)]
            print(f"| {domain} | {len(found)} | " + " | ".join(f"{share:.3f}" for share in shares) + " |")
    for question in asked if given.misses else ():
        if not 0 < ranks[question.id] <= 3:
            print(f"{question.domain} {question.project}: {question.query} -> {ranks[question.id]} {question.targets}")


def _small_project_folder(question: Question) -> Path:
    return QUESTIONS / "semantic" / question.domain / question.project


if __name__ == "__main__":
    main()
