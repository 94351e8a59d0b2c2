"""Parse a query: a name, a literal, a regular expression, or a description in words."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from deltos.domains.code.query.issue import is_issue, parse_frames, parse_issue, truncate_query
from deltos.errors import BadArgument
from deltos.text.identifiers import (
    NAME_OR_PATH,
    SYMBOL_SIGNS,
    last_part,
    looks_like_code,
    split_identifier,
    symbols_in_query,
)
from deltos.text.stop_words import CHANGE_VERBS, INTERROGATIVES, QUESTION_WORDS, STOP_WORDS
from deltos.text.translation import translate_to_english
from deltos.text.words import plain_words, unique

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.domains.code.query.issue import FileMention, Issue
    from deltos.text.words import Words

MAX_QUERY_CHARACTERS = 2_000
MAX_TERMS = 24  # maximum number of terms; each term requires an index lookup

_MIN_WORDS_OF_SPLIT_QUESTION = 3  # minimum number of words in each part of a split query

# Maximum numbers of names and terms from each part of an issue. MAX_TERMS limits their sum.
_ISSUE_NAMES, _ISSUE_FUNCTIONS, _ISSUE_CODE_NAMES = 12, 4, 8
_NAME_TERMS, _QUOTED_TERMS, _FUNCTION_TERMS, _PROSE_TERMS, _CODE_TERMS = 10, 10, 4, 12, 6

_TEST_TERMS = frozenset(("test", "spec", "mock", "fixtur"))
_PROSE_WORDS = frozenset(("doc", "document", "readm", "guid", "tutori", "changelog"))

_HOW_VERBS, _HOW_PRONOUNS = frozenset(("do", "can", "could", "should", "would")), frozenset(("i", "you", "one"))

QueryKind = Literal["words", "symbol", "literal", "pattern"]

_QUOTED_QUERY = re.compile(r"""^(?:"([^"]+)"|'([^']+)'|`([^`]+)`)$""")
_SLASHED_QUERY = re.compile(r"^/(.+)/(i?)$", re.DOTALL)
_REGEX_SIGNS = re.compile(r"\\[wdsbWDSB.(){}\[\]]|\.[*+]|\[[^\[\]\s]+\][*+?]|\([^()|\s]*\|[^()\s]*\)|^\^\S|\S\$$")


@dataclass(frozen=True, slots=True)
class CodeQuery:
    """A parsed query.

    `terms` are normalised words, `joined` are adjacent words written as one, and `names` are words that look like
    identifiers. For an issue, `text` is the title, and `mentioned_files` are the files mentioned in the issue. `frames`
    are the stack frames in the query, innermost first, or a single `file:line`. If the query was translated, `terms`
    are from the translation (`in_english`) and `original_terms` from the query. `original` is the complete query.
    """

    text: str
    kind: QueryKind
    terms: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    about_tests: bool = False
    about_prose: bool = False
    is_how_to: bool = False  # whether the query asks how to use the project
    is_issue: bool = False
    mentioned_files: tuple[FileMention, ...] = ()
    frames: tuple[FileMention, ...] = ()
    in_english: str = ""
    original_terms: tuple[str, ...] = ()
    original: str = field(default="", compare=False)

    @property
    def is_single_location(self) -> bool:
        """Whether the query is a single `file:line`."""
        return len(self.frames) == 1 and not self.is_issue and len(self.text.split()) == 1

    @property
    def is_name(self) -> bool:
        """Whether the query is almost certainly the name of a symbol."""
        return self.kind == "symbol" and ("." in self.text or looks_like_code(self.text, SYMBOL_SIGNS))


def parse_query(text: str, words: Words, *, exact: bool = True) -> CodeQuery:
    """Parse a query of any kind. Literals and regular expressions are not recognised if `exact` is false."""
    return replace(_parse(text, words, exact=exact), original=text.strip())


def _parse(text: str, words: Words, *, exact: bool) -> CodeQuery:
    text = "\n".join(map(_printable, truncate_query(text.strip()).splitlines())).strip()
    if not text:
        raise BadArgument("The query is empty", hint="Describe the code in words, or pass the name of a symbol.")
    is_exact = exact and len(text) <= MAX_QUERY_CHARACTERS and (_QUOTED_QUERY.match(text) or _SLASHED_QUERY.match(text))
    if is_issue(text) and not is_exact:
        return replace(_query_of_issue(parse_issue(text), words), frames=tuple(parse_frames(text)))
    text = text[:MAX_QUERY_CHARACTERS]
    if not exact:
        return _parse_words(text, words)
    if quoted := _QUOTED_QUERY.match(text):
        return CodeQuery(next(filter(None, quoted.groups())), "literal")
    if slashed := _SLASHED_QUERY.match(text):
        return CodeQuery(("(?i)" if slashed[2] else "") + slashed[1], "pattern")
    frames = tuple(parse_frames(text))
    if not frames and _REGEX_SIGNS.search(text) and not re.search(r"\s\w+\s\w+\s", text):
        return CodeQuery(text, "pattern")
    if not plain_words(text):
        return CodeQuery(text, "literal")
    return replace(_parse_words(text, words), frames=frames)


def split_questions(text: str) -> list[str]:
    """Split a text that asks two questions, such as "how is X done and where is Y", into these questions."""
    words = text.split()
    for at in range(_MIN_WORDS_OF_SPLIT_QUESTION, len(words) - _MIN_WORDS_OF_SPLIT_QUESTION):
        is_joined = words[at].lower() == "and" and words[at + 1].lower() in INTERROGATIVES
        if is_joined and words[0].lower() in INTERROGATIVES and "\n" not in text:
            return [" ".join(words[:at]).rstrip(",;?"), " ".join(words[at + 1 :])]
    return [text]


def _printable(line: str) -> str:
    """Replace the control characters in a line by spaces."""
    if line.replace("\t", "").isprintable():
        return line
    return "".join(char if char.isprintable() or char == "\t" else " " for char in line)


def _parse_words(text: str, words: Words) -> CodeQuery:
    """Parse a query as words or as a symbol."""
    bare = text.removesuffix("()")
    is_symbol = NAME_OR_PATH.fullmatch(bare) is not None
    english = translate_to_english(text)
    plain = plain_words(english or text)
    kept = [word for word in plain if word.lower() not in STOP_WORDS | QUESTION_WORDS] or plain
    kept = _drop_change_verbs(kept)
    terms = unique(words.of(" ".join(kept)).split())[:MAX_TERMS]
    is_how_to = _is_how_to(plain)
    return CodeQuery(
        text,
        "symbol" if is_symbol else "words",
        tuple(terms or [word.lower() for word in plain][:MAX_TERMS]),
        tuple(_joined_words(plain, set(terms))),
        tuple(symbols_in_query(bare, is_symbol=is_symbol)),
        about_tests=not is_how_to and not _TEST_TERMS.isdisjoint(terms),
        about_prose=is_how_to or not _PROSE_WORDS.isdisjoint(terms),
        is_how_to=is_how_to,
        in_english=english or "",
        original_terms=tuple(unique(words.of(text).split())[:MAX_TERMS]) if english else (),
    )


def _is_how_to(plain: Sequence[str]) -> bool:
    """Whether the query asks how to use the project; documentation answers such questions.

    Examples are "how do I run the tests" and "how to deploy". "How does the parser work" is a question about the code.
    """
    begin = [word.lower() for word in plain[:3]]
    if begin[:2] == ["how", "to"]:
        return True
    return len(begin) == 3 and begin[0] == "how" and begin[1] in _HOW_VERBS and begin[2] in _HOW_PRONOUNS


def _query_of_issue(issue: Issue, words: Words) -> CodeQuery:
    """Return a query with terms from all parts of an issue."""
    title = _parse_words(issue.title[:MAX_QUERY_CHARACTERS] or "issue", words)
    named, in_code = issue.names()[:_ISSUE_NAMES], issue.code_names()
    functions = unique(reversed(issue.functions))[:_ISSUE_FUNCTIONS]
    terms = unique(
        itertools.chain(
            title.terms,
            _index_terms(named, words)[:_NAME_TERMS],
            _index_terms(issue.quoted, words)[:_QUOTED_TERMS],
            _index_terms(functions, words)[:_FUNCTION_TERMS],
            _terms_by_frequency(issue.prose, words)[:_PROSE_TERMS],
            _index_terms(in_code[:_ISSUE_CODE_NAMES], words)[:_CODE_TERMS],
        )
    )
    names = unique([*title.names, *_names_and_last_parts([*named, *functions, *in_code[:_ISSUE_CODE_NAMES]])])
    return CodeQuery(
        title.text,
        "words",
        tuple(terms[:MAX_TERMS]),
        title.joined,
        tuple(names[:MAX_TERMS]),
        about_tests=title.about_tests,
        about_prose=title.about_prose,
        is_issue=True,
        mentioned_files=tuple(issue.mentions),
    )


def _index_terms(texts: Iterable[str], words: Words) -> list[str]:
    return unique(words.of(" ".join(texts)).split())


def _terms_by_frequency(prose: Iterable[str], words: Words) -> list[str]:
    """Return the index terms of prose, most frequent first."""
    ignored = STOP_WORDS | QUESTION_WORDS
    kept = [word for word in plain_words(" ".join(prose)) if not word.isdigit() and word.lower() not in ignored]
    return [term for term, _ in Counter(words.of(" ".join(kept)).split()).most_common()]


def _names_and_last_parts(names: Iterable[str]) -> list[str]:
    return [part for name in names for part in (name, last_part(name)) if len(part) > 1]


def _drop_change_verbs(words: list[str]) -> list[str]:
    """Remove the verbs at the start of a commit subject (`Fix`, `Add`), but keep at least two words."""
    rest = words
    while len(rest) > 2 and rest[0].lower() in CHANGE_VERBS:
        rest = rest[1:]
    return rest


def _joined_words(plain: list[str], known: set[str]) -> list[str]:
    """Join adjacent pairs and triples of words into one word, such as `ratelimit` for `rate limit`."""
    parts = [part for word in plain for part in split_identifier(word)]
    pairs = [left + right for left, right in itertools.pairwise(parts)]
    triples = [a + b + c for a, b, c in zip(parts, parts[1:], parts[2:], strict=False)]
    return [compound for compound in unique(pairs + triples) if compound not in known][: 2 * MAX_TERMS]
