"""Compare the lines that contain a name with the known references of that name.

Resolution may miss a use, but the text contains it: a line with the name that the graph does not explain keeps an
answer from being called complete. The term index of code search finds the chunks that contain the name.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.graph.declared.languages import traits_of
from deltos.domains.graph.exports import dunder_all_lines
from deltos.domains.graph.languages import can_refer_to, is_resolved
from deltos.domains.graph.source_lines import occurrences
from deltos.languages.code_text import code_text
from deltos.languages.table import detect
from deltos.store.code import FileScope
from deltos.text.words import shared_words
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from deltos.domains.graph.source_lines import SourceLines
    from deltos.store.code import Code
    from deltos.store.symbols import Symbol

_MAX_CHUNKS = 400
_MAX_SECONDS = 0.5
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
    """Result of comparing a name's occurrences in the text with its known references."""

    places: tuple[tuple[str, int], ...] = ()  # lines of code that contain the name and are not known
    quoted: tuple[tuple[str, int], ...] = ()  # lines with a string equal to the name, which were not compared
    is_done: bool = True  # false if the name occurs in too many places
    is_compared: bool = False  # false if the name is too ambiguous to be compared at all


NOTHING_UNKNOWN = TextComparison()


def compare_with_text(
    symbol: Symbol, known: Collection[tuple[str, int]], code: Code, source: SourceLines, *, is_whole_repository: bool
) -> TextComparison:
    """Compare the `known` lines of a symbol's name, its definitions and uses, with the text of files that may use it.

    In a complete repository (`is_whole_repository`), an unknown import of the name refers to something external.
    """
    if not _can_compare(symbol):
        return NOTHING_UNKNOWN
    spans = chunk_spans_with(symbol.name, code)
    if spans is None:
        is_unindexed = len(symbol.name) == 1  # the index has no terms of one letter
        return NOTHING_UNKNOWN if is_unindexed or "." in symbol.key else TextComparison(is_done=False)
    is_local = symbol.path.endswith(".c") and symbol.signature.startswith("static ")
    deadline = time.monotonic() + _MAX_SECONDS
    found: list[tuple[str, int]] = []
    quoted: list[tuple[str, int]] = []
    for path in sorted(spans):
        if time.monotonic() > deadline:
            return TextComparison(tuple(found), is_done=False)
        language = detect(path)
        if language is not None and can_refer_to(path, symbol.path) and (not is_local or path == symbol.path):
            text = code_text(source.text(path), language.name)
            with_texts = not is_test(path) and not _is_single_word(symbol.name)
            lines = _lines(text, symbol, spans[path], with_texts=with_texts)
            new = [(path, line) for line in lines if (path, line) not in known]
            found += [] if is_whole_repository and _imports_other_symbol(text, new) else new
            if not with_texts:
                both = _lines(text, symbol, spans[path], with_texts=True)
                quoted += [(path, line) for line in both if line not in lines and (path, line) not in known]
    return TextComparison(tuple(found), tuple(quoted), is_compared=True)


def code_lines_with(name: str, code: Code, source: SourceLines) -> list[tuple[str, int]]:
    """Return the lines of code that contain an undefined name; none if there are too many."""
    deadline = time.monotonic() + _MAX_SECONDS
    found: list[tuple[str, int]] = []
    for path, spans in sorted((chunk_spans_with(name, code) or {}).items()):
        language = detect(path)
        if language is None or not is_resolved(path) or time.monotonic() > deadline:
            continue
        lines = code_text(source.text(path), language.name).split("\n")
        inside = {number for first, last in spans for number in range(first, min(last, len(lines)) + 1)}
        found += [(path, number) for number in sorted(inside) if occurrences(lines[number - 1], name)]
    return found


def chunk_spans_with(name: str, code: Code) -> dict[str, list[tuple[int, int]]] | None:
    """Return the line ranges of the chunks that may contain a name, by path; None if there are too many."""
    terms = shared_words().of(name).split()
    matches = code.match_chunks([terms[-1]], [], FileScope(), limit=_MAX_CHUNKS + 1) if terms else []
    if not terms or len(matches) > _MAX_CHUNKS:
        return None
    spans: dict[str, list[tuple[int, int]]] = {}
    for chunk in code.chunks([match.chunk_id for match in matches]).values() if matches else ():
        spans.setdefault(chunk.path, []).append((chunk.start_line, chunk.end_line))
    return spans


def is_called_implicitly(symbol: Symbol) -> bool:
    """Whether a method may run without being named: by an operator, a statement, or a call of its object."""
    name = symbol.name
    if symbol.kind != "method":
        return False
    if symbol.path.endswith((".py", ".pyi")):
        return name.startswith("__") and name.endswith("__") and name not in _CONSTRUCTORS
    is_magic = traits_of(symbol.path).has_documented_types and name.startswith("__") and name not in _CONSTRUCTORS
    return is_magic or name.startswith("operator")


def _can_compare(symbol: Symbol) -> bool:
    """Whether a line with the name probably refers to the symbol: a type, a function or a constant outside tests.

    Names defined in tests are often parameters as well.
    """
    is_constant = symbol.name.isupper() and len(symbol.name) > 1
    return not is_test(symbol.path) and (symbol.kind in _CALLABLE or symbol.kind in _TYPES or is_constant)


def _is_single_word(name: str) -> bool:
    """Whether a name consists of one word."""
    inner = name.strip("_")
    return "_" not in inner and (inner.islower() or inner[1:].islower() or inner.isupper())


def _lines(text: str, symbol: Symbol, spans: Sequence[tuple[int, int]], *, with_texts: bool) -> list[int]:
    """Return the lines within `spans` on which the name occurs in a position where it may refer to the symbol."""
    if symbol.name not in text:
        return []
    lines = text.split("\n")
    inside = {number for first, last in spans for number in range(first, min(last, len(lines)) + 1)}
    if with_texts:
        inside.difference_update(dunder_all_lines(text, symbol.name))  # entries of `__all__` are reported separately
    return sorted(n for n in inside if _may_mean(lines[n - 1], symbol, with_texts=with_texts))


def _imports_other_symbol(text: str, places: Sequence[tuple[str, int]]) -> bool:
    """Whether a line of a file imports the name, which then refers to something external in this file."""
    lines = text.split("\n") if places else []
    return any(lines[number - 1].lstrip().startswith(_IMPORTING) for _, number in places)


def _may_mean(line: str, symbol: Symbol, *, with_texts: bool) -> bool:
    """Whether a line has the name in a position where it may refer to the symbol."""
    name = symbol.name
    for at in occurrences(line, name) if name in line else ():
        before, after = line[:at].rstrip(), line[at + len(name) :].lstrip()
        if after.startswith("\\") or before.endswith(_DEFINING):
            continue  # a namespace, or another definition
        if after[:1] in _QUOTES and after[:1]:  # a string of this word, or the end of a dotted one; no path, no option
            if with_texts and before.endswith((*_QUOTES, ".", ":", "\\")):
                return True
        elif symbol.kind not in _CALLABLE or _may_be_called(before, after, symbol):
            return True
    return False


def _may_be_called(before: str, after: str, symbol: Symbol) -> bool:
    """Whether a name may be the function of a call, and not a key or a variable.

    A method, or a function named by a single word, must be called without a receiver: uses as a member are already
    known or possible.
    """
    if "." in symbol.key or _is_single_word(symbol.name):
        return after.startswith("(") and not before.endswith((".", "->", "::"))
    return after.startswith("(") or not _is_other_name(before, after)


def _is_other_name(before: str, after: str) -> bool:
    """Whether a name is a key, an assignment target, or a variable after its type."""
    is_key = after.startswith((":", "=")) and not after.startswith(("::", "=="))
    word = before[len(before.rstrip(_WORD)) :]
    return is_key or before.endswith(("*", "&", ">")) or (bool(word) and word not in _BEFORE_VALUES)
