"""Measure how often `search_code` finds the line that raises an error message.

    python -m benchmarks.error_messages REPOSITORY …

Takes up to 40 texts of two or more words from each repository, in lines outside tests and documentation that raise,
throw, panic, log or return an error. Placeholders are filled with values; every second message is prefixed with
the name of an exception, every fifth is truncated. A result is right if its first line contains the longest constant
part of the text.
"""

from __future__ import annotations

import random
import re
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.answer_tokens import ToolClient
from deltos.app import App
from deltos.config import Config
from deltos.domains.code.paths import is_prose
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 11
MAX_MESSAGES = 40
_MAX_BYTES = 400_000
_RAISING_LINE = re.compile(
    r"\b(?:raise|throw|panic!?|bail!|anyhow!|fatal|errorf?|errors\.New|Errorf|Error|die|abort|warn(?:ing)?|expect)\b",
    re.IGNORECASE,
)
_STRING_LITERAL = re.compile(r"\"((?:[^\"\\]|\\[^\\])*)\"|'((?:[^'\\]|\\[^\\])*)'|`([^`]*)`")
_PLACEHOLDER = re.compile(r"%[-+0-9.]*[a-z]|\$\{[^{}]*\}|#\{[^{}]*\}|\{\$[^{}]*\}|\{[^{}]*\}|\$[A-Za-z_]\w*")
_WORD = re.compile(r"[A-Za-z]{2,}")
_PLACEHOLDER_VALUES = (
    "42",
    "foo",
    "/tmp/a/b.txt",
    "{'cars'}",
    "my_item",
    "http://localhost:80",
    "Widget",
    "3.5",
    "'x y'",
)
_EXCEPTION_NAMES = (
    "ValueError",
    "java.lang.IllegalStateException",
    "Uncaught TypeError",
    "app.errors.StateError",
    "panic",
)


class RaisedMessage(NamedTuple):
    """An error message with values in its placeholders, and the constant part of the line that raises it."""

    text: str
    part: str
    path: str
    line: int


def main() -> None:
    """Print a row for each repository."""
    print("| repository | messages | first | among 5 | CPU ms, median |\n|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as home, closing(App(Config(Path(home)))) as app:
        for root in map(Path, sys.argv[1:]):
            index = app.domains.projects.index_of(root)
            index.index()
            index.catch_up(wait_seconds=120.0)
            print(measure(ToolClient(app, root), root), flush=True)


def measure(client: ToolClient, root: Path, *, show_misses: bool = False) -> str:
    """Count the error messages of a repository that are found. If `show_misses` is set, print the others."""
    sampled = sample_messages(root)
    first = among = 0
    took: list[float] = []
    for message in sampled:
        begin = time.process_time()
        results = (client.call("search_code", {"query": message.text, "concise": True}).structured or {})["results"]
        took.append((time.process_time() - begin) * 1000)
        right = [_contains_part(root, result, message.part) for result in results[:5]]
        first += right[:1] == [True]
        among += any(right)
        if show_misses and right[:1] != [True]:
            print(
                f"  {message.text!r} <- {message.path}:{message.line} {message.part!r}; got {_format_location(results)}"
            )
    count = max(1, len(sampled))
    spent = statistics.median(took) if took else 0.0
    return f"| {root.resolve().name} | {len(sampled)} | {first / count:.2f} | {among / count:.2f} | {spent:.0f} |"


def _format_location(results: list[dict[str, object]]) -> str:
    return f"{results[0]['file_path']}:{results[0]['start_line']}" if results else "nothing"


def _contains_part(root: Path, result: dict[str, object], part: str) -> bool:
    lines = (root / str(result["file_path"])).read_text("utf-8", "replace").split("\n")
    number = int(str(result["start_line"]))
    return part in lines[number - 1]


def sample_messages(root: Path) -> list[RaisedMessage]:
    """Return a reproducible sample of the error messages in a repository."""
    random_source = random.Random(SEED)
    found = list(_raised_messages(root, random_source))
    return random_source.sample(found, min(MAX_MESSAGES, len(found)))


def _raised_messages(root: Path, random_source: random.Random) -> Iterator[RaisedMessage]:
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root).as_posix()
        if not _is_candidate(file, path):
            continue
        for number, line in enumerate(file.read_text("utf-8", "replace").split("\n"), start=1):
            raising = _RAISING_LINE.search(line[:500])
            text = _STRING_LITERAL.search(line[:500], raising.end()) if raising else None
            if text is None or line.lstrip().startswith(("#", "//", "*", "/*")):
                continue
            if message := _fill_placeholders(next(filter(None, text.groups()), ""), random_source):
                yield RaisedMessage(*message, path, number)


def _is_candidate(file: Path, path: str) -> bool:
    if re.search(r"(?:^|/)(?:\.|node_modules|vendor|www/|docs?/)", path) or is_test(path) or is_prose(path):
        return False
    known = ".py .ts .js .php .java .kt .rb .go .rs .c .cc .cpp .cs .ex .scala .swift .lua".split()
    return file.suffix in known and file.is_file() and file.stat().st_size < _MAX_BYTES


def _fill_placeholders(text: str, random_source: random.Random) -> tuple[str, str] | None:
    """Fill the placeholders of a message with values. Return the message and its longest constant part."""
    parts = _PLACEHOLDER.split(text)
    longest = max(parts, key=len)
    if "\\" in text or len(_WORD.findall(longest)) < 2 or len(longest) < 12:
        return None
    filled = _PLACEHOLDER.sub(lambda _: random_source.choice(_PLACEHOLDER_VALUES), text)
    if random_source.random() < 0.2 and len(parts) == 1:
        filled += f" {random_source.choice(_PLACEHOLDER_VALUES)}"
    if random_source.random() < 0.5:
        filled = f"{random_source.choice(_EXCEPTION_NAMES)}: {filled}"
    return filled, longest


if __name__ == "__main__":
    main()
