"""Lines of code that have a name and are known as no use of it: what keeps an answer from being called complete.

Resolution may overlook a use; the text does not. The words of code search tell which chunks have the name, and their
lines are compared with everything that the graph knows to stand there under that name.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.graph.exports import lines_listing
from deltos.domains.graph.languages import is_resolved, is_same_world
from deltos.domains.graph.source import occurrences
from deltos.languages.code_text import code_text
from deltos.languages.table import detect
from deltos.store.code import FileScope
from deltos.text.words import shared_words
from deltos.workspace.purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from deltos.domains.graph.source import Source
    from deltos.store.code import Code
    from deltos.store.symbols import Symbol

_MOST_CHUNKS = 400
_MOST_SECONDS = 0.5
_CALLABLE = frozenset({"function", "method", "component"})
_CONSTRUCTORS = frozenset({"__init__", "__new__", "__construct"})
_IMPORTING = ("import ", "from ", "use ", "using ", "pub use ", "export ", "const {")
_DEFINING = (" function", " def", " func", " fn", "(function", "=function")
_QUOTES = ('"', "'", "`")
_WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
_BEFORE_VALUES = frozenset(
    "return case else goto throw raise new yield await in not and or is import from as print puts typeof void delete"
    " instanceof extends implements default if unless while until when then do end use echo defined".split()
)
_TYPES = frozenset({"class", "interface", "enum", "type"})


@dataclass(frozen=True, slots=True)
class TextComparison:
    """The lines of code that have a name and are known as nothing, by path; `is_done` is false where the name stands in
    too many places to be compared, `is_compared` where it stands for too much else to say anything. `quoted` are lines
    with a text that is the name and was not compared."""

    places: tuple[tuple[str, int], ...] = ()
    quoted: tuple[tuple[str, int], ...] = ()
    is_done: bool = True
    is_compared: bool = False


COMPLETE = TextComparison()


def compare_with_text(
    symbol: Symbol, known: Collection[tuple[str, int]], code: Code, source: Source, *, is_whole: bool
) -> TextComparison:
    """Compare what is `known` of a symbol's name, its definitions and uses, with the text of files that may use it.

    Where the project `is_whole`, an import of the name that is not known is of something outside.
    """
    if not _is_told_by_text(symbol):
        return COMPLETE
    spans = spans_with(symbol.name, code)
    if spans is None:
        is_unindexed = len(symbol.name) == 1  # a single letter is no word of the index
        return COMPLETE if is_unindexed or "." in symbol.key else TextComparison(is_done=False)
    is_local = symbol.path.endswith(".c") and symbol.signature.startswith("static ")
    deadline = time.monotonic() + _MOST_SECONDS
    found: list[tuple[str, int]] = []
    quoted: list[tuple[str, int]] = []
    for path in sorted(spans):
        if time.monotonic() > deadline:
            return TextComparison(tuple(found), is_done=False)
        language = detect(path)
        if language is not None and is_same_world(path, symbol.path) and (not is_local or path == symbol.path):
            text = code_text(source.text(path), language.name)
            with_texts = not is_test(path) and not _is_plain(symbol.name)
            lines = _lines(text, symbol, spans[path], with_texts=with_texts)
            new = [(path, line) for line in lines if (path, line) not in known]
            found += [] if is_whole and _imports_another(text, new) else new
            if not with_texts:
                both = _lines(text, symbol, spans[path], with_texts=True)
                quoted += [(path, line) for line in both if line not in lines and (path, line) not in known]
    return TextComparison(tuple(found), tuple(quoted), is_compared=True)


def lines_with(name: str, code: Code, source: Source) -> list[tuple[str, int]]:
    """The lines of code that have a name which nothing defines; none where they are too many."""
    deadline = time.monotonic() + _MOST_SECONDS
    found: list[tuple[str, int]] = []
    for path, spans in sorted((spans_with(name, code) or {}).items()):
        language = detect(path)
        if language is None or not is_resolved(path) or time.monotonic() > deadline:
            continue
        lines = code_text(source.text(path), language.name).split("\n")
        inside = {number for first, last in spans for number in range(first, min(last, len(lines)) + 1)}
        found += [(path, number) for number in sorted(inside) if occurrences(lines[number - 1], name)]
    return found


def spans_with(name: str, code: Code) -> dict[str, list[tuple[int, int]]] | None:
    """The chunks that may have a name, as first and last lines by path; None where they are too many."""
    terms = shared_words().of(name).split()
    matches = code.match_chunks([terms[-1]], [], FileScope(), limit=_MOST_CHUNKS + 1) if terms else []
    if not terms or len(matches) > _MOST_CHUNKS:
        return None
    spans: dict[str, list[tuple[int, int]]] = {}
    for chunk in code.chunks([match.chunk_id for match in matches]).values() if matches else ():
        spans.setdefault(chunk.path, []).append((chunk.start_line, chunk.end_line))
    return spans


def is_called_unnamed(symbol: Symbol) -> bool:
    """Whether a function may run without being named: by an operator, a statement, or a call of its object."""
    name = symbol.name
    if symbol.kind != "method":
        return False
    if symbol.path.endswith((".py", ".pyi")):
        return name.startswith("__") and name.endswith("__") and name not in _CONSTRUCTORS
    return (symbol.path.endswith(".php") and name.startswith("__") and name not in _CONSTRUCTORS) or name.startswith(
        "operator"
    )


def _is_told_by_text(symbol: Symbol) -> bool:
    """Whether a line that has the name is likely to mean such a symbol: a type, a function, a constant. Of tests the
    names are parameters as well."""
    is_constant = symbol.name.isupper() and len(symbol.name) > 1
    return not is_test(symbol.path) and (symbol.kind in _CALLABLE or symbol.kind in _TYPES or is_constant)


def _is_plain(name: str) -> bool:
    """Whether a name is one word."""
    inner = name.strip("_")
    return "_" not in inner and (inner.islower() or inner[1:].islower() or inner.isupper())


def _lines(text: str, symbol: Symbol, spans: Sequence[tuple[int, int]], *, with_texts: bool) -> list[int]:
    """The lines within the spans on which the name stands as it would if it meant the symbol."""
    if symbol.name not in text:
        return []
    lines = text.split("\n")
    inside = {number for first, last in spans for number in range(first, min(last, len(lines)) + 1)}
    if with_texts:
        inside.difference_update(lines_listing(text, symbol.name))  # what a module of Python passes on is told apart
    return sorted(n for n in inside if _may_mean(lines[n - 1], symbol, with_texts=with_texts))


def _imports_another(text: str, places: Sequence[tuple[str, int]]) -> bool:
    """Whether one of the lines of a file imports the name: what it means there is something else."""
    lines = text.split("\n") if places else []
    return any(lines[number - 1].lstrip().startswith(_IMPORTING) for _, number in places)


def _may_mean(line: str, symbol: Symbol, *, with_texts: bool) -> bool:
    """Whether a line has the name in a place where it may mean the symbol."""
    name = symbol.name
    for at in occurrences(line, name) if name in line else ():
        before, after = line[:at].rstrip(), line[at + len(name) :].lstrip()
        if after.startswith("\\") or before.endswith(_DEFINING):
            continue  # a namespace, or another definition
        if after[:1] in _QUOTES and after[:1]:  # the whole or the end of a text of one word; not of a path or an option
            if with_texts and before.endswith((*_QUOTES, ".", ":", "\\")):
                return True
        elif symbol.kind not in _CALLABLE or _may_be_called(before, after, symbol):
            return True
    return False


def _may_be_called(before: str, after: str, symbol: Symbol) -> bool:
    """Whether a name may be that of a function: no key and no variable. A method, and a function that is one plain
    word, only where it is called by itself: members of values are known, or are possible uses."""
    if "." in symbol.key or _is_plain(symbol.name):
        return after.startswith("(") and not before.endswith((".", "->", "::"))
    return after.startswith("(") or not _names_another(before, after)


def _names_another(before: str, after: str) -> bool:
    """Whether a name stands as a key, as what is assigned to, or after a type as a variable."""
    is_key = after.startswith((":", "=")) and not after.startswith(("::", "=="))
    word = before[len(before.rstrip(_WORD)) :]
    return is_key or before.endswith(("*", "&", ">")) or (bool(word) and word not in _BEFORE_VALUES)
