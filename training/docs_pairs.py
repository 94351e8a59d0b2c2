"""Write questions with the passages of documentation that answer them as word pieces, for adapter.py.

    python -m training.docs_pairs WORK TEACHER OUT.npz

Reads benchmarks/questions/docs_passages.jsonl, questions about passages of real sites (docs_passage_sites.json: Debian
packages, Debian source packages, and repositories from the mirrors), and docs_wordings.jsonl, about invented ones. One
site in seven is held out, and so is the open half of benchmarks/questions/docs.jsonl. WORK holds downloads and indexes.
TEACHER has the published files of all-MiniLM-L6-v2 (gather.py), which supply the position vectors beyond the encoder's
own. The summed word vectors are written too, because the product adds them to the embedding.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import shutil
import subprocess
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from benchmarks.docs_questions import QUESTIONS, questions_about, squash_text
from benchmarks.docs_questions import lay_out as lay_out_open
from benchmarks.no_apis import NoApis
from benchmarks.paths import MIRRORS

from deltos.domains.docs.domain import open_docs
from deltos.domains.docs.library import NewSource
from deltos.embed.bundled_encoder import MAX_PIECES
from deltos.embed.identity import ENCODER_FOLDER
from deltos.embed.protocol import TextToEmbed
from deltos.embed.static import shared_model
from deltos.embed.word_pieces import WordPieces
from deltos.open_stores import open_library
from deltos.text.words import query_words, shared_words
from training.gather import configure_source_packages, download_commands, download_missing
from training.memory_pairs import MAX_ANSWERS, pad_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Row = dict[str, Any]
Places: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.float32]]"

MAX_TEXT_PIECES = 128
MAX_FILES = 110  # maximum number of pages per site, in addition to the pages with questions
MAX_PASSAGES = 700
# maximum number of passages per site from the pages with answers; further passages come from other pages
MAX_PASSAGES_OF_ANSWER_PAGES = 450
HELD_OUT_OF_SEVEN = 0
PRODUCTS_PER_PROJECT = 6  # number of invented products that form one project
_DOCUMENTS = {".md", ".mdx", ".mdwn", ".rst", ".adoc", ".asciidoc", ".html", ".htm", ".txt"}
_MAX_FILE_BYTES = 400_000
_EXCLUDED_PATHS = re.compile(
    r"(^|/)(tests?|testing|node_modules|vendor|third_party|changes?|changelog|releases?|release-notes?|news|_static"
    r"|whatsnew|generated|locale|translations?|po|fr|de|es|ja|zh|ru|it|pt|ko)(/|$|[-_.])",
    re.IGNORECASE,
)
_COMPARED_CHARACTERS = 400  # passages count as equal if this many characters at their beginning are the same


@dataclass(frozen=True, slots=True)
class Text:
    """A passage and its page, in the form in which Deltos embeds it."""

    path: str
    position: int
    text: str
    words: str


class Pairs:
    """Collected arrays, project by project."""

    def __init__(self) -> None:
        self.groups: list[str] = []
        self.texts: list[Text] = []
        self.text_projects: list[int] = []
        self.questions: list[str] = []
        self.question_projects: list[int] = []
        self.answers: list[list[int]] = []

    def add(self, group: str, texts: Sequence[Text], asked: Iterable[tuple[str, Iterable[Text]]]) -> None:
        """Add a project: all of its texts, and each question with its answers."""
        project, first = len(self.groups), len(self.texts) + 1  # The id 0 means that there is no text.
        self.groups.append(group)
        number = {text: first + place for place, text in enumerate(texts)}
        self.texts += texts
        self.text_projects += [project] * len(texts)
        for question, answers in asked:
            if known := [number[text] for text in answers if text in number][:MAX_ANSWERS]:
                self.questions.append(question)
                self.question_projects.append(project)
                self.answers.append(known)

    def write(self, out: Path, places: Places) -> None:
        """Write all arrays."""
        pieces = WordPieces((ENCODER_FOLDER / "pieces.txt").read_text("utf-8").split("\n"))
        table = shared_model()
        asked = [table.question(TextToEmbed(text, query_words(text))) for text in self.questions]
        np.savez_compressed(
            out,
            places=places[:MAX_TEXT_PIECES],
            groups=np.array(self.groups),
            texts=pad_rows([pieces.of(each.text, MAX_TEXT_PIECES) for each in self.texts], MAX_TEXT_PIECES),
            text_words=table.texts([TextToEmbed("", each.words) for each in self.texts]).astype(np.float16),
            text_projects=np.array(self.text_projects),
            questions=pad_rows([pieces.of(text, MAX_PIECES) for text in self.questions], MAX_PIECES),
            question_words=np.stack(asked).astype(np.float16),
            question_projects=np.array(self.question_projects),
            answers=pad_rows(self.answers, MAX_ANSWERS),
            partial_answers=np.zeros((len(self.questions), MAX_ANSWERS), np.int32),
        )
        print(f"{len(self.texts):,} passages of {len(self.groups)} projects, {len(self.questions):,} questions")


def main() -> None:
    """Download and index the sites, and write the pairs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("teacher", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    pairs = Pairs()
    for site, rows in questions_by_site().items():
        add_site(pairs, site, rows, given.work)
    for texts, asked in invented_projects():
        pairs.add("", texts, asked)
    add_open_sites(pairs, given.work)
    pairs.write(given.out, position_vectors(given.teacher))


def position_vectors(teacher: Path) -> Places:
    """Return the position vectors of the published model."""
    from safetensors.numpy import load_file

    found = load_file(teacher / "model.safetensors")
    (name,) = (each for each in found if "position_embeddings" in each)
    places: Places = found[name]
    return places


def questions_by_site() -> dict[str, list[Row]]:
    """Return the questions about passages of real sites, by site."""
    by_site: dict[str, list[Row]] = defaultdict(list)
    for row in map(json.loads, (QUESTIONS / "docs_passages.jsonl").read_text("utf-8").splitlines()):
        by_site[row["site"]].append(row)
    return dict(by_site)


# ---------------------------------------------------------------------- sites with questions


def add_site(pairs: Pairs, site: str, rows: Sequence[Row], work: Path) -> None:
    """Add passages of a site: answers to questions, other passages of the same pages, and passages of other pages."""
    about = json.loads((QUESTIONS / "docs_passage_sites.json").read_text("utf-8"))[site]
    folder = work / "sites" / site
    if not folder.exists():
        lay_out(folder, download_site(about, work) / about["folder"], {row["path"] for row in rows})
    texts = index_passages(site, folder, work / "homes" / site)
    by_place = {(text.path, text.position): text for text in texts}
    asked = [(row["queries"], by_place[row["path"], row["position"]]) for row in rows]
    alike: dict[str, list[Text]] = defaultdict(list)
    for text in select_texts(texts, {text for _, text in asked}, site):
        alike[squash_text(text.text)[:_COMPARED_CHARACTERS]].append(text)
    is_held_out = hashlib.sha256(site.encode()).digest()[0] % 7 == HELD_OUT_OF_SEVEN
    pairs.add(
        "sites" if is_held_out else "",
        [text for same in alike.values() for text in same],
        [
            (question, alike[squash_text(text.text)[:_COMPARED_CHARACTERS]])
            for questions, text in asked
            for question in questions
        ],
    )


def download_site(about: Mapping[str, str], work: Path) -> Path:
    """Return the folder with the files of a package or repository, which are downloaded on first use."""
    if "repository" in about:
        return _check_out(about["repository"], about["commit"], work)
    kind = "debian" if "package" in about else "debian-source"
    name = about.get("package") or about["source_package"]
    folder = work / kind / name
    if not folder.exists():
        apt = (work / "apt").resolve()
        if not apt.exists():
            configure_source_packages(apt)
        archives = work / "archives" / kind
        download_missing(download_commands(apt)[kind], kind, [name], archives)
        archive = next(path for path in archives.glob(f"{name}_*") if ".orig-" not in path.name)
        folder.mkdir(parents=True)
        if kind == "debian":
            subprocess.run(["dpkg-deb", "-x", archive, folder], check=True)
        else:
            subprocess.run(["tar", "-xf", archive, "-C", folder], check=True)
    return folder


def _check_out(repository: str, commit: str, work: Path) -> Path:
    folder = work / "repositories" / repository.replace("/", "+")
    if not folder.exists():
        folder.mkdir(parents=True)
        git = ["git", "--git-dir", str(MIRRORS / repository.replace("/", "+") / "repo"), "archive", commit]
        with subprocess.Popen(git, stdout=subprocess.PIPE) as archive:
            subprocess.run(["tar", "-x", "-C", folder], stdin=archive.stdout, check=True)
    return folder


def lay_out(folder: Path, source: Path, asked: set[str]) -> None:
    """Copy the pages with answers, and a random sample of other pages."""
    found = {path.relative_to(source).as_posix(): path for path in sorted(source.rglob("*")) if _is_page(path, source)}
    others = sorted(found.keys() - asked)
    random.Random(folder.name).shuffle(others)
    for relative in (*sorted(asked), *others[:MAX_FILES]):
        target = folder / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(found[relative], target)


def _is_page(path: Path, source: Path) -> bool:
    return (
        path.suffix.lower() in _DOCUMENTS
        and path.is_file()
        and not path.is_symlink()
        and not _EXCLUDED_PATHS.search(path.relative_to(source).as_posix())
        and path.stat().st_size < _MAX_FILE_BYTES
    )


def index_passages(name: str, folder: Path, home: Path) -> list[Text]:
    """Return all passages of a folder, as Deltos stores them."""
    library = open_library(home)
    docs = open_docs(library, apis=NoApis())
    if not docs.library.sources():
        added = docs.library.add(NewSource(folder.as_posix(), name, folder, (folder,), max_pages=10_000))
        docs.library.crawls.run(added.sources[0].id)
    waiting = library.vectors.unembedded("none", after=0, limit=1_000_000)
    words = {each.key: each for each in waiting}
    (source,) = docs.library.sources()
    texts = []
    for some in np.array_split(sorted(words), len(words) // 500 + 1):
        for each in library.passages.candidates_by_id(some.tolist(), [source.id]):
            path = each.url.partition("#")[0].split(f"{folder.as_posix()}/", 1)[1]
            texts.append(Text(path, each.position, words[each.chunk_id].text, words[each.chunk_id].words))
    return sorted(texts, key=lambda text: (text.path, text.position))


def select_texts(texts: Sequence[Text], asked: set[Text], site: str) -> list[Text]:
    """Return the passages that answer questions, and wrong passages, most of them from the same pages."""
    pages = {text.path for text in asked}
    same_pages = [text for text in texts if text.path in pages and text not in asked]
    others = [text for text in texts if text.path not in pages]
    for some in (same_pages, others):
        random.Random(site).shuffle(some)
    kept = {*asked, *[*same_pages[:MAX_PASSAGES_OF_ANSWER_PAGES], *others][: max(0, MAX_PASSAGES - len(asked))]}
    return [text for text in texts if text in kept]


# ---------------------------------------------------------------------- invented sites and sites of the benchmark


def invented_projects() -> Iterable[tuple[list[Text], list[tuple[str, list[Text]]]]]:
    """Yield the sections of invented products, grouped into projects of several products."""
    by_product: dict[str, list[Row]] = defaultdict(list)
    for row in map(json.loads, (QUESTIONS / "docs_wordings.jsonl").read_text("utf-8").splitlines()):
        by_product[row["project"]].append(row)
    names = sorted(by_product)
    for start in range(0, len(names), PRODUCTS_PER_PROJECT):
        rows = [row for name in names[start : start + PRODUCTS_PER_PROJECT] for row in by_product[name]]
        texts = [
            Text("", place, row["text"].replace(": ", "\n", 1), shared_words().of(row["text"]))
            for place, row in enumerate(rows)
        ]
        yield texts, [(query, [text]) for text, row in zip(texts, rows, strict=True) for query in row["queries"]]


def add_open_sites(pairs: Pairs, work: Path) -> None:
    """Add the natural questions about the development sites of the benchmark. Each site is its own project."""
    every = json.loads((QUESTIONS / "docs_sites.json").read_text("utf-8"))
    for name, site in every.items():
        if not site["held_out"]:
            lay_out_open(name, site, work / "open" / name)
            texts = index_passages(name, work / "open" / name, work / "homes" / f"open-{name}")
            asked = []
            for question in questions_about([name], work / "open"):
                targets = [(target.path, target) for target in question.targets]
                right = [
                    text
                    for text in texts
                    for path, target in targets
                    if text.path == path and target.is_shown_by(squash_text(text.text))
                ]
                asked.append((question.query, right))
            pairs.add("open", texts, asked)


if __name__ == "__main__":
    main()
