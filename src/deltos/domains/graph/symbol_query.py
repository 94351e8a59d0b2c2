"""Parse the arguments `symbol`, `path` and `kind` of queries: names, dotted names, locations and patterns."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.errors import BadArgument
from deltos.globs import matches_glob
from deltos.linear_regex import compile_regex
from deltos.text.identifiers import dotted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from deltos.store.symbols import Symbol

KINDS = ("function", "class", "method", "interface", "type", "enum", "variable", "component")
# Definitions of a kind on the left are found by queries for the kind on the right.
_QUERY_KIND_BY_OUTLINE_KIND = {"property": "variable", "module": "class", "namespace": "class"}
_MAX_SYMBOL_CHARACTERS = 500
_MAX_LINE_DIGITS = 9
_NAME = re.compile(r"[\w$]++(?:-[\w$]++)*+")
_DOTTED = re.compile(r"[\w$][\w$-]*+(?:(?:\.|::|#|/)[\w$-]++)+")
# PHP names such as \Acme\Shop\Cart::add. Two word characters after the backslash distinguish them from `\d` in a regex.
_NAMESPACED = re.compile(r"(?:\\[A-Z]\w++|[A-Za-z_]\w*+\\\w\w++)(?:\\\w\w++)*+(?:(?:::|->)\$?+\w++)?+")
# Objective-C's -[Cart addItem:count:] and Elixir's Cart.add/2
_OBJECTIVE_C_MESSAGE = re.compile(r"[-+]\[\s*+(\w++)(?:\(\w*+\))?+\s++([\w:]++)\s*+\]")
# Lua's Cart:add
_LUA_METHOD = re.compile(r"([A-Za-z_][\w.]*+):([A-Za-z_]\w*+)")
# Go's (*Cart).Add and Rust's <Cart>::add and <Cart as Iterator>::next
_RECEIVER = re.compile(r"(^|[./:])(?:\(\*?+(\w++)\)(?=\.)|<(\w++)(?: as \w++)?+>(?=::))")
# A declaration as Go writes it: func (c *Context) Next() error
_GO_METHOD = re.compile(r"func\s++\((?:\w++\s++)?+\*?+(\w++)(?:\[[^\]]*+\])?+\)\s*+(\w++)")
_BRACKET = re.compile(r"[(\[<]")
_DECLARED_NAME = re.compile(r"[\w$]++(?:(?:\.|::|#)[\w$]++)*+")
_DECLARATION_KEYWORDS = frozenset(
    "abstract async class const def enum export final fn fun func function interface internal let object override "
    "private protected pub public record static struct trait type var".split()
)
_NAME_WITH_ARITY = re.compile(r"(.*[\w?!])/(\d{1,3})")


@dataclass(frozen=True, slots=True)
class SymbolQuery:
    """A parsed symbol argument. `form` is name, dotted or pattern.

    In `text`, the parts of a name are separated by dots, and a pattern is unchanged.
    """

    form: str
    text: str

    @property
    def last_part(self) -> str:
        """The last part of a dotted name."""
        return self.text.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class SymbolLocation:
    """A location written as `file:line` or `file::name`; `line` is 0 if a name is given."""

    path: str
    line: int = 0
    name: str = ""


def parse_location(symbol: str) -> SymbolLocation | None:
    """Parse a symbol given by location (`src/app.py:12`, `src/app.py::run`), or return None for any other form."""
    text = symbol.strip().removeprefix("./")
    path, _, name = text.partition("::")
    if name and _looks_like_file(path):
        return SymbolLocation(path, name=name.replace("::", "."))
    # In `app.py:12:7` and `app.py:12-20` the first number is the line.
    path, _, lines = text.partition(":")
    line = lines.partition(":")[0].partition("-")[0]
    return SymbolLocation(path, line=int(line)) if _is_line(line) and _looks_like_file(path) else None


def _is_line(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MAX_LINE_DIGITS


def _looks_like_file(path: str) -> bool:
    """Whether a location begins with a path: it contains a slash or a file extension."""
    name = path.rpartition("/")[2]
    return "/" in path or "." in name.strip(".")


def parse_query(symbol: str) -> SymbolQuery:
    """Parse a symbol argument into a form and normalised text."""
    text = _declared_name(symbol.strip()).removesuffix("()")
    if message := _OBJECTIVE_C_MESSAGE.fullmatch(text):
        text = f"{message[1]}.{message[2]}"
    elif method := _LUA_METHOD.fullmatch(text):
        text = f"{method[1]}.{method[2]}"
    text = _RECEIVER.sub(r"\1\2\3", text)
    if arity := _NAME_WITH_ARITY.fullmatch(text):
        text = arity[1]
    if not text:
        raise BadArgument(
            "The symbol is empty", hint="Give a name, a dotted name such as Parser.feed, or a regular expression."
        )
    if len(text) > _MAX_SYMBOL_CHARACTERS:
        raise BadArgument("The symbol is too long", hint=f"Give at most {_MAX_SYMBOL_CHARACTERS} characters.")
    if _NAME.fullmatch(text):
        return SymbolQuery("name", text)
    if _DOTTED.fullmatch(text.removeprefix("::")):
        return SymbolQuery("dotted", dotted(text.removeprefix("::")))
    if _NAMESPACED.fullmatch(text):
        return SymbolQuery("dotted", dotted(text.replace("->", ".").replace("$", "")).replace("\\", ".").strip("."))
    return SymbolQuery("pattern", text)


def _declared_name(text: str) -> str:
    """Return the name in a declaration or a pointer type, such as `Cart.Add` for `func (c *Cart) Add(n int)`."""
    if method := _GO_METHOD.match(text):
        return f"{method[1]}.{method[2]}"
    head = _BRACKET.split(text, maxsplit=1)[0]
    words = head.split()
    if len(words) > 1 and words[0] in _DECLARATION_KEYWORDS:
        names = [word for word in words if word not in _DECLARATION_KEYWORDS]
        # Before parameters, the name is the last word. Before base types, it is the first word.
        name = names[-1 if text[len(head) :].startswith(("(", "[")) else 0] if names else ""
        bare = name.rstrip(":{")
        return bare if _DECLARED_NAME.fullmatch(bare) else text
    return text[1:] if text[:1] in "*&" and text[1:2].isidentifier() else text


def is_pattern(symbol: str) -> bool:
    """Whether a symbol is a regular expression."""
    return parse_location(symbol) is None and parse_query(symbol).form == "pattern"


def case_note(symbol: str, names: Iterable[str]) -> str:
    """Return a note if a plain name was found only in a different letter case, or an empty string."""
    found = list(dict.fromkeys(names))
    query = parse_query(symbol) if parse_location(symbol) is None else None
    if query is None or query.form != "name" or any(name.casefold() != query.text.casefold() for name in found):
        return ""
    if not found or query.text in found:
        return ""
    return f"Note: {query.text} is not defined; showing {', '.join(found)} (different case)."


def pattern_matcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that searches names for a regular expression in linear time."""
    found = compile_regex(pattern)
    return lambda name: found.search(name.encode("utf-8")) is not None


def parse_kinds(text: str) -> frozenset[str]:
    """Parse a comma-separated list of kinds; an empty list means all kinds."""
    kinds = frozenset(word.strip().lower() for word in text.split(",") if word.strip())
    unknown = sorted(kinds - set(KINDS))
    if unknown:
        raise BadArgument(f"Unknown kind: {', '.join(unknown)}", hint=f"Choose from {', '.join(KINDS)}.")
    return kinds


def is_of_kind(row: Symbol, kinds: frozenset[str]) -> bool:
    """Whether a definition has one of the given kinds."""
    return not kinds or row.kind in kinds or _QUERY_KIND_BY_OUTLINE_KIND.get(row.kind) in kinds


def relative_path(root: Path, text: str) -> str:
    """Return a path relative to the root, or an empty string for the root itself.

    Raise BadArgument if the path is outside the root.
    """
    wanted = text.strip()
    if "\0" in wanted:
        raise BadArgument("The path is invalid", hint="Give a file or folder in the project.")
    if wanted.startswith(("/", "~")):
        wanted = posixpath.relpath(wanted, root.as_posix())
    wanted = posixpath.normpath(wanted)
    if wanted.startswith(".."):
        raise BadArgument(f"'{text}' is outside the project", hint="Give a path relative to the project's root.")
    return "" if wanted == "." else wanted


def path_filter(root: Path, text: str) -> Callable[[str], bool]:
    """Return a function that tests whether a path equals the given path, is below this folder, or matches this glob."""
    wanted = relative_path(root, text)
    if not wanted:
        return lambda _path: True
    if any(mark in wanted for mark in "*?["):
        return lambda path: matches_glob(path, wanted) or matches_glob(path, f"*/{wanted}")
    return lambda path: path == wanted or path.startswith(f"{wanted}/")
