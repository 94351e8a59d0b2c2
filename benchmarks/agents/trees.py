"""Prepare the trial repositories: sources at a pinned commit, renamed and indexed, with transcripts of sessions.

Each repository gets a folder with `tree/` (the source tree of the questions), `sessions/` (transcripts, if any) and
`home/` (Deltos' data folder). None of these folders contains the right answers.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass, replace
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from benchmarks.agents import rename_spec
from benchmarks.agents.rename import Renaming, files_to_copy, rename_tree
from benchmarks.packages import unpack_npm_package, unpack_wheel
from benchmarks.paths import MIRRORS, REPOSITORY, SCRATCH, SHARED

HERE = Path(__file__).parent
WORK = Path(os.environ.get("DELTOS_TRIALS", SCRATCH / "agents"))
SITE_PACKAGES = ".venv/lib/python3.11/site-packages"


@dataclass(frozen=True, slots=True)
class Repository:
    """A trial repository, as listed in repositories.json."""

    name: str
    source: str  # Forms: github:OWNER/NAME, own, pypi:NAME==VERSION, npm:NAME@VERSION, installed, specs.
    commit: str = ""
    root: str = ""
    seed: int = 0  # seed of the renaming; 0 if the repository is not renamed
    brands: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()  # names of packages if the source is `installed`, names of files if it is `specs`
    left_out: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return WORK / self.name

    @property
    def tree(self) -> Path:
        return self.folder / "tree"

    @property
    def sessions(self) -> Path:
        return self.folder / "sessions"

    @property
    def home(self) -> Path:
        return self.folder / "home"


@cache
def repositories() -> dict[str, Repository]:
    """Return the trial repositories by name."""
    rows: list[dict[str, Any]] = json.loads((HERE / "repositories.json").read_text("utf-8"))
    for row in rows:
        row.update({key: tuple(value) for key, value in row.items() if isinstance(value, list)})
    return {row["name"]: Repository(**row) for row in rows}


def prepare(names: list[str], *, again: bool = False) -> None:
    """Write and index the named repositories; existing repositories are indexed again only if `again` is set."""
    for name in names:
        repository = repositories()[name]
        if not repository.tree.exists():
            lay_out(repository)
        if again or not (repository.folder / "indexed").exists():
            _index(repository)
            (repository.folder / "indexed").touch()
        print(f"{name}: {sum(path.is_file() for path in repository.tree.rglob('*'))} files", flush=True)


def lay_out(repository: Repository) -> None:
    """Write a repository's tree and sessions, and write the maps of renamed names to a separate folder."""
    shutil.rmtree(repository.tree, ignore_errors=True)
    repository.tree.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        made = _LAYOUT_FUNCTIONS[repository.source.partition(":")[0]](repository, Path(folder))
    _write_sessions(repository)
    maps = WORK / ".maps" / f"{repository.name}.json"
    maps.parent.mkdir(exist_ok=True)
    maps.write_text(
        json.dumps({part: {"names": dict(one.names), "brands": dict(one.brands)} for part, one in made.items()}),
        "utf-8",
    )


def renamings(repository: Repository) -> dict[str, Renaming]:
    """Return the renaming of each part of a repository's tree. The part "" is the whole tree."""
    maps = json.loads((WORK / ".maps" / f"{repository.name}.json").read_text("utf-8"))
    return {part: Renaming(one["names"], one["brands"]) for part, one in maps.items()}


def published_sources(repository: Repository, folder: Path) -> Path:
    """Return the folder with the published sources of a repository. They are downloaded to `folder` if necessary."""
    kind, _, rest = repository.source.partition(":")
    if kind == "pypi":
        return unpack_wheel(rest)
    if kind == "npm":
        return unpack_npm_package(rest) / repository.root
    clone = REPOSITORY if kind == "own" else MIRRORS / rest.replace("/", "+") / "repo"
    archive = subprocess.run(
        ["git", "-C", str(clone), "archive", repository.commit], capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return folder


def _lay_out_sources(repository: Repository, folder: Path) -> dict[str, Renaming]:
    return {"": _copy(published_sources(repository, folder), repository.tree, repository)}


def _copy(source: Path, target: Path, repository: Repository) -> Renaming:
    with tempfile.TemporaryDirectory() as kept:
        place = Path(kept, "kept")
        for path in files_to_copy(source):
            relative = path.relative_to(source)
            if not any(
                relative.match(pattern) or relative.as_posix().startswith(pattern) for pattern in repository.left_out
            ):
                (place / relative).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, place / relative)
        if not repository.seed:
            shutil.copytree(place, target, dirs_exist_ok=True)
            return Renaming({}, {})
        report = rename_tree(place, target, repository.seed, repository.brands)
        if report.broken:
            raise RuntimeError(f"{repository.name}: no longer parses: {', '.join(report.broken)}")
        return report.renaming


def _lay_out_installed(repository: Repository, _folder: Path) -> dict[str, Renaming]:
    """Create a small project with its dependencies installed in a virtual environment."""
    site = repository.tree / SITE_PACKAGES
    made: dict[str, Renaming] = {}
    names: list[str] = []
    for number, requirement in enumerate(repository.parts):
        name = requirement.partition("==")[0]
        seed = repository.seed and repository.seed + number
        made[name] = _copy(unpack_wheel(requirement), site, replace(repository, seed=seed, brands=(name,)))
        names.append(made[name].path(name))
    (repository.tree / ".venv" / "pyvenv.cfg").write_text(
        "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11.7\n"
    )
    listed_names = ", ".join(f'"{name}"' for name in names)
    project = '[project]\nname = "backoffice"\nversion = "0.1.0"\nrequires-python = ">=3.11"\n'
    (repository.tree / "pyproject.toml").write_text(f"{project}dependencies = [{listed_names}]\n")
    package = repository.tree / "backoffice"
    package.mkdir()
    (package / "__init__.py").write_text('"""Jobs of the back office."""\n')
    return made


def _lay_out_specs(repository: Repository, _folder: Path) -> dict[str, Renaming]:
    """Create a project that contains the API descriptions of the services it uses."""
    target = repository.tree / "services"
    target.mkdir(parents=True)
    made: dict[str, Renaming] = {}
    for number, part in enumerate(repository.parts):
        description = rename_spec.load(SHARED / "specs" / "openapi" / part)
        stem = part.split(".")[0].split("_")[0]
        name = stem
        if repository.seed:
            description, made[part] = rename_spec.rename_spec(description, repository.seed + number, (stem,))
            name = made[part].brands[stem]
        (target / f"{name}.yaml").write_text(rename_spec.dump(description), "utf-8")
    return made


_LAYOUT_FUNCTIONS = {
    "github": _lay_out_sources,
    "own": _lay_out_sources,
    "pypi": _lay_out_sources,
    "npm": _lay_out_sources,
    "installed": _lay_out_installed,
    "specs": _lay_out_specs,
}


def product_command() -> list[str]:
    """Return the command that runs Deltos, from this checkout unless DELTOS_TRIALS_PYTHON names an interpreter."""
    return [os.environ.get("DELTOS_TRIALS_PYTHON", sys.executable), "-P", "-m", "deltos"]


def environment(repository: Repository) -> dict[str, str]:
    """Return the environment of this process with the repository's data folder."""
    return {**os.environ, "DELTOS_HOME": str(repository.home)}


def _run_deltos(repository: Repository, *arguments: str, given: str = "") -> None:
    done = subprocess.run(
        [*product_command(), *arguments],
        input=given,
        capture_output=True,
        text=True,
        env=environment(repository),
        cwd=repository.tree,
    )
    if done.returncode:
        raise RuntimeError(f"deltos {' '.join(arguments)}: {done.stdout[-500:]}{done.stderr[-1_000:]}")


def _index(repository: Repository) -> None:
    shutil.rmtree(repository.home, ignore_errors=True)
    _run_deltos(repository, "index", str(repository.tree))
    if repository.source == "installed":
        _run_deltos(repository, "docs", "add", "deps:", "--project", str(repository.tree), "--wait")
    if repository.source == "specs":
        for path in sorted((repository.tree / "services").iterdir()):
            _run_deltos(repository, "api", "add", str(path), "--name", path.stem)
    for event, given in _hook_events(repository):
        _run_deltos(repository, "hook", event, given=json.dumps(given))


def _write_sessions(repository: Repository) -> None:
    """Write transcripts of earlier sessions in a client's format, one file per session."""
    shutil.rmtree(repository.sessions, ignore_errors=True)
    for session in sessions_of(repository):
        repository.sessions.mkdir(exist_ok=True)
        lines = [
            json.dumps({"type": turn["role"], "message": {"role": turn["role"], "content": turn["text"]}})
            for turn in session["turns"]
        ]
        (repository.sessions / f"{session['id']}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


def sessions_of(repository: Repository) -> list[dict[str, Any]]:
    """Return the messages of users and agents in earlier sessions about a repository."""
    rows = [json.loads(line) for line in (HERE / "sessions.jsonl").read_text("utf-8").splitlines()]
    return [row for row in rows if row["repository"] == repository.name]


def _hook_events(repository: Repository) -> list[tuple[str, dict[str, Any]]]:
    """Return the earlier sessions as hook events of a client."""
    events: list[tuple[str, dict[str, Any]]] = []
    for session in sessions_of(repository):
        common = {"session_id": session["id"], "cwd": str(repository.tree)}
        events.append(("SessionStart", {**common, "hook_event_name": "SessionStart", "source": "startup"}))
        for turn in session["turns"]:
            if turn["role"] == "user":
                events.append(
                    ("UserPromptSubmit", {**common, "hook_event_name": "UserPromptSubmit", "prompt": turn["text"]})
                )
            else:
                events.append(("Stop", {**common, "hook_event_name": "Stop", "last_assistant_message": turn["text"]}))
        events.append(("SessionEnd", {**common, "hook_event_name": "SessionEnd", "reason": "exit"}))
    return events
