"""Compare `explore` with grep on recent commits of large repositories, by scripted policies.

    python -m benchmarks.agents.commits --trees DIR [--tasks N]

DIR contains a checkout of HEAD of each repository in `_MIRRORS`. A task is the subject of a commit that changed at most
three source files; it is solved when the policy has seen every changed line. With grep, a policy searches the rarest
words of the subject and reads 100 lines around the best matches. With `explore`, the policy makes one call and then
reads 100 lines around each location in the answer. The checkouts already contain the commits, so the figures of both
policies are optimistic.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.paths import MIRRORS, SCRATCH
from deltos.app import App
from deltos.budget import CHARACTERS_PER_TOKEN
from deltos.config import Config
from deltos.progress import Silent
from deltos.server.conversation import Conversation
from deltos.text.stop_words import QUESTION_WORDS, STOP_WORDS
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deltos.tool import Tool

_MIRRORS = {
    "django": "django+django",
    "gitea": "go-gitea+gitea",
    "immich": "immich-app+immich",
    "tokio": "tokio-rs+tokio",
    "caddy": "caddyserver+caddy",
}
_SOURCE = re.compile(r"\.(py|go|ts|svelte|dart|rs)$")
_PLACE = re.compile(r"([\w./@-]+\.\w{1,6}):(\d+)")
_WORD = re.compile(r"[A-Za-z_]\w{3,}")
_MAX_FILES, _MAX_LINES, _MIN_WORDS = 3, 40, 4
_MAX_SEARCHES, _MAX_READS, _MAX_SHOWN_MATCHES, _RADIUS = 4, 10, 60, 50


@dataclass(frozen=True, slots=True)
class CommitTask:
    """A task: the subject of a commit, and the changed lines by path."""

    repository: str
    subject: str
    lines: dict[str, frozenset[int]]


@dataclass
class Reading:
    """What a scripted policy has read: the number of characters, and the target lines that were not shown yet."""

    root: Path
    missing: dict[str, set[int]]
    characters: int = 0

    def show(self, text: str) -> None:
        """Add the characters of an output to the total."""
        self.characters += len(text)

    def read(self, path: str, line: int) -> None:
        """Show the lines around the given line of a file."""
        first, last = max(1, line - _RADIUS), line + _RADIUS
        source = (self.root / path).read_text("utf-8", "replace").split("\n")[first - 1 : last]
        self.show("\n".join(source))
        self.remove(path, range(first, last + 1))

    def remove(self, path: str, numbers: Iterable[int]) -> None:
        """Mark lines as shown."""
        if path in self.missing:
            self.missing[path].difference_update(numbers)

    @property
    def is_complete(self) -> bool:
        """Whether every target line was shown."""
        return not any(self.missing.values())


def tasks(root: Path, repository: str, count: int) -> Iterator[CommitTask]:
    """Yield the tasks of a repository, newest commits first."""
    mirror = MIRRORS / _MIRRORS[repository]
    git = ["git", "--git-dir", str(mirror / "repo" if (mirror / "repo").is_dir() else mirror)]
    log = [*git, "log", "-400", "--no-merges", "--format=%H %s"]
    found = 0
    for row in subprocess.run(log, capture_output=True, text=True, check=True).stdout.splitlines():
        commit, subject = row.split(" ", 1)
        diff = [*git, "diff", "-U0", f"{commit}~1", commit, "--"]
        run = subprocess.run(diff, capture_output=True, text=True, errors="replace", check=False)
        lines = dict(_changed_lines(root, run.stdout))
        wide = sum(map(len, lines.values()))
        if 0 < len(lines) <= _MAX_FILES and 2 < wide <= _MAX_LINES and len(_words(subject)) >= _MIN_WORDS:
            yield CommitTask(repository, subject, lines)
            found += 1
        if found == count:
            return


def _changed_lines(root: Path, diff: str) -> Iterator[tuple[str, frozenset[int]]]:
    """Yield, for each source file, the current numbers of added lines whose text is unique in the file."""
    for part in diff.split("\ndiff --git ")[:20]:
        path = match[1] if (match := re.search(r"^\+\+\+ b/(.+)$", part, re.MULTILINE)) else ""
        if not _SOURCE.search(path) or is_test(path) or not (root / path).is_file():
            continue
        added = {line[1:].strip() for line in part.splitlines() if line.startswith("+") and not line.startswith("+++")}
        source = [line.strip() for line in (root / path).read_text("utf-8", "replace").split("\n")]
        counts = Counter(source)
        if numbers := {n for n, line in enumerate(source, 1) if line in added and len(line) > 8 and counts[line] == 1}:
            yield path, frozenset(numbers)


def _words(subject: str) -> list[str]:
    return [word for word in _WORD.findall(subject) if word.lower() not in STOP_WORDS | QUESTION_WORDS]


def grep_policy(reading: Reading, subject: str) -> None:
    """Search for the rarest words of a subject, then read around the matches in the best files."""
    command = ["grep", "-rniIF", "--exclude-dir=.git", "--include=*.*"]
    found: dict[str, list[str]] = {}
    for word in _words(subject)[:12]:
        run = subprocess.run([*command, word, "."], cwd=reading.root, capture_output=True, text=True, errors="replace")
        found[word] = [line[2:] for line in run.stdout.splitlines() if _SOURCE.search(line.split(":", 1)[0])]
    rare = sorted((word for word in found if found[word]), key=lambda word: len(found[word]))[:_MAX_SEARCHES]
    places: dict[str, list[int]] = {}
    words: Counter[str] = Counter()
    for word in rare:
        shown = found[word][:_MAX_SHOWN_MATCHES]
        reading.show("\n".join(line[:200] for line in shown))
        for path, number in {(line.split(":")[0], int(line.split(":")[1])) for line in shown}:
            places.setdefault(path, []).append(number)
        words.update({line.split(":", 1)[0] for line in shown})
    best = sorted(places, key=lambda path: (is_test(path), -words[path]))
    _read_until_complete(reading, [(path, number) for path in best for number in sorted(places[path])])


def explore_policy(reading: Reading, subject: str, explore: Tool) -> None:
    """Call `explore` once, then read around the locations in its answer."""
    text = explore.answer({"question": subject}, Conversation(reading.root), Silent()).text
    reading.show(text)
    path = ""
    for line in text.split("\n"):
        if match := re.match(r"([\w./@-]+\.\w{1,6}):\d+-\d+", line):
            path = match[1]
        elif numbered := re.match(r"(\d+)\t", line):
            reading.remove(path, [int(numbered[1])])
    _read_until_complete(reading, [(match[1], int(match[2])) for match in _PLACE.finditer(text)])


def _read_until_complete(reading: Reading, places: Iterable[tuple[str, int]]) -> None:
    seen: list[tuple[str, int]] = []
    for path, number in places:
        is_near = any(path == other and abs(number - line) <= _RADIUS for other, line in seen)
        if reading.is_complete or len(seen) == _MAX_READS:
            return
        if not is_near and (reading.root / path).is_file():
            seen.append((path, number))
            reading.read(path, number)


def main() -> None:
    """Print one row per task, and the totals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=Path, required=True)
    parser.add_argument("--tasks", type=int, default=8, help="tasks per repository")
    parser.add_argument("--repository", nargs="*", default=list(_MIRRORS))
    arguments = parser.parse_args()
    config = replace(Config.from_environment(), home=SCRATCH / "home")
    app = App(config, ends_with_its_answer=True)
    explore = next(tool for tool in app.tools() if tool.name == "explore")
    totals: Counter[str] = Counter()
    for repository in arguments.repository:
        root = (arguments.trees / repository).resolve()
        for task in tasks(root, repository, arguments.tasks):
            row = []
            for name in ("grep", "explore"):
                reading = Reading(root, {path: set(numbers) for path, numbers in task.lines.items()})
                if name == "grep":
                    grep_policy(reading, task.subject)
                else:
                    explore_policy(reading, task.subject, explore)
                tokens = reading.characters // CHARACTERS_PER_TOKEN
                totals.update({f"{name} tokens": tokens, f"{name} solved": reading.is_complete, f"{name} tasks": 1})
                row.append(f"{name} {tokens:,}{'' if reading.is_complete else ' (missed)'}")
            print(f"{repository}: {'; '.join(row)}; {task.subject[:70]}", flush=True)
    print(dict(totals))
    app.close()


if __name__ == "__main__":
    main()
