"""What a query asks for: a name, a literal, a pattern, or a description in words."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from deltos.errors import BadArgument
from deltos.text.identifiers import NAME_OR_PATH, SYMBOL_SIGNS, looks_like_code, split_identifier, symbols_in_query
from deltos.text.stop_words import CHANGE_VERBS, QUESTION_WORDS, STOP_WORDS
from deltos.text.words import plain_words, unique

if TYPE_CHECKING:
    from deltos.text.words import Words

MAX_QUERY_CHARACTERS = 2_000
MAX_TERMS = 24  # each costs a lookup and a bit in every mask

QueryKind = Literal["words", "symbol", "literal", "pattern"]

_QUOTED = re.compile(r"""^(?:"([^"]+)"|'([^']+)'|`([^`]+)`)$""")
_SLASHED = re.compile(r"^/(.+)/(i?)$", re.DOTALL)
_PATTERN_SIGNS = re.compile(r"\\[wdsbWDSB.(){}\[\]]|\.[*+]|\[[^\[\]\s]+\][*+?]|\([^()|\s]*\|[^()\s]*\)|^\^\S|\S\$$")


@dataclass(frozen=True, slots=True)
class CodeQuery:
    """A parsed query: `terms` are index words, `joined` neighbours written as one, `names` are like identifiers."""

    text: str
    kind: QueryKind
    terms: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    about_tests: bool = False

    @property
    def is_name(self) -> bool:
        """Whether it can hardly be anything but the name of something."""
        return self.kind == "symbol" and ("." in self.text or looks_like_code(self.text, SYMBOL_SIGNS))


def parse_query(text: str, words: Words, *, exact: bool = True) -> CodeQuery:
    """Recognise what kind of query this is and take it apart; without `exact`, everything is read as words."""
    text = "".join(char if char.isprintable() or char in "\n\t" else " " for char in text).strip()
    if not text:
        raise BadArgument("The query is empty", hint="Describe the code you look for, or give a name.")
    text = text[:MAX_QUERY_CHARACTERS]
    if not exact:
        return _in_words(text, words)
    if quoted := _QUOTED.match(text):
        return CodeQuery(next(filter(None, quoted.groups())), "literal")
    if slashed := _SLASHED.match(text):
        return CodeQuery(("(?i)" if slashed[2] else "") + slashed[1], "pattern")
    if _PATTERN_SIGNS.search(text) and not re.search(r"\s\w+\s\w+\s", text):
        return CodeQuery(text, "pattern")
    if not plain_words(text):
        return CodeQuery(text, "literal")
    return _in_words(text, words)


def _in_words(text: str, words: Words) -> CodeQuery:
    bare = text.removesuffix("()")
    is_symbol = NAME_OR_PATH.fullmatch(bare) is not None
    plain = plain_words(text)
    kept = [word for word in plain if word.lower() not in STOP_WORDS | QUESTION_WORDS] or plain
    kept = _without_change_verbs(kept)
    terms = unique(words.of(" ".join(kept)).split())[:MAX_TERMS]
    return CodeQuery(
        text,
        "symbol" if is_symbol else "words",
        tuple(terms or [word.lower() for word in plain][:MAX_TERMS]),
        tuple(_joined(plain, set(terms))),
        tuple(symbols_in_query(bare, is_symbol=is_symbol)),
        about_tests=any(term in ("test", "spec", "mock", "fixtur") for term in terms),
    )


def _without_change_verbs(words: list[str]) -> list[str]:
    """Drop what opens a commit subject (`Fix`, `Add`), as long as enough is left."""
    rest = words
    while len(rest) > 2 and rest[0].lower() in CHANGE_VERBS:
        rest = rest[1:]
    return rest


def _joined(plain: list[str], known: set[str]) -> list[str]:
    """Neighbouring words as one compound: `rate limit` may be written `RateLimit`."""
    parts = [part for word in plain for part in split_identifier(word)]
    pairs = [left + right for left, right in itertools.pairwise(parts)]
    triples = [a + b + c for a, b, c in zip(parts, parts[1:], parts[2:], strict=False)]
    return [compound for compound in unique(pairs + triples) if compound not in known][: 2 * MAX_TERMS]
