"""Strategy for questions that ask for two things."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.code.query.compound_questions import split_question
from deltos.domains.code.query.parse import parse_query
from deltos.domains.code.strategies.combine import put_second
from deltos.domains.code.strategies.tuning import STRATEGIES
from deltos.text.words import shared_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.code.model import CodeAnswer, CodeHit
    from deltos.domains.code.query.parse import CodeQuery
    from deltos.domains.code.selection import SearchSelection
    from deltos.domains.code.strategies.words import WordsStrategy


@dataclass(frozen=True, slots=True)
class CompoundStrategy:
    """Adds the best hit for the part of a compound question that the first hit does not answer."""

    words: WordsStrategy

    def applies(self, query: CodeQuery) -> bool:
        """Whether the query asks for two things."""
        return query.kind == "words" and not query.is_issue and bool(split_question(query.text))

    def search(self, query: CodeQuery, selection: SearchSelection) -> CodeAnswer:
        """Return the hits for the whole question, with the best hit for its unanswered part in second place.

        The unanswered part is the part for which the first hit's file ranks lowest.
        """
        answer, parts = self.words.search(query, selection), split_question(query.text)
        if not answer.hits or selection.limit < len(parts):
            return answer
        own = selection.with_limit(STRATEGIES.subquestion_hits)
        subanswers = [self.words.search(parse_query(part, shared_words(), exact=False), own).hits for part in parts]
        first = answer.hits[0]

        def rank(hits: Sequence[CodeHit]) -> int:
            return next((number for number, hit in enumerate(hits) if hit.path == first.path), own.limit)

        # In a tie, assume that the first hit answers the first part.
        for hit in max(reversed(subanswers), key=rank)[:1]:
            if hit.score >= STRATEGIES.weak_confidence:
                return put_second(hit, answer, selection.limit)
        return answer
