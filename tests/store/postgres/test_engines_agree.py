"""Both engines give the same answers to the same queries about our own documentation and tools."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from benchmarks.no_apis import NoApis
from fuzz.inline_parser import InlineParser

from deltos.domains.apis.domain import open_apis
from deltos.domains.docs.domain import open_docs
from deltos.domains.docs.library import NewSource
from deltos.domains.docs.search import DocsRequest
from deltos.domains.memory.core.memory import Memory
from deltos.domains.memory.core.model import Draft, ObservationOrigin
from deltos.isolated_parser import IsolatedParser
from tests.store.engines import PostgresEngine, SqliteEngine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.domains.apis.domain import Apis
    from deltos.domains.docs.domain import Docs
    from deltos.isolated.process_pool import ProcessPool
    from deltos.store.library import LibraryStore

REPOSITORY = Path(__file__).parents[3]
NOW = datetime(2025, 5, 14, 12, 0, tzinfo=UTC)
QUESTION_COUNT = 50
QUESTIONED_PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")


@pytest.fixture
def engines(tmp_path: Path) -> tuple[SqliteEngine, PostgresEngine]:
    return SqliteEngine(tmp_path / "home"), PostgresEngine(tmp_path)


@pytest.fixture
def libraries(engines: tuple[SqliteEngine, PostgresEngine]) -> Iterator[list[LibraryStore]]:
    with ExitStack() as opened:
        yield [opened.enter_context(closing(engine.library())) for engine in engines]


def round_scores(found: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    return [(name, round(score, 6)) for name, score in found]


def documentation_paragraphs() -> list[str]:
    """Return every third paragraph of our documentation."""
    texts = [path.read_text("utf-8") for path in sorted((REPOSITORY / "docs").glob("*.md"))]
    found = [" ".join(piece.split()) for text in texts for piece in text.split("\n\n")]
    return list(dict.fromkeys(piece[:400] for piece in found if len(piece) > 60))[::3]


def documentation_questions() -> list[str]:
    """Return questions of various lengths from our pages, with common and rare words."""
    text = "\n".join((REPOSITORY / name).read_text("utf-8") for name in QUESTIONED_PAGES)
    long = [line for line in (line.strip("-* #`") for line in text.splitlines()) if len(line) > 40]
    step = max(1, len(long) // QUESTION_COUNT)
    return [" ".join(line.split()[: 3 + at % 9]) for at, line in enumerate(long[::step][:QUESTION_COUNT])]


def search_docs(docs: Docs, question: str) -> list[tuple[str, float]]:
    found = docs.search.search(DocsRequest(question, 10)).passages
    return round_scores([(f"{passage.citation} {passage.section}", passage.score) for passage in found])


def test_both_engines_give_the_same_documentation_results(libraries: list[LibraryStore], workers: ProcessPool) -> None:
    opened = [
        open_docs(library, apis=NoApis(), parser=IsolatedParser(workers, library.unreadable_content))
        for library in libraries
    ]
    for docs in opened:
        for name, folder in (("guide", "docs"), ("sources", "training")):
            added = docs.library.add(NewSource(str(REPOSITORY / folder), name, REPOSITORY, (REPOSITORY,)))
            assert docs.library.crawls.run(added.sources[0].id)
    sqlite, postgres = opened
    answers = {question: search_docs(sqlite, question) for question in documentation_questions()}
    assert {question: search_docs(postgres, question) for question in answers} == answers
    assert sum(map(len, answers.values())) > 5 * QUESTION_COUNT, "too few results"
    for words in (("search", "memory"), ("token", "answer", "project")):
        scores = [library.passages.page_scores(words, _source_ids(library), limit=999) for library in libraries]
        assert _titles(libraries[0], scores[0]) == _titles(libraries[1], scores[1])


def _source_ids(library: LibraryStore) -> list[str]:
    return [source.id for source in library.sources.sources()]


def _titles(library: LibraryStore, scores: dict[int, float]) -> list[tuple[str, float]]:
    pages = {page.id: page.url for source in _source_ids(library) for page in library.pages.next_pages(source)}
    found = round_scores([(pages[page_id], score) for page_id, score in scores.items()])
    return sorted(
        found, key=lambda each: (-each[1], each[0])
    )  # equal scores are ordered by name; a limit would drop an arbitrary part of them


def test_both_engines_give_the_same_api_results(libraries: list[LibraryStore], tmp_path: Path) -> None:
    tools = json.loads((REPOSITORY / "src/deltos/server/manifest.json").read_text("utf-8"))["tools"]
    tools = [tool["listing"] for tool in tools]
    described = tmp_path / "tools.json"
    described.write_text(json.dumps(_as_api(tools)), "utf-8")
    opened = [open_apis(library, network=None, parser=InlineParser(), clock=NOW.timestamp) for library in libraries]
    for apis in opened:
        apis.indexer.add(str(described), "tools")
    sqlite, postgres = opened
    answers = {question: search_apis(sqlite, question) for question in documentation_questions()}
    assert {question: search_apis(postgres, question) for question in answers} == answers
    assert sum(map(len, answers.values())) > 4 * QUESTION_COUNT, "too few results"


def _as_api(tools: list[dict[str, object]]) -> dict[str, object]:
    """Return our tools as an API description with one operation per tool."""
    operations = {
        f"/{tool['name']}": {
            "post": {
                "operationId": tool["name"],
                "summary": str(tool["description"]).partition(".")[0],
                "description": tool["description"],
                "requestBody": {"content": {"application/json": {"schema": tool["inputSchema"]}}},
                "responses": {"200": {"description": "The answer"}},
            }
        }
        for tool in tools
    }
    return {"openapi": "3.1.0", "info": {"title": "Tools", "version": "1"}, "paths": operations}


def search_apis(apis: Apis, question: str) -> list[tuple[str, float]]:
    found = apis.searcher.search(question, limit=10)
    return round_scores([(hit.citation, hit.score) for hit in found])


def test_both_engines_give_the_same_memory_results(engines: tuple[SqliteEngine, PostgresEngine]) -> None:
    memories: list[Memory] = []
    with ExitStack() as opened:
        for engine in engines:
            clock = iter(NOW + timedelta(minutes=minute) for minute in range(100_000))
            store = opened.enter_context(closing(engine.observations()))
            memory = Memory(store, clock=lambda clock=clock: next(clock))  # type: ignore[misc]
            for at, text in enumerate(documentation_paragraphs()):
                origin = ObservationOrigin(f"project-{at % 3}", None, f"session-{at // 20}")
                memory.remember(Draft(text, "finding"), origin)
            memories.append(Memory(store, clock=lambda: NOW + timedelta(days=90)))
        sqlite, postgres = memories
        for project in ("project-1", "all"):
            answers = {question: search_memory(sqlite, question, project) for question in documentation_questions()}
            assert {question: search_memory(postgres, question, project) for question in answers} == answers
            assert sum(map(len, answers.values())) > 5 * QUESTION_COUNT, "too few results"


def search_memory(memory: Memory, question: str, project: str) -> list[tuple[str, float]]:
    hits = memory.search(question, project, limit=10).hits
    return round_scores([(hit.observation.text, hit.score) for hit in hits])
