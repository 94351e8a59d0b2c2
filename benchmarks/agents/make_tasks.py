"""Create tasks.jsonl from picks.json. Answers come from commits, compilers and API descriptions, with renamed names.

    python -m benchmarks.agents.make_tasks

Needs the repository mirrors and the shared benchmark data; tasks.jsonl is committed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from benchmarks.agents.rename_spec import KEYWORDS
from benchmarks.agents.tasks import Task, dump
from benchmarks.agents.trees import HERE, Repository, renamings, repositories
from benchmarks.paths import MIRRORS, REPOSITORY, SHARED

if TYPE_CHECKING:
    from collections.abc import Callable

Pick = dict[str, Any]

EXPECTED_REFERENCES = {
    "wire": "httpx-0.28.1.jsonl",
    "forms": "zod-4.6.7.jsonl",
    "orders": "declared/go-cobra.jsonl",
    "shapes": "declared/java-gson.jsonl",
}
_CODE = re.compile(r"\.(py|go|rs|ts|java|js)$")
_NOT_CODE = re.compile(r"(^|/)(tests?|docs?|benchmarks|fuzz)/|_test\.go$|(^|/)test_")
STATEMENT_LINES = 4  # maximum number of lines between the start of a statement and its error message
_COUNTS = {1: "one source file", 2: "two source files"}


class TaskMaker:
    """Creates the tasks for one repository."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self.renaming = renamings(repository)

    def make(self, pick: Pick) -> tuple[str, str, Any]:
        """Create a task with its question, the form of its answer, and the right answer."""
        made: tuple[str, str, Any] = getattr(self, f"_{pick['kind']}", self._written)(pick)
        return made

    def path(self, path: str) -> str:
        return self.renaming[""].path(path)

    def _locate(self, pick: Pick) -> tuple[str, str, Any]:
        subject, files = _commit(self.repository, pick["commit"])
        subject_text = self.renaming[""].prose(pick.get("subject", subject))
        there = [self.path(path) for path in files]
        for path in there:
            assert (self.repository.tree / path).is_file(), path
        count = f"{_COUNTS[len(there)]} (no tests, no documentation)"
        question = f"A change is wanted: “{subject_text}”. Which {count} must be changed?"
        return question, "files", there

    def _references(self, pick: Pick) -> tuple[str, str, Any]:
        name, place, references = self._truth(pick)
        within = f" in `{pick['below']}`" if "below" in pick else ""
        question = (
            f"List every line{within} that refers to `{name}` (defined at {place}): calls, imports and other uses of "
            f"that very definition, also "
            "through a value of its type. The definition itself, definitions that override it, other definitions of "
            "the same name, "
            "comments, strings and documentation do not count."
        )
        return question, "lines", references

    def _impact(self, pick: Pick) -> tuple[str, str, Any]:
        name, place, references = self._truth(pick)
        own = place.rpartition(":")[0]
        files = sorted({one.rpartition(":")[0] for one in references} - {own})
        question = (
            f"The signature of `{name}` (defined at {place}) is to be changed. Which other files, tests included, "
            f"use that very definition "
            "and must be looked at? Files that only use other definitions of the same name do not count."
        )
        return question, "files", files

    def _truth(self, pick: Pick) -> tuple[str, str, list[str]]:
        """Return the name, definition and references of a symbol in the renamed tree."""
        if "places" in pick:
            return pick["name"], pick["at"], sorted(pick["places"])
        rows = map(
            json.loads, (SHARED / "graph" / EXPECTED_REFERENCES[self.repository.name]).read_text("utf-8").splitlines()
        )
        row = next(row for row in rows if row.get("symbol") == pick["symbol"])
        name = ".".join(self.renaming[""].name(part) for part in _class_and_name(row["symbol"], row["name"]))
        references = sorted({self._place(*one.rsplit(":", 1)) for one in row["references"]})
        # overload signatures, which the compiler counts as references but Deltos does not
        dropped = pick.get("dropped", ())
        return name, self._place(row["def_file"], row["def_line"]), [one for one in references if one not in dropped]

    def _place(self, path: str, line: object) -> str:
        renamed = self.path(path)
        assert (self.repository.tree / renamed).is_file(), renamed
        return f"{renamed}:{line}"

    def _error(self, pick: Pick) -> tuple[str, str, Any]:
        path, _, line = pick["at"].partition(":")
        assert (self.repository.tree / path).read_text("utf-8").splitlines()[int(line) - 1].strip()
        question = (
            f"Users see this: `{pick['message']}`. Where in the source (not in tests) is it raised or produced? "
            "Answer with the line on which the statement begins."
        )
        return question, "line", [pick["at"]]

    def other_answers(self, pick: Pick) -> tuple[str, ...]:
        """Return additional right answers: the other lines of a statement, or overload signatures."""
        if pick["kind"] == "error":
            path, _, line = pick["at"].partition(":")
            return tuple(f"{path}:{int(line) + more}" for more in range(1, STATEMENT_LINES))
        others: list[str] = pick.get("also") or pick.get("dropped") or []
        return tuple(others)

    def _library(self, pick: Pick) -> tuple[str, str, Any]:
        renaming = self.renaming[pick["part"]] if "part" in pick and self.repository.seed else None
        if renaming is None:
            return pick["question"], pick["form"], pick["answer"]
        return renaming.prose(pick["question"]), pick["form"], [renaming.name(name) for name in pick["answer"]]

    def _api(self, pick: Pick) -> tuple[str, str, Any]:
        stem = pick["part"].split(".")[0].split("_")[0]
        call = {"service": stem, **pick["call"]}
        if self.repository.seed:
            renaming = self.renaming[pick["part"]]
            call["service"] = renaming.brands[stem]
            call["template"] = re.sub(
                r"[^/{}]+", lambda found: _renamed_symbol(renaming.name, found.group()), call["template"]
            )
            for part in ("variables", "query", "body"):
                if part in call:
                    call[part] = {_renamed_symbol(renaming.name, key): value for key, value in call[part].items()}
        described = f"`{call['service']}` (described in services/{call['service']}.yaml)"
        question = f"Write the API call of the service {described} for this: {pick['question']}"
        return question, "call", call

    def _written(self, pick: Pick) -> tuple[str, str, Any]:
        return pick["question"], pick["form"], pick["answer"]


def _renamed_symbol(rename: Callable[[str], str], name: str) -> str:
    return name if name in KEYWORDS else rename(name)


def _class_and_name(symbol: str, name: str) -> list[str]:
    """Split a symbol in the compiler's notation into its class and its name."""
    inner = symbol.split("#")[-1].split("@")[0]
    parts = inner.split(".")
    return parts[-2:] if len(parts) > 1 and parts[-2][:1].isupper() else [name]


def _commit(repository: Repository, commit: str) -> tuple[str, list[str]]:
    """Return a commit's subject without issue numbers, and the source files that it changed."""
    kind, _, rest = repository.source.partition(":")
    clone = REPOSITORY if kind == "own" else MIRRORS / rest.replace("/", "+") / "repo"
    command = [
        "git",
        "-C",
        str(clone),
        "show",
        "-m",
        "--first-parent",
        "--no-renames",
        "--name-only",
        "--format=%s",
        commit,
    ]
    subject, *files = filter(
        None, subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    )
    subject = re.sub(r"\s*\(#\d+\)|, (closes|refs) #\d+", "", subject)
    return subject, [path for path in files if _CODE.search(path) and not _NOT_CODE.search(path)]


def main() -> int:
    numbers: dict[str, int] = {}
    made: list[Task] = []
    makers: dict[str, TaskMaker] = {}
    halves = json.loads((HERE / "halves.json").read_text("utf-8"))
    for pick in json.loads((HERE / "picks.json").read_text("utf-8")):
        repository = repositories()[pick["repository"]]
        maker = makers.setdefault(repository.name, TaskMaker(repository))
        question, form, answer = maker.make(pick)
        numbers[pick["kind"]] = numbers.get(pick["kind"], 0) + 1
        name = f"{pick['kind']}-{numbers[pick['kind']]:02}"
        is_unseen = bool(
            repository.seed or repository.source == "own" or pick.get("unseen") or pick["kind"] == "decided"
        )
        half = next((half for half, names in halves.items() if name in names), "")
        made.append(
            Task(
                name,
                pick["kind"],
                repository.name,
                repository.commit or repository.source,
                repository.seed,
                is_unseen,
                pick.get("easy", pick["kind"] == "error"),
                form,
                question,
                answer,
                maker.other_answers(pick),
                half,
            )
        )
    dump(made)
    unseen = sum(task.unseen for task in made)
    print(f"{len(made)} tasks of {len(numbers)} kinds over {len(makers)} repositories, {unseen} unseen")
    return 0


if __name__ == "__main__":
    sys.exit(main())
