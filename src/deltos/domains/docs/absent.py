"""What a question has that nothing in the searched sources has: words, and names of code as they are written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.domains.docs.query import asked_terms
from deltos.domains.docs.rank import absent_terms
from deltos.text.identifiers import capitalised_words, written_names
from deltos.text.stop_words import STOP_WORDS
from deltos.text.words import LONGEST_WORD, documentation_question, plain_words, stemmer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from deltos.domains.docs.model import Passage
    from deltos.domains.docs.query import WeightedQuery
    from deltos.store.documents import CandidateChunk, Passages, ShownChunk

# Passages with the rarest word of a name that are read to tell that none has the name; of more, nothing is claimed.
_LOOKED_THROUGH = 1_000
_SIGNS_AROUND_WORDS = ".,:;!?()[]{}\"'`"
_JOINT = re.compile(r"\.|::|#|->|/")


def absent_words(query: str, asked: WeightedQuery, candidates: Sequence[CandidateChunk]) -> tuple[str, ...]:
    """The words of a question that none of the sources that are asked has, as they were typed; none of a question that
    was read in another language."""
    terms = asked_terms(documentation_question(query))
    missing = absent_terms(asked, candidates) | (set(terms) - asked.weights.keys())
    words = dict.fromkeys(word.strip(_SIGNS_AROUND_WORDS) for word in query.split())
    parts = {word: set(documentation_question(word).split()) & set(terms) for word in words}
    is_as_typed = asked.plain.issuperset(word.lower() for word in plain_words(query))
    return tuple(word for word, of_word in parts.items() if is_as_typed and of_word and of_word <= missing)


def absent_names(query: str, found: Sequence[Passage], store: Passages, source_ids: Collection[str]) -> tuple[str, ...]:
    """The names of code in a question that no definition and no text of the sources has as written, case aside."""
    return tuple(
        name
        for name in _names(query)
        if not any(_stands(name, _written(each)) for each in found) and not _is_written(name, store, source_ids)
    )


def _names(query: str) -> list[str]:
    """The names in a question; where it is nothing but names, words with a capital are some, too."""
    names = written_names(query)
    others = {word.strip(_SIGNS_AROUND_WORDS) for word in query.split()} - set(names)
    capitalised = others if others <= capitalised_words(query) else set()
    return [name for name in dict.fromkeys((*names, *sorted(capitalised))) if _is_told_apart(name)]


def _is_told_apart(name: str) -> bool:
    """Whether a name is long enough that it is one: not `e.g`, `v2.1`."""
    last = _JOINT.split(name)[-1]
    return name.isascii() and len(last) > 1 and not last.isdecimal()


def _is_written(name: str, store: Passages, source_ids: Collection[str]) -> bool:
    """Whether a name stands anywhere in the sources, or cannot be told cheaply not to."""
    by_word = [_index_words(word) for word in plain_words(name)]
    counts = [(sum(store.document_frequencies(words).values()), words) for words in by_word if words]
    if not counts:
        return True
    count, rarest = min(counts, key=lambda each: each[0])
    if not count:
        return False
    holding = store.candidates(rarest, source_ids, limit=_LOOKED_THROUGH)
    if len(holding) == _LOOKED_THROUGH:
        return True
    shown = store.chunks([each.chunk_id for each in holding])
    return any(_stands(name, _written(chunk)) for chunk in shown)


def _index_words(word: str) -> list[str]:
    """What the index may have a word of code as, however its case parts it; nothing for words that it leaves out."""
    whole = word.replace("_", "").lower()
    if not 1 < len(word) <= LONGEST_WORD or whole in STOP_WORDS:
        return []
    return list(dict.fromkeys((whole, stemmer("english").stemWord(whole))))


def _written(chunk: ShownChunk | Passage) -> Iterable[str]:
    return (*chunk.anchors, chunk.section, chunk.url, chunk.text)


def _stands(name: str, texts: Iterable[str]) -> bool:
    """Whether a name stands in a text, by itself or as the end of a longer one."""
    wanted = name.lower()
    return any(_has_whole(wanted, text.lower()) for text in texts)


def _has_whole(name: str, text: str) -> bool:
    at = text.find(name)
    while at >= 0:
        ends = at + len(name)
        if not (_continues(text[at - 1 : at]) or _continues(text[ends : ends + 1])):
            return True
        at = text.find(name, ends)
    return False


def _continues(sign: str) -> bool:
    return sign.isalnum() or sign == "_"
