"""Parse memory queries: synonym groups, names, requested kinds of observation, and expected form of the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from deltos.text.glossary import translations
from deltos.text.identifiers import names_in_prose
from deltos.text.language_table import markers, stop_words, table
from deltos.text.stop_words import PROSE_STOP_WORDS
from deltos.text.unspaced_scripts import is_single_token, unspaced_words
from deltos.text.words import TOKEN, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

_LABEL_PREFIX = r"\s*([^\n:]{1,40}):\s"

# One word is not enough to detect a language, because the German article "die" is also an English verb.
_MIN_LANGUAGE_WORDS = 2
_LANGUAGES = ("de", "es", "fr")
_MEASURED_TERM = ("measured",)  # observations about measurements begin with this word
_ENGLISH_ENDINGS = ("ing", "es", "ed", "s")
_GERMAN_ENDINGS = ("en", "er", "es", "em", "e", "n", "s", "")
_MIN_INFLECTED_CHARACTERS = 4
_MIN_STEM_CHARACTERS = 3
_MAX_TRANSLATED_TERMS = 12  # longer queries find enough matches in their own language


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """A parsed query.

    `terms` contains groups of synonyms, `words` all words, and `names` the code identifiers. `asks_for_former` is set
    if the query asks about a former state.
    """

    terms: tuple[tuple[str, ...], ...]
    words: frozenset[str]
    names: frozenset[str]
    asks_for_former: bool = False


def parse_query(text: str, *, is_dated: bool = False) -> MemoryQuery:
    """Parse a query; if `is_dated` is set, ignore the words of dates, because dates are matched separately."""
    asked = _apply_short_forms(text)
    words = [word.lower() for token in TOKEN.findall(asked) for word in _index_terms(token) if is_single_token(word)]
    language = _detect_language(words)
    small = PROSE_STOP_WORDS | stop_words(language) if language else PROSE_STOP_WORDS
    content_words = [word for word in dict.fromkeys(words) if word not in small and not _is_question_grammar(word)]
    # Uninformative words would have too much weight, because they are rare in observations.
    weak = {*markers("weak"), *(markers("date") if is_dated else ())}
    useful = [word for word in content_words if word not in weak] or content_words
    forms = _groups_by_form()
    groups = dict.fromkeys(_synonym_group(word, forms) for word in useful or words)
    if language == "de":
        groups = dict.fromkeys(map(_add_inflections, groups))
    if len(groups) <= _MAX_TRANSLATED_TERMS:
        groups = dict.fromkeys(map(_add_translations, groups))
    if _has_word("asks for measurement", words):
        groups[_MEASURED_TERM] = None
    names = frozenset(name.lower() for name in names_in_prose(text))
    return MemoryQuery(tuple(groups), frozenset(words), names, asks_for_former=_has_word("asks for former", words))


def _has_word(marker: str, words: Iterable[str]) -> bool:
    """Whether a query contains a word from the word list with the name `marker`."""
    return not frozenset(markers(marker)).isdisjoint(words)


def _index_terms(token: str) -> list[str]:
    """Return the index terms of a token; a token without spaces between words (Chinese) is split into letter pairs."""
    return unspaced_words(token) or [token]


def _detect_language(words: Iterable[str]) -> str:
    """Detect the language of a query by its stop words; return an empty string for English and other languages."""
    words = list(words)
    counts = {language: sum(map(stop_words(language).__contains__, words)) for language in _LANGUAGES}
    language = max(counts, key=counts.__getitem__)
    return language if counts[language] >= _MIN_LANGUAGE_WORDS else ""


def _apply_short_forms(text: str) -> str:
    """Replace phrases that have a common short form: "end to end" becomes "e2e"."""
    lowered = text.lower()
    for phrase, short in table()["short_forms"].items():
        if phrase in lowered:
            text = lowered = lowered.replace(phrase, short)
    return text


def _add_inflections(group: tuple[str, ...]) -> tuple[str, ...]:
    """Return a German word and its inflected forms, because the index stems only English words."""
    (word, *_) = group
    if len(group) > 1 or not word.isalpha() or len(word) < _MIN_INFLECTED_CHARACTERS:
        return group
    end = next((end for end in _GERMAN_ENDINGS if end and word.endswith(end)), "")
    stem = word.removesuffix(end)
    if len(stem) < _MIN_STEM_CHARACTERS:
        return group
    return (word, *(stem + other for other in _GERMAN_ENDINGS if other != end))


def _is_question_grammar(word: str) -> bool:
    """Whether a pair of letters has only grammatical meaning: hiragana, or a Chinese question word."""
    return word in markers("question word in bigrams") or all("\u3040" <= letter <= "\u309f" for letter in word)


def label_of(text: str) -> frozenset[str]:
    """Return the words of the label at the start of a text (`Name: …`), or an empty set if there is no label."""
    match = re.match(_LABEL_PREFIX, text)
    return frozenset(tokens(match[1])) if match else frozenset()


def _synonym_group(word: str, forms: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the synonym group of a word; all words of a group get the same tuple, so that the group counts once."""
    candidates = [
        word,
        *(word.removesuffix(end) for end in _ENGLISH_ENDINGS if word.endswith(end) and len(word) > len(end) + 2),
    ]
    return next((forms[candidate] for candidate in candidates if candidate in forms), (word,))


def _add_translations(group: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a synonym group and their translations."""
    others = (other for word in group for other in translations(word))
    return (*group, *(other for other in dict.fromkeys(others) if other not in group))


@cache
def _groups_by_form() -> dict[str, tuple[str, ...]]:
    """Return the synonym group for each irregular or short form of a word."""
    groups = [tuple(group.split()) for group in table()["synonyms"]]
    return {form: group for group in groups for form in group}
