"""Words of questions and of observations: what a question asks for, what an observation names, how alike two
texts are."""

# Annotations are evaluated here: as texts, each field of a named tuple would be compiled whenever a hook starts.
import re
from typing import NamedTuple

WORD = re.compile(r"[^\W_]+")
# The words inside a name: `HTTPServer2` is HTTP, Server, 2.
PART = re.compile(r"[A-Z](?:[a-z]++|(?:[A-Z](?![a-z]))*+)|[a-z]++|\d++")
# Something that looks like code: a dotted, snake or camel name, or a path.
_IDENTIFIER = re.compile(r"[A-Za-z_][\w./-]*[A-Za-z0-9_]")
_LABEL = r"\s*([^\n:]{1,40}):\s"

_STOP_WORDS_TEXT = """
    a about after again all also am an and any anything are as at be because been before being both but by
    can could did do does doing don done during each few for from had has have having he her hers him his
    how i if in into is it its itself just kind like likely ll m many me might more most much my no not now
    of off on once only or other our ours out over own re s same she should so some something such t than
    that the their theirs them then there these they thing this those through to too type under until up ve
    very was we were what when where which while who whom whose why will with would you your yours d"""
STOP_WORDS = frozenset(_STOP_WORDS_TEXT.split())

# Forms that stemming cannot bring together.
_IRREGULAR = """
    become became|begin began begun|bend bent|bite bit bitten|bleed bled|blow blew blown|break broke
    broken|bring brought|
    build built|burn burnt|buy bought|catch caught|choose chose chosen|come came|creep crept|deal dealt|dig
    dug|
    draw drew drawn|dream dreamt|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed
    fed|feel felt|
    fight fought|find found|fly flew flown|forget forgot forgotten|forgive forgave forgiven|freeze froze
    frozen|
    get got gotten|give gave given|go went gone|grow grew grown|hang hung|hear heard|hide hid hidden|hold
    held|keep kept|
    know knew known|lead led|leave left|lend lent|lose lost|make made|mean meant|meet met|pay paid|ride rode
    ridden|
    ring rang rung|rise rose risen|run ran|say said|see saw seen|seek sought|sell sold|send sent|shake shook
    shaken|
    shoot shot|show shown|sing sang sung|sink sank sunk|sit sat|sleep slept|speak spoke spoken|spend
    spent|spin spun|
    stand stood|steal stole stolen|stick stuck|strike struck|swear swore sworn|sweep swept|swim swam
    swum|take took taken|
    teach taught|tear tore torn|tell told|think thought|throw threw thrown|understand understood|wake woke
    woken|
    wear wore worn|win won|write wrote written|child children|man men|woman women|person people|foot
    feet|tooth teeth|
    mouse mice|life lives|wife wives|leaf leaves|knife knives|half halves|index indices|vertex
    vertices|matrix matrices"""
_ENDINGS = ("ing", "es", "ed", "s")


class MemoryQuery(NamedTuple):
    """What a question asks for: groups of words that mean the same, all its words, and the names in it."""

    terms: tuple[tuple[str, ...], ...]
    words: frozenset[str]
    names: frozenset[str]


def parse_query(text: str) -> MemoryQuery:
    """The words of a question that can tell one observation from another."""
    words = [word.lower() for word in WORD.findall(text) if _is_one_token(word)]
    useful = [word for word in dict.fromkeys(words) if word not in STOP_WORDS]
    forms = _forms()
    groups = dict.fromkeys(_group(word, forms) for word in useful or words)
    return MemoryQuery(tuple(groups), frozenset(words), frozenset(name.lower() for name in identifiers(text)))


def identifiers(text: str) -> list[str]:
    """The names of code in a text: `snake_case`, `camelCase`, `dotted.name`, `some/path.py`; each once."""
    found = (match[0] for match in _IDENTIFIER.finditer(text))
    return list(dict.fromkeys(name for name in found if _looks_like_code(name)))


def words_inside(names: list[str]) -> str:
    """The plain words that identifiers and paths are made of, space-separated, each once."""
    parts = (part.lower() for name in names for part in PART.findall(name))
    return " ".join(dict.fromkeys(part for part in parts if len(part) > 1))


def label_of(text: str) -> frozenset[str]:
    """The words of the label that a text starts with (`Name: …`); empty when it has none."""
    match = re.match(_LABEL, text)
    return frozenset(word.lower() for word in WORD.findall(match[1])) if match else frozenset()


def _is_one_token(word: str) -> bool:
    """Whether the word index is sure to see one word here: its tables know fewer letters than Python does."""
    if word.isascii():
        return True
    import unicodedata  # deferred: hooks ask no questions

    return all(unicodedata.ucd_3_2_0.category(letter)[0] in "LN" for letter in word)


def _looks_like_code(name: str) -> bool:
    inner = name[1:]
    return (
        "_" in name or "/" in name or "." in name or (not inner.islower() and not inner.isupper() and inner.isalnum())
    )


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
