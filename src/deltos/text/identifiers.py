"""Splitting of identifiers into words, and search for identifiers in text.

Each kind of search recognises identifiers in a different way, because its weights were tuned with that way. Code search
treats `IDs` as a name, because a wrong name costs only one lookup. Federated search (of all kinds of content) treats
`IDs` as a plural, because a name would make the entire query a code query.
"""

import re

from deltos.text.identifier_parts import ASCII_PART

# A word inside an identifier. Unlike `ASCII_PART`, this pattern also matches words of non-ASCII letters.
PART = re.compile(rf"{ASCII_PART.pattern}|[^\W\d_A-Za-z]++")
_CAMEL_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD_BORDER = re.compile(rf"{_CAMEL_BORDER.pattern}|(?<=[A-Z])(?=[A-Z][a-z])")

_NAME = r"[A-Za-z_$][\w$]*"
_JOINT = r"\.|::|#|->"
_SEPARATOR = re.compile(rf"{_JOINT}|/")
_OTHER_SEPARATOR = re.compile(r"::|[#/]")
# A name, qualified or not: `Parser.feed`, `std::vector`, `empty?`. In code search, paths are also names.
QUALIFIED_NAME = re.compile(rf"{_NAME}(?:(?:{_JOINT}){_NAME})*(?:\(\))?[!?]?")
NAME_OR_PATH = re.compile(rf"{_NAME}(?:(?:{_JOINT}|/)[A-Za-z_$~][\w$]*)*[!?]?")
_DOCUMENTED_NAME = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::)\w+)*(?:\(\)?)?")
_NAME_OR_FILE = re.compile(r"[A-Za-z_][\w./-]*[A-Za-z0-9_]")

_CAMEL_OR_SNAKE = r"[a-z0-9][A-Z]|\w_\w"
# Character sequences that occur in identifiers but not in plain words.
CODE_SIGNS = re.compile(rf"{_CAMEL_OR_SNAKE}|\w::\w|\w\.\w+\(|\w\(\)")
SYMBOL_SIGNS = re.compile(rf"{_CAMEL_OR_SNAKE}|\w::\w|\w\.\w+\(|\(\)$|[A-Z]{{2}}[a-z]|^_")
_DOCUMENTED_SIGNS = re.compile(r"[_.(:]|[a-z][A-Z]")
_WORD = re.compile(r"\w++")
_CAPITALISED = re.compile(r"\b[A-Z]\w++")
_MAX_KEYWORDS = 2  # a longer query is a sentence, not a list of keywords
_DISTINCTIVE_SIGNS = re.compile(rf"{_CAMEL_OR_SNAKE}|[A-Za-z]\d")


def split_identifier(identifier: str) -> list[str]:
    """Split an identifier into lower-case words: `HTTPServer_port2` becomes `http`, `server`, `port`, `2`."""
    return [part.lower() for part in PART.findall(identifier)]


def words_inside(names: list[str]) -> str:
    """Return the words of identifiers and paths without duplicates, separated by spaces."""
    parts = (part.lower() for name in names for part in ASCII_PART.findall(name))
    return " ".join(dict.fromkeys(part for part in parts if len(part) > 1))


def spaced(identifier: str, *, after_acronyms: bool = True) -> str:
    """Insert spaces between the words of an identifier.

    `GetHTTPHeader` becomes `Get HTTP Header`, or `Get HTTPHeader` if `after_acronyms` is false.
    """
    return (_WORD_BORDER if after_acronyms else _CAMEL_BORDER).sub(" ", identifier)


def last_part(name: str) -> str:
    """Return the last part of a qualified name: `feed` for `Parser.feed`."""
    return _SEPARATOR.split(name)[-1]


def dotted(name: str) -> str:
    """Return a qualified name or path with dots between its parts: `Parser.feed` for `Parser::feed`."""
    return _OTHER_SEPARATOR.sub(".", name)


def looks_like_code(text: str, signs: re.Pattern[str] = CODE_SIGNS) -> bool:
    """Whether a text contains an identifier, judging by characters such as underscores."""
    return signs.search(text) is not None


def is_distinctive(name: str) -> bool:
    """Whether a name is definitely an identifier, not a plain word."""
    return looks_like_code(name, _DISTINCTIVE_SIGNS)


def symbols_in_query(text: str, *, is_symbol: bool) -> list[str]:
    """Return the names in a code query and the last part of each name. All names count if the query is a symbol.

    In a sentence, names are recognised by case, special characters or a following parenthesis.
    """
    found = NAME_OR_PATH.finditer(text)
    signs = SYMBOL_SIGNS.search
    names = [match[0] for match in found if is_symbol or signs(text[match.start() : match.end() + 1])]
    return list(dict.fromkeys(part for name in names for part in (name, last_part(name)) if len(part) > 1))


def names_in_question(question: str) -> frozenset[str]:
    """Return the names in a documentation query and the last part of each name, in lower case."""
    bare = [name.lower() for name in written_names(question)]
    return frozenset([*bare, *map(last_part, bare)]) - {""}


def written_names(question: str) -> list[str]:
    """Return the names in a documentation query as written, but without parentheses."""
    names = (name for name in _DOCUMENTED_NAME.findall(question) if looks_like_code(name, _DOCUMENTED_SIGNS))
    return list(dict.fromkeys(name.rstrip("().:") for name in names))


def capitalised_words(question: str) -> frozenset[str]:
    """Return the capitalised words of a query, except at the start of a sentence of more than two words."""
    is_sentence = len(question.split()) > _MAX_KEYWORDS
    found = list(_CAPITALISED.finditer(question))
    return frozenset(each[0] for each in found if not (is_sentence and _begins_sentence(question[: each.start()])))


def words_as_names(question: str) -> frozenset[str]:
    """Return the words that may be names: capitalised words, and the only word of a one-word query."""
    only = _WORD.findall(question) if len(question.split()) == 1 else []
    return capitalised_words(question).union(only)


def _begins_sentence(before: str) -> bool:
    return not before.strip() or before.rstrip()[-1] in ".?!:"


def names_in_prose(text: str) -> list[str]:
    """Return the names in a memory record (observation): `snake_case`, `camelCase`, `dotted.name`, `some/path.py`."""
    found = (match[0] for match in _NAME_OR_FILE.finditer(text))
    return list(dict.fromkeys(name for name in found if _is_name_or_file(name)))


def _is_name_or_file(name: str) -> bool:
    inner = name[1:]  # the first letter is ignored, because it may be a capital at the beginning of a sentence
    return any(sign in name for sign in "_/.") or (inner.isalnum() and not inner.islower() and not inner.isupper())
