"""Measure documentation search with the natural questions of `questions/docs.jsonl`, through the command line.

    python -m benchmarks.docs_questions [--held-out] [--site restic …] [--misses] [--scratch FOLDER]

Each site of `questions/docs_sites.json` is written from a mirror of its repository or from its Debian package, and
added as a source; all sites of a run share one library. Every question is asked of its own site, and of all sites,
which is harder because most questions do not name the product. By default, only questions about the development sites
are asked; with `--held-out`, only those about held-out sites.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import shutil
import subprocess
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.paths import MIRRORS, REPOSITORY, SCRATCH
from benchmarks.processes import cpu_seconds_with_children
from benchmarks.semantic_questions import CommandLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

QUESTIONS = REPOSITORY / "benchmarks" / "questions"
DOCUMENTS = (".md", ".mdx", ".livemd", ".rst", ".html", ".asciidoc", ".adoc", ".txt")
DEPTH = 50
PAGES = 5
DEFAULT_RESULTS = 10
DEFAULT_TOKENS = 5_000
_SHINGLE_CHARACTERS = 24
_MIN_SHINGLES = 6
_TAG = re.compile(r"<[^<>]*>")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Target:
    """Lines that answer a question, with their heading.

    A long section counts as shown if a result contains enough of its shingles (sequences of words).
    """

    path: str
    heading: str
    shingles: tuple[str, ...]

    def is_page_of(self, result: Row, site: str) -> bool:
        """Return whether the result is on the page of the target."""
        return page_of(result).endswith(f"/{site}/{self.path}")

    def is_shown_by(self, text: str) -> bool:
        """Return whether a result contains half of the lines, or enough shingles of a long section."""
        found = sum(shingle in text for shingle in self.shingles)
        return found >= min(_MIN_SHINGLES, (len(self.shingles) + 1) // 2)

    def is_section_of(self, result: Row) -> bool:
        """Return whether the result is below the heading or contains the lines."""
        trail = squash_text(result["section"].rpartition(" > ")[2])
        return bool(self.heading and self.heading == trail) or self.is_shown_by(squash_text(result["text"]))


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one site, and the places that answer it."""

    id: str
    site: str
    query: str
    kind: str
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True)
class AnswerMeasures:
    """Measurements of the results of one question."""

    page: bool
    section: bool
    first: bool
    in_budget: bool


def page_of(result: Row) -> str:
    """Return the URL of a result without its anchor."""
    return str(result["url"]).partition("#")[0]


def squash_text(text: str) -> str:
    """Keep only letters and digits, so that markup, line ends and case do not matter."""
    return "".join(char for char in text.lower() if char.isalnum())


def shingles_of(lines: Sequence[str]) -> tuple[str, ...]:
    """Split a text into consecutive shingles. A link inside the text changes only one or two of them."""
    text = squash_text(html.unescape(_TAG.sub(" ", " ".join(lines))))
    starts = range(0, max(1, len(text) - _SHINGLE_CHARACTERS + 1), _SHINGLE_CHARACTERS)
    return tuple(text[start : start + _SHINGLE_CHARACTERS] for start in starts)


# ---------------------------------------------------------------------- sites


def lay_out(name: str, site: Row, folder: Path) -> None:
    """Write the documents of a site as files, unless they are already there."""
    if folder.exists():
        return
    partial = folder.with_name(f".{name}")
    shutil.rmtree(partial, ignore_errors=True)
    if "package" in site:
        _unpack(site, partial)
    else:
        _check_out(site, partial)
    partial.rename(folder)


def _unpack(site: Row, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        pinned = f"{site['package']}={site['version']}"
        subprocess.run(["apt-get", "download", "-q", pinned], cwd=scratch, check=True, capture_output=True)
        (archive,) = Path(scratch).glob("*.deb")
        subprocess.run(["dpkg-deb", "-x", archive, f"{scratch}/x"], check=True)
        source = Path(scratch, "x", site["folder"])
        for path in sorted(source.rglob("*")):
            relative = path.relative_to(source)
            if path.is_file() and path.suffix in DOCUMENTS and str(relative) not in site["left_out"]:
                _write(folder / relative, path.read_bytes())


def _check_out(site: Row, folder: Path) -> None:
    repository = MIRRORS / site["repository"].replace("/", "+") / "repo"
    git = ["git", "--git-dir", str(repository)]
    listed = _run_command([*git, "ls-tree", "-r", "-z", site["commit"], f"{site['folder']}/"]).decode()
    for entry in listed.split("\0"):
        meta, _, path = entry.partition("\t")
        relative = path.removeprefix(f"{site['folder']}/")
        if path.endswith(DOCUMENTS) and relative not in site["left_out"]:
            _write(folder / relative, _run_command([*git, "cat-file", "blob", meta.split()[2]]))


def _run_command(command: Sequence[str]) -> bytes:
    return subprocess.run(command, check=True, capture_output=True).stdout


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


# ---------------------------------------------------------------------- questions


def questions_about(sites: Iterable[str], place: Path) -> list[Question]:
    """Return the questions about sites, with the texts of their targets read from the files."""
    wanted = set(sites)
    rows = map(json.loads, (QUESTIONS / "docs.jsonl").read_text("utf-8").splitlines())
    return [_parse_question(row, place) for row in rows if row["site"] in wanted]


def _parse_question(row: Row, place: Path) -> Question:
    targets = tuple(_parse_target(target, place / row["site"]) for target in row["targets"])
    return Question(row["id"], row["site"], row["query"], row["kind"], targets)


def _parse_target(row: Row, folder: Path) -> Target:
    lines = (folder / row["path"]).read_text("utf-8", errors="replace").splitlines()
    return Target(row["path"], squash_text(row["anchor_or_heading"]), shingles_of(lines[row["start"] - 1 : row["end"]]))


def ask(product: CommandLine, questions: Sequence[Question], *scope: str) -> dict[str, list[Row]]:
    """Ask each question, and return its results."""
    lines = "".join(json.dumps({"id": question.id, "query": question.query}) + "\n" for question in questions)
    command = ("docs", "search", "--json", "--limit", str(DEPTH), *scope, "--batch", "-")
    answers = map(json.loads, product.run(*command, given=lines).splitlines())
    return {answer["id"]: answer["results"] for answer in answers}


def measure_answers(question: Question, results: Sequence[Row]) -> AnswerMeasures:
    """Measure the results of a question: right pages and sections among the first five, right lines in the budget."""
    pages = set(list(dict.fromkeys(map(page_of, results)))[:PAGES])
    on_page = [
        (result, [target for target in question.targets if target.is_page_of(result, question.site)])
        for result in results
    ]
    shown = [
        any(target.is_shown_by(squash_text(result["text"])) for target in targets)
        for result, targets in on_page[: _results_in_budget(results)]
    ]
    return AnswerMeasures(
        page=any(targets and page_of(result) in pages for result, targets in on_page),
        section=any(any(target.is_section_of(result) for target in targets) for result, targets in on_page[:PAGES]),
        first=bool(shown and shown[0]),
        in_budget=any(shown),
    )


def _results_in_budget(results: Sequence[Row]) -> int:
    """Return the number of results that fit into a default answer."""
    used = 0
    for number, result in enumerate(results[:DEFAULT_RESULTS]):
        used += result["tokens"]
        if used > DEFAULT_TOKENS:
            return max(1, number)
    return min(len(results), DEFAULT_RESULTS)


# ---------------------------------------------------------------------- printing


def print_table(asked: str, questions: Sequence[Question], found: dict[str, AnswerMeasures]) -> None:
    """Print rows for all questions, for each site and for each kind."""
    groups: dict[str, list[AnswerMeasures]] = defaultdict(list)
    for question in questions:
        for group in ("all", question.site, f"*{question.kind}*"):
            groups[group].append(found[question.id])
    print(f"\n| {asked} | questions | page recall@5 | section recall@5 | in budget | first passage |")
    print("|---|--:|--:|--:|--:|--:|")
    for group, several in sorted(groups.items(), key=lambda item: item[0].startswith("*")):
        counts = [sum(getattr(one, name) for one in several) for name in ("page", "section", "in_budget", "first")]
        print(f"| {group} | {len(several)} | " + " | ".join(f"{count / len(several):.3f}" for count in counts) + " |")


def print_misses(
    questions: Sequence[Question], answers: dict[str, list[Row]], found: dict[str, AnswerMeasures]
) -> None:
    """Print the ranks, targets and results of questions whose lines are missing from the default answer."""
    for question in questions:
        if found[question.id].in_budget:
            continue
        results = answers[question.id]
        page, lines = first_right_ranks(question, results)
        wanted = ", ".join(f"{target.path} {target.heading}" for target in question.targets)
        print(f"\n{question.id} {question.kind}: {question.query}\n  wanted {wanted}; page {page}, lines {lines}")
        for result in results[:3]:
            print(f"  {page_of(result).rpartition(f'/{question.site}/')[2]}: {result['section']}")


def first_right_ranks(question: Question, results: Sequence[Row]) -> tuple[int, int]:
    """Return the ranks of the first result on a right page and of the first result with the lines, or 0 if missing."""
    page = 0
    for rank, result in enumerate(results, 1):
        targets = [target for target in question.targets if target.is_page_of(result, question.site)]
        page = page or (rank if targets else 0)
        if any(target.is_shown_by(squash_text(result["text"])) for target in targets):
            return page, rank
    return page, 0


def main() -> None:
    """Lay out and add the sites, ask the questions and print the table."""
    sites = json.loads((QUESTIONS / "docs_sites.json").read_text("utf-8"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--held-out", action="store_true", help="ask about the held-out sites")
    parser.add_argument("--site", action="append", choices=[*sites], help="ask only about this site; may be repeated")
    parser.add_argument(
        "--misses", action="store_true", help="print the questions without a right answer; not allowed with --held-out"
    )
    parser.add_argument("--scratch", type=Path, default=SCRATCH / "docs-questions")
    given = parser.parse_args()
    if given.misses and given.held_out:
        parser.error("--misses is not allowed with --held-out")
    names = [name for name in given.site or sites if sites[name]["held_out"] == given.held_out]
    with tempfile.TemporaryDirectory() as home:
        product, before = CommandLine(Path(home)), cpu_seconds_with_children()
        for name in names:
            lay_out(name, sites[name], given.scratch / name)
            product.run("docs", "add", str(given.scratch / name), "--name", name, "--wait")
        indexed = cpu_seconds_with_children()
        questions = questions_about(names, given.scratch)
        alone: dict[str, list[Row]] = {}
        for name in names:
            alone |= ask(product, [question for question in questions if question.site == name], "--source", name)
        together = ask(product, questions)
        searched = cpu_seconds_with_children()
    for asked, answers in (("of its site", alone), ("of all sites", together)):
        found = {question.id: measure_answers(question, answers[question.id]) for question in questions}
        print_table(asked, questions, found)
        if given.misses and answers is alone:
            print_misses(questions, answers, found)
    print(f"\nCPU: {indexed - before:.0f} s to index {len(names)} sites, {searched - indexed:.0f} s to search")


if __name__ == "__main__":
    main()
