"""The four search benchmarks as bare material for embedders: passages, questions, right answers and what words say.

Words' scores are the product's own without any model; `words` of a question maps passage numbers to them.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from benchmarks import apis as apis_benchmark
from benchmarks import docs as docs_benchmark
from benchmarks import memory as memory_benchmark
from benchmarks.code_material import Query, hits, index_of, lay_out, queries
from benchmarks.places import SHARED
from deltos.domains.apis.domain import open_apis
from deltos.domains.apis.search import search_units
from deltos.domains.code.candidates import Evidence, describe_candidates
from deltos.domains.code.features import FEATURES
from deltos.domains.code.query import parse_query
from deltos.domains.code.search import WEIGHTS_FILE
from deltos.domains.memory.memory import Memory
from deltos.domains.memory.transfer import import_lines
from deltos.embed.protocol import TextToEmbed
from deltos.ranking import load_ranker
from deltos.store.code import FileScope
from deltos.store.sqlite.library import SqliteLibrary
from deltos.store.sqlite.memory.reader import SqliteObservations
from deltos.text.words import shared_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.store.sqlite.docs import SqliteSources

WORDS = shared_words()
SPECS = ("stripe", "slack", "gitlab", "jira", "bitbucket")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question over one corpus: which groups of passages are right, and what words alone say of passages."""

    query: TextToEmbed
    right: frozenset[str]
    words: dict[int, float]


@dataclass(slots=True)
class Corpus:
    """Passages, the thing that each stands for (a page, a file, a turn), and questions about them."""

    name: str
    passages: list[TextToEmbed] = field(default_factory=list)
    owners: list[str] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)


def passage(text: str) -> TextToEmbed:
    """A text with its index words."""
    return TextToEmbed(text, WORDS.of(text))


def docs_corpus(home: Path) -> Corpus:
    """Chunks of the six sites; the right answer is a page."""
    docs = docs_benchmark.opened(home)
    corpus = Corpus("docs")
    places: dict[int, int] = {}
    rows = (
        cast("SqliteSources", docs.library.crawls.store)
        .database.read()
        .execute("SELECT c.id, p.url, c.section, c.text FROM docs_chunk c JOIN docs_page p ON p.id = c.page_id")
    )
    for chunk_id, url, section, text in rows:
        places[chunk_id] = len(corpus.passages)
        corpus.passages.append(passage(f"{section}\n{text}"))
        corpus.owners.append(docs_benchmark.page_of(url))
    ids = [source.id for source in docs.library.sources()]
    for line in (SHARED / "docs/queries.jsonl").read_text().splitlines():
        row = json.loads(line)
        scores = {places[each.candidate.chunk_id]: each.score for each in docs.search.rank(row["query"], ids)}
        right = frozenset(f"{row['set']}/{answer['page']}" for answer in row["targets"])
        corpus.asked.append(Asked(passage(row["query"]), right, scores))
    return corpus


def memory_corpora() -> Iterator[Corpus]:
    """One corpus for each conversation; the right answers are turns."""
    conversations = memory_benchmark.locomo()
    for turns, questions in conversations:
        with tempfile.TemporaryDirectory() as folder:
            memory = Memory(SqliteObservations(Path(folder) / "memory.db"))
            import_lines(memory, map(memory_benchmark.turn_line, turns), project_id="")
            corpus = Corpus("memory", [passage(turn["text"]) for turn in turns], [turn["turn"] for turn in turns])
            places = {turn["turn"]: place for place, turn in enumerate(turns)}
            for question in questions:
                found = memory.search(question["question"], question["conversation"], limit=150).hits
                scores = {places[hit.observation.id]: hit.score for hit in found}
                corpus.asked.append(Asked(passage(question["question"]), frozenset(question["gold"]), scores))
            memory.store.close()
        yield corpus


def apis_corpora() -> Iterator[Corpus]:
    """Operations of large descriptions, asked for in other words."""
    files = sorted(path for path in (SHARED / "specs/openapi").iterdir() if path.name.startswith(SPECS))
    for path in files:
        with tempfile.TemporaryDirectory() as folder:
            database = SqliteLibrary(Path(folder, "library.db"))
            apis = open_apis(database, network=None, clock=time.time)
            name = apis.indexer.add(str(path), apis_benchmark.api_name(path, None)).apis[0].name
            row = apis.library.row(name)
            units = apis.library.store.units(row.id, ("operation",))
            corpus = Corpus("apis")
            places = {}
            for unit in units:
                places[unit.id] = len(corpus.passages)
                operation = apis.library.operation(unit)
                corpus.passages.append(passage(f"{unit.method} {unit.path}\n{unit.title}\n{operation.name}"))
                corpus.owners.append(str(unit.id))
            for question, unit in apis_benchmark.paraphrases(apis, units):
                found = search_units(apis.library.store, question, api_id=row.id, kinds=("operation",), limit=120)
                scores = {places[hit.row.id]: hit.score for hit in found}
                corpus.asked.append(Asked(passage(question), frozenset((str(unit.id),)), scores))
            database.close()
        yield corpus


def code_corpora() -> Iterator[Corpus]:
    """Chunks of each repository; the right answers are files."""
    lay_out()
    by_root: dict[Path, list[Query]] = {}
    for query in queries():
        by_root.setdefault(query.root, []).append(query)
    for root, group in by_root.items():
        store = index_of(root).code
        corpus = Corpus(group[0].set)
        first: dict[str, list[int]] = {}
        for file_id, path in store.paths(FileScope()):
            lines = (root / path).read_text("utf-8", "replace").split("\n")
            for chunk in store.chunks_of_file(file_id):
                first.setdefault(path, []).append(len(corpus.passages))
                body = "\n".join(lines[chunk.start_line - 1 : chunk.end_line])
                corpus.passages.append(passage(f"{'/'.join(path.split('/')[-3:])}\n{chunk.symbol}\n{body}"))
                corpus.owners.append(path)
        for query in group:
            candidates, rows = describe_candidates(
                store, parse_query(query.text, shared_words(), exact=False), FileScope(), Evidence()
            )
            scored = zip(candidates, load_ranker(WEIGHTS_FILE, FEATURES).scores(rows), strict=True)
            scores = {place: score for c, score in scored for place in first.get(c.file.path, ())}
            paths = {path for path in first if any(hits(path, target) for target in query.targets)}
            corpus.asked.append(Asked(passage(query.text), frozenset(paths), scores))
        yield corpus


def corpora(home: Path, wanted: tuple[str, ...]) -> Iterator[Corpus]:
    """The corpora that were asked for."""
    if "docs" in wanted:
        yield docs_corpus(home)
    if "memory" in wanted:
        yield from memory_corpora()
    if "apis" in wanted:
        yield from apis_corpora()
    if "code" in wanted:
        yield from code_corpora()


if __name__ == "__main__":
    sys.exit("This is material; run benchmarks.meaning.")
