"""Find the passages that answer a question: match words, order, drop repeats."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from pinakes.domains.docs.model import Passage
from pinakes.text import Words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pinakes.domains.docs.library import Library
    from pinakes.domains.docs.model import ApiShelf
    from pinakes.store.docs import SourceRow
    from pinakes.store.docs_index import DocsIndex, FoundChunk, Totals

_DOCUMENTATION_TYPES = frozenset(("overview", "guide", "glossary", "use-case", "reference"))


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and of what."""

    query: str
    limit: int = 10
    source: str = ""
    version: str = ""
    api_name: str = ""
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """The passages, best first, and how much was searched."""

    passages: tuple[Passage, ...]
    searched: Totals


class DocsSearch:
    """Searches documentation and, where somebody keeps them, API descriptions."""

    def __init__(self, library: Library, index: DocsIndex, apis: ApiShelf) -> None:
        self._library = library
        self._index = index
        self._apis = apis
        self._words = Words()

    def search(self, question: Question) -> Found:
        """Passages that answer, best first, no text twice."""
        sources = self._sources(question)
        ids = [source.id for source in sources]
        searched = self._index.totals(ids)
        passages = self._documentation(question, ids) if searched.chunks else []
        described = self._descriptions(question)
        return Found(tuple(interleave(passages, described)[: question.limit]), searched)

    def _sources(self, question: Question) -> list[SourceRow]:
        """The sources that the question is about; a name that does not exist is an error that says so."""
        if question.api_name or (question.types and _DOCUMENTATION_TYPES.isdisjoint(question.types)):
            return []
        if question.source:
            return [self._library.find(question.source)]
        sources = [status.source for status in self._library.statuses()]
        if not question.version:
            return sources
        return [source for source in sources if same_version(source.version, question.version)]

    def _documentation(self, question: Question, ids: list[str]) -> list[Passage]:
        terms = list(dict.fromkeys(self._words.of(question.query).split()))
        if not terms:
            return []
        expression = " OR ".join(f'"{term}"' for term in terms)
        found = self._index.match(expression, limit=question.limit * 5, source_ids=ids)
        texts: dict[str, FoundChunk] = {}
        for chunk in found:
            texts.setdefault(chunk.text, chunk)
        return [_passage(chunk) for chunk in texts.values()]

    def _descriptions(self, question: Question) -> list[Passage]:
        if question.source or question.version:
            return []
        return self._apis.search(question.query, api_name=question.api_name, types=question.types, limit=question.limit)


def same_version(have: str, wanted: str) -> bool:
    """Whether a version is the wanted one or a release of it: `3.11.4` is a `3.11`."""
    have, wanted = have.lstrip("vV"), wanted.lstrip("vV")
    return have == wanted or have.startswith(f"{wanted}.")


def interleave(first: Sequence[Passage], second: Sequence[Passage]) -> list[Passage]:
    """Two ranked lists as one, in turns: their scores cannot be compared."""
    merged = [passage for pair in zip_longest(first, second) for passage in pair if passage is not None]
    return list({passage.text: passage for passage in reversed(merged)}.values())[::-1]


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
