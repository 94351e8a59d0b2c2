"""What a query asks for: a name, a literal, a pattern, or a description in words."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from deltos.domains.code.issue import frames_of, is_issue, read_issue, shortened
from deltos.errors import BadArgument
from deltos.text.english import in_english
from deltos.text.identifiers import (
    NAME_OR_PATH,
    SYMBOL_SIGNS,
    last_part,
    looks_like_code,
    split_identifier,
    symbols_in_query,
)
from deltos.text.stop_words import CHANGE_VERBS, QUESTION_WORDS, STOP_WORDS
from deltos.text.words import plain_words, unique

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.domains.code.issue import Issue, Place
    from deltos.text.words import Words

MAX_QUERY_CHARACTERS = 2_000
MAX_TERMS = 24  # each costs a lookup and a bit in every mask
# Of an issue: names and terms of each kind, the most telling kind first. All its terms together are MAX_TERMS at most.
_ISSUE_NAMES, _ISSUE_FUNCTIONS, _ISSUE_CODE_NAMES = 12, 4, 8
_NAME_TERMS, _QUOTED_TERMS, _FUNCTION_TERMS, _PROSE_TERMS, _CODE_TERMS = 10, 10, 4, 12, 6

_TEST_TERMS = frozenset(("test", "spec", "mock", "fixtur"))
_PROSE_WORDS = frozenset(("doc", "document", "readm", "guid", "tutori", "changelog"))

_HOW_VERBS, _HOW_PERSONS = frozenset(("do", "can", "could", "should", "would")), frozenset(("i", "you", "one"))

QueryKind = Literal["words", "symbol", "literal", "pattern"]

_QUOTED = re.compile(r"""^(?:"([^"]+)"|'([^']+)'|`([^`]+)`)$""")
_SLASHED = re.compile(r"^/(.+)/(i?)$", re.DOTALL)
_PATTERN_SIGNS = re.compile(r"\\[wdsbWDSB.(){}\[\]]|\.[*+]|\[[^\[\]\s]+\][*+?]|\([^()|\s]*\|[^()\s]*\)|^\^\S|\S\$$")


@dataclass(frozen=True, slots=True)
class CodeQuery:
    """A parsed query: `terms` are index words, `joined` neighbours written as one, `names` are like identifiers.

    One that was read as an issue has its title for a text, and the places that it mentions. `frames` are those of a
    stack trace, the innermost first, or the place that is all of the query. Of a question in another language, `terms`
    are what it is in English, and `spoken` its own words.
    """

    text: str
    kind: QueryKind
    terms: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    about_tests: bool = False
    about_prose: bool = False
    asks_how: bool = False  # to do something with the project, which texts for people answer
    is_issue: bool = False
    places: tuple[Place, ...] = ()
    frames: tuple[Place, ...] = ()
    in_english: str = ""
    spoken: tuple[str, ...] = ()

    @property
    def is_place(self) -> bool:
        """Whether it is `file:line` and nothing else."""
        return len(self.frames) == 1 and not self.is_issue and len(self.text.split()) == 1

    @property
    def is_name(self) -> bool:
        """Whether it can hardly be anything but the name of something."""
        return self.kind == "symbol" and ("." in self.text or looks_like_code(self.text, SYMBOL_SIGNS))


def parse_query(text: str, words: Words, *, exact: bool = True) -> CodeQuery:
    """Recognise what kind of query this is and take it apart; without `exact`, everything is read as words."""
    text = "\n".join(map(_printable, shortened(text.strip()).splitlines())).strip()
    if not text:
        raise BadArgument("The query is empty", hint="Describe the code you look for, or give a name.")
    is_exact = exact and len(text) <= MAX_QUERY_CHARACTERS and (_QUOTED.match(text) or _SLASHED.match(text))
    if is_issue(text) and not is_exact:
        return replace(_from_issue(read_issue(text), words), frames=tuple(frames_of(text)))
    text = text[:MAX_QUERY_CHARACTERS]
    if not exact:
        return _in_words(text, words)
    if quoted := _QUOTED.match(text):
        return CodeQuery(next(filter(None, quoted.groups())), "literal")
    if slashed := _SLASHED.match(text):
        return CodeQuery(("(?i)" if slashed[2] else "") + slashed[1], "pattern")
    frames = tuple(frames_of(text))
    if not frames and _PATTERN_SIGNS.search(text) and not re.search(r"\s\w+\s\w+\s", text):
        return CodeQuery(text, "pattern")
    if not plain_words(text):
        return CodeQuery(text, "literal")
    return replace(_in_words(text, words), frames=frames)


def _printable(line: str) -> str:
    """A line with spaces in place of control characters."""
    if line.replace("\t", "").isprintable():
        return line
    return "".join(char if char.isprintable() or char == "\t" else " " for char in line)


def _in_words(text: str, words: Words) -> CodeQuery:
    bare = text.removesuffix("()")
    is_symbol = NAME_OR_PATH.fullmatch(bare) is not None
    english = in_english(text)
    plain = plain_words(english or text)
    kept = [word for word in plain if word.lower() not in STOP_WORDS | QUESTION_WORDS] or plain
    kept = _without_change_verbs(kept)
    terms = unique(words.of(" ".join(kept)).split())[:MAX_TERMS]
    asks_how = _asks_how(plain)
    return CodeQuery(
        text,
        "symbol" if is_symbol else "words",
        tuple(terms or [word.lower() for word in plain][:MAX_TERMS]),
        tuple(_joined(plain, set(terms))),
        tuple(symbols_in_query(bare, is_symbol=is_symbol)),
        about_tests=not asks_how and not _TEST_TERMS.isdisjoint(terms),
        about_prose=asks_how or not _PROSE_WORDS.isdisjoint(terms),
        asks_how=asks_how,
        in_english=english or "",
        spoken=tuple(unique(words.of(text).split())[:MAX_TERMS]) if english else (),
    )


def _asks_how(plain: Sequence[str]) -> bool:
    """Whether somebody asks how to do something with the project, which texts for people answer.

    So do "how do I run the tests" and "how to deploy"; "how do we" and "how does it" ask how the code does it.
    """
    begin = [word.lower() for word in plain[:3]]
    if begin[:2] == ["how", "to"]:
        return True
    return len(begin) == 3 and begin[0] == "how" and begin[1] in _HOW_VERBS and begin[2] in _HOW_PERSONS


def _from_issue(issue: Issue, words: Words) -> CodeQuery:
    """Title first, then what is named or quoted, then the words that the prose repeats, then names of example code."""
    title = _in_words(issue.title[:MAX_QUERY_CHARACTERS] or "issue", words)
    named, in_code = issue.names()[:_ISSUE_NAMES], issue.code_names()
    functions = unique(reversed(issue.functions))[:_ISSUE_FUNCTIONS]
    terms = unique(
        itertools.chain(
            title.terms,
            _terms(named, words)[:_NAME_TERMS],
            _terms(issue.quoted, words)[:_QUOTED_TERMS],
            _terms(functions, words)[:_FUNCTION_TERMS],
            _repeated_terms(issue.prose, words)[:_PROSE_TERMS],
            _terms(in_code[:_ISSUE_CODE_NAMES], words)[:_CODE_TERMS],
        )
    )
    names = unique([*title.names, *_with_last_parts([*named, *functions, *in_code[:_ISSUE_CODE_NAMES]])])
    return CodeQuery(
        title.text,
        "words",
        tuple(terms[:MAX_TERMS]),
        title.joined,
        tuple(names[:MAX_TERMS]),
        about_tests=title.about_tests,
        about_prose=title.about_prose,
        is_issue=True,
        places=tuple(issue.places),
    )


def _terms(texts: Iterable[str], words: Words) -> list[str]:
    return unique(words.of(" ".join(texts)).split())


def _repeated_terms(prose: Iterable[str], words: Words) -> list[str]:
    """The index words of prose, the most frequent first."""
    left_out = STOP_WORDS | QUESTION_WORDS
    kept = [word for word in plain_words(" ".join(prose)) if not word.isdigit() and word.lower() not in left_out]
    return [term for term, _ in Counter(words.of(" ".join(kept)).split()).most_common()]


def _with_last_parts(names: Iterable[str]) -> list[str]:
    return [part for name in names for part in (name, last_part(name)) if len(part) > 1]


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
