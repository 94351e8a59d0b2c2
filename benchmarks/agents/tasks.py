"""Trial tasks: questions about repositories and their right answers."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

FILE = Path(__file__).with_name("tasks.jsonl")
KINDS = ("locate", "how", "references", "impact", "error", "library", "api", "decided")

# Required last line of an answer, by form of the answer.
FORMS = {
    "files": (
        "the path of the file, or of each file separated by commas, relative to the repository: "
        "`ANSWER: src/a.py, src/b.py`"
    ),
    "lines": "every place as path:line, separated by commas: `ANSWER: src/a.py:12, src/b.py:40`",
    "line": "the place as path:line: `ANSWER: src/a.py:12`",
    "names": "the names or values asked for, separated by commas: `ANSWER: retry_limit, 30`",
    "call": (
        'the call as one line of JSON: `ANSWER: {"service": "name", "method": "POST", "path": "/real/path/42", '
        '"query": {}, "body": {}}`'
    ),
}


@dataclass(frozen=True, slots=True)
class Task:
    """A question about a repository and its right answer.

    `answer` is a list of files, places or names, or a description of an API call. `also` lists other right answers.
    """

    id: str
    kind: str
    repository: str
    commit: str
    renamed: int  # seed of the renaming; 0 if the repository is not renamed
    unseen: bool  # whether no model can know the answer from its training data
    easy: bool  # whether `grep` is hard to beat: a small repository or a literal string
    form: str
    question: str
    answer: Any
    also: tuple[str, ...] = ()
    half: str = ""  # "A" or "B" if real agents get the task, otherwise empty

    @property
    def common_name(self) -> bool:
        return self.kind == "references"


def load(file: Path = FILE) -> list[Task]:
    """Read all tasks, in order."""
    rows = (json.loads(line) for line in file.read_text("utf-8").splitlines())
    return [Task(**{**row, "also": tuple(row.get("also", ()))}) for row in rows]


def dump(tasks: Iterable[Task], file: Path = FILE) -> None:
    """Write tasks, one JSON object per line, without empty fields."""
    lines = [
        json.dumps({key: value for key, value in asdict(task).items() if value or key in ("renamed", "unseen", "easy")})
        for task in tasks
    ]
    file.write_text("\n".join(lines) + "\n", "utf-8")


def select_tasks(wanted: Iterable[str], tasks: list[Task] | None = None) -> list[Task]:
    """Return the tasks with these ids, kinds, repositories or halves, or all tasks if nothing is selected."""
    every = load() if tasks is None else tasks
    asked = set(wanted)
    if not asked:
        return every
    found = [task for task in every if {task.id, task.kind, task.repository, task.half} & asked]
    unknown = asked - {word for task in every for word in (task.id, task.kind, task.repository, task.half)}
    if unknown:
        raise SystemExit(f"unknown task, kind, repository or half: {', '.join(sorted(unknown))}")
    return found
