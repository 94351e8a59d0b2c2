"""Find the passages that answer a question: match words, order, drop repeats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pinakes.domains.docs.model import Passage
from pinakes.text import Words

if TYPE_CHECKING:
    from pinakes.store.docs import DocsStore, SourceRow
    from pinakes.store.docs_index import DocsIndex, FoundChunk, Totals


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and of which sources."""

    query: str
    limit: int
    source: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """The passages, best first, and how much was searched."""

    passages: tuple[Passage, ...]
    searched: Totals


class DocsSearch:
    """Searches all sources that readers can see."""

    def __init__(self, store: DocsStore, index: DocsIndex) -> None:
        self._store = store
        self._index = index
        self._words = Words()

    def search(self, question: Question, sources: list[SourceRow]) -> Found:
        """Passages from `sources`, best first, each text once."""
        ids = [source.id for source in sources]
        searched = self._index.totals(ids)
        terms = list(dict.fromkeys(self._words.of(question.query).split()))
        if not terms or not searched.chunks:
            return Found((), searched)
        expression = " OR ".join(f'"{term}"' for term in terms)
        found = self._index.match(expression, limit=question.limit * 5, source_ids=ids)
        texts: dict[str, FoundChunk] = {}
        for chunk in found:
            texts.setdefault(chunk.text, chunk)
        return Found(tuple(_passage(chunk) for chunk in texts.values())[: question.limit], searched)


def _passage(chunk: FoundChunk) -> Passage:
    return Passage(
        id=f"doc:{chunk.id}",
        url=chunk.url,
        anchors=chunk.anchors,
        title=chunk.title,
        section=chunk.section,
        source=chunk.source,
        version=chunk.version,
        text=chunk.text,
        score=chunk.score,
    )
