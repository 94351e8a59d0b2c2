"""Word-by-word translation to English, for models that support only English and for code search.

Each line of a glossary has an English word and its forms in another language. Names and unknown words are kept.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from deltos.text.language_table import table
from deltos.text.unspaced_scripts import UNSPACED
from deltos.text.words import stemmer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from deltos.text.words import Stemmer

_GLOSSARY_FOLDER = Path(__file__).with_name("glossaries")
_LATIN_LANGUAGES = {"de": "german", "es": "spanish", "fr": "french", "pt": "portuguese"}
_CYRILLIC_LANGUAGES = {"ru": "russian"}
_WORD = re.compile(r"[^\W\d_]+")
_TOKEN = re.compile(r"\w+(?:['’./-]+\w+)*")
_TOKEN_SEPARATORS = re.compile(r"['’/-]+")
_IN_PATH = re.compile(r"/[^/]*/|^/")
_CYRILLIC_LETTER = re.compile("[\u0400-\u04ff]")
_KANA = re.compile("[\u3041-\u30fa]")
_HANGUL = re.compile("[\uac00-\ud7af]")
_MAX_PHRASE_WORDS = 4  # maximum number of words in a phrase of a glossary
_MAX_PART_CHARACTERS = 12  # maximum length of a glossary word in a script without spaces
_MIN_FIRST_PART_CHARACTERS = 3  # minimum length of the first part of a compound word
_MIN_PART_CHARACTERS = 4  # minimum length of the other parts of a compound word
_MAX_COMPOUND_CHARACTERS = 40  # maximum length of a compound word
_MAX_PARTS = 3  # maximum number of parts of a compound word
_VERB_ENDINGS = ("t", "st", "e", "te", "test", "ten", "tet")
_LINKING_LETTERS = ("", "s", "es", "n", "en", "er", "e")
_MAX_DETECTION_CHARACTERS = 600  # number of characters that are used to detect the language of a text
_MIN_FOREIGN_LETTERS = 6  # minimum length of a foreign word; shorter words often exist in two languages
_MIN_SINGLE_WORD_LETTERS = 10  # minimum length of a foreign word if the text has only one word
_MIN_FOREIGN_SHARE = 0.2  # minimum share of words that are not English in a text that is not English
_MIN_FOREIGN_RATIO = 0.6  # minimum number of foreign words per English word
_MAX_TRANSLATED_CHARACTERS = 4_000  # longer texts are truncated, because models do not accept them
_MAX_CACHED_TEXTS = 64


@lru_cache(maxsize=_MAX_CACHED_TEXTS)
def translate_to_english(text: str) -> str | None:
    """Translate a text word by word. Return None if it is English or its language is not supported."""
    beginning = text[:_MAX_DETECTION_CHARACTERS]
    glossary: _UnspacedGlossary | _SpacedGlossary | None
    if language := _unspaced_language(beginning):
        glossary = _unspaced_glossary(language)
    else:
        glossary = _detect_by_words(beginning)
    return " ".join(glossary.words_of(text[:_MAX_TRANSLATED_CHARACTERS])) if glossary else None


def should_keep_original_words(original: Iterable[str], english: Iterable[str], frequencies: Mapping[str, int]) -> bool:
    """Whether a search should also use the original words of a translated query.

    Chinese, Japanese and Korean words are always kept. Words of other languages are kept if they have a higher document
    frequency than the English translations.
    """
    original, english = set(original), set(english)
    if any(map(UNSPACED.search, original)):
        return True
    return sum(frequencies.get(word, 0) for word in original - english) > sum(
        frequencies.get(word, 0) for word in english
    )


def foreign_words(text: str) -> list[str]:
    """Return the long words of a text that do not exist in English."""
    pieces = [part for piece in _TOKEN.findall(text[:_MAX_DETECTION_CHARACTERS]) for part in _split_token(piece)]
    return [
        each
        for each in pieces
        if len(each) >= _MIN_FOREIGN_LETTERS and _is_prose(each) and not _is_english(each.lower())
    ]


def _cognates(language: str) -> list[tuple[str, str]]:
    """Return the endings of cognates, each with the English ending.

    For example, German `Kollision` and English `collision` have such endings. The resulting word must exist in English.
    """
    rows: str = table()["cognates"].get(language, "")
    return [(ending, english) for ending, _, english in (row.partition(":") for row in rows.split())]


def _unspaced_language(text: str) -> str | None:
    """Return "zh", "ja" or "ko" if at least a fifth of the letters belong to its script, or None."""
    if text.isascii():
        return None
    letters = sum(map(len, UNSPACED.findall(text)))
    if letters < _MIN_FOREIGN_SHARE * sum(map(len, _WORD.findall(text))):
        return None
    if _HANGUL.search(text):
        return "ko"
    return "ja" if _KANA.search(text) else "zh"


def _detect_by_words(text: str) -> _SpacedGlossary | None:
    """Return the glossary that contains most of the non-English words, or None if the text is English."""
    pieces = (part for piece in _TOKEN.findall(text) for part in _split_token(piece))
    words = {piece.lower() for piece in pieces if _is_prose(piece)}
    english = {word for word in words if _is_english(word)}
    other = words - english
    if len(other) < _MIN_FOREIGN_SHARE * len(words):
        return None
    languages = _CYRILLIC_LANGUAGES if any(map(_CYRILLIC_LETTER.search, other)) else _LATIN_LANGUAGES
    found = [_LanguageSupport.measure(_spaced_glossary(each), other, english) for each in languages]
    best = max(found, key=lambda each: (each.confidence, each.foreign_count))
    if (
        len(words) == 1
        and best.confidence < 1
        and all(len(word) < _MIN_SINGLE_WORD_LETTERS and word.isascii() for word in words)
    ):
        return None  # an English word such as "redeem" may have a German ending
    # Words that exist in both languages, such as "die", "in" and "global", count half.
    support = best.foreign_count + best.shared_count / 2
    is_enough = (
        best.foreign_count
        and support > _MIN_FOREIGN_RATIO * (len(english) - best.shared_count)
        and support >= min(2, len(words) / 2)
    )
    return best.glossary if is_enough else None


def _split_token(piece: str) -> list[str]:
    """Split a token such as l'utilisateur or E-Mail-Adresse into words. File paths are not split."""
    parts = _TOKEN_SEPARATORS.split(piece)
    return parts if all(part.isalpha() for part in parts) and not _IN_PATH.search(piece) else [piece]


def _is_prose(word: str) -> bool:
    """Whether a word is plain prose, not an identifier or path."""
    return len(word) > 1 and word.isalpha() and (word[1:].islower() or word.isupper())


class _LanguageSupport(NamedTuple):
    """Numbers of a text's words that exist only in a language or also in English, and the sum of the confidences."""

    glossary: _SpacedGlossary
    foreign_count: int
    shared_count: int
    confidence: float

    @classmethod
    def measure(cls, glossary: _SpacedGlossary, other: Collection[str], english: Collection[str]) -> _LanguageSupport:
        """Count the words of a text that a glossary contains, and add up the confidences."""
        foreign_count, both = [*map(glossary.confidence, other)], [*map(glossary.confidence, english)]
        return cls(glossary, sum(map(bool, foreign_count)), sum(map(bool, both)), sum(foreign_count) + sum(both) / 2)


def _is_english(word: str) -> bool:
    return word in _english_words() or stemmer("english").stemWords([word])[0] in _english_words()


@cache
def _english_words() -> frozenset[str]:
    """Return common English words and their stems."""
    return frozenset((_GLOSSARY_FOLDER / "en.txt").read_text("utf-8").split())


@cache
def _spaced_glossary(language: str) -> _SpacedGlossary:
    of_language = stemmer({**_LATIN_LANGUAGES, **_CYRILLIC_LANGUAGES}[language])
    english = _load_forms(language)
    known = dict(english)
    for stem, word in zip(of_language.stemWords(list(english)), english.values(), strict=True):
        if word:
            known.setdefault(stem, word)
    return _SpacedGlossary(known, english.keys(), of_language, _cognates(language), splits_words=language == "de")


@cache
def _unspaced_glossary(language: str) -> _UnspacedGlossary:
    return _UnspacedGlossary(_load_forms(language))


def _load_forms(language: str) -> dict[str, str]:
    """Return the English word for each word form in a language.

    If a form belongs to several words, the most frequent word is returned. Words without a translation, such as
    articles, map to an empty string.
    """
    lines = (_GLOSSARY_FOLDER / f"{language}.txt").read_text("utf-8").splitlines()
    forms: dict[str, str] = {}
    for word, _, others in (line.partition(" = ") for line in lines):
        for form in others.split(", "):
            forms.setdefault(form, word)
    return forms


def _without_accents(word: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFD", word) if not unicodedata.combining(letter))


@dataclass(frozen=True, slots=True)
class _SpacedGlossary:
    """Glossary of a language with spaces between words. German compounds are split."""

    english: Mapping[str, str]
    forms: Collection[str]
    stemmer: Stemmer
    cognates: Sequence[tuple[str, str]]
    splits_words: bool

    def confidence(self, word: str) -> float:
        """Return the confidence that a word belongs to the language.

        It is 1 if the word is listed, 0.5 if it is derived from a listed word, otherwise 0.
        """
        if word in self.forms:
            return 1.0
        return (
            0.5
            if self._translate_simple_word(word) is not None or self._split_compound(word, with_english=False)
            else 0.0
        )

    def words_of(self, text: str) -> Iterator[str]:
        """Yield the English translations of the words and phrases of a text. Unknown words are kept."""
        pieces = [part for piece in _TOKEN.findall(text) for part in _split_token(piece)]
        at = 0
        while at < len(pieces):
            length, english = self._translate_at(pieces, at)
            if english:
                yield english
            at += length

    def _translate_at(self, pieces: Sequence[str], at: int) -> tuple[int, str]:
        """Translate the longest phrase that begins at `at`. Return its number of words and the translation."""
        for length in range(min(_MAX_PHRASE_WORDS, len(pieces) - at), 1, -1):
            phrase = " ".join(pieces[at : at + length]).lower()
            if phrase in self.english:
                return length, self.english[phrase]
        piece = pieces[at]
        word = piece.lower()
        is_known = word in self.forms or not _is_english(word)
        english = self._translate_word(word) if is_known else None
        return 1, piece if english is None else english

    def _translate_word(self, word: str) -> str | None:
        known = self._translate_simple_word(word)
        return self._split_compound(word) if known is None else known

    def _translate_simple_word(self, word: str) -> str | None:
        """Translate a word that is not a compound, in any grammatical form. Return None if it is unknown."""
        spellings = (word, self.stemmer.stemWords([word])[0], word.removesuffix("s"), *self._infinitives(word))
        known = next((self.english[each] for each in spellings if each in self.english), None)
        return self._find_cognate(word) if known is None else known

    def _infinitives(self, word: str) -> list[str]:
        """Return possible infinitives of a German verb form, such as liegen for liegt and prüfen for geprüft."""
        if not self.splits_words:
            return []
        bare = word.removeprefix("ge")
        return [f"{each.removesuffix(end)}en" for each in (word, bare) for end in _VERB_ENDINGS if each.endswith(end)]

    def _find_cognate(self, word: str) -> str | None:
        """Return the English cognate of a word, such as collision for Kollision, or None."""
        bare = _without_accents(word)
        changed = (
            bare.removesuffix(_without_accents(end)) + other for end, other in self.cognates if word.endswith(end)
        )
        spellings = (each for found in changed for each in (found, found.replace("k", "c").replace("z", "c")))
        return next((each for each in spellings if each in _english_words()), None)

    def _split_compound(self, word: str, *, with_english: bool = True, parts: int = _MAX_PARTS) -> str | None:
        """Translate a German compound such as Schwundquote (loss rate). The longest possible last part is used."""
        if (
            not self.splits_words
            or not _MIN_FIRST_PART_CHARACTERS + _MIN_PART_CHARACTERS <= len(word) <= _MAX_COMPOUND_CHARACTERS
            or parts < 2
        ):
            return None
        splits = [
            (first, word[end:])
            for end in range(_MIN_FIRST_PART_CHARACTERS, len(word) - _MIN_PART_CHARACTERS + 1)
            if (first := self._first_part(word[:end], with_english=with_english))
        ]
        for first, last in splits:
            if rest := self._translate_simple_word(last) or self._english_part(last, is_allowed=with_english):
                return f"{first} {rest}"
        for first, last in splits:
            if rest := self._split_compound(last, with_english=with_english, parts=parts - 1):
                return f"{first} {rest}"
        return None

    def _first_part(self, part: str, *, with_english: bool) -> str | None:
        bare = (part.removesuffix(link) for link in _LINKING_LETTERS if part.endswith(link))
        long = [each for each in bare if len(each) >= _MIN_FIRST_PART_CHARACTERS]
        found = (
            self.english.get(each) or self._find_cognate(each) or self._english_part(each, is_allowed=with_english)
            for each in long
        )
        return next(filter(None, found), None)

    def _english_part(self, part: str, *, is_allowed: bool) -> str | None:
        """Return a part of a compound that is an English word, such as status in Statusbericht, or None."""
        return part if is_allowed and part in _english_words() else None


@dataclass(frozen=True, slots=True)
class _UnspacedGlossary:
    """Glossary of a language without spaces between words."""

    english: Mapping[str, str]

    def words_of(self, text: str) -> Iterator[str]:
        """Yield the English translations of the words of a text. Text in scripts with spaces is not changed."""
        for piece in _TOKEN.findall(text):
            at = 0
            for run in UNSPACED.finditer(piece):
                if other := piece[at : run.start()].strip("._-"):
                    yield other
                yield from self._translate_run(run.group())
                at = run.end()
            if other := piece[at:].strip("._-"):
                yield other

    def _translate_run(self, run: str) -> Iterator[str]:
        at = 0
        while at < len(run):
            for length in range(min(_MAX_PART_CHARACTERS, len(run) - at), 0, -1):
                if english := self.english.get(run[at : at + length]):
                    yield english
                    break
            at += length
