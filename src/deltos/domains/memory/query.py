"""What a question asks of memory: groups of words that mean the same, and the names in it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from deltos.text.identifiers import names_in_prose
from deltos.text.scripts import is_single_token
from deltos.text.stop_words import PROSE_STOP_WORDS
from deltos.text.words import TOKEN, tokens

_LABEL = r"\s*([^\n:]{1,40}):\s"

# Forms that stemming cannot bring together.
_IRREGULAR = """
    become became|begin began begun|bend bent|bite bit bitten|bleed bled|blow blew blown|break broke broken|
    bring brought|build built|burn burnt|buy bought|catch caught|choose chose chosen|come came|creep crept|
    deal dealt|dig dug|draw drew drawn|dream dreamt|drink drank drunk|drive drove driven|eat ate eaten|
    fall fell fallen|feed fed|feel felt|fight fought|find found|fly flew flown|forget forgot forgotten|
    forgive forgave forgiven|freeze froze frozen|get got gotten|give gave given|go went gone|grow grew grown|
    hang hung|hear heard|hide hid hidden|hold held|keep kept|know knew known|lead led|leave left|lend lent|
    lose lost|make made|mean meant|meet met|pay paid|ride rode ridden|ring rang rung|rise rose risen|run ran|
    say said|see saw seen|seek sought|sell sold|send sent|shake shook shaken|shoot shot|show shown|sing sang sung|
    sink sank sunk|sit sat|sleep slept|speak spoke spoken|spend spent|spin spun|stand stood|steal stole stolen|
    stick stuck|strike struck|swear swore sworn|sweep swept|swim swam swum|take took taken|teach taught|
    tear tore torn|tell told|think thought|throw threw thrown|understand understood|wake woke woken|wear wore worn|
    win won|write wrote written|child children|man men|woman women|person people|foot feet|tooth teeth|mouse mice|
    life lives|wife wives|leaf leaves|knife knives|half halves|index indices|vertex vertices|matrix matrices"""
_ENDINGS = ("ing", "es", "ed", "s")


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """What a question asks for: groups of words that mean the same, all its words, and the names in it."""

    terms: tuple[tuple[str, ...], ...]
    words: frozenset[str]
    names: frozenset[str]


def parse_query(text: str) -> MemoryQuery:
    """The words of a question that can tell one observation from another."""
    words = [word.lower() for word in TOKEN.findall(text) if is_single_token(word)]
    useful = [word for word in dict.fromkeys(words) if word not in PROSE_STOP_WORDS]
    forms = _forms()
    groups = dict.fromkeys(_group(word, forms) for word in useful or words)
    return MemoryQuery(tuple(groups), frozenset(words), frozenset(name.lower() for name in names_in_prose(text)))


def label_of(text: str) -> frozenset[str]:
    """The words of the label that a text starts with (`Name: …`); empty when it has none."""
    match = re.match(_LABEL, text)
    return frozenset(tokens(match[1])) if match else frozenset()


def _group(word: str, forms: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The word with the forms that mean the same; words of one group become one and the same tuple."""
    candidates = [
        word,
        *(word.removesuffix(end) for end in _ENDINGS if word.endswith(end) and len(word) > len(end) + 2),
    ]
    return next((forms[candidate] for candidate in candidates if candidate in forms), (word,))


def _forms() -> dict[str, tuple[str, ...]]:
    groups = [tuple(group.split()) for group in _IRREGULAR.split("|")]
    return {form: group for group in groups for form in group}
