"""Measure the quality of `deltos review` on real repositories.

python -m benchmarks.review tests REPOSITORY … [--commits N]      recall of changed test files, and the share selected
python -m benchmarks.review callers REPOSITORY … [--mutations N]  recall of callers after a new required parameter

A repository is the path of a git repository, bare or not. `tests` takes commits that changed tests and source together,
checks out the parent, applies the source changes only, and reviews them; the commit is not part of the history.
`callers` takes functions with a distinctive name that is defined once in the project, and without rest parameters. The
expected callers are all calls of the name in the syntax trees, including calls of library functions with the same name.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.app import App
from deltos.config import Config
from deltos.federation.review.calls import LinesToRead, calls_in
from deltos.federation.review.declarations import CALLABLE_KINDS, VersionToRead, read_declarations
from deltos.federation.review.reviewer import Reviewer
from deltos.federation.review.signature import KEYWORD_REST, REST
from deltos.federation.review.tests_to_run import is_runnable_test
from deltos.languages.table import detect
from deltos.text.identifiers import is_distinctive
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deltos.federation.review.model import Review

MAX_COMMIT_FILES = 12
MAX_LOG_COMMITS = 1_500
SEED = 48
INSERTIONS = {
    "python": "added_parameter", "go": "addedParameter int", "java": "int addedParameter",
    "rust": "added_parameter: i32",
    "php": "$addedParameter", "typescript": "addedParameter: number", "javascript": "addedParameter",
    "csharp": "int addedParameter", "ruby": "added_parameter", "kotlin": "addedParameter: Int",
}  # fmt: skip
# This pattern also matches uses without a call, so functions that are passed as arguments are left out.
_PARAMETER = re.compile(r"[(,]\s*(\w+)\s*[:,=)]")
_RECEIVER = re.compile(r"\s*(?:self|cls|&self|&mut self|mut self)\b\s*,?\s*")


@dataclass(slots=True)
class Tally:
    """Sums of the figures of all commits of one repository."""

    commits: int = 0
    expected: int = 0
    found: int = 0
    at_share: int = 0  # number of changed tests among the 15 % of all test files that rank best
    shares: list[float] = field(default_factory=list)

    def line(self, name: str) -> str:
        """Return a row of the table of results."""
        share = sum(self.shares) / max(1, len(self.shares))
        recall, top = self.found / max(1, self.expected), self.at_share / max(1, self.expected)
        return (
            f"{name:24} commits {self.commits:3}  changed tests {self.expected:3}  recall {recall:.3f}  "
            f"selected {share:.3f}  recall at 15% {top:.3f}"
        )


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return its output."""
    command = ["git", "-C", str(folder), "-c", "advice.detachedHead=false", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, errors="replace").stdout


class IndexedClone:
    """A clone of a repository with its own index."""

    def __init__(self, repository: Path, folder: Path, stack: ExitStack) -> None:
        self.root = folder / "clone"
        git(folder, "clone", "--quiet", "--no-checkout", str(repository), str(self.root))
        self._app = stack.enter_context(closing(App(Config(folder / "home"))))

    def review(self, changes: str = "working") -> Review:
        """Index the clone, and review a change in it."""
        index = self._app.domains.projects.index_of(self.root)
        index.index()
        index.catch_up()
        return index.answer(lambda freshness: Reviewer(index).review(changes, freshness))


def commits_with_tests(root: Path, count: int) -> list[tuple[str, list[str], list[str]]]:
    """Return the newest commits that modify tests and source, oldest first: id, source files, modified tests."""
    log = git(
        root, "log", "--no-merges", f"--max-count={MAX_LOG_COMMITS}", "--name-status", "--no-renames", "--format=%x00%H"
    )
    found = []
    for entry in log.split("\0")[1:]:
        commit, *lines = entry.strip().splitlines()
        changes = [line.split("\t", 1) for line in lines if "\t" in line]
        tests = [path for status, path in changes if status == "M" and is_runnable_test(path)]
        source = [path for status, path in changes if status == "M" and _is_source(path)]
        if tests and source and len(changes) <= MAX_COMMIT_FILES:
            found.append((commit, source, tests))
        if len(found) == count:
            break
    return found[::-1]


def _is_source(path: str) -> bool:
    language = detect(path)
    return language is not None and language.name in INSERTIONS | {"c": "", "cpp": ""} and not is_runnable_test(path)


def measure_tests(bench: IndexedClone, count: int) -> Tally:
    """Return how many of the changed tests are selected when only the source changes are reviewed."""
    tally = Tally()
    for commit, source, tests in commits_with_tests(bench.root, count):
        git(bench.root, "checkout", "--quiet", "--force", f"{commit}^")
        git(bench.root, "clean", "--quiet", "--force", "-d")
        git(bench.root, "checkout", "--quiet", commit, "--", *source)
        review = bench.review()
        ranked = [test.path for test in review.tests]
        chosen = set(ranked[: review.recommended])
        tally.commits += 1
        tally.expected += len(tests)
        tally.found += len(chosen & set(tests))
        tally.at_share += len(set(ranked[: max(1, int(0.15 * review.test_file_count))]) & set(tests))
        tally.shares.append(review.recommended / max(1, review.test_file_count))
    return tally


def measure_callers(bench: IndexedClone, count: int) -> tuple[int, int, int, int, int]:
    """Count the changed functions, and the expected, listed and wrongly listed callers."""
    git(bench.root, "checkout", "--quiet", "--force", "HEAD")
    git(bench.root, "clean", "--quiet", "--force", "-d")
    texts = {path: text for path, text in _texts(bench.root) if _is_source(path) or is_runnable_test(path)}
    chosen = random.Random(SEED).sample(found := _unique_functions(texts), min(count, len(found)))
    expected: set[tuple[str, int]] = set()
    mutated: list[str] = []
    for path, name, line in chosen:
        places = set(_calling_lines(texts, name, {(path, line)}))
        if places and (text := _add_required_parameter(texts[path], name, line, path)):
            (bench.root / path).write_text(text, "utf-8")
            texts[path] = text
            expected |= places
            mutated.append(name)
    review = bench.review()
    certain = {(each.path, each.line) for each in review.callers if each.is_certain}
    named = {(each.path, each.line) for each in review.callers}
    for place in sorted(expected - named):
        print("not named:", *place, texts[place[0]].split("\n")[place[1] - 1].strip()[:100])
    return len(mutated), len(expected), len(expected & certain), len(expected & named), len(certain - expected)


def _texts(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each source file of a checkout."""
    for path in git(root, "ls-files").splitlines():
        language = detect(path)
        if language is not None and language.name in INSERTIONS:
            yield path, (root / path).read_text("utf-8", errors="replace")


def _unique_functions(texts: dict[str, str]) -> list[tuple[str, str, int]]:
    """Return path, name and line of functions outside tests whose name is defined once in the project."""
    places: dict[str, list[tuple[str, str, int]]] = {}
    for path, text in texts.items():
        for each in read_declarations(VersionToRead(path, text.encode())).declarations:
            kind = each.kind if each.parameters else ""
            is_fixed = kind in CALLABLE_KINDS and not any(
                one.kind in (REST, KEYWORD_REST) for one in each.parameters or ()
            )
            places.setdefault(each.name, []).append((path if is_fixed else "", each.name, each.line))
    unique = [found[0] for found in places.values() if len(found) == 1]
    parameters = {name for text in texts.values() for name in _PARAMETER.findall(text)}
    wanted = [row for row in unique if row[0] and not is_test(row[0]) and is_distinctive(row[1])]
    return [row for row in wanted if row[1] not in parameters and not row[1].startswith("__")]


def _calling_lines(texts: dict[str, str], name: str, definitions: set[tuple[str, int]]) -> Iterable[tuple[str, int]]:
    """Yield the lines that call a name with parentheses, according to the syntax tree."""
    for path, text in texts.items():
        lines = [number for number, line in enumerate(text.split("\n"), 1) if f"{name}(" in line]
        wanted = {number: frozenset({name}) for number in lines if (path, number) not in definitions}
        found = calls_in(LinesToRead(path, text.encode(), wanted)) if wanted else {}
        yield from ((path, number) for (number, _), calls in found.items() if calls)


def _add_required_parameter(text: str, name: str, line: int, path: str) -> str:
    """Add a required first parameter to a function in a text. Return "" if the parameter list is not found."""
    language = detect(path)
    lines = text.split("\n")
    at = lines[line - 1].find(f"{name}(")
    if at < 0 or language is None:
        return ""
    start = at + len(name) + 1
    rest = lines[line - 1][start:]
    receiver = _RECEIVER.match(rest)
    head = receiver[0].rstrip(", ") + ", " if receiver else ""
    rest = rest[receiver.end() :] if receiver else rest
    separator = "" if rest.lstrip().startswith(")") else ", "
    lines[line - 1] = f"{lines[line - 1][:start]}{head}{INSERTIONS[language.name]}{separator}{rest}"
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the measurements on each repository."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("tests", "callers"))
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--commits", type=int, default=40)
    parser.add_argument("--mutations", type=int, default=100)
    options = parser.parse_args(arguments)
    for repository in options.repositories:
        name = repository.parent.name if repository.name == "repo" else repository.name
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            bench = IndexedClone(repository.absolute(), folder, stack)
            if options.what == "tests":
                print(measure_tests(bench, options.commits).line(name), flush=True)
            else:
                mutations, expected, certain, named, others = measure_callers(bench, options.mutations)
                print(
                    f"{name:24} mutations {mutations:3}  callers {expected:3}  "
                    f"certain {certain / max(1, expected):.3f}  "
                    f"named {named / max(1, expected):.3f}  other certain lines {others}",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
