"""Measure how many exported names of installed packages are found in their documentation, as a Markdown table.

    python -m benchmarks.exported_names [npm | pypi]

Exports are determined without Deltos: by TypeScript's checker for npm, and by importing modules and `inspect` for
Python. A name counts as found if the index has its definition. A sample of names is also queried, and a name counts as
answered if a definition of it is among the first three results.
"""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.paths import SCRATCH
from deltos.app import App
from deltos.config import Config
from deltos.domains.docs.library import NewSource
from deltos.domains.docs.search import DocsRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

BENCHMARKS_FOLDER = Path(__file__).parent
DEVELOPMENT_NPM = (
    "hono date-fns drizzle-orm zod axios commander rxjs fastify kysely @tanstack/react-query jose ky undici uuid"
    " express"
).split()
HELD_OUT_NPM = ("vue graphql ioredis luxon pino ramda valibot superstruct yargs ws knex cheerio mobx immer got").split()
TYPE_PACKAGES = "@types/express @types/uuid @types/ramda @types/yargs @types/ws @types/luxon".split()
DEVELOPMENT_PYPI = (
    "typer httpx pydantic fastapi requests click rich attrs flask jinja2 starlette sqlalchemy aiohttp trio numpy"
).split()
HELD_OUT_PYPI = (
    "networkx marshmallow structlog anyio hypothesis msgspec tqdm redis pyyaml loguru uvicorn werkzeug tornado"
    " markdown-it-py pillow"
).split()
QUERIED_NAMES = 25


@dataclass(frozen=True, slots=True)
class Row:
    """Numbers of exported, found and queried names of one package."""

    name: str
    exported: int
    missing: tuple[str, ...]
    asked: int
    answered: int

    def __str__(self) -> str:
        share = 1 - len(self.missing) / self.exported if self.exported else 0.0
        missing = ", ".join(self.missing[:6]) + (" …" if len(self.missing) > 6 else "")
        return f"| {self.name} | {self.exported} | {share:.1%} | {self.answered} of {self.asked} | {missing} |"


def main() -> None:
    """Print the tables."""
    kinds = sys.argv[1:] or ["npm", "pypi"]
    for kind in kinds:
        for part, packages in (
            ("seen", DEVELOPMENT_NPM if kind == "npm" else DEVELOPMENT_PYPI),
            ("held-out", HELD_OUT_NPM if kind == "npm" else HELD_OUT_PYPI),
        ):
            project = (
                npm_project((*DEVELOPMENT_NPM, *HELD_OUT_NPM, *TYPE_PACKAGES))
                if kind == "npm"
                else python_project((*DEVELOPMENT_PYPI, *HELD_OUT_PYPI))
            )
            exported = npm_exports(project, packages) if kind == "npm" else python_exports(project, packages)
            print_table(f"{kind}, {part}", list(measure(kind, project, packages, exported)))


def print_table(title: str, rows: Sequence[Row]) -> None:
    """Print a row for each package and one for all packages."""
    print(f"\n| {title} | exported names | found | first three | missing |\n|---|---|---|---|---|")
    for row in rows:
        print(row)
    total = Row(
        "all",
        sum(r.exported for r in rows),
        tuple(n for r in rows for n in r.missing),
        sum(r.asked for r in rows),
        sum(r.answered for r in rows),
    )
    print(str(total).rpartition("|")[0].rpartition("|")[0] + "| |", flush=True)


def measure(kind: str, project: Path, packages: Sequence[str], exported: dict[str, list[str]]) -> Iterable[Row]:
    """Index each package and look up its names."""
    with tempfile.TemporaryDirectory() as home:
        app = App(replace(Config.from_environment(), home=Path(home)))
        try:
            library = app.domains.docs.library
            for package in packages:
                added = library.add(NewSource(f"{kind}:{package}", package, project, (project,)))
                source = added.sources[0]
                library.crawls.run(source.id)
                known = defined_names(Path(home), source.id)
                names = exported.get(package, [])
                missing = tuple(name for name in names if name not in known)
                asked = random.Random(7).sample(names, min(QUERIED_NAMES, len(names)))
                answered = sum(is_answered(app, source.name, name) for name in asked)
                yield Row(package, len(names), missing, len(asked), answered)
        finally:
            app.close()


def defined_names(home: Path, source_id: str) -> set[str]:
    """Return the names that have a definition in the index, without their modules and classes."""
    connection = sqlite3.connect(home / "library.db")
    rows = connection.execute(
        "SELECT c.anchors FROM docs_chunk c JOIN docs_page p ON p.id = c.page_id"
        " WHERE p.source_id = ? AND c.is_definition",
        (source_id,),
    )
    return {anchor.rpartition(".")[2] for (anchors,) in rows for anchor in anchors.split()}


def is_answered(app: App, source: str, name: str) -> bool:
    """Return whether a search for the name returns one of its definitions among the first three results."""
    found = app.domains.docs.search.search(DocsRequest(name, limit=3, source=source))
    return any(anchor.rpartition(".")[2] == name for passage in found.passages for anchor in passage.anchors)


# ---------------------------------------------------------------------- npm


def npm_project(packages: Sequence[str]) -> Path:
    """Create a folder with the packages and TypeScript installed."""
    project = SCRATCH / "exported-npm"
    if not (project / "node_modules" / "typescript").exists():
        project.mkdir(parents=True, exist_ok=True)
        (project / "package.json").write_text('{"private": true}')
        options = ["--silent", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run(["npm", "install", *options, *packages, "typescript@5"], cwd=project, check=True)
    return project


def npm_exports(project: Path, packages: Sequence[str]) -> dict[str, list[str]]:
    """Return the exports of all entry points of each package, according to TypeScript."""
    script = BENCHMARKS_FOLDER / "exported_names.cjs"
    output = subprocess.run(["node", script, project, *packages], check=True, capture_output=True, text=True)
    return {name: sorted(names) for name, names in json.loads(output.stdout).items()}


# ---------------------------------------------------------------------- Python


def python_project(packages: Sequence[str]) -> Path:
    """Create a folder with a virtual environment in which the packages are installed."""
    project = SCRATCH / "exported-pypi"
    if not (project / ".venv" / "done").exists():
        venv.create(project / ".venv", with_pip=True)
        subprocess.run([project / ".venv/bin/pip", "install", "--quiet", *packages], check=True)
        (project / ".venv" / "done").touch()
    return project


def python_exports(project: Path, packages: Sequence[str]) -> dict[str, list[str]]:
    """Return the public classes and functions of the importable modules of each package."""
    command = [str(project / ".venv/bin/python"), "-W", "ignore", str(BENCHMARKS_FOLDER / "exported_by_python.py")]
    found = {}
    for package in packages:
        output = subprocess.run([*command, package], check=True, capture_output=True, text=True, cwd=project)
        found[package] = json.loads(output.stdout)
    return found


if __name__ == "__main__":
    main()
