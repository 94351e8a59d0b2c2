"""Measure how often the questions of `questions/packages.jsonl` find the right definition or section of installed
packages.

    python -m benchmarks.package_questions [--held-out] [--read] [--small] [--misses] [--home FOLDER]

Installs the packages in the versions of the questions, with npm and in a virtual environment, and adds them as sources.
A result is right if it is the definition of a target, shows the target as a member of its class, or is below the right
heading of the package's README. By default, questions are about the development packages; with `--held-out`, about the
held-out packages. `--read` embeds every passage before the questions are asked (once per `--home`). `--small` omits
packages with more than a thousand passages.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import venv
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.paths import REPOSITORY, SCRATCH
from deltos.app import App
from deltos.config import Config
from deltos.domains.docs.library import NewSource
from deltos.domains.docs.search import DocsRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.domains.docs.model import Passage

QUESTIONS = REPOSITORY / "benchmarks" / "questions" / "packages.jsonl"
# Other packages to install: type declarations, and packages that are used together with the packages above.
EXTRA_PACKAGES = (
    "react@19",
    "@types/react@19",
    "@types/express@5.0.6",
    "@types/lodash@4.17.27",
    "@types/yargs@17",
)
LARGE_PACKAGES = (
    "sqlalchemy drizzle-orm polars lodash aiohttp fastify undici @tanstack/react-query date-fns rxjs zod hono"
    " express networkx cryptography rich pydantic"
).split()
README_PREFIX = "README: "
MAX_RESULTS = 10
_NON_WORD_CHARACTERS = re.compile(r"[^\w]+")

Row = dict[str, Any]


def main() -> None:
    """Install and index the packages, ask the questions, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--read", action="store_true")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--home", type=Path, default=SCRATCH / "package-questions" / "home")
    arguments = parser.parse_args()
    every = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    project = SCRATCH / "package-questions" / "project"
    install(every, project)
    left_out = LARGE_PACKAGES if arguments.small else ()
    questions = [row for row in every if row["held_out"] == arguments.held_out and row["package"] not in left_out]
    with closing(App(Config(arguments.home))) as app:
        add_sources(app, questions, project, read=arguments.read)
        places = {row["id"]: rank_of(app, row) for row in questions}
    print("| packages | questions | first | first three | first ten |\n|---|--:|--:|--:|--:|")
    for name in ("npm", "pypi"):
        print_shares(name, [places[row["id"]] for row in questions if row["ecosystem"] == name])
    print_shares("both", list(places.values()))
    for row in questions:
        if arguments.misses and places[row["id"]] > 0:
            print(f"{row['id']}: {places[row['id']]} {row['query']} -> {row['targets'][:3]}", file=sys.stderr)


def install(questions: Iterable[Row], project: Path) -> None:
    """Install the packages of the questions into a project, unless they are already installed."""
    if project.exists():
        return
    project.mkdir(parents=True)
    wanted: dict[str, dict[str, str]] = {"npm": {}, "pypi": {}}
    for row in questions:
        wanted[row["ecosystem"]][row["package"]] = row["version"]
    (project / "package.json").write_text('{"name": "project", "private": true}', encoding="utf-8")
    node = [*(f"{name}@{version}" for name, version in wanted["npm"].items()), *EXTRA_PACKAGES]
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps"]
    subprocess.run(["npm", "install", *options, *node], cwd=project, check=True)
    venv.create(project / ".venv", with_pip=True)
    python = [f"{name}=={version}" for name, version in wanted["pypi"].items()]
    subprocess.run([project / ".venv/bin/python", "-m", "pip", "install", "--quiet", *python], check=True)


def add_sources(app: App, questions: Iterable[Row], project: Path, *, read: bool) -> None:
    """Add every package as a source and wait until it is indexed."""
    library = app.domains.docs.library
    known = {source.url for source in library.sources()}
    for address in dict.fromkeys(f"{row['ecosystem']}:{row['package']}" for row in questions):
        if address not in known:
            for source in library.add(NewSource(address, "", project, roots=(project,))).sources:
                library.crawls.run(source.id)
    if read:
        library.crawls.embed_new()


def rank_of(app: App, row: Row) -> int:
    """Return the position of the first right result, or 99 if there is none."""
    request = DocsRequest(row["query"], limit=MAX_RESULTS, source=f"{row['ecosystem']}:{row['package']}")
    passages = app.domains.docs.search.search(request).passages
    return next((place for place, passage in enumerate(passages) if is_right(passage, row["targets"])), 99)


def is_right(passage: Passage, targets: Sequence[str]) -> bool:
    """Return whether a passage describes one of the targets, or a class that contains it."""
    trail = passage.section.split(" > ")
    headings = [trail[-1], *re.findall(r"^### (.+)$", passage.text, re.MULTILINE)]
    for target in targets:
        if target.startswith(README_PREFIX):
            if any(_squashed(each) == _squashed(target.removeprefix(README_PREFIX)) for each in (*headings, *trail)):
                return True
            continue
        owner, _, last = target.rpartition(".")
        if any(f".{heading}".endswith(f".{target}") for heading in headings):
            return True
        is_owner = owner and any(f".{heading}".endswith(f".{owner}") for heading in headings)
        if is_owner and re.search(rf"\b{re.escape(last)}\b", passage.text):
            return True
    return False


def _squashed(heading: str) -> str:
    return _NON_WORD_CHARACTERS.sub("", heading.lower())


def print_shares(name: str, places: Sequence[int]) -> None:
    """Print a row of the table."""
    shares = " | ".join(f"{sum(place < most for place in places) / len(places):.3f}" for most in (1, 3, MAX_RESULTS))
    print(f"| {name} | {len(places)} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
