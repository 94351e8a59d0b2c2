"""Texts of other languages word by word in English, for what reads English only: models, and words of code.

The glossaries have one line for each English word, with the forms of the other language that mean it. A word that none
of them has stays as it is, and so do names.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from deltos.text.scripts import UNSPACED
from deltos.text.words import stemmer

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from deltos.text.words import Stemmer

_FOLDER = Path(__file__).with_name("glossaries")
_LATIN = {"de": "german", "es": "spanish", "fr": "french", "pt": "portuguese"}
_CYRILLIC = {"ru": "russian"}
# Endings of words that most languages share; what comes out has to be an English word.
_COGNATES = {
    "de": (
        ("isierung", "ization"), ("isieren", "ize"), ("isiert", "ized"), ("ierung", "ation"), ("ierung", "ization"),
        ("ieren", "ate"), ("ieren", "e"), ("iert", "ated"), ("ität", "ity"), ("isch", "ic"), ("isch", "ical"),
        ("ion", "ion"), ("iv", "ive"), ("enz", "ency"), ("enz", "ence"),
    ),
    "es": (
        ("ización", "ization"), ("izar", "ize"), ("ción", "tion"), ("sión", "sion"), ("dad", "ty"), ("ncia", "nce"),
        ("ncia", "ncy"), ("ico", "ic"), ("ica", "ic"), ("ico", "ical"), ("ivo", "ive"), ("iva", "ive"), ("ar", "ate"),
        ("ente", "ent"), ("ista", "ist"), ("ía", "y"),
    ),
    "fr": (
        ("isation", "ization"), ("iser", "ize"), ("tion", "tion"), ("sion", "sion"), ("té", "ty"), ("nce", "nce"),
        ("nce", "ncy"), ("ique", "ic"), ("ique", "ical"), ("if", "ive"), ("ive", "ive"), ("er", "ate"), ("ent", "ent"),
        ("iste", "ist"), ("ie", "y"), ("eur", "or"), ("eur", "er"),
    ),
    "pt": (
        ("ização", "ization"), ("izar", "ize"), ("ção", "tion"), ("são", "sion"), ("dade", "ty"), ("ncia", "nce"),
        ("ncia", "ncy"), ("ico", "ic"), ("ica", "ic"), ("ico", "ical"), ("ivo", "ive"), ("iva", "ive"), ("ar", "ate"),
        ("ente", "ent"), ("ista", "ist"), ("ia", "y"),
    ),
}  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+")
_PIECE = re.compile(r"\w+(?:['’./-]+\w+)*")
_BETWEEN = re.compile(r"['’/-]+")
_IN_PATH = re.compile(r"/[^/]*/|^/")
_CYRILLIC_LETTER = re.compile("[\u0400-\u04ff]")
_KANA = re.compile("[\u3041-\u30fa]")
_HANGUL = re.compile("[\uac00-\ud7af]")
_LONGEST_PHRASE = 4
_LONGEST_PART = 12
_SHORTEST_FIRST_PART = 3  # of a compound
_SHORTEST_PART = 4
_LONGEST_COMPOUND = 40
_MOST_PARTS = 3
_VERB_ENDINGS = ("t", "st", "e", "te", "test", "ten", "tet")
_LINKS = ("", "s", "es", "n", "en", "er", "e")
_TELLING_CHARACTERS = 600  # the language of a text is told by its beginning
_TELLING_LETTERS = 6  # of a word that hardly means something else in another language
_TELLING_LENGTH = 10  # of a word that stands alone and is like one of another language
_LEAST_SHARE = 0.2  # of a text that is not English, before it is of another language
_ENGLISH_SHARE = 0.6  # of English words, beside one of the other language, that a text of that language may have
_MOST_CHARACTERS = 4_000  # models read less of a text
_KEPT_TEXTS = 64


@lru_cache(maxsize=_KEPT_TEXTS)
def in_english(text: str) -> str | None:
    """A text of a language that is known here, word by word in English; None for any other."""
    beginning = text[:_TELLING_CHARACTERS]
    glossary: _UnspacedGlossary | _SpacedGlossary | None
    if language := _unspaced_language(beginning):
        glossary = _unspaced_glossary(language)
    else:
        glossary = _told_by_words(beginning)
    return " ".join(glossary.words_of(text[:_MOST_CHARACTERS])) if glossary else None


def own_words_count(own: Iterable[str], english: Iterable[str], frequencies: Mapping[str, int]) -> bool:
    """Whether the own words of a question count beside the English ones in texts where words are so frequent.

    Chinese, Japanese and Korean words mean nothing else. Others, which may look like English, count where texts are of
    that language, so that they stand in more of them than the English ones; a few files with translations are not
    enough.
    """
    own, english = set(own), set(english)
    if any(map(UNSPACED.search, own)):
        return True
    return sum(frequencies.get(word, 0) for word in own - english) > sum(frequencies.get(word, 0) for word in english)


def telling_words(text: str) -> list[str]:
    """The long words of a text that English lacks: where one of them stands, it means the same."""
    pieces = [part for piece in _PIECE.findall(text[:_TELLING_CHARACTERS]) for part in _parts(piece)]
    return [
        each for each in pieces if len(each) >= _TELLING_LETTERS and _is_prose(each) and not _is_english(each.lower())
    ]


def _unspaced_language(text: str) -> str | None:
    """Chinese, Japanese or Korean, where a fifth of the letters is."""
    if text.isascii():
        return None
    letters = sum(map(len, UNSPACED.findall(text)))
    if letters < _LEAST_SHARE * sum(map(len, _WORD.findall(text))):
        return None
    if _HANGUL.search(text):
        return "ko"
    return "ja" if _KANA.search(text) else "zh"


def _told_by_words(text: str) -> _SpacedGlossary | None:
    """That of the language which has most words that English lacks; None where English has too many that it lacks."""
    pieces = (part for piece in _PIECE.findall(text) for part in _parts(piece))
    words = {piece.lower() for piece in pieces if _is_prose(piece)}
    english = {word for word in words if _is_english(word)}
    other = words - english
    if len(other) < _LEAST_SHARE * len(words):
        return None
    languages = _CYRILLIC if any(map(_CYRILLIC_LETTER.search, other)) else _LATIN
    found = [_Support.of(_spaced_glossary(each), other, english) for each in languages]
    best = max(found, key=lambda each: (each.sureness, each.alone))
    if len(words) == 1 and best.sureness < 1 and all(len(word) < _TELLING_LENGTH and word.isascii() for word in words):
        return None  # "redeem" ends like a German word, and is none
    # "die", "in" and "global" are of two languages.
    support = best.alone + best.shared / 2
    is_enough = (
        best.alone and support > _ENGLISH_SHARE * (len(english) - best.shared) and support >= min(2, len(words) / 2)
    )
    return best.glossary if is_enough else None


def _parts(piece: str) -> list[str]:
    """The words of a piece between spaces: those of l'utilisateur and E-Mail-Adresse, and a path as it is."""
    parts = _BETWEEN.split(piece)
    return parts if all(part.isalpha() for part in parts) and not _IN_PATH.search(piece) else [piece]


def _is_prose(word: str) -> bool:
    """Whether it is no name of code, nor a part of a path."""
    return len(word) > 1 and word.isalpha() and (word[1:].islower() or word.isupper())


class _Support(NamedTuple):
    """What speaks for a language: how many words that English lacks, how many that it has, and how surely."""

    glossary: _SpacedGlossary
    alone: int
    shared: int
    sureness: float

    @classmethod
    def of(cls, glossary: _SpacedGlossary, other: Collection[str], english: Collection[str]) -> _Support:
        """Those among the words of a text."""
        alone, both = [*map(glossary.sureness, other)], [*map(glossary.sureness, english)]
        return cls(glossary, sum(map(bool, alone)), sum(map(bool, both)), sum(alone) + sum(both) / 2)


def _is_english(word: str) -> bool:
    return word in _english_words() or stemmer("english").stemWords([word])[0] in _english_words()


@cache
def _english_words() -> frozenset[str]:
    """Words and stems."""
    return frozenset((_FOLDER / "en.txt").read_text("utf-8").split())


@cache
def _spaced_glossary(language: str) -> _SpacedGlossary:
    of_language = stemmer({**_LATIN, **_CYRILLIC}[language])
    english = _forms(language)
    known = dict(english)
    for stem, word in zip(of_language.stemWords(list(english)), english.values(), strict=True):
        if word:
            known.setdefault(stem, word)
    return _SpacedGlossary(
        known, english.keys(), of_language, _COGNATES.get(language, ()), splits_words=language == "de"
    )


@cache
def _unspaced_glossary(language: str) -> _UnspacedGlossary:
    return _UnspacedGlossary(_forms(language))


def _forms(language: str) -> dict[str, str]:
    """What each form of a word is in English, the commonest words first; nothing for articles and the like."""
    lines = (_FOLDER / f"{language}.txt").read_text("utf-8").splitlines()
    forms: dict[str, str] = {}
    for word, _, others in (line.partition(" = ") for line in lines):
        for form in others.split(", "):
            forms.setdefault(form, word)
    return forms


def _without_accents(word: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFD", word) if not unicodedata.combining(letter))


@dataclass(frozen=True, slots=True)
class _SpacedGlossary:
    """Forms and stems of words in English; German ones may be made of others."""

    english: Mapping[str, str]
    forms: Collection[str]
    stemmer: Stemmer
    cognates: Sequence[tuple[str, str]]
    splits_words: bool

    def sureness(self, word: str) -> float:
        """How sure it is that a word is one of the language: one that is written in the glossary, or is like one."""
        if word in self.forms:
            return 1.0
        return 0.5 if self._simple(word) is not None or self._of_compound(word, with_english=False) else 0.0

    def words_of(self, text: str) -> Iterator[str]:
        """The words of a text in English, the longest phrases first; other words as they are."""
        pieces = [part for piece in _PIECE.findall(text) for part in _parts(piece)]
        at = 0
        while at < len(pieces):
            length, english = self._phrase(pieces, at)
            if english:
                yield english
            at += length

    def _phrase(self, pieces: Sequence[str], at: int) -> tuple[int, str]:
        for length in range(min(_LONGEST_PHRASE, len(pieces) - at), 1, -1):
            phrase = " ".join(pieces[at : at + length]).lower()
            if phrase in self.english:
                return length, self.english[phrase]
        piece = pieces[at]
        word = piece.lower()
        is_known = word in self.forms or not _is_english(word)
        english = self._of_word(word) if is_known else None
        return 1, piece if english is None else english

    def _of_word(self, word: str) -> str | None:
        known = self._simple(word)
        return self._of_compound(word) if known is None else known

    def _simple(self, word: str) -> str | None:
        """A word that is not a compound, in any of its forms."""
        spellings = (word, self.stemmer.stemWords([word])[0], word.removesuffix("s"), *self._infinitives(word))
        known = next((self.english[each] for each in spellings if each in self.english), None)
        return self._cognate(word) if known is None else known

    def _infinitives(self, word: str) -> list[str]:
        """The verb that a German form may be of, which stemming does not bring together: liegt, geprüft."""
        if not self.splits_words:
            return []
        bare = word.removeprefix("ge")
        return [f"{each.removesuffix(end)}en" for each in (word, bare) for end in _VERB_ENDINGS if each.endswith(end)]

    def _cognate(self, word: str) -> str | None:
        """The English word that differs in its ending alone, or in a k: Kollision, collision."""
        bare = _without_accents(word)
        changed = (
            bare.removesuffix(_without_accents(end)) + other for end, other in self.cognates if word.endswith(end)
        )
        spellings = (each for found in changed for each in (found, found.replace("k", "c").replace("z", "c")))
        return next((each for each in spellings if each in _english_words()), None)

    def _of_compound(self, word: str, *, with_english: bool = True, parts: int = _MOST_PARTS) -> str | None:
        """The parts of a German compound, the last as long as it can be: Schwundquote, loss rate."""
        if (
            not self.splits_words
            or not _SHORTEST_FIRST_PART + _SHORTEST_PART <= len(word) <= _LONGEST_COMPOUND
            or parts < 2
        ):
            return None
        splits = [
            (first, word[end:])
            for end in range(_SHORTEST_FIRST_PART, len(word) - _SHORTEST_PART + 1)
            if (first := self._first_part(word[:end], with_english=with_english))
        ]
        for first, last in splits:
            if rest := self._simple(last) or self._english(last, is_allowed=with_english):
                return f"{first} {rest}"
        for first, last in splits:
            if rest := self._of_compound(last, with_english=with_english, parts=parts - 1):
                return f"{first} {rest}"
        return None

    def _first_part(self, part: str, *, with_english: bool) -> str | None:
        bare = (part.removesuffix(link) for link in _LINKS if part.endswith(link))
        long = [each for each in bare if len(each) >= _SHORTEST_FIRST_PART]
        found = (
            self.english.get(each) or self._cognate(each) or self._english(each, is_allowed=with_english)
            for each in long
        )
        return next(filter(None, found), None)

    def _english(self, part: str, *, is_allowed: bool) -> str | None:
        """A part that is an English word: Statusbericht, status report."""
        return part if is_allowed and part in _english_words() else None


@dataclass(frozen=True, slots=True)
class _UnspacedGlossary:
    """Words that stand next to each other without spaces."""

    english: Mapping[str, str]

    def words_of(self, text: str) -> Iterator[str]:
        """The words of a text in English, the longest first; what is written with spaces as it is."""
        for piece in _PIECE.findall(text):
            at = 0
            for run in UNSPACED.finditer(piece):
                if other := piece[at : run.start()].strip("._-"):
                    yield other
                yield from self._of_run(run.group())
                at = run.end()
            if other := piece[at:].strip("._-"):
                yield other

    def _of_run(self, run: str) -> Iterator[str]:
        at = 0
        while at < len(run):
            for length in range(min(_LONGEST_PART, len(run) - at), 0, -1):
                if english := self.english.get(run[at : at + length]):
                    yield english
                    break
            at += length
