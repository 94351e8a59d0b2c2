"""Measure how often `search_code` and `search` find documents of a project by their headings.

    python -m benchmarks.heading_search REPOSITORY …

Takes up to 40 headings of two to eight words from the Markdown and reStructuredText files of each repository, except
change logs. Each heading occurs in only one file, which is the right result. Repositories should be clones with
history.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.answer_tokens import ToolClient
from deltos.app import App
from deltos.config import Config
from deltos.domains.code.chunk import lines_of
from deltos.domains.code.paths import is_changelog
from deltos.languages.sections import sections

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 7
MAX_HEADINGS = 40
MIN_WORDS, MAX_WORDS = 2, 8
_MARKUP = re.compile(r"[`*\[\]]")
_EXCLUDED_PATH = re.compile(r"(?:^|/)(?:\.|node_modules)")
_MARKDOWN = re.compile(r"^#{1,4} +(.+)")


class Heading(NamedTuple):
    """A heading, and the only file that contains it."""

    text: str
    path: str


def main() -> None:
    """Print a row for each repository."""
    print("| repository | headings | search_code: first | in 5 | search: in 5 |\n|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as home, closing(App(Config(Path(home)))) as app:
        for root in map(Path, sys.argv[1:]):
            index = app.domains.projects.index_of(root)
            index.index()
            index.catch_up(wait_seconds=120.0)
            print(_measure_repository(ToolClient(app, root), root), flush=True)


def _measure_repository(client: ToolClient, root: Path) -> str:
    asked = headings(root)
    first = in_code = in_all = 0
    for heading in asked:
        found = client.call("search_code", {"query": heading.text}).structured or {}
        paths = list(dict.fromkeys(result["file_path"] for result in found.get("results", ())))
        first += paths[:1] == [heading.path]
        in_code += heading.path in paths[:5]
        found = client.call("search", {"query": heading.text}).structured or {}
        names = [result["id"].partition(":")[2].partition("#")[0] for result in found.get("results", ())]
        in_all += heading.path in names[:5]
    count = max(1, len(asked))
    return (
        f"| {root.resolve().name} | {len(asked)} | {first / count:.2f} | {in_code / count:.2f} | {in_all / count:.2f} |"
    )


def headings(root: Path) -> list[Heading]:
    """Return a reproducible sample of the headings in a repository."""
    places: dict[str, set[str]] = {}
    for file in sorted(root.rglob("*")):
        path = file.relative_to(root).as_posix()
        if (
            file.suffix in (".md", ".rst")
            and not is_changelog(path)
            and not re.search(r"(?:^|/)(?:\.|node_modules)", path)
        ):
            for text in _heading_texts(file):
                plain = _MARKUP.sub("", text).strip()
                if MIN_WORDS <= len(plain.split()) <= MAX_WORDS:
                    places.setdefault(plain, set()).add(path)
    alone = [Heading(text, next(iter(paths))) for text, paths in sorted(places.items()) if len(paths) == 1]
    return random.Random(SEED).sample(alone, min(MAX_HEADINGS, len(alone)))


def _heading_texts(file: Path) -> Iterator[str]:
    lines = lines_of(file.read_bytes())
    if file.suffix == ".rst":
        yield from (section.name for section in sections("restructuredtext", lines))
    else:
        yield from (found[1] for line in lines if (found := _MARKDOWN.match(line)))


if __name__ == "__main__":
    main()
