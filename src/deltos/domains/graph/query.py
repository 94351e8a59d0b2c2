"""What the caller means by a symbol: a name, a dotted name or a regular expression; and which files and kinds count."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.errors import BadArgument
from deltos.globs import matches_glob
from deltos.pattern import compiled
from deltos.text.identifiers import dotted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from deltos.store.symbols import Symbol

KINDS = ("function", "class", "method", "interface", "type", "enum", "variable", "component")
# What outlines call some things, under the name that a caller would use for them.
_KIND_OF = {"property": "variable", "module": "class", "namespace": "class"}
_LONGEST_SYMBOL = 500
_LINE_DIGITS = 9
_NAME = re.compile(r"[\w$]++(?:-[\w$]++)*+")
_DOTTED = re.compile(r"[\w$][\w$-]*+(?:(?:\.|::|#|/)[\w$-]++)+")
# Names of PHP: \Acme\Shop\Cart::add. What a regular expression says with `\d` or `\b` has one letter there.
_NAMESPACED = re.compile(r"(?:\\[A-Z]\w++|[A-Za-z_]\w*+\\\w\w++)(?:\\\w\w++)*+(?:(?:::|->)\$?+\w++)?+")
_ONLY_STEM = re.compile(r"(?:^|\.)(?:__init__|index|mod)$")


@dataclass(frozen=True, slots=True)
class SymbolQuery:
    """`form` is name, dotted, namespaced (of PHP) or pattern; `text` is normalised: dots between the parts of a name,
    but for a pattern."""

    form: str
    text: str

    @property
    def last(self) -> str:
        """The last part of a dotted name."""
        return self.text.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Place:
    """What a caller means by `file:line` or `file::name`; `line` is 0 where a name is given."""

    path: str
    line: int = 0
    name: str = ""


def parse_place(symbol: str) -> Place | None:
    """A symbol that is given by its place: `src/app.py:12`, `src/app.py::run`; None for every other form."""
    text = symbol.strip().removeprefix("./")
    path, _, name = text.partition("::")
    if name and _looks_like_file(path):
        return Place(path, name=name.replace("::", "."))
    # `app.py:12:7` and `app.py:12-20` begin with the line that is meant.
    path, _, lines = text.partition(":")
    line = lines.partition(":")[0].partition("-")[0]
    return Place(path, line=int(line)) if _is_line(line) and _looks_like_file(path) else None


def _is_line(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _LINE_DIGITS


def _looks_like_file(path: str) -> bool:
    name = path.rpartition("/")[2]
    return "/" in path or "." in name.strip(".")


def parse_query(symbol: str) -> SymbolQuery:
    """Tell the three forms apart."""
    text = symbol.strip().removesuffix("()")
    if not text:
        raise BadArgument(
            "The symbol is empty", hint="Give a name, a dotted name such as Parser.feed, or a regular expression."
        )
    if len(text) > _LONGEST_SYMBOL:
        raise BadArgument("The symbol is too long", hint=f"Give at most {_LONGEST_SYMBOL} characters.")
    if _NAME.fullmatch(text):
        return SymbolQuery("name", text)
    if _DOTTED.fullmatch(text):
        return SymbolQuery("dotted", dotted(text))
    if _NAMESPACED.fullmatch(text):
        return SymbolQuery("namespaced", dotted(text.replace("->", ".").replace("$", "")).replace("\\", ".").strip("."))
    return SymbolQuery("pattern", text)


def is_pattern(symbol: str) -> bool:
    """Whether a symbol is given as a regular expression."""
    return parse_place(symbol) is None and parse_query(symbol).form == "pattern"


def case_note(symbol: str, names: Iterable[str]) -> str:
    """That a plain name was found in other case only; empty where it was found as it is written."""
    found = list(dict.fromkeys(names))
    query = parse_query(symbol) if parse_place(symbol) is None else None
    if query is None or query.form != "name" or any(name.casefold() != query.text.casefold() for name in found):
        return ""
    return f"Note: No {query.text}; found {', '.join(found)}." if found and query.text not in found else ""


def pattern_matcher(pattern: str) -> Callable[[str], bool]:
    """A test for names; runs in linear time whatever the pattern."""
    found = compiled(pattern)
    return lambda name: found.search(name.encode("utf-8")) is not None


def qualified_name(row: Symbol) -> str:
    """The symbol's name with its module: `django.db.models.query.QuerySet.filter`; a module's own name is its whole."""
    return ".".join(filter(None, (module_name(row.path), row.key)))


def is_called(row: Symbol, name: str) -> bool:
    """Whether a dotted name means a symbol: its module and its name end with it, or, where the file is called after the
    type that it defines, its folder and its name: `io.shop.Cart.add` of `src/io/shop/Cart.java`."""
    if ends_with(qualified_name(row), name):
        return True
    folder, _, file = row.path.rpartition("/")
    head = row.key.partition(".")[0].partition("#")[0]
    return file.partition(".")[0] == head and ends_with(f"{folder.replace('/', '.')}.{row.key}", name)


def module_name(path: str) -> str:
    """A file's path as a dotted name: `a/b/__init__.py` is `a.b`."""
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    return _ONLY_STEM.sub("", f"{folder}/{stem}".strip("/").replace("/", "."))


def ends_with(name: str, suffix: str) -> bool:
    """Whether a dotted name ends with whole parts of another; repeated definitions (`#2`) count as the same."""
    bare = re.sub(r"#\d+", "", name)
    return bare == suffix or bare.endswith(f".{suffix}")


def kinds_of(text: str) -> frozenset[str]:
    """The kinds in a comma-separated list; empty means all."""
    kinds = frozenset(word.strip().lower() for word in text.split(",") if word.strip())
    unknown = sorted(kinds - set(KINDS))
    if unknown:
        raise BadArgument(f"Unknown kind: {', '.join(unknown)}", hint=f"Choose from {', '.join(KINDS)}.")
    return kinds


def is_of_kind(row: Symbol, kinds: frozenset[str]) -> bool:
    """Whether a symbol is of one of the kinds."""
    return not kinds or row.kind in kinds or _KIND_OF.get(row.kind) in kinds


def inside(root: Path, text: str) -> str:
    """A path as it is below the root, "" for the root itself; refuses what leads out of it."""
    wanted = text.strip()
    if "\0" in wanted:
        raise BadArgument("The path is invalid", hint="Give a file or folder of the project.")
    if wanted.startswith(("/", "~")):
        wanted = posixpath.relpath(wanted, root.as_posix())
    wanted = posixpath.normpath(wanted)
    if wanted.startswith(".."):
        raise BadArgument(f"'{text}' is outside the project", hint="Give a path relative to the project's root.")
    return "" if wanted == "." else wanted


def path_filter(root: Path, text: str) -> Callable[[str], bool]:
    """A test for paths below a folder, equal to a file, or matching a glob."""
    wanted = inside(root, text)
    if not wanted:
        return lambda _path: True
    if any(mark in wanted for mark in "*?["):
        return lambda path: matches_glob(path, wanted) or matches_glob(path, f"*/{wanted}")
    return lambda path: path == wanted or path.startswith(f"{wanted}/")
