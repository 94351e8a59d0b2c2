"""Parse API queries: find terms, synonyms, the requested verb, the path and the HTTP method."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from deltos.text.identifiers import CODE_SIGNS, split_identifier
from deltos.text.stop_words import API_QUESTION_WORDS, STOP_WORDS
from deltos.text.words import TOKEN, shared_words, stemmer, tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_METHOD_AND_PATH = re.compile(
    r"^\s*(GET|PUT|POST|DELETE|PATCH|HEAD|OPTIONS|QUERY|MUTATION|SUBSCRIPTION|RPC|SEND|RECEIVE)\s+(\S+)\s*$"
)
_NAME = re.compile(r"\w[\w./-]*\w|\w")
_PATH = re.compile(r"^\s*(/\S+)\s*$")
SYNONYM_WEIGHT = 0.85  # weight of a synonym, relative to weight 1 of the word itself
MAX_WORDS = 40  # maximum number of words of a query; longer queries are truncated

# Words such as "endpoint" that may open a query about an API, before the requested action.
_INTERFACE_NOUNS = frozenset(
    "api apis endpoint endpoints operation operations route routes call calls request requests method methods".split()
)
_ASKING_WORDS = frozenset("which what is are does the there".split())
_JOINING_WORDS = frozenset("that to for which".split())
_OPENING_WORDS = _INTERFACE_NOUNS | frozenset(
    """which what is are the there a an any http rest that to for do does did i we you one me us can could should would
    must may will use used using need needed lets let allows allow makes it possible in""".split()
)

# Groups of verbs that are synonyms in APIs; the first word of a row is the API verb.
_VERB_ROWS = """
    create add new post make insert register generate open submit start
    list all browse enumerate index every
    get retrieve fetch read show view find lookup describe load obtain return
    update patch put edit modify change set replace alter adjust
    delete remove destroy drop erase unset clear
    cancel abort stop terminate revoke halt
    search query find filter
    check verify validate test confirm exist
    send post publish submit dispatch deliver
    enable activate turn
    disable deactivate suspend
    upload import attach
    download export
    join enter
    leave exit quit
    restore undelete recover unarchive
    merge combine
    assign add give grant
    unassign remove
    star favorite bookmark
    run execute trigger start launch dispatch
    close end finish complete
"""
VERBS = {row.split()[0]: tuple(row.split()) for row in _VERB_ROWS.strip().splitlines()}
# Groups of nouns that are synonyms in APIs, with abbreviations.
_NOUN_ROWS = """
    repository repo | organization org organisation | configuration config setting preference |
    authentication auth login | authorization auth permission | information info detail | environment env |
    administrator admin | application app | identifier id | message msg | conversation channel chat |
    user member person people | picture photo image avatar | directory folder | comment reply note | label tag |
    customer client | invoice bill | payment charge | product item | webhook hook | credential secret token key |
    notification alert | statistic stat metric | document doc | database db | email mail | phone telephone |
    song track | issue ticket bug | job task todo | history log event | group team |
    machine server vm instance host | file document attachment | sms text message | buyer shopper customer client |
    colleague coworker employee staff member | icon logo avatar photo | bin trash | password credential secret |
    site website | disk volume storage drive | plan tier subscription | newsletter campaign | bank institution |
    purchase order transaction | version release revision | hostname domain | variable env environment | vote poll |
    voice audio recording sound | price cost | stock inventory | shop store location | entry record | deadline due |
    meeting conference | recipient subscriber contact | limit quota | address location | url link address |
    worker node | login user account | balance credit money
"""
NOUNS = tuple(tuple(row.split()) for row in _NOUN_ROWS.split("|"))
ABBREVIATIONS = {"pr": ("pull", "request"), "prs": ("pull", "requests"), "mr": ("merge", "request")}


@dataclass(frozen=True, slots=True)
class Concept:
    """A query word, with the weighted stems of the word and of its synonyms."""

    word: str
    stems: dict[str, float]
    verb: bool = False


@dataclass(frozen=True, slots=True)
class ApiQuery:
    """A parsed query for operations or schemas."""

    text: str
    concepts: tuple[Concept, ...]
    verb: str = ""
    method: str = ""
    path: str = ""
    stems: tuple[str, ...] = ()
    # Query words that may be names of types and operations, in their original spelling.
    names: frozenset[str] = frozenset()

    def asked_words(self) -> tuple[str, ...]:
        """Return the query words in the form used by the full-text index, without synonyms."""
        return tuple(dict.fromkeys(_index_form(next(iter(concept.stems))) for concept in self.concepts))

    def match_words(self) -> tuple[str, ...]:
        """Return query words and synonyms for the full-text index; a result must contain at least one of them.

        Synonyms of verbs are omitted if there are nouns, because they would displace matches of nouns.
        """
        only_verbs = all(concept.verb for concept in self.concepts)
        stems: dict[str, None] = {}
        for concept in self.concepts:
            known = list(concept.stems)
            stems.update(dict.fromkeys(known if only_verbs or not concept.verb else known[:1]))
        return tuple(map(_index_form, stems))


def parse_query(text: str) -> ApiQuery:
    """Parse a query, which may also be an operation id, a path, or `METHOD path`."""
    method, path = "", ""
    if match := _METHOD_AND_PATH.match(text):
        method, path = match[1], match[2]
    elif match := _PATH.match(text):
        path = match[1]
    words = question_words(text)
    verb = next((verb for word in words[:3] if (verb := verb_of(word))), "")
    concepts = tuple(map(_to_concept, dict.fromkeys(words)))
    return ApiQuery(text, concepts, verb, method, path, tuple(stems_of(text)), find_names(text))


def find_names(text: str) -> frozenset[str]:
    """Return the words of a query that may be names of types or operations; a query of one word may always be one."""
    words = _NAME.findall(text)
    return frozenset(word for word in words if len(words) == 1 or CODE_SIGNS.search(word) or "/" in word)


def strip_opening(text: str) -> str:
    """Return a query without an opening such as `which endpoint`, or unchanged if no other words remain."""
    words = text.split()
    bare_words = [word.strip("`'\".,;:?!()").lower() for word in words]
    opening = next((index for index, word in enumerate(bare_words) if word not in _OPENING_WORDS), len(bare_words))
    nouns = [index for index in range(opening) if bare_words[index] in _INTERFACE_NOUNS]
    if not nouns or opening == len(bare_words):
        return text
    # A noun belongs to an opening such as `which endpoint` only together with other opening words. Otherwise, it may be
    # an object (`api keys`) or a verb (`request a refund`).
    is_asked = any(word in _ASKING_WORDS for word in bare_words[: nouns[0]])
    is_joined = any(word in _JOINING_WORDS for word in bare_words[nouns[0] + 1 : opening])
    return " ".join(words[opening:]) if is_asked or is_joined else text


def strip_modifier(text: str) -> str:
    """Return a query without a final phrase such as `with labels`, which describes the object but does not name it."""
    head, preposition, _ = text.partition(" with ")
    return head if preposition and len(question_words(head)) > 1 else text


def question_words(text: str) -> list[str]:
    """Return the words of a query; identifiers are split, and stop words are removed if other words remain."""
    parts = [part for word in TOKEN.findall(text) for part in split_identifier(word)]
    words = [word for part in parts for word in ABBREVIATIONS.get(part, (part,))]
    kept = [word for word in words if word not in STOP_WORDS and word not in API_QUESTION_WORDS]
    return (kept or words)[:MAX_WORDS]


def stem(word: str) -> str:
    """Return the stem of a word as stored in the index."""
    return stemmer("porter").stemWord(word)


@lru_cache(maxsize=20_000)
def _index_form(stemmed: str) -> str:
    """Return a word that the index reduces to the stem `stemmed`."""
    # Stemming the stem may change it again: `releas` becomes `relea`.
    forms = (f"{stemmed}{ending}" for ending in ("", "e", "s", "es", "ed", "y"))
    return next((form for form in forms if stem(form) == stemmed), stemmed)


def stems_of(text: str) -> list[str]:
    """Return the stems of a text without stop words, split into words like the index."""
    return stemmer("porter").stemWords([word for word in tokens(text) if word not in STOP_WORDS])


@cache
def verb_of(word: str) -> str:
    """Return the API verb of a word, such as `create` for `adding`; empty if the word is not a verb."""
    return _verb_stems().get(stem(word), "")


@cache
def _verb_stems() -> dict[str, str]:
    """Return a mapping from the stem of each verb to the API verb, such as `create`."""
    known: dict[str, str] = {}
    for verb, words in VERBS.items():
        for word in words:
            known.setdefault(stem(word), verb)
    return known


@cache
def _synonyms(stem_of: Callable[[str], str]) -> dict[str, dict[str, float]]:
    """Return the stems of the synonyms of each word stem."""
    known: dict[str, dict[str, float]] = {}
    for row in (*VERBS.values(), *NOUNS):
        stems = [stem_of(word) for word in row]
        for each in stems:
            known.setdefault(each, {}).update((other, SYNONYM_WEIGHT) for other in stems if other != each)
    return known


def synonyms_of(word: str) -> Mapping[str, float]:
    """Return the weighted stems of the synonyms of a word."""
    return _synonyms(stem).get(stem(word), {})


def synonyms_in_index(index_word: str) -> Mapping[str, float]:
    """Return the synonyms of an index term, as index terms with weights."""
    return _synonyms(shared_words().of).get(index_word, {})


def _to_concept(word: str) -> Concept:
    """Return a query word with its synonyms."""
    return Concept(word, {stem(word): 1.0, **synonyms_of(word)}, bool(verb_of(word)))
