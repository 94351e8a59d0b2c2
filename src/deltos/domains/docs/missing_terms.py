"""Find terms and code names in a query that do not occur in the searched sources."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.text.identifiers import capitalised_words, written_names
from deltos.text.stop_words import STOP_WORDS
from deltos.text.words import MAX_WORD_CHARACTERS, plain_words, stemmer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from deltos.domains.docs.model import Passage
    from deltos.store.documents import Passages, ShownChunk

# Maximum number of passages that are searched for a name. If more passages might contain it, it is assumed to occur.
_MAX_CHECKED_PASSAGES = 1_000
_PUNCTUATION = ".,:;!?()[]{}\"'`"
_NAME_SEPARATOR = re.compile(r"\.|::|#|->|/")


def absent_names(query: str, found: Sequence[Passage], store: Passages, source_ids: Collection[str]) -> tuple[str, ...]:
    """Return the code names in a query that do not occur in the sources. Upper and lower case are not distinguished."""
    return tuple(
        name
        for name in _code_names(query)
        if not any(_occurs_in(name, _searchable_texts(each)) for each in found)
        and not _may_occur(name, store, source_ids)
    )


def _code_names(query: str) -> list[str]:
    """Return the code names in a query. If all other words are capitalised, these words are names, too."""
    names = written_names(query)
    others = {word.strip(_PUNCTUATION) for word in query.split()} - set(names)
    capitalised = others if others <= capitalised_words(query) else set()
    return [name for name in dict.fromkeys((*names, *sorted(capitalised))) if _is_checkable(name)]


def _is_checkable(name: str) -> bool:
    """Whether a name is specific enough to be searched for, unlike `e.g` and `v2.1`."""
    last = _NAME_SEPARATOR.split(name)[-1]
    return name.isascii() and len(last) > 1 and not last.isdecimal()


def _may_occur(name: str, store: Passages, source_ids: Collection[str]) -> bool:
    """Whether a name may occur in the sources. The result is true if checking would take too long."""
    forms_by_word = [_index_words(word) for word in plain_words(name)]
    counts = [(sum(store.document_frequencies(words).values()), words) for words in forms_by_word if words]
    if not counts:
        return True
    count, rarest = min(counts, key=lambda each: each[0])
    if not count:
        return False
    candidates = store.candidates(rarest, source_ids, limit=_MAX_CHECKED_PASSAGES)
    if len(candidates) == _MAX_CHECKED_PASSAGES:
        return True
    shown = store.chunks([each.chunk_id for each in candidates])
    return any(_occurs_in(name, _searchable_texts(chunk)) for chunk in shown)


def _index_words(word: str) -> list[str]:
    """Return the index terms of a word (word and stem), or an empty list if the word is not indexed."""
    whole = word.replace("_", "").lower()
    if not 1 < len(word) <= MAX_WORD_CHARACTERS or whole in STOP_WORDS:
        return []
    return list(dict.fromkeys((whole, stemmer("english").stemWord(whole))))


def _searchable_texts(chunk: ShownChunk | Passage) -> Iterable[str]:
    """Return the anchors, section, URL and text of a chunk."""
    return (*chunk.anchors, chunk.section, chunk.url, chunk.text)


def _occurs_in(name: str, texts: Iterable[str]) -> bool:
    """Whether a name occurs in one of the texts, ignoring case."""
    wanted = name.lower()
    return any(_contains_name(wanted, text.lower()) for text in texts)


def _contains_name(name: str, text: str) -> bool:
    """Whether `name` occurs in `text` as a whole word."""
    at = text.find(name)
    while at >= 0:
        ends = at + len(name)
        if not (_is_name_character(text[at - 1 : at]) or _is_name_character(text[ends : ends + 1])):
            return True
        at = text.find(name, ends)
    return False


def _is_name_character(character: str) -> bool:
    return character.isalnum() or character == "_"
