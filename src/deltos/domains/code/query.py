"""What a query asks for: a name, a literal, a pattern, or a description in words."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from deltos.errors import BadArgument
from deltos.text import CHANGE_VERBS, QUESTION_WORDS, STOP_WORDS, plain_words, split_identifier, unique

if TYPE_CHECKING:
    from deltos.text import Words

MAX_QUERY_CHARACTERS = 2_000
MAX_TERMS = 24

QueryKind = Literal["words", "symbol", "literal", "pattern"]

_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#|->|/)[A-Za-z_$~][\w$]*)*[!?]?")
_QUOTED = re.compile(r"""^(?:"([^"]+)"|'([^']+)'|`([^`]+)`)$""")
_SLASHED = re.compile(r"^/(.+)/(i?)$", re.DOTALL)
_PATTERN_SIGNS = re.compile(r"\\[wdsbWDSB.(){}\[\]]|\.[*+]|\[[^\[\]\s]+\][*+?]|\([^()|\s]*\|[^()\s]*\)|^\^\S|\S\$$")
_MIXED_CASE = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|\w_\w|^_|\w::\w|\w\.\w+\(|\(\)$|^[A-Z][a-z]+[A-Z]")


@dataclass(frozen=True, slots=True)
class CodeQuery:
    """A query understood: `terms` are index words, `joined` neighbours written as one, `names` are like identifiers."""

    text: str
    kind: QueryKind
    terms: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    about_tests: bool = False

    @property
    def is_name(self) -> bool:
        """Whether it can hardly be anything but the name of something."""
        return self.kind == "symbol" and ("." in self.text or _MIXED_CASE.search(self.text) is not None)


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
    is_symbol = _IDENTIFIER.fullmatch(bare) is not None
    plain = plain_words(text)
    kept = [word for word in plain if word.lower() not in STOP_WORDS | QUESTION_WORDS] or plain
    kept = _without_change_verbs(kept)
    terms = unique(words.of(" ".join(kept)).split())[:MAX_TERMS]
    return CodeQuery(
        text,
        "symbol" if is_symbol else "words",
        tuple(terms or [word.lower() for word in plain][:MAX_TERMS]),
        tuple(_joined(plain, set(terms))),
        tuple(_names(bare, is_symbol=is_symbol)),
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


def _names(text: str, *, is_symbol: bool) -> list[str]:
    """Words that look like identifiers; for a dotted name, its last part too."""
    found = [match[0] for match in _IDENTIFIER.finditer(text) if is_symbol or _looks_like_code(text, match)]
    tails = [re.split(r"\.|::|#|->|/", name)[-1] for name in found]
    return unique(name for pair in zip(found, tails, strict=True) for name in pair if len(name) > 1)


def _looks_like_code(text: str, match: re.Match[str]) -> bool:
    """Whether a word in a sentence is an identifier: by its case, its signs, or a parenthesis right after it."""
    return _MIXED_CASE.search(text[match.start() : match.end() + 1]) is not None
