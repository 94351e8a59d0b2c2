"""Code search: parse a query and answer it with the first search strategy that finds results."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from deltos.domains.code.query.parse import parse_query, split_questions
from deltos.domains.code.rank.chunk_selection import ScoredChunk, score_chunks
from deltos.domains.code.rank.features import FEATURES
from deltos.domains.code.rank.ranked_files import WEIGHTS_FILE
from deltos.domains.code.retrieve.evidence import open_corpora
from deltos.domains.code.selection import SearchedProject, SearchSelection
from deltos.domains.code.strategies.combine import alternate
from deltos.domains.code.strategies.exact import ExactStrategy
from deltos.domains.code.strategies.message import MessageStrategy
from deltos.domains.code.strategies.trace import TraceStrategy
from deltos.domains.code.strategies.words import WordsStrategy, adapt_to_code_language
from deltos.ranking import load_ranker
from deltos.store.code import FileScope
from deltos.text.words import shared_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from deltos.domains.code.model import CodeAnswer
    from deltos.domains.code.query.parse import CodeQuery
    from deltos.domains.code.strategies.protocol import Strategy
    from deltos.isolated.process_pool import ProcessPool
    from deltos.ranking import LinearRanker
    from deltos.store.project import ProjectStore


class CodeSearch:
    """Searches the code of one project, or of several projects as if they were one."""

    def __init__(
        self,
        store: ProjectStore,
        root: Path,
        ranker: LinearRanker | None = None,
        *,
        workers: ProcessPool | None = None,
        by_meaning: bool = True,
    ) -> None:
        self._projects: Sequence[SearchedProject] = (SearchedProject(store, root, workers),)
        self._by_meaning = by_meaning
        self._ranker = ranker or load_ranker(WEIGHTS_FILE, FEATURES)

    @classmethod
    def for_projects(cls, projects: Sequence[SearchedProject], *, by_meaning: bool = True) -> CodeSearch:
        """Return a search over several projects (at least one)."""
        first = projects[0]
        search = cls(first.store, first.root, workers=first.workers, by_meaning=by_meaning)
        search._projects = tuple(projects)
        return search

    def search(
        self, text: str, scope: FileScope | None = None, *, limit: int = 10, every_line: bool = True
    ) -> CodeAnswer:
        """Return the best chunks for a query. The first chunk of each file comes before the second chunk of any file.

        Exact queries return one hit per matching line, or one per chunk if not `every_line`.
        """
        selection = SearchSelection(self._projects, scope or FileScope(), limit, every_line)
        with ExitStack() as snapshots:
            for project in self._projects:
                snapshots.enter_context(project.store.code.snapshot())
            questions = split_questions(text)
            answers = [self._answer(parse_query(question, shared_words()), selection) for question in questions]
        return answers[0] if len(answers) == 1 else alternate(parse_query(text, shared_words()), answers, limit)

    def _answer(self, query: CodeQuery, selection: SearchSelection) -> CodeAnswer:
        """Return the answer of the first strategy that finds results."""
        words = WordsStrategy(self._ranker, by_meaning=self._by_meaning)
        messages = MessageStrategy(words)
        strategies: tuple[Strategy, ...] = (ExactStrategy(messages, words), TraceStrategy(messages, words), messages)
        for strategy in strategies:
            if strategy.applies(query) and (answer := strategy.search(query, selection)):
                return answer
        return words.search(query, selection)

    def score_chunks(self, text: str, paths: Sequence[str]) -> list[ScoredChunk]:
        """Return all chunks of the given files in the first project, with their similarities to a query."""
        query = parse_query(text, shared_words(), exact=False)
        first = self._projects[:1]
        with first[0].store.code.snapshot():
            query = adapt_to_code_language(query, first)
            return score_chunks(open_corpora(first, query, by_meaning=self._by_meaning)[0], paths)
